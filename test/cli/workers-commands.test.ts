/** Commands by workers, and in one process: the same words, exit codes, next steps and records. */
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openTickets } from '../../src/ledger/postgres/tickets.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { emptySchema } from '../postgres/server.ts'
import { ANN, BEN, CLINIC, type Clinic, HEADER, openClinic } from './clinic.ts'
import { type Ended, ended, summaryOf } from './command-line.ts'
import {
  expectReceipts,
  type FaultyClinic,
  openFaultyClinic,
  unanswered,
  writeMapping,
} from './left-behind.ts'

const JOB = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
`
const CAT = 'cat,03/02/2026,63,5.3,72.5,kg,fine\n'
const DAN = 'dan,2026-01-05,64,5.4,73.5,kg,fine\n'
const CORRECTED = CLINIC.replace('format: yyyy-MM-dd', 'format: [yyyy-MM-dd, MM/dd/yyyy]')
const SINCE = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?Z)?/g
const RUN = /\d{8}T\d{6}Z-[0-9a-f]{6}/g

/** Words of a command without what differs between two installations. */
const plain = ({ code, out, err }: Ended, { workplace: { folder, environment } }: Clinic) => ({
  code,
  out: withoutOwn(out, folder, environment['WAYBILL_GATEWAY_URL'] ?? ''),
  // Progress, and the log beside it, are those of the process.
  error: withoutOwn(
    err.slice(err.indexOf('\nerror ') + 1),
    folder,
    environment['WAYBILL_GATEWAY_URL'] ?? '',
  ).replace(/^(?!error )[\s\S]*/, ''),
})

const withoutOwn = (text: string, folder: string, url: string): string =>
  text
    .replaceAll(RUN, 'RUN')
    .replaceAll(folder, 'FOLDER')
    .replaceAll(url, 'GATEWAY')
    .replaceAll(SINCE, 'THEN')
    .replaceAll(/ \(on the worker [^)]+\)/g, '')
    .replaceAll(/[\d,.]+ (ms|s|rows a second|records a second)\b/g, 'SO MUCH')

/** What a night, its mistakes and their repair print. */
async function story(clinic: Clinic): Promise<unknown[]> {
  const { waybill } = clinic.workplace
  const said: unknown[] = []
  const type = async (...args: string[]): Promise<void> => {
    said.push(args[0], plain(await waybill(...args), clinic))
  }
  await type('run', 'clinic')
  await clinic.deliver('clinic_20260302.csv', HEADER + ANN + CAT)
  await type('run', 'clinic')
  await type('resume', 'clinic')
  await writeMapping(clinic, CORRECTED)
  await type('rerun', 'latest')
  await clinic.deliver('by-hand.csv', HEADER + BEN)
  await type('run', 'clinic', '--file', join('inbox', 'by-hand.csv'))
  await clinic.deliver('clinic_20260105.csv', HEADER + DAN)
  await type('backfill', 'clinic', '--from', '2026-01-05', '--to', '2026-01-06')
  return [said, await clinic.stored()]
}

/** Words of commands that settle doubts: the gateway has the records of one run, and lacks those of the other. */
async function doubts(clinic: FaultyClinic): Promise<unknown[]> {
  const { waybill } = clinic.workplace
  const said: unknown[] = []
  const type = async (...args: string[]): Promise<void> => {
    said.push(args[0], plain(await waybill(...args), clinic))
  }
  await clinic.deliver('clinic_20260301.csv', HEADER + ANN)
  // The first run of the file has met the gateway already.
  await waybill('run', 'clinic')
  clinic.strike(unanswered('pass-then-reset'))
  await clinic.deliver('clinic_20260302.csv', HEADER + BEN)
  await type('run', 'clinic')
  clinic.strike(() => PASS)
  await type('reconcile', 'latest', '--verify', '--seed', 'drawn', '--sample', '100%')
  await type('reconcile', 'latest')
  clinic.strike(unanswered('reset'))
  await clinic.deliver('clinic_20260105.csv', HEADER + DAN)
  await type('run', 'clinic')
  clinic.strike(() => PASS)
  await type('resolve', 'latest', '--resend', '--by', 'Ann Lee', '--note', 'asked by phone')
  await type('resolve', 'latest', '--resend')
  await type('runs')
  return [said, await clinic.stored()]
}

async function ticketsSent(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ queue: string }>(`select current_schema() || '_queue' as queue`)
    const sent = await client.query(`select 1 from ${pg.escapeIdentifier(rows[0]?.queue ?? '')}.job`)
    return sent.rows.length
  } finally {
    await client.end()
  }
}

test('reconcile and resolve --resend by workers print what they print in one process, and do the same', async () => {
  // Ids of records depend on the key.
  const WAYBILL_KEY = 'of-both-installations'
  const WAYBILL_LEDGER = await emptySchema()
  const byWorker = await openFaultyClinic({
    job: JOB,
    environment: { WAYBILL_KEY, WAYBILL_LEDGER, WAYBILL_RUN_BY: 'workers' },
  })
  const worker = byWorker.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  const inOneProcess = await openFaultyClinic({ job: JOB, environment: { WAYBILL_KEY } })
  const [said, stored] = await doubts(inOneProcess)
  expect(await doubts(byWorker)).toEqual([said, stored])
  expect(stored).toHaveLength(9)
  for (const words of ['Verified: 100 % of the people', '3 records in doubt of run RUN released'])
    expect(JSON.stringify(said)).toContain(words)
  // Each command but the last one has sent a ticket.
  expect(await ticketsSent(WAYBILL_LEDGER)).toBe(7)
})

test('a ticket of resolve --resend whose worker died is ended by the run that has sent the records', async () => {
  const url = await emptySchema()
  const key = 'of-all-machines-0123'
  const clinic = await openFaultyClinic({ job: JOB, environment: { WAYBILL_LEDGER: url, WAYBILL_KEY: key } })
  await clinic.deliver('clinic_20260301.csv', HEADER + ANN)
  await clinic.run()
  clinic.strike(unanswered('reset'))
  await clinic.deliver('clinic_20260302.csv', HEADER + BEN)
  const { run } = summaryOf(await clinic.run())
  clinic.strike(() => PASS)
  const tickets = await openTickets({ url }, { supervises: false, cipher: createAccountIdCipher(() => key) })
  onTestFinished(() => tickets.close())
  const request = { what: 'resend', job: 'clinic', run, transactions: [], by: 'Ann Lee', note: null } as const
  const sent = (await tickets.send('clinic', request)) ?? expect.fail('no ticket')
  const taken = (await tickets.take('run')) ?? expect.fail('no ticket')
  const { out } = await clinic.workplace.waybill('resolve', run, '--resend', '--json')
  const { resent } = JSON.parse(out) as { resent: { run: string } }
  await tickets.giveBack(taken)
  const worker = clinic.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  await expect.poll(() => tickets.stateOf(sent)).toEqual({ run: resent.run, exit: 0 })
  expect(await clinic.stored()).toHaveLength(6)
})

test('run, resume, rerun, run --file and backfill by workers print what they print in one process', async () => {
  const byWorker = await openClinic({
    job: JOB,
    environment: { WAYBILL_LEDGER: await emptySchema(), WAYBILL_RUN_BY: 'workers' },
  })
  const worker = byWorker.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  const inOneProcess = await openClinic({ job: JOB })
  expect(await story(byWorker)).toEqual(await story(inOneProcess))
})

test('resolve --accept runs where it is typed: the lease refuses it while a worker runs the job, and each record has one receipt', async () => {
  const environment = { WAYBILL_LEDGER: await emptySchema(), WAYBILL_RUN_BY: 'workers' }
  const clinic = await openFaultyClinic({ job: JOB, environment })
  const worker = clinic.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  const accept = (run: string) => clinic.workplace.waybill('resolve', run, '--accept')
  await clinic.deliver('clinic_20260301.csv', HEADER + ANN)
  await clinic.run()
  clinic.strike(unanswered('pass-then-reset'))
  await clinic.deliver('clinic_20260302.csv', HEADER + BEN)
  const { run } = summaryOf(await clinic.run())
  const answers = Promise.withResolvers<typeof PASS>()
  const arrived = Promise.withResolvers<void>()
  clinic.strike(() => {
    arrived.resolve()
    return answers.promise
  })
  await clinic.deliver('clinic_20260105.csv', HEADER + DAN)
  const running = clinic.run()
  await arrived.promise
  expect(await accept(run)).toMatchObject({ code: 5, err: expect.stringContaining('error job-held: ') })
  answers.resolve(PASS)
  expect(summaryOf(await running)).toMatchObject({ state: 'finished', balanced: true })
  expect(await accept(run)).toMatchObject({ code: 0 })
  expect(await accept(run)).toMatchObject({ code: 2, err: expect.stringContaining('error nothing-left') })
  expect(await clinic.stored()).toHaveLength(9)
  await expectReceipts(clinic, { answer: 6, decision: 3 })
})
