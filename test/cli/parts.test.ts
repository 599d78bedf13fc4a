import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openTickets } from '../../src/ledger/postgres/tickets.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { emptySchema, rowsOf } from '../postgres/server.ts'
import { ANN, BEN, HEADER, JOB, openClinic } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'
import { openFaultyClinic } from './left-behind.ts'
import { readReceipts, readRejects } from './run-outputs.ts'
import { runOnWorkers, startWorker } from './worker-scene.ts'

const KEY = 'of-all-machines-0123'
const BIOMETRICS = 'POST /health-profile/biometrics/bulk'

/** A run in four parts, under way in two workers: the first has the run, and both have a part. */
async function underWay() {
  const scene = await runOnWorkers(
    'submit: { concurrency: 4, batch: { records: 20 }, readLag: 100ms }\nparts: 4\n',
  )
  await heldParts(scene.WAYBILL_LEDGER, 1)
  const second = startWorker(scene.workplace)
  await heldParts(scene.WAYBILL_LEDGER, 2)
  return { ...scene, second }
}

/** Waits until so many parts are held. */
async function heldParts(url: string, count: number): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const held = async (): Promise<number> =>
      (await client.query('select 1 from lease where part > 0 and expires_at > 0')).rowCount ?? 0
    await expect.poll(() => held().catch(() => 0), { interval: 50 }).toBe(count)
  } finally {
    await client.end()
  }
}

/** One run, whole, with each record of the samples once, and one file of each kind. @param before records of earlier runs */
async function expectWhole(
  { store, asked, workplace }: Pick<Awaited<ReturnType<typeof underWay>>, 'store' | 'asked' | 'workplace'>,
  before = 0,
): Promise<void> {
  const { run, ...summary } = summaryOf(await asked)
  expect(summary).toMatchObject({ state: 'finished', balanced: true })
  const ids = (await store.allRecords()).map((record) => JSON.stringify(record['source'] ?? record))
  expect(new Set(ids).size).toBe(ids.length)
  const accepted = Object.values(summary.records).reduce((sum, kind) => sum + kind.accepted, 0)
  expect(ids).toHaveLength(before + accepted)
  // A run stopped late has left nothing to send.
  const file = join(workplace.home, 'receipts', `${run}.ndjson.gz`)
  const receipts = accepted === 0 ? [] : await readReceipts(file)
  expect(new Set(receipts.map(({ transactionId }) => transactionId)).size).toBe(receipts.length)
  expect(receipts).toHaveLength(accepted)
  const files = readdirSync(join(workplace.home, 'rejects', run))
  expect(files.filter((name) => name.includes('part'))).toEqual([])
}

test('workers read the parts of an export, and the run ends as one', async () => {
  const scene = await underWay()
  await expectWhole(scene)
  const { out } = await scene.workplace.waybill('show', 'latest', '--json')
  expect(JSON.parse(out)).toMatchObject({ exports: [{ state: 'finished' }], state: 'finished' })
  scene.first.worker.kill('SIGTERM')
  scene.second.worker.kill('SIGTERM')
  const log = (await scene.first.over).err + (await scene.second.over).err
  expect(log).toMatch(/export started run=\S+ job=screening export=\S+ part="\d of 4" /)
})

test.each(['first', 'second'] as const)(
  'the %s worker is killed, and others read on what it had',
  async (which) => {
    const scene = await underWay()
    const { requests, until } = scene
    const before = requests()
    await until(() => requests() > before + 2)
    const parts = async () => {
      const { exports } = JSON.parse((await scene.workplace.waybill('show', 'latest', '--json')).out)
      return (exports as { parts?: { takes: number; worker?: string }[] }[])[0]?.parts ?? []
    }
    const { pid } = scene[which].worker
    expect(await parts()).toHaveLength(4)
    await expect
      .poll(async () => (await parts()).some(({ worker }) => worker?.endsWith(`:${pid}`)), {
        timeout: 60_000,
      })
      .toBe(true)
    scene[which].worker.kill('SIGKILL')
    await scene[which].over
    const shown = (await scene.workplace.waybill('show', 'latest')).out
    expect(shown).toMatch(/^\s*part +state +rows settled +taken +worker/m)
    expect(shown).toMatch(/of 4 +(open|settled) +\d+ +\d times? +\S+:\d+ since /)
    if (which === 'first') startWorker(scene.workplace)
    await expectWhole(scene)
  },
)

