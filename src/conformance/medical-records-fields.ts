import {
  allFormed,
  answered,
  at,
  byName,
  type ConformanceCase,
  type Form,
  formed,
  inSection,
  jsonOf,
  kept,
  LIST,
  listAt,
  oneOf,
  type Run,
  TEXT,
  TEXT_OR_NULL,
  TRUTH,
  US_DATE,
  US_DATE_TIME,
} from './case.ts'
import type { Client } from './client.ts'
import {
  type BlockName,
  createRoi,
  createTaken,
  type Roi,
  renewed,
  requestTypes,
  upsert,
  upserted,
} from './medical-records.ts'

const roi = inSection('Medical-records request (ROI)')

/** The request without a field of one of its blocks. */
function without(request: Roi, block: BlockName, field: string): Roi {
  const rest = Object.entries(request[block]).filter(([name]) => name !== field)
  return { ...request, [block]: Object.fromEntries(rest) }
}

const usDate = (date: string) => `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)}`

const refusedAsNew = async (client: Client, request: Roi) =>
  answered(await upsert(client, [renewed(client, request)]), 400)

/** The fields are returned as sent. */
async function returnedAsSent(client: Client, block: BlockName, fields: readonly string[]): Promise<Roi> {
  const { sent, returned } = await createTaken(client)
  for (const field of fields)
    kept(at(returned, `${block}.${field}`), at(sent, `${block}.${field}`), `${block}.${field}`)
  return sent
}

/** Rows for fields that are returned as sent, and may be missing. */
const optional = (block: BlockName, ...fields: readonly string[]) =>
  Object.fromEntries(
    fields.map((field): [string, Run] => [
      `${block}.${field}`,
      async (client) => {
        const sent = await returnedAsSent(client, block, [field])
        await upserted(client, renewed(client, without(sent, block, field)))
      },
    ]),
  )

/** Rows for fields that are returned as sent, and without which a request is refused. */
const required = (block: BlockName, ...fields: readonly string[]) =>
  Object.fromEntries(
    fields.map((field): [string, Run] => [
      `${block}.${field}`,
      async (client) =>
        refusedAsNew(client, without(await returnedAsSent(client, block, [field]), block, field)),
    ]),
  )

/** A field that holds a value of the request types: refused without one, and with another. */
const ofRequestTypes =
  (field: 'requestType' | 'requestSubType'): Run =>
  async (client) => {
    const { sent } = await createTaken(client)
    await refusedAsNew(client, without(sent, 'request', field))
    await refusedAsNew(client, { ...sent, request: { ...sent.request, [field]: client.unique('type') } })
  }

/** The dates of service of a request as returned, in either spelling. */
const datesIn = (returned: unknown): unknown =>
  at(returned, 'request.datesOfService') ?? at(returned, 'request.dateOfService')

const dateOfService =
  (field: 'start' | 'end'): Run =>
  async (client) => {
    const place = `request.datesOfService.${field}`
    const { sent, returned } = await createTaken(client)
    const { [field]: date, ...datesOfService } = sent.request.datesOfService
    formed(at(datesIn(returned), field), US_DATE, place)
    kept(at(datesIn(returned), field), usDate(date), place)
    await refusedAsNew(client, { ...sent, request: { ...sent.request, datesOfService } })
  }

const added =
  (form: Form) =>
  (field: string): Run =>
  async (client) =>
    formed(at((await createTaken(client)).returned, field), form, field)

