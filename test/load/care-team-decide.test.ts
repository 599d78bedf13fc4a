import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { KnownCareTeam, OwedDeletion } from '../../src/ledger/ledger.ts'
import {
  decideDeletion,
  decideEntries,
  decideFollowUp,
  decideMark,
  isNewWord,
} from '../../src/load/care-team-decide.ts'
import {
  type CareTeam,
  type CareTeamJob,
  type HadCareTeam,
  placeOfWord,
  type WantedCareTeam,
  wasHeard,
} from '../../src/load/care-team-slot.ts'
import { after, before, had, JOB, knows, made, NPI, OTHER, teamOf, wants } from './made-up-care-teams.ts'
import { IDENTITY, type Made, OBSERVED_AT } from './made-up-entries.ts'

const OTHER_JOB = 2
const wanted = wants(made())
const renamed = { name: 'Former Practice' }
const SHOWN = { shownUntil: 5_000 }
const unread = { listed: 'unreadable' } as const
const older = wants(made({ row: 1 }))
const newer = wants(made({ row: 2, observedAt: after }))
const elsewhere = (fields: Made = {}) => wants(made({ row: 3, name: 'Other Practice', ...fields }))
const uncertain = (one: WantedCareTeam): WantedCareTeam => ({ ...one, isUncertain: true })
const as = (one: WantedCareTeam, status: WantedCareTeam['status']): WantedCareTeam => ({ ...one, status })
const saysLess: WantedCareTeam = { ...older, fields: { npi: NPI, name: 'Test Practice' } }
const saysMore: WantedCareTeam = { ...older, fields: { ...older.fields, city: 'Springfield' } }
const stored = (at: number, npi: string = NPI): KnownCareTeam => ({ ...knows(npi, 'none'), storedAt: at })

type Changed = CareTeamJob['changed']
const ALL = ['add', 'replace', 'keep'] as const
const NOT_REPLACE = ['add', 'keep'] as const

