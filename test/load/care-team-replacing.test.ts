import { describe, expect, it } from 'vitest'
import type { OwedDeletion } from '../../src/ledger/ledger.ts'
import { dueDeletion, owedAfter, planReplacing, type Replacing } from '../../src/load/care-team-deletions.ts'
import type { HadCareTeam, WantedCareTeam } from '../../src/load/care-team-state.ts'
import { after, before, had, made, OTHER, wants } from './made-up-care-teams.ts'
import { OBSERVED_AT } from './made-up-entries.ts'

const entry = made({ name: 'New Practice' })
const kept = had({ id: 'new', name: 'New Practice' })
const old = (fields: Parameters<typeof had>[0] = {}) => had({ id: 'old', observedAt: before, ...fields })
const beside = wants(made({ rule: 'other', name: 'Beside' }), 'stored')
const isListed = had({ id: 'beside', name: 'Beside' })
const plan = (wanted: readonly WantedCareTeam[], has: readonly HadCareTeam[], isRead = true): Replacing[] =>
  planReplacing({ wanted, has, known: [] }, isRead)

describe('what a new entry replaces', () => {
  it.each([
    ['the older of its NPI', [kept, isListed, old()], ['old']],
    ['those of the same date, too', [kept, isListed, old({ observedAt: OBSERVED_AT })], ['old']],
    ['not one without a date', [kept, isListed, old({ observedAt: undefined })], []],
    ['not another provider', [kept, isListed, old({ npi: OTHER })], []],
    ['nothing, where the gateway has updated in place', [{ ...kept, id: 'old' }, isListed], []],
    ['nothing, where a newer one is there', [kept, isListed, old(), old({ id: 'x', observedAt: after })], []],
    ['nothing before it is listed', [{ ...kept, isListed: false }, isListed, old()], []],
    ['nothing before what stands beside it is listed', [kept, old()], []],
    ['its own double', [kept, { ...kept, id: 'double', observedAt: before }, isListed], ['double']],
  ] as const)('%s', (_name, has, ids) => {
    const removed = plan([wants(entry, 'stored'), beside], has).flatMap(({ remove }) => remove)
    expect(removed.map(({ id }) => id)).toEqual(ids)
  })

  it.each([
    ['is owed while the list does not show it', 'stored', [{ ...kept, isListed: false }, old()], true, 1],
    ['is owed while it is in doubt', 'doubtful', [old()], true, 1],
    ['is unknown where the list cannot be read', 'stored', [{ ...kept, isListed: false }], false, 1],
    ['is nothing where there is nothing older', 'stored', [{ ...kept, isListed: false }], true, 0],
    ['is nothing where all of it was delivered before', 'delivered', [kept, old()], true, 0],
  ] as const)('%s', (_name, status, has, isRead, owed) => {
    const open = plan([wants(entry, status)], has, isRead).filter(({ isDone }) => !isDone)
    expect(open.flatMap(({ unlisted }) => unlisted.map((one) => one.entry))).toEqual(
      owed === 1 ? [entry] : [],
    )
    expect(open.flatMap((one) => owedAfter([], one))).toHaveLength(owed)
  })
})

const [FIRST, SECOND] = ['content-1', 'content-2']
const owes = (by: string, until: number, ...inDoubt: string[]): OwedDeletion => ({
  ...{ by: [[by]], until, isSeen: true, inDoubt },
})

