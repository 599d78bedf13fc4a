import type { JobSource } from '../definitions/export-definition.ts'
import { type Announced, type CompleteExport, completeExports } from '../extract/arrival/verify-delivery.ts'
import { DEFAULT_LIMITS } from '../extract/content.ts'
import {
  compilePattern,
  type Delivery,
  type ExportSource,
  inOrder,
  matchExportName,
} from '../extract/sources/source.ts'
import type { WaybillError } from '../model/errors.ts'

type DeliveryRules = Pick<
  JobSource,
  'match' | 'members' | 'encrypted' | 'limits' | 'checksum' | 'marker' | 'stableForMs'
>

/** File at a source with one export or, in an archive, several. */
export interface FoundDelivery extends CompleteExport {
  readonly source: ExportSource
  readonly rules: DeliveryRules
  /** Complete files beside the delivery with matching names, in no order. */
  readonly neighbours: (match: string) => Promise<readonly CompleteExport[]>
  /** True if the source listed the file. A file named by the operator has unknown size and time. */
  readonly isListed: boolean
  /** True if the file is archived after the run. */
  readonly archived: boolean
  /** Declared whole by a person, whatever the end. */
  readonly acceptEnd?: boolean
  /** Refusal of the file, thrown by `receive`. */
  readonly refused?: WaybillError
}

/** True if size, row count or checksum was announced: the export is compared with the announcement, whatever the end. */
export const isAnnounced = (
  { checksum }: Pick<CompleteExport, 'checksum'>,
  { bytes, sha256, rows }: Announced,
): boolean => checksum !== undefined || (bytes ?? sha256 ?? rows) !== undefined

/** Rules for a file outside of all sources of the job. */
export const ANY_RULES: DeliveryRules = {
  match: '*',
  members: '*',
  encrypted: false,
  limits: DEFAULT_LIMITS,
  checksum: undefined,
  marker: undefined,
  stableForMs: 0,
}

/**
 * Rules for a file that a run has begun, by folder and name: the rules of its source. Without a source there (the file was archived, or taken from
 * another folder), only the reading rules of the source whose pattern fits the name.
 */
export function rulesOf(sources: readonly JobSource[], folder: string, name: string): DeliveryRules {
  const fits = ({ match }: JobSource): boolean => matchExportName(compilePattern(match), name) !== undefined
  const there = sources.filter(({ from }) => from === folder)
  const own = there.find(fits) ?? there[0]
  if (own !== undefined) return own
  const like = sources.find(fits)
  return like === undefined ? ANY_RULES : { ...ANY_RULES, match: like.match, limits: like.limits }
}

/** Delivery of a named, unlisted file. Files beside it are taken as they are. */
export const unlisted = (source: ExportSource, name: string, rules: DeliveryRules): FoundDelivery => ({
  source,
  delivery: { name, bytes: 0, modifiedAt: 0, version: '' },
  rules,
  neighbours: async (match) =>
    completeBeside(rules, match, (await source.list()).files, new Map(), Number.POSITIVE_INFINITY),
  isListed: false,
  archived: false,
})

/**
 * Files with matching names, unchanged for long enough, with checksum files where present. Joined files need neither checksum nor marker nor an entry
 * in a manifest.
 */
export function completeBeside(
  { stableForMs, checksum, marker }: DeliveryRules,
  match: string,
  listing: readonly Delivery[],
  announced: ReadonlyMap<string, Announced>,
  now: number,
): CompleteExport[] {
  const companion = (pattern: string | undefined, { name }: Delivery): string | undefined =>
    pattern?.replaceAll('{name}', name)
  const companions = new Set(listing.flatMap((one) => [companion(checksum, one), companion(marker, one)]))
  const byName = new Map(listing.map((one) => [one.name, one]))
  return completeExports({ match, stableForMs }, listing, announced, now)
    .filter(({ delivery }) => !companions.has(delivery.name))
    .map((one) => ({ ...one, checksum: byName.get(companion(checksum, one.delivery) ?? '') }))
}

/**
 * Chooses a file beside the export: the file of the same date where both patterns have a date, else the last in export order (date in the name, then
 * name). The export itself is excluded.
 * @param exportName without a folder
 * @param exportPattern by which the export was found
 */
export function chooseBeside<File extends { name: string }>(
  files: readonly File[],
  pattern: string,
  exportName: string,
  exportPattern: string,
): File | undefined {
  const compiled = compilePattern(pattern)
  const { date } = matchExportName(compilePattern(exportPattern), exportName) ?? {}
  return inOrder(
    compiled,
    files.filter(({ name }) => name !== exportName),
  )
    .filter(({ name }) => {
      const found = matchExportName(compiled, name)
      return date === undefined || found?.date === undefined || found.date === date
    })
    .at(-1)
}
