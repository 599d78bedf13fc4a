import { z } from 'zod'
import { tolerated } from './tolerated.ts'

/** Section "Code object": an item of `codes[]` and `medication[]`, as sent. */
export const Code = z.looseObject({
  code: z.string().min(1),
  codeSystem: z.string().optional(),
  codeSystemName: z.string().optional(),
  name: z.string().optional(),
})
export type Code = z.infer<typeof Code>

/** A code object in an answer. `code` is needed: records are told apart by it. */
export const CodeAsRead = z.looseObject({
  code: z.string(),
  codeSystem: tolerated(z.string()),
  codeSystemName: tolerated(z.string()),
  name: tolerated(z.string()),
})
export type CodeAsRead = z.infer<typeof CodeAsRead>
