import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../../drill/draw-faults.ts'
import { KILL_POINTS } from '../../drill/kill-points.ts'
import { drill } from '../../drill/main.ts'
import { planRound } from '../../drill/round-plan.ts'
import { FaultPlan } from '../../src/reference-gateway/faults/fault-plan.ts'

test('four rounds of kills and faults: nothing lost, nothing doubled, nothing altered, all accounted for', async () => {
  const said: string[] = []
  const { rounds, failed, totals } = await drill({ rounds: 4, seed: 4 }, (text) => said.push(text))
  expect(said.join('')).toBe('')
  expect({ rounds, failed: failed.length }).toEqual({ rounds: 4, failed: 0 })
  expect(totals).toMatchObject({ lost: 0, doubled: 0, altered: 0 })
  expect(totals.expected).toBeGreaterThan(300)
  expect(totals.processes).toBeGreaterThan(4)
}, 120_000)

test('500 rounds of a seed plan every kind of fault and every named point, with valid fault plans', () => {
  const plans = Array.from({ length: 500 }, (_, at) => planRound(1, at + 1))
  const kinds = new Set(plans.flatMap(({ faults }) => faults.map(({ kind }) => kind)))
  const points = new Set(
    plans.flatMap(({ endings }) => endings.map((one) => (one.by === 'point' ? one.kill.point : one.by))),
  )
  expect([...kinds].sort()).toEqual([...FAULT_KINDS].sort())
  expect([...points].sort()).toEqual([...KILL_POINTS, 'instant'].sort())
  for (const { faults } of plans) {
    if (faults.length > 0) FaultPlan.parse({ faults: faults.map(({ fault }) => fault) })
  }
  expect(planRound(1, 17)).toEqual(planRound(1, 17))
})
