/**
 * The mapping file as written (docs/mapping.md). Forms that mean the same are kept apart here and are folded
 * together by compile.ts.
 */
import { z } from 'zod'
import { carriesOffset, formatFault, isZone } from './dates.ts'

/** How transform understands the export; extract has its own reading of the same block. */
const ReadBlock = z
  .looseObject({
    format: z.enum(['csv', 'ndjson']),
    /** Named levels of a nested row, outermost first: `{ order: "$.ORDERS[*]", obx: "order.OBX[*]" }`. */
    each: z
      .record(z.string().regex(/^[a-z][A-Za-z0-9_]*$/, 'a level is named by a word'), z.string())
      .optional(),
  })
  .refine((read) => read.format === 'ndjson' || read.each === undefined, {
    message: 'levels are for ndjson; a CSV row has none',
    path: ['each'],
  })

const Text = z.union([
  z.string(),
  z.number().transform(String),
  z.boolean().transform((flag) => (flag ? 'true' : 'false')),
])

/** Value → value, or the name of a file in `mappings/tables`. */
const Table = z.union([z.string().min(1), z.record(z.string(), Text)])

const FieldObject = z.strictObject({
  from: z.string().min(1),
  table: Table.optional(),
  emptyWhen: z.array(Text).optional(),
})
const Constant = z.strictObject({ constant: Text })

/** A column (CSV) or path (JSON), with what is done to it; or a constant. */
export const FieldDefinition = z.union([z.string().min(1), FieldObject, Constant])
export type FieldDefinition = z.infer<typeof FieldDefinition>

/** All must hold. `present` and `absent` are words of the language; any other text is compared. */
export const ConditionDefinition = z
  .record(z.string(), z.union([Text, z.array(Text).min(1)]))
  .refine((lines) => Object.keys(lines).length > 0, 'names no column or path')
export type ConditionDefinition = z.infer<typeof ConditionDefinition>

