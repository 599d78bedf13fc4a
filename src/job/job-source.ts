/** An entry of a job's `exports:` with its paths resolved and its defaults filled in. */
import { resolve } from 'node:path'
import type { ArrivalRules } from '../extract/arrival/completeness.ts'
import type { SourcePlace } from '../extract/arrival/open-source.ts'
import { type ContentLimits, DEFAULT_LIMITS } from '../extract/content-limits.ts'
import type { ExpectationKey } from '../ledger/ledger.ts'
import type { ExportDefinition } from './export-definition.ts'

export interface JobSource extends ArrivalRules {
  /** The place as people are told of it. */
  readonly from: string
  readonly place: SourcePlace
  readonly mapping: string
  readonly members: string | undefined
  readonly encrypted: boolean
  readonly limits: ContentLimits
  /** Whether exports are moved away after their run. */
  readonly archived: boolean
  readonly expect: Expectation | undefined
}

/** So many exports at least must have arrived by each of these times, since the one before. */
export interface Expectation {
  /** A cron line. */
  readonly by: string
  readonly zone: string
  readonly count: number
  /** The share of the usual size below which an export is strangely small. */
  readonly size: number | undefined
}

/** Place and pattern, as people are told of them. */
export const sourceName = ({ from, match }: Pick<JobSource, 'from' | 'match'>): string =>
  `${from.replace(/\/$/, '')}/${match}`

/** Names what is expected of a source in the ledger. */
export const expectationKey = (
  job: string,
  source: JobSource,
  { by, zone }: Expectation,
): ExpectationKey => ({
  job,
  mapping: source.mapping,
  source: sourceName(source),
  timetable: `${by} ${zone}`,
})

/**
 * @param folder of the job file: paths are relative to it
 * @param zone of the job's schedule
 */
export function jobSource(
  one: ExportDefinition,
  mapping: string | undefined,
  folder: string,
  zone?: string,
): JobSource {
  const { from, match, complete, verify, members, encrypted, limits, archive, expect } = one
  const place = placeOf(from, archive, folder)
  return {
    from: shownPlace(place),
    place,
    match,
    mapping: one.mapping ?? mapping ?? '',
    stableForMs: complete?.stableFor ?? 0,
    marker: complete?.marker,
    manifest: complete?.manifest,
    checksum: verify?.checksum,
    members,
    encrypted: encrypted !== undefined,
    limits: limits ?? DEFAULT_LIMITS,
    archived: archive !== undefined,
    expect: expect && { ...expect, zone: expect.zone ?? zone ?? '', size: expect.size },
  }
}

function placeOf(from: ExportDefinition['from'], archive: string | undefined, folder: string): SourcePlace {
  if (typeof from === 'string') {
    const resolved = resolve(folder, from)
    return { kind: 'folder', folder: resolved, archive: archive && resolve(folder, archive) }
  }
  if ('s3' in from) return { kind: 's3', ...from.s3, archive }
  const { hostKey, keyFile, ...sftp } = from.sftp
  return {
    kind: 'sftp',
    ...sftp,
    hostKey: hostKey.startsWith('SHA256:') ? hostKey : resolve(folder, hostKey),
    keyFile: keyFile && resolve(folder, keyFile),
    archive,
  }
}

function shownPlace(place: SourcePlace): string {
  if (place.kind === 'folder') return place.folder
  if (place.kind === 's3') return `s3://${place.bucket}/${place.prefix}`
  return `sftp://${place.user}@${place.host}:${place.port}/${place.folder}`
}
