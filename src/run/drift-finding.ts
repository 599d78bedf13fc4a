/** What a run tells of an export that differs from earlier deliveries, and when something is far enough from what is usual. Pure. */
import { z } from 'zod'
import { type ExportProfile, median } from './export-profile.ts'

/** Something in which an export differs. Names of columns, rules, units and shares; no content of a cell. */
export const DriftFinding = z.strictObject({
  measure: z.enum([
    'columns',
    'rows',
    'empty',
    'mix',
    'values',
    'rejects',
    'fit',
    'skipped',
    'checks',
    'empty-handed',
  ]),
  /** `stop` where the job stops for it, `accepted` where it was told to take the export all the same. */
  level: z.enum(['warn', 'stop', 'accepted']),
  message: z.string(),
  /** How far from what is usual: of rows as a share of them, else in shares; 0.2 is 20 %. Columns have none, nor what earlier versions found. */
  change: z.number().optional(),
})
export type DriftFinding = z.infer<typeof DriftFinding>

/** As the ledger keeps them. */
export const readDrift = (drift: string | null): readonly DriftFinding[] =>
  drift === null ? [] : z.array(DriftFinding).parse(JSON.parse(drift))

/** A finding with the name of its export. */
export interface ExportDrift extends DriftFinding {
  readonly export: string
}

export interface EarlierDelivery {
  readonly profile: ExportProfile
  /** It had drifted and was accepted: what is like it is no drift either. */
  readonly accepted: boolean
}

interface Known {
  readonly value: number
  readonly accepted: boolean
}

/** Of those that have such a value. @param earlier latest first */
export const knownOf = (
  earlier: readonly EarlierDelivery[],
  read: (profile: ExportProfile) => number | undefined,
): Known[] =>
  earlier.flatMap(({ profile, accepted }) => {
    const value = read(profile)
    return value === undefined ? [] : [{ value, accepted }]
  })

interface Comparison {
  /** So many earlier deliveries are needed. */
  readonly after: number
  /** What is further away is told, or stops the run, */
  readonly limits: { readonly warn: number; readonly stop: number }
  /** and is told no more once so many deliveries in a row were. */
  readonly row: number
  distance(now: number, usual: number): number
}

/**
 * Whether something is too far from what is usual, the median, or from what was accepted, whichever is nearer.
 * @param now undefined: there is nothing to compare
 * @param known latest first
 */
export function judge(
  measure: DriftFinding['measure'],
  now: number | undefined,
  known: readonly Known[],
  { after, limits: { warn, stop }, row, distance }: Comparison,
  message: (now: number, usual: number) => string,
): DriftFinding[] {
  if (now === undefined || known.length < after) return []
  const usual = median(known.map(({ value }) => value))
  const latest = known.slice(0, row).map(({ value }) => value)
  const references = [usual, ...known.filter(({ accepted }) => accepted).map(({ value }) => value)]
  const isKnown =
    latest.length === row &&
    latest.every((value) => distance(value, usual) > warn && distance(now, value) <= warn)
  const size = Math.min(...references.map((reference) => distance(now, reference)))
  const level = size > stop ? 'stop' : size > warn && !isKnown ? 'warn' : undefined
  if (level === undefined) return []
  return [{ measure, level, message: message(now, usual), change: Number(size.toFixed(3)) }]
}
