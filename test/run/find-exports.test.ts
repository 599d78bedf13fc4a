/** Which exports a run takes, and when: by the clock of this machine, whatever another one has written as a file's time. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { mkdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readJob } from '../../src/definitions/definition-files.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { lookInRange } from '../../src/run/exports-in-range.ts'
import {
  fileKey,
  findExports,
  noneFound,
  type SizedFile,
  smallOfRun,
  smallOnes,
} from '../../src/run/find-exports.ts'
import { beginExport, beginRun, passingLedger } from '../ledger/begun-run.ts'
import { createMovedClock } from '../schedule/moved-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NOW = Date.parse('2026-03-02T06:30Z')
const DAY = 86_400_000
const STABLE = 60_000

async function place(exports: string) {
  const folder = await temporaryFolder()
  const inbox = join(folder, 'inbox')
  const jobs = join(folder, 'jobs')
  await mkdir(inbox)
  await mkdir(jobs)
  writeFileSync(join(jobs, 'nightly.yaml'), `job: nightly\nmapping: m\nexports: ${exports}\n`)
  const job = await readJob({ jobs, mappings: jobs }, 'nightly')
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const arrival = createArrival(join(folder, 'spool'), {})
  const clock = createMovedClock(NOW)
  const waits: number[] = []
  /** What is found, and what waits then. @param meanwhile happens once the run waits */
  const find = async (meanwhile: () => void = () => {}) => {
    waits.splice(0)
    const { found, waiting } = await findExports(arrival, job, [], clock.now, {
      ledger,
      async wait(ms) {
        waits.push(ms)
        meanwhile()
        clock.pass(ms)
      },
    })
    return { found: found.map(({ delivery }) => delivery.name), waiting }
  }
  const deliver = async (name: string, at: number): Promise<string> => {
    const file = join(inbox, name)
    writeFileSync(file, 'id,a1c\nann,5.1\n')
    await utimes(file, at / 1000, at / 1000)
    return file
  }
  return { job, ledger, arrival, clock, waits, find, deliver }
}

it('a file dated in the future is taken as any other, where the job has no stableFor', async () => {
  const { find, deliver, waits } = await place('{ from: ../inbox, match: "*.csv" }')
  await deliver('a.csv', NOW + DAY)
  await deliver('b.csv', NOW - DAY)
  expect(await find()).toEqual({ found: ['a.csv', 'b.csv'], waiting: [] })
  expect(waits).toEqual([])
})

it('with stableFor a run waits once, and takes what has stayed the same by our clock, whatever date it has', async () => {
  const { find, deliver, waits } = await place(
    '{ from: ../inbox, match: "*.csv", complete: { stableFor: 60s } }',
  )
  await deliver('ahead.csv', NOW + DAY)
  await deliver('now.csv', NOW)
  // The clock of the server is slow: by its date it has been at rest for an hour.
  const growing = await deliver('growing.csv', NOW - 3_600_000)
  const finding = find(() => {
    appendFileSync(growing, 'ben,5.2\n')
    writeFileSync(join(growing, '..', 'late.csv'), 'id,a1c\n')
  })
  expect(await finding).toEqual({
    found: ['ahead.csv', 'now.csv'],
    waiting: ['growing.csv: unchanged for less than 60 s', 'late.csv: unchanged for less than 60 s'],
  })
  expect(waits).toEqual([STABLE])
})

it('a run does not wait for what an earlier one has taken as it is, nor for what lacks its marker', async () => {
  const { find, deliver, ledger, arrival, clock, job, waits } = await place(
    '{ from: ../inbox, match: "*.csv", complete: { stableFor: 60s, marker: "{name}.done" } }',
  )
  await deliver('a.csv', NOW)
  expect((await find()).waiting).toEqual([
    'a.csv: unchanged for less than 60 s, marker a.csv.done is missing',
  ])
  await deliver('a.csv.done', NOW)
  expect((await find()).found).toEqual(['a.csv'])
  expect(waits).toEqual([STABLE])

  const { found } = await findExports(arrival, job, [], () => NOW + STABLE)
  const [{ delivery, source }] = found as [(typeof found)[number]]
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const asked = { jobId, runId: 'r', owner: 'here:1', now: clock.now(), ttlMs: STABLE, givesWay: false }
  const answer = await ledger.leases.acquire(asked, () => false)
  if (!answer.ok) return expect.fail('held')
  const runLedger = await ledger.runs.start(answer.lease, {
    ...{ id: 'r', jobId, startedAt: NOW, rejectsPath: 'r', receiptsPath: 'r' },
  })
  const { name, bytes, modifiedAt } = delivery
  const address = source.address(name)
  await runLedger.addExport({
    ...{ ordinal: 1, name, path: address, bytes, exportId: 'e', sha256: 's' },
    mapping: { name: 'm', digest: 'd', content: '{}' },
    delivered: { address, name, bytes, modifiedAt },
  })
  expect((await find()).found).toEqual(['a.csv'])
  expect(waits).toEqual([])
})

