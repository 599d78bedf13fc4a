import { expect, test } from 'vitest'
import { type BackfillRoundPlan, isBackfillRound, planBackfillRound } from '../../drill/backfill-plan.ts'
import { FAULT_KINDS } from '../../drill/draw-faults.ts'
import { KILL_POINTS } from '../../drill/kill-points.ts'
import { drill } from '../../drill/main.ts'
import { planRound, type RoundPlan } from '../../drill/round-plan.ts'
import type { Ending } from '../../drill/scene.ts'
import { Fault, FaultPlan } from '../../packages/reference-gateway/src/fault-plan.ts'

test('rounds of kills and faults, one with a backfill that gives way, one with jobs of other kinds: nothing lost, nothing doubled, nothing altered, all accounted for', async () => {
  const said: string[] = []
  const { rounds, failed, totals, backfills, kinds } = await drill({ round: '1,2,3,20', seed: 85 }, (text) =>
    said.push(text),
  )
  expect(said.join('')).toBe('')
  expect({ rounds, failed: failed.length }).toEqual({ rounds: 4, failed: 0 })
  expect(totals).toMatchObject({ lost: 0, doubled: 0, altered: 0 })
  expect(totals.expected).toBeGreaterThan(220)
  expect(totals.processes).toBeGreaterThan(12)
  expect(backfills.rounds).toBe(1)
  expect(backfills.gaveWay).toBeGreaterThan(0)
  expect(kinds.get('other-jobs')).toBe(1)
})

test('500 rounds of a seed plan every kind of fault and every named point, with valid fault plans', () => {
  const plans = Array.from({ length: 500 }, (_, at) => at + 1).map((round) =>
    isBackfillRound(round) ? planBackfillRound(1, round) : planRound(1, round),
  )
  const kinds = new Set(plans.flatMap(({ faults }) => faults.map(({ kind }) => kind)))
  const points = new Set(
    plans.flatMap(endingsOf).map((one) => (one.by === 'point' ? one.kill.point : one.by)),
  )
  expect([...kinds].sort()).toEqual([...FAULT_KINDS].sort())
  expect([...points].sort()).toEqual([...KILL_POINTS, 'instant', 'request'].sort())
  for (const { faults } of plans) {
    if (faults.length > 0) FaultPlan.parse({ faults: faults.map(({ fault }) => fault) })
  }
  expect(planRound(1, 17)).toEqual(planRound(1, 17))
  expect(planBackfillRound(1, 19)).toEqual(planBackfillRound(1, 19))
})

test('no read is given up where no fault excuses the doubt: not after six tries, nor at the end of a short patience', () => {
  const plans = Array.from({ length: 500 }, (_, round) => planRound(1, round))
  for (const { patience, faults } of plans)
    if (patience !== undefined) expect(faults.some(({ harm }) => harm.hidesProfiles)).toBe(true)
  const often = plans.flatMap(({ faults }) =>
    faults
      .filter(({ harm }) => !harm.hidesProfiles)
      .map(({ fault }) => Fault.parse(fault))
      .filter(({ on }) => on.some((name) => /^(read|list)/.test(name)))
      // A read has no body: one of it is one person's.
      .map(({ when: { times, first, perBody } }) => perBody ?? times ?? first ?? 1),
  )
  expect(often.length).toBeGreaterThan(20)
  expect(Math.max(...often)).toBe(5)
})

function endingsOf(plan: RoundPlan | BackfillRoundPlan): Ending[] {
  if ('nights' in plan) return plan.nights.flatMap(({ endings }) => endings)
  const { before, mistake, processes } = plan
  const beside = processes.flatMap((one) => one.beside)
  return [
    ...before,
    ...(mistake === undefined ? [] : [mistake.ending, mistake.givingUp]),
    ...processes.map(({ ending }) => ending),
    ...beside.map(({ ending }) => ending),
  ].filter((one) => one !== undefined)
}
