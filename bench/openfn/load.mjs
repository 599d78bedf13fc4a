/**
 * The load of the bench by OpenFn's runtime, as its user would write it: rows are parsed in groups, mapped in plain JavaScript, and posted. Operations
 * run one after the other, so the requests of a group go out together by `Promise.all`.
 *
 *     npm install --prefix bench/openfn
 *     node --experimental-vm-modules --no-warnings bench/openfn/load.mjs EXPORT URL
 */
import { createReadStream } from 'node:fs'
import { fn, parseCsv } from '@openfn/language-common'
import { post } from '@openfn/language-http'
import run from '@openfn/runtime'
import { recordsOf } from '../load/wide-records.ts'

const [file, url] = process.argv.slice(2)
const BATCH = 500
const AT_ONCE = 8
const headers = {
  'x-api-key': 'bench',
  authorization: 'Bearer bench',
  'content-type': 'application/json;charset=UTF-8',
}

const waiting = { biometrics: [], conditions: [] }
let number = 0
let accepted = 0

/** @param isLast whether batches that are not full go out, too */
async function send(state, isLast) {
  const batches = Object.keys(waiting).flatMap((kind) => {
    const full = []
    while (waiting[kind].length >= BATCH || (isLast && waiting[kind].length > 0))
      full.push({ kind, records: waiting[kind].splice(0, BATCH) })
    return full
  })
  while (batches.length > 0)
    await Promise.all(
      batches.splice(0, AT_ONCE).map(async ({ kind, records }) => {
        const body = JSON.stringify(records)
        const answered = await post(`health-profile/${kind}/bulk`, body, { headers, parseAs: 'json' })(state)
        accepted += answered.data.data.length
      }),
    )
  return state
}

/** As many rows as fill the requests that may be under way. */
const chunkSize = Math.ceil((BATCH * AT_ONCE) / 13)
const job = [
  parseCsv(
    () => createReadStream(file),
    { chunkSize },
    async (state, rows) => {
      for (const row of rows) {
        const { biometrics, conditions } = recordsOf(row, ++number)
        waiting.biometrics.push(...biometrics)
        waiting.conditions.push(...conditions)
      }
      return send(state, false)
    },
  ),
  fn((state) => send(state, true)),
]

const { log } = console
for (const quiet of ['log', 'info', 'debug']) console[quiet] = () => {}
const end = await run(
  { workflow: { steps: [{ id: 'load', expression: job }] }, options: { timeout: 3_600_000 } },
  { configuration: { baseUrl: url }, data: {} },
  { statePropsToRemove: ['configuration'] },
)
if (end.errors !== undefined) throw new Error(JSON.stringify(end.errors).slice(0, 500))
log(`${number} rows, ${accepted} records accepted`)
process.exit(0)
