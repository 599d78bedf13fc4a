/** Lessons of a chunk about records that were in doubt: what is held, and what ends a doubt of whom. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Reading } from '../../src/ledger/ledger.ts'
import { unpackHolds } from '../../src/ledger/packed-records.ts'
import { heldBy } from '../../src/load/gateway-words.ts'
import type { LoadedChunk } from '../../src/load/load-chunk.ts'
import { type Counts, countChunk } from '../../src/model/balance.ts'
import type { Entry, MappedRow } from '../../src/model/entry.ts'
import type { EntryOutcome, Reason } from '../../src/model/outcome.ts'
import type { Row } from '../../src/model/row.ts'
import type { ChunkRow } from '../../src/run/chunks.ts'
import { openAppended } from '../../src/run/receipts.ts'
import { leftBehind, type Settling, settleChunk } from '../../src/run/settlement.ts'
import { beginExport } from '../ledger/begun-run.ts'
import { startLoading } from '../load/loading.ts'
import { biometric, careTeam, EXPORT_ID, entryOf, IDENTITY, mappedRow } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const REASON: Reason = { stage: 'submit', code: 'no-answer', message: 'words', scrubbed: 'words' }

type Fate = EntryOutcome extends infer One ? (One extends EntryOutcome ? Omit<One, 'entry'> : never) : never
const outcomeOf = (entry: Entry, fate: Fate): EntryOutcome => ({ ...fate, entry }) as EntryOutcome

const IN_DOUBT = { outcome: 'in-doubt', batchId: null, reason: REASON } as const
const ACCEPTED = { outcome: 'accepted', batchId: 'b', status: 201 } as const
const FOUND = { outcome: 'unchanged', found: true } as const

/** Always of the same place: another value is another content. */
const weight = (value: string): Entry => entryOf(biometric, { person: 'ann', key: 'ann|monday', value })

interface RunFacts {
  readonly origin?: Settling['origin']
  readonly isBackfill?: boolean
  readonly held?: 'look' | 'hold'
}

/** What a chunk came to; its rows are in balance. */
interface Settled {
  readonly rows: readonly ChunkRow[]
  readonly outcomes?: readonly EntryOutcome[]
  readonly more?: Partial<LoadedChunk>
  readonly arrival?: number
  readonly listsTeams?: boolean
}