/** Line, ways of the job, step of the first open entry (with its reason), slot. */
const ENTRIES: readonly [line: number, ways: readonly Changed[], step: string, team: CareTeam][] = [
  [1, ALL, 'doubt', teamOf([], [uncertain(wanted)], [], unread)],
  [1, ALL, 'doubt', teamOf([], [wanted], [knows(NPI, 'none')], unread)],
  [2, ['replace'], 'behind', teamOf([], [elsewhere({ observedAt: before }), newer])],
  [2, ['replace'], 'behind', teamOf([], [saysMore, newer])],
  [2, ['replace'], 'omit care-team-outdated', teamOf([], [saysMore, as(newer, 'created')])],
  [2, ['replace'], 'omit care-team-outdated', teamOf([], [saysMore, as(newer, 'doubtful')])],
  [
    2,
    ['replace'],
    'omit care-team-outdated',
    teamOf([had()], [older, as(elsewhere({ observedAt: after }), 'delivered')]),
  ],
  [4, ['replace'], 'omit care-team-outdated', teamOf([had({ ...renamed, observedAt: after })], [wanted])],
  [4, ['replace'], 'omit care-team-outdated', teamOf([had({ ...renamed, place: 2 })], [wanted])],
  [3, ['replace'], 'known', teamOf([had(), had({ id: '2', ...renamed, observedAt: after })], [wanted])],
  [3, ALL, 'known', teamOf([had()], [wanted])],
  [3, ALL, 'known', teamOf([had({ observedAt: before })], [wanted])],
  [3, ALL, 'known', teamOf([had({ observedAt: after })], [wanted])],
  [3, ALL, 'known', teamOf([had({ city: 'Springfield' })], [uncertain(wanted)])],
  [3, ALL, 'known', teamOf([], [older, as(newer, 'created')])],
  [5, ALL, 'share', teamOf([], [older, newer])],
  [5, ALL, 'share', teamOf([], [saysLess, newer])],
  [5, ALL, 'share', teamOf([], [older, newer], [stored(9_999)], SHOWN)],
  [5, ALL, 'share', teamOf([], [older, as(newer, 'doubtful')])],
  [5, ALL, 'share', teamOf([], [as(older, 'doubtful'), newer])],
  [5, ALL, 'share', teamOf([], [newer, uncertain(older)], [], unread)],
  [6, ['keep'], 'omit care-team-kept', teamOf([had({ ...renamed, observedAt: before })], [wanted])],
  [6, ['keep'], 'omit care-team-kept', teamOf([had({ type: 'SPECIALIST' })], [wanted])],
  [6, ['keep'], 'behind', teamOf([], [elsewhere({ observedAt: before }), newer])],
  [
    6,
    ['keep'],
    'omit care-team-kept',
    teamOf([], [as(elsewhere({ observedAt: before }), 'delivered'), newer]),
  ],
  [6, ['keep'], 'omit care-team-kept', teamOf([], [elsewhere(), as(newer, 'created')])],
  [7, ALL, 'look', teamOf([], [wanted], [stored(5_001)], SHOWN)],
  [8, ALL, 'create', teamOf([], [wanted], [stored(5_000)], SHOWN)],
  [7, ALL, 'look', teamOf([], [wanted], [stored(9_999)], { ...SHOWN, looks: 1 })],
  [7, ALL, 'doubt', teamOf([], [wanted], [stored(9_999)], { ...SHOWN, looks: 2 })],
  [5, ALL, 'share', teamOf([], [older, newer], [stored(9_999)], { ...SHOWN, looks: 2 })],
  // The wait for another provider was shorter: what the list shows is there, however late the list is.
  [3, ALL, 'known', teamOf([had()], [uncertain(wanted)], [stored(9_999)], { ...SHOWN, looks: 1 })],
  [8, ALL, 'create', teamOf([], [wanted], [stored(9_999, OTHER)], { ...SHOWN, looks: 1 })],
  [8, ALL, 'create', teamOf([], [wanted], [knows(OTHER, 'none')], unread)],
  [8, ALL, 'create', teamOf([had({ npi: OTHER })], [wanted])],
  [8, ['add'], 'create', teamOf([], [elsewhere({ observedAt: before }), newer])],
  [8, ['add', 'replace'], 'create', teamOf([had({ ...renamed, observedAt: before })], [wanted])],
  [8, ['add', 'replace'], 'create', teamOf([had(renamed)], [wanted])],
  [8, ['add', 'replace'], 'create', teamOf([had({ ...renamed, place: 1 })], [wanted])],
  [8, ['add', 'replace'], 'create', teamOf([had({ ...renamed, observedAt: undefined })], [wanted])],
  [8, ['add'], 'create', teamOf([had({ ...renamed, observedAt: after })], [wanted])],
  [8, NOT_REPLACE, 'create', teamOf([], [newer, saysMore])],
]

const entry = made({ name: 'New Practice' })
const NEW = wants(entry, 'created')
const shown = (fields: Parameters<typeof had>[0] = {}) => had({ id: 'new', name: 'New Practice', ...fields })
const old = (fields: Parameters<typeof had>[0] = {}) => had({ id: 'old', listedAt: before, ...fields })
const owes = (by: string | undefined, until = OBSERVED_AT, ...inDoubt: string[]): OwedDeletion => ({
  ...{ by: by === undefined ? [] : [[by]], until, isSeen: true, inDoubt },
})
const rowOf = (deletions: readonly OwedDeletion[], fields: Partial<KnownCareTeam> = {}): KnownCareTeam => ({
  ...{ ...knows(NPI, 'none'), deletions, deletionsBy: JOB, ...fields },
})
/** Slot of an account that owes deletions of one provider. */
const owing = (
  deletions: readonly OwedDeletion[],
  has: readonly HadCareTeam[],
  more: Partial<CareTeam> = {},
) => teamOf(has, [], [rowOf(deletions)], more)
const inDoubt = (...contents: string[]) => ({ doubts: new Set(contents) })
/** Slot of a chunk that has created an entry under our id. */
const created = (has: readonly HadCareTeam[], more: Partial<CareTeam> = {}) =>
  teamOf(has, [NEW], [], {
    ...{ isWhole: false, deletions: new Map([[NEW.npi, [owes(entry.transactionId)]]]), ...more },
  })
