/** Fields, dates and conditions as written (docs/mapping.md, "Fields", "Dates", "Conditions"). */

import { RE2JS } from 're2js'
import { z } from 'zod'
import { reasonOf } from '../model/errors.ts'
import { carriesOffset, formatFault } from './dates.ts'
import { zoneFault } from './zones.ts'

export const Text = z.union([
  z.string(),
  z.number().transform(String),
  z.boolean().transform((flag) => (flag ? 'true' : 'false')),
])

/** Value → value, or the name of a file in `mappings/tables`. */
export const Table = z.union([z.string().min(1), z.record(z.string(), Text)])

/**
 * A regular expression (RE2 syntax, through re2js). Matching takes time linear in the text: no cell can block a run. Look-arounds
 * and back references are not supported.
 */
const Pattern = z.string().superRefine((pattern, context) => {
  try {
    RE2JS.compile(pattern)
  } catch (error) {
    const message = reasonOf(error)
    const reason = message.replace('error parsing regexp: ', '')
    context.addIssue({ code: 'custom', message: `is no regular expression: ${reason}` })
  }
})

/** An optional key, with its description for editors. */
export const described = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  schema.optional().meta({ description })

/** Reports a fault of a key. */
export const refuser =
  (context: z.RefinementCtx) =>
  (key: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [key], message })

/** Steps on a text, in order. */
export interface FieldSteps {
  readonly emptyWhen?: readonly string[] | undefined
  readonly split?: { readonly by: string; readonly take: number } | undefined
  readonly extract?: string | undefined
  readonly case?: 'upper' | 'lower' | undefined
  readonly table?: string | Readonly<Record<string, string>> | undefined
  readonly otherwise?: string | undefined
}

/** Exactly one of the first five keys is given. */
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

/** Keys of a field that is read. Shared by all definitions: a field has equal keys everywhere. */
export const readKeys = {
  from: described('The column (CSV) or path (JSON) to read.', z.string().min(1)),
  firstOf: described('The first non-empty field.', Parts),
  concat: described('These fields, concatenated.', Parts),
  expression: z.string().min(1).optional(),
  separator: described('Text between the parts of concat.', z.string()),
  emptyWhen: described('Texts that count as empty.', z.array(Text)),
  split: z
    .strictObject({
      by: z.string().min(1),
      take: z.int().refine((take) => take !== 0, 'counts parts from 1, or from the end: -1 is the last'),
    })
    .optional(),
  extract: described('A regular expression (RE2): the first group, or the match.', Pattern),
  case: described('Converts to upper or lower case.', z.enum(['upper', 'lower'])),
}

export const fieldKeys = {
  ...readKeys,
  table: described('Replaces values: inline, or the name of a CSV in mappings/tables.', Table),
  otherwise: described('Result for a value missing in the table.', Text),
}

/** Rejects a field without a source, or with two. */
export function checkSource(field: FieldObject, context: z.RefinementCtx): void {
  const refuse = refuser(context)
  const [first, second] = (['from', 'firstOf', 'concat', 'expression', 'constant'] as const).filter(
    (key) => field[key] !== undefined,
  )
  if (first === undefined) refuse('from', 'is missing: a field needs from, firstOf, concat or expression')
  if (second !== undefined) refuse(second, `excludes ${first}: a field is read from one of them`)
  if (field.otherwise !== undefined && field.table === undefined)
    refuse('otherwise', 'belongs to table: the result for a value missing in the table')
  if (field.separator !== undefined && field.concat === undefined)
    refuse('separator', 'belongs to concat: the text between the parts')
}

/** A field that must be written as an object, where a bare word would be literal. */
export const FieldObject = z
  .strictObject({ ...fieldKeys, constant: Text.optional() })
  .superRefine(checkSource)

/**
 * A field where a bare word is literal and a column stands in an object. Elsewhere a bare word is a column or path
 * (docs/mapping.md, "Fields", lists the keys).
 */
export const WordOrField = z.union([z.string().min(1), FieldObject])

export const FieldDefinition: z.ZodType<FieldDefinition> = z.union([z.string().min(1), FieldObject])

