/** A field as written (docs/mapping.md, "Fields"): where its text comes from, and what is done to it. */
import { z } from 'zod'
import { patternFault } from './pattern.ts'

export const Text = z.union([
  z.string(),
  z.number().transform(String),
  z.boolean().transform((flag) => (flag ? 'true' : 'false')),
])

/** Value → value, or the name of a file in `mappings/tables`. */
export const Table = z.union([z.string().min(1), z.record(z.string(), Text)])

export const Pattern = z.string().superRefine((pattern, context) => {
  const message = patternFault(pattern)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** What can be done to a text, in the order in which it is done. */
export interface FieldSteps {
  readonly emptyWhen?: readonly string[] | undefined
  readonly split?: { readonly by: string; readonly take: number } | undefined
  readonly extract?: string | undefined
  readonly case?: 'upper' | 'lower' | undefined
  readonly table?: string | Readonly<Record<string, string>> | undefined
}

/** Exactly one of the first five is given. */
export interface FieldObject extends FieldSteps {
  readonly from?: string | undefined
  readonly firstOf?: readonly FieldDefinition[] | undefined
  readonly concat?: readonly FieldDefinition[] | undefined
  readonly constant?: string | undefined
  /** JSONata. */
  readonly expression?: string | undefined
  readonly separator?: string | undefined
}

/** A column (CSV) or path (JSON), or an object. */
export type FieldDefinition = string | FieldObject

const Parts: z.ZodType<readonly FieldDefinition[]> = z.lazy(() => z.array(FieldDefinition).min(1))

/** Keys of a field that is read; other definitions take them up, so that a field is the same everywhere. */
export const readKeys = {
  from: z.string().min(1).optional().meta({ description: 'The column (CSV) or path (JSON) to read.' }),
  firstOf: Parts.optional().meta({ description: 'The first of these fields that is not empty.' }),
  concat: Parts.optional().meta({ description: 'These fields one behind the other.' }),
  expression: z.string().min(1).optional(),
  separator: z.string().optional().meta({ description: 'What stands between the parts of concat.' }),
  emptyWhen: z.array(Text).optional().meta({ description: 'Texts that mean nothing here.' }),
  split: z
    .strictObject({
      by: z.string().min(1),
      take: z.int().refine((take) => take !== 0, 'counts parts from 1, or from the end: -1 is the last'),
    })
    .optional(),
  extract: Pattern.optional().meta({
    description: 'A regular expression (RE2): its first group, or all of it, is taken.',
  }),
  case: z
    .enum(['upper', 'lower'])
    .optional()
    .meta({ description: 'Turns letters into capitals, or small ones.' }),
}

export const fieldKeys = {
  ...readKeys,
  table: Table.optional().meta({
    description: 'Turns values into others: inline, or the name of a CSV in mappings/tables.',
  }),
}

/** Refuses a field that is read from nothing, or from two things. */
export function checkSource(field: FieldObject, context: z.RefinementCtx): void {
  const given = (['from', 'firstOf', 'concat', 'expression', 'constant'] as const).filter(
    (key) => field[key] !== undefined,
  )
  const refuse = (key: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [key], message })
  if (given.length === 0) refuse('from', 'is missing: a field needs from, firstOf, concat or expression')
  if (given[1] !== undefined)
    refuse(given[1], `cannot stand beside ${given[0]}: a field is read from one of them`)
  if (field.separator !== undefined && field.concat === undefined)
    refuse('separator', 'is for concat: it stands between the parts')
}

/** A field that must be written as an object, where a bare word would be the word itself. */
export const FieldObject = z
  .strictObject({ ...fieldKeys, constant: Text.optional() })
  .superRefine(checkSource)

export const FieldDefinition: z.ZodType<FieldDefinition> = z.union([z.string().min(1), FieldObject])
