import { describe, expect, it } from 'vitest'
import type { KnownCareTeam } from '../../src/ledger/ledger.ts'
import {
  type CareTeamPlan,
  type ChangedCareTeam,
  type HadCareTeam,
  placeOfWord,
  planCareTeam,
  type WantedCareTeam,
  wasHeard,
} from '../../src/load/care-team-state.ts'
import { after, before, had, knows, made, NPI, OTHER, wants } from './made-up-care-teams.ts'
import { IDENTITY, type Made, OBSERVED_AT } from './made-up-entries.ts'

const plan = (
  wanted: readonly WantedCareTeam[],
  has: readonly HadCareTeam[],
  changed: ChangedCareTeam,
  known: readonly KnownCareTeam[] = [],
): CareTeamPlan => planCareTeam({ wanted, has, known }, changed)
const ways = ['add', 'replace', 'keep'] as const
const stepsOf = (wanted: readonly WantedCareTeam[], has: readonly HadCareTeam[], changed: ChangedCareTeam) =>
  wanted.map(({ entry }) => plan(wanted, has, changed).steps.get(entry)?.step)

describe('a care-team entry of which the account has', () => {
  const renamed = { name: 'Former Practice' }
  it.each([
    ['nothing', [], ['create', 'create', 'create']],
    ['the same', [had()], ['known', 'known', 'known']],
    ['the same, older', [had({ observedAt: before })], ['known', 'known', 'known']],
    ['the same, newer', [had({ observedAt: after })], ['known', 'known', 'known']],
    ['the same with a field that is not sent', [had({ city: 'Springfield' })], ['known', 'known', 'known']],
    ['another provider', [had({ npi: OTHER })], ['create', 'create', 'create']],
    ['another name, older', [had({ ...renamed, observedAt: before })], ['create', 'create', 'omit']],
    ['another name, of the same date', [had(renamed)], ['create', 'create', 'omit']],
    ['another name, newer', [had({ ...renamed, observedAt: after })], ['create', 'omit', 'omit']],
    ['another name, undated', [had({ ...renamed, observedAt: undefined })], ['create', 'create', 'omit']],
    ['another type', [had({ type: 'SPECIALIST' })], ['create', 'create', 'omit']],
    [
      'the same, and another name that is newer',
      [had(), had({ id: 'id-2', ...renamed, observedAt: after })],
      ['known', 'known', 'known'],
    ],
  ] as const)('%s', (_name, has, steps) => {
    expect(ways.map((changed) => stepsOf([wants(made())], has, changed)[0])).toEqual(steps)
  })

  it.each([
    ['keep', 'care-team-kept'],
    ['replace', 'care-team-outdated'],
  ] as const)('newer, is passed over for a reason (%s)', (changed, why) => {
    const entry = made()
    const newer = [had({ name: 'Former Practice', observedAt: after })]
    expect(plan([wants(entry)], newer, changed).steps.get(entry)).toEqual({ step: 'omit', why })
  })
})

describe('entries of one provider in a chunk', () => {
  const older = wants(made({ row: 1 }))
  const newer = wants(made({ row: 2, observedAt: after }))

  it('an older one that says less than the newest, and nothing else, is the same; one that says more is not', () => {
    const telling = (one: WantedCareTeam, phoneNumber?: string): WantedCareTeam => {
      const { phoneNumber: _, ...fields } = one.fields
      return { ...one, fields: phoneNumber === undefined ? fields : { ...fields, phoneNumber } }
    }
    expect(stepsOf([telling(older), telling(newer, '217')], [], 'replace')).toEqual(['share', 'create'])
    expect(stepsOf([telling(older, '217'), telling(newer)], [], 'replace')).toEqual(['omit', 'create'])
  })
  const other = wants(made({ row: 3, name: 'Other Practice', observedAt: before }))

  it.each([
    ['add', ['share', 'create', 'create']],
    ['replace', ['share', 'create', 'omit']],
    ['keep', ['share', 'create', 'omit']],
  ] as const)('%s: the same ones are created once, the newest', (changed, steps) => {
    expect(stepsOf([older, newer, other], [], changed)).toEqual(steps)
  })

  it.each(ways)('%s: one that an earlier process created is not created for another row', (changed) => {
    const stored = { ...newer, status: 'stored' as const }
    expect(plan([older, stored], [had()], changed).steps.get(older.entry)).toEqual({ step: 'known' })
  })

  it.each(ways)('%s: one of which nobody can tell is not sent for another row', (changed) => {
    const doubtful = { ...newer, status: 'doubtful' as const }
    const { steps } = plan([older, doubtful], [], changed)
    expect(steps.get(older.entry)).toEqual({ step: 'share', first: newer.entry })
  })

  it('an older one is not sent where the newest was delivered before', () => {
    const delivered = {
      ...wants(made({ row: 2, name: 'New', observedAt: after })),
      status: 'delivered' as const,
    }
    const has = [had({ name: 'New' })]
    expect(plan([older, delivered], has, 'replace').steps.get(older.entry)).toMatchObject({ step: 'omit' })
  })
})

