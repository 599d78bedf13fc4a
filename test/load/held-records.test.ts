import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/load/entry.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { BIOMETRICS, idsOf, startLoading, tally } from './loading.ts'
import { biometric, entryOf } from './made-up-entries.ts'

/** Loading after an earlier run has left these in doubt, of which the gateway has some. */
async function afterDoubt(
  held: 'hold' | 'look' | 'resend',
  entries: readonly Entry[],
  stored: readonly Entry[],
  faultOf: (request: Passing) => Fault = () => PASS,
) {
  let strikes = faultOf
  const loading = await startLoading({ held, faultOf: (request) => strikes(request) })
  const { exportRow, runLedger } = loading
  strikes = () => PASS
  await loading.load(stored)
  strikes = faultOf
  await runLedger.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 1 })
  await runLedger.settleChunk({
    exportRow,
    chunk: 1,
    counts: '{}',
    receiptsLength: 0,
    rejectsLength: 0,
    delivered: [],
    held: entries.map(({ rowKey, content, ruleHash: rule }) => ({ rowKey, content, rule, series: null })),
    exceptions: [],
    tallies: {},
    at: 0,
  })
  const before = loading.posts(BIOMETRICS)
  const { outcomes } = await loading.load(entries, false, 2)
  return { loading, outcomes, posts: loading.posts(BIOMETRICS) - before }
}

const people = (count: number): Entry[] =>
  Array.from({ length: count }, (_, at) => entryOf(biometric, { row: at + 1, person: `person-${at}` }))

const noProfile = ({ method }: Passing): Fault => (method === 'GET' ? answer(400) : PASS)

describe('records in doubt since an earlier run', () => {
  it('are not sent where they are held, whether stored or not', async () => {
    const entries = people(2)
    const { outcomes, posts } = await afterDoubt('hold', entries, entries.slice(0, 1))
    expect([tally(outcomes), posts]).toEqual([{ 'in-doubt': 2 }, 0])
  })

  it.each(['look', 'resend'] as const)(
    'are looked for first (%s): found, they are unchanged; absent, sent',
    async (held) => {
      const entries = people(4)
      const { loading, outcomes, posts } = await afterDoubt(held, entries, entries.slice(0, 2))
      expect(outcomes.map((one) => [one.outcome, 'found' in one])).toEqual([
        ['unchanged', true],
        ['unchanged', true],
        ['accepted', false],
        ['accepted', false],
      ])
      expect(posts).toBe(1)
      expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
    },
  )

  it('stay so where nobody can tell, after a look; a person’s decision sends them all the same', async () => {
    const looked = await afterDoubt('look', people(2), [], noProfile)
    expect([tally(looked.outcomes), looked.posts]).toEqual([{ 'in-doubt': 2 }, 0])
    const resent = await afterDoubt('resend', people(2), [], noProfile)
    expect([tally(resent.outcomes), resent.posts]).toEqual([{ accepted: 2 }, 1])
  })

  it('are sent once where they stand twice', async () => {
    const twins = [1, 2].map((row) => entryOf(biometric, { row, key: 'same', person: 'one' }))
    const { loading, outcomes } = await afterDoubt('resend', twins, [])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'unchanged'])
    expect(await loading.stored('biometric')).toHaveLength(1)
  })
})
