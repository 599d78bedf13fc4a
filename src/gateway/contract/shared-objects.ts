import { z } from 'zod'

declare const undocumented: unique symbol

/** Value of an undocumented type, unchanged. Treat it as `unknown`. */
export type Undocumented = null | { readonly [undocumented]: true }

/** Field of an answer: of the documented type, or unchanged. `typeof` recognises a plain value, `documented` an object or a list. */
export type Lenient<Documented> = Documented | Undocumented

/**
 * Wraps the schema of a field that no client needs: a missing field or a value of another type does not invalidate the answer, and the
 * value is kept unchanged. The interface leaves many forms open. A stored batch must not become unreadable because of an unused field.
 */
export function tolerated<Schema extends z.ZodType>(
  schema: Schema,
): z.ZodOptional<z.ZodType<Lenient<z.output<Schema>>>> {
  return schema.optional().catch((raw) => raw.input as z.output<Schema>) as never
}

/** Returns fields with the same schema under each name. */
export function each<const Names extends readonly string[], Schema extends z.ZodType>(
  names: Names,
  schema: Schema,
): Record<Names[number], Schema> {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Names[number], Schema>
}

/** Texts of an answer that no client needs. */
export const textsAsRead = <const Names extends readonly string[]>(...names: Names) =>
  each(names, tolerated(z.string()))

/** Optional texts of a request. */
export const textsSent = <const Names extends readonly string[]>(...names: Names) =>
  each(names, z.string().optional())

/** Parses a value with the schema; undefined if it has another type. */
export function documented<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> | undefined {
  return schema.safeParse(value).data
}

/**
 * Section "Envelope": `code` mirrors the HTTP status, as a string in health-profile reads and writes except biometric create, as an integer
 * elsewhere.
 */
export const EnvelopeCode = z.union([z.int(), z.string()])
export type EnvelopeCode = z.infer<typeof EnvelopeCode>

/** Item of `errors[]` (section "Errors"; documented only for the requester). A bare text is accepted. */
export const EnvelopeError = z.union([
  z.looseObject({ code: tolerated(EnvelopeCode), message: tolerated(z.string()) }),
  z.string(),
])
export type EnvelopeError = z.infer<typeof EnvelopeError>

/** Returns whole numbers under `index` or `position` anywhere in an error. The document does not say whether they count from 0 or 1. */
export function placesIn(error: unknown): number[] {
  if (typeof error !== 'object' || error === null) return []
  return Object.entries(error).flatMap(([key, value]) => {
    if (key !== 'index' && key !== 'position') return placesIn(value)
    const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
    const place = isNumber ? Number(value) : Number.NaN
    return Number.isInteger(place) && place >= 0 ? [place] : []
  })
}

/** Envelope around any data. `errors` may be absent, but if present it must be readable. */
const envelopeOf = <Data extends z.ZodType>(data: Data) =>
  z.looseObject({
    code: tolerated(EnvelopeCode),
    message: tolerated(z.string()),
    data,
    errors: z.array(EnvelopeError).nullish(),
  })

/**
 * Section "Envelope": schema of an answer with `data` as a list of items. `data` is needed; `errors` is empty on success, and may refuse
 * records in an otherwise successful answer.
 */
export const Envelope = <Item extends z.ZodType>(item: Item) => envelopeOf(z.array(item))
/** Envelope with data of any schema, for callers that check the items themselves. */
export const EnvelopeWith = envelopeOf
/** Answer with records of type `Item`. */
export type Envelope<Item> = z.infer<ReturnType<typeof Envelope<z.ZodType<Item>>>>

/**
 * Answer of GET /health-profile/conditions: a whole envelope inside an outer `data` object. The document does not say whether the outer
 * object has its own code, message and errors.
 */
export const NestedEnvelope = <Item extends z.ZodType>(item: Item) => envelopeOf(Envelope(item))
/** Nested answer with records of type `Item`. */
export type NestedEnvelope<Item> = z.infer<ReturnType<typeof NestedEnvelope<z.ZodType<Item>>>>

