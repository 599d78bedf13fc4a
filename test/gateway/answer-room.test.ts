/** Bytes of all answers that arrive are bounded together, whatever still comes of those that are broken off. */
import { expect, test } from 'vitest'
import { createAnswerRoom, type Reading } from '../../src/gateway/exchange.ts'

const reading = (): Reading & { readonly told: readonly string[] } => {
  const told: string[] = []
  return { told, bytes: 0, breakOff: (what) => void told.push(what) }
}

test('above the limit the longest is broken off; of what still comes of it, nothing counts', () => {
  const room = createAnswerRoom(100)
  const [long, short, next] = [reading(), reading(), reading()]
  room.grow(long, 60)
  room.grow(short, 40)
  expect(long.told).toEqual([])
  room.grow(short, 1)
  expect([long.told, short.told]).toEqual([['answers longer than 100 bytes together'], []])
  room.grow(long, 70)
  room.leave(long)
  room.grow(next, 59)
  expect([short.told, next.told]).toEqual([[], []])
  room.grow(next, 1)
  expect([short.told.length, next.told.length]).toEqual([0, 1])
  room.leave(short)
})
