/** A date as written (docs/mapping.md, "Dates"). */
import { z } from 'zod'
import { carriesOffset, formatFault, isZone, takesPartial } from './dates.ts'
import { checkSource, FieldObject, fieldKeys } from './field-definition.ts'

const Format = z.string().superRefine((format, context) => {
  const message = formatFault(format)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** Tried in order. */
export const Formats = z.union([Format.transform((one) => [one]), z.array(Format).min(1)])

const NO_ZONE = 'is no IANA time zone; write it like America/New_York'
export const Zone = z.string().refine(isZone, NO_ZONE)

const DateFrom = z
  .strictObject({
    ...fieldKeys,
    format: Formats,
    /** Of local times: the same for all rows, or a field that names it. */
    zone: z
      .union([z.string().refine(isZone, `${NO_ZONE}, or { from: … } where it is a column`), FieldObject])
      .optional(),
    /** A local time that the clocks jumped over, read by the offset before it (forward) or after it (backward). */
    skipped: z
      .enum(['reject', 'forward', 'backward'])
      .optional()
      .meta({ description: 'A local time that the clocks jumped over.' }),
    /** A local time that happened twice. */
    doubled: z
      .enum(['reject', 'earlier', 'later'])
      .optional()
      .meta({ description: 'A local time that happened twice.' }),
    /** A year or month alone (HL7, ISO): `start` takes its first instant. */
    partial: z
      .enum(['reject', 'start'])
      .optional()
      .meta({ description: 'A year or month alone: start takes its first instant.' }),
  })
  .superRefine((date, context) => {
    checkSource(date, context)
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message })
    if (date.zone === undefined && !date.format.every((format) => carriesOffset(format))) {
      refuse(
        'zone',
        'a zone is needed, since the format does not tell the offset; write it like America/New_York',
      )
    }
    if (date.partial === 'start' && !date.format.some(takesPartial))
      refuse('partial', 'is for HL7 and ISO: other forms tell the whole day')
  })

export const DateDefinition = z.union([
  DateFrom,
  z.strictObject({ constant: z.iso.datetime({ offset: true }) }),
])
export type DateDefinition = z.infer<typeof DateDefinition>

/** Of a date of birth: two digits of a year do not tell the century. */
const BirthFormats = Formats.refine((formats) => formats.every((format) => !/(?<!y)yy(?!y)/.test(format)), {
  message: 'a date of birth needs the year in four digits (yyyy)',
})

/** A calendar day; `yyyy-MM-dd` where no form is given. */
export const BirthDateDefinition = z.union([
  z
    .string()
    .min(1)
    .transform((from) => ({ from, format: ['yyyy-MM-dd'] })),
  z.strictObject({ ...fieldKeys, format: BirthFormats }).superRefine(checkSource),
])
