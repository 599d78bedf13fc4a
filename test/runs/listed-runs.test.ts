/** Runs as people ask for them: by state, by page and by job; one that is stopped or watched to its end. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RunLedger } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import { listRuns, type RunQuestion, showRun, stopRun, watchRun } from '../../src/runs/listed-runs.ts'
import { readSettings } from '../../src/system/settings.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NOW = 1_000
const ANN = { by: 'ann', note: null }

/** One run in each state, of jobs of their own; the newest last. */
async function install(
  onSleep: (looks: number, runs: Readonly<Record<string, RunLedger>>) => unknown = () => {},
) {
  const home = await temporaryFolder()
  await mkdir(join(home, 'jobs'))
  await writeFile(join(home, 'jobs/new.yaml'), 'job: new\nexports: { from: in, match: "*" }\nmapping: m\n')
  await writeFile(join(home, 'jobs/wrong.yaml'), 'job: [')
  const variables = {
    ...{ WAYBILL_HOME: home, WAYBILL_JOBS: join(home, 'jobs'), WAYBILL_GATEWAY_URL: 'https://gateway.test' },
    ...{ WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't', WAYBILL_LEDGER: 'postgres://db/waybill' },
  }
  const ledger = await passingLedger()
  const runs: Record<string, RunLedger> = {}
  const begin = async (id: string, job: string, startedAt: number): Promise<RunLedger> => {
    const run = await beginRun(ledger, id, { job, startedAt })
    runs[id] = run
    return run
  }
  for (const [at, state] of (['finished', 'failed', 'interrupted'] as const).entries()) {
    const run = await begin(`is-${state}`, `job-${state}`, at + 1)
    const reason = state === 'finished' ? null : state === 'failed' ? 'threshold-passed' : 'interrupted'
    await run.endRun({ state, endedAt: 10, reason })
    await ledger.leases.release(run.lease)
  }
  const stopped = await begin('is-stopped', 'job-stopped', 4)
  await ledger.leases.release(stopped.lease)
  await begin('is-under-way', 'job-under-way', 5)
  await begin('is-under-way-too', 'job-under-way-too', 6)
  const interrupt = new AbortController()
  let looks = 0
  const application = {
    ...{
      settings: readSettings(variables, home),
      now: () => NOW,
      isDead: () => false,
      interrupt: interrupt.signal,
    },
    openLedger: async () => ({ ...ledger, close: async () => {} }),
    sleep: async () => void (await onSleep(++looks, runs)),
  } as unknown as Application
  return { application, ledger, runs, begin, interrupt }
}

const ALL = ['under-way-too', 'under-way', 'stopped', 'interrupted', 'failed', 'finished']

test.each<[string, Omit<RunQuestion, 'limit'>, readonly string[]]>([
  ['without a wish', {}, ALL],
  ['under way', { state: 'under-way' }, ['under-way-too', 'under-way']],
  ['that stopped without a word', { state: 'stopped' }, ['stopped']],
  ['that were interrupted', { state: 'interrupted' }, ['interrupted']],
  ['that failed', { state: 'failed' }, ['failed']],
  ['that finished', { state: 'finished' }, ['finished']],
  ['that need a person, none of them at work', { failed: true }, ['stopped', 'interrupted', 'failed']],
  ['since an instant', { since: 5 }, ['under-way-too', 'under-way']],
  ['of a job', { job: 'job-failed' }, ['failed']],
  ['of a job without runs', { job: 'new' }, []],
  ['of a job whose file is wrong', { job: 'wrong' }, []],
  ['of a job with runs, none of them so', { job: 'job-failed', state: 'finished' }, []],
])('the list of runs %s, newest first', async (_, question, expected) => {
  const { application } = await install()
  const { runs, total, page, pages } = await listRuns(application, { limit: 9, ...question })
  expect(runs.map(({ run }) => run.replace('is-', ''))).toEqual(expected)
  expect({ total, page, pages }).toEqual({ total: expected.length, page: 1, pages: 1 })
  // Who looks sees which of them are at work.
  expect(
    runs.flatMap(({ run, activity }) => (activity === undefined ? [] : [`${run} ${activity.kind}`])),
  ).toEqual(
    expected.flatMap((name) =>
      name.startsWith('under-way')
        ? [`is-${name} under-way`]
        : name === 'stopped'
          ? ['is-stopped stopped']
          : [],
    ),
  )
})

