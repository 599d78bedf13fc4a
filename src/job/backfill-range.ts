/** The range of a backfill: which exports lie in it, in which order, and which of them a run has not begun yet. Pure. */
import { DateTime } from 'luxon'
import { WaybillError } from '../errors.ts'
import { compilePattern, matchExportName } from '../extract/discover.ts'
import type { BackfillRange, RunKind, RunRecord } from '../ledger/ledger.ts'
import type { JobSource } from './job-source.ts'

/**
 * @param from both days are included; ISO dates
 * @param command what to type, up to the options, for the example
 * @throws WaybillError `usage-wrong` for a day that does not exist, and for a range that ends before it begins
 */
export function readRange(from: string, to: string, command: string): BackfillRange {
  const remedy = `Write it like: ${command} --from 2026-01-01 --to 2026-03-31`
  for (const [option, day] of Object.entries({ '--from': from, '--to': to })) {
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(day) && DateTime.fromISO(day, { zone: 'utc' }).isValid
    if (!isDay)
      throw new WaybillError('usage-wrong', `${option} ${day} is no day of the calendar`, { remedy })
  }
  if (from > to)
    throw new WaybillError('usage-wrong', `the range ends (${to}) before it begins (${from})`, { remedy })
  return { from, to }
}

/** @throws WaybillError `usage-wrong` where a pattern of the job says no date: its exports lie in no range */
export function assertDated(job: string, sources: readonly Pick<JobSource, 'match'>[]): void {
  const undated = sources.find(({ match }) => compilePattern(match).dateFormat === undefined)
  if (undated === undefined) return
  throw new WaybillError(
    'usage-wrong',
    `the names that "${undated.match}" fits have no date, so the job ${job} has no exports of a range`,
    {
      remedy:
        'Write the date into the pattern of the job, like match: "acme_screening_{date:yyyyMMdd}.csv"; or name the files: waybill run JOB --file PATH',
    },
  )
}

/** A delivery with the day that its name says; where the pattern has no day, the first of the month. */
export interface Dated<Found> {
  readonly found: Found
  readonly date: string
  readonly name: string
}

/** Those of the range, from all sources together: oldest date first, then by name (in code-unit order), then by source. */
export function inRange<Found>(
  found: readonly { readonly found: Found; readonly name: string; readonly match: string }[],
  { from, to }: Pick<BackfillRange, 'from' | 'to'>,
): Dated<Found>[] {
  return found
    .flatMap(({ found: one, name, match }) => {
      const date = matchExportName(compilePattern(match), name)?.date
      return date === undefined || date < from || date > to ? [] : [{ found: one, name, date }]
    })
    .sort((a, b) => compare(a.date, b.date) || compare(a.name, b.name))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Whether a run must still take something of a delivery. Exports are begun in order, and one that was left in the middle first, so only of the
 * last one begun can a part be missing: a member of its archive.
 * @param address of the delivery
 * @param begun addresses of the exports that the run has begun with the delivery's mapping, in their order: `address`, or `address!member`
 */
export function isOpen(address: string, begun: readonly string[]): boolean {
  if (begun.includes(address)) return false
  return !begun.some((path) => isMemberOf(address, path)) || isMemberOf(address, begun.at(-1))
}

/** Whether a path is that of a member of the archive. */
export const isMemberOf = (archive: string, path: string | undefined): boolean =>
  path?.startsWith(`${archive}!`) === true

/** The sources of a job as if their exports lay in another folder, as they are: nothing there is waited for, nothing moved away. */
export const sourcesIn = (sources: readonly JobSource[], folder: string): JobSource[] =>
  sources.map((source) => ({
    ...source,
    from: folder,
    place: { kind: 'folder', folder, archive: undefined },
    stableForMs: 0,
    marker: undefined,
    manifest: undefined,
    checksum: undefined,
    archived: false,
  }))

/** Undefined for a run that is no backfill. */
export function rangeOf({ backfill, backfill_folder: folder }: RunRecord): BackfillRange | undefined {
  const [from, to] = backfill?.split('/') ?? []
  if (from === undefined || to === undefined) return undefined
  return { from, to, ...(folder === null ? {} : { in: folder }) }
}

export const kindOf = ({ backfill }: RunRecord): RunKind => (backfill === null ? 'ordinary' : 'backfill')

/** What to type for a backfill. */
export const backfillCommand = (job: string, { from, to, in: folder }: BackfillRange): string =>
  `waybill backfill ${job} --from ${from} --to ${to}${folder === undefined ? '' : ` --in ${folder}`}`
