import { expect, it } from 'vitest'
import { createConcurrency } from '../../src/load/concurrency.ts'

const times = (count: number, task: () => void) => Array.from({ length: count }, task)

it('halves down to one, and grows by one for each round that succeeds, up to the ceiling', () => {
  const concurrency = createConcurrency(8)
  const allowed: number[] = []
  for (const task of [...times(4, () => concurrency.slowDown).map(() => concurrency.slowDown)]) {
    task()
    allowed.push(concurrency.allowed)
  }
  expect(allowed).toEqual([4, 2, 1, 1])
  concurrency.speedUp()
  expect(concurrency.allowed).toBe(2)
  concurrency.speedUp()
  expect(concurrency.allowed).toBe(2)
  concurrency.speedUp()
  expect(concurrency.allowed).toBe(3)
  times(100, () => concurrency.speedUp())
  expect(concurrency.allowed).toBe(8)
})

it('begins a round anew after a slow-down', () => {
  const concurrency = createConcurrency(8)
  concurrency.slowDown()
  times(3, () => concurrency.speedUp())
  concurrency.slowDown()
  concurrency.speedUp()
  expect(concurrency.allowed).toBe(2)
})

it('never runs more at once than allowed', async () => {
  const concurrency = createConcurrency(3)
  let running = 0
  let most = 0
  const gates: (() => void)[] = []
  const tasks = Array.from({ length: 9 }, () =>
    concurrency.run(async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => gates.push(resolve))
      running--
    }),
  )
  let opened = 0
  while (opened < 9) {
    await new Promise((resolve) => setImmediate(resolve))
    expect(running).toBeLessThanOrEqual(3)
    for (const open of gates.splice(0, 1)) {
      opened++
      open()
    }
  }
  await Promise.all(tasks)
  expect(most).toBe(3)
})
