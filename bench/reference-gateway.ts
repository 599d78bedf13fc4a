/**
 * How many records a second the reference gateway takes: 500-record posts to /health-profile/biometrics/bulk, 8 at once,
 * into a gateway in a process of its own that keeps them in memory. Run by `npm run bench:gateway`.
 */
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { startAttached } from '../src/runs/connect-gateway.ts'

const RECORDS = 500
const AT_ONCE = 8
const POSTS = Number(process.argv[2] ?? 800)
const ACCOUNTS = 200

/** As long as a record of the samples is on the wire, some 700 bytes. */
const record = (post: number, index: number) => ({
  transactionId: `bench-${post}-${index}`,
  account: { reference: `P${(post * RECORDS + index) % ACCOUNTS}`, type: 'partnerAccountId' },
  name: 'Systolic blood pressure',
  observationDate: new Date(Date.UTC(2026, 0, 1) + post * 60_000).toISOString(),
  codeSystem: 'http://loinc.org',
  codeSystemName: 'LOINC',
  code: '8480-6',
  codes: [
    {
      code: '8480-6',
      codeSystem: 'http://loinc.org',
      codeSystemName: 'LOINC',
      name: 'Systolic blood pressure',
    },
  ],
  type: 'Observation',
  value: 90 + ((post + index) % 60),
  unit: 'mm[Hg]',
  source: {
    name: 'Bench Screening',
    type: 'screening',
    meta: {
      batchId: `bench-${post}`,
      resourceKey: `row-${index}`,
      sendingSystem: 'bench',
      persistentRecordId: `bench-${post}-${index}`,
    },
  },
})

const gateway = await startAttached(['--open'], {})
const { url } = gateway
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

const post = (body: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${url}/health-profile/biometrics/bulk`,
      {
        agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json;charset=UTF-8',
          'content-length': body.byteLength,
          'x-api-key': 'bench',
          authorization: 'Bearer bench',
        },
      },
      (answer) => {
        answer.resume()
        answer.once('error', reject)
        answer.once('end', () =>
          answer.statusCode === 201 ? resolve() : reject(new Error(`answered ${answer.statusCode}`)),
        )
      },
    )
    sent.once('error', reject)
    sent.end(body)
  })

const bodies = Array.from({ length: POSTS }, (_, at) =>
  Buffer.from(JSON.stringify(Array.from({ length: RECORDS }, (_, index) => record(at, index)))),
)
const warmUp = bodies.splice(0, AT_ONCE)
await Promise.all(warmUp.map(post))

const total = bodies.length * RECORDS
const bytes = bodies.reduce((sum, body) => sum + body.byteLength, 0)
const startedAt = performance.now()
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) await post(body)
  }),
)
const seconds = (performance.now() - startedAt) / 1000
const counts = (await (await fetch(`${url}/_reference/counts`)).json()) as { biometric: number }
await gateway.stop()

const stored = counts.biometric - warmUp.length * RECORDS
if (stored !== total) throw new Error(`${total} records were sent, and ${stored} are stored`)
process.stdout.write(
  `${total} records (${Math.round(bytes / total)} bytes each) in ${seconds.toFixed(1)} s: ` +
    `${Math.round(total / seconds)} records a second, each stored once\n`,
)
