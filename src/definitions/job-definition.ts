/** The job file as written (docs/jobs.md): what to read, with which mapping, when, and how to submit it. */
import { z } from 'zod'
import { parseBaseUrl } from '../gateway/connection-settings.ts'
import { WaybillError } from '../model/errors.ts'
import { BUILT_IN } from '../settings.ts'
import { CollectDefinition, PeopleDefinition, TargetDefinition } from './collect-definition.ts'
import { ByteSize, CronText, Duration, ExportDefinition, Share, ZoneName } from './export-definition.ts'
import { NotifyDefinition } from './notify-definition.ts'

/** A share from 0 to 1; infinite where nothing is ever too much. */
const Limit = z.union([Share, z.literal('off').transform(() => Number.POSITIVE_INFINITY)])

const limits = (warn: string, stop = 'off') =>
  z.union([
    z.literal('off').transform(() => ({ warn: Number.POSITIVE_INFINITY, stop: Number.POSITIVE_INFINITY })),
    z.strictObject({ warn: Limit.prefault(warn), stop: Limit.prefault(stop) }),
  ])

export const DriftDefinition = z.strictObject({
  columns: z
    .enum(['stop', 'warn', 'off'])
    .default('warn')
    .meta({ description: 'Columns missing, new, renamed or in another order.' }),
  rows: limits('50%')
    .prefault({})
    .meta({ description: 'Change of the number of rows, as a share of what is usual.' }),
  empty: limits('20%')
    .prefault({})
    .meta({ description: "Change of a column's share of empty values, in percentage points." }),
  mix: limits('20%')
    .prefault({})
    .meta({ description: 'Change of the share that a unit, code or rule has, in percentage points.' }),
  values: limits('20%', '50%')
    .prefault({})
    .meta({ description: "Change of a measurement's median, as a share of what is usual." }),
  rejects: limits('20%', '80%').prefault({}).meta({
    description:
      "Change of the share that is rejected of a rule's records, or of rows, in percentage points.",
  }),
  fit: z.enum(['stop', 'warn', 'off']).default('warn').meta({
    description: 'What is suspicious about an export as the mapping reads it, whatever came before.',
  }),
  skipped: limits('20%')
    .prefault({})
    .meta({ description: 'Change of the share of rows that the mapping skips, in percentage points.' }),
  checks: z.enum(['warn', 'off']).default('warn').meta({
    description: 'Checks with `warn` that find more than in any earlier delivery.',
  }),
  after: z
    .int()
    .min(1)
    .max(20)
    .default(3)
    .meta({ description: 'Earlier deliveries needed before anything but columns is compared.' }),
})
export type DriftDefinition = z.infer<typeof DriftDefinition>

/** Whether anything is compared at all. */
export const comparesDrift = ({ columns, fit, checks, ...limits }: DriftDefinition): boolean =>
  columns !== 'off' ||
  fit !== 'off' ||
  checks !== 'off' ||
  [limits.rows, limits.empty, limits.mix, limits.values, limits.rejects, limits.skipped].some(
    ({ warn, stop }) => Number.isFinite(warn) || Number.isFinite(stop),
  )

/** As the ledger knows a gateway: `built-in`, or an address without a slash at its end. */
const GatewayName = z.string().transform((written, context): string => {
  const name = written.trim().replace(/\/+$/, '')
  if (name === BUILT_IN) return name
  try {
    parseBaseUrl(name)
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    const message = `${error.message} Write ${BUILT_IN}, or an address like https://gateway.example/api.`
    context.addIssue({ code: 'custom', message })
  }
  return name
})

interface CollectionKeys {
  readonly exports: readonly unknown[]
  readonly mapping?: string | undefined
  readonly people?: PeopleDefinition | undefined
  readonly collect?: CollectDefinition | undefined
  readonly to?: TargetDefinition | undefined
}

/** A job reads exports, or collects. */
function checkCollection(
  { exports, people, collect, to, mapping }: CollectionKeys,
  context: z.RefinementCtx,
): void {
  const refuse = (message: string, ...path: (string | number)[]): void =>
    context.addIssue({ code: 'custom', path, message })
  if (collect === undefined) {
    if (exports.length === 0) refuse('is missing: a job reads exports, or it has collect', 'exports')
    if (people !== undefined) refuse('is for jobs that collect', 'people')
    if (to !== undefined) refuse('is for jobs that collect', 'to')
    return
  }
  if (exports.length > 0) refuse('cannot stand beside collect: make two jobs of it', 'exports')
  if (to === undefined) refuse('is missing: it says where the collection goes', 'to')
  const isOfArticles = collect.what.includes('articles')
  if (people === undefined && !isOfArticles) refuse('is missing: it says of whom is collected', 'people')
  if (people !== undefined && isOfArticles) refuse('is not for articles: they are of nobody', 'people')
  if (collect.articles !== undefined && !isOfArticles)
    refuse('is for what: [articles]', 'collect', 'articles')
  if (collect.what.includes('requestStatus') && collect.requests === undefined)
    refuse('is missing: a search needs a type and a sub-type', 'collect', 'requests')
  if (people === undefined || people === 'known') return
  for (const [at, one] of people.exports.entries())
    if ((one.mapping ?? people.mapping ?? mapping) === undefined)
      refuse('names no mapping, and people names none either', 'people', 'exports', at)
}

