import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type AnswerClass, GatewayError } from '../../src/gateway/gateway-error.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import type { ReportedOutage } from '../../src/load/outage.ts'
import { createSending, Outgrown } from '../../src/load/sending.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { failureOf } from './loading.ts'

const fits = () => true
const reading = (call: () => Promise<string>) => async () => [await call()]
const failure = (kind: AnswerClass, retryAfterMs?: number) =>
  new GatewayError('failed: ECONNREFUSED, at GATEWAY', { class: kind, requestId: 'r', retryAfterMs })

const answered = (status: number) =>
  new GatewayError(`was answered ${status}`, { class: 'ambiguous', requestId: 'r', status })

function start(
  options: {
    patienceMs?: number
    concurrency?: number
    lookMs?: number
    unanswered?: number
    /** What the gateway has asked for of the time to come. */
    askedForMs?: number
    /** Waits that overlap, by timers that the test moves on. */
    byTimers?: boolean
  } = {},
) {
  const state = {
    now: 1000,
    waits: [] as number[],
    renewals: 0,
    asked: 0,
    isLost: false,
    outages: [] as ReportedOutage[],
  }
  const tallies = noTallies()
  const stop = new AbortController()
  // A look at the clock takes its time, where a test wants that.
  const now = () => {
    if (options.byTimers) return Date.now()
    state.now += options.lookMs ?? 0
    return state.now
  }
  const random = () => 0.5
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted()
    if (options.byTimers)
      return new Promise((resolve, reject) => {
        setTimeout(resolve, ms)
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    state.now += ms
    state.waits.push(ms)
  }
  const dispatcher = createDispatcher({ now, random, sleep })
  const { askedForMs } = options
  const sending = createSending({
    dispatcher: askedForMs === undefined ? dispatcher : { ...dispatcher, askedForMs: () => askedForMs },
    concurrency: options.concurrency ?? 2,
    patienceMs: options.patienceMs ?? 1_800_000,
    notFound: 'unknown',
    tallies,
    now,
    random,
    sleep,
    renewToken: async () => {
      state.renewals++
    },
    askAboutNobody: async () => {
      state.asked++
      if (state.asked <= (options.unanswered ?? 0)) throw failure('ambiguous')
    },
    assertHeld: async () => {
      if (state.isLost) throw new WaybillError('lease-lost', 'taken over')
    },
    signal: stop.signal,
    onWait: () => undefined,
    onOutage: (outage) => state.outages.push(outage),
  })
  /** Fails so often with these, then succeeds. */
  const failing = (...failures: Error[]) => {
    const attempts: number[] = []
    const call = async (attempt = 0): Promise<string> => {
      attempts.push(attempt)
      const next = failures.shift()
      if (next !== undefined) throw next
      return 'done'
    }
    return { call, attempts }
  }
  return { state, tallies, stop, sending, failing }
}

describe('sending', () => {
  it('tries again what the gateway did not take, when it says, and counts', async () => {
    const { sending, failing, state, tallies } = start()
    const { call, attempts } = failing(failure('not-taken', 7000), failure('not-sent'))
    expect(await sending.once('create', fits, call)).toBe('done')
    expect(attempts).toEqual([1, 2, 3])
    // Nothing gets through any more, so each wait holds all: the one that was prescribed, then the second of the breaker.
    expect(state.waits).toEqual([7250, 1000])
    // The second found no connection: it was never sent.
    expect(tallies.requests).toEqual({ sent: 2, retried: 1, readBack: 0 })
  })

  it('does not repeat an ambiguous write, but one that may be, and a read', async () => {
    const { sending, failing, tallies } = start()
    expect(await failureOf(sending.once('create', fits, failing(failure('ambiguous')).call))).toMatchObject({
      class: 'ambiguous',
    })
    expect(await sending.idempotent('register', failing(failure('ambiguous')).call)).toBe('done')
    expect(await sending.read('read', reading(failing(failure('ambiguous')).call))).toEqual(['done'])
    expect(tallies.requests).toEqual({ sent: 3, retried: 1, readBack: 2 })
  })

  it.each([
    { unanswered: 0, end: { class: 'ambiguous' } },
    { unanswered: 2, end: { class: 'ambiguous' } },
    { unanswered: 100, end: { code: 'gateway-unreachable' } },
  ])(
    'gives up what fails by itself where one of three questions about nobody is answered: $unanswered are not',
    async ({ unanswered, end }) => {
      const { sending, state } = start({ patienceMs: 60_000, unanswered })
      const fails = async () => {
        if (state.now > 3_600_000) throw new Error('tried without end')
        throw failure('ambiguous')
      }
      expect(await failureOf(sending.idempotent('mark', fails))).toMatchObject(end)
      if (unanswered < 3) expect(state.asked).toBe(unanswered + 1)
    },
  )

  it.each([
    [2_000, 'ambiguous', 1],
    [2_001, undefined, 0],
  ] as const)(
    'asks about nobody where the gateway has asked for %i ms of quiet: %s, asked %i times',
    async (askedForMs, kind, asked) => {
      const { sending, state } = start({ patienceMs: 60_000, askedForMs })
      const fails = async () => {
        throw failure('ambiguous')
      }
      const end = await failureOf(sending.idempotent('mark', fails))
      expect(end).toMatchObject(kind === undefined ? { code: 'gateway-unreachable' } : { class: kind })
      expect(state.asked).toBe(asked)
    },
  )

  it('keeps to a Retry-After that comes late, when sending is held no more', async () => {
    vi.useFakeTimers({ now: 0 })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { sending, failing } = start({ byTimers: true })
    const sentAt: number[] = []
    const slow = sending.idempotent('slow', async (): Promise<string> => {
      sentAt.push(Date.now())
      if (sentAt.length > 1) return 'done'
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      throw failure('not-taken', 30_000)
    })
    const quick = sending.idempotent('quick', failing(failure('not-taken', 1_000)).call)
    await Promise.all([slow, quick, vi.runAllTimersAsync()])
    expect(sentAt[1]).toBeGreaterThanOrEqual(40_000)
  })

  it.each([1, 2, 5])(
    'is over when the patience is, whatever else waits: %i requests',
    async (concurrency) => {
      vi.useFakeTimers({ now: 0 })
      onTestFinished(() => {
        vi.useRealTimers()
      })
      const { sending } = start({ patienceMs: 60_000, concurrency, unanswered: 100, byTimers: true })
      const over: number[] = []
      const fails = async () => {
        throw failure('ambiguous')
      }
      const all = Array.from({ length: concurrency }, async () => {
        expect(await failureOf(sending.read('read', fails))).toMatchObject({ code: 'gateway-unreachable' })
        over.push(Date.now())
      })
      await Promise.all([...all, vi.runAllTimersAsync()])
      expect(new Set(over)).toEqual(new Set([60_000]))
    },
  )

  it('waits with a batch for all of the patience, and tries it once more at its end', async () => {
    const { sending, state } = start({ patienceMs: 45_000 })
    const since = state.now
    const cause = { class: 'ambiguous', what: 'create was not answered' } as const
    // After so many tries each wait is half a minute.
    const wait = () => sending.wait('create', cause, { since, tries: 8, people: new Set(['person-1']) })
    expect([await wait(), await wait()]).toEqual([true, true])
    expect(state.now - since).toBe(45_000)
    expect(await failureOf(wait())).toMatchObject({ code: 'gateway-unreachable' })
  })

  it.each(['refused', 'too-large'] as const)('gives back at once what is %s', async (kind) => {
    const { sending, failing, state } = start()
    const { call, attempts } = failing(failure(kind))
    expect(await failureOf(sending.idempotent('register', call))).toMatchObject({ class: kind })
    expect([attempts.length, state.waits.length]).toEqual([1, 0])
  })

  it.each(['once', 'idempotent'] as const)(
    'sends nothing again where another process has the run by then: %s',
    async (how) => {
      const { sending, state } = start()
      let sent = 0
      const call = async (): Promise<string> => {
        sent++
        state.isLost = true
        throw failure('not-taken', 600_000)
      }
      const asked = how === 'once' ? sending.once('create', fits, call) : sending.idempotent('mark', call)
      expect(await failureOf(asked)).toMatchObject({ code: 'lease-lost' })
      expect(sent).toBe(1)
    },
  )

  it.each(['idempotent', 'register'] as const)(
    'sends nothing at all where the lease was lost before: %s',
    async (how) => {
      const { sending, state, failing } = start()
      state.isLost = true
      const { call, attempts } = failing()
      const asked = how === 'register' ? sending.register('r', call, () => {}) : sending.idempotent('m', call)
      expect(await failureOf(asked)).toMatchObject({ code: 'lease-lost' })
      expect(attempts).toEqual([])
    },
  )

  it('sends what others have waited for ahead of what is new', async () => {
    const { sending } = start({ concurrency: 1 })
    const sent: string[] = []
    const first = Promise.withResolvers<void>()
    const send = (name: string, isAwaited = false) =>
      sending.once('create', fits, async () => void sent.push(name), { isAwaited })
    const all = [sending.once('create', fits, () => first.promise), send('new'), send('awaited', true)]
    first.resolve()
    await Promise.all(all)
    expect(sent).toEqual(['awaited', 'new'])
  })

  it('fetches the token anew once, then stops', async () => {
    const once = start()
    expect(await once.sending.once('create', fits, once.failing(failure('stale-token')).call)).toBe('done')
    expect(once.state.renewals).toBe(1)
    const twice = start()
    const calls = twice.failing(failure('stale-token'), failure('stale-token'))
    expect(await failureOf(twice.sending.once('create', fits, calls.call))).toMatchObject({
      code: 'gateway-refused-credentials',
    })
    expect([twice.state.renewals, calls.attempts.length]).toEqual([1, 2])
  })

  it.each([
    [59_999, 1, 'gateway-refused-credentials'],
    [60_000, 2, 'done'],
  ])('where it is refused %i ms after it was fetched, it was fetched %i times', async (ms, renewals, end) => {
    const { sending, state } = start()
    const begunAt: number[] = []
    const call = async (): Promise<string> => {
      begunAt.push(state.now)
      if (begunAt.length === 2) {
        // Half a second is waited before the next try.
        state.now += ms - 500
        throw failure('ambiguous')
      }
      if (begunAt.length < 4) throw failure('stale-token')
      return 'done'
    }
    const ended = await sending.idempotent('mark', call).catch((error: WaybillError) => error.code)
    const [first = 0, , third = 0] = begunAt
    expect([third - first, ended, state.renewals]).toEqual([ms, end, renewals])
  })

  it('stops where it is not allowed', async () => {
    const { sending, failing, state } = start()
    expect(
      await failureOf(sending.read('read', reading(failing(failure('not-allowed')).call))),
    ).toMatchObject({
      code: 'gateway-refused-credentials',
    })
    expect(state.renewals).toBe(0)
  })

  it('does not wait a year, and not beyond the patience', async () => {
    const { sending, failing, state } = start()
    expect(await sending.once('create', fits, failing(failure('not-taken', 31_536_000_000)).call)).toBe(
      'done',
    )
    expect(state.waits).toEqual([900_250])
    const short = start({ patienceMs: 60_000 })
    expect(
      await failureOf(
        short.sending.once('create', fits, short.failing(failure('not-taken', 31_536_000_000)).call),
      ),
    ).toMatchObject({
      code: 'gateway-unreachable',
      message: expect.stringContaining('(last: failed: ECONNREFUSED, at GATEWAY)'),
    })
    expect(short.state.waits).toEqual([])
  })

  it('tells of an outage when it is one, of another cause, and of its end, once each', async () => {
    const { sending, failing, state } = start()
    const refused = Array.from({ length: 8 }, () => failure('not-sent'))
    const { call } = failing(...refused, answered(503), answered(503))
    await sending.idempotent('register', call)
    // The first waits are 0.5, 1 and 2 s: by the third try nothing will have got through for two seconds.
    expect(state.outages).toMatchObject([
      { isOver: false, since: 1000, givesUpAt: 1_801_000, failures: 3, class: 'not-sent' },
      { isOver: false, since: 1000, failures: 9, class: 'ambiguous', status: 503 },
      { isOver: true, since: 1000, failures: 10 },
    ])
  })

  it('tells of batches that do not get through where reads do; what reading settles, or another batch, ends that', async () => {
    const { sending, failing, state } = start()
    const cause = { class: 'ambiguous', status: 500, what: 'create was answered 500' } as const
    const failBatch = () => failureOf(sending.once('create', fits, failing(answered(500)).call))
    await failBatch()
    await sending.wait('create', cause, { since: 1000, tries: 1, people: new Set(['person-1']) })
    expect(await sending.read('read', reading(failing().call))).toEqual(['done'])
    await failBatch()
    await sending.wait('create', cause, { since: 1000, tries: 4, people: new Set(['person-1']) })
    expect(await sending.read('read', reading(failing().call))).toEqual(['done'])
    expect(state.outages).toMatchObject([{ isOver: false, since: 1000, status: 500, what: cause.what }])
    sending.settled()
    expect(state.outages).toMatchObject([{}, { isOver: true, since: 1000 }])
    await sending.wait('create', cause, { since: state.now, tries: 4, people: new Set(['person-1']) })
    const other = state.now
    await sending.once('create', fits, failing().call)
    expect(state.outages.map(({ isOver }) => isOver)).toEqual([false, true, false, true])
    await sending.wait('create', cause, { since: other, tries: 8, people: new Set(['person-1']) })
    expect(state.outages).toHaveLength(4)
  })

  it('tells nothing of a gateway that asks for a second now and then', async () => {
    const { sending, failing, state } = start()
    for (let batch = 0; batch < 5; batch++)
      await sending.once('create', fits, failing(failure('not-taken', 1000)).call)
    expect(state.outages).toEqual([])
  })

  it('counts its patience from the first failure in a row', async () => {
    const { sending, failing, state } = start({ patienceMs: 10_000 })
    await sending.once('create', fits, failing(failure('not-sent')).call)
    state.now += 3_600_000
    const begun = state.now
    const forever = failing(...Array.from({ length: 100 }, () => failure('not-sent')))
    expect(await failureOf(sending.once('create', fits, forever.call))).toMatchObject({
      code: 'gateway-unreachable',
    })
    // The last wait is cut to what is left of it: the waits of the breaker alone would end at 7.5 s, and then at 15.5 s.
    expect(state.now - begun).toBe(10_000)
    expect(state.waits.at(-1)).toBe(2_500)
    expect(forever.attempts).toHaveLength(6)
  })

  it('waits its patience out, however the clock moves on while it looks', async () => {
    const { sending, failing, state } = start({ patienceMs: 10_000, lookMs: 1 })
    const begun = state.now
    const forever = failing(...Array.from({ length: 100 }, () => failure('not-sent')))
    expect(await failureOf(sending.once('create', fits, forever.call))).toMatchObject({
      code: 'gateway-unreachable',
    })
    expect(state.now - begun).toBeGreaterThanOrEqual(10_000)
  })

  it('sends nothing of what no longer fits when its turn has come', async () => {
    const { sending, failing, tallies } = start()
    const { call, attempts } = failing()
    expect(await failureOf(sending.once('create', () => false, call))).toBeInstanceOf(Outgrown)
    expect([attempts.length, tallies.requests.sent]).toEqual([0, 0])
  })

  it('renews a token again that has run out while the gateway took nothing', async () => {
    const { sending, failing, state } = start()
    const { call, attempts } = failing(
      failure('stale-token'),
      failure('not-taken', 900_000),
      failure('stale-token'),
    )
    expect(await sending.once('create', fits, call)).toBe('done')
    expect([attempts.length, state.renewals]).toEqual([4, 2])
  })

  it('renews the token once for all that were refused with it', async () => {
    const { sending, state } = start({ concurrency: 8 })
    let renewed = false
    const calls = Array.from({ length: 8 }, (_, place) => async () => {
      const stale = !renewed
      // Some answers come while the token is being renewed, and some when that is over.
      await new Promise((resolve) => setTimeout(resolve, 5 * place))
      if (stale) {
        renewed = true
        throw failure('stale-token')
      }
      return 'done'
    })
    const answers = await Promise.all(calls.map((call) => sending.once('create', fits, call)))
    expect(answers).toEqual(Array.from({ length: 8 }, () => 'done'))
    expect(state.renewals).toBe(1)
  })

  it('ends all that waits when the patience is at its end, without a try for each', async () => {
    const { sending, tallies } = start({ patienceMs: 60_000 })
    const never = async (): Promise<string> => {
      throw failure('not-sent')
    }
    const ends = await Promise.all(
      Array.from({ length: 500 }, () => failureOf(sending.read('read', reading(never)))),
    )
    expect(new Set(ends.map((end) => (end instanceof WaybillError ? end.code : end)))).toEqual(
      new Set(['gateway-unreachable']),
    )
    expect(tallies.requests.readBack).toBeLessThan(20)
  })

  it('passes on any other error as it is, without another try', async () => {
    const { sending, failing } = start()
    const defect = new RangeError('a defect')
    const { call, attempts } = failing(defect)
    expect(await failureOf(sending.idempotent('register', call))).toBe(defect)
    expect(attempts).toHaveLength(1)
  })

  it('begins nothing once stopped, and gives the reason; an answer that came is not thrown away', async () => {
    const { sending, failing, stop } = start()
    const reason = new Error('stopped')
    const answered = sending.once('create', fits, async () => {
      stop.abort(reason)
      return 'stored'
    })
    expect(await answered).toBe('stored')
    const { call, attempts } = failing()
    expect(await failureOf(sending.read('read', reading(call)))).toBe(reason)
    expect(attempts).toEqual([])
    expect(
      await failureOf(
        sending.wait(
          'create',
          { class: 'ambiguous', what: 'w' },
          { since: 1000, tries: 1, people: new Set(['person-1']) },
        ),
      ),
    ).toBe(reason)
  })
})