test.each([
  [1, ALL.slice(0, 4)],
  [2, ALL.slice(4)],
  [3, []],
])('page %i of the list has its own runs', async (page, expected) => {
  const { application } = await install()
  const { runs, total, pages } = await listRuns(application, { limit: 4, page })
  expect(runs.map(({ run }) => run.replace('is-', ''))).toEqual(expected)
  expect([total, pages]).toEqual([6, 2])
})

test('the list of a job that nobody knows is refused', async () => {
  const { application } = await install()
  await expect(listRuns(application, { limit: 9, job: 'nobody' })).rejects.toMatchObject({
    code: 'job-not-found',
  })
})

test.each([
  ['its id', 'is-under-way', 'is-under-way'],
  ['its job', 'job-under-way', 'is-under-way'],
])('a run is stopped by %s, and awaited to its end', async (_, name, run) => {
  const asked: (string | undefined)[] = []
  const { application, ledger, runs } = await install(async (looks) => {
    const { lease } = runs[run] ?? expect.fail('no run')
    asked.push(await ledger.leases.stopBy(lease))
    if (looks < 2) return
    await runs[run]?.endRun({ state: 'interrupted', endedAt: NOW, reason: 'asked-to-stop' })
    await ledger.leases.release(lease)
  })
  const { summary } = await stopRun(application, name, ANN)
  expect(summary).toMatchObject({ run, state: 'interrupted', reason: 'asked-to-stop' })
  expect(await ledger.audit.read({})).toMatchObject([{ action: 'stop', run, by: 'ann', at: NOW }])
  expect(asked).toEqual(['ann', 'ann'])
})

test.each([
  ['is-finished', 'run is-finished is not under way'],
  ['job-finished', 'no run of job-finished is under way'],
])('%s cannot be stopped', async (name, message) => {
  const { application } = await install(() => expect.fail('waits'))
  await expect(stopRun(application, name, ANN)).rejects.toMatchObject({ code: 'nothing-left', message })
})

test('a run is watched from at once to its end, also if it is the latest and another begins', async () => {
  const { application, ledger, begin } = await install(async (looks, runs) => {
    const run = runs['is-under-way-too'] ?? expect.fail('no run')
    if (looks === 1) await begin('later', 'job-later', 7)
    if (looks === 2) await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
    if (looks === 2) await ledger.leases.release(run.lease)
  })
  const shown: string[] = []
  const end = await watchRun(application, undefined, ({ summary }) => void shown.push(summary.run))
  expect(end.summary).toMatchObject({ run: 'is-under-way-too', state: 'finished' })
  expect(shown).toEqual(['is-under-way-too', 'is-under-way-too'])
})

test.each([
  ['watched', watchRun],
  ['waited for', (application: Application, name: string) => stopRun(application, name, ANN)],
])('a person ends the look at a run that is %s: the run itself goes on', async (_, look) => {
  const { application, interrupt, ledger } = await install(() =>
    interrupt.abort(new WaybillError('interrupted', 'by hand')),
  )
  await expect(look(application, 'is-under-way')).rejects.toMatchObject({
    code: 'interrupted',
    message: 'run is-under-way is no longer watched; it continues',
  })
  expect(await ledger.runs.find('is-under-way')).toMatchObject({ state: 'running' })
})

