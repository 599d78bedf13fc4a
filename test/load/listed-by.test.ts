/** Providers that the rows of an export list, and rows by which nobody can say whom it lists. */
import { expect, test } from 'vitest'
import {
  type KnownCareTeam,
  type OwedDeletion,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../../src/ledger/ledger.ts'
import { perhapsSent } from '../../src/load/accounts.ts'
import { listedBy, listingOf } from '../../src/load/care-team-owed.ts'
import type { MappedRow, RowOutcome } from '../../src/model/entry.ts'
import type { ShownRecord } from '../../src/model/outcome.ts'
import type { RecordKind } from '../../src/model/record.ts'
import { after, before, NPI, OTHER } from './made-up-care-teams.ts'
import { biometric, careTeam, entryOf, IDENTITY, mappedRow, OBSERVED_AT } from './made-up-entries.ts'

const [ann, ben] = ['ann', 'ben'].map((reference) =>
  IDENTITY.account({ reference, type: 'partnerAccountId' }),
)
const [npi, other] = [NPI, OTHER].map((one) => IDENTITY.npi(one))
const issue = { stage: 'transform', code: 'npi-invalid', message: 'm' } as const

const row = (person: string, ...teams: Parameters<typeof careTeam>[0][]): MappedRow =>
  mappedRow(
    teams.map((made) => careTeam({ person, ...made })),
    { person },
  )
const withReject = (one: MappedRow, kind: RecordKind): RowOutcome => ({
  ...one,
  rejected: [{ kind, rule: 'r', issue }],
})
const { account, row: at, line, byteOffset } = row('ann')
const place = { row: at, line, byteOffset }
const rejected: RowOutcome = { ...place, outcome: 'rejected', issue, account }
const ofNobody: RowOutcome = { ...place, outcome: 'rejected', issue }

test.each<[string, RowOutcome[], (readonly (string | number | undefined)[])[]]>([
  [
    'each provider of each person, at the time of the newest entry',
    [
      row('ann', { npi: NPI, observedAt: after }, { npi: OTHER }),
      row('ann', { npi: NPI, observedAt: before }),
      row('ben', { npi: NPI, observedAt: before }),
    ],
    [
      [ann, THE_PERSON, 0],
      [ann, npi, after],
      [ann, other, OBSERVED_AT],
      [ben, THE_PERSON, 0],
      [ben, npi, before],
    ],
  ],
  ['a person alone', [row('ann')], [[ann, THE_PERSON, 0]]],
  [
    'no provider of records of another kind',
    [mappedRow([biometric()], { person: 'ann' })],
    [[ann, THE_PERSON, 0]],
  ],
  [
    'somebody who cannot be told, of a care team that is rejected',
    [withReject(row('ann', { npi: NPI }), 'careTeam'), row('ben')],
    [
      [ann, THE_PERSON, 0],
      [ann, UNUSABLE, 0],
      [ann, npi, OBSERVED_AT],
      [ben, THE_PERSON, 0],
    ],
  ],
  [
    'nobody else, of another record that is rejected',
    [withReject(row('ann'), 'biometric')],
    [[ann, THE_PERSON, 0]],
  ],
  [
    'somebody who cannot be told, of a row that is rejected',
    [rejected],
    [
      [ann, THE_PERSON, 0],
      [ann, UNUSABLE, 0],
    ],
  ],
  [
    'anybody, of a row that names nobody',
    [ofNobody, row('ben')],
    [
      [UNKNOWN_PERSON, UNUSABLE, 0],
      [ben, THE_PERSON, 0],
    ],
  ],
])('lists %s', (_what, rows, listed) => {
  expect(listedBy(IDENTITY, rows).map((one) => [one.account, one.npi, one.at])).toEqual(listed)
})

const ours = entryOf(biometric)

test.each<[string, Partial<ShownRecord>[] | undefined, boolean]>([
  ['nothing', [], false],
  ['what cannot be read', undefined, true],
  ['a record of ours', [{ persistentId: ours.transactionId, sourceType: 'another' }], true],
  ['a record of another system', [{ persistentId: 'a-1', sourceType: ours.sourceType }], false],
  ['a record without an id, of our type', [{ sourceType: ours.sourceType }], true],
  ['a record without an id, of no type', [{}], true],
  ['a record without an id, of another type', [{ sourceType: 'another' }], false],
  [
    'a record of another system, and one of ours',
    [{ persistentId: 'a-1' }, { persistentId: ours.transactionId }],
    true,
  ],
])('a profile of %s: records may have been sent before: %j', async (_what, shown, isPerhaps) => {
  const profile = async () => shown as readonly ShownRecord[] | undefined
  const { until } = await perhapsSent({ reconciler: { profile }, now: () => 5 }, ours)
  expect(until).toBe(isPerhaps ? 5 : null)
})

const deletionOf = (by: OwedDeletion['by']): OwedDeletion => ({ by, until: 0, isSeen: true, inDoubt: [] })
const [MISSING, REPLACED] = [deletionOf([]), deletionOf([['0123456789abcdef']])]

interface Earlier {
  /** Arrival of the export that listed the person last; undefined where none did. */
  readonly arrival?: number
  readonly lists?: readonly (string | undefined)[]
  readonly missing?: 'keep' | 'delete'
  readonly isBackfill?: boolean
  /** Deletions owed of the provider; undefined where the ledger has no entry. */
  readonly owed?: readonly OwedDeletion[]
}

/** Listing of Ann's provider, by an export of arrival 5. */
async function listing({ arrival, lists = [], missing = 'delete', isBackfill = false, owed }: Earlier) {
  const entry = entryOf(careTeam, { person: 'ann', npi: NPI })
  const earlier = new Map(arrival === undefined ? [] : [[ann, { arrival, npis: new Set(lists) }]])
  const known = { npi, deletions: owed } as unknown as KnownCareTeam
  const careTeams = {
    listed: async () => earlier,
    ofAccounts: async () => new Map(owed === undefined ? [] : [[ann, [known]]]),
  }
  const ledger = { careTeams } as never
  const context = {
    ...{ memory: ledger, identity: IDENTITY, jobId: 1 },
    careTeams: { missing, changed: 'add' as const, gatewayName: 'gateway', ledger },
  }
  const found = await listingOf(context, [entry], { arrival: 5, isBackfill })
  return found && [found.isUnlisted(entry), found.isListedAgain(entry)]
}

test.each<[string, Earlier, readonly boolean[] | undefined]>([
  ['no earlier list', {}, undefined],
  ['a later list without the provider', { arrival: 6 }, [true, false]],
  ['a later list with the provider', { arrival: 6, lists: [npi] }, [false, true]],
  ['a later list with another one alone', { arrival: 6, lists: [other] }, [true, false]],
  ['its own list, read again', { arrival: 5 }, [false, true]],
  ['an earlier list without the provider', { arrival: 4 }, [false, true]],
  ['an earlier list of the nights, for a backfill', { arrival: 4, isBackfill: true }, [true, false]],
  ['a later list, where the missing are kept', { arrival: 6, missing: 'keep' }, [false, true]],
  ['an entry that is there', { arrival: 4, owed: [] }, [false, false]],
  ['an entry that was replaced', { arrival: 4, owed: [REPLACED] }, [false, false]],
  ['an entry that is missing', { arrival: 4, owed: [MISSING] }, [false, true]],
  ['an entry that was replaced, and is missing', { arrival: 4, owed: [REPLACED, MISSING] }, [false, true]],
])('a provider beside %s is unlisted, or listed again: %j', async (_, earlier, expected) => {
  expect(await listing(earlier)).toEqual(expected)
})

test('records of other kinds are on no list', async () => {
  const [team, weight] = [
    entryOf(careTeam, { person: 'ann', npi: NPI }),
    entryOf(biometric, { person: 'ann' }),
  ]
  const careTeams = {
    listed: async () => new Map([[ann, { arrival: 6, npis: new Set() }]]),
    ofAccounts: async () => new Map(),
  }
  const ledger = { careTeams } as never
  const rules = { missing: 'delete', changed: 'add', gatewayName: 'gateway', ledger } as const
  const context = { memory: ledger, identity: IDENTITY, jobId: 1, careTeams: rules }
  const found = await listingOf(context, [team, weight], { arrival: 5, isBackfill: false })
  expect([found?.isUnlisted(weight), found?.isListedAgain(weight)]).toEqual([false, false])
})
