/** Providers that the rows of an export list, and rows by which nobody can say whom it lists. */
import { expect, test } from 'vitest'
import { THE_PERSON, UNKNOWN_PERSON, UNUSABLE } from '../../src/ledger/ledger.ts'
import { perhapsSent } from '../../src/load/accounts.ts'
import { listedBy } from '../../src/load/care-team-owed.ts'
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