test('a run is shown with the gateway that settings name for its job now, if that is another', async () => {
  const { application, begin, ledger } = await install()
  await begin('of-new', 'new', 7)
  const { summary } = await showRun(application)
  expect(summary).toMatchObject({ run: 'of-new', gateway: 'gateway', settingsName: 'https://gateway.test' })
  expect((await showRun(application, 'is-stopped')).summary.activity).toMatchObject({ kind: 'stopped' })
  const same = await beginRun(ledger, 'same', { job: 'new', gateway: 'https://gateway.test', startedAt: 8 })
  await ledger.leases.release(same.lease)
  expect((await showRun(application)).summary).not.toHaveProperty('settingsName')
})

const AT = { row: 7, line: 8, byteOffset: 1, kind: 'biometric', rule: 'weight', message: 'm', batchId: null }
const LEFT = { ...AT, stage: 'transform', field: null }

test('a run is shown with what came of its exports since, and with the notices that nobody got', async () => {
  const { application, begin, ledger } = await install()
  const read = async (
    id: string,
    startedAt: number,
    names: readonly string[],
    codes: readonly string[],
    outcome: 'rejected' | 'in-doubt' = 'rejected',
    delivers: readonly number[] = [],
  ): Promise<number> => {
    let exportRow = 0
    const run = await begin(id, 'nightly', startedAt)
    for (const [at, name] of names.entries()) {
      const start = { ordinal: at, name, exportId: `${id}${name}`, sha256: `${id}${name}` }
      exportRow = await beginExport(run, start)
      await openChunk(run, exportRow, 1)
      const exceptions = codes.map((code, row) => ({
        ...LEFT,
        outcome,
        row,
        content: `${row}`.repeat(16),
        code,
      }))
      const counts = noCounts()
      Object.assign(counts.rows, { read: 1, mapped: 1 })
      const left = outcome === 'rejected' ? 'rejected' : 'inDoubt'
      Object.assign(counts.records.biometric, { made: codes.length, [left]: codes.length })
      const decisions = delivers.map((exception) => ({ exception, event: 'deliver' as const }))
      const ruling = { decisions, run: id, released: [] }
      await settleChunk(run, exportRow, 1, { counts: JSON.stringify(counts), exceptions, ruling })
      await run.endExport(exportRow, 'finished')
    }
    await run.endRun({ state: 'finished', endedAt: startedAt, reason: null })
    await ledger.leases.release(run.lease)
    return exportRow
  }
  await read('first', 10, ['a.csv'], ['unit-unknown', 'date-invalid', 'unit-unknown'])
  await read('doubtful', 11, ['b.csv'], ['no-answer'], 'in-doubt')
  const settled = await read('settled', 9, ['c.csv'], ['unit-unknown'])
  const [reject] = await ledger.chunks.exceptions({ exportRow: settled, chunk: 1 })
  await read('retry', 9, ['d.csv'], [], 'rejected', [reject?.id ?? 0])
  await read('second', 12, ['a.csv', 'b.csv', 'c.csv'], [])
  const notice = { kind: 'run-ended', target: 't', address: 'webhook hooks.test', notice: '{}' }
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  await ledger.notifications.add(jobId, [{ messageId: 'm', subject: 'first ended', ...notice }], 13)
  const untold = [{ target: 'webhook hooks.test', state: 'pending' }]
  expect((await showRun(application, 'first')).summary).toMatchObject({
    ...{ anew: [{ export: 'a.csv', run: 'second' }], untold },
  })
  // Nothing of b.csv was rejected, and what was of c.csv has been delivered since.
  for (const run of ['doubtful', 'settled']) {
    const { anew, untold: none } = (await showRun(application, run)).summary
    expect([anew, none]).toEqual([undefined, undefined])
  }
  const { runs } = await listRuns(application, { limit: 3, job: 'nightly' })
  expect(runs.map(({ run, mostFrequent }) => [run, mostFrequent])).toEqual([
    ['second', undefined],
    ['doubtful', { code: 'no-answer', count: 1 }],
    ['first', { code: 'unit-unknown', count: 2 }],
  ])
})
