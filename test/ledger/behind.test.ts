/** A ledger that is a copy, and the runs that have made up for what it lost: each proves what it has looked for itself, and nothing else. */
import { expect, test } from 'vitest'
import type { AboutToSend, Ledger, RunStart } from '../../src/ledger/ledger.ts'
import { beginRun, passingLedger } from './begun-run.ts'

const COPIED = 1_000
const BEFORE = COPIED - 1
const AFTER = COPIED + 1

const MARCH = { from: '2026-03-01', to: '2026-03-31' }
const ordinary: AboutToSend = { takesUp: false }
const filling = (range: AboutToSend['backfill']): AboutToSend => ({ takesUp: false, backfill: range })

interface Past extends Pick<RunStart, 'backfill' | 'origin' | 'part'> {
  readonly at: number
  readonly job?: string
  /** Undefined: it is still running. */
  readonly ends?: 'finished' | 'failed' | 'interrupted'
  /** When it was taken up again, where it was. */
  readonly resumedAt?: number
}

async function live(ledger: Ledger, past: readonly Past[]): Promise<void> {
  for (const [number, { at, ends, resumedAt, ...more }] of past.entries()) {
    const id = `run-${number}`
    let run = await beginRun(ledger, id, { startedAt: at, ...more })
    const { lease } = run
    if (resumedAt !== undefined) {
      await run.endRun({ state: 'interrupted', endedAt: at, reason: 'interrupted' })
      run = await ledger.resumeRun(lease, (await ledger.run(id)) ?? expect.fail('gone'), resumedAt)
    }
    if (ends !== undefined) await run.endRun({ state: ends, endedAt: at, reason: null })
    await ledger.releaseLease(lease)
  }
}

const whole: Past = { at: AFTER, ends: 'finished' }
const backfill = (more: Partial<Past> = {}): Past => ({ ...whole, backfill: MARCH, ...more })

test.each<[string, AboutToSend, readonly Past[], boolean]>([
  ['an ordinary run that nothing has gone before', ordinary, [], true],
  ['an ordinary run after one that has finished since', ordinary, [whole], false],
  ['one after a run that began as the copy was made', ordinary, [{ ...whole, at: COPIED }], true],
  ['one after a run from before the copy', ordinary, [{ ...whole, at: BEFORE }], true],
  ['one after a run that failed', ordinary, [{ ...whole, ends: 'failed' }], true],
  ['one after a run that was interrupted', ordinary, [{ ...whole, ends: 'interrupted' }], true],
  ['one after a run of another job', ordinary, [{ ...whole, job: 'weekly' }], true],
  ['one after a run with --limit', ordinary, [{ ...whole, part: 'limit' }], true],
  ['one after a run over named files', ordinary, [{ ...whole, part: 'files' }], true],
  [
    'one after a run that took up what another had left',
    ordinary,
    [{ ...whole, origin: { run: 'run-0', selection: 'rejected' } }],
    true,
  ],
  ['one after a run that was resumed', ordinary, [{ ...whole, resumedAt: AFTER }], true],
  ['one after a backfill', ordinary, [backfill()], true],
  ['one of two, the first of which failed', ordinary, [{ ...whole, ends: 'failed' }, whole], false],
  [
    'one after a whole run, while a backfill from before the copy is unfinished',
    ordinary,
    [backfill({ at: BEFORE, ends: 'interrupted' }), whole],
    true,
  ],
  [
    'one after a whole run, while a backfill from before the copy is running',
    ordinary,
    [{ at: COPIED, backfill: MARCH }, whole],
    true,
  ],
  [
    'one after a whole run, while a backfill from after it is unfinished',
    ordinary,
    [backfill({ ends: 'interrupted' }), whole],
    false,
  ],
  [
    'one after a whole run, where a backfill from before the copy is over',
    ordinary,
    [backfill({ at: BEFORE }), whole],
    false,
  ],
  [
    'one after a whole run, while another job has such a backfill',
    ordinary,
    [backfill({ at: BEFORE, ends: 'interrupted', job: 'weekly' }), whole],
    false,
  ],
  ['what takes up another run', { takesUp: true }, [whole], true],
  ['a backfill after an ordinary run', filling(MARCH), [whole], true],
  ['a backfill after one of its range', filling(MARCH), [backfill()], false],
  [
    'a backfill after one of its range that was resumed',
    filling(MARCH),
    [backfill({ resumedAt: AFTER })],
    false,
  ],
  ['a backfill after one of its range that failed', filling(MARCH), [backfill({ ends: 'failed' })], true],
  ['one of fewer days', filling({ from: '2026-03-02', to: '2026-03-30' }), [backfill()], false],
  ['one that begins a day earlier', filling({ ...MARCH, from: '2026-02-28' }), [backfill()], true],
  ['one that ends a day later', filling({ ...MARCH, to: '2026-04-01' }), [backfill()], true],
  ['one whatever the rate', filling(MARCH), [backfill({ backfill: { ...MARCH, rate: 5 } })], false],
  ['one of another folder', filling({ ...MARCH, in: '/archive' }), [backfill()], true],
  ['one of no folder', filling(MARCH), [backfill({ backfill: { ...MARCH, in: '/archive' } })], true],
  [
    'one of the other of two folders',
    filling({ ...MARCH, in: '/archive' }),
    [backfill({ backfill: { ...MARCH, in: '/older' } })],
    true,
  ],
  [
    'one of the same folder',
    filling({ ...MARCH, in: '/archive' }),
    [backfill({ backfill: { ...MARCH, in: '/archive' } })],
    false,
  ],
])('%s', async (_what, about, past, isBehind) => {
  const ledger = await passingLedger()
  const jobId = await ledger.jobId('nightly', 'gateway')
  await live(ledger, past)
  expect(await ledger.behindSince(jobId, about)).toBeUndefined()
  await ledger.noteBehind(COPIED)
  expect(await ledger.behindSince(jobId, about)).toBe(isBehind ? COPIED : undefined)
})

test('of two losses the later one counts', async () => {
  const ledger = await passingLedger()
  const jobId = await ledger.jobId('nightly', 'gateway')
  await ledger.noteBehind(COPIED)
  await live(ledger, [whole])
  await ledger.noteBehind(AFTER)
  expect(await ledger.behindSince(jobId, ordinary)).toBe(AFTER)
})
