import { z } from 'zod'
import { tolerated } from './tolerated.ts'

/**
 * Section "Envelope": `code` mirrors the HTTP status, as a string in health-profile reads and writes other than biometric
 * create, as an integer elsewhere.
 */
export const EnvelopeCode = z.union([z.int(), z.string()])
export type EnvelopeCode = z.infer<typeof EnvelopeCode>

/** An item of `errors[]` (section "Errors"; documented for the requester alone). A bare text is borne. */
export const EnvelopeError = z.union([
  z.looseObject({
    code: tolerated(EnvelopeCode),
    message: tolerated(z.string()),
  }),
  z.string(),
])
export type EnvelopeError = z.infer<typeof EnvelopeError>

/**
 * Section "Envelope": the schema of an answer whose `data` holds items of the given schema. `data` is needed; `errors`
 * is empty on success and may be absent, but where it is there it must be readable, since it may refuse records of an
 * answer that is otherwise a success.
 */
export function Envelope<Item extends z.ZodType>(item: Item) {
  return z.looseObject({
    code: tolerated(EnvelopeCode),
    message: tolerated(z.string()),
    data: z.array(item),
    errors: z.array(EnvelopeError).nullish(),
  })
}
/** An answer with records of type `Item`. */
export type Envelope<Item> = z.infer<ReturnType<typeof Envelope<z.ZodType<Item>>>>

/**
 * The answer of GET /health-profile/conditions: a whole envelope inside an outer `data` object. Whether the outer object
 * carries a code, a message and errors of its own is not documented.
 */
export function NestedEnvelope<Item extends z.ZodType>(item: Item) {
  return z.looseObject({
    code: tolerated(EnvelopeCode),
    message: tolerated(z.string()),
    data: Envelope(item),
    errors: z.array(EnvelopeError).nullish(),
  })
}
/** A nested answer with records of type `Item`. */
export type NestedEnvelope<Item> = z.infer<ReturnType<typeof NestedEnvelope<z.ZodType<Item>>>>

/** Section "Errors": the body of a refusal. Not documented outside the requester, so nothing in it is needed. */
export const ErrorEnvelope = z.looseObject({
  code: tolerated(EnvelopeCode),
  message: tolerated(z.string()),
  errors: tolerated(z.array(EnvelopeError)),
})
export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>

/**
 * An envelope that refuses and is whole: it has a code, and no records. What a proxy answers in the gateway's place is
 * none. The answer to a read of conditions may nest it (section "Envelope").
 */
export const RefusalEnvelope = z.looseObject({
  code: EnvelopeCode,
  data: z
    .union([z.array(z.unknown()).max(0), z.looseObject({ data: z.array(z.unknown()).max(0) })])
    .nullish(),
  errors: z.array(EnvelopeError).nullish(),
})
