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

/** A file at its source that holds one export or, where it is an archive, several. */
export interface FoundDelivery extends CompleteExport {
  readonly source: ExportSource
  readonly rules: DeliveryRules
  /** What lies there, too, and is complete: with those names, in no order. */
  readonly neighbours: (match: string) => Promise<readonly CompleteExport[]>
  /** Whether its source has listed it; else it was named, and nothing is known of its size and time. */
  readonly isListed: boolean
  /** Whether it is moved away after its run. */
  readonly archived: boolean
  /** A person has said that it is whole, whatever it ends with. */
  readonly acceptEnd?: boolean
  /** Why it is not taken: `receive` throws it. */
  readonly refused?: WaybillError
}

/** True if its size, number of rows or checksum was announced: the export is compared with that, whatever its end. */
export const isAnnounced = (
  { checksum }: Pick<CompleteExport, 'checksum'>,
  { bytes, sha256, rows }: Announced,
): boolean => checksum !== undefined || (bytes ?? sha256 ?? rows) !== undefined

/** For a file that no source of the job covers any more. */
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
 * For a file that a run has begun with, by where it lies and what it is called: those of its source. Where no source is there (it was
 * archived, or taken from another folder), those of the source whose pattern its name fits, as far as they say how it is read.
 */
export function rulesOf(sources: readonly JobSource[], folder: string, name: string): DeliveryRules {
  const fits = ({ match }: JobSource): boolean => matchExportName(compilePattern(match), name) !== undefined
  const there = sources.filter(({ from }) => from === folder)
  const own = there.find(fits) ?? there[0]
  if (own !== undefined) return own
  const like = sources.find(fits)
  return like === undefined ? ANY_RULES : { ...ANY_RULES, match: like.match, limits: like.limits }
}

/** A file that was named, not found in a listing. What lies beside it is taken as it is. */
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
 * Files with such names that have not changed for long enough, with their checksum files where there are some: what is joined need have
 * neither that nor a marker, and a manifest need not name it.
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

interface Named {
  readonly name: string
}

/**
 * Of the files with such names, without the export itself: that of the same date, where both patterns have one, else the last in the order
 * of exports (date in the name, then name).
 * @param exportName without a folder
 * @param exportPattern by which the export was found
 */
export function chooseBeside<File extends Named>(
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
