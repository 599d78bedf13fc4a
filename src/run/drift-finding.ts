/** What a run tells of an export that differs from earlier deliveries, and when something is far enough from what is usual. Pure. */
import { z } from 'zod'
import { median } from './export-profile.ts'

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

export interface Known {
  readonly value: number
  readonly accepted: boolean
}

interface Change {
  readonly size: number
  /** What it is compared with. */
  readonly usual: number
  /** The latest deliveries were like it, and were told. */
  readonly isKnown: boolean
}

interface Comparison {
  /** So many earlier deliveries are needed. */
  readonly after: number
  /** What is further away is told, */
  readonly warn: number
  /** and no more once so many deliveries in a row were told. */
  readonly row: number
  distance(now: number, usual: number): number
}

/** From what is usual, the median, or from what was accepted, whichever is nearer. @param known latest first */
export function changeFrom(
  now: number,
  known: readonly Known[],
  { after, warn, row, distance }: Comparison,
): Change | undefined {
  if (known.length < after) return undefined
  const usual = median(known.map(({ value }) => value))
  const latest = known.slice(0, row).map(({ value }) => value)
  const references = [usual, ...known.filter(({ accepted }) => accepted).map(({ value }) => value)]
  const isKnown =
    latest.length === row &&
    latest.every((value) => distance(value, usual) > warn && distance(now, value) <= warn)
  return { size: Math.min(...references.map((reference) => distance(now, reference))), usual, isKnown }
}

export function judge(
  measure: DriftFinding['measure'],
  change: Change | undefined,
  limits: { readonly warn: number; readonly stop: number },
  message: (usual: number) => string,
): DriftFinding[] {
  if (change === undefined) return []
  const isNews = change.size > limits.warn && !change.isKnown
  const level = change.size > limits.stop ? 'stop' : isNews ? 'warn' : undefined
  return level === undefined
    ? []
    : [{ measure, level, message: message(change.usual), change: Number(change.size.toFixed(3)) }]
}