test('a worker that is asked to end hands its part to another one', async () => {
  const scene = await underWay()
  scene.second.worker.kill('SIGTERM')
  expect((await scene.second.over).code).toBe(0)
  await expectWhole(scene)
})

test('a run in parts is stopped as a whole, given up with one file of receipts, and the next run sends the rest', async () => {
  const scene = await underWay()
  const { workplace, store } = scene
  expect((await workplace.waybill('stop', 'latest')).code).toBe(0)
  const { code, out } = await scene.asked
  expect(code).toBe(130)
  const { run, state } = JSON.parse(out) as { run: string; state: string }
  expect(state).toBe('interrupted')
  expect((await workplace.waybill('resolve', run, '--give-up')).code).toBe(0)
  const files = readdirSync(join(workplace.home, 'rejects'), { recursive: true }).map(String)
  expect(files.filter((name) => name.includes('part'))).toEqual([])
  const receipts = await readReceipts(join(workplace.home, 'receipts', `${run}.ndjson.gz`))
  expect(receipts).toHaveLength((await store.allRecords()).length)
  await expectWhole({ ...scene, asked: workplace.waybill('run', 'screening', '--json') }, receipts.length)
})

test('a part whose worker died before or behind its settlement, or whose ticket comes late, is settled once', async () => {
  const url = await emptySchema()
  const clinic = await openFaultyClinic({
    environment: { WAYBILL_LEDGER: url, WAYBILL_KEY: KEY },
    job: `${JOB}parts: 2\n`,
  })
  const people = Array.from({ length: 12 }, (_, at) => `p${at}`)
  await clinic.deliver('a.csv', HEADER + people.map((id) => `${id},2026-03-02,61,5.1,70.5,kg,x\n`).join(''))
  const states = () =>
    rowsOf<{ state: string; takes: number }>(url, 'select state, takes::int from part order by number')
  let batches = 0
  const second = Promise.withResolvers<void>()
  clinic.strike(async ({ method, path }) => {
    if (`${method} ${path}` !== BIOMETRICS) return PASS
    batches += 1
    if ((await states())[0]?.state !== 'settled') return PASS
    second.resolve()
    return Promise.withResolvers<typeof PASS>().promise
  })
  const killed = clinic.workplace.start('run', 'clinic')
  await second.promise
  killed.kill('SIGKILL')
  await ended(killed)
  expect(await states()).toEqual([
    { state: 'settled', takes: 1 },
    { state: 'open', takes: 1 },
  ])
  clinic.strike(({ method, path }) => {
    if (`${method} ${path}` === BIOMETRICS) batches += 1
    return PASS
  })
  const [run] = await rowsOf<{ id: string; exported: string }>(
    url,
    'select run.id, export.id as exported from run join export on run_id = run.id',
  )
  const tickets = await openTickets({ url }, { supervises: false, cipher: createAccountIdCipher(() => KEY) })
  onTestFinished(() => tickets.close())
  startWorker(clinic.workplace)
  /** Sends a ticket as the owner of the run does, and awaits its end. @returns batches sent meanwhile */
  const carry = async (number: number): Promise<number> => {
    const before = batches
    const place = { run: run?.id ?? '', exportRow: Number(run?.exported), number }
    const request = { what: 'part', job: 'clinic', ...place } as const
    const sent = (await tickets.send(`part ${number}`, request)) ?? expect.fail('no ticket')
    await expect.poll(() => tickets.stateOf(sent)).toEqual({ run: place.run, exit: 0 })
    return batches - before
  }
  // Behind the settlement: nothing is left but the ticket.
  expect(await carry(0)).toBe(0)
  // Before it: the part is read on. What the killed process may have sent is looked up.
  expect(await carry(1)).toBe(1)
  expect(await carry(1)).toBe(0)
  expect(await states()).toEqual([
    { state: 'settled', takes: 1 },
    { state: 'settled', takes: 2 },
  ])
  expect(summaryOf(await clinic.run())).toMatchObject({ run: run?.id, state: 'finished', balanced: true })
  // Behind the end of the export.
  expect(await carry(1)).toBe(0)
  expect(await clinic.stored()).toHaveLength(3 * people.length)
  const receipts = await readReceipts(join(clinic.workplace.home, 'receipts', `${run?.id}.ndjson.gz`))
  expect(receipts).toHaveLength(3 * people.length)
})