describe('the mark of an account', () => {
  const entry = made()
  const marked = (fields: Parameters<typeof had>[0] = {}) => had({ isMarked: true, ...fields })
  const other = { npi: OTHER, id: 'other' }
  const unlisted = had({ isListed: false })
  it.each([
    ['is given where there is none', [had()], 'mark'],
    ['waits where there is no entry', [], 'wait'],
    ['is borne by the entry, whatever its date', [marked({ observedAt: after })], 'none'],
    ['is borne by the entry', [marked()], 'marked'],
    ['moves from an older one', [had(), marked({ ...other, observedAt: before })], 'mark'],
    ['moves from one of the same date', [unlisted, marked(other)], 'mark'],
    ['moves from one without a date', [had(), marked({ ...other, observedAt: undefined })], 'mark'],
    ['stays on a newer one', [had(), marked({ ...other, observedAt: after })], 'none'],
    ['stays on a newer one of the NPI', [had(), marked({ name: 'Other', observedAt: after })], 'none'],
    ['moves from an older one of the NPI', [had(), marked({ name: 'Other', observedAt: before })], 'mark'],
    ['is where it is to be on the entry that is kept in its place', [marked({ name: 'Other' })], 'marked'],
  ] as const)('%s', (_name, has, step) => {
    expect(plan([wants(entry, 'stored')], has, 'add').mark.step).toBe(step)
  })

  it.each([
    ['set', after, 'none'],
    ['set', before, 'mark'],
    ['to-set', after, 'wait'],
    ['to-set', before, 'mark'],
    ['none', after, 'mark'],
  ] as const)('%s on another at %i, by the ledger: the list is late', (mark, at, step) => {
    expect(plan([wants(entry, 'stored')], [unlisted], 'add', [knows(OTHER, mark, at)]).mark.step).toBe(step)
  })

  const says = (
    primary: boolean | undefined,
    fields: Made = {},
    status: WantedCareTeam['status'] = 'stored',
  ) => {
    const entry = made({ ...fields, primary: primary ?? 'unsaid' })
    return wants(entry, status)
  }
  it.each([
    ['is taken away where its bearer is no longer the primary one', [says(false)], [marked()], 'unmark'],
    ['is taken away by the ledger, too', [says(false)], [had()], 'unmark', knows(NPI, 'set')],
    ['stays where nothing is said of it', [says(undefined)], [marked()], 'none'],
    ['stays where a newer word says so', [says(false), says(true, { row: 2 })], [marked()], 'marked'],
    ['stays where an older word says no', [says(false, { observedAt: before })], [marked()], 'none'],
    [
      'of one row, stays where it says both',
      [says(true), says(false, { rule: 'other' })],
      [marked()],
      'marked',
    ],
    ['has its word from an earlier run', [says(false, {}, 'delivered')], [marked()], 'none'],
    ['moves with one call', [says(false), says(true, { npi: OTHER })], [marked(), had(other)], 'mark'],
    [
      'is taken from its bearer where another was the primary one since, and is no longer',
      [says(true, { npi: OTHER }), says(false, { npi: OTHER, observedAt: after })],
      [marked({ observedAt: before }), had(other)],
      'unmark',
    ],
    ['that is owed is set once its entry is listed', [], [had()], 'mark', knows(NPI, 'to-set')],
    ['that is owed waits for its entry', [], [], 'wait', knows(NPI, 'to-set')],
    ['that is owed was set by somebody', [], [marked()], 'marked', knows(NPI, 'to-set')],
    ['that is to go goes', [], [marked()], 'unmark', knows(NPI, 'to-unset')],
    ['of a record in doubt waits', [says(true, {}, 'doubtful')], [], 'wait'],
    ['of a record in doubt that is there after all', [says(true, {}, 'doubtful')], [had()], 'mark'],
  ] as const)('%s', (_name, wanted, has, step, ...known: readonly KnownCareTeam[]) => {
    expect(plan(wanted, has, 'add', known).mark.step).toBe(step)
  })

  it('goes to the later of two rows of one date', () => {
    const wanted = [says(true), says(true, { row: 2, npi: OTHER })]
    for (const rows of [wanted, wanted.toReversed()]) {
      const { mark } = plan(rows, [had(), had(other)], 'add')
      expect(mark).toMatchObject({ step: 'mark', npi: rows[1]?.npi })
    }
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
})
