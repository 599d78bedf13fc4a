/** The `read:` block of a mapping: from the bytes of an export to rows. Default: RFC 4180 in UTF-8 with a header. */

import { z } from 'zod'
import { reasonOf } from '../model/errors.ts'
import { encodingOf } from './encoding.ts'
import { parseMemberPath, parseRecordsPath } from './json-path.ts'

/** A character of one byte in UTF-8; no line end, no NUL. */
const mark = z
  .string()
  .refine(
    (text) => text.length === 1 && isMark(text.charCodeAt(0)),
    'must be one ASCII character, for example ","',
  )

const quote = z
  .union([z.literal('none'), mark], { error: 'must be one ASCII character, or none' })
  .default('"')

const encoding = (description: string, known = 'utf-8, windows-1252 and windows-1250') =>
  z
    .string()
    .refine(
      (label) => label === 'auto' || encodingOf(label) !== undefined,
      `is not a known encoding; known are ${known}, among others`,
    )
    .default('auto')
    .meta({ description: `Character encoding${description}` })

/** Names of columns; empty for a column that is not read. */
const isUnique = (names: readonly string[] = []): boolean => {
  const named = names.filter((name) => name !== '')
  return new Set(named).size === named.length
}

const REPEATED = 'names a column more than once'

const regularExpression = z.string().refine((source) => {
  try {
    return RegExp(source, 'u') !== undefined
  } catch {
    return false
  }
}, 'is no regular expression')

const header = z
  .strictObject({
    /** Physical line to search from. */
    line: z.int().min(1).optional(),
    /** The header is the first record with all these names. */
    find: z.array(z.string().trim().min(1)).min(1).optional(),
    /** Number of records below the header that are no rows: units, a second header. */
    skip: z.int().min(0).default(0),
  })
  .refine((one) => one.line === undefined || one.find === undefined, 'has line or find, not both')

const trailer = z
  .strictObject({
    /** The last lines that match are the trailer. */
    match: regularExpression.optional(),
    lines: z.int().min(1).max(100).optional(),
    /** Cell, from 1, in the first line of the trailer with the number of rows. */
    count: z.strictObject({ cell: z.int().min(1) }).optional(),
  })
  .refine((one) => (one.match === undefined) !== (one.lines === undefined), 'needs either match or lines')

export const csvDefinition = z
  .strictObject({
    format: z.literal('csv'),
    encoding: encoding('; auto goes by what the first bytes prove.'),
    delimiter: z
      .union([z.literal('auto'), mark], { error: 'must be one ASCII character, or auto' })
      .default(','),
    quote,
    quotes: z
      .enum(['strict', 'lenient'])
      .default('strict')
      .meta({ description: 'lenient: a quote inside an unquoted cell is text.' }),
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
      .meta({ description: 'Names of the columns of a file without header.' }),
    widths: z.array(z.int().min(1)).min(1).optional().meta({
      description: 'Width of each column in characters, for files of fixed widths.',
    }),
    duplicates: z
      .enum(['refuse', 'number'])
      .default('refuse')
      .meta({ description: 'number: the second column called name is name_2.' }),
    comment: z
      .string()
      .regex(/^[!-~]{1,8}$/, 'must be one to eight ASCII characters, for example "#"')
      .optional(),
    trailer: trailer.optional().meta({ description: 'Lines at the end that are not rows.' }),
    ragged: z
      .enum(['reject', 'pad', 'trim'])
      .default('reject')
      .meta({ description: 'Handling of rows with more or fewer cells than the header.' }),
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
    if (read.widths !== undefined && read.columns === undefined)
      refuse('columns', 'must name the columns: a header in a file of fixed widths cannot be recognised')
    else if (read.widths !== undefined && read.widths.length !== read.columns?.length)
      refuse('widths', `are ${read.widths.length} for ${read.columns?.length} columns`)
    if (!isUnique(read.columns)) refuse('columns', REPEATED)
  })

export type CsvDefinition = z.infer<typeof csvDefinition>

const xlsxDefinition = z
  .strictObject({
    format: z.literal('xlsx'),
    sheet: z.string().min(1).optional().meta({
      description: 'Name of the sheet; default: the only sheet with content.',
    }),
    header: csvDefinition.shape.header,
    columns: csvDefinition.shape.columns.unwrap().optional().meta({
      description: 'Names of the columns, from A on, replacing the header.',
    }),
    duplicates: csvDefinition.shape.duplicates,
    below: z.enum(['rows', 'nothing']).optional().meta({
      description: 'Content below a blank row or a line of totals: rows to read, or nothing to read.',
    }),
  })
  .refine(({ header: place, columns }) => place !== 'none' || columns !== undefined, {
    path: ['columns'],
    error: 'must name the columns of a sheet without header',
  })
  .refine(({ columns }) => isUnique(columns), { path: ['columns'], error: REPEATED })

const isMark = (code: number): boolean => code > 0 && code < 0x80 && code !== 0x0a && code !== 0x0d

export interface Dialect {
  /** One byte, as all marks. */
  readonly delimiter: number
  /** -1: there are no quotes. */
  readonly quote: number
  /** -1: only a quote is escaped, by another one. */
  readonly escapedBy: number
  /** A quote inside a cell that does not begin with one is text. */
  readonly lenient: boolean
  readonly comment: Buffer | undefined
  /** Characters of each cell, in place of delimiters and quotes. */
  readonly widths: readonly number[] | undefined
}

