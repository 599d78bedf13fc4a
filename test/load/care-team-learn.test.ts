import { describe, expect, it } from 'vitest'
import type { KnownCareTeam, OwedDeletion } from '../../src/ledger/ledger.ts'
import { decideMark, type MarkStep } from '../../src/load/care-team-decide.ts'
import { learnCareTeam, rowsToSave } from '../../src/load/care-team-learn.ts'
import {
  type CareTeam,
  careTeamOf,
  type HadCareTeam,
  type WantedCareTeam,
} from '../../src/load/care-team-slot.ts'
import { after, before, had, JOB, knows, made, NPI, OTHER, teamOf, wants } from './made-up-care-teams.ts'
import { IDENTITY, OBSERVED_AT } from './made-up-entries.ts'

const entry = made({ name: 'New Practice' })
const NEW = wants(entry, 'created')
const shown = had({ id: 'new', name: 'New Practice' })
const old = (fields: Parameters<typeof had>[0] = {}) =>
  had({ id: 'old', observedAt: before, listedAt: before, ...fields })
const [FIRST, SECOND] = ['content-1', 'content-2']
const owes = (by: string, until: number, ...inDoubt: string[]): OwedDeletion => ({
  ...{ by: [[by]], until, isSeen: true, inDoubt },
})
const row = (deletions: readonly OwedDeletion[], mark: KnownCareTeam['mark'] = 'none'): KnownCareTeam => ({
  ...{ ...knows(NPI, mark), deletions, deletionsBy: 2 },
})
const WHOSE = { account: 'a', accountId: 'id of the account' }
const saved = (team: CareTeam) => rowsToSave(team, WHOSE, { jobId: JOB }, 77)

describe('what a settled chunk owes of a provider', () => {
  const settle = (
    wanted: readonly WantedCareTeam[],
    has: readonly HadCareTeam[],
    deletions: readonly OwedDeletion[] = [],
    changed: 'replace' | 'add' = 'replace',
  ) =>
    learnCareTeam(teamOf(has, [], [row(deletions)]), { what: 'settled', wanted, changed }).deletions.get(
      NEW.npi,
    )
  const doubtful: WantedCareTeam = { ...NEW, status: 'doubtful' }
  const until = OBSERVED_AT
  const id = entry.transactionId
  const owed = { by: [[id]], until, isSeen: false, inDoubt: [] }
  const shownLater = old({ observedAt: OBSERVED_AT, place: NEW.place + 1 })

  it.each([
    ['all but the new entry', [NEW], [old()], [], [{ ...owed, isSeen: true }]],
    [
      'nothing as missing, though it was missing at a later date',
      [NEW],
      [old()],
      [{ ...owed, by: [], until: until + 1 }],
      [{ ...owed, isSeen: true }],
    ],
    ['it by the id of the answer, too', [{ ...NEW, id: 'new' }], [], [], [{ ...owed, by: [[id, 'new']] }]],
    ['it by the id of the list', [NEW], [shown, old()], [], [{ ...owed, by: [[id, 'new']], isSeen: true }]],
    [
      'the entry of our id before another of equal fields',
      [NEW],
      [had({ id: 'x', name: 'New Practice', isMarked: true }), { ...shown, ours: id }],
      [],
      [{ ...owed, by: [[id, 'new']], isSeen: true }],
    ],
    [
      'the marked one before a newer one',
      [NEW],
      [{ ...shown, isMarked: true }, had({ id: 'x', name: 'New Practice', observedAt: OBSERVED_AT })],
      [],
      [{ ...owed, by: [[id, 'new']], isSeen: true }],
    ],
    [
      'nothing where all of it was delivered before',
      [{ ...NEW, status: 'delivered' }],
      [shown, old()],
      [],
      undefined,
    ],
    ['nothing where a newer one is there', [NEW], [shown, old({ observedAt: after })], [], undefined],
    [
      'nothing for rows passed over for one that was delivered before',
      [wants(made({ observedAt: before }), 'stored'), { ...NEW, status: 'delivered' }],
      [old()],
      [],
      undefined,
    ],
    ['nothing where one of its date and a later place is there', [NEW], [shownLater], [], undefined],
    ['what stood there unseen, once the list has shown it', [NEW], [old({ isListed: false })], [], [owed]],
    ['the newer one in place of the older', [NEW], [old()], [owes('a', before)], [{ ...owed, isSeen: true }]],
    [
      'both, where the newer one is in doubt',
      [doubtful],
      [old()],
      [owes('a', before)],
      [owes('a', before), { ...owed, isSeen: true, inDoubt: [entry.content] }],
    ],
    [
      'the one in doubt before a newer one',
      [doubtful],
      [],
      [owes('b', after)],
      [{ ...owed, inDoubt: [entry.content] }, owes('b', after)],
    ],
    [
      'once, where it is in doubt still',
      [doubtful],
      [old()],
      [owes('b', until, entry.content)],
      [owes('b', until, entry.content)],
    ],
    [
      'what a record in doubt may turn out to be',
      [NEW],
      [],
      [owes('a', before, FIRST)],
      [{ ...owed, inDoubt: [FIRST] }],
    ],
    ['nothing of it, where that record is the one that stands', [NEW], [], [owes(id, until, FIRST)], [owed]],
    ['what is newer than it, too', [NEW], [], [owes('b', after, FIRST)], [owed, owes('b', after, FIRST)]],
  ] as [string, WantedCareTeam[], HadCareTeam[], OwedDeletion[], OwedDeletion[] | undefined][])(
    '%s',
    (_name, wanted, has, earlier, left) => expect(settle(wanted, has, earlier)).toEqual(left),
  )

  it('nothing any more, where the job keeps old entries and wants this one', () => {
    expect(settle([{ ...NEW, status: 'stored' }], [shown], [owes('x', after)], 'add')).toEqual([])
    expect(settle([{ ...NEW, status: 'delivered' }], [shown], [owes('x', after)], 'add')).toBeUndefined()
    expect(settle([{ ...NEW, status: 'stored' }], [], [owes('x', after)], 'add')).toBeUndefined()
  })

  it('waits for the records in doubt of the chunk, and of the ledger where nothing else is known', () => {
    const team = careTeamOf([row([owes('a', before, FIRST)])], { isWhole: false })
    const learned = learnCareTeam(team, { what: 'settled', wanted: [doubtful], changed: 'replace' })
    expect([...learned.doubts]).toEqual([FIRST, entry.content])
  })
})

