/** One entry of `exports:` in a job, as written (docs/jobs.md) and as it is used: where files arrive, which are exports, when one is complete, and what is expected. */

import { resolve } from 'node:path'
import { z } from 'zod'
import type { ArrivalRules } from '../extract/arrival/verify-delivery.ts'
import { type ContentLimits, DEFAULT_LIMITS } from '../extract/content.ts'
import { FolderWritten, folderPlace } from '../extract/sources/folder.ts'
import { S3Written, s3Place } from '../extract/sources/s3.ts'
import { SftpWritten, sftpPlace } from '../extract/sources/sftp.ts'
import { compilePattern, type RemotePlace, type SourcePlace } from '../extract/sources/source.ts'
import type { ExpectationKey } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { readCronLine } from '../schedule/fires.ts'
import { zoneFault } from '../transform/zones.ts'
import { BYTE_SIZE, DURATION, type Quantity } from './quantity.ts'

const quantity = ({ form, demand, read }: Quantity, example: string) =>
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

/** A cron line of five fields, as of `schedule.cron` and of `expect.by`. */
export const CronText = z.string().superRefine((text, context) => {
  const line = readCronLine(text)
  if ('problem' in line) context.addIssue({ code: 'custom', message: line.problem })
})

export const ZoneName = z
  .string('must be an IANA time zone, like America/New_York')
  .superRefine((zone, context) => {
    const message = zoneFault(zone)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const ExpectDefinition = z.strictObject({
  by: CronText.meta({
    description: 'When they must be there: minute, hour, day, month, weekday, like "30 1 * * 1-5".',
  }),
  zone: ZoneName.optional().meta({
    description: 'IANA time zone of that line; without it, that of the schedule.',
  }),
  count: z
    .int()
    .min(1, 'must be a whole number from 1 on, like 2')
    .default(1)
    .meta({ description: 'So many complete exports at least since the time before.' }),
  size: Share.optional().meta({
    description: 'An export smaller than this share of the usual size is told, like 50%.',
  }),
})
export type ExpectDefinition = z.infer<typeof ExpectDefinition>

const fileName = z
  .string()
  .min(1)
  .regex(/^[^/\\]+$/, 'is a file name, without a folder')

/** A name beside that of the export, which stands at `{name}`. */
const companion = fileName.regex(/\{name\}/, 'has no {name} in it; write it like "{name}.done"')

/** Refused where it stands, with its line: at a run nobody would know it any more. */
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
  /** Folder, relative to the job file; or a server. */
  from: z
    .union([FolderWritten, SftpWritten, S3Written])
    .meta({ description: 'A folder, relative to the job file; or a server.' }),
  /** Names to take; `*` stands for anything, `{date:yyyyMMdd}` for a date in luxon tokens. */
  match: z
    .string()
    .min(1)
    .superRefine(asPattern)
    .meta({ description: 'Names to take; * stands for anything, {date:yyyyMMdd} for a date.' }),
  mapping: z.string().min(1).optional(),
  /** What must be so before an export is taken; all of what is given. */
  complete: z
    .strictObject({
      /** It has not changed for so long. */
      stableFor: Duration.optional().meta({ description: 'It has not changed for so long, like 60s.' }),
      /** This file lies beside it. */
      marker: companion.optional().meta({ description: 'This file lies beside it, like {name}.done.' }),
      /** A manifest with such a name, a pattern like `match`, names it. */
      manifest: fileName
        .superRefine(asPattern)
        .optional()
        .meta({ description: 'A manifest with such a name names it.' }),
    })
    .refine((rules) => Object.keys(rules).length > 0, 'says nothing; it takes stableFor, marker, manifest')
    .optional(),
  /** What is compared before anything is sent. */
  verify: z
    .strictObject({ checksum: fileName })
    .optional()
    .meta({ description: 'What is compared before anything is sent.' }),
  /** Which members of an archive are exports, by a pattern like `match`. */
  members: fileName
    .superRefine(asPattern)
    .optional()
    .meta({ description: 'Which members of an archive are exports, by a pattern.' }),
  /** Nothing is taken that is not encrypted so. */
  encrypted: z.literal('pgp').optional().meta({ description: 'Nothing is taken that is not encrypted so.' }),
  /** What may come out of a compressed or encrypted file. */
  limits: z
    .strictObject({
      bytes: ByteSize.default(DEFAULT_LIMITS.bytes),
      ratio: z.int().min(1).default(DEFAULT_LIMITS.ratio),
    })
    .optional(),
  /** Where exports go after a run of them has balanced. */
  archive: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Where exports go after a run of them has balanced.' }),
  /** What is told where it does not come true. */
  expect: ExpectDefinition.optional().meta({
    description: 'By when how many exports must have arrived, and how large.',
  }),
})
export type ExportDefinition = z.infer<typeof ExportDefinition>

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

function placeOf(from: ExportDefinition['from'], archive: string | undefined, folder: string): SourcePlace {
  if (typeof from === 'string')
    return folderPlace({ folder: resolve(folder, from), archive: archive && resolve(folder, archive) })
  return remotePlace(from, archive, folder)
}

/** @param folder of the job file */
export const remotePlace = (
  written: z.infer<typeof S3Written> | z.infer<typeof SftpWritten>,
  archive: string | undefined,
  folder: string,
): RemotePlace =>
  's3' in written ? s3Place({ ...written.s3, archive }) : sftpPlace({ ...written.sftp, archive }, folder)