/** A parsed path; an error becomes the message of the issue. */
function path<Parsed>(parse: (text: string) => Parsed) {
  return z.string().transform((text, context): Parsed => {
    try {
      return parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error) })
      return z.NEVER
    }
  })
}

const jsonDefinition = z
  .strictObject({
    format: z.literal('json'),
    /** `$[*]`, `$.data.results[*]`, `$.entry[*].resource`; `$` where whole documents follow one another. */
    records: path(parseRecordsPath)
      .optional()
      .meta({ description: 'List with the rows as elements, like $.data.results[*].' }),
    /** Members before the list, by their names in the mapping: `context.NAME`. */
    context: z
      .record(z.string().regex(/^[a-z][A-Za-z0-9_]*$/, 'is named by a word'), path(parseMemberPath))
      .optional(),
  })
  .refine((read) => read.context === undefined || read.records?.list === true, {
    path: ['context'],
    error: 'needs rows that are elements of a list, named by `records`',
  })

const ndjsonDefinition = z.strictObject({ format: z.literal('ndjson') })

const hl7v2Definition = z.strictObject({
  format: z.literal('hl7v2'),
  encoding: encoding(' of all messages; auto goes by MSH-18 of each.', 'utf-8 and windows-1252'),
  rows: z.enum(['messages', 'patients']).default('messages').meta({
    description:
      'patients: each PATIENT_RESULT of a message is a row, with the rest of the message around it.',
  }),
})

const recordType = z.string().regex(/^[A-Za-z0-9_]{1,20}$/, 'is a word of letters and digits')
const recordColumns = z.array(z.string().trim().min(1)).min(1)

/** Cells of a record behind its type. */
const recordDefinition = z.strictObject({
  in: recordType
    .optional()
    .meta({ description: 'Type of the enclosing record; default: the type of the row.' }),
  columns: recordColumns,
  widths: z.array(z.int().min(1)).min(1).optional().meta({
    description: 'Width of each column in characters, after the type, in files of fixed widths.',
  }),
})

const recordsDefinition = z
  .strictObject({
    format: z.literal('records'),
    encoding: csvDefinition.shape.encoding,
    delimiter: z.union([mark], { error: 'must be one ASCII character' }).default(','),
    quote,
    typeWidth: z.int().min(1).max(20).optional().meta({
      description: 'Width of the type at the start of each line, in files of fixed widths.',
    }),
    row: recordType.meta({ description: 'Type that begins a row; the records after it belong to the row.' }),
    types: z
      .record(
        recordType,
        z.union([
          recordColumns.transform((columns): z.infer<typeof recordDefinition> => ({ columns })),
          recordDefinition,
        ]),
      )
      .meta({ description: 'Names of the columns, by type.' }),
    skip: z.array(recordType).default([]).meta({ description: 'Types outside rows: headers, trailers.' }),
    count: z
      .strictObject({ type: recordType, cell: z.int().min(1) })
      .optional()
      .meta({
        description: 'Record with the number of rows: its type, and the cell, from 1, after the type.',
      }),
  })
  .superRefine((read, context) => {
    const refuse = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message })
    const types = new Map<string, z.infer<typeof recordDefinition>>(Object.entries(read.types))
    if (!types.has(read.row)) refuse(['row'], 'is none of the types')
    if (read.delimiter === read.quote) refuse(['delimiter'], 'must differ from the quote')
    for (const [type, { in: parent, columns, widths }] of types) {
      const at = ['types', type]
      if (read.skip.includes(type)) refuse(at, 'is listed in `skip`, too')
      if (read.typeWidth !== undefined && read.typeWidth < type.length)
        refuse(at, `is longer than the ${read.typeWidth} characters of a type`)
      if ((widths?.length ?? columns.length) !== columns.length)
        refuse([...at, 'widths'], `are ${widths?.length} for ${columns.length} columns`)
      if ((widths === undefined) !== (read.typeWidth === undefined))
        refuse([...at, 'widths'], 'go with typeWidth: either all types have widths, or none')
      if (!isUnique(columns)) refuse([...at, 'columns'], REPEATED)
      for (const [other, { in: above = read.row }] of types)
        if (other !== read.row && above === type && columns.includes(other))
          refuse(
            [...at, 'columns'],
            `has a column with the name of the type ${other}, whose records lie in the same record`,
          )
      if (type === read.row) {
        if (parent !== undefined) refuse([...at, 'in'], 'begins a row, and belongs to none')
        continue
      }
      const seen = new Set([type])
      for (let above = parent ?? read.row; above !== read.row; above = types.get(above)?.in ?? read.row) {
        if (!types.has(above) || seen.has(above)) {
          refuse([...at, 'in'], 'leads to no row')
          break
        }
        seen.add(above)
      }
    }
  })

export const readDefinition = z.discriminatedUnion('format', [
  csvDefinition,
  xlsxDefinition,
  ndjsonDefinition,
  jsonDefinition,
  hl7v2Definition,
  recordsDefinition,
])

export type ReadDefinition = z.infer<typeof readDefinition>
