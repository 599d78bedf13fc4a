/** What rerun, resolve and reconcile hold the job for: what they have looked at is so until they are done, and nothing is begun by half. */

import { expect, test } from 'vitest'
import type { CommandContext } from '../../src/cli/command-form.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { type Ended, summaryOf } from './command-line.ts'
import { DAYS, eachOnce, inDoubt, isBatch, JOB, openHistory, storedDays } from './history.ts'

/** As the application ends what is under way. */
const INTERRUPTED = new WaybillError('interrupted', 'the command was interrupted')

test.each([
  ['resolve', '--resend'],
  ['rerun', '--quiet'],
])(
  '%s that is interrupted while it looks has begun nothing that a later run would send',
  async (command, option) => {
    const scene = await openHistory()
    const [day = ''] = DAYS
    const run = await inDoubt(scene, day, 'pass-then-reset')
    const interrupting = new AbortController()
    const { code, err } = await scene.start([command, run, option], (context) => ({
      interrupt: interrupting.signal,
      async openLedger() {
        const ledger = await context.openLedger()
        const ofRun: typeof ledger.exports.ofRun = (...asked) => {
          interrupting.abort(INTERRUPTED)
          return ledger.exports.ofRun(...asked)
        }
        return { ...ledger, exports: { ...ledger.exports, ofRun } }
      },
    }))
    expect({ code, err }).toMatchObject({ code: 130, err: expect.stringContaining('Nothing was changed.') })
    expect(scene.query('select id from run')).toEqual([{ id: run }])
    expect(scene.query('select * from decision')).toEqual([])
    expect(await scene.start(['reconcile', run])).toMatchObject({ code: 0 })
  },
)

test('reconcile of a backfill that goes on meanwhile goes by when that has sent last', async () => {
  const scene = await openHistory(JOB.replace('100ms', '2s'))
  const interrupting = new AbortController()
  scene.strike((request) => {
    if (isBatch(request)) interrupting.abort(INTERRUPTED)
    return PASS
  })
  const before = await scene.start([...scene.backfill, '--json'], () => ({ interrupt: interrupting.signal }))
  const { run } = summaryOf(before)
  expect([before.code, scene.sent().length]).toEqual([130, 1])
  let reconciled: Promise<Ended> | undefined
  let hasGoneFirst = false
  let reads = 0
  scene.strike((request) => {
    if (isBatch(request)) return hasGoneFirst ? PASS : { do: 'pass-then-reset' }
    if (!hasGoneFirst) return answer(400)
    // What it has stored it shows a little later.
    reads += 1
    return reads === 1 ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: [] }) } : PASS
  })
  const later = ({ now }: CommandContext): Partial<CommandContext> => ({ now: () => now() + 3_600_000 })
  const filled = await scene.start([...scene.backfill, '--json'], (context) => ({
    ...later(context),
    async openLedger() {
      const ledger = await context.openLedger()
      const acquire: typeof ledger.leases.acquire = async (...given) => {
        const answered = await ledger.leases.acquire(...given)
        if (answered.ok && reconciled === undefined) {
          reconciled = scene.start(['reconcile', run, '--json'], later)
          await scene.untilAsked()
        }
        return answered
      }
      // Who has asked is seen once something was sent.
      const waiter: typeof ledger.way.waiter = async (...looked) =>
        scene.sent().length < 2 ? undefined : ledger.way.waiter(...looked)
      const release: typeof ledger.leases.release = (lease) => {
        hasGoneFirst = true
        return ledger.leases.release(lease)
      }
      return { ...ledger, leases: { ...ledger.leases, acquire, release }, way: { ...ledger.way, waiter } }
    },
  }))
  expect(JSON.parse((await reconciled)?.out ?? '{}')).toMatchObject({ found: 3, missed: 0, inDoubt: 0 })
  expect(summaryOf(filled)).toMatchObject({ run, state: 'finished', balanced: true })
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS))
})

test('a backfill is not given up while it is under way, nor before it has taken up its run', async () => {
  const scene = await openHistory()
  const interrupting = new AbortController()
  scene.strike((request) => {
    if (isBatch(request)) interrupting.abort(INTERRUPTED)
    return PASS
  })
  const before = await scene.start([...scene.backfill, '--json'], () => ({ interrupt: interrupting.signal }))
  const { run } = summaryOf(before)
  let givenUp: Ended | undefined
  const filled = await scene.start([...scene.backfill, '--json'], (context) => ({
    async openLedger() {
      const ledger = await context.openLedger()
      const acquire: typeof ledger.leases.acquire = async (...given) => {
        const answered = await ledger.leases.acquire(...given)
        // It would wait for ever, did it ask.
        givenUp ??= await scene.start(['resolve', run, '--give-up'])
        return answered
      }
      return { ...ledger, leases: { ...ledger.leases, acquire } }
    },
  }))
  expect(givenUp).toMatchObject({ code: 5, err: expect.stringContaining('error job-held') })
  expect(summaryOf(filled)).toMatchObject({ run, state: 'finished' })
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS))
})
