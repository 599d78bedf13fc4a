import assert from 'node:assert/strict'
import {
  allFormed,
  answered,
  at,
  byField,
  type ConformanceCase,
  type Form,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  oneOf,
  type Run,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import {
  ANY_KIND,
  type BlockName,
  createRoi,
  createTaken,
  PATH,
  type Roi,
  remove,
  renewed,
  requestTypes,
  search,
  searchFor,
  uploadFor,
  upsert,
  upserted,
} from './medical-records.ts'

const roi = inSection('Medical-records request (ROI)')

function without(request: Roi, block: BlockName, field: string): Roi {
  const rest = Object.entries(request[block]).filter(([name]) => name !== field)
  return { ...request, [block]: Object.fromEntries(rest) }
}

const usDate = (date: string) => `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)}`

const refusedAsNew = async (client: Client, request: Roi) =>
  answered(await upsert(client, [renewed(client, request)]), 400)

/** Checks that the fields come back as sent. */
async function returnedAsSent(client: Client, block: BlockName, fields: readonly string[]): Promise<Roi> {
  const { sent, returned } = await createTaken(client)
  for (const field of fields)
    kept(at(returned, `${block}.${field}`), at(sent, `${block}.${field}`), `${block}.${field}`)
  return sent
}

/** Rows for optional fields: returned as sent, and accepted if missing. */
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

/** Rows for required fields: returned as sent, and refused if missing. */
const required = (block: BlockName, ...fields: readonly string[]) =>
  Object.fromEntries(
    fields.map((field): [string, Run] => [
      `${block}.${field}`,
      async (client) =>
        refusedAsNew(client, without(await returnedAsSent(client, block, [field]), block, field)),
    ]),
  )

/** Checks a field of the request types: refused if missing or unknown. */
const ofRequestTypes =
  (field: 'requestType' | 'requestSubType'): Run =>
  async (client) => {
    const { sent } = await createTaken(client)
    await refusedAsNew(client, without(sent, 'request', field))
    await refusedAsNew(client, { ...sent, request: { ...sent.request, [field]: client.unique('type') } })
  }

/** Returns the dates of service from a returned request, in either spelling. */
const datesIn = (returned: unknown): unknown =>
  at(returned, 'request.datesOfService') ?? at(returned, 'request.dateOfService')

const dateOfService =
  (field: 'start' | 'end'): Run =>
  async (client) => {
    const place = `request.datesOfService.${field}`
    const { sent, returned } = await createTaken(client)
    const { [field]: date, ...datesOfService } = sent.request.datesOfService
    formed(at(datesIn(returned), field), 'us-date', place)
    kept(at(datesIn(returned), field), usDate(date), place)
    await refusedAsNew(client, { ...sent, request: { ...sent.request, datesOfService } })
  }

/** Fields that the service adds to a request. */
export const ADDED: Readonly<Record<string, Form>> = {
  authorizationUploadUrl: 'text',
  'status.status': 'text',
  'status.authorizationName': 'text',
  'status.documentAvailable': 'truth',
  'status.updated': 'us-date-time',
  'status.processed': 'text-or-null',
  'status.processedPlatform': 'text-or-null',
}

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
      formed(at(returned, 'patient.dob'), 'us-date', 'patient.dob')
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
      // The field is both required and defaulted: without it, a request is refused or gets the default.
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
    ...byField(ADDED, (field, form) => async (client: Client) => {
      formed(at((await createTaken(client)).returned, field), form, field)
    }),
  }),
  ...roi.nothing({
    'Request type item: id (string), name (string), requestSubType (array of items with id, name, disabled (nullable)).':
      async (client) => {
        for (const type of await requestTypes(client)) {
          allFormed(type, { id: 'text', name: 'text', requestSubType: 'list' })
          for (const subtype of listAt(type, 'requestSubType')) {
            allFormed(subtype, { id: 'text', name: 'text' }, 'requestSubType[].')
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

const errors = inSection('Errors')

/** Parses the inner envelope, serialised as text within a message; undefined if there is none. */
function innerOf(message: string): unknown {
  try {
    return JSON.parse(message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1))
  } catch {
    return undefined
  }
}

/** Checks a body of 400 against the section's two forms. @returns the body */
function refusal(answer: Answer): unknown {
  const body = jsonOf(answered(answer, 400))
  kept(at(body, 'code'), 400, 'code')
  formed(at(body, 'message'), 'text', 'message')
  for (const error of listAt(body, 'errors'))
    allFormed(error, { code: 'integer', message: 'text' }, 'errors[].')
  return body
}

/** Returns the refusal of a search without a patient. */
const searchRefusal = async (client: Client) => refusal(await search(client, searchFor({}, ANY_KIND)))

function tells(answer: Answer, pattern: RegExp, what: string): void {
  refusal(answer)
  assert.match(answer.text, pattern, `${answer.call}: expected a message that ${what}`)
}

/** Gives each request of a batch a new reference number. */
function renumbered(client: Client, batch: readonly object[]) {
  const prefix = client.unique('batch')
  return batch.map((request, index) => ({ ...request, referenceNumber: `${prefix}-${'abc'[index]}` }))
}

/** Returns a valid request, and a copy with an empty first name. */
async function nameless(client: Client) {
  const { sent } = await createTaken(client)
  return { sent, bad: renewed(client, { ...sent, patient: { ...sent.patient, firstName: '' } }) }
}

/** Section "Errors". */
export const MEDICAL_RECORDS_REFUSAL_CASES: readonly ConformanceCase[] = [
  ...errors.nothing({
    code: searchRefusal,
    message: async (client) => {
      const message = textAt(await searchRefusal(client), 'message')
      // A bare body has no inner envelope.
      if (innerOf(message) !== undefined)
        kept(message.startsWith('{'), false, 'message beginning without a failure phrase')
    },
    errors: async (client) => {
      const body = await searchRefusal(client)
      formed(at(body, 'errors'), 'list', 'errors')
      if (innerOf(textAt(body, 'message')) === undefined) return
      for (const error of listAt(body, 'errors')) {
        kept(at(error, 'code'), 400, 'errors[].code')
        kept(at(error, 'message'), at(body, 'message'), 'errors[].message, the same text,')
        kept(at(error, 'exception'), null, 'errors[].exception')
      }
    },
    'A bare 400 body has code, message and errors[] (items with code and message).': async (client) =>
      refusal(await search(client, [])),
    'Search with no usable patient field': async (client) => {
      for (const patient of [{}, { lastName: '' }])
        tells(await search(client, searchFor(patient, ANY_KIND)), /patient/i, 'asks for a patient field')
    },
    'Request types call cannot be processed': async (client) => {
      const answer = await client.send('GET', `${PATH}/requestTypes`, {
        headers: { 'X-API-Version': 'none' },
      })
      // The gateway may accept another version; a refusal must be a 400.
      if (answered(answer, 200, 400).status === 400) refusal(answer)
    },
  }),
  ...errors.writes({
    'The inner envelope has code, message and errors[] with code (integers 0 and 1 occur) and message.':
      async (client) => {
        const body = refusal(await upsert(client, [(await nameless(client)).bad]))
        const inner = innerOf(textAt(body, 'message'))
        if (inner === undefined) return
        allFormed(inner, { code: 'integer', message: 'text' }, 'the inner ')
        for (const error of listAt(inner, 'errors'))
          allFormed(error, { code: 'integer', message: 'text' }, 'the inner errors[].')
      },
    'Malformed request or validation failure on PATCH': async (client) => {
      const { sent, bad } = await nameless(client)
      // In a batch with one request, the position could be 0 or 1; the document does not say which.
      const batch = () => renumbered(client, [sent, sent, bad])
      tells(await upsert(client, batch()), /first ?name/i, 'names the field')
      tells(await upsert(client, batch()), /[23]/, 'has the position')
    },
    'Delete of a reference number that does not exist or is already processed': async (client) => {
      const pattern = /Reference Number not found Or Request already processed/
      tells(await remove(client, client.unique('reference')), pattern, 'reports the reference number')
      const { sent, returned } = await createTaken(client)
      await uploadFor(client, returned)
      tells(await remove(client, sent.referenceNumber), pattern, 'reports the reference number')
    },
    'Delete with an invalid reference number': async (client) => answered(await remove(client, '%00'), 400),
    'Missing required block in a request': async (client) => {
      const { sent } = await createTaken(client)
      const { patient: _, ...bad } = await createRoi(client)
      const batch = renumbered(client, [sent, sent, bad])
      tells(await upsert(client, batch), /patient/i, 'names the block')
      tells(await upsert(client, batch), /[23]/, 'has the position')
    },
  }),
]
