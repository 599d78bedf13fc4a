/**
 * What is done with a person's care-team records, by what the account has already: a provider is known by NPI, an entry by the fields
 * that we send (interface, "Care team record, as sent"); dates and source do not make it another. Pure; the rule is in docs/delivery.md.
 */
import { z } from 'zod'
import type { CareTeamReturned } from '../gateway/contract/care-team.ts'
import type { Entry, PassedOver } from './entry.ts'
import { recordText } from './record-text.ts'

/** What is done with an entry whose NPI the account has with other fields. */
export type ChangedCareTeam = 'add' | 'replace' | 'keep'

export type CareTeamStep =
  | { readonly step: 'send' }
  /** The account has it. */
  | { readonly step: 'known' }
  /** It is the same as another one of the chunk, and shares its fate. */
  | { readonly step: 'share'; readonly first: Entry }
  | { readonly step: 'omit'; readonly why: PassedOver }

/** Milliseconds since the epoch; undefined where neither list nor ledger tells it. */
export type DateOf = (listed: CareTeamReturned) => number | undefined

/**
 * @param entries of one account
 * @param listed what the account has, as far as it could be read
 */
export function planCareTeams(
  entries: readonly Entry[],
  listed: readonly CareTeamReturned[],
  dateOf: DateOf,
  changed: ChangedCareTeam,
): Map<Entry, CareTeamStep> {
  const known: { fields: Fields; observedAt: number | undefined; entry?: Entry }[] = listed.map((one) => ({
    fields: one,
    observedAt: dateOf(one),
  }))
  const judge = (entry: Entry): CareTeamStep => {
    const fields = fieldsOf(entry)
    const ofProvider = known.filter((one) => one.fields.npi === fields.npi)
    const same = ofProvider.find((one) => isSame(fields, one.fields))
    if (same !== undefined)
      return same.entry === undefined ? { step: 'known' } : { step: 'share', first: same.entry }
    const { observedAt } = entry.record
    if (ofProvider.length > 0 && changed === 'keep') return { step: 'omit', why: 'care-team-kept' }
    if (changed === 'replace' && ofProvider.some((one) => (one.observedAt ?? observedAt) > observedAt))
      return { step: 'omit', why: 'care-team-outdated' }
    known.push({ fields, observedAt, entry })
    return { step: 'send' }
  }
  const oldestFirst = entries.toSorted((a, b) => a.record.observedAt - b.record.observedAt)
  return new Map(oldestFirst.map((entry) => [entry, judge(entry)]))
}

/** The entry as the list shows it: by our id, else by the gateway's, else by all that was sent. */
export function findListed(
  entry: Entry,
  gatewayId: string | undefined,
  listed: readonly CareTeamReturned[],
  dateOf: DateOf,
): CareTeamReturned | undefined {
  const fields = fieldsOf(entry)
  return (
    listed.find(({ source }) => source?.meta?.['persistentRecordId'] === entry.transactionId) ??
    listed.find((one) => one.id === gatewayId && isSame(fields, one)) ??
    listed.find((one) => isSame(fields, one) && dateOf(one) === entry.record.observedAt)
  )
}

/**
 * Ids of the entries that the kept one replaces: of its NPI and not newer. One without a date stays, since nobody can tell; so does what
 * was delivered with the kept one: a provider may stand in a row twice, with two types.
 * @param kept as listed; under an old id, where the gateway has updated in place
 * @param fellows the account's other entries of the chunk
 */
export function replacedBy(
  entry: Entry,
  kept: CareTeamReturned,
  listed: readonly CareTeamReturned[],
  fellows: readonly Entry[],
  dateOf: DateOf,
): string[] {
  const { npi } = entry.record.evidence
  const { observedAt } = entry.record
  const beside = fellows
    .filter(({ record }) => record.evidence.npi === npi && record.observedAt === observedAt)
    .map(fieldsOf)
  return listed
    .filter((one) => one.npi === npi && one.id !== kept.id)
    .filter((one) => (dateOf(one) ?? Number.POSITIVE_INFINITY) <= observedAt)
    .filter((one) => !beside.some((fields) => isSame(fields, one)))
    .map(({ id }) => id)
}

/** Whether the account has the entry in this one, whatever their dates. */
export const isListedAs = (entry: Entry, listed: CareTeamReturned): boolean => isSame(fieldsOf(entry), listed)

const text = z.string().optional()
const Fields = z.object({
  npi: text,
  name: text,
  type: text,
  address: text,
  city: text,
  zip: text,
  phoneNumber: text,
  location: text,
  profile: text,
})
type Fields = z.infer<typeof Fields>
const COMPARED = Fields.keyof().options

const fieldsOf = (entry: Entry): Fields => Fields.parse(JSON.parse(recordText(entry, '')))

/** What was not sent is the gateway's own affair. */
const isSame = (sent: Fields, stored: Fields): boolean =>
  COMPARED.every((key) => sent[key] === undefined || sent[key] === stored[key])
