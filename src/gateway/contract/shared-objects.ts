import { z } from 'zod'

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

/** Fields of the same schema, under each of the names. */
export function each<const Names extends readonly string[], Schema extends z.ZodType>(
  names: Names,
  schema: Schema,
): Record<Names[number], Schema> {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Names[number], Schema>
}

/** Texts of an answer that no client needs. */
export const textsAsRead = <const Names extends readonly string[]>(...names: Names) =>
  each(names, tolerated(z.string()))

/** Texts that may be sent. */
export const textsSent = <const Names extends readonly string[]>(...names: Names) =>
  each(names, z.string().optional())

/** The value as the schema describes it; undefined where it is of another type. */
export function documented<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> | undefined {
  return schema.safeParse(value).data
}

/**
 * Section "Envelope": `code` mirrors the HTTP status, as a string in health-profile reads and writes other than biometric
 * create, as an integer elsewhere.
 */
export const EnvelopeCode = z.union([z.int(), z.string()])
export type EnvelopeCode = z.infer<typeof EnvelopeCode>

/** An item of `errors[]` (section "Errors"; documented for the requester alone). A bare text is borne. */
export const EnvelopeError = z.union([
  z.looseObject({ code: tolerated(EnvelopeCode), message: tolerated(z.string()) }),
  z.string(),
])
export type EnvelopeError = z.infer<typeof EnvelopeError>

/** Whole numbers under `index` or `position`, wherever they stand in an error. Which place is the first is not documented. */
export function placesIn(error: unknown): number[] {
  if (typeof error !== 'object' || error === null) return []
  return Object.entries(error).flatMap(([key, value]) => {
    if (key !== 'index' && key !== 'position') return placesIn(value)
    const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
    const place = isNumber ? Number(value) : Number.NaN
    return Number.isInteger(place) && place >= 0 ? [place] : []
  })
}

/** What an answer says beside its data. `errors` may be absent, but where it is there it must be readable. */
const envelopeOf = <Data extends z.ZodType>(data: Data) =>
  z.looseObject({
    code: tolerated(EnvelopeCode),
    message: tolerated(z.string()),
    data,
    errors: z.array(EnvelopeError).nullish(),
  })

/**
 * Section "Envelope": the schema of an answer whose `data` holds items of the given schema. `data` is needed; `errors`
 * is empty on success, and may refuse records of an answer that is otherwise a success.
 */
export const Envelope = <Item extends z.ZodType>(item: Item) => envelopeOf(z.array(item))
/** The same with data of any schema, for those who look at its items themselves. */
export const EnvelopeWith = envelopeOf
/** An answer with records of type `Item`. */
export type Envelope<Item> = z.infer<ReturnType<typeof Envelope<z.ZodType<Item>>>>

/**
 * The answer of GET /health-profile/conditions: a whole envelope inside an outer `data` object. Whether the outer object
 * carries a code, a message and errors of its own is not documented.
 */
export const NestedEnvelope = <Item extends z.ZodType>(item: Item) => envelopeOf(Envelope(item))
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

/** Section "Code object": an item of `codes[]` and `medication[]`, as sent. */
export const Code = z.looseObject({
  code: z.string().min(1),
  ...textsSent('codeSystem', 'codeSystemName', 'name'),
})
export type Code = z.infer<typeof Code>

/** A code object in an answer. `code` is needed: records are told apart by it. */
export const CodeAsRead = z.looseObject({
  code: z.string(),
  ...textsAsRead('codeSystem', 'codeSystemName', 'name'),
})
export type CodeAsRead = z.infer<typeof CodeAsRead>

const META = ['dataQuality', 'batchId', 'resourceKey', 'sendingSystem', 'persistentRecordId'] as const

/**
 * Section "Source object", `source.meta`, as sent. `dataQuality` `normalized` requests validation of the record
 * (documented for conditions); its other values are not documented. `persistentRecordId` is the record's id in the
 * sending system and the one field by which a read leads back to what was sent.
 */
export const SourceMeta = z.looseObject(textsSent(...META))
export type SourceMeta = z.infer<typeof SourceMeta>

/** Section "Source object", as sent. Reads return the latest record per code and `type`; its values are not listed. */
export const Source = z.looseObject({
  ...textsSent('name', 'type', 'notes'),
  meta: SourceMeta.optional(),
})
export type Source = z.infer<typeof Source>

/** The source in an answer; the echo of a biometric gives only name, notes, type and meta.dataQuality. */
export const SourceAsRead = z.looseObject({
  ...textsAsRead('name', 'type', 'notes'),
  meta: tolerated(z.looseObject(textsAsRead(...META))),
})
export type SourceAsRead = z.infer<typeof SourceAsRead>

/**
 * The forms of a point in time on the wire; all are UTC (Condition record: "All dates are normalised to and expressed in
 * UTC"). A biometric is sent and echoed with `IsoInstant`, a condition is sent with `EpochMs`, a care team entry is sent
 * with `EpochMsText`; reads give `InstantAsRead`.
 */

/** ISO 8601, UTC, exactly three digits of milliseconds: `2024-03-01T14:05:00.000Z`. */
export const IsoInstant = z.iso.datetime({ precision: 3 })
export type IsoInstant = z.infer<typeof IsoInstant>

/** Milliseconds since 1970-01-01T00:00:00Z as a JSON number; negative before that day. */
export const EpochMs = z.int()
export type EpochMs = z.infer<typeof EpochMs>

const EPOCH_MS_TEXT = /^-?\d{1,16}$/
/** Milliseconds since 1970-01-01T00:00:00Z as a string of digits. */
export const EpochMsText = z
  .string()
  .regex(EPOCH_MS_TEXT, 'Expected epoch milliseconds as a string of digits')
export type EpochMsText = z.infer<typeof EpochMsText>

/**
 * A date in an answer. Documented as epoch milliseconds in a string (biometric read), a string of unstated form
 * (condition) and a number (care team); every one of them is accepted everywhere. Read it with `epochMsOf`.
 */
export const InstantAsRead = z.union([z.string(), z.number()])
export type InstantAsRead = z.infer<typeof InstantAsRead>

/** Epoch milliseconds of any of the forms above; undefined where it is none of them. ISO dates without a zone are UTC. */
export function epochMsOf(instant: unknown): number | undefined {
  if (typeof instant === 'number') return Number.isFinite(instant) ? instant : undefined
  if (typeof instant !== 'string') return undefined
  if (EPOCH_MS_TEXT.test(instant)) return Number(instant)
  const zoned =
    /T.*(?:Z|[+-]\d{2}:?\d{2})$/i.test(instant) || !instant.includes('T') ? instant : `${instant}Z`
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(instant) ? Date.parse(zoned) : Number.NaN
  return Number.isNaN(parsed) ? undefined : parsed
}
