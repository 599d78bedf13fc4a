/** The `read:` block of a mapping file: how the bytes of an export become rows. */
import { z } from 'zod'

/** One printable ASCII character, or the tab: what can be found in UTF-8 byte by byte. */
const mark = z.string().regex(/^[\t\x20-\x7e]$/, 'must be one ASCII character, for example "," or "\\t"')

const csvDefinition = z
  .strictObject({
    format: z.literal('csv'),
    delimiter: mark.default(','),
    quote: mark.default('"'),
  })
  .refine((read) => read.delimiter !== read.quote, {
    path: ['delimiter'],
    error: 'must differ from the quote',
  })

const ndjsonDefinition = z.strictObject({ format: z.literal('ndjson') })

/** CSV by RFC 4180 with a header row, or one JSON document a line. Both are UTF-8. */
export const readDefinition = z.discriminatedUnion('format', [csvDefinition, ndjsonDefinition])

export type CsvDefinition = z.infer<typeof csvDefinition>
export type ReadDefinition = z.infer<typeof readDefinition>
