/** What the ledger remembers of what has arrived, and of what was judged. */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { DeadlineRecord, DeliveredFile, Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openLedger(':memory:')
})

let runs = 0
/** A run that begins with these files. */
async function run(
  startedAt: number,
  files: readonly DeliveredFile[],
  gateway = 'gateway',
  mapping = 'm',
): Promise<void> {
  const jobId = await ledger.jobs.id('job', gateway)
  const id = `run-${++runs}`
  const asked = { jobId, runId: id, owner: 'here:1', now: startedAt, ttlMs: 1 }
  const answer = await ledger.leases.acquire(asked, () => true)
  if (!answer.ok) throw new Error('held')
  const writer = await ledger.runs.start(answer.lease, {
    id,
    jobId,
    startedAt,
    rejectsPath: 'r',
    receiptsPath: 'r',
  })
  for (const [at, delivered] of files.entries())
    await writer.addExport({
      ...{
        ordinal: at + 1,
        exportId: 'e',
        name: `${delivered.name}!x.csv`,
        path: 'p',
        sha256: 's',
        bytes: 1,
        delivered,
      },
      mapping: { name: mapping, digest: mapping, content: '{}' },
    })
}

const file = (name: string, bytes: number, modifiedAt: number): DeliveredFile => ({
  ...{ address: `/in/${name}`, name, bytes, modifiedAt },
})
const taken = async (mapping = 'm', limit = 10) =>
  (await ledger.expectations.taken('job', mapping, limit)).map(
    ({ name, bytes, modified_at, taken_at }) => `${name} ${bytes} ${modified_at} ${taken_at}`,
  )

test('what runs have begun with is kept once for each version, with the first of them, whatever the gateway', async () => {
  onTestFinished(() => ledger.close())
  await run(100, [file('a', 1, 10)])
  // Two members of one archive are one delivery.
  await run(200, [file('a', 1, 10), file('b', 2, 20), file('b', 2, 20)], 'another')
  await run(300, [file('a', 1, 30), file('a', 9, 31)])
  await run(400, [file('c', 1, 1)], 'gateway', 'n')
  expect(await taken()).toEqual(['a 9 31 300', 'a 1 30 300', 'b 2 20 200', 'a 1 10 100'])
  expect(await taken('m', 1)).toHaveLength(1)
  expect(await taken('n')).toEqual(['c 1 1 400'])
})

test('judgements are kept by what they are of, the newest three', async () => {
  onTestFinished(() => ledger.close())
  const key = { job: 'job', mapping: 'm', source: '/in/*.csv', timetable: '30 1 * * * Etc/UTC' }
  const record = (due: number, fields: Partial<DeadlineRecord> = {}): DeadlineRecord => ({
    ...{ ...key, due, judged_at: due, state: 'missing', expected: 1, arrived: 0, small: 0, known: '[]' },
    ...fields,
  })
  // Later than all of the timetable that was changed.
  await ledger.expectations.judge(record(99, { timetable: '0 2 * * * Etc/UTC' }))
  for (let due = 1; due <= 12; due++) await ledger.expectations.judge(record(due))
  await ledger.expectations.judge(
    record(12, { state: 'late', arrived: 1, known: '["a 1 1"]', judged_at: 20 }),
  )
  // Of two looks at once the one that was begun earlier may end last.
  await ledger.expectations.judge(record(12, { judged_at: 19 }))
  const kept = await ledger.expectations.judged(key)
  expect(kept.map(({ due }) => due)).toEqual([12, 11, 10])
  expect(kept[0]).toEqual(record(12, { state: 'late', arrived: 1, known: '["a 1 1"]', judged_at: 20 }))
  expect(await ledger.expectations.judged({ ...key, timetable: '0 2 * * * Etc/UTC' })).toHaveLength(1)
  expect(await ledger.expectations.judged({ ...key, mapping: 'n' })).toEqual([])
})
