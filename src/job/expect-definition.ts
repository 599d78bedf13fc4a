/** The `expect` block of a source as written (docs/jobs.md, "Expected"): by when how many exports must have arrived, and how large. */
import { z } from 'zod'
import { readCronLine } from '../schedule/cron-line.ts'
import { isZone } from '../transform/dates.ts'
import { Share } from './quantities.ts'

/** A cron line of five fields, as of `schedule.cron` and of `expect.by`. */
export const CronText = z.string().superRefine((text, context) => {
  const line = readCronLine(text)
  if ('problem' in line) context.addIssue({ code: 'custom', message: line.problem })
})

export const ZoneName = z
  .string('must be an IANA time zone, like America/New_York')
  .refine(isZone, 'is no IANA time zone; write it like America/New_York')

export const ExpectDefinition = z.strictObject({
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
