/**
 * Rules of a mapping as written: for measurements, conditions and care teams, in wide and long rows (docs/mapping.md), and the
 * section `medicalRecords` (docs/medical-records.md).
 */
import { z } from 'zod'
import {
  BirthDateDefinition,
  checkSource,
  DateDefinition,
  described,
  FieldDefinition,
  fieldKeys,
  readKeys,
  refuser,
  Table,
  Text,
  WhenDefinition,
  WordOrField,
} from './field-definition.ts'

/** Marks of numbers in the vendor's country. */
const NumberFormat = z
  .strictObject({
    decimal: z.enum(['.', ',']).default('.'),
    group: z.enum(['.', ',', ' ', "'"]).optional(),
  })
  .refine((format) => format.decimal !== format.group, {
    message: 'must differ from the decimal mark',
    path: ['group'],
  })

const ignored = described(
  'Ignored parts beside a value: of its structure, like OBX-4 or interpretation, or columns.',
  z.array(z.string().min(1)).min(1),
)

/** Written form of values: for a rule, or in `row` for all values. */
export const valueKeys = {
  number: described('Marks of numbers, like { decimal: "," }.', NumberFormat),
  comparators: described(
    'Treatment of bounds like <5: rejected, left out, or sent as the limit.',
    z.enum(['reject', 'skip', 'limit']),
  ),
  ignore: ignored,
}

/** Marks a place of catalog keys, for editors; further keys are allowed. */
export const keysOf = (section: 'biometrics' | 'conditions' | 'any') => ({ catalogKeys: section })

/** Keys of every rule. */
const ruleKeys = { when: WhenDefinition.optional(), observedAt: DateDefinition.optional() }

/** Keys shared by wide and long rules of measurements. */
const measurementKeys = {
  ...valueKeys,
  form: described('Heights in feet and inches, as in the United States.', z.literal('feet-and-inches')),
  refRange: described('The column or path of the reference range, as text.', FieldDefinition),
  refLow: described('The lower bound, also without an upper one.', FieldDefinition),
  refHigh: described('The upper bound.', FieldDefinition),
  refUnit: described(
    "The unit of the bounds, if different from the value's, and neither in a heading nor beside a bound of FHIR.",
    FieldDefinition,
  ),
  ...ruleKeys,
}

const UNIT_GIVEN = 'the form gives the unit: leave one of them out'

/** Wide form: a rule named by its catalog key, or with a `catalog` key, that reads a column. A bare unit is the unit itself. */
export const WideBiometric = z.union([
  z.string().min(1),
  z
    .strictObject({
      ...fieldKeys,
      ...measurementKeys,
      catalog: z.string().meta(keysOf('biometrics')).optional(),
      unit: described(
        "The unit of the column, if not the catalog's; or { from: … } to read it.",
        WordOrField,
      ),
    })
    .superRefine((rule, context) => {
      checkSource(rule, context)
      if (rule.form !== undefined && rule.unit !== undefined) refuser(context)('unit', UNIT_GIVEN)
    }),
])

/** Code of a coded row: in a code system of the catalog, or the vendor's own code with a table. */
const CodeDefinition = z
  .strictObject({
    ...readKeys,
    system: described(
      'The code system, for codes of the catalog.',
      z.enum(['LOINC', 'SNOMED', 'ICD-10-CM', 'ICD-9-CM']),
    ),
    table: Table.optional(),
    unknown: z
      .enum(['reject', 'skip'])
      .default('reject')
      .meta({ description: 'Treatment of unknown codes.' }),
  })
  .superRefine(checkSource)
  .refine((code) => (code.system === undefined) !== (code.table === undefined), {
    message: 'needs either a system (LOINC, SNOMED, ICD-10-CM, ICD-9-CM) or a table',
  })
export type CodeDefinition = z.infer<typeof CodeDefinition>

/** Subject of a long rule: by a code that is read, or constant by a catalog entry. */
const codedKeys = {
  code: CodeDefinition.optional(),
  catalog: z.string().min(1).meta(keysOf('any')).optional(),
}

function checkCoded(
  { code, catalog }: { readonly code?: unknown; readonly catalog?: unknown },
  context: z.RefinementCtx,
): void {
  const refuse = refuser(context)
  if (code === undefined && catalog === undefined)
    refuse('code', 'is missing: a rule of a list needs a code or a catalog entry')
  if (code !== undefined && catalog !== undefined) refuse('code', 'excludes catalog, which names the entry')
}

export const LongBiometric = z
  .strictObject({
    ...measurementKeys,
    ...codedKeys,
    value: FieldDefinition,
    unit: FieldDefinition.optional(),
    status: z
      .strictObject({
        ...fieldKeys,
        keep: z.array(Text).min(1),
        withdrawn: described(
          'States of withdrawn results. A delivered one is reported, because the gateway cannot delete it.',
          z.array(Text).min(1),
        ),
      })
      .superRefine(checkSource)
      .optional(),
  })
  .superRefine((rule, context) => {
    if ((rule.form === undefined) !== (rule.unit === undefined)) return
    const missing = 'is missing: a column, a path or { constant: mg/dL }'
    refuser(context)('unit', rule.unit === undefined ? missing : UNIT_GIVEN)
  })
  .superRefine(checkCoded)

/** A word or field that a record can do without: `optional` leaves out an empty value. */
const OptionalWord = z.union([
  z.string().min(1),
  z
    .strictObject({
      ...fieldKeys,
      constant: Text.optional(),
      optional: described('If empty, the record is sent without it; otherwise rejected.', z.boolean()),
    })
    .superRefine(checkSource),
])

