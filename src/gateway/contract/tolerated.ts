import type { z } from 'zod'

declare const undocumented: unique symbol

/** A value of another type than documented, as the gateway gave it: look at it as `unknown`. */
export type Undocumented = null | { readonly [undocumented]: true }

/** A field of an answer: of the documented type, or as it came. `typeof` tells a plain one, `documented` an object or a list. */
export type Lenient<Documented> = Documented | Undocumented

/**
 * A field of an answer that no client needs: where it is missing or of another type than documented, the answer stands, and the value
 * is kept as it came. The interface leaves many such forms open, and a batch that was stored must not become unreadable through a
 * field that nobody looks at.
 */
export function tolerated<Schema extends z.ZodType>(
  schema: Schema,
): z.ZodOptional<z.ZodType<Lenient<z.output<Schema>>>> {
  return schema.optional().catch((raw) => raw.input as z.output<Schema>) as never
}

/** The value as the schema describes it; undefined where it is of another type. */
export function documented<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> | undefined {
  return schema.safeParse(value).data
}
