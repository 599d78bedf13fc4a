/** `read:` of `format: csv`: the dialect of the file. Without any key it is RFC 4180 in UTF-8 with a header. */
import { z } from 'zod'
import { ENCODINGS } from './encoding.ts'

/** One character that is one byte in UTF-8, so that it is found byte by byte; no line end, no NUL. */
const mark = z
  .string()
  .refine(
    (text) => text.length === 1 && isMark(text.charCodeAt(0)),
    'must be one ASCII character, for example ","',
  )

const regularExpression = z.string().refine((source) => {
  try {
    return RegExp(source, 'u') !== undefined
  } catch {
    return false
  }
}, 'is no regular expression')

const header = z
  .strictObject({
    /** Physical line from which on the header is looked for. */
    line: z.int().min(1).optional(),
    /** Names that the header has: it is the first record that has them all. */
    find: z.array(z.string().trim().min(1)).min(1).optional(),
    /** Records below the header that are no rows: units, a second header. */
    skip: z.int().min(0).default(0),
  })
  .refine((one) => one.line === undefined || one.find === undefined, 'has line or find, not both')

const trailer = z
  .strictObject({
    /** The last lines that match are the trailer. */
    match: regularExpression.optional(),
    /** So many last lines are the trailer. */
    lines: z.int().min(1).max(100).optional(),
    /** Cell, from 1, of the trailer's first line that states how many rows there are. */
    count: z.strictObject({ cell: z.int().min(1) }).optional(),
  })
  .refine((one) => (one.match === undefined) !== (one.lines === undefined), 'needs either match or lines')

export const csvDefinition = z
  .strictObject({
    format: z.literal('csv'),
    encoding: z
      .enum(ENCODINGS)
      .default('auto')
      .meta({ description: 'Character encoding; auto goes by what the first bytes prove.' }),
    delimiter: z
      .union([z.literal('auto'), mark], { error: 'must be one ASCII character, or auto' })
      .default(','),
    quote: z.union([z.literal('none'), mark], { error: 'must be one ASCII character, or none' }).default('"'),
    quotes: z
      .enum(['strict', 'lenient'])
      .default('strict')
      .meta({ description: 'lenient: a quote inside a cell that does not begin with one is text.' }),
    escape: z
      .union([z.literal('doubled'), mark], { error: 'must be one ASCII character, or doubled' })
      .default('doubled'),
    header: z
      .union([z.literal('none'), header], { error: 'must be none, or name a line or cells to find' })
      .default({ skip: 0 }),
    columns: z
      .array(z.string().trim())
      .min(1)
      .optional()
      .meta({ description: 'Names of the columns where there is no header.' }),
    duplicates: z
      .enum(['refuse', 'number'])
      .default('refuse')
      .meta({ description: 'number: the second column called name is name_2.' }),
    comment: z
      .string()
      .regex(/^[!-~]{1,8}$/, 'must be one to eight ASCII characters, for example "#"')
      .optional(),
    trailer: trailer.optional().meta({ description: 'Lines at the end that are no rows.' }),
    ragged: z
      .enum(['reject', 'pad', 'trim'])
      .default('reject')
      .meta({ description: 'What becomes of rows of another width than the header.' }),
  })
  .superRefine((read, context) => {
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message })
    if (read.delimiter === read.quote) refuse('delimiter', 'must differ from the quote')
    if (read.delimiter === read.escape) refuse('escape', 'must differ from the delimiter')
    if (read.comment?.startsWith(read.quote) || read.comment?.startsWith(read.delimiter))
      refuse('comment', 'must not begin with the quote or the delimiter')
    if (read.quotes === 'lenient' && read.quote === 'none') refuse('quotes', 'needs a quote')
    if (read.header === 'none' && read.columns === undefined)
      refuse('columns', 'must name the columns of a file without header')
    if (read.header !== 'none' && read.columns !== undefined)
      refuse('columns', 'is for `header: none`; here the header names the columns')
    const names = (read.columns ?? []).filter((name) => name !== '')
    if (new Set(names).size < names.length) refuse('columns', 'names a column more than once')
  })

export type CsvDefinition = z.infer<typeof csvDefinition>

function isMark(code: number): boolean {
  return code > 0 && code < 0x80 && code !== 0x0a && code !== 0x0d
}
