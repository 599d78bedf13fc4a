import { z } from 'zod'
import { ErrorEnvelope, each, textsAsRead, textsSent, tolerated } from './shared-objects.ts'

/**
 * Fields with two spellings in the interface: the spelling of the field tables, then the other (from the field description for the first
 * two, from the sample for the third). The document does not say which is authoritative on input. Every schema here reads both and returns
 * the first. If both are present, the first counts, and the other is kept as an extra field.
 */
export const OTHER_SPELLINGS = {
  datesOfService: 'dateOfService',
  requestSubType: 'requestSubtype',
  subType: 'subTyp',
} as const

/** Wraps the schema of a block to accept both spellings of its fields. */
function inEitherSpelling<Block extends z.ZodType>(block: Block) {
  return z.preprocess((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const fields = new Map(Object.entries(value))
    for (const [spelling, other] of Object.entries(OTHER_SPELLINGS)) {
      if (!fields.has(other) || fields.has(spelling)) continue
      fields.set(spelling, fields.get(other))
      fields.delete(other)
    }
    return Object.fromEntries(fields)
  }, block)
}

/**
 * Date of the requester: YYYY-MM-DD on input, MM/DD/YYYY in answers. Decoding returns the form sent, encoding the form returned. Answers
 * keep their dates unchanged.
 */
export const DateReturned = z.codec(
  z.string().regex(/^\d{2}\/\d{2}\/\d{4}$/, 'Expected a date of the form MM/DD/YYYY'),
  z.iso.date(),
  {
    decode: (date) => `${date.slice(6)}-${date.slice(0, 2)}-${date.slice(3, 5)}`,
    encode: (date) => `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)}`,
  },
)
/** Date as sent, YYYY-MM-DD. */
export type DateReturned = z.infer<typeof DateReturned>

/**
 * Section "Medical-records request", disclosure values, exact. The interface itself has both `ekc_ecg_tests` and `ekg`, and both
 * `xray_reports` and `x_ray_reports`.
 */
export const Disclosure = z.enum([
  'any_and_all',
  'immunizations',
  'lab_reports',
  'medication_records',
  'newborn_birth_records',
  'nurse_notes',
  'operative_report',
  'pathology',
  'pft',
  'progress_notes',
  'radiology_imaging_films',
  'sleep_study',
  'treatment_plans',
  'therapy_notes',
  'transfer_notes',
  'wound_care',
  'x_ray_reports',
  'history_and_physical',
  'abstract',
  'billing_records',
  'commitment_papers',
  'consultation',
  'xray_reports',
  'disclosure_summary',
  'discharge_instructions',
  'discharge_summary',
  'doctor_orders',
  'echo',
  'ekc_ecg_tests',
  'ekg',
  'er_record',
  'facesheet',
  'fetal_heart_monitor_strips',
  'growth_chart',
  'consent',
])
export type Disclosure = z.infer<typeof Disclosure>

/** Optional field: null clears, omission keeps the value. */
const clearable = z.string().nullish()

const Patient = z.looseObject({
  ...each(['type', 'reference', 'zip'], clearable),
  ...each(['firstName', 'lastName'], z.string().min(1)),
  dob: z.iso.date(),
})

const PROVIDER_NAMES = ['type', 'groupName', 'npi', 'firstName', 'lastName'] as const
const PROVIDER_PLACE = ['address1', 'address2', 'city', 'state', 'zip', 'phone', 'fax', 'contact'] as const
/** Provider. The document leaves a required field without a name; it passes through like every unknown field. */
const Provider = z.looseObject(each([...PROVIDER_NAMES, ...PROVIDER_PLACE], clearable))

/** `type` is documented both as required and as `startEnd` by default; no other values are listed. */
const DatesOfService = z.looseObject({ type: z.string().min(1), start: z.iso.date(), end: z.iso.date() })

const RecordsAskedFor = z.looseObject({
  type: z.string(),
  requestType: z.string().min(1),
  requestSubType: z.string().min(1),
  datesOfService: DatesOfService.extend({ type: DatesOfService.shape.type.default('startEnd') }),
  disclosures: z.array(Disclosure).nullish(),
})

/** Reserved for future use: an address sent here would be silently ignored. */
const Webhook = z.looseObject({ sendStatusChange: z.boolean().nullish(), url: z.literal('') })

/**
 * Section "Medical-records request (ROI)", as sent by PATCH /medical-records/requester for a new `referenceNumber`. Dates are YYYY-MM-DD.
 * `request.type` is an empty string without a value. `requestType` and `requestSubType` come from the request types; the document does not
 * say whether by id or by name.
 */
export const MedicalRecordsRequestSent = z.looseObject({
  referenceNumber: z.string().min(1),
  patient: Patient,
  provider: Provider,
  request: inEitherSpelling(RecordsAskedFor),
  webhook: Webhook,
})
export type MedicalRecordsRequestSent = z.infer<typeof MedicalRecordsRequestSent>

/**
 * Section "States and transitions": change to a request with an existing `referenceNumber`, field by field. A value replaces, null clears,
 * omission keeps the value. Null on a required field is undocumented and not sent.
 */
export const MedicalRecordsRequestChange = z.looseObject({
  referenceNumber: z.string().min(1),
  patient: Patient.partial().optional(),
  provider: Provider.optional(),
  request: inEitherSpelling(
    RecordsAskedFor.extend({ datesOfService: DatesOfService.partial() }).partial(),
  ).optional(),
  webhook: Webhook.partial().optional(),
})
export type MedicalRecordsRequestChange = z.infer<typeof MedicalRecordsRequestChange>

