/** Machines of one ledger: each needs the folder that all share as its home. */
import { readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptySchema } from '../postgres/server.ts'
import { ANN, BEN, GOOD, HEADER, openClinic } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'

/** Two machines of one ledger and one key, each with folders of its own. */
async function twoMachines() {
  const environment = {
    WAYBILL_LEDGER: await emptySchema(),
    WAYBILL_RUN_BY: 'workers',
    WAYBILL_KEY: 'of-all-machines-0123',
  }
  const [one, other] = [await openClinic({ environment }), await openClinic({ environment })]
  const startWorker = ({ workplace }: typeof one) => {
    const worker = workplace.start('worker')
    let log = ''
    worker.stderr.on('data', (text) => {
      log += text
    })
    const over = ended(worker)
    onTestFinished(async () => {
      worker.kill('SIGKILL')
      await over
    })
    const says = (words: string) => expect.poll(() => log).toContain(words)
    return { worker, over, says }
  }
  return { environment, one, other, startWorker }
}

test('a machine without the shared folder is refused before it takes or asks for a run, and one with it finds all files', async () => {
  const { environment, one, other, startWorker } = await twoMachines()
  await startWorker(one).says('the worker has started')
  await one.deliver('a.csv', `${HEADER}${ANN}${BEN}cara,2026-03-02,fast,5.3,72.5,kg,no pulse\n`)
  await other.deliver('b.csv', HEADER + ANN)
  for (const args of [['worker'], ['run', 'clinic']])
    expect(await other.workplace.waybill(...args)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`error home-differs: the home ${other.workplace.home} `),
    })
  const { run } = summaryOf(await one.run())
  const [record] = await one.store.records('biometric')
  const third = await openClinic({
    store: one.store,
    environment: { ...environment, WAYBILL_HOME: one.workplace.home },
  })
  const shown = await third.workplace.waybill('show', run, '--json')
  const { exports } = JSON.parse(shown.out) as { exports: readonly { readonly rejects?: string }[] }
  expect(await readFile(exports[0]?.rejects ?? '', 'utf8')).toContain('cara,')
  const traced = await third.workplace.waybill('trace', String(record?.['transactionId']))
  expect(traced).toMatchObject({ code: 0, out: expect.stringContaining('a.csv') })
})

test('a worker whose folder is gone takes no run until it is back', async () => {
  const { one, startWorker } = await twoMachines()
  const { says } = startWorker(one)
  await says('the worker has started')
  const { home } = one.workplace
  const mark = join(home, 'shared-home')
  expect(await readFile(mark, 'utf8')).toMatch(/^[0-9a-f]{16}\n$/)
  await rename(mark, join(home, 'elsewhere'))
  await says('no ticket can be taken: the shared home is not mounted')
  await rename(join(home, 'elsewhere'), mark)
  await says('tickets can be taken again')
  await one.deliver('a.csv', HEADER + ANN + BEN)
  expect(summaryOf(await one.run())).toMatchObject({ state: 'finished' })
  expect(await one.stored()).toEqual(expect.arrayContaining(GOOD.slice(0, 1)))
})

test('doctor tells a machine without the shared folder, and what writes receipts or removes files is refused there', async () => {
  const { environment, one, other, startWorker } = await twoMachines()
  const doctor = async ({ workplace }: typeof one) => {
    const { out } = await workplace.waybill('doctor', '--json')
    return (JSON.parse(out) as { findings: readonly Record<string, string>[] }).findings
  }
  const lookAtHome = async (machine: typeof one) =>
    (await doctor(machine)).filter(({ check, found }) => check === 'home' && /machine/.test(found ?? ''))
  const path = await one.deliver('a.csv', HEADER + ANN)
  // Makes the ledger, and refuses the wait for a worker.
  const asking = one.workplace.start('run', 'clinic', '--json')
  const over = ended(asking)
  await expect.poll(() => one.workplace.waybill('runs', '--json').then(({ code }) => code)).toBe(0)
  await startWorker(one).says('the worker has started')
  const { run } = summaryOf(await over)
  expect(await lookAtHome(one)).toEqual([
    { check: 'home', level: 'ok', found: 'the folder that all machines share' },
  ])
  // As the place of a mount that is missing.
  await rm(path)
  expect(await doctor(one)).toContainEqual({
    check: 'job',
    level: 'warning',
    subject: 'clinic',
    found: `${dirname(path)} is empty, and the latest run has read ${path}`,
    remedy: expect.stringContaining('Mount the folder'),
  })
  const { home } = other.workplace
  expect(await lookAtHome(other)).toEqual([
    {
      check: 'home',
      level: 'problem',
      found: `the home ${home} is not the home of the other machines`,
      remedy: expect.stringContaining(`Mount the folder that they share as ${home} (WAYBILL_HOME).`),
    },
  ])
  const alone = await openClinic({ environment: { ...environment, WAYBILL_RUN_BY: 'this-process' } })
  for (const args of [
    ['resolve', run, '--accept'],
    ['resolve', run, '--give-up'],
    ['prune', '--older-than', '1d'],
    ['rerun', run],
  ])
    expect(await alone.workplace.waybill(...args), args.join(' ')).toMatchObject({
      code: 2,
      err: expect.stringContaining(`error home-differs: the home ${alone.workplace.home} `),
    })
})