/** The entry was in doubt before this chunk. */
const WAS_IN_DOUBT = {
  deletions: new Map([[NEW.npi, [owes(entry.transactionId, OBSERVED_AT, 'content-1')]]]),
}
const OF_OTHERS = { ours: 'a record of somebody else' }
const [FIRST, SECOND] = ['content-1', 'content-2']

/** Line, step, what it deletes or still owes, slot. */
const DELETIONS: readonly [line: number, step: string, of: unknown, team: CareTeam][] = [
  [9, 'nothing', undefined, owing([], [shown(), old()])],
  [9, 'nothing', undefined, teamOf([shown(), old()], [], [rowOf([owes('new')], { deletionsBy: OTHER_JOB })])],
  [9, 'nothing', undefined, owing([owes('new')], [shown(), old()], { isWhole: false })],
  [
    14,
    'look',
    undefined,
    owing([owes(undefined)], [], { known: [rowOf([owes(undefined)], { storedAt: 5_001 })], ...SHOWN }),
  ],
  [
    14,
    'look',
    undefined,
    owing([owes('new')], [], { known: [rowOf([owes('new')], { storedAt: 5_001 })], ...SHOWN }),
  ],
  [
    15,
    'wait',
    [],
    owing([owes(undefined)], [], {
      known: [rowOf([owes(undefined)], { storedAt: 5_001 })],
      ...SHOWN,
      looks: 2,
    }),
  ],
  [
    11,
    'over',
    [],
    owing([owes('new')], [shown()], { known: [rowOf([owes('new')], { storedAt: 5_001 })], ...SHOWN }),
  ],
  [10, 'wait', [], created([shown(), old()], { refused: new Set([NEW.npi]) })],
  [11, 'over', [], owing([owes('new')], [shown()])],
  [11, 'over', [], owing([owes('new')], [])],
  [11, 'over', [], created([])],
  [11, 'over', [], owing([owes('new')], [shown(), old({ listedAt: after })])],
  [11, 'over', [], owing([owes('new')], [shown({ id: 'old' })])],
  [11, 'over', [], owing([owes(undefined)], [])],
  [11, 'over', [], owing([owes(undefined)], [old(OF_OTHERS)])],
  [
    11,
    'over',
    [],
    owing([owes('new')], [shown(), old({ listedAt: undefined })], {
      known: [rowOf([owes('new')], { observedAt: after })],
    }),
  ],
  [11, 'over', [], created([shown(), old({ listedAt: undefined })])],
  [11, 'over', [owes('new')], owing([owes('new'), owes('x', after, FIRST)], [], inDoubt(FIRST))],
  [
    11,
    'over',
    [{ ...owes('new', OBSERVED_AT, SECOND), isSeen: false }],
    owing([owes('x', before, SECOND), owes('new')], [shown()], inDoubt(SECOND)),
  ],
  [11, 'over', [], owing([owes('x', before, SECOND), owes('new')], [shown()])],
  // The doubt is about the replacing entry, which is listed by one of its two ids.
  [
    11,
    'over',
    [],
    owing(
      [owes('x', before, entry.content), { ...owes('new'), by: [[entry.transactionId, 'new']] }],
      [shown()],
      inDoubt(entry.content),
    ),
  ],
  [
    11,
    'wait',
    [],
    owing([{ ...owes('new', OBSERVED_AT, SECOND), isSeen: false }], [shown()], inDoubt(SECOND)),
  ],
  [12, 'delete', ['old'], owing([owes('new')], [shown(), old()])],
  [12, 'delete', ['old'], owing([owes('new')], [shown(), old({ listedAt: OBSERVED_AT })])],
  [12, 'delete', ['old'], owing([owes('ours')], [had({ id: 'x', ours: 'ours' }), old()])],
  [12, 'delete', ['old'], owing([owes('ours')], [shown(), old()])],
  [
    12,
    'delete',
    ['old', 'double'],
    owing([owes('new')], [shown(), old(), had({ id: 'double', name: 'New Practice' })]),
  ],
  [12, 'delete', ['old'], owing([owes('new')], [shown(), old(), old({ id: 'x', listedAt: after })])],
  [
    12,
    'delete',
    ['old'],
    owing([owes('new')], [shown(), old({ listedAt: undefined })], {
      known: [rowOf([owes('new')], { observedAt: before })],
    }),
  ],
  [12, 'delete', ['old'], owing([owes('new')], [shown(), old(), old({ id: 'z', npi: OTHER })])],
  [12, 'delete', ['old'], owing([owes('new')], [shown(), old(OF_OTHERS)])],
  [12, 'delete', ['old'], owing([owes(undefined)], [old()])],
  [12, 'delete', ['old'], owing([owes(undefined)], [old({ ours: entry.transactionId })])],
  [12, 'delete', ['old'], created([shown(), old()])],
  [12, 'delete', ['old'], owing([owes('x', before, SECOND), owes('new')], [shown(), old()], inDoubt(SECOND))],
  [13, 'over', [], owing([owes('new', OBSERVED_AT, FIRST)], [old()])],
  [13, 'over', [owes('new')], owing([owes('new'), owes('x', after, FIRST)], [shown(), old()])],
  [14, 'look', undefined, created([old()])],
  [14, 'look', undefined, created([old()], { looks: 1 })],
  [14, 'look', undefined, created([], unread)],
  [14, 'look', undefined, created([old()], WAS_IN_DOUBT)],
  [15, 'wait', [entry], created([old()], { looks: 2, ...WAS_IN_DOUBT })],
  [13, 'over', [], created([old()], { wanted: [as(NEW, 'delivered')], ...WAS_IN_DOUBT })],
  [15, 'wait', [entry], created([old()], { looks: 2 })],
  [15, 'wait', [entry], created([], { ...unread, looks: 2 })],
  [15, 'wait', [entry], created([old()], { wanted: [as(NEW, 'doubtful')] })],
  [15, 'wait', [], owing([owes('new')], [], unread)],
  [15, 'wait', [], owing([owes('new')], [old()])],
  [15, 'wait', [], owing([owes('ours')], [old(), shown({ name: 'x' }), had({ id: 'y' })])],
  [15, 'wait', [], owing([owes('new', OBSERVED_AT, FIRST)], [old()], inDoubt(FIRST))],
  [15, 'wait', [], owing([owes('new'), owes('x', after, FIRST)], [shown(), old()], inDoubt(FIRST))],
  [15, 'wait', [], owing([{ ...owes('new'), by: [['new'], ['beside']] }], [shown(), old()])],
]

