/** The `read:` block of a mapping file: how the bytes of an export become rows. */
import { z } from 'zod'
import { csvDefinition } from './csv-definition.ts'
import { jsonDefinition } from './json-definition.ts'

const ndjsonDefinition = z.strictObject({ format: z.literal('ndjson') })

/** CSV in its dialects, one JSON document a line, or one JSON document with a list of rows. */
export const readDefinition = z.discriminatedUnion('format', [
  csvDefinition,
  ndjsonDefinition,
  jsonDefinition,
])

export type ReadDefinition = z.infer<typeof readDefinition>
