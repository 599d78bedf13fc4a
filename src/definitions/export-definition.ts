/** Entry of `exports:` in a job, as written (docs/jobs.md) and as used: folder or server, file names, completeness, expectations. */

import { resolve } from 'node:path'
import { z } from 'zod'
import type { ArrivalRules } from '../extract/arrival/verify-delivery.ts'
import { type ContentLimits, DEFAULT_LIMITS } from '../extract/content.ts'
import { FolderWritten, folderPlace } from '../extract/sources/folder.ts'
import type { IdList } from '../extract/sources/id-lists.ts'
import { S3Written, s3Place } from '../extract/sources/s3.ts'
import { SftpWritten, sftpPlace } from '../extract/sources/sftp.ts'
import { compilePattern, type RemotePlace, type SourcePlace } from '../extract/sources/source.ts'
import type { ExpectationKey } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { readCronLine } from '../schedule/fires.ts'
import { zoneFault } from '../transform/zones.ts'
import { BYTE_SIZE, DURATION } from './quantity.ts'

const quantity = ({ form, demand, read }: typeof DURATION, example: string) =>
  z
    .string()
    .regex(form, demand(example))
    .transform((text) => read(text) ?? 0)

/** Milliseconds. */
export const Duration = quantity(DURATION, '30m')

/** Bytes. */
export const ByteSize = quantity(BYTE_SIZE, '1MiB')

/** A fraction from 0 to 1. */
export const Share = z
  .string()
  .regex(/^(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%$/, 'must be a percentage from 0% to 100%, like 5%')
  .transform((text) => Number.parseFloat(text) / 100)

/** Cron line of five fields, for `schedule.cron` and `expect.by`. */
export const CronText = z.string().superRefine((text, context) => {
  const line = readCronLine(text)
  if ('problem' in line) context.addIssue({ code: 'custom', message: line.problem })
})

/** Time of day on a clock of 24 hours. */
export const TimeOfDay = z
  .string('must be a time of day, like "06:00"')
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, like "06:00"')

export const ZoneName = z
  .string('must be an IANA time zone, like America/New_York')
  .superRefine((zone, context) => {
    const message = zoneFault(zone)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const ExpectDefinition = z.strictObject({
  by: CronText.meta({
    description: 'Time of arrival: minute, hour, day, month, weekday, like "30 1 * * 1-5".',
  }),
  zone: ZoneName.optional().meta({
    description: 'IANA time zone of this line; default: zone of the schedule.',
  }),
  count: z
    .int()
    .min(1, 'must be a whole number from 1 on, like 2')
    .default(1)
    .meta({ description: 'Minimum number of complete exports since the time before.' }),
  size: Share.optional().meta({
    description: 'Notify if an export is smaller than this share of the usual size, like 50%.',
  }),
})

const fileName = z
  .string()
  .min(1)
  .regex(/^[^/\\]+$/, 'must be a file name without a folder')

/** Name of a companion file; `{name}` stands for the name of the export. */
const companion = fileName.regex(/\{name\}/, 'has no {name} in it; write it like "{name}.done"')

/** Checks a pattern while the job file is read: the message has a line number. */
const asPattern = (text: string, { addIssue }: z.RefinementCtx): void => {
  if (text === '') return
  try {
    compilePattern(text)
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    addIssue(`${error.message} ${error.remedy}`)
  }
}

export const ExportDefinition = z.strictObject({
  from: z
    .union([FolderWritten, SftpWritten, S3Written])
    .meta({ description: 'A folder, relative to the job file; or a server.' }),
  match: z
    .string()
    .min(1)
    .superRefine(asPattern)
    .meta({ description: 'Names to take; * stands for anything, {date:yyyyMMdd} for a date.' }),
  mapping: z.string().min(1).optional(),
  complete: z
    .strictObject({
      stableFor: Duration.optional().meta({ description: 'Time without a change, like 60s.' }),
      marker: companion.optional().meta({ description: 'Marker file beside the export, like {name}.done.' }),
      manifest: fileName
        .superRefine(asPattern)
        .optional()
        .meta({ description: 'Name of a manifest that lists the export.' }),
    })
    .refine((rules) => Object.keys(rules).length > 0, 'is empty; write stableFor, marker or manifest')
    .optional(),
  verify: z
    .strictObject({ checksum: fileName })
    .optional()
    .meta({ description: 'Checks before anything is sent.' }),
  members: fileName
    .superRefine(asPattern)
    .optional()
    .meta({ description: 'Pattern for the members of an archive to take.' }),
  encrypted: z
    .literal('pgp')
    .optional()
    .meta({ description: 'Refuse files that are not encrypted this way.' }),
  limits: z
    .strictObject({
      bytes: ByteSize.default(DEFAULT_LIMITS.bytes),
      ratio: z.int().min(1).default(DEFAULT_LIMITS.ratio),
    })
    .optional(),
  archive: z.string().min(1).optional().meta({ description: 'Place for exports after a balanced run.' }),
  expect: ExpectDefinition.optional().meta({
    description: 'Expected arrivals: time, number and size of exports.',
  }),
})
type ExportDefinition = z.infer<typeof ExportDefinition>

export interface JobSource extends ArrivalRules {
  /** Place as shown to people. */
  readonly from: string
  readonly place: SourcePlace
  readonly mapping: string
  readonly members: string | undefined
  readonly encrypted: boolean
  readonly limits: ContentLimits
  /** True if exports are moved away after their run. */
  readonly archived: boolean
  readonly expect: Expectation | undefined
}

/** Expected arrivals: `count` exports by each time of `by`, since the time before. */
export interface Expectation {
  readonly by: string
  readonly zone: string
  readonly count: number
  /** Share of the usual size below which an export is suspiciously small. */
  readonly size: number | undefined
}

/** Place and pattern, as shown to people. */
export const sourceName = ({ from, match }: Pick<JobSource, 'from' | 'match'>): string =>
  `${from.replace(/\/$/, '')}/${match}`

/** Key of an expectation in the ledger. */
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
 * Resolves an entry of `exports:`.
 *
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
    from: place.shown,
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

/** A list of ids, in the place of exports. */
export const listSource = ({ place, name, mapping }: IdList): JobSource => ({
  from: place.shown,
  place,
  match: name,
  mapping,
  stableForMs: 0,
  marker: undefined,
  manifest: undefined,
  checksum: undefined,
  members: undefined,
  encrypted: false,
  limits: DEFAULT_LIMITS,
  archived: false,
  expect: undefined,
})

function placeOf(from: ExportDefinition['from'], archive: string | undefined, folder: string): SourcePlace {
  if (typeof from === 'string')
    return folderPlace({ folder: resolve(folder, from), archive: archive && resolve(folder, archive) })
  return remotePlace(from, archive, folder)
}

/** Resolves a server. @param folder of the job file */
export const remotePlace = (
  written: z.infer<typeof S3Written> | z.infer<typeof SftpWritten>,
  archive: string | undefined,
  folder: string,
): RemotePlace =>
  's3' in written ? s3Place({ ...written.s3, archive }) : sftpPlace({ ...written.sftp, archive }, folder)