const says = (primary: boolean | 'unsaid', fields: Made = {}, status: WantedCareTeam['status'] = 'stored') =>
  wants(made({ ...fields, primary }), status)
const marked = (fields: Parameters<typeof had>[0] = {}) => had({ isMarked: true, ...fields })
const other = { npi: OTHER, id: 'other' }
const unlisted = had({ isListed: false })
const own = (npi: string, mark: KnownCareTeam['mark'], fields: Partial<KnownCareTeam> = {}) => ({
  ...{ ...knows(npi, mark), markBy: JOB, ...fields },
})
const ofOther = (npi: string, mark: KnownCareTeam['mark']) => own(npi, mark, { markBy: OTHER_JOB })
const yes = says(true)
const no = says(false)

/** Line, step, provider of the step, slot. */
const MARKS: readonly [line: number, step: string, npi: string | undefined, team: CareTeam][] = [
  [16, 'nothing', undefined, teamOf([had()], [yes], [], { isMarkDone: true })],
  [16, 'nothing', undefined, teamOf([had()], [], [ofOther(NPI, 'to-set')])],
  [16, 'nothing', undefined, teamOf([marked()], [], [ofOther(NPI, 'to-unset')])],
  [16, 'nothing', undefined, teamOf([], [], [own(NPI, 'to-set')], unread)],
  [17, 'marked', NPI, teamOf([marked()], [yes])],
  [17, 'marked', NPI, teamOf([marked({ observedAt: after })], [yes])],
  [17, 'marked', OTHER, teamOf([had(), marked({ ...other, observedAt: after })], [yes])],
  [17, 'marked', NPI, teamOf([marked({ name: 'Other', observedAt: after })], [yes])],
  [17, 'marked', NPI, teamOf([marked({ name: 'Other' })], [yes])],
  [17, 'marked', NPI, teamOf([marked()], [says('unsaid')])],
  [17, 'marked', NPI, teamOf([marked()], [no, says(true, { row: 2 })])],
  [17, 'marked', NPI, teamOf([marked()], [says(false, { observedAt: before })])],
  [17, 'marked', NPI, teamOf([marked()], [yes, says(false, { rule: 'other' })])],
  [17, 'marked', NPI, teamOf([marked()], [says(false, {}, 'delivered')])],
  [17, 'marked', NPI, teamOf([marked()], [], [own(NPI, 'to-set')])],
  [18, 'settled', undefined, teamOf([unlisted], [yes], [knows(OTHER, 'set', after)])],
  [
    18,
    'settled',
    undefined,
    teamOf(
      [had()],
      [yes],
      [ofOther(OTHER, 'to-set')].map((one) => ({ ...one, observedAt: after })),
    ),
  ],
  [19, 'mark', NPI, teamOf([had()], [yes])],
  [19, 'mark', NPI, teamOf([had(), marked({ ...other, observedAt: before })], [yes])],
  [19, 'mark', NPI, teamOf([unlisted, marked(other)], [yes])],
  [19, 'mark', NPI, teamOf([had(), marked({ ...other, observedAt: undefined })], [yes])],
  [19, 'mark', NPI, teamOf([had(), marked({ name: 'Other', observedAt: before })], [yes])],
  [19, 'mark', NPI, teamOf([unlisted], [yes], [knows(OTHER, 'set', before)])],
  [19, 'mark', NPI, teamOf([unlisted], [yes], [knows(OTHER, 'to-set', before)])],
  [19, 'mark', NPI, teamOf([unlisted], [yes], [knows(OTHER, 'none', after)])],
  [19, 'mark', OTHER, teamOf([marked(), had(other)], [no, says(true, { npi: OTHER })])],
  [19, 'mark', NPI, teamOf([had()], [], [own(NPI, 'to-set')])],
  [
    19,
    'mark',
    NPI,
    teamOf(
      [had(), marked({ ...other, listedAt: before, observedAt: after })],
      [],
      [own(NPI, 'to-set'), { ...knows(OTHER, 'withdrawn', after) }],
    ),
  ],
  [19, 'mark', NPI, teamOf([had()], [says(true, {}, 'doubtful')])],
  [20, 'drop', NPI, teamOf([], [], [own(NPI, 'to-set')])],
  [20, 'drop', NPI, teamOf([], [], [own(NPI, 'to-set', { content: FIRST })])],
  [21, 'wait', NPI, teamOf([], [], [own(NPI, 'to-set', { content: FIRST })], inDoubt(FIRST))],
  [21, 'wait', NPI, teamOf([], [yes])],
  [21, 'wait', NPI, teamOf([], [], [own(NPI, 'to-set', { storedAt: 5_001 })], SHOWN)],
  [21, 'wait', NPI, teamOf([], [says(true, {}, 'doubtful')])],
  [21, 'wait', NPI, teamOf([had(renamed)], [says(true, {}, 'doubtful')])],
  [21, 'wait', OTHER, teamOf([unlisted], [yes], [own(OTHER, 'to-set', { observedAt: after })])],
  [22, 'settled', undefined, teamOf([had()], [no])],
  [
    22,
    'settled',
    undefined,
    teamOf([marked()], [says('unsaid', { npi: OTHER })], [ofOther(NPI, 'to-unset')]),
  ],
  [22, 'settled', undefined, teamOf([marked()], [says('unsaid', { npi: OTHER })], [knows(NPI, 'withdrawn')])],
  [23, 'unmark', NPI, teamOf([marked()], [no])],
  [23, 'unmark', NPI, teamOf([had()], [no], [knows(NPI, 'set')])],
  [23, 'unmark', NPI, teamOf([marked()], [], [own(NPI, 'to-unset')])],
  [23, 'unmark', NPI, teamOf([had()], [], [own(NPI, 'to-unset')])],
  [23, 'unmark', NPI, teamOf([marked()], [says(false, { observedAt: after })], [ofOther(NPI, 'to-unset')])],
  [
    23,
    'unmark',
    OTHER,
    teamOf([marked(), marked(other)], [], [ofOther(NPI, 'to-unset'), own(OTHER, 'to-unset')]),
  ],
  [
    23,
    'unmark',
    NPI,
    teamOf(
      [marked({ observedAt: before }), had(other)],
      [says(true, { npi: OTHER }), says(false, { npi: OTHER, observedAt: after })],
    ),
  ],
  [
    23,
    'unmark',
    NPI,
    teamOf(
      [marked({ observedAt: before }), had(other)],
      [says(true, { npi: OTHER })],
      [own(OTHER, 'withdrawn', { observedAt: after })],
    ),
  ],
  [24, 'wait', NPI, teamOf([], [no], [knows(NPI, 'set')], unread)],
  [25, 'settled', undefined, teamOf([], [no], [knows(NPI, 'set')])],
  [25, 'settled', undefined, teamOf([], [], [own(NPI, 'to-unset')])],
]

