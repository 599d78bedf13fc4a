/** The digest of a schedule: jobs that it counts as failed, and its targets, on a real ledger and a real home. */
import { expect, test } from 'vitest'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { noteRefusedStart } from '../../src/needs/refused-starts.ts'
import { createDigestWatch } from '../../src/runs/digests.ts'
import type { Teller } from '../../src/runs/teller.ts'
import { readSettings } from '../../src/system/settings.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { fault } from '../ledger/export-fault.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const SINCE = Date.parse('2026-03-01T07:00:00Z')
const DUE = Date.parse('2026-03-02T07:00:00Z')
const NOW = DUE + 60_000

type Digest = Parameters<Teller['tell']>

/** A home with one job that has a digest at seven, and more of the same kind. @param timeOf another time of a job, or none */
async function scene(
  names: readonly string[] = ['nightly'],
  target = 'https://hook.example/',
  timeOf: (name: string) => string | undefined = () => '07:00',
) {
  const home = await temporaryFolder()
  const ledger = await passingLedger()
  const settings = { ...readSettings({ WAYBILL_JOBS: home }, home), home }
  const told: Digest[] = []
  let delivered = 0
  let isAway = false
  const teller: Teller = {
    async tell(...digest) {
      if (isAway) throw new Error('the ledger is busy')
      told.push(digest)
    },
    async deliver() {
      delivered++
    },
  }
  const context = {
    ...{ settings, now: () => NOW, isDead: () => false },
    openLedger: () => Promise.reject(new Error('it is open')),
  } as unknown as Parameters<typeof createDigestWatch>[0]
  const jobOf = (name: string) => ({
    file: `${home}/${name}.yaml`,
    sources: [],
    definition: JobDefinition.parse({
      ...{ job: name, exports: { from: 'in', match: '*.csv' }, mapping: 'm' },
      schedule: { cron: '0 2 * * *', zone: 'Etc/UTC', digest: timeOf(name) },
      notify: { webhook: target },
    }),
  })
  const jobs = names.map((name) => ({ name, job: jobOf(name) })) as unknown as Parameters<
    ReturnType<typeof createDigestWatch>['listed']
  >[0]
  const watch = createDigestWatch(context, ledger, teller, () => 'gateway')
  watch.listed(jobs)
  const looks = () => jobs.flatMap(({ job }) => (job && watch.planLook(job).look) ?? [])
  return {
    ...{ home, ledger, told, looks },
    delivered: () => delivered,
    away: (away: boolean) => {
      isAway = away
    },
    async failed(): Promise<unknown> {
      for (const look of looks()) await look()
      return told[0]?.[0].data['failed']
    },
  }
}

async function ended(
  ledger: Ledger,
  startedAt: number,
  state: 'finished' | 'failed',
  rejected = 0,
): Promise<void> {
  const run = await beginRun(ledger, 'run-1', { startedAt })
  if (rejected > 0) {
    const row = await beginExport(run)
    await openChunk(run, row, 0)
    const counts = { ...noCounts(), rows: { ...noCounts().rows, read: rejected, rejected } }
    await settleChunk(run, row, 0, { counts: JSON.stringify(counts) })
    await run.endExport(row, 'finished')
  }
  if (state === 'failed') {
    const row = await beginExport(run)
    await run.endExport(row, 'failed', fault('export-empty'))
  }
  await run.endRun({ state, endedAt: startedAt + 1, reason: null })
}

async function fired(ledger: Ledger, due: number, exit: number): Promise<void> {
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const timetable = { cron: '0 2 * * *', zone: 'Etc/UTC', seenUntil: due }
  await ledger.fires.comeDue(jobId, undefined, timetable, [due])
  const [fire] = await ledger.fires.open(jobId)
  if (fire === undefined) throw new Error('no fire')
  const running = await ledger.fires.move(fire, 'begin', { owner: 'here:1', begun_at: due })
  if (running === undefined) throw new Error('it does not begin')
  await ledger.fires.move(running, 'end', { ended_at: due + 1, exit })
}

const refusal = new WaybillError('mapping-invalid', 'line 3 is wrong', { remedy: 'Correct it.' })

test.each<[string, boolean, (ledger: Ledger, home: string) => unknown]>([
  ['nothing has happened', false, () => undefined],
  ['a run ended well', false, (ledger) => ended(ledger, SINCE, 'finished')],
  ['a run ended with a rejected row', true, (ledger) => ended(ledger, SINCE, 'finished', 1)],
  ['a run failed', true, (ledger) => ended(ledger, SINCE, 'failed')],
  ['a run failed before the digest before', false, (ledger) => ended(ledger, SINCE - 1, 'failed')],
  ['a run is under way', false, (ledger) => beginRun(ledger, 'run-1', { startedAt: SINCE })],
  ['a fire ended well', false, (ledger) => fired(ledger, SINCE, 0)],
  ['a fire failed', true, (ledger) => fired(ledger, SINCE, 2)],
  ['a fire failed before the digest before', false, (ledger) => fired(ledger, SINCE - 1, 2)],
  ['a start was refused', true, (_, home) => noteRefusedStart(home, 'nightly', refusal, SINCE)],
  [
    'a start was refused before the digest before',
    false,
    (_, home) => noteRefusedStart(home, 'nightly', refusal, SINCE - 1),
  ],
])('since the digest before, %s: the job failed is %s', async (_, isFailed, act) => {
  const { home, ledger, failed } = await scene()
  await act(ledger, home)
  expect(await failed()).toEqual(isFailed ? ['nightly'] : [])
})

test('a target that several jobs name gets one digest; the looks of the other jobs send none', async () => {
  const { told, looks, delivered } = await scene(['nightly', 'weekly'])
  const all = looks()
  expect(all).toHaveLength(2)
  for (const look of all) await look()
  expect(told.map(([{ subject }, targets]) => [subject, targets.length])).toEqual([
    ['2026-03-02T07:00:00.000Z', 1],
    ['2026-03-02T07:00:00.000Z', 0],
  ])
  expect([delivered(), looks()]).toEqual([1, []])
})

test('jobs without a digest, or with one at another time, get none and keep none from the others', async () => {
  const times: Readonly<Record<string, string>> = { early: '06:30', nightly: '07:00' }
  const { told, looks } = await scene(['none', 'early', 'nightly'], undefined, (name) => times[name])
  for (const look of looks()) await look()
  expect(told.map(([{ job, subject }]) => [job, subject])).toEqual([
    ['early', '2026-03-02T06:30:00.000Z'],
    ['nightly', '2026-03-02T07:00:00.000Z'],
  ])
})

test('a digest that could not be sent is due at the next look', async () => {
  const { told, looks, away } = await scene()
  away(true)
  await expect(looks()[0]?.()).rejects.toThrow('busy')
  away(false)
  await looks()[0]?.()
  expect([told.length, looks()]).toEqual([1, []])
})
