/**
 * Delivered rows in PostgreSQL as the table grows: `node bench/delivered-postgres.ts [--rows 1000000] [--seconds 200]`. Rows of 13 records are settled
 * through the ledger, chunk by chunk, each looked up twice before. The server waits for the disk (fsync). Linux.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openPostgresLedger } from '../src/ledger/postgres/open-ledger.ts'
import { CHUNK_SIZE } from '../src/run/chunks.ts'
import { startServer } from '../test/postgres/start-server.ts'
import { RULES, rowOf } from './delivered-row.ts'
import { beginRun, ticksOfServer } from './settled-ledger.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, seconds: { type: 'string', default: '200' } },
})
const TOTAL = Number(values.rows)
const ROWS_A_CHUNK = Math.ceil(CHUNK_SIZE.records / RULES.length)
const REPORTS = 10

const folder = await mkdtemp(join(tmpdir(), 'waybill-delivered-postgres-'))
const server = await startServer(folder, ['fsync=on'])
const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`
const client = new pg.Client(url)
await client.connect()
const ledger = await openPostgresLedger({ url })
const { jobId, open, settle } = await beginRun(ledger)
console.log('|      rows | µs a row | of the server | B kept a row | B of log a row |')
console.log('|---|---|---|---|---|')
const endsAt = performance.now() + Number(values.seconds) * 1_000
let [own, done, reported] = [0, 0, 0]
let [ofServer, log] = [await ticksOfServer(server.pid), await logBytes()]
for (let chunk = 1; done < TOTAL && performance.now() < endsAt; chunk++) {
  own += await settled(chunk, done)
  done += ROWS_A_CHUNK
  if (done < TOTAL && done - reported < TOTAL / REPORTS) continue
  const [ticks, bytes] = [await ticksOfServer(server.pid), await logBytes()]
  const rows = done - reported
  const cells = [
    own / rows,
    ((ticks - ofServer) * 10_000) / rows,
    (await keptBytes()) / done,
    (bytes - log) / rows,
  ]
  console.log(
    `| ${done.toLocaleString('en').padStart(10)} | ${cells.map((cell) => cell.toFixed(1)).join(' | ')} |`,
  )
  ;[own, reported, ofServer, log] = [0, done, ticks, bytes]
}
await ledger.close()
await client.end()
process.kill(server.pid, 'SIGQUIT')
await rm(folder, { recursive: true, force: true, maxRetries: 10 })

/** @returns µs of this process for all but the making of the rows */
async function settled(chunk: number, first: number): Promise<number> {
  const rows = Array.from({ length: ROWS_A_CHUNK }, (_, at) => rowOf(first + at))
  const rowKeys = rows.map(({ rowKey }) => rowKey)
  const before = process.cpuUsage()
  await open(chunk, first, ROWS_A_CHUNK)
  for (const _ of ['at the look', 'at the settlement'])
    if ((await ledger.slots.delivered(jobId, rowKeys)).size > 0)
      throw new Error('the ledger knows what is new')
  await settle(chunk, rows)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function numberOf(query: string): Promise<number> {
  const { rows } = await client.query<{ found: string }>(query)
  return Number(rows[0]?.found)
}

function logBytes(): Promise<number> {
  return numberOf(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as found`)
}

function keptBytes(): Promise<number> {
  return numberOf(`select pg_total_relation_size('delivered') as found`)
}
