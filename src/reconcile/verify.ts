/**
 * Compares what was accepted with what the profile shows. The gateway returns the latest record by observation date for each code and
 * source type, so a newer one hides ours (interface, "the service: biometrics"). Pure; says which field differs, never its value.
 */
import type { Entry } from '../model/entry.ts'
import type { ProfileRecord } from './read-back.ts'

export type ComparedField = 'value' | 'unit' | 'code' | 'date' | 'name' | 'mark'

export type Comparison =
  | { readonly verdict: 'equal' }
  | { readonly verdict: 'differs'; readonly fields: readonly ComparedField[] }
  /** A newer record, or another of the same date, stands in its place: nobody can tell. */
  | { readonly verdict: 'hidden' }
  | { readonly verdict: 'missing' }

const MISSING: Comparison = { verdict: 'missing' }
const HIDDEN: Comparison = { verdict: 'hidden' }

/**
 * @param profile undefined where it cannot be read
 * @param isBearer whether the provider of a care-team entry is to bear the mark
 */
export function compareWithProfile(
  entry: Entry,
  profile: readonly ProfileRecord[] | undefined,
  isBearer = false,
): Comparison {
  if (profile === undefined) return HIDDEN
  const comparison = compareRecord(entry, profile)
  if (!isBearer || (comparison.verdict !== 'equal' && comparison.verdict !== 'differs')) return comparison
  const { npi } = entry.record.evidence
  if (profile.some((found) => found.npi === npi && found.isMarked === true)) return comparison
  return {
    verdict: 'differs',
    fields: [...(comparison.verdict === 'differs' ? comparison.fields : []), 'mark'],
  }
}

function compareRecord({ record, transactionId }: Entry, profile: readonly ProfileRecord[]): Comparison {
  const ours = profile.find((found) => found.persistentId === transactionId)
  if (ours !== undefined) return compareFields(record, ours)
  const { evidence, observedAt, kind, sourceType } = record
  if (kind === 'careTeam') {
    const ofProvider = profile.filter((found) => found.npi === evidence.npi)
    const unnamed = ofProvider.filter((found) => found.persistentId === undefined)
    const best = bestOf(unnamed.map((found) => compareFields(record, found)))
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
  const best = bestOf(sameDate.map((found) => compareFields(record, found)))
  if (best !== undefined) return best
  const hides = series.some((found) => found.observedAt === undefined || found.observedAt >= observedAt)
  return hides ? HIDDEN : MISSING
}

const bestOf = (comparisons: readonly Comparison[]): Comparison | undefined =>
  comparisons.find(({ verdict }) => verdict === 'equal') ?? comparisons[0]

function compareFields({ evidence, observedAt, kind }: Entry['record'], found: ProfileRecord): Comparison {
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
