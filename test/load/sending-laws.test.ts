/** Sending over a gateway that comes and goes, by timers that are moved on: what holds whatever it does. */
import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { createSending, type Sending } from '../../src/load/sending.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { drawFrom } from './simulated-flow.ts'

const PATIENCE_MS = 120_000
const LATENCY_MS = 50
const QUESTIONS = 3
/** Retry-After that a question waits for, with what is added to it. */
const ASKED_MS = 2_200

const phase = fc.record({
  forMs: fc.integer({ min: 1, max: 90_000 }),
  does: fc.oneof(
    fc.constantFrom('takes', 'resets', 'fails'),
    fc.integer({ min: 0, max: 30 }).map((seconds) => ({ saysAfterMs: seconds * 1000 })),
  ),
})
type Does = typeof phase extends fc.Arbitrary<{ does: infer D }> ? D : never

const scene = fc.record({
  phases: fc.array(phase, { maxLength: 6 }),
  atLast: fc.constantFrom<Does>('takes', 'resets', 'fails'),
  ceiling: fc.integer({ min: 1, max: 8 }),
  calls: fc.array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 300_000 }),
      how: fc.constantFrom('read', 'idempotent', 'register'),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
})

const send = (sending: Sending, how: 'read' | 'idempotent' | 'register', call: () => Promise<void>) =>
  how === 'read'
    ? sending.read('read', async () => [await call()])
    : how === 'register'
      ? sending.register('register', call, () => undefined)
      : sending.idempotent('mark', call)

it('ends, by its patience at the latest; keeps its ceiling, and to what the gateway has asked for', async () => {
  vi.useFakeTimers({ now: 0 })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  await fc.assert(
    fc.asyncProperty(scene, async ({ phases, atLast, ceiling, calls, seed }) => {
      const start = Date.now()
      const random = drawFrom(seed)
      const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(resolve, ms)
          signal?.addEventListener('abort', () => {
            clearTimeout(timer)
            reject(signal.reason)
          })
        })
      const doesAt = (at: number): Does => {
        let left = at - start
        for (const { forMs, does } of phases) {
          left -= forMs
          if (left < 0) return does
        }
        return atLast
      }
      let underWay = 0
      let most = 0
      /** Since when nothing is got through. */
      let silentSince: number | undefined
      let notBefore = 0
      const early: number[] = []
      const request = async (): Promise<void> => {
        underWay++
        most = Math.max(most, underWay)
        await sleep(random() * (LATENCY_MS / 2))
        const does = doesAt(Date.now())
        if (Date.now() < notBefore) early.push(notBefore - Date.now())
        await sleep(random() * (LATENCY_MS / 2))
        underWay--
        if (does === 'takes') {
          silentSince = undefined
          return
        }
        silentSince ??= Date.now()
        const details = { requestId: 'r' }
        if (does === 'resets') throw new GatewayError('reset', { ...details, class: 'ambiguous' })
        if (does === 'fails')
          throw new GatewayError('failed', { ...details, class: 'ambiguous', status: 500 })
        const { saysAfterMs: retryAfterMs } = does
        // What is under way by then has left already.
        notBefore = Math.max(notBefore, underWay === 0 ? Date.now() + retryAfterMs : 0)
        throw new GatewayError('busy', { ...details, class: 'not-taken', status: 503, retryAfterMs })
      }
      const sending = createSending({
        dispatcher: createDispatcher({ now: Date.now, random, sleep }),
        concurrency: ceiling,
        patienceMs: PATIENCE_MS,
        notFound: 'unknown',
        tallies: noTallies(),
        now: Date.now,
        random,
        sleep,
        renewToken: async () => undefined,
        askAboutNobody: request,
        assertHeld: async () => undefined,
        signal: new AbortController().signal,
        onWait: () => undefined,
        onOutage: () => undefined,
      })
      const ended = calls.map(async ({ atMs, how }) => {
        await sleep(atMs)
        const begunAt = Date.now()
        const end = await send(sending, how, request).catch((error: unknown) => error)
        const silentMs = Date.now() - Math.max(begunAt, silentSince ?? Date.now())
        expect(silentMs).toBeLessThanOrEqual(
          PATIENCE_MS + QUESTIONS * ASKED_MS + (QUESTIONS + 2) * LATENCY_MS,
        )
        if (end instanceof WaybillError) expect(silentSince).toBeDefined()
      })
      await Promise.all([...ended, vi.runAllTimersAsync()])
      expect(most).toBeLessThanOrEqual(ceiling)
      expect(early).toEqual([])
    }),
    { numRuns: 150 },
  )
})
