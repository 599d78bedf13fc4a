/**
 * What a user would write instead: a loader of one evening, with the libraries that Waybill was asked to use, its mapping written into it. No
 * ledger, no receipts, no read-back; of an answer only the number of records is looked at, and what times out is sent again. The other side
 * of the ratio.
 *
 *     node bench/load/by-hand.ts EXPORT URL [people]
 */
import { createReadStream } from 'node:fs'
import { parse } from 'csv-parse'
import got from 'got'
import pLimit from 'p-limit'
import pRetry from 'p-retry'

const [file = '', url = '', people] = process.argv.slice(2)
const BATCH = 500
const AT_ONCE = 8

const LOINC = { codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }
const cm = (text: string): number => Math.round(Number(text) * 2.54 * 10) / 10
const kg = (text: string): number => Math.round(Number(text) * 0.45359237 * 10) / 10
const measurements: [string, string, string, string, ((text: string) => number)?][] = [
  ['sbp', '8480-6', 'Systolic blood pressure', 'mm[Hg]'],
  ['dbp', '8462-4', 'Diastolic blood pressure', 'mm[Hg]'],
  ['pulse', '8867-4', 'Heart rate', '/min'],
  ['tc', '2093-3', 'Cholesterol', 'mg/dL'],
  ['hdl', '2085-9', 'Cholesterol in HDL', 'mg/dL'],
  ['ldl', '13457-7', 'Cholesterol in LDL, calculated', 'mg/dL'],
  ['trig', '2571-8', 'Triglycerides', 'mg/dL'],
  ['glucose', '2345-7', 'Glucose', 'mg/dL'],
  ['a1c', '4548-4', 'Hemoglobin A1c', '%'],
  ['height_in', '8302-2', 'Body height', 'cm', cm],
  ['weight_lb', '29463-7', 'Body weight', 'kg', kg],
  ['bmi', '39156-5', 'Body mass index', 'kg/m2'],
  ['waist_in', '8280-0', 'Waist circumference', 'cm', cm],
]
const diagnoses: [string, string, string, string][] = [
  ['dx_diabetes', 'Type 2 diabetes mellitus', 'E11.9', '44054006'],
  ['dx_hypertension', 'Hypertension', 'I10', '38341003'],
]

const client = got.extend({
  prefixUrl: url,
  headers: { 'x-api-key': 'bench', authorization: 'Bearer bench' },
  retry: { limit: 0 },
  timeout: { request: 60_000 },
})
interface Answer {
  readonly data: readonly unknown[]
}

const limit = pLimit(AT_ONCE)
let accepted = 0

const send = (path: string, json: unknown[]): Promise<void> =>
  limit(() =>
    pRetry(
      async () => {
        const answer = await client.post(path, { json }).json<Answer>()
        accepted += answer.data.length
      },
      { retries: 3 },
    ),
  )

/** A row's instant: New York, in winter. */
function instantOf(text: string): Date {
  const [day = '', time = ''] = text.split(' ')
  const [month, date, year] = day.split('/')
  return new Date(`${year}-${month}-${date}T${time}:00-05:00`)
}

type Row = Record<string, string>

async function registered(row: Row): Promise<void> {
  const reference = row['participant_id']
  const person = {
    partnerAccountId: reference,
    firstName: row['first_name'],
    lastName: row['last_name'],
    dateOfBirth: row['dob'],
    gender: row['gender'] === 'F' ? 'FEMALE' : 'MALE',
    postalCode: row['zip'],
  }
  await pRetry(() => client.post('account/register', { json: person }).json(), { retries: 3 })
}

async function withDoctor(row: Row): Promise<void> {
  const account = { reference: row['participant_id'], type: 'partnerAccountId' }
  const source = { name: 'Acme Onsite Screening', type: 'screening', meta: { sendingSystem: 'acme' } }
  const entry = { account, name: row['pcp_name'], npi: row['pcp_npi'], type: 'PCP', source }
  await pRetry(() => client.post('health-profile/care-teams', { json: [entry] }).json(), { retries: 3 })
  const mark = { account, npi: row['pcp_npi'] }
  await pRetry(() => client.post('health-profile/care-teams/pcp', { json: mark }).json(), { retries: 3 })
}

let number = 0
let biometrics: object[] = []
let conditions: object[] = []
const underWay = new Set<Promise<void>>()

async function begin(work: Promise<void>): Promise<void> {
  const one = work.finally(() => underWay.delete(one))
  underWay.add(one)
  while (underWay.size >= 2 * AT_ONCE) await Promise.race(underWay)
}

async function load(row: Row): Promise<void> {
  number++
  const reference = row['participant_id'] ?? ''
  const at = instantOf(row['screened_at'] ?? '')
  const account = { reference, type: 'partnerAccountId' }
  const source = {
    name: 'Acme Onsite Screening',
    type: 'screening',
    meta: { resourceKey: `${reference}|${row['screened_at']}`, sendingSystem: 'acme' },
  }
  const observationDate = at.toISOString()
  for (const [column, code, name, unit, convert = Number] of measurements) {
    const text = row[column]?.trim() ?? ''
    if (text === '') continue
    const transactionId = `bench-${number}-${column}`
    biometrics.push({
      ...{ transactionId, account, name, observationDate, ...LOINC, code },
      ...{ codes: [{ code, ...LOINC, name }], type: 'Observation', value: convert(text), unit },
      source,
    })
    if (biometrics.length === BATCH) {
      const full = biometrics
      biometrics = []
      await begin(send('health-profile/biometrics/bulk', full))
    }
  }
  for (const [column, name, icd10, snomed] of diagnoses) {
    if (row[column] !== 'Y') continue
    const transactionId = `bench-${number}-${column}`
    conditions.push({
      ...{ transactionId, account, name, status: 'active', observationDate: at.getTime() },
      codes: [
        { code: icd10, codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM', name },
        { code: snomed, codeSystem: '2.16.840.1.113883.6.96', codeSystemName: 'SNOMED CT', name },
      ],
      source,
    })
    if (conditions.length === BATCH) {
      const full = conditions
      conditions = []
      await begin(send('health-profile/conditions/bulk', full))
    }
  }
  if (people !== undefined) await begin(limit(() => withDoctor(row)))
}

/** Who is to be known to the gateway first. */
async function loadPeople(rows: readonly Row[]): Promise<void> {
  await Promise.all(rows.map((row) => limit(() => registered(row))))
  for (const row of rows) await load(row)
}

let group: Row[] = []
for await (const row of createReadStream(file, { highWaterMark: 2 ** 20 }).pipe(
  parse({ columns: true, bom: true }),
) as AsyncIterable<Row>) {
  if (people === undefined) await load(row)
  else if (group.push(row) === BATCH) {
    await loadPeople(group)
    group = []
  }
}
await loadPeople(group)
if (biometrics.length > 0) await begin(send('health-profile/biometrics/bulk', biometrics))
if (conditions.length > 0) await begin(send('health-profile/conditions/bulk', conditions))
await Promise.all(underWay)
console.log(`${number} rows, ${accepted} records accepted`)
