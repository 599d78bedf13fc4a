/** Timers of the dispatcher: one at a time, and none that nobody waits for. */
import { expect, test } from 'vitest'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'

test('a timer that goes off as it is replaced neither sends nor sets another one', async () => {
  const clock = { now: 0 }
  const timers: { readonly ms: number; readonly goOff: () => void; readonly signal: AbortSignal }[] = []
  const dispatcher = createDispatcher({
    now: () => clock.now,
    random: () => 0,
    sleep: (ms, signal) => new Promise((goOff) => timers.push({ ms, goOff, signal })),
  })
  const lane = dispatcher.lane(2, new AbortController().signal)
  const failing = async () => {
    throw new GatewayError('no connection', { class: 'not-sent', requestId: 'r' })
  }
  await expect(lane.run('new', failing)).rejects.toThrow('no connection')
  const answered = lane.run('new', async () => 'answer')
  dispatcher.tryWithin(7)
  const [held, hastened] = timers
  expect([timers.map(({ ms }) => ms).slice(1), held?.signal.aborted]).toEqual([[7], true])
  held?.goOff()
  await Promise.resolve()
  await Promise.resolve()
  expect([timers.length, hastened?.signal.aborted]).toEqual([2, false])
  clock.now = 7
  hastened?.goOff()
  expect(await answered).toBe('answer')
  expect(timers).toHaveLength(2)
})
