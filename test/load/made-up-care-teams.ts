/** Care teams of one account, for tables: what a chunk wants, what the list shows, what the ledger knows. */
import type { KnownCareTeam } from '../../src/ledger/ledger.ts'
import {
  type CareTeam,
  careTeamOf,
  fieldsSent,
  type HadCareTeam,
  type WantedCareTeam,
} from '../../src/load/care-team-slot.ts'
import type { Entry } from '../../src/model/entry.ts'
import { careTeam, DAY_MS, entryOf, IDENTITY, type Made, OBSERVED_AT } from './made-up-entries.ts'

export const [NPI, OTHER] = ['1234567893', '1003000126'] as const
export const [before, after] = [OBSERVED_AT - DAY_MS, OBSERVED_AT + DAY_MS] as const
export const made = (fields: Made = {}): Entry => entryOf(careTeam, { npi: NPI, ...fields })
export const wants = (entry: Entry, status: WantedCareTeam['status'] = 'open'): WantedCareTeam => ({
  entry,
  npi: IDENTITY.npi(entry.evidence.npi ?? ''),
  fields: fieldsSent(entry),
  status,
  place: entry.row.row,
  isHeard: status === 'delivered',
  isUncertain: false,
})
/** As the gateway would list `made()`. */
export const had = ({
  npi = NPI,
  ...fields
}: Partial<Omit<HadCareTeam, 'fields'>> & {
  name?: string
  type?: string
  city?: string
} = {}): HadCareTeam => {
  const { name = 'Test Practice', type = 'PCP', city, ...more } = fields
  return {
    id: 'id-1',
    isListed: true,
    npi: IDENTITY.npi(npi),
    fields: { npi, name, type, ...(city === undefined ? {} : { city }) },
    observedAt: OBSERVED_AT,
    listedAt: OBSERVED_AT,
    place: 0,
    isMarked: false,
    ours: undefined,
    ...more,
  }
}
export const knows = (npi: string, mark: KnownCareTeam['mark'], observedAt = OBSERVED_AT): KnownCareTeam => ({
  account: 'a',
  npi: IDENTITY.npi(npi),
  observedAt,
  storedAt: 0,
  heardAt: 0,
  place: 0,
  mark,
  accountId: null,
  content: null,
  deletions: [],
  ...{ markBy: null, deletionsBy: null },
})

/** The job that speaks in these tables; another one is 2. */
export const JOB = 1
/** The slot of an account whose list was read, and whose debts are all due. */
export const teamOf = (
  has: readonly HadCareTeam[],
  wanted: readonly WantedCareTeam[],
  known: readonly KnownCareTeam[] = [],
  more: Partial<CareTeam> = {},
): CareTeam => ({
  ...careTeamOf(known, { isWhole: true, inDoubt: [] }),
  ...{ listed: has, wanted, ...more },
})
