/** The drill's judgement must see each fault that it is there for. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { judgeCareTeams } from '../../drill/care-team-verdict.ts'
import { biometric, careTeam, type ExpectedRecord } from '../../drill/expected-records.ts'
import type { DrillExport, Told } from '../../drill/export-book.ts'
import { drillExports } from '../../drill/exports.ts'
import type { StoredRecord } from '../../drill/gateway-store.ts'
import type { ExportSummary, ListedRun } from '../../drill/statements.ts'
import { type Evidence, judgeRound, type Telling, type Word } from '../../drill/verdict.ts'
import { wordsOf } from '../../drill/words-of-runs.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const EXPORTS = drillExports(5, 1, {
  ...{ exports: 2, rows: 14, people: 6, dirt: true },
  ...{ doctors: 0, nested: 0.35 },
})
const PEOPLE = new Set(EXPORTS.flatMap(({ told }) => told.map(({ person }) => person))).size
const REQUESTS = 40
const HARMLESS = { refuses: false, refusesPeople: false, hidesProfiles: false }

/** What a run to which nothing happens comes to. */
function undisturbed(): Evidence & {
  stored: StoredRecord[]
  receipts: string[]
  words: Word[]
} {
  const told = EXPORTS.flatMap((one) => one.told)
  const records = [...new Map(told.map((record) => [record.text, record])).values()]
  const latest = (person: string): number =>
    Math.max(...records.filter((one) => one.primary && one.person === person).map((one) => one.observedMs))
  const stored = records.map((record, at) => ({
    kind: record.kind,
    id: `id-${at}`,
    person: record.person,
    text: record.text,
    primary: record.primary && record.observedMs === latest(record.person),
  }))
  return {
    exports: EXPORTS,
    stored,
    words: EXPORTS.map((one) => ({ summary: summaryOf(one), rejects: [] })),
    runs: [runThat(stored.length)],
    receipts: stored.map(({ id }) => id),
    changed: 'add',
    ...{ ordered: true, forgotten: false, green: false },
    ...{ faults: [], complaints: [], log: { accounts: PEOPLE, requests: REQUESTS, underWay: 0 } },
  }
}

function runThat(accepted: number): ListedRun {
  const none = { made: 0, accepted: 0, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 }
  return {
    ...{ run: 'run-1', job: 'drill', state: 'finished', balanced: true, exports: [], durationMs: 1 },
    rows: { read: 0, mapped: 0, skipped: 0, rejected: 0 },
    records: { biometric: { ...none, accepted }, condition: none, careTeam: none },
    careTeams: { replaced: 0, owed: 0 },
    accounts: { registered: PEOPLE, known: 0 },
    requests: { sent: REQUESTS, retried: 0, readBack: 0 },
  }
}

function summaryOf({ name, sha256, rows, made }: DrillExport): ExportSummary {
  const all = (count: number) => ({
    ...{ made: count, accepted: count, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 },
  })
  const records = {
    biometric: all(made.biometric),
    condition: all(made.condition),
    careTeam: all(made.careTeam),
  }
  return { name, sha256, state: 'finished', counts: { rows, records } }
}

/** The same words, but for the one on that export. */
const wordsWith = (words: readonly Word[], name: string, change: Partial<Word>): Word[] =>
  words.map((word) => (word.summary.name === name ? { ...word, ...change } : word))