const job = { changed: 'replace', missing: 'delete', jobId: JOB } as const

describe('the table of a care team', () => {
  it.each(ENTRIES)('line %i, %j: %s', (_line, ways, step, team) => {
    for (const changed of ways) {
      const [first] = team.wanted.filter(({ status }) => status === 'open')
      const decided = first && decideEntries(team, { changed }).get(first.entry)
      const why = decided?.step === 'omit' ? ` ${decided.why}` : ''
      expect(`${decided?.step}${why}`).toBe(step)
    }
  })

  it.each(DELETIONS)('line %i: %s %j', (_line, step, of, team) => {
    const decided = decideDeletion(team, NEW.npi, job)
    expect(decided.step).toBe(step)
    if (decided.step === 'delete') expect(decided.remove.map(({ id }) => id)).toEqual(of)
    if (decided.step === 'over') expect(decided.left).toEqual(of)
    if (decided.step === 'wait') expect(decided.unlisted.map((one) => one.entry)).toEqual(of)
  })

  it.each(MARKS)('line %i: %s %s', (_line, step, npi, team) => {
    const decided = decideMark(team, job)
    expect(decided.step).toBe(step)
    expect('npi' in decided ? decided.npi : undefined).toBe(npi && IDENTITY.npi(npi))
  })

  it('is the one that the page on delivery shows', async () => {
    const page = await readFile('docs/delivery.md', 'utf8')
    const [, table = ''] = /<!-- care-team -->\n([\s\S]*?)<!-- \/care-team -->/.exec(page) ?? []
    const told = table.split('\n').flatMap((row) => {
      const [, when = '', step = ''] = row.split('|').map((cell) => cell.trim())
      const [, line] = /^(\d+)\./.exec(when) ?? []
      const steps = [...step.matchAll(/`([a-z]+)`/g)].map(([, name]) => name)
      return line === undefined ? [] : steps.map((name) => `${line} ${name}`)
    })
    const tested = [
      ...ENTRIES.map(([line, , step]) => `${line} ${step.split(' ')[0]}`),
      ...[...DELETIONS, ...MARKS].map(([line, step]) => `${line} ${step}`),
    ]
    expect(told.sort()).toEqual([...new Set(tested)].sort())
  })

  it('does nothing of missing providers, or of replaced entries, that the job no longer deletes', () => {
    const keeps = { ...job, missing: 'keep' } as const
    expect(decideDeletion(owing([owes(undefined)], [old()]), NEW.npi, keeps).step).toBe('nothing')
    const adds = { ...job, changed: 'add' } as const
    expect(decideDeletion(owing([owes('new')], [shown(), old()]), NEW.npi, adds).step).toBe('nothing')
  })

  it('counts a deletion that is over by itself only where a list had shown what to delete, and the new entry stands', () => {
    const isGone = (team: CareTeam) => {
      const step = decideDeletion(team, NEW.npi, job)
      return step.step === 'over' && step.isGone
    }
    expect(isGone(owing([owes('new')], [shown()]))).toBe(true)
    expect(isGone(owing([{ ...owes('new'), isSeen: false }], [shown()]))).toBe(false)
    expect(isGone(owing([owes('new', OBSERVED_AT, FIRST)], [], inDoubt(FIRST)))).toBe(false)
  })

  it('deletes before it marks, and a deletion that waits keeps no mark waiting', () => {
    const both = (has: readonly HadCareTeam[]) =>
      decideFollowUp(teamOf(has, [], [rowOf([owes('new')], { mark: 'to-set', markBy: JOB })]), job).step
    expect(both([shown(), old()])).toBe('delete')
    expect(both([shown()])).toBe('over')
    expect(both([old()])).toBe('mark')
  })

  it('tells whom the words leave without the mark, and no others', () => {
    const leftBy = (team: CareTeam) => Object.fromEntries(decideMark(team, job).left)
    const another = IDENTITY.npi(OTHER)
    expect(leftBy(teamOf([had()], [no]))).toEqual({ [no.npi]: 'withdrawn' })
    expect(leftBy(teamOf([had()], [no, says(true, { row: 2 })]))).toEqual({})
    expect(leftBy(teamOf([had()], [yes], [ofOther(OTHER, 'to-unset')]))).toEqual({})
    expect(leftBy(teamOf([had()], [yes], [ofOther(OTHER, 'to-set')]))).toEqual({})
    // Debts of the job that the words have overtaken.
    expect(leftBy(teamOf([], [], [own(NPI, 'to-unset')]))).toEqual({ [no.npi]: 'withdrawn' })
    expect(leftBy(teamOf([had()], [yes], [own(OTHER, 'to-set', { observedAt: before })]))).toEqual({
      [another]: 'none',
    })
    expect(
      leftBy(teamOf([], [], [own(OTHER, 'to-set', { observedAt: before }), own(NPI, 'to-unset')], unread)),
    ).toEqual({})
    expect(leftBy(teamOf([had()], [], [own(NPI, 'to-set')]))).toEqual({})
  })

  it('marks the later of two rows of one date, in whatever order they are told', () => {
    const rows = [says(true), says(true, { row: 2, npi: OTHER })]
    for (const said of [rows, rows.toReversed()])
      expect(decideMark(teamOf([had(), had(other)], said), job)).toMatchObject({
        ...{ step: 'mark', npi: IDENTITY.npi(OTHER) },
      })
    // What another row has said since, as the ledger knows.
    const heard = own(OTHER, 'set', { heardAt: 5 })
    expect(decideMark(teamOf([had(), had(other)], [says(true, { row: 4 })], [heard]), job).step).toBe(
      'settled',
    )
    expect(decideMark(teamOf([had(), had(other)], [says(true, { row: 6 })], [heard]), job).step).toBe('mark')
  })
})

