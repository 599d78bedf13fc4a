/**
 * What remembering costs as a ledger grows: `npm run bench:delivered -- [--rows 10000000] [--picture FILE.svg]`. Rows of 13 records are settled through the
 * ledger as a run settles them, chunk by chunk, each looked up first and once more as it is settled. At the end all keys of some chunks are looked up
 * again, and as many keys that were never delivered. Counts what the ledger does: making the rows does not count. Linux.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openLedger } from '../src/ledger/sqlite/open-ledger.ts'
import { CHUNK_SIZE } from '../src/run/chunks.ts'
import { keyOf, RULES, rowOf } from './delivered-row.ts'
import { drawGrowth } from './growth-picture.ts'
import { beginRun } from './settled-ledger.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    records: { type: 'string', default: String(CHUNK_SIZE.records) },
    picture: { type: 'string' },
  },
})
const TOTAL = Number(values.rows)
/** A chunk closes with the row that brings it to so many records. */
const ROWS_A_CHUNK = Math.ceil(Number(values.records) / RULES.length)
const SAMPLED_CHUNKS = 200

export interface Point {
  readonly rows: number
  readonly microseconds: number
  readonly written: number
  /** Of settling a chunk, with what is merged after it: elapsed, and processor time. */
  readonly longestMs: number
  readonly longestBusyMs: number
  readonly onDisk: number
  readonly peakMB: number
}

const written = (): number =>
  Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? Number.NaN)
const peakMB = (): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? Number.NaN) / 1024
const processorUs = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const folder = mkdtempSync(join(tmpdir(), 'waybill-delivered-'))
const file = join(folder, 'ledger.sqlite')
const ledger = await openLedger(file, 'here')
const { jobId, open, settle } = await beginRun(ledger)

const points: Point[] = []
console.log(
  `${TOTAL.toLocaleString('en')} rows of ${RULES.length} records, ${ROWS_A_CHUNK} rows a chunk, Node ${process.versions.node}\n`,
)
console.log('|      rows | µs a row | B written a row | longest ms | busy ms | B on disk a row | peak MB |')
console.log('|---|---|---|---|---|---|---|')

let spent = 0
let longest = 0
let longestBusy = 0
let done = 0
let reported = 0
let writtenThen = written()
let chunk = 0
while (done < TOTAL) {
  chunk++
  const count = Math.min(ROWS_A_CHUNK, TOTAL - done)
  const rows = Array.from({ length: count }, (_, at) => rowOf(done + at))
  const rowKeys = rows.map(({ rowKey }) => rowKey)
  const begun = processorUs()
  await open(chunk, done, count)
  if ((await ledger.slots.delivered(jobId, rowKeys)).size > 0) throw new Error('the ledger knows what is new')
  await ledger.slots.delivered(jobId, rowKeys)
  const before = performance.now()
  const busyBefore = processorUs()
  await settle(chunk, rows)
  const now = processorUs()
  longest = Math.max(longest, performance.now() - before)
  longestBusy = Math.max(longestBusy, (now - busyBefore) / 1000)
  spent += now - begun
  done += count
  if (done < TOTAL && done < ((points.length + 1) * TOTAL) / 10) continue
  const point: Point = {
    rows: done,
    microseconds: spent / (done - reported),
    written: (written() - writtenThen) / (done - reported),
    longestMs: longest,
    longestBusyMs: longestBusy,
    onDisk: (statSync(file).size + statSync(`${file}-wal`).size) / done,
    peakMB: peakMB(),
  }
  points.push(point)
  console.log(
    `| ${done.toLocaleString('en').padStart(10)} | ${point.microseconds.toFixed(1)} | ${point.written.toFixed(0)} | ${point.longestMs.toFixed(0)} | ${point.longestBusyMs.toFixed(0)} | ${point.onDisk.toFixed(0)} | ${point.peakMB.toFixed(0)} |`,
  )
  ;[spent, longest, longestBusy, reported, writtenThen] = [0, 0, 0, done, written()]
}

/** Processor time of looking a key up, in µs. */
async function lookUp(keysOf: (chunk: number) => string[], expected: number): Promise<string> {
  let used = 0
  let keys = 0
  for (let at = 0; at < SAMPLED_CHUNKS; at++) {
    const rowKeys = keysOf(at)
    const begun = processorUs()
    const found = await ledger.slots.delivered(jobId, rowKeys)
    used += processorUs() - begun
    keys += rowKeys.length
    if (found.size !== rowKeys.length * expected)
      throw new Error(`${found.size} of ${rowKeys.length} keys found`)
  }
  return (used / keys).toFixed(1)
}
const chunks = Math.floor(TOTAL / ROWS_A_CHUNK)
const rowAt = (at: number, nth: number): number =>
  Math.floor((at * chunks) / SAMPLED_CHUNKS) * ROWS_A_CHUNK + nth
const chunkKeys = (of: (at: number, nth: number) => number) => (at: number) =>
  Array.from({ length: ROWS_A_CHUNK }, (_, nth) => keyOf(of(at, nth)))
const again = await lookUp(chunkKeys(rowAt), 1)
const scattered = await lookUp(
  chunkKeys((at, nth) => (at * 7_919_317 + nth * 104_729 * 31) % TOTAL),
  1,
)
const unknown = await lookUp(
  chunkKeys((at, nth) => TOTAL + rowAt(at, nth)),
  0,
)
console.log(
  `\nTo look a key up, µs: of a chunk as it was delivered ${again}, scattered ${scattered}, never delivered ${unknown}`,
)
await ledger.close()
rmSync(folder, { recursive: true })
if (values.picture !== undefined) writeFileSync(values.picture, drawGrowth(points))
