/**
 * New people on PostgreSQL against the file: `node bench/ledgers.ts [--participants 3000] [--times 3] [--prof FOLDER]`. The rows of the samples
 * (each a new person, most with a doctor) go to a gateway in a process of its own, by one process with a ledger in a file and one with a ledger in
 * PostgreSQL, in turns. The server waits for the disk (fsync). Linux.
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { generateSamples } from '../samples/generate.ts'
import { startAttached } from '../src/runs/connect-gateway.ts'
import { startServer } from '../test/postgres/start-server.ts'
import { type Measured, measure, median } from './load/measured.ts'
import { ticksOfServer } from './settled-ledger.ts'

const { values } = parseArgs({
  options: {
    participants: { type: 'string', default: '3000' },
    times: { type: 'string', default: '3' },
    /** Folder for profiles of the processor. */
    prof: { type: 'string' },
  },
})
const PROJECT = join(import.meta.dirname, '..')
const ENTRY = join(PROJECT, 'bin/waybill.js')
const JOB = `job: people
exports: { from: ../inbox, match: "*.csv" }
mapping: acme-onsite
accounts: { register: missing }
submit: { concurrency: 8 }
`
/** Exit code of a run with rejected rows: the samples have faults. */
const WITH_REJECTS = 1

interface Round extends Measured {
  readonly serverS: number
  readonly registered: number
  readonly transactions: number
}

const folder = await mkdtemp(join(tmpdir(), 'waybill-ledgers-'))
const ofServer = await mkdtemp(join(tmpdir(), 'waybill-ledgers-server-'))
const server = await startServer(ofServer, ['fsync=on'])
const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`
try {
  for (const name of ['jobs', 'mappings']) await mkdir(join(folder, name))
  await cp(join(PROJECT, 'mappings'), join(folder, 'mappings'), { recursive: true })
  await writeFile(join(folder, 'jobs/people.yaml'), JOB)
  await generateSamples({
    participants: Number(values.participants),
    messages: 0,
    out: join(folder, 'inbox'),
  })
  const rounds = { file: [] as Round[], postgres: [] as Round[] }
  for (let time = 0; time < Number(values.times); time++)
    for (const side of ['file', 'postgres'] as const) {
      const round = await runOnce(side, `${side}${time}`)
      rounds[side].push(round)
      report(side, [round])
    }
  process.stdout.write('medians\n')
  const [file, postgres] = [report('file', rounds.file), report('postgres', rounds.postgres)]
  process.stdout.write(`ratio of processor time: ${(postgres / file).toFixed(2)}\n`)
} finally {
  process.kill(server.pid, 'SIGQUIT')
  for (const one of [folder, ofServer]) await rm(one, { recursive: true, force: true, maxRetries: 10 })
}

async function runOnce(side: 'file' | 'postgres', name: string): Promise<Round> {
  const gateway = await startAttached(['--open'], {})
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(`create schema ${name}`)
    const before = await ticksOfServer(server.pid)
    const transactionsBefore = await transactionsOf(client)
    const profile =
      values.prof === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(values.prof, name)}`]
    const measured = await measure(
      process.execPath,
      [...profile, ENTRY, 'run', 'people', '--json'],
      {
        WAYBILL_HOME: join(folder, name),
        WAYBILL_JOBS: join(folder, 'jobs'),
        WAYBILL_MAPPINGS: join(folder, 'mappings'),
        WAYBILL_GATEWAY_URL: gateway.url,
        WAYBILL_API_KEY: 'bench',
        WAYBILL_ACCESS_TOKEN: 'bench',
        ...(side === 'file' ? {} : { WAYBILL_LEDGER: `${url}?options=-c%20search_path%3D${name}` }),
      },
      [0, WITH_REJECTS],
    )
    const { accounts } = JSON.parse(measured.out) as { accounts: { registered: number } }
    return {
      ...measured,
      registered: accounts.registered,
      serverS: ((await ticksOfServer(server.pid)) - before) / 100,
      transactions: (await transactionsOf(client)) - transactionsBefore,
    }
  } finally {
    await client.end()
    await gateway.stop()
  }
}

async function transactionsOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.count)
}

/** @returns the processor time of the process */
function report(side: string, rounds: readonly Round[]): number {
  const of = (figure: (round: Round) => number): number => median(rounds.map(figure))
  const processor = of(({ processorS }) => processorS)
  process.stdout.write(
    `${side}: ${processor.toFixed(2)} s of processor time, ${of(({ elapsedS }) => elapsedS).toFixed(1)} s elapsed, ` +
      `${of(({ serverS }) => serverS).toFixed(2)} s and ${of(({ transactions }) => transactions)} transactions of the server, ${of(({ registered }) => registered)} people registered\n`,
  )
  return processor
}
