/** Job file as written (docs/jobs.md): exports, mapping, schedule and submission. */
import { z } from 'zod'
import { parseBaseUrl } from '../gateway/connection-settings.ts'
import { WaybillError } from '../model/errors.ts'
import { BUILT_IN } from '../system/settings.ts'
import { CollectDefinition, PeopleDefinition, TargetDefinition } from './collect-definition.ts'
import {
  ByteSize,
  CronText,
  Duration,
  ExportDefinition,
  Share,
  TimeOfDay,
  ZoneName,
} from './export-definition.ts'
import { HeartbeatDefinition, NotifyDefinition } from './notify-definition.ts'

/** The schedule looks at its jobs once a minute. */
const SHORTEST_RETRY_MS = 60_000

/** Share from 0 to 1; infinite for "off". */
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
    .meta({ description: 'Change of the number of rows, as a share of the usual number.' }),
  empty: limits('20%')
    .prefault({})
    .meta({ description: "Change of a column's share of empty values, in percentage points." }),
  mix: limits('20%')
    .prefault({})
    .meta({ description: 'Change of the share that a unit, code or rule has, in percentage points.' }),
  values: limits('20%', '50%')
    .prefault({})
    .meta({ description: "Change of a measurement's median, as a share of the usual median." }),
  rejects: limits('20%', '80%').prefault({}).meta({
    description: "Change of the rejected share of a rule's records, or of rows, in percentage points.",
  }),
  fit: z.enum(['stop', 'warn', 'off']).default('warn').meta({
    description: 'Suspicious values in an export, without comparison to earlier ones.',
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
    .meta({ description: 'Earlier deliveries needed for comparisons other than columns.' }),
})
export type DriftDefinition = z.infer<typeof DriftDefinition>

/** True if the job compares anything. */
export const comparesDrift = ({ columns, fit, checks, ...limits }: DriftDefinition): boolean =>
  columns !== 'off' ||
  fit !== 'off' ||
  checks !== 'off' ||
  [limits.rows, limits.empty, limits.mix, limits.values, limits.rejects, limits.skipped].some(
    ({ warn, stop }) => Number.isFinite(warn) || Number.isFinite(stop),
  )

/** Name of a gateway in the ledger: `built-in`, or an address without a trailing slash. */
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
  readonly people?: z.infer<typeof PeopleDefinition> | undefined
  readonly collect?: CollectDefinition | undefined
  readonly to?: TargetDefinition | undefined
  readonly parts: number
}

/** Checks the keys of a job: a job either reads exports or collects. */
function checkCollection(
  { exports, people, collect, to, mapping, parts }: CollectionKeys,
  context: z.RefinementCtx,
): void {
  const refuse = (message: string, ...path: (string | number)[]): void =>
    context.addIssue({ code: 'custom', path, message })
  if (collect === undefined) {
    if (exports.length === 0) refuse('is missing: a job has exports or collect', 'exports')
    if (people !== undefined) refuse('is for jobs with collect', 'people')
    if (to !== undefined) refuse('is for jobs with collect', 'to')
    return
  }
  if (exports.length > 0) refuse('does not go with collect: write two jobs', 'exports')
  if (parts > 1) refuse('is for jobs with exports', 'parts')
  if (to === undefined) refuse('is missing: name the target of the collection', 'to')
  const isOfArticles = collect.what.includes('articles')
  if (people === undefined && !isOfArticles) refuse('is missing: name the people to collect from', 'people')
  if (people !== undefined && isOfArticles)
    refuse('does not go with articles: they belong to no person', 'people')
  if (collect.articles !== undefined && !isOfArticles)
    refuse('is for what: [articles]', 'collect', 'articles')
  if (collect.what.includes('requestStatus') && collect.requests === undefined)
    refuse('is missing: a search needs a type and a sub-type', 'collect', 'requests')
  if (people === undefined || people === 'known') return
  for (const [at, one] of people.exports.entries())
    if ((one.mapping ?? people.mapping ?? mapping) === undefined)
      refuse('has no mapping, and people has none either', 'people', 'exports', at)
}

