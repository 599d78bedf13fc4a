/**
 * Time of the console's pages on a large ledger against a small one: `npm run bench:console`. A run of the sample job is copied in SQL, with 250
 * batches a run, over ten jobs, a night for each ten runs. The fastest of several requests counts: a busy machine slows the others.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'

const PROJECT = resolve(import.meta.dirname, '..')
const BIN = join(PROJECT, 'bin/waybill.js')
const SIZES = [20, 2_000] as const
const BATCHES_A_RUN = 250
const JOBS = 10
const TRIES = 5
const DAY_MS = 86_400_000

type Row = Record<string, SQLOutputValue>

/** Inserts a copy with changes; a numeric id is made anew. @returns the id of the new row */
function copyOf(database: DatabaseSync, table: string, row: Row, changes: Row): number {
  const { id, ...own } = row
  const all: Row = { ...own, ...(typeof id === 'string' ? { id } : {}), ...changes }
  const columns = Object.keys(all)
  const text = `insert into "${table}" (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
  return Number(database.prepare(text).run(...Object.values(all)).lastInsertRowid)
}

const allOf = (database: DatabaseSync, text: string): Row[] => database.prepare(text).all()

/** Copies the run until the ledger has so many. */
function grow(home: string, runs: number, now: number): void {
  const database = new DatabaseSync(join(home, 'ledger.sqlite'))
  const [run] = allOf(database, 'select * from run')
  const [job] = allOf(database, 'select * from job')
  const exports = allOf(database, 'select * from export')
  const chunks = allOf(database, 'select * from chunk')
  const [batch] = allOf(database, 'select * from batch')
  if (run === undefined || job === undefined || batch === undefined)
    throw new Error('the sample run left no batch')
  const jobs = Array.from({ length: JOBS }, (_, at) =>
    at === 0 ? Number(job['id']) : copyOf(database, 'job', job, { name: `ward-${at}` }),
  )
  database.exec('begin')
  for (let at = 1; at < runs; at++) {
    const startedAt = now - Math.floor(at / JOBS) * DAY_MS
    const id = `${new Date(startedAt).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${String(at).padStart(6, '0')}`
    copyOf(database, 'run', run, {
      id,
      job_id: jobs[at % JOBS] ?? 1,
      started_at: startedAt,
      ended_at: startedAt + 60_000,
    })
    for (const one of exports) {
      const row = copyOf(database, 'export', one, { run_id: id })
      const own = chunks.filter(({ export_row }) => export_row === one['id'])
      for (const chunk of own) copyOf(database, 'chunk', chunk, { export_row: row })
      const count = Math.ceil(BATCHES_A_RUN / exports.length)
      for (let number = 0; number < count; number++)
        copyOf(database, 'batch', batch, {
          export_row: row,
          batch_id: `${id}-${row}-${number}`,
          begun_at: startedAt + number,
        })
    }
  }
  database.exec('commit; analyze')
  database.close()
}

interface Opened {
  readonly ask: (page: string) => Promise<number>
  readonly pages: readonly string[]
  readonly end: () => Promise<void>
}

async function opened(home: string): Promise<Opened> {
  const env = { ...process.env, WAYBILL_HOME: home }
  const served = spawn(process.execPath, [BIN, 'console', '--listen', '0'], { cwd: PROJECT, env })
  const ended = once(served, 'exit')
  served.stdout.setEncoding('utf8')
  const [line] = await once(served.stdout, 'data')
  const address = /http:\S+/.exec(String(line))?.[0] ?? ''
  const entered = await fetch(address, { redirect: 'manual' })
  const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? ''
  const run = allOf(new DatabaseSync(join(home, 'ledger.sqlite')), 'select max(id) as id from run')[0]?.['id']
  return {
    async ask(page) {
      const begun = performance.now()
      const answer = await fetch(new URL(page, address), { headers: { cookie } })
      await answer.text()
      if (answer.status !== 200) throw new Error(`${page}: ${answer.status}`)
      return performance.now() - begun
    },
    pages: [`/runs/${run}`, `/runs/${run}/reasons/value-not-a-number`, ...PAGES],
    async end() {
      served.kill('SIGTERM')
      await ended
    },
  }
}

const PAGES = ['/', '/in-doubt', '/exports', '/backfill', '/mappings', '/schedule', '/system']

const folder = mkdtempSync(join(tmpdir(), 'waybill-pages-'))
const consoles: Opened[] = []
try {
  for (const runs of SIZES) {
    const home = join(folder, String(runs))
    const env = { ...process.env, WAYBILL_HOME: home }
    spawnSync(process.execPath, [BIN, 'run', 'nightly-screenings', '--quiet'], { cwd: PROJECT, env })
    grow(home, runs, Date.now())
    consoles.push(await opened(home))
  }
  console.log(`${'page'.padEnd(40)}${SIZES.map((runs) => `${runs} runs`.padStart(12)).join('')}   times`)
  for (const at of consoles[0]?.pages.keys() ?? []) {
    const fastest = SIZES.map(() => Number.POSITIVE_INFINITY)
    // In turn: what slows the machine slows both.
    for (let tried = 0; tried < TRIES; tried++)
      for (const [which, { ask, pages }] of consoles.entries())
        fastest[which] = Math.min(fastest[which] ?? 0, await ask(pages[at] ?? '/'))
    const [small = 1, large = 1] = fastest
    const page = (consoles[0]?.pages[at] ?? '').replace(/\/runs\/[^/]+/, '/runs/RUN')
    console.log(
      `${page.padEnd(40)}${fastest.map((ms) => `${ms.toFixed(1)} ms`.padStart(12)).join('')}${(large / small).toFixed(1).padStart(8)}`,
    )
  }
} finally {
  await Promise.all(consoles.map(({ end }) => end()))
  rmSync(folder, { recursive: true, force: true })
}