/**
 * Body of PATCH /medical-records/requester: always an array, even for a single request. The reference number decides between create and
 * update, which the body does not distinguish. A new request must also be a `MedicalRecordsRequestSent`.
 */
export const MedicalRecordsUpsert = z.array(MedicalRecordsRequestChange).min(1)
export type MedicalRecordsUpsert = z.infer<typeof MedicalRecordsUpsert>

/** Fields of a request in an answer; a cleared field may be absent or null. */
const returned = <const Names extends readonly string[]>(...names: Names) =>
  each(names, tolerated(z.string().nullable()))

/**
 * Section "Medical-records request (ROI)", as returned by upsert and search. `referenceNumber` is needed as the only identity. Dates are
 * MM/DD/YYYY (`DateReturned` reads them). `authorizationUploadUrl` accepts the authorization PDF for 30 minutes; another upsert returns a
 * new address. Of `status.status`, only `Received` is documented; `status.updated` is MM/DD/YYYY HH:mm:ss, without a zone.
 */
export const MedicalRecordsRequestReturned = z.looseObject({
  referenceNumber: z.string().min(1),
  patient: tolerated(z.looseObject(returned('type', 'reference', 'zip', 'firstName', 'lastName', 'dob'))),
  provider: tolerated(Provider),
  request: tolerated(
    inEitherSpelling(
      z.looseObject({
        ...returned('type', 'requestType', 'requestSubType'),
        datesOfService: tolerated(z.looseObject(returned('type', 'start', 'end'))),
        disclosures: tolerated(z.array(z.string()).nullable()),
      }),
    ),
  ),
  webhook: tolerated(
    z.looseObject({ sendStatusChange: tolerated(z.boolean().nullable()), ...returned('url') }),
  ),
  authorizationUploadUrl: tolerated(z.string()),
  status: tolerated(
    z.looseObject({
      documentAvailable: tolerated(z.boolean()),
      ...textsAsRead('status', 'updated'),
      ...returned('processed', 'processedPlatform', 'authorizationName'),
    }),
  ),
})
export type MedicalRecordsRequestReturned = z.infer<typeof MedicalRecordsRequestReturned>

/** Path parameter of DELETE /medical-records/requester/{referenceNumber}. The gateway refuses to delete a processed request. */
export const MedicalRecordsDeletion = z.object({ referenceNumber: z.string().min(1) })
export type MedicalRecordsDeletion = z.infer<typeof MedicalRecordsDeletion>

/** Item of `data[]` in the answer to a deletion: "the deleted request's details", with undocumented fields. */
export const MedicalRecordsRequestDeleted = MedicalRecordsRequestReturned.extend({
  referenceNumber: tolerated(z.string()),
})
export type MedicalRecordsRequestDeleted = z.infer<typeof MedicalRecordsRequestDeleted>

const PatientSought = z.looseObject({
  ...textsSent('type', 'reference', 'zip', 'firstName', 'lastName'),
  dob: z.iso.date().optional(),
})

/** Item of `filter[]`: at least one patient field with a value, and the kind of request. */
export const MedicalRecordsFilter = z.looseObject({
  patient: PatientSought.refine(
    (patient) =>
      PatientSought.keyof().options.some((name) => patient[name] !== undefined && patient[name] !== ''),
    'Expected at least one patient field',
  ),
  request: inEitherSpelling(z.looseObject({ type: z.string(), subType: z.string() })),
})
export type MedicalRecordsFilter = z.infer<typeof MedicalRecordsFilter>

/**
 * Body of POST /medical-records/requester. Undocumented: the number of the first `page` (0 or 1), the maximum `limit` (100 records a page
 * in the sample), the content of `sort`.
 */
export const MedicalRecordsSearch = z.looseObject({
  page: z.int().nonnegative(),
  limit: z.int().positive(),
  sort: z.record(z.string(), z.unknown()).optional(),
  filter: z.array(MedicalRecordsFilter).min(1),
})
export type MedicalRecordsSearch = z.infer<typeof MedicalRecordsSearch>

/**
 * Single item of `data[]` in the answer to a search: the original query plus `results`. Neither the layout of the query nor a total is
 * documented, so only `results` is parsed, and the rest is kept.
 */
export const MedicalRecordsFound = z.looseObject({ results: z.array(MedicalRecordsRequestReturned) })
export type MedicalRecordsFound = z.infer<typeof MedicalRecordsFound>

const Named = z.looseObject({ id: z.string().min(1), name: z.string().min(1) })

/** Section "Request type item". `id` and `name` are needed: a request refers to a type by either. */
export const MedicalRecordsRequestType = Named.extend({
  requestSubType: tolerated(z.array(Named.extend({ disabled: tolerated(z.boolean().nullable()) }))),
})
export type MedicalRecordsRequestType = z.infer<typeof MedicalRecordsRequestType>

/** Item of `data[]` of GET /medical-records/requester/requestTypes, an array of arrays. */
export const MedicalRecordsRequestTypes = z.array(MedicalRecordsRequestType)
export type MedicalRecordsRequestTypes = z.infer<typeof MedicalRecordsRequestTypes>

/**
 * Returns the envelope inside the `message` of a refusal. Section "Errors": in one form of the 400 body, `message` and the same text in
 * `errors[]` are a failure phrase followed by an inner envelope as text, with the reasons in its `errors[]`. The bare form has none:
 * undefined. The text from the first brace to the last is parsed, as the phrase is not documented.
 */
export function innerRefusalOf(refusal: ErrorEnvelope): ErrorEnvelope | undefined {
  const { message } = refusal
  if (typeof message !== 'string') return undefined
  try {
    return ErrorEnvelope.parse(JSON.parse(message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1)))
  } catch {
    return undefined
  }
}