/** A care-team entry that one row alone tells of: a list shows it, so there can be no doubt about it. */
const ALL = EXPORTS.flatMap(({ name, told }) => told.map((record) => ({ name, record })))
const { name = '', record } =
  ALL.find(
    ({ record: { kind, text, primary } }) =>
      kind === 'careTeam' && primary && ALL.filter((other) => other.record.text === text).length === 1,
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

it('finds a record without a receipt, but for one that a run had in hand when it was given up', () => {
  const evidence = undisturbed()
  const receipts = evidence.receipts.slice(1)
  const runs = [runThat(receipts.length)]
  expect(judgeRound({ ...evidence, receipts, runs }).faults).toEqual([
    expect.stringContaining('without a receipt'),
  ])
  const [{ text } = { text: '' }] = evidence.stored
  const tellsOf = EXPORTS.filter(({ told }) => told.some((one) => one.text === text))
  const others = EXPORTS.filter((one) => !tellsOf.includes(one))
  const judged = (names: readonly DrillExport[]): readonly string[] =>
    judgeRound({ ...evidence, receipts, runs, givenUp: names.map(({ name }) => name) }).faults
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
  const { faults, counts } = judgeRound({
    ...evidence,
    words,
    faults: [{ harm: { ...HARMLESS, refuses: true } }],
  })
  expect(faults).toEqual([])
  expect(counts).toMatchObject({ refused: 0 })
})

it('takes what befalls one person for no excuse of another', () => {
  const evidence = undisturbed()
  const words = wordsWith(evidence.words, name, {
    rejects: [{ ...place, _stage: 'submit', _code: 'refused' }],
  })
  const stored = evidence.stored.filter(({ text }) => text !== record?.text)
  const receipts = stored.map(({ id }) => id)
  const runs = [runThat(stored.length)]
  const judged = (person: string): readonly string[] =>
    judgeRound({
      ...{ ...evidence, words, stored, receipts, runs },
      faults: [{ harm: { ...HARMLESS, refuses: true }, person }],
    }).faults
  expect(judged(record?.person ?? '')).toEqual([])
  expect(judged('another')).toEqual([expect.stringContaining('rejected without cause')])
})

it('finds counts that are not those of the gateway and of the receipts, and a green exit where something is wrong', () => {
  const evidence = undisturbed()
  const { log, runs, stored } = evidence
  const judged = (change: Partial<Evidence>): readonly string[] =>
    judgeRound({ ...evidence, ...change }).faults
  expect(judged({ log: { ...log, requests: REQUESTS + 5, underWay: 5 } })).toEqual([])
  expect(judged({ log: { ...log, requests: REQUESTS + 6, underWay: 5 } })).toHaveLength(1)
  expect(judged({ log: { ...log, accounts: PEOPLE + 1 } })).toHaveLength(1)
  expect(judged({ runs: [...runs, runThat(1)] })).toEqual([expect.stringContaining('with')])
  expect(judged({ complaints: ['it says too much'] })).toEqual(['words: it says too much'])
  expect(judged({ stored: stored.concat(stored.slice(0, 1)), green: true }).at(-1)).toContain('exit code 0')
  expect(judged({ stuck: 'it hangs', words: [], receipts: [] })).toEqual(['stuck: it hangs'])
})

const VISIT = { person: 'p-1', source: { name: 'Drill', type: 'screening', sendingSystem: 'drill' } }

/** A row's record, told by the export of that number. */
const telling = (delivery: number, record: ExpectedRecord, said: Telling['said'] = 'through'): Telling => ({
  ...{ record: { ...record, row: 1 }, delivery, said, owed: false, waits: false, wasLeft: false },
})

describe('a value that comes back', () => {
  const pulse = (value: string): ExpectedRecord =>
    biometric({ ...VISIT, resourceKey: 'k', observedMs: 0 }, 'heart-rate', value)
  const reject = { _row: 1, _rule: pulse('70').rule, _stage: 'submit', _code: 'refused' }
  const toldAs = (values: readonly string[]): DrillExport[] =>
    values.map((value, at) => ({
      ...{ name: `${at}`, text: '', sha256: '', rows: { read: 1, mapped: 1, skipped: 0, rejected: 0 } },
      made: { biometric: 1, condition: 0, careTeam: 0 },
      told: [{ ...pulse(value), row: 1 }],
    }))
  it.each([
    [['70', '75', '70'], ['70', '75', '70'], true, [], [], []],
    [['70', '75', '70'], ['70', '75'], true, [], [], ['altered']],
    [['70', '75', '70'], ['70', '75', '70', '70'], true, [], [], ['doubled']],
    [['70', '70'], ['70', '70'], true, [], [], ['doubled']],
    [['70', '75'], ['75', '70'], true, [], [], ['altered']],
    [['70', '75'], ['75', '70'], false, [], [], []],
    [['70', '75'], ['75'], false, [], [], ['lost']],
    [['70', '75'], ['75'], true, [], [], ['lost']],
    [['70', '75'], ['75'], true, [0], [], []],
    [['70', '75'], ['70'], true, [1], [], ['lost', 'altered']],
    [['70', '75'], ['75', '70', '75'], false, [], [], ['doubled']],
    [['70', '75'], ['75', '70', '75'], false, [], [1], []],
    [['70', '75'], ['70', '75', '70'], false, [], [1], ['doubled']],
    [['70', '70'], ['70', '70'], false, [], [0], ['doubled']],
  ] as const)(
    'told %j, stored %j, in order: %j, refused at first: %j, read by a run that was given up: %j: %j',
    (told, stored, ordered, refused, givenUp, expected) => {
      const exports = toldAs(told)
      const evidence = undisturbed()
      const ids = stored.map((_, at) => `id-${at}`)
      const { faults } = judgeRound({
        ...{
          ...evidence,
          exports,
          ordered,
          givenUp: givenUp.map(String),
          receipts: ids,
          runs: [{ ...runThat(stored.length) }],
        },
        log: { accounts: 0, requests: 0, underWay: 0 },
        faults: [{ harm: { ...HARMLESS, refuses: true } }],
        words: exports.flatMap((one, at) => {
          const through = { summary: summaryOf(one), rejects: [] }
          return refused.some((which) => which === at)
            ? [{ ...through, rejects: [reject] }, through]
            : [through]
        }),
        stored: stored.map((value, at) => ({
          ...{ kind: 'biometric' as const, id: ids[at] ?? '', person: 'p-1', primary: false },
          text: pulse(value).text,
        })),
      })
      expect(faults.map((fault) => fault.split(':')[0])).toEqual(expected)
    },
  )

  it.each([
    { newest: 'refused', stored: [], expected: [] },
    { newest: 'refused', stored: ['70'], expected: [] },
    { newest: 'through', stored: ['75'], expected: [] },
    { newest: 'through', stored: [], expected: ['lost', 'lost'] },
  ])('of a backfill that has the newest first: $newest, stored $stored: $expected', (row) => {
    const exports = toldAs(['70', '75'])
    const ids = row.stored.map((_, at) => `id-${at}`)
    const { faults } = judgeRound({
      ...{ ...undisturbed(), exports, receipts: ids, runs: [runThat(ids.length)] },
      ...{ ordered: false, isDated: true, faults: [{ harm: { ...HARMLESS, refuses: true } }] },
      log: { accounts: 0, requests: 0, underWay: 0 },
      words: exports.map((one, at) => ({
        summary: summaryOf(one),
        rejects: at === 1 && row.newest === 'refused' ? [reject] : [],
      })),
      stored: row.stored.map((value, at) => ({
        ...{ kind: 'biometric', id: ids[at] ?? '', person: 'p-1', text: pulse(value).text, primary: false },
      })),
    })
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(row.expected)
  })

  it.each([
    [['75'], []],
    [['70', '75'], []],
    [['75', '70'], ['altered']],
    [['70'], ['lost', 'altered']],
    [[], ['lost']],
  ] as const)('that one export says 70 and then 75, stored %j: %j', (stored, expected) => {
    const [first] = toldAs(['70'])
    if (first === undefined) expect.fail('there is one')
    const exports = [
      {
        ...first,
        ...{ rows: { read: 2, mapped: 2, skipped: 0, rejected: 0 }, made: { ...first.made, biometric: 2 } },
        told: ['70', '75'].map((value, at) => ({ ...pulse(value), row: at + 1 })),
      },
    ]
    const ids = stored.map((_, at) => `id-${at}`)
    const { faults } = judgeRound({
      ...{ ...undisturbed(), exports, receipts: ids, runs: [runThat(stored.length)] },
      log: { accounts: 0, requests: 0, underWay: 0 },
      words: exports.map((one) => ({ summary: summaryOf(one), rejects: [] })),
      stored: stored.map((value, at) => ({
        ...{ kind: 'biometric', id: ids[at] ?? '', person: 'p-1', text: pulse(value).text, primary: false },
      })),
    })
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(expected)
  })
})

it.each([
  ['by what was there before it', ['new', 'old'], []],
  ['by what was there before it, and came once more', ['new', 'old', 'new'], []],
  ['by nothing but what was sent after it', ['old', 'new'], ['words']],
] as const)('a doubt where a newer record hides the older one %s', (_name, order, expected) => {
  const pulse = (value: string, observedMs: number): Told => ({
    ...biometric({ ...VISIT, resourceKey: `k${observedMs}`, observedMs }, 'heart-rate', value),
    row: 1,
  })
  const records = { old: pulse('70', 1), new: pulse('80', 2) }
  const exports = order.map(
    (name, at): DrillExport => ({
      ...{ name: `${at}`, text: '', sha256: '', rows: { read: 1, mapped: 1, skipped: 0, rejected: 0 } },
      ...{ made: { biometric: 1, condition: 0, careTeam: 0 }, told: [records[name]] },
    }),
  )
  const doubt = { _row: 1, _rule: 'heart-rate', _stage: 'read-back', _code: 'in-doubt' }
  const ids = order.map((_, at) => `id-${at}`)
  const { faults } = judgeRound({
    ...{ ...undisturbed(), exports, receipts: ids, runs: [runThat(ids.length)] },
    log: { accounts: 0, requests: 0, underWay: 0 },
    words: exports.map((one, at) => ({
      summary: summaryOf(one),
      rejects: order[at] === 'old' ? [doubt] : [],
    })),
    stored: order.map((name, at) => ({
      ...{ kind: 'biometric' as const, id: ids[at] ?? '', person: 'p-1', primary: false },
      text: records[name].text,
    })),
  })
  expect(faults.filter((fault) => !fault.startsWith('doubled')).map((fault) => fault.split(':')[0])).toEqual(
    expected,
  )
})

/** Exports of a row each, with a care-team entry. */
const exportsOfTeams = (told: readonly Told[]): DrillExport[] =>
  told.map((one, at) => ({
    ...{ name: `${at}`, text: '', sha256: '', rows: { read: 1, mapped: 1, skipped: 0, rejected: 0 } },
    ...{ made: { biometric: 0, condition: 0, careTeam: 1 }, told: [one] },
  }))

it.each([
  ['is excused while the last run owes its deletion', 1, false, []],
  ['is none where the last run owes nothing', 0, false, ['doubled']],
  ['is none where the last run met no fault', 1, true, ['doubled']],
] as const)('a replaced entry that stands %s', (_name, owed, owesNothing, expected) => {
  const entryOn = (day: number): Told => {
    const visit = { ...VISIT, resourceKey: `k${day}`, observedMs: day }
    return { ...careTeam(visit, { npi: 'A', name: 'A', phone: `${day}`, primary: false }), row: 1 }
  }
  const told = [entryOn(1), entryOn(2)]
  const exports = exportsOfTeams(told)
  const left = { _row: 1, _rule: told[1]?.rule ?? '', _stage: 'replace', _code: 'replaced-not-deleted' }
  const { faults } = judgeRound({
    ...{ ...undisturbed(), exports, changed: 'replace', owesNothing, receipts: ['0', '1'] },
    runs: [{ ...runThat(2), careTeams: { replaced: 0, owed } }],
    log: { accounts: 0, requests: 0, underWay: 0 },
    words: exports.map((one, at) => ({ summary: summaryOf(one), rejects: at === 1 ? [left] : [] })),
    stored: told.map(({ kind, person, text, primary }, at) => ({ kind, id: `${at}`, person, text, primary })),
  })
  expect(faults.map((fault) => fault.split(':')[0])).toEqual(expected)
})

it.each([
  { wasLeft: true, other: 'A', expected: [] },
  { wasLeft: true, other: 'B', expected: [] },
  { wasLeft: false, other: 'A', expected: ['lost'] },
  { wasLeft: false, other: 'B', expected: ['lost'] },
])(
  'of an entry of A whose row was corrected to $other, in doubt at first: $wasLeft, only the correction is stored: $expected',
  (row) => {
    const visit = { ...VISIT, resourceKey: 'k', observedMs: 1 }
    const told = ['A', row.other].map(
      (npi, at): Told => ({
        ...careTeam(visit, { npi, name: npi, phone: `${at}`, primary: false }),
        row: 1,
      }),
    )
    const exports = exportsOfTeams(told)
    const doubt = { _row: 1, _rule: told[0]?.rule ?? '', _stage: 'read-back', _code: 'in-doubt' }
    const { faults } = judgeRound({
      ...{ ...undisturbed(), exports, receipts: ['0'], runs: [runThat(1)] },
      log: { accounts: 0, requests: 0, underWay: 0 },
      words: exports.map((one, at) => ({
        ...{ summary: summaryOf(one), rejects: [], atFirst: at === 0 && row.wasLeft ? [doubt] : [] },
      })),
      stored: told
        .slice(1)
        .map(({ kind, person, text, primary }) => ({ kind, id: '0', person, text, primary })),
    })
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(row.expected)
  },
)

describe('care teams', () => {
  /** `A1*`: the physician A with the telephone 1, said to be the primary one; stored: marked. The day is the place in the list. */
  const entryOn = (text: string, day: number): ExpectedRecord => {
    const [npi = '', phone = '', primary] = text
    const visit = { ...VISIT, resourceKey: `k${day}`, observedMs: day }
    return careTeam(visit, { npi, name: npi, phone, primary: primary === '*' })
  }
  const judged = (
    changed: Evidence['changed'],
    told: string,
    stored: string,
    said: Telling['said'] = 'through',
  ): string[] => {
    const wrongs: string[] = []
    judgeCareTeams(
      {
        ...{ changed, ordered: true },
        tellings: told.split(' ').map((text, day) => telling(day, entryOn(text, day), said)),
        stored: stored.split(' ').flatMap((text, day) => {
          const { kind, person, text: body, primary } = entryOn(text, day)
          return text === '' ? [] : [{ kind, id: `${day}`, person, text: body, primary }]
        }),
      },
      (wrong) => wrongs.push(wrong),
    )
    return wrongs
  }

  it.each([
    // All told entries stand, each once, whenever it was observed.
    ['add', 'A1* A1* A2*', 'A1 A2*', []],
    ['add', 'A1* A1*', 'A1* A1', ['doubled']],
    ['add', 'A1* A2*', 'A1*', ['lost']],
    ['add', 'A1* B1*', 'A1 B1*', []],
    // The newest one stands alone.
    ['replace', 'A2* A3* A2*', 'A2*', []],
    ['replace', 'A2* A3* A2*', 'A3*', ['lost']],
    ['replace', 'A2* A3*', 'A2 A3*', ['doubled']],
    ['replace', 'A2* A3* B1', 'A3* B1', []],
    ['replace', 'A1*', '', ['lost', 'marks']],
    // One stands.
    ['keep', 'A2* A3*', 'A2*', []],
    ['keep', 'A2* A3*', 'A2 A3*', ['doubled']],
    // The mark: on the one called so last, and on nobody who is called so no longer.
    ['add', 'A1* B1*', 'A1* B1', ['marks']],
    ['add', 'A1* B1*', 'A1 B1', ['marks']],
    ['add', 'A1* B1', 'A1* B1', []],
    ['add', 'A1* A1', 'A1*', ['marks']],
    ['add', 'A1* A1', 'A1', []],
    ['add', 'A1* B1* B1', 'A1* B1', []],
    ['add', 'A1* B1* B1', 'A1 B1', []],
    ['add', 'A1* B1* B1', 'A1 B1*', ['marks']],
  ] as const)('%s: of %s there is %s: %j', (changed, told, stored, expected) => {
    expect(judged(changed, told, stored)).toEqual(expected)
  })

  it('asks for no mark at a wiped gateway that may have been sent, and lost again, a newer one', () => {
    const [b, before, a] = [entryOn('B1*', 1), entryOn('A1*', 2), entryOn('A2', 2)]
    const tellings = [telling(0, b, 'through'), telling(1, a, 'through')]
    const stored = [b, a].map(({ kind, person, text }, at) => ({
      kind,
      id: `${at}`,
      person,
      text,
      primary: false,
    }))
    const wrongs = (all: readonly Telling[]): string[] => {
      const found: string[] = []
      judgeCareTeams({ changed: 'add', ordered: true, tellings, all, stored }, (wrong) => found.push(wrong))
      return found
    }
    expect(wrongs(tellings)).toEqual(['marks'])
    expect(wrongs([telling(0, before, 'through'), ...tellings])).toEqual([])
  })

  it('asks nothing of what was refused or is in doubt, but that nothing is there twice', () => {
    expect(judged('replace', 'A1* A2*', 'A1', 'in-doubt')).toEqual([])
    expect(judged('add', 'A1* B1*', 'B1', 'refused')).toEqual([])
    expect(judged('add', 'A1* B1*', 'B1 B1', 'in-doubt')).toEqual(['doubled'])
  })
})

it('keeps what is told to be owed of a record that no later run takes up, as it is there', async () => {
  const folder = await temporaryFolder()
  const told = async (name: string, ...lines: string[]): Promise<string> => {
    await writeFile(join(folder, name), ['_row,_rule,_stage,_code', ...lines, ''].join('\n'))
    return join(folder, name)
  }
  const runs = [
    { run: 'again', origin: { run: 'first' }, rejects: await told('again.csv', '3,,extract,row-too-short') },
    {
      run: 'first',
      rejects: await told(
        'first.csv',
        ...['3,,extract,row-too-short', '5,pulse,submit,refused', '7,pcp,primary-care,mark-refused'],
      ),
    },
  ].map(({ run, rejects, ...more }) => {
    const [summary] = undisturbed().words.map((word) => word.summary)
    if (summary === undefined) throw new Error('no word')
    return { ...runThat(1), run, ...more, exports: [{ ...summary, rejects }] }
  })
  const [word] = await wordsOf(runs)
  expect(word?.rejects.map(({ _row }) => _row)).toEqual([3, 7])
})

describe('a gateway that was wiped', () => {
  const wiped = (isStored: (record: StoredRecord, person: string) => boolean) => {
    const evidence = { ...undisturbed(), wiped: 'nobody' as const, forgotten: true }
    const person = evidence.stored.find(({ kind }) => kind === 'condition')?.person ?? ''
    const stored = evidence.stored.filter((record) => isStored(record, person))
    return judgeRound({ ...evidence, stored, receipts: stored.map(({ id }) => id) })
  }

  it('may lack people of whom it has nothing', () => {
    expect(wiped((record, person) => record.person !== person).counts.lost).toBe(0)
  })

  it('lacks nothing of people of whom it has anything', () => {
    const { counts, faults } = wiped(
      (record, person) => record.person !== person || record.kind !== 'biometric',
    )
    expect(counts.lost, faults.join('\n')).toBeGreaterThan(0)
  })
})

it('deliveries of one name are told apart by their bytes', () => {
  const [first, second] = EXPORTS as [DrillExport, DrillExport]
  const exports = [first, { ...second, name: first.name }]
  const words = exports.map((one) => ({ summary: summaryOf(one), rejects: [] }))
  const evidence = undisturbed()
  expect(judgeRound({ ...evidence, exports, words }).faults).toEqual([])
  expect(judgeRound({ ...evidence, exports, words: words.slice(0, 1) }).faults).toEqual([
    `words: ${first.name}: no word on it`,
  ])
})
