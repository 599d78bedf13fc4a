/**
 * Compares what was accepted with what the profile shows. The gateway returns the latest record by observation date for each code and
 * source type, so a newer one hides ours (interface, "the service: biometrics"). Pure; says which field differs, never its value.
 */
import type { Entry } from '../model/entry.ts'
import type { ProfileRecord } from './read-back.ts'

export type ComparedField = 'value' | 'unit' | 'code' | 'date' | 'name' | 'mark' | 'replaced'

export type Comparison =
  | { readonly verdict: 'equal' }
  | { readonly verdict: 'differs'; readonly fields: readonly ComparedField[] }
  /** A newer record, or another of the same date, stands in its place: nobody can tell. */
  | { readonly verdict: 'hidden' }
  | { readonly verdict: 'missing' }

const MISSING: Comparison = { verdict: 'missing' }
const HIDDEN: Comparison = { verdict: 'hidden' }

/** What is to hold of a care-team entry beside its own fields. */
export interface ExpectedOfCareTeam {
  /** Whether its provider is to bear the mark. */
  readonly isBearer: boolean
  /** Where the job replaces what has changed: when the newest entry of the provider was observed that a run has delivered. */
  readonly newest?: number
  /** Whether a deletion of the provider's replaced entries is owed. */
  readonly owesDeletion: boolean
  /** Whether a later export lists the provider no more, in a job that deletes what is missing. */
  readonly isRemoved: boolean
}

/** @param profile undefined where it cannot be read */
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
  const { npi } = entry.evidence
  const ofProvider = profile.filter((found) => found.npi === npi)
  const isUnmarked = expected.isBearer && !ofProvider.some(({ isMarked }) => isMarked === true)
  const fields: ComparedField[] = [
    ...(comparison.verdict === 'differs' ? comparison.fields : []),
    ...(isUnmarked ? (['mark'] as const) : []),
    ...(isReplacedThere(entry, ofProvider, expected) ? (['replaced'] as const) : []),
  ]
  return fields.length === 0 ? comparison : { verdict: 'differs', fields }
}

/** Whether an entry still stands that another has replaced: this one, or one beside it. Of one date only what is owed tells. */
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
  const { transactionId, evidence, observedAt, kind, sourceType } = entry
  const ours = profile.find((found) => found.persistentId === transactionId)
  if (ours !== undefined) return compareFields(entry, ours)
  if (kind === 'careTeam') {
    const ofProvider = profile.filter((found) => found.npi === evidence.npi)
    const unnamed = ofProvider.filter((found) => found.persistentId === undefined)
    const best = bestOf(unnamed.map((found) => compareFields(entry, found)))
    if (best?.verdict === 'equal') return best
    // Where the job replaces what has changed, a newer one stands in its place.
    if (ofProvider.some((found) => (found.observedAt ?? Number.NEGATIVE_INFINITY) > observedAt)) return HIDDEN
    return best ?? MISSING
  }
  const series = profile.filter(
    (found) =>
      found.codes.some((code) => evidence.codes.includes(code)) &&
      (found.sourceType ?? sourceType) === sourceType,
  )
  const sameDate = series.filter(
    (found) => found.observedAt === observedAt && found.persistentId === undefined,
  )
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