const BAD = (id: string) => `${id},2026-03-02,fast,5.3,72.5,kg,no pulse\n`

test('parts need a ledger in PostgreSQL', async () => {
  const clinic = await openClinic({ job: `${JOB}parts: 2\n` })
  await clinic.deliver('a.csv', HEADER + ANN)
  expect(await clinic.run()).toMatchObject({
    code: 2,
    err: expect.stringMatching(/error usage-wrong.*parts(?:.|\n)*WAYBILL_LEDGER/),
  })
})

test('without workers, one process reads the parts one after another, and the rejects are one file', async () => {
  const clinic = await openClinic({
    environment: { WAYBILL_LEDGER: await emptySchema() },
    job: `${JOB}parts: 3\n`,
  })
  const people = Array.from({ length: 9 }, (_, at) => `p${at}`)
  const nobody = ',2026-03-02,61,5.1,70.5,kg,nobody\n'
  await clinic.deliver('a.csv', `${HEADER}${people.map(BAD).join('')}${BEN}${nobody}`)
  const { code, out } = await clinic.run()
  expect({ code, summary: JSON.parse(out) }).toMatchObject({
    code: 1,
    summary: { state: 'finished', balanced: true, rows: { read: 11, rejected: 1 } },
  })
  const { run, exports } = JSON.parse(out) as { run: string; exports: unknown }
  const [file = ''] = readdirSync(join(clinic.workplace.home, 'rejects', run))
  expect(exports).toMatchObject([{ rejects: expect.stringMatching(/1-a\.rejects\.csv$/) }])
  const rejects = await readRejects(join(clinic.workplace.home, 'rejects', run, file))
  expect(rejects.map((row) => row['_row']).sort()).toEqual(
    Array.from({ length: 11 }, (_, at) => String(at + 1))
      .filter((row) => row !== '10')
      .sort(),
  )
  const again = await clinic.run('--file', join(clinic.workplace.home, 'rejects', run, file))
  expect(JSON.parse(again.out)).toMatchObject({ rows: { read: 10 } })
})

test('the share of rejected rows counts all parts, and stops all of them', async () => {
  const clinic = await openClinic({
    environment: { WAYBILL_LEDGER: await emptySchema() },
    job: `${JOB}parts: 2\nstopWhen: { rejectedRows: 40%, after: 4 }\n`,
  })
  const noDate = Array.from({ length: 4 }, (_, at) => `q${at},never,61,5.1,70.5,kg,x\n`)
  await clinic.deliver('a.csv', HEADER + ANN + BEN + noDate.join(''))
  const { code, out } = await clinic.run()
  expect({ code, summary: JSON.parse(out) }).toMatchObject({
    code: 4,
    summary: { state: 'failed', reason: 'threshold-passed' },
  })
  const { run } = JSON.parse(out) as { run: string; exports: unknown }
  const files = readdirSync(join(clinic.workplace.home, 'rejects', run))
  expect(files).toEqual(['1-a.rejects.csv'])
})
