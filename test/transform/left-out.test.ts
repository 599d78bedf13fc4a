import { expect, it } from 'vitest'
import {
  addCounts,
  countChunk,
  leftOutCounts,
  noCounts,
  OTHER_CODES,
  readCounts,
} from '../../src/model/balance.ts'
import type { SkippedRow } from '../../src/model/entry.ts'

const skipped = (...leftOut: string[]) => {
  const outcome: SkippedRow = {
    ...{ outcome: 'skipped', reason: 'nothing-kept', row: 1, line: 2, byteOffset: 0 },
    ...{ leftOut, warnings: [] },
  }
  return { outcome }
}

it('counts each element that a mapping leaves out, by why', () => {
  const counts = countChunk([skipped('code A', 'code B'), skipped('code A')], [], 0)
  expect(leftOutCounts(counts)).toEqual([
    { code: 'code A', count: 2 },
    { code: 'code B', count: 1 },
  ])
})

it('does not grow with a column of free text, and loses no count', () => {
  const total = noCounts()
  for (let at = 0; at < 1_000; at++) addCounts(total, countChunk([skipped(`code ${at}`)], [], 0))
  expect(total.leftOut[OTHER_CODES]).toBe(800)
  expect(Object.values(total.leftOut).reduce((sum, count) => sum + count, 0)).toBe(1_000)
})

it('reads counts of an earlier version, which knows nothing of it', () => {
  const { leftOut: _, ...earlier } = noCounts()
  expect(readCounts(JSON.stringify(earlier))).toEqual(noCounts())
})