describe('a word that was heard', () => {
  const npi = IDENTITY.npi(NPI)
  const heard = (at: number, place: number) =>
    wasHeard([{ ...knows(NPI, 'set'), heardAt: placeOfWord(2, 7) }], { npi, at, place })

  it('is one of the same date from the same row, an earlier one, or an earlier export', () => {
    expect(heard(OBSERVED_AT, placeOfWord(2, 7))).toBe(true)
    expect(heard(OBSERVED_AT, placeOfWord(2, 6))).toBe(true)
    expect(heard(OBSERVED_AT, placeOfWord(1, 400_000_000))).toBe(true)
    expect(heard(before, placeOfWord(1, 1))).toBe(true)
  })

  it('is none from a later row or export, of a newer date, or of another provider', () => {
    expect(heard(OBSERVED_AT, placeOfWord(2, 8))).toBe(false)
    expect(heard(OBSERVED_AT, placeOfWord(3, 1))).toBe(false)
    expect(heard(after, placeOfWord(1, 1))).toBe(false)
    expect(wasHeard([knows(OTHER, 'set')], { npi, at: before, place: 0 })).toBe(false)
  })

  it('is news where it contradicts the mark that is known', () => {
    const isNews = (mark: KnownCareTeam['mark'], primary: boolean | 'unsaid', isHeard = false) =>
      isNewWord([knows(NPI, mark)], { ...says(primary), isHeard })
    expect([
      isNews('set', true),
      isNews('to-set', true),
      isNews('none', false),
      isNews('withdrawn', false),
    ]).toEqual(Array(4).fill(false))
    expect([isNews('none', true), isNews('to-unset', true), isNews('set', false)]).toEqual(
      Array(3).fill(true),
    )
    expect([isNews('none', 'unsaid'), isNews('none', true, true)]).toEqual([false, false])
  })
})