export const isOptional = (field: z.infer<typeof OptionalWord> | undefined): boolean =>
  field === undefined || (typeof field === 'object' && field.optional === true)

const Medication = z.strictObject({
  code: FieldDefinition.meta({ description: 'The code; if empty, the medication is left out.' }),
  system: described('The code system of `code`.', z.enum(['RxNorm', 'NDC', 'ATC', 'SNOMED'])),
  name: described('The name.', FieldDefinition),
  when: WhenDefinition.optional(),
})
export type MedicationDefinition = z.infer<typeof Medication>

const Family = z
  .strictObject({
    history: described('The family history; a bare word is a constant.', WordOrField),
    member: described(
      'Relatives with the condition: a list of fields, or relatives each with a condition in the row.',
      z.union([z.array(FieldDefinition).min(1), z.record(z.string().min(1), WhenDefinition)]),
    ),
  })
  .refine(({ history, member }) => (history ?? member) !== undefined, 'is empty: give history or member')
export type FamilyDefinition = z.infer<typeof Family>

/** Keys of a condition beside its code. */
const conditionKeys = {
  status: described('A bare word is the status itself. Without this key, none is sent.', OptionalWord),
  withdrawn: described(
    'Withdrawn conditions. A delivered one is reported, because the gateway cannot delete it.',
    WhenDefinition,
  ),
  medication: described('Medications for the condition.', z.array(Medication).min(1)),
  family: described('The same condition in the family.', Family),
  ignore: ignored,
  ...ruleKeys,
}

export const WideCondition = z.strictObject({
  ...conditionKeys,
  when: WhenDefinition,
  catalog: z.string().meta(keysOf('conditions')).optional(),
})

export const LongCondition = z.strictObject({ ...codedKeys, ...conditionKeys }).superRefine(checkCoded)

export const CareTeam = z.strictObject({
  ...ruleKeys,
  npi: FieldDefinition,
  name: FieldDefinition,
  type: described(
    'A bare word is the type itself. Default: `PCP` for rules with `primary`, otherwise none.',
    OptionalWord,
  ),
  /** A condition decides for each entry: primary care physician, or not (any longer). */
  primary: z.union([z.boolean(), WhenDefinition]).default(false),
  phoneNumber: FieldDefinition.optional(),
  address: FieldDefinition.optional(),
  city: FieldDefinition.optional(),
  zip: FieldDefinition.optional(),
  location: FieldDefinition.optional(),
  profile: FieldDefinition.optional(),
})

export type WideBiometricDefinition = Exclude<z.infer<typeof WideBiometric>, string>
export type LongBiometricDefinition = z.infer<typeof LongBiometric>
export type ConditionDefinition = z.infer<typeof WideCondition> | z.infer<typeof LongCondition>
export type CareTeamDefinition = z.infer<typeof CareTeam>

/** A day that is read, or a constant day for all rows. */
const DateOfService = z.union([
  z
    .strictObject({ constant: z.iso.date() })
    .transform(({ constant }) => ({ constant, format: ['yyyy-MM-dd'] })),
  BirthDateDefinition,
])

const Dates = z.strictObject({
  type: described('Default: `startEnd`.', FieldDefinition),
  start: DateOfService,
  end: DateOfService,
})

/** Fields of a provider in the interface, "Medical-records request". */
const PROVIDER_FIELDS = [
  ...(['type', 'groupName', 'npi', 'firstName', 'lastName', 'address1', 'address2'] as const),
  ...(['city', 'state', 'zip', 'phone', 'fax', 'contact'] as const),
] as const

export const MedicalRecordsDefinition = z.strictObject({
  when: WhenDefinition.optional(),
  reference: FieldDefinition.meta({
    description: 'The reference number: decides between a new request and a change.',
  }),
  patient: z.strictObject({
    firstName: FieldDefinition,
    lastName: FieldDefinition,
    dob: BirthDateDefinition,
    type: described('Of the reference.', FieldDefinition),
    reference: described('Default: that of row.account.', FieldDefinition),
    zip: FieldDefinition.optional(),
  }),
  provider: described(
    'The provider of the records. `others` takes fields outside the interface.',
    z.strictObject({
      ...(Object.fromEntries(PROVIDER_FIELDS.map((name) => [name, FieldDefinition.optional()])) as Record<
        (typeof PROVIDER_FIELDS)[number],
        z.ZodOptional<typeof FieldDefinition>
      >),
      others: z.record(z.string().min(1), FieldDefinition).optional(),
    }),
  ),
  request: z.strictObject({
    type: described('Sent empty by default.', FieldDefinition),
    requestType: WordOrField.meta({
      description: 'A type listed by the gateway, by id or name; a bare word is the type itself.',
    }),
    requestSubType: WordOrField.meta({
      description: 'A sub-type, by id or name; a bare word is the sub-type itself.',
    }),
    datesOfService: Dates,
    disclosures: described(
      'Permitted disclosures; a bare word is the disclosure itself, a field gives none, or several with commas.',
      z.array(WordOrField).min(1),
    ),
  }),
  authorization: described(
    "The patient's authorization, a PDF in the folder named by the job.",
    z.strictObject({ file: FieldDefinition.meta({ description: 'The file name, without a folder.' }) }),
  ),
  webhook: described(
    'Reserved by the interface; the address is always sent empty.',
    z.strictObject({
      sendStatusChange: z
        .union([z.boolean(), FieldDefinition])
        .meta({ description: 'true or false, or a field with either.' }),
    }),
  ),
  withdrawn: described('Requests to withdraw.', WhenDefinition),
})
export type MedicalRecordsDefinition = z.infer<typeof MedicalRecordsDefinition>
