/**
 * One export in parts: `node bench/parts.ts [--rows 20000] [--workers 1,2,4] [--people 25000] [--latency 1000] [--alone] [--timeline]`. A gateway that takes
 * 8 requests a worker, each answered after a second, gets the wide export by one, two and four workers over a ledger in PostgreSQL, each with a part;
 * with `--alone` also by one process with the same ceiling. The rows are those of 25,000 people at random, as in the
 * first part of an export of 100,000 rows. A run of one row goes before: a ledger meets a gateway once. The gateway must hold each record once. Linux.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startServer } from '../test/postgres/start-server.ts'
import { isSame } from './load/held.ts'
import type { Span } from './load/lean-gateway.ts'
import { usedBy } from './load/measured.ts'
import { LeanGateway, waybillPlace } from './load/places.ts'
import { writeWideExport } from './load/wide-export.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '20000' },
    workers: { type: 'string', default: '1,2,4' },
    people: { type: 'string', default: '25000' },
    latency: { type: 'string', default: '1000' },
    alone: { type: 'boolean', default: false },
    timeline: { type: 'boolean', default: false },
  },
})
const A_WORKER = 8
const WORKER_STARTS_MS = 4_000
const PROGRAM = join(import.meta.dirname, '../bin/waybill.js')

const root = await mkdtemp(join(tmpdir(), 'waybill-parts-'))
const server = await startServer(await mkdtemp(join(tmpdir(), 'waybill-parts-server-')), ['fsync=on'])
const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`
const client = new pg.Client(url)
await client.connect()
try {
  const file = join(root, 'wide.csv')
  const wide = await writeWideExport(file, Number(values.rows), { people: Number(values.people) })
  await using gateway = await LeanGateway.start({ echo: 'full', latencyMs: Number(values.latency) })
  let gatewayS = 0
  for (const count of values.workers.split(',').map(Number))
    for (const isAlone of values.alone ? [false, true] : [false]) {
      const name = `of_${count}${isAlone ? '_alone' : ''}`
      const { elapsedS, ...of } = await load(name, file, gateway, count, isAlone)
      const { held, requests, most, spans, processorS } = await gateway.report()
      await gateway.forget()
      const outcome = isSame(held, wide.held) ? 'exact' : `${held.records} records, not ${wide.held.records}`
      const who = isAlone
        ? `one process with ${count * A_WORKER} at once`
        : `${count} workers, ${count} parts`
      process.stdout.write(
        `${who}: ${elapsedS.toFixed(1)} s, ${requests} requests, at most ${most} at once, ${outcome}; processor time ${of.processorS.toFixed(1)} s of all workers, ${(processorS - gatewayS).toFixed(1)} s of the gateway; at most ${of.peakMB.toFixed(0)} MB a worker\n`,
      )
      gatewayS = processorS
      if (values.timeline) process.stdout.write(timeline(spans))
    }
} finally {
  await client.end()
  process.kill(server.pid, 'SIGQUIT')
  await rm(root, { recursive: true, force: true, maxRetries: 10 })
}

interface Load {
  /** Seconds that the asking command took. */
  readonly elapsedS: number
  readonly processorS: number
  readonly peakMB: number
}

async function load(
  name: string,
  file: string,
  { url: gateway }: LeanGateway,
  count: number,
  isAlone: boolean,
): Promise<Load> {
  await client.query(`create schema ${name}`)
  const folder = join(root, name)
  await waybillPlace(folder, [file])
  const job = join(folder, 'jobs/bench.yaml')
  const parts = isAlone ? 1 : count
  const text = (await readFile(job, 'utf8')).replace('concurrency: 8', `concurrency: ${A_WORKER * count}`)
  await writeFile(job, `${text}parts: ${parts}\n`)
  const env = {
    // The launcher asks for "node": that of this bench.
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    TZ: 'UTC',
    WAYBILL_HOME: join(folder, 'home'),
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: join(folder, 'mappings'),
    WAYBILL_GATEWAY_URL: gateway,
    WAYBILL_API_KEY: 'bench',
    WAYBILL_ACCESS_TOKEN: 'bench',
    WAYBILL_KEY: 'a key of all machines',
    WAYBILL_LEDGER: `${url}?options=-c%20search_path%3D${name}`,
    ...(isAlone ? {} : { WAYBILL_RUN_BY: 'workers' }),
  }
  const start = (more: Readonly<Record<string, string>>, ...parameters: string[]) =>
    spawn(PROGRAM, parameters, {
      env: { ...env, ...more },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const { WAYBILL_RUN_BY: _, ...here } = { WAYBILL_RUN_BY: '', ...env }
  const first = ['run', 'bench', '--limit', '1', '--json', '--quiet']
  await once(spawn(PROGRAM, first, { env: here, stdio: 'ignore' }), 'exit')
  const workers = isAlone
    ? []
    : Array.from({ length: count }, (_, at) => start({ WAYBILL_ACCESS_TOKEN: `worker ${at + 1}` }, 'worker'))
  await new Promise((resolve) => setTimeout(resolve, isAlone ? 0 : WORKER_STARTS_MS))
  const begun = performance.now()
  const asking = start({}, 'run', 'bench', '--json', '--quiet')
  const [code] = (await once(asking, 'exit')) as [number | null]
  const elapsedS = (performance.now() - begun) / 1000
  const used = workers.length === 0 ? [] : workers.map(({ pid = 0 }) => usedBy(pid))
  for (const one of workers) {
    const ended = once(one, 'exit')
    one.kill('SIGTERM')
    await ended
  }
  if (code !== 0) throw new Error(`the run ended with ${code}`)
  return {
    elapsedS,
    processorS: used.reduce((sum, one) => sum + one.processorS, 0),
    peakMB: Math.max(0, ...used.map(({ peakMB }) => peakMB)),
  }
}

/** Requests under way of each worker, in the middle of each second. */
function timeline(spans: readonly Span[]): string {
  const from = Math.min(...spans.map(([, began]) => began))
  const until = Math.max(...spans.map(([, , ended]) => ended))
  const seconds = Array.from(
    { length: Math.ceil((until - from) / 1_000) },
    (_, second) => from + second * 1_000 + 500,
  )
  return [...Map.groupBy(spans, ([token]) => token)]
    .map(([token, own]) => {
      const counts = seconds.map((at) => own.filter(([, began, ended]) => began <= at && at < ended).length)
      return `  ${token.padEnd(16)} ${counts.map((count) => String(count).padStart(2)).join(' ')}\n`
    })
    .sort()
    .join('')
}