/** Section "Medical-records request (ROI)". */
export const MEDICAL_RECORDS_FIELD_CASES: readonly ConformanceCase[] = [
  ...roi.writes({
    referenceNumber: async (client) => {
      const { sent, returned } = await createTaken(client)
      kept(at(returned, 'referenceNumber'), sent.referenceNumber, 'referenceNumber')
      const { referenceNumber: _, ...nameless } = sent
      answered(await upsert(client, [nameless]), 400)
    },
    ...optional('patient', 'type', 'reference', 'zip'),
    ...required('patient', 'firstName', 'lastName'),
    'patient.dob': async (client) => {
      const { sent, returned } = await createTaken(client)
      formed(at(returned, 'patient.dob'), US_DATE, 'patient.dob')
      kept(at(returned, 'patient.dob'), usDate(sent.patient.dob), 'patient.dob')
      await refusedAsNew(client, without(sent, 'patient', 'dob'))
    },
    ...optional('provider', 'type'),
    'provider.groupName, npi, firstName, lastName, address1, address2, city, state, zip, phone, fax, contact':
      async (client) => {
        const { type: _, ...rest } = (await createRoi(client)).provider
        await returnedAsSent(client, 'provider', Object.keys(rest))
      },
    'request.type': async (client) => {
      const { sent, returned } = await createTaken(client)
      kept(at(returned, 'request.type'), '', 'request.type, empty,')
      await refusedAsNew(client, without(sent, 'request', 'type'))
    },
    'request.requestType': ofRequestTypes('requestType'),
    'request.requestSubType': ofRequestTypes('requestSubType'),
    'request.datesOfService.type': async (client) => {
      const place = 'request.datesOfService.type'
      const { sent, returned } = await createTaken(client)
      kept(at(datesIn(returned), 'type'), 'startEnd', place)
      // Both required and defaulted: a request without it is refused, or gets the default.
      const { type: _, ...datesOfService } = sent.request.datesOfService
      const request = { ...sent.request, datesOfService }
      const answer = await upsert(client, [renewed(client, { ...sent, request })])
      formed(answer.status, oneOf(200, 400), `the status without ${place}`)
      if (answer.status !== 200) return
      kept(at(datesIn(at(jsonOf(answer), 'data.0')), 'type'), 'startEnd', place)
    },
    'request.datesOfService.start': dateOfService('start'),
    'request.datesOfService.end': dateOfService('end'),
    ...optional('request', 'disclosures'),
    'Disclosure values, exact: any_and_all, immunizations, lab_reports': async (client) => {
      const { sent } = await createTaken(client)
      const request = { ...sent.request, disclosures: DISCLOSURES }
      const returned = await upserted(client, { ...sent, request })
      kept(at(returned, 'request.disclosures'), DISCLOSURES, 'request.disclosures')
    },
    ...optional('webhook', 'sendStatusChange'),
    ...required('webhook', 'url'),
    'The samples use the names datesOfService and requestSubType. The field description spells them dateOfService and requestSubtype.':
      async (client) => {
        const { sent } = await createTaken(client)
        const { datesOfService: dateOfService, requestSubType: requestSubtype, ...rest } = sent.request
        const statuses: number[] = []
        for (const request of [sent.request, { ...rest, dateOfService, requestSubtype }])
          statuses.push((await upsert(client, [renewed(client, { ...sent, request })])).status)
        kept(statuses.includes(200), true, 'one of the two spellings being taken')
      },
    ...byName(['authorizationUploadUrl', 'status.status', 'status.authorizationName'], added(TEXT)),
    ...byName(['status.documentAvailable'], added(TRUTH)),
    ...byName(['status.updated'], added(US_DATE_TIME)),
    ...byName(['status.processed', 'status.processedPlatform'], added(TEXT_OR_NULL)),
  }),
  ...roi.nothing({
    'Request type item: id (string), name (string), requestSubType (array of items with id, name, disabled (nullable)).':
      async (client) => {
        for (const type of await requestTypes(client)) {
          allFormed(type, { id: TEXT, name: TEXT, requestSubType: LIST })
          for (const subtype of listAt(type, 'requestSubType')) {
            allFormed(subtype, { id: TEXT, name: TEXT }, 'requestSubType[].')
            formed(at(subtype, 'disabled') ?? null, oneOf(null, true, false), 'requestSubType[].disabled')
          }
        }
      },
  }),
]

const DISCLOSURES =
  `any_and_all immunizations lab_reports medication_records newborn_birth_records nurse_notes operative_report pathology
  pft progress_notes radiology_imaging_films sleep_study treatment_plans therapy_notes transfer_notes wound_care
  x_ray_reports history_and_physical abstract billing_records commitment_papers consultation xray_reports
  disclosure_summary discharge_instructions discharge_summary doctor_orders echo ekc_ecg_tests ekg er_record facesheet
  fetal_heart_monitor_strips growth_chart consent`.split(/\s+/)