describe('a list', () => {
  it('counts as looked at from the second read on, and one that cannot be read takes nothing back', () => {
    const unread = careTeamOf([], { isWhole: false })
    const once = learnCareTeam(unread, { what: 'listed', listed: [shown], shownUntil: 3 })
    const twice = learnCareTeam(once, { what: 'listed', listed: 'unreadable', shownUntil: 9 })
    expect([once, twice]).toMatchObject([
      { looks: 0, shownUntil: 3, listed: [shown] },
      { looks: 1, shownUntil: 3, listed: [shown] },
    ])
    expect(learnCareTeam(unread, { what: 'listed', listed: 'unreadable', shownUntil: 3 }).listed).toBe(
      'unreadable',
    )
    const readable = learnCareTeam(once, { what: 'listed', listed: [], shownUntil: 9 })
    expect(readable).toMatchObject({ looks: 1, shownUntil: 9, listed: [] })
    expect(learnCareTeam(twice, { what: 'settled', wanted: [], changed: 'add' }).looks).toBe(0)
  })
})

describe('a deletion', () => {
  const gone = old({ isMarked: true })
  const delete_ = (mark: KnownCareTeam['mark'], owed: OwedDeletion) =>
    learnCareTeam(teamOf([shown, gone], [], [row([owed], mark)]), {
      what: 'deleted',
      npi: NEW.npi,
      entries: [gone],
    })

  it('takes the entry off the list; what is owed still has not been seen since', () => {
    expect(delete_('none', owes('new', 2, SECOND))).toMatchObject({
      listed: [shown],
      deletions: new Map([[NEW.npi, [{ ...owes('new', 2, SECOND), isSeen: false }]]]),
      marks: new Map(),
    })
  })

  it('of the entry that bears the mark leaves the mark owed to the replacement, and to nobody where none is', () => {
    expect(delete_('set', owes('new', 2)).marks.get(NEW.npi)).toBe('to-set')
    expect(delete_('set', { ...owes('new', 2), by: [] }).marks.get(NEW.npi)).toBe('none')
    const spared = learnCareTeam(teamOf([shown, old()], [], [row([owes('new', 2)], 'set')]), {
      ...{ what: 'deleted', npi: NEW.npi, entries: [old()] },
    })
    expect(spared.marks.size).toBe(0)
  })

  it('that is refused is not tried again in this run', () => {
    const team = learnCareTeam(teamOf([], []), { what: 'not deleted', npi: NEW.npi, entries: [] })
    expect(team.refused.has(NEW.npi)).toBe(true)
  })
})