it('waits once for the longest rest of its sources', async () => {
  const rests = ['60s', '10s'].map(
    (rest, at) => `{ from: ../inbox, match: "${'ab'[at]}.csv", complete: { stableFor: ${rest} } }`,
  )
  const { find, deliver, waits } = await place(`[${rests.join(', ')}]`)
  for (const name of ['a.csv', 'b.csv']) await deliver(name, NOW)
  expect((await find()).found).toEqual(['a.csv', 'b.csv'])
  expect(waits).toEqual([60_000])
})

it('a joined file dated in the future is joined without a wait', async () => {
  const { arrival, job, deliver } = await place(
    '{ from: ../inbox, match: "a.csv", complete: { stableFor: 60s } }',
  )
  await deliver('a.csv', NOW - DAY)
  // The clock of the server is somewhat fast: the last file is being written.
  const dates = { 'ahead.csv': NOW + DAY, 'now.csv': NOW, 'fast.csv': NOW + STABLE / 2 }
  for (const [name, at] of Object.entries(dates)) await deliver(name, at)
  const { found } = await findExports(arrival, job, [], () => NOW)
  const beside = await Promise.all(Object.keys(dates).map((name) => found[0]?.neighbours(name)))
  expect(beside.map((files) => files?.length)).toEqual([1, 0, 0])
})

it('a backfill takes a file dated in the future, and leaves one that may still be written', async () => {
  const { arrival, job, deliver } = await place(
    '{ from: ../inbox, match: "{date:yyyyMMdd}*.csv", complete: { stableFor: 60s } }',
  )
  await deliver('20260301.csv', NOW + DAY)
  await deliver('20260301_late.csv', NOW)
  await deliver('20260301_fast.csv', NOW + STABLE / 2)
  const range = { from: '2026-03-01', to: '2026-03-01' }
  const { found } = await lookInRange({ range, sources: job.sources, arrival, now: () => NOW })
  expect(found.map((one) => one.found.delivery.name)).toEqual(['20260301.csv'])
})

it('where nothing is complete, the error lists what waits, and asks nobody for what is there', async () => {
  const { job } = await place('{ from: ../inbox, match: "*.csv" }')
  expect(noneFound(job, { waiting: ['a.csv: marker a.csv.done is missing'], misnamed: [] })).toMatchObject({
    code: 'exports-none',
    message: expect.stringContaining('Waiting: a.csv: marker a.csv.done is missing'),
    remedy: expect.stringContaining('next run'),
  })
  expect(noneFound(job, { waiting: [], misnamed: [] }).remedy).toContain('ask the vendor')
})

it('where no name fits, the error names the last files of other names', async () => {
  const { job, arrival, deliver } = await place('{ from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv" }')
  for (const name of ['a.csv', 'clinic-2026-03-01.csv', 'clinic-2026-03-02.csv', 'clinic-2026-03-03.csv'])
    await deliver(name, NOW)
  const { found, ...others } = await findExports(arrival, job, [], () => NOW)
  expect(found).toEqual([])
  expect(noneFound(job, others).findings.map(({ message }) => message)).toEqual([
    '4 files of another name: clinic-2026-03-01.csv, clinic-2026-03-02.csv, clinic-2026-03-03.csv',
  ])
})

const sized = (bytes: number, more: Partial<SizedFile> = {}): SizedFile => ({
  ...{ name: 'new.csv', bytes, modifiedAt: 1_000, ...more },
})
/** Of these sizes, the oldest first. */
const earlier = (...sizes: number[]): SizedFile[] =>
  sizes.map((bytes, at) => ({ name: `${at}.csv`, bytes, modifiedAt: at }))

