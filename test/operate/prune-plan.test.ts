import { expect, test } from 'vitest'
import type { PrunableRun } from '../../src/ledger/concerns.ts'
import { planPrune } from '../../src/operate/prune.ts'

const run = (id: string, fields: Partial<PrunableRun> = {}): PrunableRun => ({
  id,
  job: 'job',
  state: 'finished',
  startedAt: 100,
  endedAt: 200,
  prunedAt: null,
  origin: null,
  openDoubts: 0,
  backfill: null,
  backfill_folder: null,
  rejectsPath: `rejects/${id}`,
  receiptsPath: `receipts/${id}`,
  ...fields,
})

const planned = (runs: readonly PrunableRun[], before = 1_000) => {
  const { prune, keep } = planPrune(runs, before)
  return [prune.map(({ id }) => id), keep.map(({ run: id, because, by }) => [id, because, by])]
}

test('what ended before, and not what ended at the instant or later', () => {
  const runs = [run('c', { endedAt: 1_001 }), run('b', { endedAt: 1_000 }), run('a', { endedAt: 999 })]
  expect(planned(runs)).toEqual([['a'], []])
})

test('a run that failed goes too; one that is pruned is done with', () => {
  expect(planned([run('b', { state: 'failed' }), run('a', { prunedAt: 500 })])).toEqual([['b'], []])
})

test.each(['running', 'interrupted'] as const)('what is %s stays, however old', (state) => {
  expect(planned([run('a', { state })])).toEqual([[], [['a', 'unfinished', undefined]]])
  expect(planned([run('a', { state, endedAt: null })])).toEqual([[], [['a', 'unfinished', undefined]]])
})

test('what has records in doubt stays', () => {
  expect(planned([run('a', { openDoubts: 1 })])).toEqual([[], [['a', 'in-doubt', undefined]]])
})

test('what a younger run has taken up stays, and what that one took up; with it they go, newest first', () => {
  const chain = (endedAt: number) => [run('c', { endedAt, origin: 'b' }), run('b', { origin: 'a' }), run('a')]
  const kept = [
    ['b', 'referred-to', 'c'],
    ['a', 'referred-to', 'b'],
  ]
  expect(planned(chain(5_000))).toEqual([[], kept])
  expect(planned(chain(200))).toEqual([['c', 'b', 'a'], []])
})

test('of an unfinished run the command that goes on with it is told: a backfill is no run of the job', () => {
  const ofBackfill = { backfill: '2026-01-01/2026-03-31/rate=5', backfill_folder: '/archive/acme' }
  const { keep } = planPrune(
    [run('b', { state: 'interrupted', ...ofBackfill }), run('a', { state: 'interrupted' })],
    1_000,
  )
  expect(keep.map(({ command }) => command)).toEqual([
    'waybill backfill job --from 2026-01-01 --to 2026-03-31 --in /archive/acme --rate 5',
    'waybill run job',
  ])
})