describe('the mark', () => {
  const [npi, other] = [IDENTITY.npi(NPI), IDENTITY.npi(OTHER)]
  const known = [
    knows(NPI, 'none'),
    knows(OTHER, 'set'),
    { ...knows('1013000124', 'withdrawn') },
    { ...knows('1023000123', 'to-unset'), markBy: 2 },
  ]
  const learned = (
    step: Omit<MarkStep, 'left'> & Record<string, unknown>,
    isRefused = false,
    withdrawn: string[] = [],
  ) =>
    learnCareTeam(teamOf([], [], known), {
      ...{
        what: 'mark',
        isRefused,
        step: { ...step, left: new Map(withdrawn.map((one) => [one, 'withdrawn'])) } as MarkStep,
      },
    })
  const marksOf = (...args: Parameters<typeof learned>) => Object.fromEntries(learned(...args).marks)

  it('that is set leaves all others; a debt to take it away is void, whoever owed it', () => {
    const now = { [npi]: 'set', [other]: 'none', [IDENTITY.npi('1023000123')]: 'withdrawn' }
    for (const step of ['mark', 'marked'] as const) expect(marksOf({ step, npi, had: shown })).toEqual(now)
  })

  it.each([
    ['mark', true, 'to-set'],
    ['unmark', false, 'withdrawn'],
    ['unmark', true, 'to-unset'],
    ['drop', false, 'none'],
  ] as const)('%s, refused %s: %s', (step, isRefused, mark) => {
    expect(marksOf({ step, npi, had: shown }, isRefused)).toEqual({ [npi]: mark })
  })

  it('that waits is owed', () => {
    for (const owed of ['to-set', 'to-unset'])
      expect(marksOf({ step: 'wait', npi, owed })).toEqual({ [npi]: owed })
  })

  it('is withdrawn from whom the chunk says so, and done with', () => {
    const team = learned({ step: 'settled' }, false, [other])
    expect([Object.fromEntries(team.marks), team.isMarkDone]).toEqual([{ [other]: 'withdrawn' }, true])
    // A mark on somebody else does not revoke a withdrawal.
    expect(marksOf({ step: 'marked', npi }, false, [other])).toMatchObject({
      [npi]: 'set',
      [other]: 'withdrawn',
    })
  })
})