/** Section "Errors": body of a refusal. Undocumented outside the requester, so no field is required. */
export const ErrorEnvelope = z.looseObject({
  code: tolerated(EnvelopeCode),
  message: tolerated(z.string()),
  errors: tolerated(z.array(EnvelopeError)),
})
export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>

/**
 * Whole envelope of a refusal, with a code and without records. A proxy's answer is not such an envelope. The answer to a read of
 * conditions may nest it (section "Envelope").
 */
export const RefusalEnvelope = z.looseObject({
  code: z.union([z.int(), z.string().regex(/^\d+$/)]),
  data: z
    .union([z.array(z.unknown()).max(0), z.looseObject({ data: z.array(z.unknown()).max(0) })])
    .nullish(),
  errors: z.array(EnvelopeError).nullish(),
})

/** Section "Code object": item of `codes[]` and `medication[]`, as sent. */
export const Code = z.looseObject({
  code: z.string().min(1),
  ...textsSent('codeSystem', 'codeSystemName', 'name'),
})
export type Code = z.infer<typeof Code>

/** Code object in an answer. `code` is needed to distinguish records. */
export const CodeAsRead = z.looseObject({
  code: z.string(),
  ...textsAsRead('codeSystem', 'codeSystemName', 'name'),
})
export type CodeAsRead = z.infer<typeof CodeAsRead>

const META = ['dataQuality', 'batchId', 'resourceKey', 'sendingSystem', 'persistentRecordId'] as const

/**
 * Section "Source object", `source.meta`, as sent. `dataQuality` `normalized` requests validation of the record (documented for
 * conditions); other values are not documented. `persistentRecordId` is the record's id in the sending system, and the only field by which
 * a read leads back to the record sent.
 */
export const SourceMeta = z.looseObject(textsSent(...META))
export type SourceMeta = z.infer<typeof SourceMeta>

/** Section "Source object", as sent. Reads return the latest record per code and `type`; the document does not list values of `type`. */
export const Source = z.looseObject({
  ...textsSent('name', 'type', 'notes'),
  meta: SourceMeta.optional(),
})
export type Source = z.infer<typeof Source>

/** Source in an answer; the echo of a biometric has only name, notes, type and meta.dataQuality. */
export const SourceAsRead = z.looseObject({
  ...textsAsRead('name', 'type', 'notes'),
  meta: tolerated(z.looseObject(textsAsRead(...META))),
})
export type SourceAsRead = z.infer<typeof SourceAsRead>

/**
 * ISO 8601, UTC, exactly three digits of milliseconds: `2024-03-01T14:05:00.000Z`. Points in time on the wire are UTC (Condition record: "All dates
 * are normalised to and expressed in UTC"): biometrics are sent and echoed in this form, conditions as `EpochMs`, care-team entries as
 * `EpochMsText`; reads return `InstantAsRead`.
 */
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
 * Date in an answer. Documented as epoch milliseconds in a string (biometric read), a string of unstated form (condition) and a number
 * (care team); every form is accepted everywhere. Read it with `epochMsOf`.
 */
export const InstantAsRead = z.union([z.string(), z.number()])
export type InstantAsRead = z.infer<typeof InstantAsRead>

/** Parses any of the forms above into epoch milliseconds; undefined for anything else. ISO dates without a zone are UTC. */
export function epochMsOf(instant: unknown): number | undefined {
  if (typeof instant === 'number') return Number.isFinite(instant) ? instant : undefined
  if (typeof instant !== 'string') return undefined
  if (EPOCH_MS_TEXT.test(instant)) return Number(instant)
  const zoned =
    /T.*(?:Z|[+-]\d{2}:?\d{2})$/i.test(instant) || !instant.includes('T') ? instant : `${instant}Z`
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(instant) ? Date.parse(zoned) : Number.NaN
  return Number.isNaN(parsed) ? undefined : parsed
}
