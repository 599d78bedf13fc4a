import { z } from 'zod'
import { ErrorEnvelope, each, textsAsRead, textsSent, tolerated } from './shared-objects.ts'

/**
 * The three fields that the interface spells in two ways: the spelling of the field tables, then the other one (the
 * field description of the first two, the sample of the third). Which is authoritative on input is not documented. Every
 * schema here reads both and gives the first; where both are there, the first counts, and the other stays beside it.
 */
export const OTHER_SPELLINGS = {
  datesOfService: 'dateOfService',
  requestSubType: 'requestSubtype',
  subType: 'subTyp',
} as const

/** The schema of a block that also bears the other spelling of its fields. */
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
 * A date of the requester: YYYY-MM-DD on input, MM/DD/YYYY in answers. Decoding gives the form that is sent, encoding
 * the form that is returned; answers keep their dates as they came.
 */
export const DateReturned = z.codec(
  z.string().regex(/^\d{2}\/\d{2}\/\d{4}$/, 'Expected a date of the form MM/DD/YYYY'),
  z.iso.date(),
  {
    decode: (date) => `${date.slice(6)}-${date.slice(0, 2)}-${date.slice(3, 5)}`,
    encode: (date) => `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)}`,
  },
)
/** A date as sent, YYYY-MM-DD. */
export type DateReturned = z.infer<typeof DateReturned>

/**
 * Section "Medical-records request", disclosure values, exact. `ekc_ecg_tests` beside `ekg`, and `xray_reports` beside
 * `x_ray_reports`, are the interface's own.
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

/** A field that is not required: null clears it, omitted it keeps its value. */
const clearable = z.string().nullish()

const Patient = z.looseObject({
  ...each(['type', 'reference', 'zip'], clearable),
  ...each(['firstName', 'lastName'], z.string().min(1)),
  dob: z.iso.date(),
})

const PROVIDER_NAMES = ['type', 'groupName', 'npi', 'firstName', 'lastName'] as const
const PROVIDER_PLACE = ['address1', 'address2', 'city', 'state', 'zip', 'phone', 'fax', 'contact'] as const
/** One required field of the provider is documented without its name: it is passed on as every field that is unknown here. */
const Provider = z.looseObject(each([...PROVIDER_NAMES, ...PROVIDER_PLACE], clearable))

/** The `type` is documented as required and as `startEnd` by default; its other values are not listed. */
const DatesOfService = z.looseObject({ type: z.string().min(1), start: z.iso.date(), end: z.iso.date() })

const RecordsAskedFor = z.looseObject({
  type: z.string(),
  requestType: z.string().min(1),
  requestSubType: z.string().min(1),
  datesOfService: DatesOfService.extend({ type: DatesOfService.shape.type.default('startEnd') }),
  disclosures: z.array(Disclosure).nullish(),
})

/** Reserved for future use: an address sent here would be ignored without a word. */
const Webhook = z.looseObject({ sendStatusChange: z.boolean().nullish(), url: z.literal('') })

/**
 * Section "Medical-records request (ROI)", as sent: what PATCH /medical-records/requester asks of a request whose
 * `referenceNumber` is new. Dates are YYYY-MM-DD. `request.type` is an empty string where there is no value;
 * `requestType` and `requestSubType` come from the request types, whether by id or by name is not documented.
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
 * Section "States and transitions": a request whose `referenceNumber` exists, field by field. What is sent is replaced,
 * null clears, what is omitted keeps its value. Null on a required field is not documented and is not sent.
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
 * The body of PATCH /medical-records/requester: always an array, even for one request. The reference number decides
 * between create and update, and the body does not tell them apart: a request that is new must also be a
 * `MedicalRecordsRequestSent`.
 */
export const MedicalRecordsUpsert = z.array(MedicalRecordsRequestChange).min(1)
export type MedicalRecordsUpsert = z.infer<typeof MedicalRecordsUpsert>

/** Fields of a request in an answer; a cleared one may be absent or null. */
const returned = <const Names extends readonly string[]>(...names: Names) =>
  each(names, tolerated(z.string().nullable()))

/**
 * Section "Medical-records request (ROI)", as returned by upsert and search. `referenceNumber` is needed: it alone says
 * which request it is. Dates are MM/DD/YYYY (`DateReturned` reads them).
 * `authorizationUploadUrl` takes the authorization PDF for 30 minutes; a further upsert gives a new one. Of the
 * values of `status.status` only `Received` is documented; `status.updated` is MM/DD/YYYY HH:mm:ss in an unstated zone.
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

/** Path parameter of DELETE /medical-records/requester/{referenceNumber}. A request that is processed is refused. */
export const MedicalRecordsDeletion = z.object({ referenceNumber: z.string().min(1) })
export type MedicalRecordsDeletion = z.infer<typeof MedicalRecordsDeletion>

/** The item of `data[]` that a deletion answers: "the deleted request's details", whose fields are not documented. */
export const MedicalRecordsRequestDeleted = MedicalRecordsRequestReturned.extend({
  referenceNumber: tolerated(z.string()),
})
export type MedicalRecordsRequestDeleted = z.infer<typeof MedicalRecordsRequestDeleted>

const PatientSought = z.looseObject({
  ...textsSent('type', 'reference', 'zip', 'firstName', 'lastName'),
  dob: z.iso.date().optional(),
})

/** An item of `filter[]`: at least one patient field that is not empty, and the kind of request. */
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
 * The body of POST /medical-records/requester. Not documented: whether the first `page` is 0 or 1, the largest `limit`
 * (the sample has 100 records a page), the content of `sort`.
 */
export const MedicalRecordsSearch = z.looseObject({
  page: z.int().nonnegative(),
  limit: z.int().positive(),
  sort: z.record(z.string(), z.unknown()).optional(),
  filter: z.array(MedicalRecordsFilter).min(1),
})
export type MedicalRecordsSearch = z.infer<typeof MedicalRecordsSearch>

/**
 * The one item of `data[]` that a search answers: the original query plus `results`. How the query is laid out, and
 * whether there is a total, is not documented, so `results` alone is read and the rest is kept.
 */
export const MedicalRecordsFound = z.looseObject({ results: z.array(MedicalRecordsRequestReturned) })
export type MedicalRecordsFound = z.infer<typeof MedicalRecordsFound>

const Named = z.looseObject({ id: z.string().min(1), name: z.string().min(1) })

/** Section "Request type item". `id` and `name` are needed: a request is sent with one of them. */
export const MedicalRecordsRequestType = Named.extend({
  requestSubType: tolerated(z.array(Named.extend({ disabled: tolerated(z.boolean().nullable()) }))),
})
export type MedicalRecordsRequestType = z.infer<typeof MedicalRecordsRequestType>

/** An item of `data[]` of GET /medical-records/requester/requestTypes, which is an array of arrays. */
export const MedicalRecordsRequestTypes = z.array(MedicalRecordsRequestType)
export type MedicalRecordsRequestTypes = z.infer<typeof MedicalRecordsRequestTypes>

/**
 * The envelope inside the `message` of a refusal. Section "Errors": in one form of the 400 body, `message` and the same
 * text in `errors[]`, there beside an `exception` of null, are a failure phrase followed by an inner envelope serialised
 * as text, with the reasons in its `errors[]` (`code` 0 and 1 occur). The bare form has neither; undefined for it. The
 * failure phrase is not documented: what counts is the text from the first brace to the last, read as JSON.
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
