/** Collection of a job: kinds, people and target (docs/collect.md). */
import { resolve } from 'node:path'
import { z } from 'zod'
import { S3Written } from '../extract/sources/s3.ts'
import { SftpWritten } from '../extract/sources/sftp.ts'
import type { RemotePlace } from '../extract/sources/source.ts'
import { ExportDefinition, remotePlace } from './export-definition.ts'

const COLLECTED_OF_PEOPLE = [
  'biometrics',
  'conditions',
  'careTeams',
  'ageResult',
  'recommendations',
  'completedQuestions',
  'requestStatus',
] as const

export const CollectDefinition = z.strictObject({
  what: z
    .array(z.enum([...COLLECTED_OF_PEOPLE, 'articles']))
    .min(1)
    .refine((all) => new Set(all).size === all.length, 'names a kind twice')
    .refine(
      (all) => all.length === 1 || !all.includes('articles'),
      'articles belong to no person: collect them in a separate job',
    )
    .meta({ description: 'Kinds to collect: biometrics, ageResult … of people, or articles.' }),
  articles: z
    .strictObject({
      page: z
        .strictObject({ parameter: z.string().min(1), first: z.int().min(0).default(1) })
        .optional()
        .meta({
          description: 'Query parameter for the page of the list; without it, the list is read once.',
        }),
      filter: z
        .record(z.string().min(1), z.union([z.string(), z.number()]))
        .optional()
        .meta({ description: 'Further query parameters of the list.' }),
    })
    .optional()
    .meta({ description: 'Parameters of the list of articles; the interface does not name them.' }),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'is not a language tag, like en-US')
    .optional()
    .meta({ description: 'Language of recommendations, like en-US.' }),
  deprecated: z.boolean().default(false).meta({
    description: 'Read age results and recommendations through the deprecated paths.',
  }),
  requests: z
    .array(z.strictObject({ type: z.string(), subType: z.string() }))
    .min(1)
    .optional()
    .meta({ description: 'Type and sub-type of the medical-records requests to search for.' }),
})
export type CollectDefinition = z.infer<typeof CollectDefinition>

export const PeopleDefinition = z.union([
  z.literal('known'),
  z.strictObject({
    exports: z.union([ExportDefinition.transform((one) => [one]), z.array(ExportDefinition).min(1)]),
    mapping: z.string().min(1).optional(),
  }),
])

const asWritten = {
  format: z.enum(['ndjson', 'csv']).default('ndjson').meta({
    description: 'One NDJSON file with a line for each person, or CSV with a file for each kind.',
  }),
  only: z
    .enum(['all', 'changed'])
    .default('all')
    .meta({ description: 'Write everybody, or only people with changes since the last collection.' }),
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

interface TargetPlace {
  readonly folder: string
  /** Remote place to which the files are uploaded from there. */
  readonly remote?: RemotePlace
}

/**
 * Resolves the target of a collection.
 *
 * @param base folder of the job file
 * @param aside folder for collections with a remote target
 */
export const targetPlace = (to: TargetDefinition, base: string, aside: string): TargetPlace =>
  'folder' in to
    ? { folder: resolve(base, to.folder) }
    : { folder: aside, remote: remotePlace(to, undefined, base) }
