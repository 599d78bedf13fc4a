import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openTickets } from '../../src/ledger/postgres/tickets.ts'
import { createAccountIdCipher, NO_ACCOUNT_IDS } from '../../src/ledger/sealed-ids.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { asAdmin, emptySchema, rowsOf } from '../postgres/server.ts'
import { ANN, BEN, GOOD, HEADER, openClinic } from './clinic.ts'
import { type Ended, ended, summaryOf } from './command-line.ts'
import { DAYS, eachOnce, isBatch, nameOf, openHistory, rowOf, storedDays } from './history.ts'
import { openFaultyClinic } from './left-behind.ts'
import { runOnWorkers, startWorker } from './worker-scene.ts'

/** Of the 30 s within which a worker is replaced, the rest is for the looks of the others. */
const LEASE_AT_MOST_MS = 20_000
const KEY = 'of-all-machines-0123'

/** Everything that the queue has stored, as text. */
async function queueOf(url: string): Promise<string> {
  const tables = await rowsOf<{ name: string }>(
    url,
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
      where schemaname = current_schema() || '_queue'`,
  )
  let text = ''
  for (const { name } of tables) text += JSON.stringify(await rowsOf(url, `select * from ${name}`))
  return text
}

test('a worker runs the job with the summary and exit code of a run, and the queue has no health data', async () => {
  const WAYBILL_LEDGER = await emptySchema()
  const clinic = await openClinic({ environment: { WAYBILL_LEDGER, WAYBILL_RUN_BY: 'workers' } })
  const { worker, over } = startWorker(clinic.workplace, '--concurrency', '2')
  await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}cara,2026-03-02,fast,5.3,72.5,kg,no pulse\n`)
  const { code, out, err } = await clinic.run()
  expect({ code, summary: JSON.parse(out) }, err).toMatchObject({
    code: 1,
    summary: {
      state: 'finished',
      balanced: true,
      rows: { read: 3 },
      records: { biometric: { accepted: 8 } },
    },
  })
  expect(await clinic.stored()).toEqual(expect.arrayContaining(GOOD))
  await clinic.deliver('b.csv', 'no,columns\n1,2\n')
  const failed = await clinic.run()
  expect(failed.code).toBe(1)

  const named = await clinic.deliver('ann_lee.txt', `${HEADER}${ANN}`)
  expect((await clinic.run('--file', named)).code).toBe(2)

  const queue = (await queueOf(WAYBILL_LEDGER)).replaceAll(/"(sealed|words)":"[\w-]+"/g, '')
  expect(queue).toContain('clinic')
  for (const word of ['ann', 'cara', 'pulse', '70.5', '2026-03-02', 'kg', '.csv', 'lee', '.txt'])
    expect(queue).not.toContain(word)
  worker.kill('SIGTERM')
  expect((await over).code).toBe(0)
})

test('a job that the worker refuses ends with the exit code of the refusal', async () => {
  const WAYBILL_LEDGER = await emptySchema()
  const clinic = await openClinic({ environment: { WAYBILL_LEDGER, WAYBILL_RUN_BY: 'workers' } })
  startWorker(clinic.workplace)
  expect(await clinic.run()).toMatchObject({ code: 2, err: expect.stringContaining('error exports-none') })
})

test('a run that no worker has begun is withdrawn when its command is interrupted', async () => {
  const url = await emptySchema()
  const { workplace, deliver } = await openClinic({
    environment: { WAYBILL_LEDGER: url, WAYBILL_RUN_BY: 'workers' },
  })
  await deliver('a.csv', HEADER + ANN)
  const asking = workplace.start('run', 'clinic')
  const over = ended(asking)
  await expect.poll(() => queueOf(url).catch(() => '')).toContain('"singleton_key":"clinic ')
  asking.kill('SIGINT')
  expect(await over).toMatchObject({ code: 130, err: expect.stringContaining('Nothing has begun.') })
  const tickets = await openTickets({ url }, { supervises: false, cipher: NO_ACCOUNT_IDS })
  onTestFinished(() => tickets.close())
  expect(await tickets.take('run')).toBeUndefined()
})

/** A run of many requests, under way in the first of two workers. */
async function underWay() {
  const scene = await runOnWorkers('submit: { concurrency: 2, batch: { records: 50 }, readLag: 100ms }\n')
  await scene.until(() => scene.requests() >= 3)
  const second = startWorker(scene.workplace)
  return { ...scene, second }
}