export const JobDefinition = z
  .strictObject({
    job: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case: lower-case letters, digits, hyphens')
      .meta({ description: 'Name of the job, the same as of its file, in kebab-case.' }),
    gateway: GatewayName.optional().meta({
      description:
        'Target of records: https://…, or built-in for the stand-in on this machine. Default: WAYBILL_GATEWAY_URL.',
    }),
    schedule: z
      .strictObject({
        cron: CronText.meta({ description: 'Minute, hour, day, month, weekday, like "15 2 * * *".' }),
        zone: ZoneName.meta({ description: 'IANA time zone of the cron line, like America/New_York.' }),
        missed: z.enum(['once', 'all', 'skip']).default('once').meta({
          description: 'Missed runs: one run for all, one run each, or none.',
        }),
        retry: z
          .strictObject({
            every: Duration.refine(
              (ms) => ms >= SHORTEST_RETRY_MS,
              'must be a minute or longer, like 15m',
            ).meta({
              description: 'Wait between two tries, like 15m.',
            }),
            until: TimeOfDay.optional().meta({
              description: 'Time of day of the last try, in the zone; default: the next fire.',
            }),
          })
          .optional()
          .meta({ description: 'Further tries of a run that ended because the gateway was away.' }),
        done: TimeOfDay.optional().meta({
          description: 'Time of day in the zone by which the run has to be done, like "06:00".',
        }),
        digest: TimeOfDay.optional().meta({
          description: 'Time of day in the zone of the daily digest of all jobs to the targets of this job.',
        }),
      })
      .optional(),
    exports: z
      .union([ExportDefinition.transform((one) => [one]), z.array(ExportDefinition)])
      .default([])
      .meta({ description: 'Sources of exports, one entry or several.' }),
    people: PeopleDefinition.optional().meta({
      description: 'People to collect from: the people of a roster export, or all people in the ledger.',
    }),
    collect: CollectDefinition.optional().meta({
      description: 'Kinds to collect from the gateway. A job with this key sends no exports.',
    }),
    to: TargetDefinition.optional().meta({ description: 'Target of a collection.' }),
    mapping: z.string().min(1).optional().meta({ description: 'Mapping of all exports without a mapping.' }),
    catalog: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'Catalog file laid over the shipped catalog, relative to the job file.' }),
    accounts: z
      .strictObject({ register: z.enum(['missing', 'never']) })
      .default({ register: 'missing' })
      .meta({ description: 'Register people that the gateway does not know, or never register anybody.' }),
    careTeams: z
      .strictObject({
        changed: z
          .enum(['add', 'replace', 'keep'])
          .default('add')
          .meta({ description: 'Handling of an entry if the account has its NPI with other fields.' }),
        missing: z.enum(['keep', 'delete']).default('keep').meta({
          description:
            'Handling of entries that a later export no longer lists; `delete` is for exports with all entries of a person.',
        }),
        acrossAccounts: z
          .boolean()
          .default(false)
          .meta({ description: 'Allow care teams of several people in one request.' }),
      })
      .prefault({}),
    medicalRecords: z
      .strictObject({
        authorizations: z
          .string()
          .min(1)
          .meta({ description: 'Folder of authorizations, relative to the job file.' }),
        uploadHosts: z
          .array(z.string().regex(/^([a-z\d-]+\.)+[a-z][a-z\d-]*$/, 'Expected a host name in lower case'))
          .default([])
          .meta({
            description: 'Hosts allowed for uploads of authorizations, beside those of the gateway.',
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
          .meta({ description: 'Maximum number of requests in flight.' }),
        batch: z
          .strictObject({
            records: z
              .int()
              .min(1)
              .max(10_000)
              .default(500)
              .meta({ description: 'Maximum number of records in a request.' }),
            bytes: ByteSize.default(1024 ** 2).meta({
              description: 'Maximum size of a request, like 1MiB.',
            }),
          })
          .prefault({}),
        inDoubt: z.enum(['hold', 'resend']).default('hold').meta({
          description: 'Handling of records in doubt: hold them for reconciliation, or resend them.',
        }),
        batchesAreAtomic: z
          .boolean()
          .default(false)
          .meta({ description: 'The gateway stores a batch whole or not at all.' }),
        readLag: Duration.default(5_000).meta({
          description: 'Maximum delay until a profile shows stored records, like 5s.',
        }),
        patience: Duration.default(30 * 60_000).meta({
          description: 'Maximum time to wait for an unreachable gateway, like 30m.',
        }),
      })
      .prefault({}),
    parts: z.int().min(1).max(16).default(1).meta({
      description: 'Number of parts in which several workers read one export.',
    }),
    reads: z
      .strictObject({
        notFound: z.enum(['unknown', 'empty']).default('unknown').meta({
          description: 'Meaning of a 404 to a read: unknown, or the account has no records of the kind.',
        }),
      })
      .prefault({}),
    drift: DriftDefinition.prefault({}),
    notify: NotifyDefinition.default([]),
    heartbeat: HeartbeatDefinition.optional(),
    stopWhen: z
      .strictObject({
        rejectedRows: Share.optional(),
        skippedRows: Share.optional(),
        after: z.int().min(0).default(200),
      })
      .refine(({ rejectedRows, skippedRows }) => rejectedRows !== undefined || skippedRows !== undefined, {
        message: 'has no share: write rejectedRows or skippedRows, like 5%',
      })
      .optional()
      .meta({
        description:
          'Stop the run when the share of rejected or skipped rows exceeds a limit, checked after a minimum number of rows.',
      }),
  })
  .superRefine((job, context) => {
    checkCollection(job, context)
    const mappings = new Set(job.exports.map(({ mapping = job.mapping }) => mapping))
    if (job.careTeams.missing === 'delete' && mappings.size > 1)
      context.addIssue({
        code: 'custom',
        path: ['careTeams', 'missing'],
        message:
          'needs a job with one mapping: an export of another mapping may list people missing from this one',
      })
    for (const [at, { mapping, expect }] of job.exports.entries()) {
      if (expect !== undefined && expect.zone === undefined && job.schedule === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['exports', at, 'expect', 'zone'],
          message: 'is missing, and the job has no schedule with a zone; write it like America/New_York',
        })
      }
      if (mapping === undefined && job.mapping === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['exports', at],
          message: 'has no mapping, and the job has none either',
        })
      }
    }
  })

export type JobDefinition = z.infer<typeof JobDefinition>
