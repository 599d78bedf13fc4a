/** A condition as written (docs/mapping.md, "Conditions"): `when` and `skipWhen`. All of its lines must hold. */
import { z } from 'zod'
import { Formats, Zone } from './date-definition.ts'
import { Pattern, Text } from './field-definition.ts'

export const COMPARISONS = ['<', '<=', '>', '>='] as const
export type Comparison = (typeof COMPARISONS)[number]

/** What is asked of one column; all of it must hold. */
const Test = z
  .strictObject({
    is: Text.optional(),
    in: z.array(Text).min(1).optional().meta({ description: 'The cell is one of these.' }),
    matches: Pattern.optional().meta({ description: 'A regular expression (RE2) that the cell fits.' }),
    '<': Text.optional(),
    '<=': Text.optional(),
    '>': Text.optional(),
    '>=': Text.optional(),
    /** Makes the comparisons ones of dates. */
    format: Formats.optional(),
    zone: Zone.optional(),
  })
  .superRefine((test, context) => {
    const compares = COMPARISONS.some((comparison) => test[comparison] !== undefined)
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message })
    if (!compares && test.is === undefined && test.in === undefined && test.matches === undefined)
      context.addIssue({ code: 'custom', message: 'asks nothing: give is, in, matches, <, <=, > or >=' })
    if (test.format !== undefined && !compares) refuse('format', 'is for comparisons of dates')
    if (test.zone !== undefined && test.format === undefined)
      refuse('zone', 'is for dates, which need a format')
  })
export type TestDefinition = z.infer<typeof Test>

/**
 * A line asks one column (or path), but for the words `any` and `all` with a list of conditions, and `not` with one.
 * `present` and `absent` are words of the language; any other text is compared.
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
const Line = z.union([Text, z.array(Text).min(1), Test])

export const WhenDefinition: z.ZodType<WhenDefinition> = z
  .object({
    any: z.union([Text, z.array(When).min(1), z.array(Text).min(1)]).exactOptional(),
    all: z.union([Text, z.array(When).min(1), z.array(Text).min(1)]).exactOptional(),
    not: z.union([Text, When, z.array(Text).min(1)]).exactOptional(),
  })
  .catchall(Line)
  .refine((lines) => Object.keys(lines).length > 0, 'names no column or path')