/** One run, whole, with each record of the samples once. */
async function expectWhole({ store, asked }: Awaited<ReturnType<typeof underWay>>): Promise<void> {
  const summary = summaryOf(await asked)
  expect(summary).toMatchObject({ state: 'finished', balanced: true })
  const ids = (await store.allRecords()).map((record) => JSON.stringify(record['source'] ?? record))
  expect(new Set(ids).size).toBe(ids.length)
  const accepted = Object.values(summary.records).map((kind) => kind.accepted)
  expect(ids).toHaveLength(accepted.reduce((sum, count) => sum + count))
}

async function leaseLeftMs(url: string): Promise<number> {
  const clock = 'extract(epoch from clock_timestamp()) * 1000'
  const [lease] = await rowsOf<{ left: string }>(url, `select expires_at - ${clock} as left from lease`)
  return Number(lease?.left)
}

const gone = async (worker: ChildProcess): Promise<void> => {
  while (worker.exitCode === null && worker.signalCode === null) await delay(20)
}

test('a worker that is killed is replaced within 30 s, also on another machine, and nothing is lost or doubled', async () => {
  const scene = await underWay()
  const { first, until, requests, WAYBILL_LEDGER } = scene
  first.worker.kill('SIGKILL')
  await gone(first.worker)
  // As the process of another machine: nobody can tell that it has ended.
  await asAdmin(WAYBILL_LEDGER, `update lease set owner = 'elsewhere:1#0a.1'`)
  const before = requests()
  // By the clock of the database: how long a look takes is up to the machine.
  expect(await leaseLeftMs(WAYBILL_LEDGER)).toBeLessThanOrEqual(LEASE_AT_MOST_MS)
  await until(() => requests() > before)
  await expectWhole(scene)
})

test('a worker that is asked to end hands its run to another one at once', async () => {
  const scene = await underWay()
  scene.first.worker.kill('SIGTERM')
  expect((await scene.first.over).code).toBe(0)
  await expectWhole(scene)
})

test('a ticket whose worker died between the end of the run and that of the ticket is ended by that run', async () => {
  const url = await emptySchema()
  const clinic = await openClinic({ environment: { WAYBILL_LEDGER: url, WAYBILL_KEY: KEY } })
  await clinic.deliver('a.csv', HEADER + ANN)
  const cipher = createAccountIdCipher(() => KEY)
  const tickets = await openTickets({ url }, { supervises: false, cipher })
  onTestFinished(() => tickets.close())
  const request = { what: 'run', job: 'clinic', files: [] } as const
  const sent = (await tickets.send('clinic', request)) ?? expect.fail('no ticket')
  const taken = (await tickets.take('run')) ?? expect.fail('no ticket')
  const { run } = summaryOf(await clinic.run())
  await tickets.giveBack(taken)
  startWorker(clinic.workplace)
  await expect.poll(() => tickets.stateOf(sent)).toEqual({ run, exit: 0 })
})

test('a run that is stopped while no worker has it stays stopped when its ticket comes back', async () => {
  const url = await emptySchema()
  const clinic = await openFaultyClinic({ environment: { WAYBILL_LEDGER: url, WAYBILL_KEY: KEY } })
  await clinic.deliver('a.csv', HEADER + ANN)
  const arrived = Promise.withResolvers<void>()
  let batches = 0
  clinic.strike(({ path }) => {
    if (!path.endsWith('/biometrics/bulk')) return PASS
    batches += 1
    arrived.resolve()
    return Promise.withResolvers<typeof PASS>().promise
  })
  const tickets = await openTickets({ url }, { supervises: false, cipher: createAccountIdCipher(() => KEY) })
  onTestFinished(() => tickets.close())
  const request = { what: 'run', job: 'clinic', files: [] } as const
  const sent = (await tickets.send('clinic', request)) ?? expect.fail('no ticket')
  const taken = (await tickets.take('run')) ?? expect.fail('no ticket')
  const killed = clinic.workplace.start('run', 'clinic')
  await arrived.promise
  killed.kill('SIGKILL')
  await gone(killed)
  const stopped = await clinic.workplace.waybill('stop', 'clinic', '--by', 'ann')
  expect(stopped).toMatchObject({ code: 0, out: expect.stringContaining('interrupted (asked-to-stop)') })
  expect(stopped.out).toContain('ann has stopped it')
  await tickets.giveBack(taken)
  startWorker(clinic.workplace)
  await expect.poll(() => tickets.stateOf(sent)).toMatchObject({ exit: 130 })
  expect(batches).toBe(1)
  clinic.strike(() => PASS)
  expect(summaryOf(await clinic.run())).toMatchObject({ state: 'finished', rows: { read: 1 } })
  expect(await clinic.stored()).toHaveLength(3)
})

