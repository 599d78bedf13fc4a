/** The job file as written (docs/jobs.md): what to read, with which mapping, when, and how to submit it. */
import { validate } from 'node-cron'
import { z } from 'zod'
import { isZone } from '../transform/dates.ts'
import { ExportDefinition } from './export-definition.ts'
import { ByteSize, Duration, Share } from './quantities.ts'

export const JobDefinition = z
  .strictObject({
    job: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a job is named in kebab-case: lower-case letters, digits, hyphens'),
    schedule: z
      .strictObject({
        cron: z
          .string()
          .refine(
            (line) => validate(line),
            'is no cron line; write it like "15 2 * * *" (minute, hour, day, month, weekday)',
          ),
        zone: z.string().refine(isZone, 'is no IANA time zone; write it like America/New_York'),
        missed: z.enum(['once', 'all', 'skip']).default('once'),
      })
      .optional(),
    exports: z.union([ExportDefinition.transform((one) => [one]), z.array(ExportDefinition).min(1)]),
    /** The mapping of all exports that name none of their own. */
    mapping: z.string().min(1).optional(),
    accounts: z.strictObject({ register: z.enum(['missing', 'never']) }).default({ register: 'missing' }),
    submit: z
      .strictObject({
        concurrency: z.int().min(1).max(64).default(8),
        batch: z
          .strictObject({
            records: z.int().min(1).max(10_000).default(500),
            bytes: ByteSize.default(1024 ** 2),
          })
          .prefault({}),
        inDoubt: z.enum(['hold', 'resend']).default('hold'),
        patience: Duration.default(30 * 60_000),
      })
      .prefault({}),
    stopWhen: z.strictObject({ rejectedRows: Share, after: z.int().min(0).default(200) }).optional(),
  })
  .superRefine((job, context) => {
    for (const [at, { mapping }] of job.exports.entries()) {
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
