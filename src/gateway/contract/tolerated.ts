import type { z } from 'zod'

/**
 * A field of an answer that no client needs: where it is missing or of another form than documented, it reads as
 * undefined and the answer stands. The interface leaves many such forms open, and a batch that was stored must not
 * become unreadable through a field that nobody looks at.
 */
export function tolerated<Schema extends z.ZodType>(schema: Schema) {
  return schema.optional().catch(undefined)
}
