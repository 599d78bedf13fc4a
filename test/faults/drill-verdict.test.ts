/** The drill's judgement must see each fault that it is there for. */
import { expect, it } from 'vitest'
import type { DrillExport } from '../../drill/export-book.ts'
import { drillExports } from '../../drill/exports.ts'
import type { StoredRecord } from '../../drill/gateway-store.ts'
import type { ExportSummary } from '../../drill/statements.ts'
import { type Evidence, judgeRound, type Word } from '../../drill/verdict.ts'

const EXPORTS = drillExports(5, 1, { exports: 2, rows: 12, people: 8, dirt: true })
const HARMLESS = { refuses: false, refusesPeople: false, hidesProfiles: false, refusesMarks: false }

/** What a run to which nothing happens comes to. */
function undisturbed(): Evidence & {
  stored: StoredRecord[]
  receipts: string[]
  words: Word[]
} {
  const told = EXPORTS.flatMap((one) => one.told)
  const records = [...new Map(told.map((record) => [record.text, record])).values()]
  const latest = (person: string): number =>
    Math.max(
      ...records
        .filter((one) => one.kind === 'careTeam' && one.person === person)
        .map((one) => one.observedMs),
    )
  const stored = records.map((record, at) => ({
    kind: record.kind,
    id: `id-${at}`,
    person: record.person,
    text: record.text,
    primary: record.kind === 'careTeam' && record.observedMs === latest(record.person),
  }))
  return {
    exports: EXPORTS,
    stored,
    words: EXPORTS.map((one) => ({ summary: summaryOf(one), rejects: [] })),
    receipts: stored.map(({ id }) => id),
    harm: HARMLESS,
  }
}

function summaryOf({ name, rows, made }: DrillExport): ExportSummary {
  const all = (count: number) => ({
    ...{ made: count, accepted: count, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 },
  })
  const records = {
    biometric: all(made.biometric),
    condition: all(made.condition),
    careTeam: all(made.careTeam),
  }
  return { name, state: 'finished', counts: { rows, records } }
}

/** The same words, but for the one on that export. */
const wordsWith = (words: readonly Word[], name: string, change: Partial<Word>): Word[] =>
  words.map((word) => (word.summary.name === name ? { ...word, ...change } : word))

/** A care-team entry that one row alone tells of: a list shows it, so there can be no doubt about it. */
const ALL = EXPORTS.flatMap(({ name, told }) => told.map((record) => ({ name, record })))
const { name = '', record } =
  ALL.find(
    ({ record: { kind, text } }) =>
      kind === 'careTeam' && ALL.filter((other) => other.record.text === text).length === 1,
  ) ?? {}
const place = { _row: record?.row ?? 0, _rule: 'pcp', _stage: 'read-back', _code: 'in-doubt' }

it('finds nothing where nothing happened', () => {
  expect(judgeRound(undisturbed()).faults).toEqual([])
})

it('finds a record that is lost, and its receipt', () => {
  const evidence = undisturbed()
  const { faults, counts } = judgeRound({ ...evidence, stored: evidence.stored.slice(1) })
  expect(counts).toMatchObject({ lost: 1, doubled: 0, altered: 0 })
  expect(faults).toEqual([expect.stringContaining('lost'), expect.stringContaining('receipt')])
})

it('finds a record that is there twice', () => {
  const evidence = undisturbed()
  const [again] = evidence.stored
  const { counts } = judgeRound({ ...evidence, stored: evidence.stored.concat(again ?? []) })
  expect(counts).toMatchObject({ lost: 0, doubled: 1, altered: 0 })
})

it('finds a record that was altered', () => {
  const evidence = undisturbed()
  const stored = evidence.stored.map((one, at) => (at === 0 ? { ...one, text: `${one.text} ` } : one))
  expect(judgeRound({ ...evidence, stored }).counts).toMatchObject({ lost: 1, doubled: 0, altered: 1 })
})

it('finds a doubt where the gateway could tell, and a rejection without cause', () => {
  const evidence = undisturbed()
  const doubted = judgeRound({
    ...evidence,
    words: wordsWith(evidence.words, name, { rejects: [place] }),
  })
  expect(doubted.faults).toEqual([expect.stringContaining('could tell')])
  const refused = judgeRound({
    ...evidence,
    words: wordsWith(evidence.words, name, { rejects: [{ ...place, _stage: 'submit', _code: 'refused' }] }),
  })
  expect(refused.faults).toEqual([
    expect.stringContaining('without cause'),
    expect.stringContaining('said to be refused, but stored'),
  ])
})

it('finds rows that were not counted, and records that do not balance', () => {
  const evidence = undisturbed()
  const [one] = EXPORTS
  if (one === undefined) throw new Error('there is no export')
  const summary = summaryOf(one)
  const { rows, records } = summary.counts
  const wrong = {
    rows: { ...rows, read: rows.read - 1 },
    records: { ...records, biometric: { ...records.biometric, accepted: records.biometric.accepted - 1 } },
  }
  const words = wordsWith(evidence.words, one.name, { summary: { ...summary, counts: wrong } })
  expect(judgeRound({ ...evidence, words }).faults).toEqual([
    expect.stringContaining('rows read'),
    expect.stringContaining('rows do not balance'),
    expect.stringContaining('biometric records do not balance'),
  ])
})

it('finds an older physician marked, and none', () => {
  const evidence = undisturbed()
  const unmarked = evidence.stored.map((one) => ({ ...one, primary: false }))
  const faults = judgeRound({ ...evidence, stored: unmarked }).faults
  expect(faults.length).toBeGreaterThan(0)
  expect(faults.every((fault) => fault.includes('0 marked physicians'))).toBe(true)
})

it('finds a record without a receipt, but for one that a run had in hand when it was given up', () => {
  const evidence = undisturbed()
  const receipts = evidence.receipts.slice(1)
  expect(judgeRound({ ...evidence, receipts }).faults).toEqual([expect.stringContaining('without a receipt')])
  const [{ text } = { text: '' }] = evidence.stored
  const tellsOf = EXPORTS.filter(({ told }) => told.some((one) => one.text === text))
  const others = EXPORTS.filter((one) => !tellsOf.includes(one))
  const judged = (names: readonly DrillExport[]): readonly string[] =>
    judgeRound({ ...evidence, receipts, givenUp: new Set(names.map(({ name }) => name)) }).faults
  expect(judged(tellsOf)).toEqual([])
  expect(judged(others)).toHaveLength(1)
})

it('finds an export of which no run has a word', () => {
  const evidence = undisturbed()
  const { faults } = judgeRound({ ...evidence, words: evidence.words.slice(1) })
  expect(faults).toEqual([expect.stringContaining('no word on it')])
})

it('takes the best that several runs say of a record', () => {
  const evidence = undisturbed()
  const refused = { ...place, _stage: 'submit', _code: 'refused' }
  const words = wordsWith(evidence.words, name, { rejects: [refused] }).concat(evidence.words)
  const { faults, counts } = judgeRound({ ...evidence, words, harm: { ...HARMLESS, refuses: true } })
  expect(faults).toEqual([])
  expect(counts).toMatchObject({ refused: 0 })
})
