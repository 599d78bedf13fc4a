/** Range of a backfill: the exports in the range, their order, and the exports not yet begun by a run. Pure. */

import { DateTime } from 'luxon'
import type { JobSource } from '../definitions/export-definition.ts'
import { folderPlace } from '../extract/sources/folder.ts'
import { compilePattern, matchExportName } from '../extract/sources/source.ts'
import type { BackfillRange, RunKind, RunRecord } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { iso, shellPath, shellWord } from '../system/shown-text.ts'

/**
 * Reads a range of days.
 * @param from both days are included; ISO dates
 * @param command text to type, up to the options, for the example
 * @throws WaybillError `usage-wrong` for a day that does not exist, and for a range that ends before it begins
 */
export function readRange(from: string, to: string, command: string): BackfillRange {
  const remedy = `Write it like: ${command} --from 2026-01-01 --to 2026-03-31`
  for (const [option, day] of Object.entries({ '--from': from, '--to': to })) {
    if (isDay(day)) continue
    if (/^\d{4}-\d{2}-\d{2}$/.test(day))
      throw new WaybillError('usage-wrong', `${option} ${day} is no day of the calendar`, { remedy })
    const meant = dayMeant(day, option === '--to') ?? '2026-02-01'
    throw new WaybillError('usage-wrong', `${option} ${day} is not a day in the form 2026-01-31`, {
      remedy: `Write it as ${meant}, like: ${command} --from 2026-01-01 --to 2026-03-31`,
    })
  }
  if (from > to)
    throw new WaybillError('usage-wrong', `the range ends (${to}) before it begins (${from})`, { remedy })
  return { from, to }
}

const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && DateTime.fromISO(text, { zone: 'utc' }).isValid

/** Unambiguous forms of a day: day, month and year with dots; year, month and day; a month. */
const OTHER_FORMS: readonly RegExp[] = [
  /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})$/,
  /^(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})$/,
  /^(?<year>\d{4})[-/.](?<month>\d{1,2})(?:[-/.](?<day>\d{1,2}))?$/,
]

/** Day in the expected form, from another form; for a month, the first or the last day. */
function dayMeant(text: string, isLast: boolean): string | undefined {
  const { year, month, day } = OTHER_FORMS.map((form) => form.exec(text)?.groups).find(Boolean) ?? {}
  if (year === undefined || month === undefined) return undefined
  const at = DateTime.fromObject(
    { year: Number(year), month: Number(month), day: Number(day ?? 1) },
    { zone: 'utc' },
  )
  if (!at.isValid) return undefined
  return (day === undefined && isLast ? at.endOf('month') : at).toISODate() ?? undefined
}

/** @throws WaybillError `usage-wrong` if a pattern of the job has no date: the exports lie in no range */
export function assertDated(job: string, sources: readonly Pick<JobSource, 'match'>[]): void {
  const undated = sources.find(({ match }) => compilePattern(match).dateFormat === undefined)
  if (undated === undefined) return
  throw new WaybillError(
    'usage-wrong',
    `the pattern "${undated.match}" has no date, so the job ${job} cannot select exports by day`,
    {
      remedy:
        'Write the date into the pattern of the job, like match: "acme_screening_{date:yyyyMMdd}.csv"; or name the files: waybill run JOB --file PATH',
    },
  )
}

/** Delivery with the day in its name; if the pattern has no day, the first of the month. */
export interface Dated<Found> {
  readonly found: Found
  readonly date: string
  readonly name: string
}

/** Deliveries in the range, from all sources together: oldest date first, then by name (in code-unit order), then by source. */
export function inRange<Found>(
  found: readonly { found: Found; name: string; match: string }[],
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
 * Tells whether a run must still take something of a delivery. Exports are begun in order, and an interrupted export first: only the last one begun
 * can lack a part, a member of its archive.
 * @param begun addresses of the exports that the run has begun with the mapping of the delivery, in order: `address`, or `address!member`
 * @returns takes the address of the delivery
 */
export function openBeside(begun: readonly string[]): (address: string) => boolean {
  const exact = new Set(begun)
  const archives = new Set(begun.flatMap((path) => archivesOf(path)))
  const last = begun.at(-1)
  return (address) => !exact.has(address) && (!archives.has(address) || isMemberOf(address, last))
}

/** `a.zip!b!c.csv` may be a member of `a.zip` or of `a.zip!b`. */
export const archivesOf = (path: string): string[] => {
  const parts = path.split('!')
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('!'))
}

/** True if the path is a member of the archive. */
export const isMemberOf = (archive: string, path: string | undefined): boolean =>
  path?.startsWith(`${archive}!`) === true

/** Sources of a job, with the exports in another folder and taken as they are: no waiting, no archiving. */
export const sourcesIn = (sources: readonly JobSource[], folder: string): JobSource[] =>
  sources.map((source) => ({
    ...source,
    from: folder,
    place: folderPlace({ folder }),
    stableForMs: 0,
    marker: undefined,
    manifest: undefined,
    checksum: undefined,
    archived: false,
  }))

/** Range of a backfill, with the options given at the start. Undefined for any other run. */
export function rangeOf({
  backfill,
  backfill_folder: folder,
}: Pick<RunRecord, 'backfill' | 'backfill_folder'>): BackfillRange | undefined {
  const [from, to, ...options] = backfill?.split('/') ?? []
  if (from === undefined || to === undefined) return undefined
  const rate = options.flatMap((option) => /^rate=(.+)$/.exec(option)?.[1] ?? []).at(0)
  return {
    from,
    to,
    ...(folder === null ? {} : { in: folder }),
    ...(rate === undefined ? {} : { rate: Number(rate) }),
    ...(options.includes('accept-drift') ? { acceptDrift: true } : {}),
    ...(options.includes('accept-end') ? { acceptEnd: true } : {}),
  }
}

/** True for equal days and an equal place, whatever the options. */
export const sameRange = (one: BackfillRange | undefined, other: BackfillRange): boolean =>
  one !== undefined && one.from === other.from && one.to === other.to && one.in === other.in

export const kindOf = ({ backfill }: RunRecord): RunKind => (backfill === null ? 'ordinary' : 'backfill')

/** Command for a backfill, with the rate: typed as it stands, it must not reach the gateway at full speed. */
export const backfillCommand = (
  job: string,
  { from, to, in: folder, rate, acceptDrift, acceptEnd }: BackfillRange,
  path: (file: string) => string = shellPath,
): string =>
  [
    ...['waybill backfill', shellWord(job), '--from', from, '--to', to],
    ...(folder === undefined ? [] : ['--in', path(folder)]),
    ...(rate === undefined ? [] : ['--rate', rate]),
    ...(acceptDrift === true ? ['--accept-drift'] : []),
    ...(acceptEnd === true ? ['--accept-end'] : []),
  ].join(' ')

/** Day of an instant, in UTC: `2026-03-02`. */
export const dayOf = (epochMs: number): string => iso(epochMs).slice(0, 10)
