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
import { recordsOf, type WideRow } from './wide-records.ts'

const [file = '', url = '', people] = process.argv.slice(2)
const BATCH = 500
const AT_ONCE = 8

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

async function registered(row: WideRow): Promise<void> {
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

async function withDoctor(row: WideRow): Promise<void> {
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

async function load(row: WideRow): Promise<void> {
  const records = recordsOf(row, ++number)
  for (const one of records.biometrics) {
    if (biometrics.push(one) < BATCH) continue
    const full = biometrics
    biometrics = []
    await begin(send('health-profile/biometrics/bulk', full))
  }
  for (const one of records.conditions) {
    if (conditions.push(one) < BATCH) continue
    const full = conditions
    conditions = []
    await begin(send('health-profile/conditions/bulk', full))
  }
  if (people !== undefined) await begin(limit(() => withDoctor(row)))
}

/** Who is to be known to the gateway first. */
async function loadPeople(rows: readonly WideRow[]): Promise<void> {
  await Promise.all(rows.map((row) => limit(() => registered(row))))
  for (const row of rows) await load(row)
}

let group: WideRow[] = []
for await (const row of createReadStream(file, { highWaterMark: 2 ** 20 }).pipe(
  parse({ columns: true, bom: true }),
) as AsyncIterable<WideRow>) {
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
