import { expect, it } from 'vitest'
import { waitForLate } from '../../src/load/waiting-series.ts'
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