async function openRun({ origin, isBackfill = false, held = 'look' }: RunFacts = {}) {
  const { context, ledger, runLedger, exportRow, clock } = await startLoading({ held })
  const home = await temporaryFolder()
  const append = (name: string) => openAppended(home, join(home, name), 0, runLedger.assertHeld)
  const { gatewayName } = context.accounts
  const settling: Settling = {
    ...{ ledger, runLedger, identity: IDENTITY, gatewayName, receipts: append('receipts') },
    ...{ held, origin, isBackfill, now: () => clock.now },
  }
  const later = await beginExport(runLedger, { ordinal: 2, exportId: 'fedcba9876543210', sha256: 'later' })
  const rejects = append('rejects')
  onTestFinished(async () => {
    await settling.receipts.close()
    await rejects.close()
  })
  const settled = new Map<number, number>()
  const settleRows = async (of: number, { rows, outcomes = [], ...rest }: Settled): Promise<Counts> => {
    const { more, arrival = of, listsTeams = false } = rest
    const number = (settled.get(of) ?? 0) + 1
    settled.set(of, number)
    await runLedger.openChunk(of, { number, firstRow: 1, firstLine: 2, byteOffset: 0, rows: rows.length })
    const record =
      (await ledger.exports.ofRun('run-1')).find(({ id }) => id === of) ?? expect.fail('no export')
    return settleChunk(
      settling,
      { record, inFront: ['one'], arrival, listsTeams },
      rejects,
      { number },
      {
        ...{ rows, counts: countChunk(rows, outcomes, 0) },
        ...{ outcomes, followUpFailures: [], rowsCorrected: 0, accounts: { known: 0, refused: 0 } },
        learned: { delivered: [], ended: new Map(), renamed: [], asked: new Set(), outdated: new Set() },
        ...more,
      },
    )
  }
  /** Settles a chunk of the export in which this became of these. @param made records of its rows */
  const settle = async (
    of: number,
    fates: readonly (readonly [Entry, Fate])[],
    made = fates.length,
  ): Promise<void> => {
    const outcomes = fates.map(([entry, fate]) => outcomeOf(entry, fate))
    const rows = Array.from({ length: made }, (_, at) => {
      const outcome = mappedRow([biometric()], { row: at + 1, person: 'ann' })
      return { source: outcome.source, outcome }
    })
    await settleRows(of, { rows, outcomes })
  }
  /** By the order in which records came in doubt. */
  const events = async (): Promise<(string | undefined)[]> => {
    const ids = [1, 2, 3]
    const decided = await ledger.left.decisions(ids)
    return ids.map((id) => decided.find(({ exception }) => exception === id)?.event)
  }
  const begin = (reading: Reading): Promise<number> =>
    beginExport(runLedger, { ordinal: 3, exportId: EXPORT_ID, sha256: 'again', reading })
  return {
    ledger,
    runLedger,
    settling,
    rejects,
    earlier: exportRow,
    later,
    begin,
    settle,
    settleRows,
    events,
  }
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
    outcomeOf(unclear, { ...IN_DOUBT, isBehind: true }),
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

const TAKEN: readonly (readonly [
  string,
  'later' | 'earlier',
  readonly Entry[],
  readonly Entry[],
  boolean,
])[] = [
  ['alone', 'later', [weight('61')], [weight('61')], true],
  ['as the last word on its place', 'later', [weight('61')], [weight('62'), weight('61')], true],
  ['before another word on its place', 'later', [weight('61')], [weight('61'), weight('62')], false],
  ['before a word of another rule', 'later', [weight('61')], [weight('61'), pulse('62')], true],
  ['beside a doubt on its place', 'later', [weight('61'), weight('63')], [weight('61')], false],
  ['beside a doubt of another rule', 'later', [weight('61'), pulse('63')], [weight('61')], true],
  ['by the same export', 'earlier', [weight('61')], [weight('61'), weight('62')], true],
]

test.each(TAKEN.flatMap((one) => [[...one, ACCEPTED, 'deliver'] as const, [...one, FOUND, 'find'] as const]))(
  'a record in doubt that the gateway takes from an earlier export: %s',
  async (_what, doubtOf, inDoubt, taken, isSettled, fate, event) => {
    const { earlier, later, settle, events } = await openRun()
    await settle(
      doubtOf === 'later' ? later : earlier,
      inDoubt.map((entry) => [entry, IN_DOUBT]),
    )
    await settle(
      earlier,
      taken.map((entry) => [entry, fate]),
    )
    expect((await events())[0]).toBe(isSettled ? event : undefined)
  },
)

const ISSUE = { stage: 'transform', code: 'date-invalid', message: 'no date' } as const

/** Row of an export, or line of a rejects file for a rule. */
const rowOf = (row: number, rule?: string): MappedRow => {
  const mapped = mappedRow([], { row, person: 'ann', cells: ['a'] })
  return { ...mapped, source: rule === undefined ? mapped.source : lineOf(mapped.source, rule) }
}
const lineOf = <Source extends Row>(source: Source, rule: string): Source =>
  Object.assign({ ...source }, { exportName: 'x.csv', rule: rule === '' ? undefined : rule })

type Line = readonly [row: number, rule: string | undefined, fate: 'fine' | 'rejected row' | Left]
type Left = { readonly mapping?: string; readonly gateway?: string; readonly doubt?: string }

/** Rows of a chunk with the fates of their records. */
function chunkOf(lines: readonly Line[]): Required<Pick<Settled, 'rows' | 'outcomes'>> {
  const outcomes: EntryOutcome[] = []
  const rows = lines.map(([row, rule, fate]): ChunkRow => {
    const mapped = rowOf(row, rule)
    const { source, line, byteOffset } = mapped
    if (fate === 'rejected row')
      return { source, outcome: { row, line, byteOffset, outcome: 'rejected', issue: ISSUE } }
    const { mapping, gateway, doubt } = fate === 'fine' ? ({} as Left) : fate
    const rejected =
      mapping === undefined ? [] : [{ kind: 'biometric' as const, rule: mapping, issue: ISSUE }]
    const records = [gateway, doubt].flatMap((name) =>
      name === undefined ? [] : [biometric({ rule: name })],
    )
    const entries = records.map((record) => entryOf(() => record, { row, person: 'ann', rule: record.rule }))
    for (const entry of entries) {
      const outcome = entry.rule === gateway ? 'rejected' : 'in-doubt'
      outcomes.push(outcomeOf(entry, { outcome, batchId: null, reason: REASON }))
    }
    return { source, outcome: { ...mapped, records, rejected } }
  })
  return { rows, outcomes }
}

/** Rejected before: row 1 as a whole, of row 2 the records of two rules, of row 3 one. */
const EARLIER: readonly Line[] = [
  [1, undefined, 'rejected row'],
  [2, undefined, { mapping: 'a', gateway: 'b' }],
  [3, undefined, { gateway: 'a' }],
]
const ALL = ['1', '2 a', '2 b', '3 a']
const without = (...settled: string[]): string[] => ALL.filter((one) => !settled.includes(one))

test.each<[string, Reading, readonly Line[], readonly string[]]>([
  ['nothing', 'rejects', [], ALL],
  ['the whole row', 'selected', [[1, undefined, 'fine']], without('1')],
  ['the line of a whole row', 'rejects', [[1, '', 'fine']], without('1')],
  ['a row that is rejected again', 'selected', [[1, undefined, 'rejected row']], ALL],
  ['a row with a record rejected by the mapping', 'selected', [[1, undefined, { mapping: 'z' }]], ALL],
  ['a row with a record refused', 'selected', [[1, undefined, { gateway: 'z' }]], ALL],
  ['a row with a record in doubt', 'selected', [[1, undefined, { doubt: 'z' }]], ALL],
  ['the line of one rule', 'rejects', [[2, 'a', 'fine']], without('2 a')],
  ['the line of one rule, rejected as a row', 'rejects', [[2, 'a', 'rejected row']], ALL],
  ['the line of one rule, rejected by the mapping', 'rejects', [[2, 'a', { mapping: 'a' }]], ALL],
  ['the line of one rule, refused', 'rejects', [[2, 'a', { gateway: 'a' }]], ALL],
  ['the line of one rule in place of another', 'rejects', [[2, 'a', { gateway: 'b' }]], without('2 a')],
  [
    'lines of both rules',
    'rejects',
    [
      [2, 'a', 'fine'],
      [2, 'b', 'fine'],
    ],
    without('2 a', '2 b'),
  ],
  [
    'lines of both rules, one rejected',
    'rejects',
    [
      [2, 'a', 'fine'],
      [2, 'b', 'rejected row'],
    ],
    without('2 a'),
  ],
  ['all of a row', 'selected', [[2, undefined, 'fine']], without('2 a', '2 b')],
  ['all of a row, one record refused', 'selected', [[2, undefined, { gateway: 'b' }]], without('2 a')],
  ['all of a row, one record in doubt', 'selected', [[2, undefined, { doubt: 'a' }]], without('2 b')],
  [
    'a row with equal rules, rejected',
    'selected',
    [
      [2, undefined, 'rejected row'],
      [3, undefined, 'fine'],
    ],
    without('3 a'),
  ],
])('a later reading that takes up %s settles that alone', async (_what, reading, lines, left) => {
  const { ledger, settling, earlier, begin, settleRows } = await openRun()
  await settleRows(earlier, chunkOf(EARLIER))
  const again = await begin(reading)
  await settleRows(again, chunkOf(lines))
  const { jobId } = settling.runLedger.lease
  const request = { jobId, exportId: EXPORT_ID, before: again, selection: 'rejected' } as const
  const open = await ledger.left.ofEarlierReadings(request, [1, 2, 3])
  const names = open.map(({ row, rule }) => (rule === null ? `${row}` : `${row} ${rule}`))
  expect(names.toSorted()).toEqual(left)
})

test('records that a person sends again settle no reject', async () => {
  const { ledger, settling, earlier, begin, settleRows } = await openRun({
    origin: { selection: 'decided' },
  })
  await settleRows(earlier, chunkOf(EARLIER))
  const again = await begin('selected')
  await settleRows(again, chunkOf([[1, undefined, 'fine']]))
  const { jobId } = settling.runLedger.lease
  const request = { jobId, exportId: EXPORT_ID, before: again, selection: 'rejected' } as const
  expect(await ledger.left.ofEarlierReadings(request, [1])).toHaveLength(1)
})

test('the rejects file begins with its header, whichever chunk has the first rejects', async () => {
  const { rejects, earlier, settleRows } = await openRun()
  const sizes: number[] = []
  for (const fate of ['fine', 'rejected row', 'fine', 'rejected row'] as const) {
    await settleRows(earlier, chunkOf([[sizes.length + 1, undefined, fate]]))
    sizes.push(rejects.length)
  }
  const lines = (await readFile(rejects.path, 'utf8')).trimEnd().split('\n')
  expect(lines.map((line) => line.split(',')[3])).toEqual(['_row', '02', '04'])
  expect(sizes[0]).toBe(0)
  expect(sizes[2]).toBe(sizes[1])
})

test('left behind are rejected rows, records and marks, with the ids of records alone that were made', () => {
  const [refused, asked] = [weight('61'), weight('62')]
  const team = entryOf(careTeam, { row: 5, person: 'ann' })
  const { rows } = chunkOf([
    [1, undefined, 'rejected row'],
    [2, undefined, 'fine'],
    [3, undefined, { mapping: 'dx' }],
  ])
  const withdrawn = mappedRow([], { row: 4, person: 'ann' })
  const sentAs = { kind: 'biometric' as const, rule: 'a1c', issue: ISSUE, sentAs: 'the-id' }
  const skipped = {
    row: 6,
    line: 7,
    byteOffset: 600,
    outcome: 'skipped' as const,
    reason: 'rule' as const,
    leftOut: [],
    warnings: [],
  }
  const left = leftBehind(IDENTITY, { export_id: EXPORT_ID } as Parameters<typeof leftBehind>[1], {
    rows: [
      ...rows,
      { source: withdrawn.source, outcome: { ...withdrawn, rejected: [sentAs] } },
      { source: withdrawn.source, outcome: skipped },
    ],
    outcomes: [
      outcomeOf(refused, { outcome: 'rejected', batchId: 'b', reason: REASON }),
      outcomeOf(weight('63'), ACCEPTED),
      outcomeOf(asked, IN_DOUBT),
    ],
    followUpFailures: [{ entry: team, reason: { ...REASON, stage: 'primary-care', code: 'mark-refused' } }],
  })
  const brief = left.map((one) => [
    ...[one.row, one.line, one.rule, one.outcome, one.stage, one.code, one.batchId],
    one.transaction,
  ])
  expect(brief).toEqual([
    [1, 2, null, 'rejected', 'transform', 'date-invalid', null, undefined],
    [3, 4, 'dx', 'rejected', 'transform', 'date-invalid', null, undefined],
    [4, 5, 'a1c', 'rejected', 'transform', 'date-invalid', null, 'the-id'],
    [
      refused.row.row,
      refused.row.line,
      refused.rule,
      'rejected',
      'submit',
      'no-answer',
      'b',
      refused.transactionId,
    ],
    [asked.row.row, asked.row.line, asked.rule, 'in-doubt', 'submit', 'no-answer', null, asked.transactionId],
    [5, 6, 'pcp', 'warning', 'primary-care', 'mark-refused', null, team.transactionId],
  ])
})

test('a refused word on its place does not keep a doubt of a later export open', async () => {
  const { earlier, later, settle, events } = await openRun()
  await settle(later, [[weight('61'), IN_DOUBT]])
  await settle(earlier, [
    [weight('61'), ACCEPTED],
    [weight('62'), { outcome: 'rejected', batchId: null, reason: REASON }],
  ])
  expect((await events())[0]).toBe('deliver')
})

test.each<[string, 'hold' | 'look', boolean, string | undefined]>([
  ['is looked for', 'look', false, 'deliver'],
  ['is held, and asked about', 'hold', true, 'deliver'],
  ['is held', 'hold', false, undefined],
])('a record in doubt that %s', async (_what, held, isAsked, event) => {
  const { earlier, later, settle, settleRows, events } = await openRun({ held })
  await settle(earlier, [[weight('61'), IN_DOUBT]])
  const entry = weight('61')
  const { source, outcome } = { source: entry.row.source, outcome: entry.row }
  const asked = new Set(isAsked ? [entry.content] : [])
  await settleRows(later, {
    rows: [{ source, outcome }],
    outcomes: [outcomeOf(entry, ACCEPTED)],
    more: { learned: { delivered: [], ended: new Map(), renamed: [], asked, outdated: new Set() } },
  })
  expect((await events())[0]).toBe(event)
})

test('a newer word ends the wait of the former, and no doubt of an equal record', async () => {
  const { earlier, later, settleRows, settle, events } = await openRun({ held: 'hold' })
  const WAITS = { ...IN_DOUBT, reason: { ...REASON, code: 'waits-for-older' }, isBehind: true } as const
  await settle(earlier, [
    [weight('61'), WAITS],
    [weight('61'), IN_DOUBT],
  ])
  const outdated = new Set([weight('61').content])
  await settleRows(later, {
    rows: [],
    more: { learned: { delivered: [], ended: new Map(), renamed: [], asked: new Set(), outdated } },
  })
  expect((await events()).slice(0, 2)).toEqual(['supersede', undefined])
})

test.each<[string, Reading, RunFacts & { readonly arrival?: number }, boolean]>([
  ['the newest export', 'whole', {}, true],
  ['an export that came before', 'whole', { arrival: 1 }, false],
  ['a backfill', 'whole', { isBackfill: true }, false],
  ['a rejects file', 'rejects', {}, false],
])(
  'new names of %s are counted, and kept if no newer name may be known',
  async (_what, reading, facts, isKept) => {
    const { ledger, runLedger, settling, begin, settleRows } = await openRun(facts)
    const { gatewayName } = settling
    const [person, other] = ['ann', 'ben'].map((reference) =>
      IDENTITY.account({ reference, type: 'partnerAccountId' }),
    ) as [string, string]
    const known = { accountId: null, isNew: false, sentBefore: null, named: 7 }
    const both = [person, other].map((reference) => ({ ...known, reference }))
    await runLedger.saveAccounts(gatewayName, both, 0)
    const [first, second] = [rowOf(1), rowOf(2)]
    const names = new Map([
      [person, { named: 8, changedAt: second }],
      [other, { named: 9, changedAt: first }],
      ['nobody', { named: 5, changedAt: undefined }],
    ])
    const rows = [first, second].map((outcome) => ({ source: outcome.source, outcome }))
    const of = await begin(reading)
    const counts = await settleRows(of, { rows, more: { names }, arrival: facts.arrival ?? of })
    expect(counts.warnings['name-changed']).toBe(2)
    const now = await ledger.people.accounts(gatewayName, [person, other])
    expect([person, other].map((one) => now.get(one)?.named)).toEqual(isKept ? [8, 9] : [7, 7])
    expect((await settleRows(of, { rows, more: {} })).warnings).toEqual({})
  },
)

test.each([true, false])(
  'people of an export that lists care teams, or does not, are noted: %s',
  async (listsTeams) => {
    const { ledger, settling, earlier, settleRows } = await openRun()
    await settleRows(earlier, { ...chunkOf([[1, undefined, 'fine']]), listsTeams })
    const person = IDENTITY.account({ reference: 'ann', type: 'partnerAccountId' })
    const { jobId } = settling.runLedger.lease
    expect([...(await ledger.careTeams.listed(jobId, [person])).keys()]).toEqual(listsTeams ? [person] : [])
  },
)

test('each exception of a chunk names its person, so that the person can be forgotten', async () => {
  const run = await openRun()
  const of = await run.begin('whole')
  const [refused, team] = [weight('61'), entryOf(careTeam, { row: 5, person: 'ann' })]
  const mapped = mappedRow([biometric()], { row: 1, person: 'ann' })
  const issue = { stage: 'transform', code: 'date-invalid', message: 'm' } as const
  const rejected = { ...mapped, rejected: [{ kind: 'condition' as const, rule: 'dx', issue }] }
  await run.settleRows(of, {
    rows: [{ source: mapped.source, outcome: rejected }],
    outcomes: [outcomeOf(refused, { outcome: 'rejected', batchId: null, reason: REASON })],
    more: {
      followUpFailures: [{ entry: team, reason: { ...REASON, stage: 'primary-care', code: 'mark-refused' } }],
    },
  })
  const found = await run.ledger.chunks.exceptions({ exportRow: of, chunk: 1 })
  const ann = IDENTITY.account({ reference: 'ann', type: 'partnerAccountId' })
  expect(found.map(({ code, person }) => [code, person && Buffer.from(person).toString('hex')])).toEqual([
    ['date-invalid', ann],
    ['no-answer', ann],
    ['mark-refused', ann],
  ])
})

test.each<[string, readonly (string | null)[], readonly number[] | undefined]>([
  ['none', ['batch-1', 'batch-1'], undefined],
  ['one of two', ['batch-1', null], [1]],
  ['all', [null, null], [0, 1]],
])('accepted without a batch: %s; the chunk keeps them', async (_, batches, kept) => {
  const { ledger, later, settle } = await openRun()
  const entries = batches.map((_, at) => weight(`6${at}`))
  await settle(
    later,
    entries.map((entry, at) => [entry, { ...ACCEPTED, batchId: batches[at] ?? null } as Fate]),
  )
  const [chunk] = await ledger.chunks.ofExport(later)
  const accepted = chunk?.accepted
  const expected = kept?.map((at) => entries[at]?.content)
  expect(accepted ? unpackHolds(accepted).map(({ content }) => content) : undefined).toEqual(expected)
})
