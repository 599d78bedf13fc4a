import { expect, it } from 'vitest'
import { seriesThatWait, waitForLate } from '../../src/load/load-chunk.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import { biometric, entryOf, IDENTITY } from './made-up-entries.ts'

const NOW = 1_700_000_000_000
const LAG_MS = 5_000
const HOUR_MS = 3_600_000

const [unanswered, other] = [entryOf(biometric, { value: '1' }), entryOf(biometric, { value: '2' })]

const DOUBT = { content: unanswered.content, rule: unanswered.ruleHash, isOpen: false }
const doubtOf = (sentUntil: number | undefined) => (sentUntil === undefined ? [] : [{ ...DOUBT, sentUntil }])

/** Waits before records are looked for. */
async function waited(
  said: { readonly behindSince?: number; readonly until?: number; readonly other?: number },
  unsent = [unanswered, other],
): Promise<number[]> {
  const waits: number[] = []
  await waitForLate(
    {
      ...{ inDoubt: 'hold', held: 'hold', jobId: 1, readLagMs: LAG_MS, now: () => NOW },
      ...{ identity: IDENTITY, memory: { slots: { heldSeries: async () => new Set<string>() } } },
      suspicion: { copy: 0, until: said.behindSince },
      pause: async (ms) => void waits.push(ms),
    },
    unsent,
    new Map([
      ['one', [...doubtOf(said.until), { ...DOUBT, sentUntil: null }]],
      ['other', doubtOf(said.other)],
    ]),
  )
  return waits
}

it.each([
  ['nothing is known to be late', {}, []],
  ['a copy was taken long ago', { behindSince: NOW - HOUR_MS }, []],
  ['the time is just over', { behindSince: NOW - LAG_MS }, []],
  ['a millisecond is left', { behindSince: NOW - LAG_MS + 1 }, [1]],
  ['a copy was taken now', { behindSince: NOW }, [LAG_MS]],
  ['a batch was given up lately', { until: NOW - 2_000 }, [3_000]],
  ['the later of two that were given up', { until: NOW - 4_000, other: NOW - 3_000 }, [2_000]],
  ['both are late: until the later one', { behindSince: NOW - 4_000, until: NOW - 1_000 }, [4_000]],
  ['both, the other way about', { behindSince: NOW - 1_000, until: NOW - 4_000 }, [4_000]],
  // The clock was set back since: no gateway is late by more than the job allows.
  ['a copy was taken in the future', { behindSince: NOW + 2 * HOUR_MS }, [LAG_MS]],
  ['a batch was given up in the future', { until: NOW + 2 * HOUR_MS }, [LAG_MS]],
])('waits for what the gateway may be late with: %s', async (_, said, expected) => {
  expect(await waited(said)).toEqual(expected)
})

it('waits for nothing that does not concern the chunk', async () => {
  expect(await waited({ behindSince: NOW, until: NOW }, [])).toEqual([])
})

const SERIES = ['asked', 'hidden', 'accepted', 'before', 'added'] as const
const inSeries = Object.fromEntries(
  SERIES.map((code) => [code, entryOf(biometric, { code, person: 'ann' })]),
) as Record<(typeof SERIES)[number], ReturnType<typeof entryOf>>
const REASON = { stage: 'submit', code: 'no-answer', message: 'words', scrubbed: 'words' } as const
const asked = (entry: EntryOutcome['entry']): EntryOutcome => ({
  ...{ outcome: 'in-doubt', batchId: null, reason: REASON, isAsked: true, entry },
})

/** A record in doubt of an earlier chunk is in the ledger; another run is at work beside. */
const wait = (held: 'hold' | 'look' | 'resend', inDoubt: 'hold' | 'resend', outcomes: EntryOutcome[]) =>
  seriesThatWait(
    {
      ...{ inDoubt, held, jobId: 7, readLagMs: LAG_MS, now: () => NOW, pause: async () => {} },
      ...{ identity: IDENTITY, suspicion: { copy: 0, until: undefined } },
      memory: {
        slots: {
          heldSeries: async (jobId) => new Set(jobId === 7 ? [IDENTITY.series(inSeries.before.series)] : []),
        },
      },
    },
    outcomes,
  )

it.each([
  ['hold', 'hold', ['asked', 'before'], ['asked', 'before', 'added']],
  ['look', 'hold', ['asked'], ['asked', 'added']],
  ['resend', 'hold', ['asked'], ['asked', 'added']],
  ['hold', 'resend', ['before'], ['before']],
  ['look', 'resend', [], []],
] as const)(
  'where doubts from before are to %s, and own ones to %s, the series %j wait, then %j',
  async (held, inDoubt, first, then) => {
    const waiting = await wait(held, inDoubt, [
      asked(inSeries.asked),
      { outcome: 'in-doubt', batchId: null, reason: REASON, entry: inSeries.hidden },
      { outcome: 'accepted', batchId: 'b', status: 201, entry: inSeries.accepted },
    ])
    const found = () => SERIES.filter((code) => waiting.has(inSeries[code]))
    expect(found()).toEqual(first)
    expect(waiting.isEmpty()).toBe(first.length === 0)
    waiting.add([asked(inSeries.added)])
    expect(found()).toEqual(then)
  },
)

it('of no doubts none wait', async () => {
  expect((await wait('look', 'hold', [])).isEmpty()).toBe(true)
})
