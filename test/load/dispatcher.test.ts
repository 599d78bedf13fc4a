/** Timers of the dispatcher: one at a time, and none that nobody waits for. */
import { expect, test } from 'vitest'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { createDispatcher, trafficOf } from '../../src/load/dispatcher.ts'
import { type Asked, type Granted, SHARE_MS } from '../../src/load/share.ts'

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

test.each([
  [
    ['new 1', 'new 2', 'again 3'],
    ['again 3', 'new 1', 'new 2'],
  ],
  [
    ['new 1', 'now 2', 'again 3', 'new 4'],
    ['now 2', 'again 3', 'new 1', 'new 4'],
  ],
  [
    ['again 1', 'new 2', 'now 3'],
    ['now 3', 'again 1', 'new 2'],
  ],
  [
    ['now 1', 'again 2', 'new 3'],
    ['now 1', 'again 2', 'new 3'],
  ],
  [
    ['now 1', 'new 2', 'again 3'],
    ['now 1', 'again 3', 'new 2'],
  ],
])('of requests that wait as %j the order is %j', async (asked, expected) => {
  const sleep = () => new Promise<never>(() => {})
  const dispatcher = createDispatcher({ now: () => 0, random: () => 0, sleep })
  const lane = dispatcher.lane(1, new AbortController().signal)
  const gate = Promise.withResolvers<void>()
  const first = lane.run('new', () => gate.promise)
  const sent: string[] = []
  const all = asked.map((name) =>
    lane.run(name.split(' ')[0] as 'new' | 'again' | 'now', async () => sent.push(name)),
  )
  gate.resolve()
  await Promise.all([first, ...all])
  expect(sent).toEqual(expected)
})

test('without a fresh share nothing is sent, and a refusal is told at once', async () => {
  const clock = { now: 0 }
  let grant: (granted: Granted) => void = () => expect.fail('nothing has asked')
  let ask: () => Asked = () => expect.fail('nothing has asked')
  let renewals = 0
  const share = {
    begin(asking: typeof ask, granting: typeof grant) {
      ask = asking
      grant = granting
    },
    renew: () => void ++renewals,
  }
  const sleep = () => new Promise<never>(() => {})
  const dispatcher = createDispatcher({ now: () => clock.now, random: () => 0, sleep, share })
  const lane = dispatcher.lane(4, new AbortController().signal)
  const sent: number[] = []
  const request = async (): Promise<void> => void sent.push(clock.now)
  const granted = { slots: 2, rate: undefined, hold: undefined, isUneven: false }
  const waiting = lane.run('new', request)
  expect(sent).toEqual([])
  ask()
  grant(granted)
  await waiting
  clock.now = SHARE_MS - 1
  await lane.run('new', request)
  clock.now = SHARE_MS
  const late = lane.run('new', request)
  expect(sent).toEqual([0, SHARE_MS - 1])
  // The renewal was asked for at this instant, however late its answer comes.
  expect(ask()).toMatchObject({ ceiling: 4, underWay: 0, busy: true })
  clock.now += 10
  grant(granted)
  await late
  expect(sent).toHaveLength(3)
  const refused = async () => {
    throw new GatewayError('429', { class: 'not-taken', requestId: 'r', retryAfterMs: 2_000 })
  }
  await expect(lane.run('new', refused)).rejects.toThrow('429')
  expect(renewals).toBe(1)
  expect(ask().hold).toEqual({ forMs: 2_000, askedForMs: 2_000, openings: 1 })
})

test('a process asks for its share as busy with its first request, and renews at once when it is idle no more', async () => {
  const asked: boolean[] = []
  let renew: () => void = () => expect.fail('nothing has asked')
  const share = {
    begin(ask: () => Asked, grant: (granted: Granted) => void) {
      renew = () => {
        asked.push(ask().busy)
        grant({ slots: 2, rate: undefined, hold: undefined, isUneven: false })
      }
      renew()
    },
    renew: () => renew(),
  }
  const sleep = () => new Promise<never>(() => {})
  const dispatcher = createDispatcher({ now: () => 0, random: () => 0, sleep, share })
  const lane = dispatcher.lane(4, new AbortController().signal)
  await lane.run('new', async () => {})
  await lane.run('new', async () => {})
  expect(asked).toEqual([true])
  renew()
  const answers = Promise.withResolvers<void>()
  const all = ['first', 'second'].map(() => lane.run('new', () => answers.promise))
  expect(asked).toEqual([true, false, true])
  answers.resolve()
  await Promise.all(all)
})

test.each([
  [[], 'closed'],
  [['closed', 'closed'], 'closed'],
  [['trying', 'closed'], 'trying'],
  [['closed', 'trying'], 'trying'],
  [['open', 'trying', 'closed'], 'open'],
  [['trying', 'open', 'closed'], 'open'],
] as const)('of gateways whose breakers are %j, %s is shown, and the sums', (breakers, shown) => {
  const all = breakers.map((breaker, at) => ({
    traffic: () => ({ breaker, permitted: 4 + at, underWay: 1 + at }),
  }))
  const sums = { 0: [0, 0], 2: [9, 3], 3: [15, 6] }[all.length]
  expect(trafficOf(all)).toEqual({ breaker: shown, permitted: sums?.[0], underWay: sums?.[1] })
})
