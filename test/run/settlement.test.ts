/** Lessons of a chunk about records that were in doubt: what is held, and what ends a doubt of whom. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { heldBy } from '../../src/load/gateway-words.ts'
import type { Entry } from '../../src/model/entry.ts'
import type { EntryOutcome, Reason } from '../../src/model/outcome.ts'
import { createStopWhen } from '../../src/run/chunks.ts'
import type { RunStages } from '../../src/run/connect-stages.ts'
import { createRunEvents } from '../../src/run/events.ts'
import { openAppended } from '../../src/run/receipts.ts'
import { settleChunk } from '../../src/run/settlement.ts'
import { beginExport } from '../ledger/begun-run.ts'
import { startLoading } from '../load/loading.ts'
import { biometric, entryOf, IDENTITY, mappedRow } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const REASON: Reason = { stage: 'submit', code: 'no-answer', message: 'words', scrubbed: 'words' }

type Fate = EntryOutcome extends infer One ? (One extends EntryOutcome ? Omit<One, 'entry'> : never) : never
const outcomeOf = (entry: Entry, fate: Fate): EntryOutcome => ({ ...fate, entry }) as EntryOutcome

const IN_DOUBT = { outcome: 'in-doubt', batchId: null, reason: REASON } as const
const ACCEPTED = { outcome: 'accepted', batchId: 'b', status: 201 } as const
const FOUND = { outcome: 'unchanged', found: true } as const

/** Always of the same place: another value is another content. */
const weight = (value: string): Entry => entryOf(biometric, { person: 'ann', key: 'ann|monday', value })

async function openRun() {
  const { context, ledger, runLedger, exportRow, clock } = await startLoading({ held: 'look' })
  const home = await temporaryFolder()
  const append = (name: string) => openAppended(home, join(home, name), 0, runLedger.assertHeld)
  const stages: RunStages = {
    ...{ home, ledger, runLedger, load: context, collecting: undefined, identity: IDENTITY },
    version: '0.1.0',
    ...{ receipts: append('receipts'), rejectsFolder: home, events: createRunEvents() },
    ...{ stopWhen: createStopWhen(undefined), now: () => clock.now, startedAt: 0, stop: () => {} },
    ...{ limit: Infinity, origin: undefined, isBackfill: false, turn: async () => {} },
    ...{ inHand: () => {}, ordersWith: () => new Map() },
  }
  const later = await beginExport(runLedger, { ordinal: 2, exportId: 'fedcba9876543210', sha256: 'later' })
  const rejects = append('rejects')
  onTestFinished(async () => {
    await stages.receipts.close()
    await rejects.close()
  })
  const settled = new Map<number, number>()
  /** Settles a chunk of the export in which this became of these. @param made records of its rows */
  const settle = async (
    of: number,
    fates: readonly (readonly [Entry, Fate])[],
    made = fates.length,
  ): Promise<void> => {
    const number = (settled.get(of) ?? 0) + 1
    settled.set(of, number)
    const outcomes = fates.map(([entry, fate]) => outcomeOf(entry, fate))
    const rows = Array.from({ length: made }, (_, at) => {
      const outcome = mappedRow([biometric()], { row: at + 1, person: 'ann' })
      return { source: outcome.source, outcome }
    })
    const start = { row: 1, line: 2, byteOffset: 0 }
    await runLedger.openChunk(of, { number, firstRow: 1, firstLine: 2, byteOffset: 0, rows: rows.length })
    const record =
      (await ledger.exports.ofRun('run-1')).find(({ id }) => id === of) ?? expect.fail('no export')
    const chunk = {
      number,
      start,
      rows,
      entries: outcomes.map(({ entry }) => entry),
      withdrawn: [],
      shared: [],
    }
    await settleChunk(stages, { record, inFront: [], arrival: of, listsTeams: false }, rejects, chunk, {
      ...{ outcomes, followUpFailures: [], rowsCorrected: 0, accounts: { known: 0, refused: 0 } },
      learned: { delivered: [], ended: new Map(), asked: new Set() },
    })
  }
  /** By the order in which records came in doubt. */
  const events = async (): Promise<(string | undefined)[]> => {
    const ids = [1, 2, 3]
    const decided = await ledger.left.decisions(ids)
    return ids.map((id) => decided.find(({ exception }) => exception === id)?.event)
  }
  return { ledger, earlier: exportRow, later, settle, events }
}

