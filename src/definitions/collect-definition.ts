/** What a job collects from the gateway, of whom, and where to (docs/collect.md). */
import { resolve } from 'node:path'
import { z } from 'zod'
import { S3Written } from '../extract/sources/s3.ts'
import { SftpWritten } from '../extract/sources/sftp.ts'
import type { RemotePlace } from '../extract/sources/source.ts'
import { ExportDefinition, remotePlace } from './export-definition.ts'

/** Kinds of what is collected of people. */
const COLLECTED_OF_PEOPLE = [
  ...(['biometrics', 'conditions', 'careTeams'] as const),
  ...(['ageResult', 'recommendations', 'completedQuestions', 'requestStatus'] as const),
] as const

export const CollectDefinition = z.strictObject({
  what: z
    .array(z.enum([...COLLECTED_OF_PEOPLE, 'articles']))
    .min(1)
    .refine((all) => new Set(all).size === all.length, 'names a kind twice')
    .refine(
      (all) => all.length === 1 || !all.includes('articles'),
      'articles are of nobody: give them a job of their own',
    )
    .meta({ description: 'What is collected: biometrics, ageResult … of people, or articles.' }),
  articles: z
    .strictObject({
      page: z
        .strictObject({ parameter: z.string().min(1), first: z.int().min(0).default(1) })
        .optional()
        .meta({
          description: 'How pages of the list are asked for; without it, the list is asked for once.',
        }),
      filter: z
        .record(z.string().min(1), z.union([z.string(), z.number()]))
        .optional()
        .meta({ description: 'Further query parameters of the list.' }),
    })
    .optional()
    .meta({ description: 'How articles are listed: the interface does not name the parameters.' }),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'is no language tag, like en-US')
    .optional()
    .meta({ description: 'Language of recommendations, like en-US.' }),
  deprecated: z.boolean().default(false).meta({
    description: 'Whether age results and recommendations are asked for by the deprecated forms.',
  }),
  requests: z
    .array(z.strictObject({ type: z.string(), subType: z.string() }))
    .min(1)
    .optional()
    .meta({ description: 'Which medical-records requests are looked for: their type and sub-type.' }),
})
export type CollectDefinition = z.infer<typeof CollectDefinition>

export const PeopleDefinition = z.union([
  z.literal('known'),
  z.strictObject({
    exports: z.union([ExportDefinition.transform((one) => [one]), z.array(ExportDefinition).min(1)]),
    mapping: z.string().min(1).optional(),
  }),
])
export type PeopleDefinition = z.infer<typeof PeopleDefinition>

const asWritten = {
  format: z.enum(['ndjson', 'csv']).default('ndjson').meta({
    description: 'One NDJSON file with a line for each person, or CSV with a file for each kind.',
  }),
  only: z
    .enum(['all', 'changed'])
    .default('all')
    .meta({ description: 'Everybody, or those alone of whom something has changed since the last time.' }),
}
export const TargetDefinition = z.union([
  z.strictObject({
    folder: z.string().min(1).meta({ description: 'A folder, relative to the job file.' }),
    ...asWritten,
  }),
  z.strictObject({ ...SftpWritten.shape, ...asWritten }),
  z.strictObject({ ...S3Written.shape, ...asWritten }),
])
export type TargetDefinition = z.infer<typeof TargetDefinition>

export interface TargetPlace {
  /** A folder here, in which collections are written. */
  readonly folder: string
  /** Where they go from there. */
  readonly remote?: RemotePlace
}

/**
 * @param base folder of the job file
 * @param aside folder for collections that go elsewhere
 */
export const targetPlace = (to: TargetDefinition, base: string, aside: string): TargetPlace =>
  'folder' in to
    ? { folder: resolve(base, to.folder) }
    : { folder: aside, remote: remotePlace(to, undefined, base) }