const Format = z.string().superRefine((format, context) => {
  const message = formatFault(format)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** Tried in order. */
const Formats = z.union([Format.transform((one) => [one]), z.array(Format).min(1)])

/** Name of an IANA zone. @param otherwise alternative to a name, for the message */
const Zone = (otherwise?: string) =>
  z.string().superRefine((zone, context) => {
    const message = zoneFault(zone, otherwise)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const DateFrom = z
  .strictObject({
    ...fieldKeys,
    format: Formats,
    /** Zone of local times: constant for all rows, or a field with its name. */
    zone: z.union([Zone(', or { from: … } where it is a column'), FieldObject]).optional(),
    /** Read by the offset before the jump (forward) or after it (backward). */
    skipped: described('A local time skipped by the clocks.', z.enum(['reject', 'forward', 'backward'])),
    doubled: described('A local time that happened twice.', z.enum(['reject', 'earlier', 'later'])),
    partial: described('A year or month alone: start takes its first instant.', z.enum(['reject', 'start'])),
    since: z.iso
      .date('must be a day like 1985-01-31')
      .default('1990-01-01')
      .meta({ description: 'The first possible day; earlier dates are rejected.' }),
  })
  .superRefine((date, context) => {
    checkSource(date, context)
    const refuse = refuser(context)
    if (date.zone === undefined && !date.format.every((format) => carriesOffset(format)))
      refuse('zone', 'a zone is required, because the format has no offset; write it like America/New_York')
    if (date.partial === 'start' && !date.format.some(takesPartial))
      refuse('partial', 'belongs to HL7 and ISO: other forms have the whole day')
  })

export const DateDefinition = z.union([
  DateFrom,
  z.strictObject({ constant: z.iso.datetime({ offset: true }) }),
])
export type DateDefinition = z.infer<typeof DateDefinition>

const CENTURY_BOUNDS = 'must be a year from 1900 to 2000'

/** A calendar day; `yyyy-MM-dd` where no form is given. */
export const BirthDateDefinition = z.union([
  z
    .string()
    .min(1)
    .transform((from) => ({ from, format: ['yyyy-MM-dd'] })),
  z
    .strictObject({
      ...fieldKeys,
      format: Formats,
      century: described(
        'The first of the hundred years meant by two digits: with 1926, 26 is 1926 and 25 is 2025.',
        z.int().min(1900, CENTURY_BOUNDS).max(2000, CENTURY_BOUNDS),
      ),
    })
    .superRefine((date, context) => {
      checkSource(date, context)
      const refuse = refuser(context)
      const isShort = date.format.some((format) => /(?<!y)yy(?!y)/.test(format.replaceAll(/'[^']*'/g, ' ')))
      if (isShort && date.century === undefined)
        refuse(
          'century',
          'is missing: two digits of a year need a century; give the first of the hundred years meant, like 1926',
        )
      if (!isShort && date.century !== undefined) refuse('century', 'belongs to forms with yy')
    }),
])

export const COMPARISONS = ['<', '<=', '>', '>='] as const

/** Test of one column; all its keys must hold. */
const Test = z
  .strictObject({
    is: Text.optional(),
    in: described('The cell is one of these.', z.array(Text).min(1)),
    matches: described('A regular expression (RE2) for the cell.', Pattern),
    '<': Text.optional(),
    '<=': Text.optional(),
    '>': Text.optional(),
    '>=': Text.optional(),
    /** Compares dates instead of numbers. */
    format: Formats.optional(),
    zone: Zone().optional(),
  })
  .superRefine((test, context) => {
    const refuse = refuser(context)
    const compares = COMPARISONS.some((comparison) => test[comparison] !== undefined)
    if (!compares && test.is === undefined && test.in === undefined && test.matches === undefined)
      context.addIssue({ code: 'custom', message: 'is empty: give is, in, matches, <, <=, > or >=' })
    if (test.format !== undefined && !compares) refuse('format', 'belongs to comparisons of dates')
    if (test.zone !== undefined && test.format === undefined)
      refuse('zone', 'belongs to dates, which need a format')
  })
export type TestDefinition = z.infer<typeof Test>

/**
 * `when` and `skipWhen`: all lines must hold. A line tests one column (or path), except `any` and `all` with a list of conditions,
 * and `not` with one. `present` and `absent` are words of the language; any other text is compared.
 */
export interface WhenDefinition {
  readonly [name: string]:
    | string
    | readonly string[]
    | TestDefinition
    | readonly WhenDefinition[]
    | WhenDefinition
}

const When: z.ZodType<WhenDefinition> = z.lazy(() => WhenDefinition)

export const WhenDefinition: z.ZodType<WhenDefinition> = z
  .object({
    any: z.union([Text, z.array(When).min(1), z.array(Text).min(1)]).exactOptional(),
    all: z.union([Text, z.array(When).min(1), z.array(Text).min(1)]).exactOptional(),
    not: z.union([Text, When, z.array(Text).min(1)]).exactOptional(),
  })
  .catchall(z.union([Text, z.array(Text).min(1), Test]))
  .refine((lines) => Object.keys(lines).length > 0, 'names no column or path')

/** True for forms that may give a year or month without a day. */
function takesPartial(format: string): boolean {
  return format === 'HL7' || format === 'ISO'
}