const Format = z.string().superRefine((format, context) => {
  const message = formatFault(format)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const Formats = z.union([Format.transform((one) => [one]), z.array(Format).min(1)])

/** Of a date of birth: two digits of a year do not tell the century. */
const BirthFormats = Formats.refine((formats) => formats.every((format) => !/(?<!y)yy(?!y)/.test(format)), {
  message: 'a date of birth needs the year in four digits (yyyy)',
})

const DateFrom = z
  .strictObject({
    from: z.string().min(1),
    format: Formats,
    zone: z.string().refine(isZone, 'is no IANA time zone; write it like America/New_York').optional(),
    emptyWhen: z.array(Text).optional(),
  })
  .refine((date) => date.zone !== undefined || date.format.every((format) => carriesOffset(format)), {
    message: 'a zone is needed, since the format does not tell the offset; write it like America/New_York',
    path: ['zone'],
  })

export const DateDefinition = z.union([
  DateFrom,
  z.strictObject({ constant: z.iso.datetime({ offset: true }) }),
])
export type DateDefinition = z.infer<typeof DateDefinition>

const Register = z.strictObject({
  firstName: FieldDefinition,
  lastName: FieldDefinition,
  dateOfBirth: z.union([
    z.string().min(1),
    z.strictObject({ from: z.string().min(1), format: BirthFormats }),
  ]),
  gender: FieldDefinition,
  postalCode: FieldDefinition,
})
export type RegisterDefinition = z.infer<typeof Register>

const RowBlock = z.strictObject({
  key: z.array(FieldDefinition).min(1),
  account: z
    .strictObject({
      reference: FieldDefinition,
      type: z.enum(['accountId', 'partnerAccountId']).default('partnerAccountId'),
      register: Register.optional(),
    })
    .refine((account) => account.type === 'partnerAccountId' || account.register === undefined, {
      message:
        'an account named by its accountId is registered already: leave this out, or name people by partnerAccountId',
      path: ['register'],
    }),
  observedAt: DateDefinition,
  source: z.strictObject({
    name: z.string().min(1),
    type: z.string().min(1),
    sendingSystem: z.string().min(1).optional(),
    notes: z.string().min(1).optional(),
    dataQuality: z.string().min(1).optional(),
  }),
  skipWhen: ConditionDefinition.optional(),
})

const UnitDefinition = z.union([z.string().min(1), z.strictObject({ from: z.string().min(1) })])

/** Wide form: a rule named by its catalog key (or naming it) that reads a column. */
const WideBiometric = z.union([
  z.string().min(1),
  z.strictObject({
    from: z.string().min(1),
    catalog: z.string().optional(),
    unit: UnitDefinition.optional(),
    emptyWhen: z.array(Text).optional(),
    when: ConditionDefinition.optional(),
    observedAt: DateDefinition.optional(),
  }),
])

/** What a coded row says it is: by a code system of the catalog, or by the vendor's own code and a table. */
const CodeDefinition = z
  .strictObject({
    from: z.string().min(1),
    system: z.enum(['LOINC', 'SNOMED', 'ICD-10-CM']).optional(),
    table: Table.optional(),
    unknown: z.enum(['reject', 'skip']).default('reject'),
  })
  .refine((code) => (code.system === undefined) !== (code.table === undefined), {
    message: 'needs either a system (LOINC, SNOMED, ICD-10-CM) or a table',
  })
export type CodeDefinition = z.infer<typeof CodeDefinition>

const LongBiometric = z.strictObject({
  code: CodeDefinition,
  value: FieldDefinition,
  unit: z.union([FieldDefinition, Constant]),
  status: z.strictObject({ from: z.string().min(1), keep: z.array(Text).min(1) }).optional(),
  when: ConditionDefinition.optional(),
  observedAt: DateDefinition.optional(),
})

const StatusDefinition = z.union([z.string().min(1), FieldObject])

const WideCondition = z.strictObject({
  when: ConditionDefinition,
  catalog: z.string().optional(),
  status: StatusDefinition,
  observedAt: DateDefinition.optional(),
})

const LongCondition = z.strictObject({
  code: CodeDefinition,
  status: StatusDefinition,
  when: ConditionDefinition.optional(),
  observedAt: DateDefinition.optional(),
})

const CareTeam = z.strictObject({
  when: ConditionDefinition.optional(),
  npi: FieldDefinition,
  name: FieldDefinition,
  type: z.string().min(1).default('PCP'),
  primary: z.boolean().default(false),
  phoneNumber: FieldDefinition.optional(),
  address: FieldDefinition.optional(),
  city: FieldDefinition.optional(),
  zip: FieldDefinition.optional(),
  location: FieldDefinition.optional(),
  profile: FieldDefinition.optional(),
  observedAt: DateDefinition.optional(),
})

const RuleName = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a rule is named in kebab-case: lower-case letters, digits, hyphens')

export const MappingDefinition = z
  .strictObject({
    mapping: z.string().min(1),
    read: ReadBlock,
    row: RowBlock,
    biometrics: z.union([z.record(RuleName, WideBiometric), z.array(LongBiometric).min(1)]).optional(),
    conditions: z.union([z.record(RuleName, WideCondition), z.array(LongCondition).min(1)]).optional(),
    careTeams: z.record(RuleName, CareTeam).optional(),
  })
  .refine((mapping) => mapping.biometrics ?? mapping.conditions ?? mapping.careTeams, {
    message: 'maps nothing: add biometrics, conditions or careTeams',
  })

export type MappingDefinition = z.infer<typeof MappingDefinition>
export type WideBiometricDefinition = Exclude<z.infer<typeof WideBiometric>, string>
export type LongBiometricDefinition = z.infer<typeof LongBiometric>
export type WideConditionDefinition = z.infer<typeof WideCondition>
export type LongConditionDefinition = z.infer<typeof LongCondition>
export type CareTeamDefinition = z.infer<typeof CareTeam>
export type StatusDefinition = z.infer<typeof StatusDefinition>
