import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import { createRoi, createTaken, type Roi, requestTypes, upsert, upserted } from './medical-records-calls.ts'
import {
  assertForm,
  assertKept,
  assertStatus,
  at,
  type Form,
  jsonOf,
  LIST,
  listAt,
  oneOf,
  TEXT,
  TEXT_OR_NULL,
  TRUTH,
  US_DATE,
  US_DATE_TIME,
} from './values.ts'

const roi = inSection('Medical-records request (ROI)')

type BlockName = 'patient' | 'provider' | 'request' | 'webhook'

/** The request without a field of one of its blocks. */
function without(request: Roi, block: BlockName, field: string): Roi {
  const rest = Object.entries(request[block]).filter(([name]) => name !== field)
  return { ...request, [block]: Object.fromEntries(rest) }
}

const usDate = (date: string) => `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)}`

async function assertMissingRefused(client: Client, request: Roi): Promise<void> {
  assertStatus(await upsert(client, [{ ...request, referenceNumber: client.unique('reference') }]), 400)
}

/** The field is returned as sent. */
async function assertReturned(client: Client, block: BlockName, ...fields: readonly string[]): Promise<Roi> {
  const { sent, returned } = await createTaken(client)
  for (const field of fields)
    assertKept(at(returned, `${block}.${field}`), at(sent, `${block}.${field}`), `${block}.${field}`)
  return sent
}

const optional = (row: string, block: BlockName, ...fields: readonly string[]): ConformanceCase =>
  roi.writes(row, async (client) => {
    const sent = await assertReturned(client, block, ...fields)
    for (const field of fields)
      await upserted(client, { ...without(sent, block, field), referenceNumber: client.unique('reference') })
  })

const required = (row: string, block: BlockName, field: string): ConformanceCase =>
  roi.writes(row, async (client) => {
    const sent = await assertReturned(client, block, field)
    await assertMissingRefused(client, without(sent, block, field))
  })

/** The dates of service of a request as returned, in either spelling. */
const datesIn = (returned: unknown): unknown =>
  at(returned, 'request.datesOfService') ?? at(returned, 'request.dateOfService')

const dateOfService = (field: 'start' | 'end'): ConformanceCase =>
  roi.writes(`request.datesOfService.${field}`, async (client) => {
    const { sent, returned } = await createTaken(client)
    const { datesOfService } = sent.request
    assertForm(at(datesIn(returned), field), US_DATE, `request.datesOfService.${field}`)
    assertKept(at(datesIn(returned), field), usDate(datesOfService[field]), `request.datesOfService.${field}`)
    const { [field]: _, ...rest } = datesOfService
    await assertMissingRefused(client, { ...sent, request: { ...sent.request, datesOfService: rest } })
  })

const added = (row: string, form: Form): ConformanceCase =>
  roi.writes(row, async (client) => {
    assertForm(at((await createTaken(client)).returned, row), form, row)
  })

