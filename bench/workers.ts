/**
 * Jobs over workers: `node bench/workers.ts [--jobs 100] [--rows 20] [--latency 1000] [--workers 1,2,4]`. Each job has an export of its own; a
 * gateway in a process of its own answers after the latency. Tickets as of a schedule, then so many workers of four runs at once each, all on this
 * machine, over one PostgreSQL (fsync). Linux.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openTickets } from '../src/ledger/postgres/tickets.ts'
import { createAccountIdCipher } from '../src/ledger/sealed-ids.ts'
import { startServer } from '../test/postgres/start-server.ts'
import { LeanGateway } from './load/places.ts'

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    rows: { type: 'string', default: '20' },
    latency: { type: 'string', default: '1000' },
    workers: { type: 'string', default: '1,2,4' },
  },
})
const ENTRY = join(import.meta.dirname, '../bin/waybill.js')
const KEY = 'of-all-machines-0123'
const AT_ONCE = 4
const CEILING = 64
const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account: { reference: id, type: partnerAccountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  heart-rate: pulse
  hba1c: a1c
`
const names = Array.from({ length: Number(values.jobs) }, (_, at) => `vendor-${at + 1}`)
const RECORDS_A_ROW = 2

const folder = await mkdtemp(join(tmpdir(), 'waybill-workers-'))
const ofServer = await mkdtemp(join(tmpdir(), 'waybill-workers-server-'))
const server = await startServer(ofServer, ['fsync=on'])
try {
  await writeFiles()
  for (const count of values.workers.split(',').map(Number)) await runOnce(count)
} finally {
  process.kill(server.pid, 'SIGQUIT')
  for (const one of [folder, ofServer]) await rm(one, { recursive: true, force: true, maxRetries: 10 })
}

async function writeFiles(): Promise<void> {
  for (const name of ['jobs', 'mappings', 'inbox']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'mappings/clinic.yaml'), MAPPING)
  for (const name of names) {
    const job = `job: ${name}
exports: { from: ../inbox, match: "${name}.csv", mapping: clinic }
accounts: { register: never }
submit: { concurrency: ${CEILING} }
`
    await writeFile(join(folder, `jobs/${name}.yaml`), job)
    const rows = Array.from({ length: Number(values.rows) }, (_, at) => `${name}-${at},2026-03-02,61,5.1\n`)
    await writeFile(join(folder, `inbox/${name}.csv`), `id,day,pulse,a1c\n${rows.join('')}`)
  }
}

async function runOnce(count: number): Promise<void> {
  await using gateway = await LeanGateway.start({ echo: 'full', latencyMs: Number(values.latency) })
  const schema = `workers_${count}`
  const plain = `postgres://postgres@127.0.0.1:${server.port}/postgres`
  const client = new pg.Client(plain)
  await client.connect()
  await client.query(`create schema ${schema}`)
  await client.end()
  const url = `${plain}?options=-c%20search_path%3D${schema}`
  const env = {
    PATH: process.env['PATH'],
    WAYBILL_HOME: join(folder, `home-${count}`),
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: join(folder, 'mappings'),
    WAYBILL_GATEWAY_URL: gateway.url,
    WAYBILL_API_KEY: 'bench',
    WAYBILL_ACCESS_TOKEN: 'bench',
    WAYBILL_KEY: KEY,
    WAYBILL_LEDGER: url,
  }
  // Makes the tables, and meets the gateway; its export is no part of the figures.
  const first = spawn(process.execPath, [ENTRY, 'run', 'vendor-1'], { env, stdio: 'ignore' })
  await once(first, 'exit')
  await gateway.forget()
  const start = (): ChildProcess =>
    spawn(process.execPath, [ENTRY, 'worker', '--concurrency', String(AT_ONCE)], { env, stdio: 'ignore' })
  const workers = Array.from({ length: count }, start)
  const tickets = await openTickets({ url }, { supervises: false, cipher: createAccountIdCipher(() => KEY) })
  // Time in which the workers start.
  await delay(5_000)
  const processorBefore = await processorOf(workers)
  const begun = performance.now()
  const sent = []
  for (const job of names.slice(1)) {
    const ticket = await tickets.send(`${job} ${gateway.url}`, { what: 'run', job, files: [] })
    if (ticket !== undefined) sent.push(ticket)
  }
  const exits = new Map<number, number>()
  for (const ticket of sent) {
    let state = await tickets.stateOf(ticket)
    for (; typeof state !== 'object'; state = await tickets.stateOf(ticket)) await delay(100)
    exits.set(state.exit, (exits.get(state.exit) ?? 0) + 1)
  }
  const elapsedS = (performance.now() - begun) / 1_000
  const processorS = (await processorOf(workers)) - processorBefore
  await tickets.close()
  for (const worker of workers) {
    const ended = once(worker, 'exit')
    worker.kill('SIGKILL')
    await ended
  }
  const { held, most } = await gateway.report()
  const due = sent.length * Number(values.rows) * RECORDS_A_ROW
  process.stdout.write(
    `${count} workers: ${sent.length} jobs in ${elapsedS.toFixed(1)} s, ${processorS.toFixed(1)} s of processor time, ` +
      `at most ${most} requests at once, ${held.records} of ${due} records, exit codes ${JSON.stringify([...exits])}\n`,
  )
}

/** Seconds of processor time: fields 14 and 15 of proc_pid_stat(5). */
async function processorOf(processes: readonly ChildProcess[]): Promise<number> {
  let ticks = 0
  for (const { pid } of processes) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / 100
}