it.each<[string, number, SizedFile[], number | undefined]>([
  ['half of what is usual', 50, earlier(100, 100, 100), undefined],
  ['a byte less', 49, earlier(100, 100, 100), 100],
  ['little, where two came before', 1, earlier(100, 100), undefined],
  ['little against the middle one of three', 49, earlier(1, 100, 9_999), 100],
  ['little against the last eight alone', 49, earlier(...Array(9).fill(1), ...Array(8).fill(100)), 100],
  [
    'enough against the last eight alone',
    50,
    earlier(...Array(9).fill(999), ...Array(8).fill(100)),
    undefined,
  ],
])('an export of %s is told as small, or not', (_what, bytes, before, usual) => {
  const shuffled = before.toReversed()
  expect(smallOnes(0.5, [sized(bytes)], shuffled)).toEqual(
    usual === undefined ? [] : [{ ...sized(bytes), usual }],
  )
})

it.each<[string, SizedFile, 'small' | 'told' | 'no']>([
  ['no run has begun with', sized(1), 'small'],
  ['people were told of', sized(2), 'told'],
  ['an earlier run has begun with', sized(3, { name: '3.csv', modifiedAt: 3 }), 'no'],
  ['is a new version of one that was taken', sized(3, { name: '3.csv', modifiedAt: 4 }), 'small'],
])('a small export that %s', async (_what, delivery, expected) => {
  const ledger = await passingLedger()
  const key = { job: 'nightly', mapping: 'm', source: 'in/*.csv', timetable: 't' }
  const address = (name: string): string => `in/${name}`
  const take = async (id: string, startedAt: number, files: readonly SizedFile[]): Promise<void> => {
    const run = await beginRun(ledger, id, { startedAt })
    for (const [at, { name, bytes, modifiedAt }] of files.entries()) {
      const delivered = { address: address(name), name, bytes, modifiedAt }
      await beginExport(run, { ordinal: at + 1, name, path: address(name), bytes, delivered })
    }
  }
  await take('run-1', 100, [...earlier(100, 100, 100), { name: '3.csv', bytes: 3, modifiedAt: 3 }])
  // What the same run has taken before it says nothing of what is usual.
  const tiny = Array.from({ length: 9 }, (_, at) => ({ name: `t${at}.csv`, bytes: 1, modifiedAt: 10 + at }))
  await take('run-2', 200, tiny)
  for (const [due, known] of [
    [1, [fileKey(sized(2))]],
    [2, []],
  ] as const)
    await ledger.expectations.judge({
      ...{ ...key, due, judged_at: due, state: 'arrived', expected: 1, arrived: 1, small: 1 },
      known: JSON.stringify(known),
    })
  const found = await smallOfRun(ledger, { delivery, source: { address }, sized: { share: 0.5, key } }, 200)
  expect(found === undefined ? 'no' : found.isReported ? 'told' : 'small').toBe(expected)
  if (found !== undefined) expect(found.small).toMatchObject({ ...delivery, usual: 100, source: 'in/*.csv' })
})

const TWO_SOURCES =
  '[{ from: ../inbox, match: "a-*.csv", mapping: first }, { from: ../inbox, match: "b-*.csv", mapping: second }]'

it.each<[string, string, string, string | undefined]>([
  ['one source, whose pattern fits', '{ from: ../inbox, match: "a-*.csv" }', 'a-1.csv', 'm'],
  ['one source, whose pattern does not fit', '{ from: ../inbox, match: "a-*.csv" }', 'other.txt', 'm'],
  ['two sources, the first of which fits', TWO_SOURCES, 'a-1.csv', 'first'],
  ['two sources, the second of which fits', TWO_SOURCES, 'b-1.csv', 'second'],
  ['two sources, of which none fits', TWO_SOURCES, 'other.csv', undefined],
])('a named file of a job with %s', async (_, exports, name, mapping) => {
  const { job, arrival, clock, deliver } = await place(exports)
  const finding = findExports(arrival, job, [await deliver(name, NOW)], clock.now)
  if (mapping === undefined) return expect(finding).rejects.toMatchObject({ code: 'usage-wrong' })
  const { found } = await finding
  expect(found.map((one) => [one.delivery.name, one.mapping])).toEqual([[name, mapping]])
})
