/** Records that the open chunks of a run sent before it was given up: stored by an answer, or in doubt. */
import { expect, test } from 'vitest'
import type { KeptSlot, Ledger, RunRecord } from '../../src/ledger/ledger.ts'
import { packEntries } from '../../src/ledger/packed-records.ts'
import type { Entry } from '../../src/model/entry.ts'
import { contentDigits } from '../../src/model/ids.ts'
import { leftByGivingUp } from '../../src/run/give-up.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { biometric, careTeam, EXPORT_ID, entryOf, type Made } from '../load/made-up-entries.ts'

interface SentBatch {
  readonly of: Entry
  readonly state: 'planned' | 'sending' | 'settled' | 'split'
  readonly answer?: string
  readonly kind?: string
}

interface Left {
  /** Batches of the chunks of an export, by the state of the chunk. */
  readonly chunks: readonly { readonly state: 'open' | 'settled'; readonly batches: readonly SentBatch[] }[]
  readonly before?: ReadonlyMap<string, readonly KeptSlot[]>
  readonly doubts?: readonly Entry[]
}

const place = (made: Made = {}): Made => ({ person: `p${made.row ?? 1}`, ...made })
const weight = (row: number, value = '61'): Entry => entryOf(biometric, place({ row, value }))

async function giveUp({ chunks, before = new Map(), doubts = [] }: Left) {
  const ledger = {
    exports: {
      ofRun: async () => [{ id: 7, export_id: EXPORT_ID }],
      arrivalOf: async () => 40,
      orders: async () => new Map(),
    },
    chunks: {
      ofExport: async () => chunks.map(({ state }, at) => ({ number: at + 1, state })),
      batches: async ({ chunk }: { readonly chunk: number }) =>
        (chunks[chunk - 1]?.batches ?? []).map(({ of, state, answer = 'accepted', kind = of.kind }, id) => ({
          ...{ id, batch_id: `batch-${chunk}-${id}`, kind, state, answer, status: 201 },
          holds: packEntries([of]),
        })),
      exceptions: async ({ chunk }: { readonly chunk: number }) =>
        chunk < chunks.length
          ? []
          : [
              ...doubts.map(({ content, row }) => ({ state: 'in-doubt', content, row: row.row })),
              { state: 'rejected', content: 'f'.repeat(16), row: 99 },
              { state: 'in-doubt', content: null, row: 98 },
            ],
    },
    slots: { delivered: async () => before, held: async () => new Map() },
    left: {
      inDoubtWith: async () => [],
      heldWith: async (_: number, contents: readonly string[]) =>
        doubts
          .filter(({ content }) => contents.includes(content))
          .map(({ rowKey, ruleHash: rule, content }) => ({
            rowKey,
            rule,
            content,
            sentUntil: null,
            series: null,
          })),
    },
  } as unknown as Ledger
  const { receipts, left } = await leftByGivingUp(ledger, { id: 'run-1', job_id: 1 } as RunRecord)
  return {
    receipts: receipts.map((one) => [one.transactionId, one.batchId, one.learnedFrom]),
    sent: left.sent.map((one) => [one.exportRow, one.content, one.isTaken]),
    slots: (left.ruling.delivered ?? []).flatMap(({ records }) =>
      records.map((one) => [contentDigits(one), one.word.isStored, one.word.arrival, one.word.row]),
    ),
  }
}

test('what was answered is stored, with a receipt; what was not is in doubt; what never left is forgotten', async () => {
  const [settledBefore, planned, split, answered, found, unanswered] = [1, 2, 3, 4, 5, 6].map((row) =>
    weight(row),
  )
  const team = entryOf(careTeam, place({ row: 7 }))
  const taken = entryOf(biometric, place({ row: 8 }))
  if (!settledBefore || !planned || !split || !answered || !found || !unanswered) throw new Error('made')
  const given = await giveUp({
    chunks: [
      { state: 'settled', batches: [{ of: settledBefore, state: 'settled' }] },
      {
        state: 'open',
        batches: [
          { of: planned, state: 'planned' },
          { of: split, state: 'split' },
          { of: answered, state: 'settled' },
          { of: unanswered, state: 'sending' },
        ],
      },
      {
        state: 'open',
        batches: [
          { of: found, state: 'settled', answer: 'ambiguous' },
          { of: team, state: 'settled' },
          { of: taken, state: 'sending', kind: 'assessment' },
        ],
      },
    ],
  })
  expect(given.receipts).toEqual([
    [answered.transactionId, 'batch-2-2', undefined],
    [found.transactionId, 'batch-3-0', 'read-back'],
    [team.transactionId, 'batch-3-1', undefined],
  ])
  // The follow-ups of a care-team entry are still to be done.
  expect(given.sent).toEqual([
    [7, unanswered.content, false],
    [7, team.content, true],
  ])
  expect(given.slots).toEqual([
    [answered.content, true, 40, 4],
    [unanswered.content, false, 40, 6],
    [found.content, true, 40, 5],
    [team.content, true, 40, 7],
  ])
})

test('a record in doubt stays so, by its own row', async () => {
  const doubtful = weight(3)
  const given = await giveUp({ chunks: [{ state: 'open', batches: [] }], doubts: [doubtful] })
  expect(given).toEqual({
    receipts: [],
    sent: [[7, doubtful.content, false]],
    slots: [[doubtful.content, false, 40, 3]],
  })
})

test('words of before stay where the run brought an older one, and its own takes their place', async () => {
  const [known, corrected] = [weight(1), weight(1, '62')]
  const slot = keptSlot(known.ruleHash, known.content, { arrival: 3 })
  const before = new Map([[known.rowKey, [slot]]])
  const chunks = (state: SentBatch['state']) => [
    { state: 'open' as const, batches: [{ of: corrected, state }] },
  ]
  expect((await giveUp({ chunks: chunks('settled'), before })).slots).toEqual([
    [corrected.content, true, 40, 1],
  ])
  // Stored is what was; the newest word is what was sent.
  expect((await giveUp({ chunks: chunks('sending'), before })).slots).toEqual([[known.content, true, 40, 1]])
})
