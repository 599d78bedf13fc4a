/** Notes of a home about refused starts and incomplete exports, over series of starts. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import { forgetRefusedStart, notingRefusedStart, readRefusedStarts } from '../../src/needs/refused-starts.ts'
import { noteWaitingExports, readWaitingExports } from '../../src/needs/waiting-exports.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** A start: good, refused by one of these errors, or not begun for a reason that refuses nothing. */
const STARTS = ['good', 'a mapping', 'another mapping', 'a job', 'held'] as const
type Start = (typeof STARTS)[number]

const REFUSALS = {
  'a mapping': new WaybillError('mapping-invalid', 'line 3 is wrong', { remedy: 'Correct it.' }),
  'another mapping': new WaybillError('mapping-invalid', 'line 4 is wrong', { remedy: 'Correct it.' }),
  'a job': new WaybillError('job-invalid', 'line 3 is wrong', { remedy: 'Correct it.' }),
  held: new WaybillError('job-held', 'another process runs it', { remedy: 'Wait.' }),
} as const satisfies Record<Exclude<Start, 'good'>, WaybillError>

/** The unbroken series of refusals by one error at the end of the starts, without those that refuse nothing. */
function lastSeries(starts: readonly Start[]): readonly number[] {
  const counted = starts.flatMap((start, at) => (start === 'held' ? [] : [{ start, at }]))
  const last = counted.at(-1)?.start
  if (last === undefined || last === 'good') return []
  const other = counted.findLastIndex(({ start }) => start !== last)
  return counted.slice(other + 1).map(({ at }) => at)
}

test('a refused start is noted since the first and with the number of its unbroken series; a good one ends it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...STARTS), { maxLength: 6 }), async (starts) => {
      const home = await temporaryFolder()
      for (const [at, start] of starts.entries())
        await notingRefusedStart({ home, now: () => at }, 'jobs/nightly.yaml', async () => {
          if (start !== 'good') throw REFUSALS[start]
        }).catch(() => {})
      const series = lastSeries(starts)
      expect(readRefusedStarts(home).map(({ job, since, at, times }) => [job, since, at, times])).toEqual(
        series.length === 0 ? [] : [['nightly', series[0], series.at(-1), series.length]],
      )
      expect(forgetRefusedStart(home, 'nightly')).toBe(series.length > 0)
      expect(readRefusedStarts(home)).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('a start that only forgets notes no refusal', async () => {
  const home = await temporaryFolder()
  const refuse = notingRefusedStart({ home, now: () => 1, notes: false }, 'nightly', async () => {
    throw REFUSALS['a job']
  })
  await expect(refuse).rejects.toThrow('line 3')
  expect(readRefusedStarts(home)).toEqual([])
})

const EXPORTS = ['a.csv: its marker is missing', 'b.csv: its marker is missing', 'b.csv: it is growing']

test('an incomplete export waits since the first look of its unbroken series, each by itself', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.subarray(EXPORTS), { maxLength: 6 }), async (looks) => {
      const home = await temporaryFolder()
      for (const [at, found] of looks.entries()) noteWaitingExports(home, 'nightly', found, at)
      const last = looks.at(-1) ?? []
      const sinceOf = (words: string): number => looks.findLastIndex((found) => !found.includes(words)) + 1
      expect(readWaitingExports(home)).toEqual(
        last.length === 0
          ? []
          : [{ job: 'nightly', waiting: last.map((words) => ({ words, since: sinceOf(words) })) }],
      )
    }),
    { numRuns: 60 },
  )
})
