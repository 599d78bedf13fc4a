/**
 * Compares accepted records with the profile. The gateway returns the latest record by observation date for each code and source type,
 * hence a newer record hides ours (interface, "the service: biometrics"). Pure; names the field that differs, never the value.
 */
import type { Entry } from '../model/entry.ts'
import { isOfSeries, type ProfileRecord } from './match.ts'

export const COMPARED_FIELDS = ['value', 'unit', 'code', 'date', 'name', 'mark', 'replaced'] as const
type ComparedField = (typeof COMPARED_FIELDS)[number]

export type Comparison =
  | { verdict: 'equal' }
  | { verdict: 'differs'; fields: readonly ComparedField[] }
  /** A newer record, or a different record of the date, hides this one: unknown. */
  | { verdict: 'hidden' }
  | { verdict: 'missing' }

const MISSING: Comparison = { verdict: 'missing' }
const HIDDEN: Comparison = { verdict: 'hidden' }

/** Expected state of a care-team entry beside its own fields. */
export interface ExpectedOfCareTeam {
  /** True if the provider should bear the mark. */
  readonly isBearer: boolean
  /** Observation date of the provider's newest delivered entry, if the job replaces changed entries. */
  readonly newest?: number
  /** True if a deletion of the provider's replaced entries is owed. */
  readonly owesDeletion: boolean
  /** True if a later export no longer lists the provider, and the job deletes missing entries. */
  readonly isRemoved: boolean
}

/** @param profile undefined if unreadable */
export function compareWithProfile(
  entry: Entry,
  profile: readonly ProfileRecord[] | undefined,
  expected?: ExpectedOfCareTeam,
): Comparison {
  if (profile === undefined) return HIDDEN
  const comparison = compareRecord(entry, profile)
  if (expected?.isRemoved && comparison.verdict === 'missing') return HIDDEN
  if (expected === undefined || (comparison.verdict !== 'equal' && comparison.verdict !== 'differs'))
    return comparison
  const ofProvider = profile.filter(isOfSeries(entry))
  const isUnmarked = expected.isBearer && !ofProvider.some(({ isMarked }) => isMarked === true)
  const fields: ComparedField[] = [
    ...(comparison.verdict === 'differs' ? comparison.fields : []),
    ...(isUnmarked ? (['mark'] as const) : []),
    ...(isReplacedThere(entry, ofProvider, expected) ? (['replaced'] as const) : []),
  ]
  return fields.length === 0 ? comparison : { verdict: 'differs', fields }
}

/**
 * True if the profile still shows an entry that was replaced: this entry, or a second entry. For entries of one date, only an owed deletion
 * counts.
 */
function isReplacedThere(
  { observedAt }: Entry,
  ofProvider: readonly ProfileRecord[],
  { newest, owesDeletion }: ExpectedOfCareTeam,
): boolean {
  if (newest === undefined) return false
  const dates = ofProvider.flatMap((found) => found.observedAt ?? [])
  const isOther = dates.some((at) => at !== observedAt && at <= newest)
  return isOther || (owesDeletion && dates.filter((at) => at === observedAt).length > 1)
}

function compareRecord(entry: Entry, profile: readonly ProfileRecord[]): Comparison {
  const { transactionId, observedAt, kind } = entry
  const ours = profile.find((found) => found.persistentId === transactionId)
  if (ours !== undefined) return compareFields(entry, ours)
  const series = profile.filter(isOfSeries(entry))
  const unnamed = series.filter((found) => found.persistentId === undefined)
  if (kind === 'careTeam') {
    const best = bestOf(unnamed.map((found) => compareFields(entry, found)))
    if (best?.verdict === 'equal') return best
    // If the job replaces changed entries, a newer entry hides this one.
    if (series.some((found) => (found.observedAt ?? Number.NEGATIVE_INFINITY) > observedAt)) return HIDDEN
    return best ?? MISSING
  }
  const sameDate = unnamed.filter((found) => found.observedAt === observedAt)
  const best = bestOf(sameDate.map((found) => compareFields(entry, found)))
  if (best !== undefined) return best
  const hides = series.some((found) => found.observedAt === undefined || found.observedAt >= observedAt)
  return hides ? HIDDEN : MISSING
}

const bestOf = (comparisons: readonly Comparison[]): Comparison | undefined =>
  comparisons.find(({ verdict }) => verdict === 'equal') ?? comparisons[0]

function compareFields({ evidence, observedAt, kind }: Entry, found: ProfileRecord): Comparison {
  const fields: ComparedField[] = []
  if (evidence.value !== undefined && found.value !== Number(evidence.value)) fields.push('value')
  if (evidence.unit !== undefined && found.unit !== undefined && found.unit !== evidence.unit)
    fields.push('unit')
  if (
    kind === 'careTeam'
      ? found.npi !== evidence.npi
      : !evidence.codes.every((code) => found.codes.includes(code))
  )
    fields.push('code')
  if (found.observedAt !== undefined && found.observedAt !== observedAt) fields.push('date')
  if (kind === 'careTeam' && found.name !== evidence.name) fields.push('name')
  return fields.length === 0 ? { verdict: 'equal' } : { verdict: 'differs', fields }
}
