/** `read:` of `format: json`: a file that is one document, or whose rows are the elements of a list in it. */
import { z } from 'zod'
import { parseMemberPath, parseRecordsPath } from './json-path.ts'

/** A path, parsed; what is wrong with it is the issue's message. */
function path<Parsed>(parse: (text: string) => Parsed) {
  return z.string().transform((text, context): Parsed => {
    try {
      return parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
      return z.NEVER
    }
  })
}

export const jsonDefinition = z
  .strictObject({
    format: z.literal('json'),
    /** `$[*]`, `$.data.results[*]`, `$.entry[*].resource`; `$` where whole documents follow one another. */
    records: path(parseRecordsPath)
      .optional()
      .meta({ description: 'The list whose elements are the rows, like $.data.results[*].' }),
    /** Members that stand before the list, by the name under which the mapping reads them: `context.NAME`. */
    context: z
      .record(z.string().regex(/^[a-z][A-Za-z0-9_]*$/, 'is named by a word'), path(parseMemberPath))
      .optional(),
  })
  .refine((read) => read.context === undefined || read.records?.list === true, {
    path: ['context'],
    error: 'is for files whose rows are the elements of a list, named by `records`',
  })

export type JsonDefinition = z.infer<typeof jsonDefinition>
