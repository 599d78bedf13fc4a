/**
 * What a refused record costs beyond its request, in processor time: the gateway's words as rejects file and ledger have them, its line of the rejects file, and
 * its row of the ledger. Run by `npx node bench/refused-records.ts [records]`. Each record is refused in words of its own, as a gateway refuses that names the person.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Exception, noTallies } from '../src/ledger/ledger.ts'
import { openLedger } from '../src/ledger/sqlite/open-ledger.ts'
import { refusalWords, rejection, toException } from '../src/load/gateway-words.ts'
import { createIdentity } from '../src/model/ids.ts'
import { rejectsText } from '../src/run/rejects.ts'
import { biometric, EXPORT_ID, entriesOf } from '../test/load/made-up-entries.ts'

const IDENTITY = createIdentity('a key of the bench')

const CHUNK = 500
const records = Number(process.argv[2] ?? 5_000)
const wide = Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? `answer ${at}` : String(at * 1.7)))
const columns = wide.map((_, at) => `column ${at}`)

const folder = await mkdtemp(join(tmpdir(), 'waybill-bench-'))
const ledger = await openLedger(join(folder, 'ledger.sqlite'))
const jobId = await ledger.jobs.id('bench', 'gateway')
const held = await ledger.leases.acquire(
  { jobId, runId: 'run', owner: 'here:1', now: 0, ttlMs: 1e9 },
  () => true,
)
if (!held.ok) throw new Error('the lease is held')
const start = { id: 'run', jobId, startedAt: 0, rejectsPath: 'r', receiptsPath: 'r' }
const run = await ledger.runs.start(held.lease, start)
const { id: exportRow } = await run.addExport({
  ...{ ordinal: 1, exportId: EXPORT_ID, name: 'a.csv', path: '/in/a.csv', sha256: 'aa', bytes: 7 },
  mapping: { name: 'm', digest: 'd', content: '{}' },
})

const spent = { words: 0, 'rejects file': 0, ledger: 0, 'ledger without': 0 }
async function timed<T>(what: keyof typeof spent, work: () => T | Promise<T>): Promise<T> {
  const before = process.cpuUsage()
  const done = await work()
  const { user, system } = process.cpuUsage(before)
  spent[what] += (user + system) / records
  return done
}

let chunks = 0
async function settle(exceptions: readonly Exception[]): Promise<void> {
  const chunk = ++chunks
  await run.openChunk(exportRow, { number: chunk, firstRow: 1, firstLine: 2, byteOffset: 50, rows: CHUNK })
  await run.settleChunk({
    ...{ exportRow, chunk, counts: '{}', receiptsLength: 0, rejectsLength: 0, exceptions },
    ...{ delivered: [], held: [], arrival: 1, tallies: noTallies(), at: 0 },
  })
}

for (let first = 0; first < records; first += CHUNK) {
  const entries = Array.from({ length: CHUNK }, (_, at) =>
    entriesOf([biometric({ value: String(first + at) })], {
      ...{ row: first + at + 1, person: `person-${first + at}`, cells: wide },
    }),
  ).flat()
  const refusals = entries.map(({ account }, at) => ({
    status: 422,
    gatewayMessage: `Record for Testina Beispielfrau born 1970-02-28 cannot be stored: the value ${first + at} of patient.reference ${account.reference} is out of range; data[${at}].value: must be less than the maximum; the unit "mm[Hg]" is not known for this measurement (code 8480-6)`,
  }))
  const outcomes = await timed('words', () =>
    entries.map((entry, at) =>
      rejection(entry, 'batch', 'refused', refusalWords(refusals[at] ?? { status: 422, gatewayMessage: '' })),
    ),
  )
  const rows = entries.map(({ row }) => ({ source: row.source, outcome: row }))
  const trouble = { outcomes, followUpFailures: [] }
  await timed('rejects file', () =>
    rejectsText({ name: 'a.csv', exportId: EXPORT_ID }, columns, rows, trouble),
  )
  await timed('ledger without', () => settle([]))
  await timed('ledger', () => settle(outcomes.flatMap((one) => toException(IDENTITY, one) ?? [])))
}
await ledger.close()
await rm(folder, { recursive: true })

const { words, ledger: whole, 'ledger without': without } = spent
const line = (what: string, each: number): string => `${what.padEnd(14)} ${each.toFixed(1)} µs\n`
process.stdout.write(
  `of each of ${records} refused records, in processor time:\n${line('words', words)}${line('rejects file', spent['rejects file'])}${line('ledger', whole - without)}${line('together', words + spent['rejects file'] + whole - without)}`,
)