export const JobDefinition = z
  .strictObject({
    job: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a job is named in kebab-case: lower-case letters, digits, hyphens')
      .meta({ description: 'Name of the job: that of its file, in kebab-case.' }),
    gateway: GatewayName.optional().meta({
      description:
        'Where records go: https://…, or built-in for the stand-in on this machine. Without it: WAYBILL_GATEWAY_URL.',
    }),
    schedule: z
      .strictObject({
        cron: CronText.meta({ description: 'Minute, hour, day, month, weekday, like "15 2 * * *".' }),
        zone: ZoneName.meta({ description: 'IANA time zone of the cron line, like America/New_York.' }),
        missed: z.enum(['once', 'all', 'skip']).default('once').meta({
          description:
            'What is made up for of the times that were missed: one run for all, one for each, or nothing.',
        }),
      })
      .optional(),
    exports: z
      .union([ExportDefinition.transform((one) => [one]), z.array(ExportDefinition)])
      .default([])
      .meta({ description: 'Where exports arrive, one entry or several.' }),
    people: PeopleDefinition.optional().meta({
      description: 'Of whom is collected: of the people of a roster export, or of those the ledger knows.',
    }),
    collect: CollectDefinition.optional().meta({
      description: 'What is collected from the gateway, in the place of exports that are sent there.',
    }),
    to: TargetDefinition.optional().meta({ description: 'Where a collection goes.' }),
    /** The mapping of all exports that name none of their own. */
    mapping: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'The mapping of all exports that name none of their own.' }),
    /** A catalog file laid over the shipped one for all mappings of the job, relative to the job file. */
    catalog: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'A catalog file laid over the shipped one, relative to the job file.' }),
    accounts: z
      .strictObject({ register: z.enum(['missing', 'never']) })
      .default({ register: 'missing' })
      .meta({ description: 'Whether people whom the gateway does not know are registered.' }),
    careTeams: z
      .strictObject({
        changed: z
          .enum(['add', 'replace', 'keep'])
          .default('add')
          .meta({ description: 'What is done with an entry whose NPI the account has with other fields.' }),
        missing: z.enum(['keep', 'delete']).default('keep').meta({
          description:
            'What is done with entries of the job that a later export no longer lists; `delete` for exports that list all of a person.',
        }),
        acrossAccounts: z
          .boolean()
          .default(false)
          .meta({ description: 'Whether one request may hold care teams of several people.' }),
      })
      .prefault({}),
    medicalRecords: z
      .strictObject({
        authorizations: z
          .string()
          .min(1)
          .meta({ description: 'The folder in which authorizations lie, relative to the job file.' }),
        uploadHosts: z
          .array(z.string().regex(/^([a-z\d-]+\.)+[a-z][a-z\d-]*$/, 'Expected a host name in lower case'))
          .default([])
          .meta({
            description: 'Hosts to which authorizations may be uploaded, beside those of the gateway.',
          }),
      })
      .optional(),
    submit: z
      .strictObject({
        concurrency: z
          .int()
          .min(1)
          .max(64)
          .default(8)
          .meta({ description: 'Requests under way at once, at most.' }),
        batch: z
          .strictObject({
            records: z
              .int()
              .min(1)
              .max(10_000)
              .default(500)
              .meta({ description: 'Records in one request, at most.' }),
            bytes: ByteSize.default(1024 ** 2).meta({
              description: 'Size of one request, at most, like 1MiB.',
            }),
          })
          .prefault({}),
        inDoubt: z.enum(['hold', 'resend']).default('hold').meta({
          description: 'What becomes of a record of which nobody can tell whether the gateway took it.',
        }),
        batchesAreAtomic: z
          .boolean()
          .default(false)
          .meta({ description: 'Whether the gateway is known to store a batch whole or not at all.' }),
        readLag: Duration.default(5_000).meta({
          description: 'How late a profile may show what the gateway has stored, like 5s.',
        }),
        patience: Duration.default(30 * 60_000).meta({
          description: 'How long to wait for a gateway that cannot be reached, like 30m.',
        }),
      })
      .prefault({}),
    reads: z
      .strictObject({
        notFound: z.enum(['unknown', 'empty']).default('unknown').meta({
          description:
            'What a 404 of the gateway to a read means: nobody can tell, or that the account has nothing of the kind.',
        }),
      })
      .prefault({}),
    drift: DriftDefinition.prefault({}),
    notify: NotifyDefinition.default([]),
    stopWhen: z
      .strictObject({
        rejectedRows: Share.optional(),
        skippedRows: Share.optional(),
        after: z.int().min(0).default(200),
      })
      .refine(({ rejectedRows, skippedRows }) => rejectedRows !== undefined || skippedRows !== undefined, {
        message: 'names no share: write rejectedRows or skippedRows, like 5%',
      })
      .optional()
      .meta({
        description:
          'Stops the run when such a share of rows is rejected or skipped, judged from so many rows on.',
      }),
  })
  .superRefine((job, context) => {
    checkCollection(job, context)
    const mappings = new Set(job.exports.map(({ mapping = job.mapping }) => mapping))
    if (job.careTeams.missing === 'delete' && mappings.size > 1)
      context.addIssue({
        code: 'custom',
        path: ['careTeams', 'missing'],
        message: 'needs a job with one mapping: whom an export does not list, one of another mapping may',
      })
    for (const [at, { mapping, expect }] of job.exports.entries()) {
      if (expect !== undefined && expect.zone === undefined && job.schedule === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['exports', at, 'expect', 'zone'],
          message: 'is missing, and there is no schedule to take it from; write it like America/New_York',
        })
      }
      if (mapping === undefined && job.mapping === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['exports', at],
          message: 'names no mapping, and the job names none either',
        })
      }
    }
  })

export type JobDefinition = z.infer<typeof JobDefinition>