describe('what is owed once a chunk has had its say', () => {
  const says = (by: string, until: number, isDone: boolean, ...inDoubt: string[]): Replacing => ({
    ...{ npi: 'n', by: entry, remove: [], unlisted: [], isDone },
    owed: owes(by, until, ...inDoubt),
  })
  it.each([
    ['nothing, where it is done', [], says('b', 2, true), []],
    ['the deletion, where it is not', [], says('b', 2, false), [owes('b', 2)]],
    ['nothing older, where a newer one is done', [owes('a', 1)], says('b', 2, true), []],
    ['the newer one in place of the older', [owes('a', 1)], says('b', 2, false), [owes('b', 2)]],
    [
      'both, where the newer one is in doubt',
      [owes('a', 1)],
      says('b', 2, false, FIRST),
      [owes('a', 1), owes('b', 2, FIRST)],
    ],
    [
      'once, where it is in doubt still',
      [owes('b', 2, FIRST)],
      says('c', 2, false, FIRST),
      [owes('b', 2, FIRST)],
    ],
    [
      'what a record in doubt may turn out to be',
      [owes('a', 1, FIRST)],
      says('b', 2, true),
      [owes('b', 2, FIRST)],
    ],
    ['nothing, where that record is the one that stands', [owes('a', 1, FIRST)], says('a', 1, true), []],
    [
      'what is newer than it, too',
      [owes('b', 2, FIRST)],
      says('a', 1, false),
      [owes('a', 1), owes('b', 2, FIRST)],
    ],
  ] as const)('%s', (_name, earlier, replacing, left) => {
    expect(owedAfter(earlier, replacing)).toEqual(left)
  })
})

describe('a deletion that is owed', () => {
  const dated = (id: string, listedAt: number | undefined, ours?: string) =>
    had({ id, listedAt, observedAt: OBSERVED_AT, ours })
  const [oldOne, newOne] = [dated('old', 1), dated('new', 2)]
  it.each([
    ['is carried out where the new entry stands', [owes('new', 2)], [oldOne, newOne], [], ['old'], []],
    ['knows the new entry by our id', [owes('ours', 2)], [oldOne, dated('x', 2, 'ours')], [], ['old'], []],
    [
      'knows it by its date, where the gateway keeps no ids',
      [owes('ours', 2)],
      [oldOne, dated('x', 2)],
      [],
      ['old'],
      [],
    ],
    [
      'waits where two are of that date',
      [owes('ours', 1)],
      [oldOne, dated('x', 1)],
      [],
      [],
      [owes('ours', 1)],
    ],
    ['waits for the last evidence', [owes('new', 2)], [oldOne], [], [], [owes('new', 2)]],
    ['is over where the old entry is gone', [owes('new', 2)], [newOne], [], [], []],
    ['spares what is newer', [owes('new', 2)], [oldOne, newOne, dated('x', 3)], [], ['old'], []],
    [
      'takes the date of the ledger where the list has none',
      [owes('new', 2)],
      [newOne, dated('x', undefined)],
      [],
      [],
      [],
    ],
    ['waits for a record in doubt', [owes('new', 2, FIRST)], [oldOne], [FIRST], [], [owes('new', 2, FIRST)]],
    ['is nothing where that record is not there', [owes('new', 2, FIRST)], [oldOne], [], [], []],
    [
      'is the one before, where the record in doubt is not there',
      [owes('new', 2), owes('x', 3, FIRST)],
      [oldOne, newOne],
      ...[[], ['old'], []],
    ],
    [
      'is not carried out while a newer word is in doubt that may want the old entry back',
      [owes('new', 2), owes('back', 3, FIRST)],
      [oldOne, newOne],
      ...[[FIRST], [], [owes('new', 2), owes('back', 3, FIRST)]],
    ],
    [
      'is carried out by the newest word, and waits for what is in doubt behind it',
      [owes('x', 1, SECOND), owes('new', 2)],
      [oldOne, newOne],
      ...[[SECOND], ['old'], [{ ...owes('new', 2, SECOND), isSeen: false }]],
    ],
  ] as [string, OwedDeletion[], HadCareTeam[], string[], string[], OwedDeletion[]][])(
    '%s',
    (_name, deletions, has, inDoubt, removed, left) => {
      const due = dueDeletion({ deletions, observedAt: 9 }, has, (content) => inDoubt.includes(content))
      expect(due.remove.map(({ id }) => id)).toEqual(removed)
      expect(due.left).toEqual(left)
    },
  )
})