/** Section "Medical-records request (ROI)". */
export const MEDICAL_RECORDS_FIELD_CASES: readonly ConformanceCase[] = [
  roi.writes('referenceNumber', async (client) => {
    const { sent, returned } = await createTaken(client)
    assertKept(at(returned, 'referenceNumber'), sent.referenceNumber, 'referenceNumber')
    const { referenceNumber: _, ...nameless } = sent
    assertStatus(await upsert(client, [nameless]), 400)
  }),
  optional('patient.type', 'patient', 'type'),
  optional('patient.reference', 'patient', 'reference'),
  optional('patient.zip', 'patient', 'zip'),
  required('patient.firstName', 'patient', 'firstName'),
  required('patient.lastName', 'patient', 'lastName'),
  roi.writes('patient.dob', async (client) => {
    const { sent, returned } = await createTaken(client)
    assertForm(at(returned, 'patient.dob'), US_DATE, 'patient.dob')
    assertKept(at(returned, 'patient.dob'), usDate(sent.patient.dob), 'patient.dob')
    await assertMissingRefused(client, without(sent, 'patient', 'dob'))
  }),
  optional('provider.type', 'provider', 'type'),
  roi.writes(
    'provider.groupName, npi, firstName, lastName, address1, address2, city, state, zip, phone, fax, contact',
    async (client) => {
      const { provider } = await createRoi(client)
      const { type: _, ...rest } = provider
      await assertReturned(client, 'provider', ...Object.keys(rest))
    },
  ),
  roi.writes('request.type', async (client) => {
    const { sent, returned } = await createTaken(client)
    assertKept(at(returned, 'request.type'), '', 'request.type, empty,')
    await assertMissingRefused(client, without(sent, 'request', 'type'))
  }),
  roi.writes('request.requestType', async (client) => {
    const { sent } = await createTaken(client)
    await assertMissingRefused(client, without(sent, 'request', 'requestType'))
    const request = { ...sent.request, requestType: client.unique('type') }
    assertStatus(
      await upsert(client, [{ ...sent, referenceNumber: client.unique('reference'), request }]),
      400,
    )
  }),
  roi.writes('request.requestSubType', async (client) => {
    const { sent } = await createTaken(client)
    await assertMissingRefused(client, without(sent, 'request', 'requestSubType'))
    const request = { ...sent.request, requestSubType: client.unique('subtype') }
    assertStatus(
      await upsert(client, [{ ...sent, referenceNumber: client.unique('reference'), request }]),
      400,
    )
  }),
  roi.writes('request.datesOfService.type', async (client) => {
    const { sent, returned } = await createTaken(client)
    assertKept(at(datesIn(returned), 'type'), 'startEnd', 'request.datesOfService.type')
    // Both required and defaulted: a request without it is refused, or gets the default.
    const { type: _, ...rest } = sent.request.datesOfService
    const request = { ...sent.request, datesOfService: rest }
    const answer = await upsert(client, [{ ...sent, referenceNumber: client.unique('reference'), request }])
    assertForm(answer.status, oneOf(200, 400), 'the status without request.datesOfService.type')
    if (answer.status !== 200) return
    assertKept(at(datesIn(at(jsonOf(answer), 'data.0')), 'type'), 'startEnd', 'request.datesOfService.type')
  }),
  dateOfService('start'),
  dateOfService('end'),
  roi.writes('request.disclosures', async (client) => {
    const sent = await assertReturned(client, 'request', 'disclosures')
    await upserted(client, {
      ...without(sent, 'request', 'disclosures'),
      referenceNumber: client.unique('reference'),
    })
  }),
  roi.writes('Disclosure values, exact: any_and_all, immunizations, lab_reports', async (client) => {
    const { sent } = await createTaken(client)
    const returned = await upserted(client, {
      ...sent,
      request: { ...sent.request, disclosures: DISCLOSURES },
    })
    assertKept(at(returned, 'request.disclosures'), DISCLOSURES, 'request.disclosures')
  }),
  optional('webhook.sendStatusChange', 'webhook', 'sendStatusChange'),
  required('webhook.url', 'webhook', 'url'),
  roi.writes(
    'The samples use the names datesOfService and requestSubType. The field description spells them dateOfService and requestSubtype.',
    async (client) => {
      const { sent } = await createTaken(client)
      const { datesOfService: dateOfService, requestSubType: requestSubtype, ...rest } = sent.request
      const other = { ...rest, dateOfService, requestSubtype }
      const statuses: number[] = []
      for (const request of [sent.request, other])
        statuses.push(
          (await upsert(client, [{ ...sent, referenceNumber: client.unique('reference'), request }])).status,
        )
      assertKept(statuses.includes(200), true, 'one of the two spellings being taken')
    },
  ),
  added('authorizationUploadUrl', TEXT),
  added('status.documentAvailable', TRUTH),
  added('status.status', TEXT),
  added('status.updated', US_DATE_TIME),
  added('status.processed', TEXT_OR_NULL),
  added('status.processedPlatform', TEXT_OR_NULL),
  added('status.authorizationName', TEXT),
  roi.nothing(
    'Request type item: id (string), name (string), requestSubType (array of items with id, name, disabled (nullable)).',
    async (client) => {
      for (const type of await requestTypes(client)) {
        assertForm(at(type, 'id'), TEXT, 'id')
        assertForm(at(type, 'name'), TEXT, 'name')
        assertForm(at(type, 'requestSubType'), LIST, 'requestSubType')
        for (const subtype of listAt(type, 'requestSubType')) {
          assertForm(at(subtype, 'id'), TEXT, 'requestSubType[].id')
          assertForm(at(subtype, 'name'), TEXT, 'requestSubType[].name')
          assertForm(at(subtype, 'disabled') ?? null, oneOf(null, true, false), 'requestSubType[].disabled')
        }
      }
    },
  ),
]

const DISCLOSURES =
  `any_and_all immunizations lab_reports medication_records newborn_birth_records nurse_notes operative_report pathology
  pft progress_notes radiology_imaging_films sleep_study treatment_plans therapy_notes transfer_notes wound_care
  x_ray_reports history_and_physical abstract billing_records commitment_papers consultation xray_reports
  disclosure_summary discharge_instructions discharge_summary doctor_orders echo ekc_ecg_tests ekg er_record facesheet
  fetal_heart_monitor_strips growth_chart consent`.split(/\s+/)