test('held are records in doubt, not those that were delivered and that a later one leaves unclear', () => {
  const [asked, hidden, unclear, accepted] = ['61', '62', '63', '64'].map(weight) as [
    Entry,
    Entry,
    Entry,
    Entry,
  ]
  const held = heldBy(IDENTITY, [
    outcomeOf(asked, { ...IN_DOUBT, isAsked: true }),
    outcomeOf(hidden, IN_DOUBT),
    outcomeOf(unclear, { ...IN_DOUBT, isUnclear: true }),
    outcomeOf(accepted, ACCEPTED),
  ])
  expect(held.map(({ content, series }) => [content, series])).toEqual([
    [asked.content, IDENTITY.series(asked.series)],
    [hidden.content, null],
  ])
})

test.each([
  [1, 2],
  [2, 1],
])('a chunk in which %i of %i records have an outcome is not settled', async (ended, made) => {
  const { ledger, earlier, settle } = await openRun()
  const fates = ['61', '62'].slice(0, ended).map((value) => [weight(value), ACCEPTED] as const)
  await expect(settle(earlier, fates, made)).rejects.toMatchObject({ code: 'not-balanced' })
  expect(await ledger.chunks.ofExport(earlier)).toMatchObject([{ state: 'open' }])
})

test.each<[string, Fate, string | undefined]>([
  ['delivered', ACCEPTED, 'deliver'],
  ['found', FOUND, 'find'],
  ['found as the equal entry of another record', { ...FOUND, isOthers: true }, 'deliver'],
  ['known to stand', { outcome: 'unchanged' }, 'deliver'],
  ['passed over', { outcome: 'unchanged', passedOver: 'outdated' }, undefined],
  ['refused', { outcome: 'rejected', batchId: null, reason: REASON }, 'refuse'],
  ['in doubt again', IN_DOUBT, undefined],
])('a record in doubt is %s', async (_what, fate, event) => {
  const { earlier, later, settle, events } = await openRun()
  await settle(earlier, [[weight('61'), IN_DOUBT]])
  await settle(later, [[weight('61'), fate]])
  expect((await events())[0]).toBe(event)
})

test('of twins the fate of the first decides on a doubt', async () => {
  const { earlier, later, settle, events } = await openRun()
  await settle(earlier, [[weight('61'), IN_DOUBT]])
  await settle(later, [
    [weight('61'), FOUND],
    [weight('61'), { ...FOUND, isOthers: true }],
  ])
  expect((await events())[0]).toBe('find')
})

/** Of the same row by another rule. */
const pulse = (value: string): Entry =>
  entryOf(biometric, { person: 'ann', key: 'ann|monday', value, rule: 'heart-rate', code: '8867-4' })

test.each<[string, 'later' | 'earlier', readonly Entry[], readonly Entry[], boolean]>([
  ['alone', 'later', [weight('61')], [weight('61')], true],
  ['as the last word on its place', 'later', [weight('61')], [weight('62'), weight('61')], true],
  ['before another word on its place', 'later', [weight('61')], [weight('61'), weight('62')], false],
  ['before a word of another rule', 'later', [weight('61')], [weight('61'), pulse('62')], true],
  ['beside a doubt on its place', 'later', [weight('61'), weight('63')], [weight('61')], false],
  ['beside a doubt of another rule', 'later', [weight('61'), pulse('63')], [weight('61')], true],
  ['by the same export', 'earlier', [weight('61')], [weight('61'), weight('62')], true],
])(
  'a record in doubt that the gateway takes from an earlier export: %s',
  async (_what, doubtOf, inDoubt, taken, isSettled) => {
    const { earlier, later, settle, events } = await openRun()
    await settle(
      doubtOf === 'later' ? later : earlier,
      inDoubt.map((entry) => [entry, IN_DOUBT]),
    )
    await settle(
      earlier,
      taken.map((entry) => [entry, ACCEPTED]),
    )
    expect((await events())[0]).toBe(isSettled ? 'deliver' : undefined)
  },
)