describe('the rows of the ledger', () => {
  it('are written for what is stored, with its newest date and place, and only where something has changed', () => {
    const team = teamOf([shown], [{ ...NEW, place: 9 }], [{ ...row([]), heardAt: 4 }, knows(OTHER, 'none')])
    const now = { observedAt: OBSERVED_AT, storedAt: 77, heardAt: 9, place: 9, accountId: WHOSE.accountId }
    expect(saved(team)).toEqual([{ ...row([]), ...now }])
    const placed = (observedAt: number, place: number): WantedCareTeam => ({
      ...wants(made({ observedAt }), 'stored'),
      place,
    })
    expect(saved({ ...team, wanted: [placed(OBSERVED_AT, 9), placed(before, 12)] })).toMatchObject([
      { place: 9 },
    ])
    expect(saved({ ...team, wanted: [placed(OBSERVED_AT, 9), placed(after, 3)] })).toMatchObject([
      { place: 3 },
    ])
    const again: WantedCareTeam = { ...placed(OBSERVED_AT, 12), status: 'delivered' }
    expect(saved({ ...team, known: [{ ...row([]), place: 5 }], wanted: [again] })).toMatchObject([
      { place: 5 },
    ])
    expect(saved({ ...team, wanted: [{ ...NEW, status: 'delivered', isHeard: true }] })).toEqual([])
    expect(saved({ ...team, wanted: [{ ...NEW, status: 'delivered', isHeard: false }] })).toHaveLength(1)
    // An entry in doubt may be stored: its date is not known to count.
    const unsure = { ...now, observedAt: OBSERVED_AT, heardAt: 4, place: 0 }
    expect(saved({ ...team, wanted: [{ ...NEW, status: 'doubtful', place: 9 }] })).toEqual([
      { ...row([]), ...unsure },
    ])
    expect(saved(teamOf([], [{ ...NEW, status: 'doubtful' }]))).toMatchObject([{ observedAt: 0, heardAt: 0 }])
    const unsaid = wants(made({ primary: 'unsaid' }), 'stored')
    expect(saved({ ...team, wanted: [{ ...unsaid, place: 9 }] })).toMatchObject([{ heardAt: 4 }])
    const newerRow = { ...row([]), observedAt: after, heardAt: 12 }
    expect(saved({ ...team, known: [newerRow] })).toMatchObject([{ observedAt: after, heardAt: 12 }])
  })

  it('say who owes', () => {
    const team = teamOf([], [], [row([]), { ...knows(OTHER, 'set'), markBy: null }], {
      deletions: new Map([[NEW.npi, [owes('new', 2)]]]),
      marks: new Map([[IDENTITY.npi(OTHER), 'to-unset']]),
    })
    expect(saved(team)).toMatchObject([
      { npi: NEW.npi, deletions: [owes('new', 2)], deletionsBy: JOB },
      { mark: 'to-unset', markBy: JOB },
    ])
    const paid = { ...team, deletions: new Map([[NEW.npi, []]]), marks: new Map() }
    expect(saved(paid)).toMatchObject([{ npi: NEW.npi, deletions: [], deletionsBy: null }])
  })

  it('keep a mark or a deletion that waits for a record in doubt', () => {
    const doubtful: WantedCareTeam = { ...NEW, status: 'doubtful' }
    const of = (mark: KnownCareTeam['mark']) =>
      saved(teamOf([], [doubtful], [], { marks: new Map([[NEW.npi, mark]]) }))
    expect(of('to-set')).toMatchObject([{ mark: 'to-set', content: entry.content, markBy: JOB }])
    expect(of('to-unset')).toMatchObject([{ mark: 'to-unset', content: null, markBy: JOB }])
    expect(of('withdrawn')).toMatchObject([{ mark: 'withdrawn', content: null, markBy: null }])
    const owed = { deletions: new Map([[NEW.npi, [owes('x', 2, FIRST)]]]) }
    expect(saved(teamOf([old(), had({ id: 'y', listedAt: undefined })], [], [], owed))).toMatchObject([
      { npi: NEW.npi, observedAt: before, content: null },
    ])
  })

  it('go where a missing provider has no entry left, and stay while one is listed or wanted', () => {
    const missing = { ...owes('x', 2), by: [] }
    const over = { deletions: new Map([[NEW.npi, []]]) }
    expect(saved(teamOf([], [], [row([missing])], over))).toMatchObject([{ isGone: true }])
    expect(saved(teamOf([shown], [], [row([missing])], over))[0]).not.toHaveProperty('isGone')
    expect(saved(teamOf([], [], [row([owes('x', 2)])], over))[0]).not.toHaveProperty('isGone')
    expect(saved({ ...teamOf([], [], [row([missing])], over), listed: 'unread' })[0]).not.toHaveProperty(
      'isGone',
    )
  })

  it('tell a mark that no list shows from one that the list shows on somebody else', () => {
    const settled = teamOf(
      [had({ npi: OTHER, isMarked: true, observedAt: after })],
      [wants(made(), 'stored')],
      [...[{ ...knows(NPI, 'to-set'), markBy: JOB }, knows(OTHER, 'none')]],
    )
    const step = decideMark(settled, { jobId: JOB })
    const rows = saved(learnCareTeam(settled, { what: 'mark', step, isRefused: false }))
    expect(rows.map(({ mark, markBy }) => [mark, markBy])).toEqual([
      ['none', null],
      ['set', null],
    ])
  })
})