test('a run on the worker of a backfill of its job waits until the backfill gives way', async () => {
  const url = await emptySchema()
  const scene = await openHistory(undefined, { WAYBILL_LEDGER: url, WAYBILL_RUN_BY: 'workers' })
  const [first = '', second = ''] = DAYS
  const last = DAYS.at(-1) ?? ''
  startWorker(scene.workplace)
  let run: Promise<Ended> | undefined
  scene.strike(async (request) => {
    if (!isBatch(request) || run !== undefined) return PASS
    await scene.deliver(nameOf(last), HEADER + rowOf(last))
    run = scene.workplace.waybill('run', 'clinic', '--json')
    await expect.poll(() => rowsOf(url, 'select owner from waiting')).toHaveLength(1)
    return PASS
  })
  const filled = summaryOf(await scene.workplace.waybill(...scene.backfill, '--json'))
  expect(summaryOf((await run) ?? expect.fail('no run'))).toMatchObject({ state: 'finished' })
  expect(filled).toMatchObject({ state: 'finished', balanced: true })
  // The run goes first, behind the batch that was under way.
  expect(scene.sent().slice(0, 3)).toEqual([first, last, second])
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS))
})

test('a worker whose ledger was upgraded hands its ticket back, and ends', async () => {
  const url = await emptySchema()
  const clinic = await openClinic({ environment: { WAYBILL_LEDGER: url, WAYBILL_KEY: KEY } })
  await clinic.deliver('a.csv', HEADER + ANN)
  await clinic.run()
  const { over } = startWorker(clinic.workplace)
  const tickets = await openTickets({ url }, { supervises: false, cipher: createAccountIdCipher(() => KEY) })
  onTestFinished(() => tickets.close())
  await expect.poll(() => rowsOf(url, 'select mark from shared_home')).toHaveLength(1)
  await asAdmin(url, `insert into kysely_migration (name, timestamp) values ('9999-future', 'later')`)
  const sent =
    (await tickets.send('clinic', { what: 'run', job: 'clinic', files: [] })) ?? expect.fail('none')
  const { code, err } = await over
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('error ledger-newer: ') })
  expect(await tickets.stateOf(sent)).toBe('queued')
})

test('a ticket that came back although its worker goes on ends with the run of that worker', async () => {
  const url = await emptySchema()
  const environment = { WAYBILL_LEDGER: url, WAYBILL_KEY: KEY }
  const clinic = await openFaultyClinic({ environment })
  await clinic.deliver('a.csv', HEADER + ANN)
  const answers = Promise.withResolvers<typeof PASS>()
  const arrived = Promise.withResolvers<void>()
  clinic.strike(({ method }) => {
    if (method !== 'POST') return PASS
    arrived.resolve()
    return answers.promise
  })
  startWorker(clinic.workplace)
  const tickets = await openTickets({ url }, { supervises: false, cipher: createAccountIdCipher(() => KEY) })
  onTestFinished(() => tickets.close())
  const request = { what: 'run', job: 'clinic', files: [] } as const
  const sent = (await tickets.send('clinic', request)) ?? expect.fail('no ticket')
  await arrived.promise
  await tickets.giveBack({ ...sent, attempt: 0, sentAt: 0, request })
  // Of this worker, 30 s pass in a third of a second.
  const second = clinic.workplace.startFast(new Date().toISOString(), 100, 'worker')
  const over = ended(second)
  onTestFinished(async () => {
    second.kill('SIGKILL')
    await over
  })
  await expect.poll(() => tickets.stateOf(sent)).toBe('taken')
  await delay(1_500)
  expect(await tickets.stateOf(sent)).toBe('taken')
  answers.resolve(PASS)
  await expect.poll(() => tickets.stateOf(sent)).toMatchObject({ exit: 0 })
  expect(await clinic.stored()).toHaveLength(3)
})
