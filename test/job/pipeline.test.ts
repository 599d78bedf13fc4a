import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Chunk } from '../../src/job/chunks.ts'
import { createPipeline } from '../../src/job/pipeline.ts'
import { biometric, entryOf } from '../load/made-up-entries.ts'

const chunk = (number: number, key = `key-${number}`, person = `person-${number}`): Chunk => ({
  number,
  start: { row: 1, line: 1, byteOffset: 0 },
  rows: [],
  entries: [entryOf(biometric, { key, person })],
})

function start() {
  const begun: number[] = []
  const settled: number[] = []
  const gates = new Map<number, PromiseWithResolvers<void>>()
  const gate = (number: number) => {
    const one = gates.get(number) ?? Promise.withResolvers<void>()
    gates.set(number, one)
    return one
  }
  const pipeline = createPipeline(
    async ({ number }) => {
      begun.push(number)
      await gate(number).promise
      return number
    },
    async ({ number }, loaded) => {
      expect(loaded).toBe(number)
      settled.push(number)
    },
  )
  return { begun, settled, gate, pipeline }
}

it('loads several at once and settles them in order', async () => {
  const { begun, settled, gate, pipeline } = start()
  await pipeline.add(chunk(1))
  await pipeline.add(chunk(2))
  expect(begun).toEqual([1, 2])
  gate(2).resolve()
  await setImmediate()
  expect(settled).toEqual([])
  gate(1).resolve()
  await pipeline.drain()
  expect(settled).toEqual([1, 2])
})

it('holds back what there is no room for', async () => {
  const { begun, gate, pipeline } = start()
  const added = (async () => {
    for (const number of [1, 2, 3, 4, 5, 6]) await pipeline.add(chunk(number))
  })()
  await setImmediate()
  expect(begun.length).toBeLessThan(6)
  for (const number of [1, 2, 3, 4, 5, 6]) gate(number).resolve()
  await added
  await pipeline.drain()
  expect(begun).toEqual([1, 2, 3, 4, 5, 6])
})

it.each([
  ['row key', chunk(2, 'key-1')],
  ['person', chunk(2, 'key-2', 'person-1')],
])('lets a chunk with a common %s wait until the other is settled', async (_name, second) => {
  const { begun, settled, gate, pipeline } = start()
  await pipeline.add(chunk(1))
  const added = pipeline.add(second)
  await setImmediate()
  expect(begun).toEqual([1])
  gate(1).resolve()
  await added
  expect([begun, settled]).toEqual([[1, 2], [1]])
  gate(2).resolve()
  await pipeline.drain()
})

it('settles nothing after a failure, throws it from then on, and leaves nothing under way', async () => {
  const { settled, gate, pipeline } = start()
  await pipeline.add(chunk(1))
  await pipeline.add(chunk(2))
  gate(1).reject(new Error('broken'))
  let drained = false
  const draining = pipeline.drain().finally(() => {
    drained = true
  })
  draining.catch(() => undefined)
  await setImmediate()
  expect(drained).toBe(false)
  gate(2).resolve()
  await expect(draining).rejects.toThrow('broken')
  await expect(pipeline.add(chunk(3))).rejects.toThrow('broken')
  expect(settled).toEqual([])
})

it('begins a chunk when its turn has come; where it has none, what is under way goes on and is settled', async () => {
  const settled: number[] = []
  const gate = Promise.withResolvers<void>()
  const asked: number[] = []
  const pipeline = createPipeline(
    async ({ number }) => {
      await gate.promise
      return number
    },
    async ({ number }) => {
      settled.push(number)
    },
    async ({ number }) => {
      asked.push(number)
      if (number === 2) throw new Error('another one goes first')
    },
  )
  await pipeline.add(chunk(1))
  await expect(pipeline.add(chunk(2))).rejects.toThrow('another one goes first')
  expect(settled).toEqual([])
  gate.resolve()
  await pipeline.drain()
  expect([asked, settled]).toEqual([[1, 2], [1]])
})
