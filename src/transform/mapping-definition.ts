/**
 * The mapping file as written (docs/mapping.md), rules first: in wide and long rows, and of `medicalRecords` (docs/medical-records.md).
 * Equivalent forms stay separate here; compile.ts unites them.
 */

import { RE2JS } from 're2js'
import { z } from 'zod'
import { reasonOf } from '../model/errors.ts'
import { isTable } from '../model/row.ts'
import { CatalogExtension } from './catalog.ts'
import { Checks } from './checks.ts'
import { carriesOffset, formatFault } from './dates.ts'
import { PART_NAMES } from './whole-value.ts'
import { zoneFault } from './zones.ts'

const Text = z.union([
  z.string(),
  z.number().transform(String),
  z.boolean().transform((flag) => (flag ? 'true' : 'false')),
])

/** Text without a fault. */
function textWithout(faultOf: (text: string) => string | undefined) {
  return z.string().superRefine((text, context) => {
    const message = faultOf(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
}

/** Value → value, or the name of a file in `mappings/tables`. */
const Table = z.union([z.string().min(1), z.record(z.string(), Text)])

/**
 * A regular expression (RE2 syntax, through re2js). Matching takes time linear in the text: no cell can block a run. Look-arounds
 * and back references are not supported.
 */
const Pattern = textWithout((pattern) => {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    return `is no regular expression: ${reasonOf(error).replace('error parsing regexp: ', '')}`
  }
})

/** An optional key, with its description for editors. */
const described = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  schema.optional().meta({ description })

/** Reports a fault of a key. */
const refuser =
  (context: z.RefinementCtx) =>
  (key: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [key], message })

/** Steps on a text, in order. */
export interface FieldSteps {
  readonly emptyWhen?: readonly string[] | undefined
  readonly split?: { readonly by: string; readonly take: number } | undefined
  readonly extract?: string | undefined
  readonly case?: 'upper' | 'lower' | undefined
  readonly table?: string | Readonly<Record<string, string>> | undefined
  readonly otherwise?: string | undefined
}

/** Exactly one of the first five keys is given. */
export interface FieldObject extends FieldSteps {
  readonly from?: string | undefined
  readonly firstOf?: readonly FieldDefinition[] | undefined
  readonly concat?: readonly FieldDefinition[] | undefined
  readonly constant?: string | undefined
  /** JSONata. */
  readonly expression?: string | undefined
  readonly separator?: string | undefined
}

/** A column (CSV) or path (JSON), or an object. */
export type FieldDefinition = string | FieldObject

const Parts: z.ZodType<readonly FieldDefinition[]> = z.lazy(() => z.array(FieldDefinition).min(1))

/** Keys of a field that is read. Shared by all definitions: a field has equal keys everywhere. */
const readKeys = {
  from: described('The column (CSV) or path (JSON) to read.', z.string().min(1)),
  firstOf: described('The first non-empty field.', Parts),
  concat: described('These fields, concatenated.', Parts),
  expression: z.string().min(1).optional(),
  separator: described('Text between the parts of concat.', z.string()),
  emptyWhen: described('Texts that count as empty.', z.array(Text)),
  split: z
    .strictObject({
      by: z.string().min(1),
      take: z.int().refine((take) => take !== 0, 'counts parts from 1, or from the end: -1 is the last'),
    })
    .optional(),
  extract: described('A regular expression (RE2): the first group, or the match.', Pattern),
  case: described('Converts to upper or lower case.', z.enum(['upper', 'lower'])),
}

const fieldKeys = {
  ...readKeys,
  table: described('Replaces values: inline, or the name of a CSV in mappings/tables.', Table),
  otherwise: described('Result for a value missing in the table.', Text),
}

/** Rejects a field without a source, or with two. */
function checkSource(field: FieldObject, context: z.RefinementCtx): void {
  const refuse = refuser(context)
  const [first, second] = (['from', 'firstOf', 'concat', 'expression', 'constant'] as const).filter(
    (key) => field[key] !== undefined,
  )
  if (first === undefined) refuse('from', 'is missing: a field needs from, firstOf, concat or expression')
  if (second !== undefined) refuse(second, `excludes ${first}: a field is read from one of them`)
  if (field.otherwise !== undefined && field.table === undefined)
    refuse('otherwise', 'belongs to table: the result for a value missing in the table')
  if (field.separator !== undefined && field.concat === undefined)
    refuse('separator', 'belongs to concat: the text between the parts')
}

/** A field that must be written as an object, where a bare word would be literal. */
const FieldObject = z.strictObject({ ...fieldKeys, constant: Text.optional() }).superRefine(checkSource)

/**
 * A field where a bare word is literal and a column stands in an object. Elsewhere a bare word is a column or path
 * (docs/mapping.md, "Fields", lists the keys).
 */
const WordOrField = z.union([z.string().min(1), FieldObject])

export const FieldDefinition: z.ZodType<FieldDefinition> = z.union([z.string().min(1), FieldObject])

const Format = textWithout(formatFault)

/** Tried in order. */
const Formats = z.union([Format.transform((one) => [one]), z.array(Format).min(1)])

/** Name of an IANA zone. @param otherwise alternative to a name, for the message */
const Zone = (otherwise?: string) => textWithout((zone) => zoneFault(zone, otherwise))

const DateFrom = z
  .strictObject({
    ...fieldKeys,
    format: Formats,
    /** Zone of local times: constant for all rows, or a field with its name. */
    zone: z.union([Zone(', or { from: … } where it is a column'), FieldObject]).optional(),
    /** Read by the offset before the jump (forward) or after it (backward). */
    skipped: described('A local time skipped by the clocks.', z.enum(['reject', 'forward', 'backward'])),
    doubled: described('A local time that happened twice.', z.enum(['reject', 'earlier', 'later'])),
    partial: described('A year or month alone: start takes its first instant.', z.enum(['reject', 'start'])),
    since: z.iso
      .date('must be a day like 1985-01-31')
      .default('1990-01-01')
      .meta({ description: 'The first possible day; earlier dates are rejected.' }),
  })
  .superRefine((date, context) => {
    checkSource(date, context)
    const refuse = refuser(context)
    if (date.zone === undefined && !date.format.every((format) => carriesOffset(format)))
      refuse('zone', 'a zone is required, because the format has no offset; write it like America/New_York')
    if (date.partial === 'start' && !date.format.some(takesPartial))
      refuse('partial', 'belongs to HL7 and ISO: other forms have the whole day')
  })

const DateDefinition = z.union([DateFrom, z.strictObject({ constant: z.iso.datetime({ offset: true }) })])
export type DateDefinition = z.infer<typeof DateDefinition>

const CENTURY_BOUNDS = 'must be a year from 1900 to 2000'

/** A calendar day; `yyyy-MM-dd` where no form is given. */
const BirthDateDefinition = z.union([
  z
    .string()
    .min(1)
    .transform((from) => ({ from, format: ['yyyy-MM-dd'] })),
  z
    .strictObject({
      ...fieldKeys,
      format: Formats,
      century: described(
        'The first of the hundred years meant by two digits: with 1926, 26 is 1926 and 25 is 2025.',
        z.int().min(1900, CENTURY_BOUNDS).max(2000, CENTURY_BOUNDS),
      ),
    })
    .superRefine((date, context) => {
      checkSource(date, context)
      const refuse = refuser(context)
      const isShort = date.format.some((format) => /(?<!y)yy(?!y)/.test(format.replaceAll(/'[^']*'/g, ' ')))
      if (isShort && date.century === undefined)
        refuse(
          'century',
          'is missing: two digits of a year need a century; give the first of the hundred years meant, like 1926',
        )
      if (!isShort && date.century !== undefined) refuse('century', 'belongs to forms with yy')
    }),
])

export const COMPARISONS = ['<', '<=', '>', '>='] as const

/** Test of one column; all its keys must hold. */
const Test = z
  .strictObject({
    is: Text.optional(),
    in: described('The cell is one of these.', z.array(Text).min(1)),
    matches: described('A regular expression (RE2) for the cell.', Pattern),
    '<': Text.optional(),
    '<=': Text.optional(),
    '>': Text.optional(),
    '>=': Text.optional(),
    /** Compares dates instead of numbers. */
    format: Formats.optional(),
    zone: Zone().optional(),
  })
  .superRefine((test, context) => {
    const refuse = refuser(context)
    const compares = COMPARISONS.some((comparison) => test[comparison] !== undefined)
    if (!compares && test.is === undefined && test.in === undefined && test.matches === undefined)
      context.addIssue({ code: 'custom', message: 'is empty: give is, in, matches, <, <=, > or >=' })
    if (test.format !== undefined && !compares) refuse('format', 'belongs to comparisons of dates')
    if (test.zone !== undefined && test.format === undefined)
      refuse('zone', 'belongs to dates, which need a format')
  })
export type TestDefinition = z.infer<typeof Test>

/**
 * `when` and `skipWhen`: all lines must hold. A line tests a column or path, except `any`, `all` and `not`. Texts other than `present` and
 * `absent` are compared.
 */
export interface WhenDefinition {
  readonly [name: string]:
    | string
    | readonly string[]
    | TestDefinition
    | readonly WhenDefinition[]
    | WhenDefinition
}

const When: z.ZodType<WhenDefinition> = z.lazy(() => WhenDefinition)

export const WhenDefinition: z.ZodType<WhenDefinition> = z
  .object({
    any: z.union([Text, z.array(When).min(1), z.array(Text).min(1)]).exactOptional(),
    all: z.union([Text, z.array(When).min(1), z.array(Text).min(1)]).exactOptional(),
    not: z.union([Text, When, z.array(Text).min(1)]).exactOptional(),
  })
  .catchall(z.union([Text, z.array(Text).min(1), Test]))
  .refine((lines) => Object.keys(lines).length > 0, 'names no column or path')

/** True for forms that may give a year or month without a day. */
function takesPartial(format: string): boolean {
  return format === 'HL7' || format === 'ISO'
}

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
const valueKeys = {
  number: described('Marks of numbers, like { decimal: "," }.', NumberFormat),
  comparators: described(
    'Treatment of bounds like <5: rejected, left out, or sent as the limit.',
    z.enum(['reject', 'skip', 'limit']),
  ),
  ignore: ignored,
}

/** Marks a place of catalog keys, for editors; further keys are allowed. */
const keysOf = (section: 'biometrics' | 'conditions' | 'any') => ({ catalogKeys: section })

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
const WideBiometric = z.union([
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

const LongBiometric = z
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

const Family = z
  .strictObject({
    history: described('The family history; a bare word is a constant.', WordOrField),
    member: described(
      'Relatives with the condition: a list of fields, or relatives each with a condition in the row.',
      z.union([z.array(FieldDefinition).min(1), z.record(z.string().min(1), WhenDefinition)]),
    ),
  })
  .refine(({ history, member }) => (history ?? member) !== undefined, 'is empty: give history or member')

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

const WideCondition = z.strictObject({
  ...conditionKeys,
  when: WhenDefinition,
  catalog: z.string().meta(keysOf('conditions')).optional(),
})

const LongCondition = z.strictObject({ ...codedKeys, ...conditionKeys }).superRefine(checkCoded)

const CareTeam = z.strictObject({
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

const MedicalRecordsDefinition = z.strictObject({
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

/**
 * Answer in the section `assessment` (docs/assessment.md): a field; a list of fields, each possibly empty; or a field for each fact
 * of the question.
 */
const Answers = z.union([
  z.strictObject({ facts: z.record(z.string().min(1), FieldDefinition) }),
  z.array(FieldDefinition).min(1),
  FieldDefinition,
])

const AssessmentDefinition = z.strictObject({
  answers: z.record(z.string().min(1), Answers).meta({
    description: 'By the id of the question: the field with the chosen option, by id, value or text.',
  }),
})

const word = (message: string) => z.string().regex(/^[a-z][A-Za-z0-9_]*$/, message)

/** A branch stores each level as a bit of a number. */
const MOST_LEVELS = 24

/** Keys of `read` for transform; extract has its own schema of this block. */
const ReadBlock = z
  .looseObject({
    format: z.enum(['csv', 'xlsx', 'ndjson', 'json', 'hl7v2', 'records']),
    /** `{ order: "$.ORDERS[*]", obx: "order.OBX[*]" }`, `{ dx: { from: dx_codes, by: ";" } }` */
    each: described(
      'Named levels of a row, outer levels first: the elements of a list, or the parts of a text.',
      z
        .record(
          word('the name of a level must be a word'),
          z.union([
            z.string(),
            z.strictObject({
              from: z.string().min(1).meta({ description: 'The column or path with several parts.' }),
              by: z.string().min(1).meta({ description: 'The text between the parts, like ";".' }),
            }),
          ]),
        )
        .refine((each) => Object.keys(each).length <= MOST_LEVELS, `has more than ${MOST_LEVELS} levels`),
    ),
    /** Parts read from the document around the rows, by name; extract checks the paths. */
    context: z.record(z.string(), z.unknown()).optional(),
  })
  .superRefine(({ format, each = {} }, context) => {
    for (const [name, level] of Object.entries(each))
      if (isTable(format) && typeof level === 'string')
        context.addIssue({
          code: 'custom',
          path: ['each', name],
          message: 'a CSV cell has parts, no list: write { from: column, by: ";" }',
        })
  })

const Register = z.strictObject({
  firstName: FieldDefinition,
  lastName: FieldDefinition,
  dateOfBirth: BirthDateDefinition,
  gender: FieldDefinition,
  postalCode: FieldDefinition,
})

const Source = z.strictObject({
  name: WordOrField,
  type: WordOrField,
  sendingSystem: WordOrField.optional(),
  notes: described('Left out if empty.', WordOrField),
  dataQuality: WordOrField.optional(),
})

const RowBlock = z.strictObject({
  key: z.array(FieldDefinition).min(1).meta({
    description: "The vendor's identity of a row. The same record under the same key is never sent twice.",
  }),
  account: z
    .strictObject({
      reference: FieldDefinition.meta({ description: "The column or path with the person's reference." }),
      type: z.enum(['accountId', 'partnerAccountId']).default('partnerAccountId'),
      sponsor: described(
        'The payer of the person, sent with every record; left out if empty.',
        FieldDefinition,
      ),
      register: described('Data to register new people.', Register),
    })
    .refine((account) => account.type === 'partnerAccountId' || account.register === undefined, {
      message:
        'an account with an accountId is registered: leave this out, or name people by partnerAccountId',
      path: ['register'],
    }),
  observedAt: DateDefinition.optional(),
  issuedAt: described(
    'Time of issue of a result: of two for one place, the later issued counts.',
    DateDefinition,
  ),
  source: Source.optional(),
  skipWhen: described('Rows to leave out.', WhenDefinition),
  checks: Checks.prefault({}),
  emptyWhen: described('Texts that count as empty everywhere, like ND or NA.', z.array(Text).min(1)),
  ...valueKeys,
})
/** The `row` block with the defaults of a roster. */
export type RowBlock = z.infer<typeof RowBlock> & {
  readonly observedAt: DateDefinition
  readonly source: z.infer<typeof Source>
}

const JOINED = ['table', 'export', 'within'] as const

const Join = z
  .strictObject({
    /** Name of a CSV in `mappings/tables`. */
    table: z.string().min(1).optional(),
    /** Pattern for the name of a file beside the export; `read` gives its format. */
    export: z
      .string()
      .regex(/^[^/\\]+$/, 'is a file name, without a folder')
      .optional(),
    read: z.looseObject({ format: z.enum(['csv', 'xlsx', 'ndjson', 'json', 'hl7v2', 'records']) }).optional(),
    /** Elements of the row's own document. */
    within: z.string().min(1).optional(),
    /** Field with the key in the joined rows; for a table, a column. */
    key: FieldDefinition,
    /** Field of the row with the key. */
    on: FieldDefinition,
    missing: z.enum(['empty', 'reject']).default('empty'),
  })
  .superRefine((join, context) => {
    const refuse = refuser(context)
    const [first, second] = JOINED.filter((key) => join[key] !== undefined)
    if (first === undefined)
      refuse('table', 'is missing: a join leads to a table, an export, or within the row')
    if (second !== undefined) refuse(second, `excludes ${first}: a join leads to one of them`)
    if (first === 'table' && typeof join.key !== 'string') refuse('key', 'is a column of the table')
    if ((join.export === undefined) !== (join.read === undefined))
      refuse('read', join.read === undefined ? 'is missing: the format of the export' : 'is for export')
  })

/** Suspicious findings about an export as read by a mapping (docs/judging.md). */
const FitFinding = z.enum([
  ...(['median-unusual', 'values-mixed', 'one-value', 'unit-unread'] as const),
  ...(['always-rejected', 'often-rejected', 'never-set', 'condition-of-most', 'codes-unknown'] as const),
  ...(['rows-rejected', 'rows-left-out', 'status-left-out', 'key-shared'] as const),
  ...([
    'one-person',
    'person-mixed',
    'person-split',
    'registration-incomplete',
    'postal-codes-short',
  ] as const),
  ...(['one-sex', 'sexes-inverted', 'dates-in-future', 'first-twelve-days'] as const),
  ...(['always-midnight', 'at-night', 'born-when-observed', 'column-doubtful'] as const),
  ...(['column-beside', 'word-is-column'] as const),
])
export type FitFinding = z.infer<typeof FitFinding>
export const FIT_FINDINGS = FitFinding.options

const Expected = z.strictObject({
  finding: FitFinding,
  /** Without a rule, the finding is expected of any rule. */
  rule: z.string().min(1).optional(),
  reason: z.string().min(1),
})

const RuleName = z
  .string()
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'the name of a rule must be in kebab-case: lower-case letters, digits, hyphens',
  )

const OF_PROFILES = ['biometrics', 'conditions', 'careTeams'] as const
/** Sections that stand alone in their mapping. */
const ALONE = ['medicalRecords', 'assessment'] as const

type Section = (typeof OF_PROFILES)[number] | (typeof ALONE)[number]
type Sections = Partial<Record<Section, unknown>>

/** True for a list of people: its rows register people, or name the people whose records are collected. */
export const isRoster = (sections: Sections): boolean =>
  [...OF_PROFILES, ...ALONE].every((name) => sections[name] === undefined)

const isOfProfiles = (sections: Sections): boolean => OF_PROFILES.some((name) => sections[name] !== undefined)

/** Defaults where a mapping makes no record of a profile. */
const OF_ROSTER = {
  observedAt: { constant: '1970-01-01T00:00:00.000Z' },
  source: { name: 'roster', type: 'roster' },
} as const

export const MappingDefinition = z
  .strictObject({
    mapping: z.string().min(1),
    read: ReadBlock,
    row: RowBlock,
    /** Laid over the shipped catalog and the job's catalog. */
    catalog: CatalogExtension.optional(),
    joins: z.record(word('the name of a join must be a word'), Join).optional(),
    expected: described(
      'Findings of `check` that are right for these exports, each with the reason.',
      z.array(Expected).min(1),
    ),
    biometrics: z
      .union([z.record(RuleName, WideBiometric).meta(keysOf('biometrics')), z.array(LongBiometric).min(1)])
      .optional(),
    conditions: z
      .union([z.record(RuleName, WideCondition).meta(keysOf('conditions')), z.array(LongCondition).min(1)])
      .optional(),
    careTeams: z.union([z.record(RuleName, CareTeam), z.array(CareTeam).min(1)]).optional(),
    medicalRecords: described(
      'Requests for medical records, in a separate mapping.',
      z.record(RuleName, MedicalRecordsDefinition),
    ),
    assessment: described('Answers to the paged test, in a separate mapping.', AssessmentDefinition),
  })
  .superRefine((mapping, context) => {
    const { account, observedAt, source } = mapping.row
    const [alone, second] = ALONE.filter((name) => mapping[name] !== undefined)
    if (alone !== undefined && (isOfProfiles(mapping) || second !== undefined))
      context.addIssue({
        code: 'custom',
        path: [alone],
        message: 'excludes other sections: give it its own mapping and job',
      })
    if (isOfProfiles(mapping)) {
      const missing = { observedAt, source }
      for (const [key, given] of Object.entries(missing))
        if (given === undefined)
          context.addIssue({
            code: 'custom',
            path: ['row', key],
            message: 'is missing: every record has it',
          })
    } else if (mapping.medicalRecords !== undefined) {
      if (account.register !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['row', 'account', 'register'],
          message: 'does not apply to requests: their people need no registration',
        })
    } else if (isRoster(mapping) && account.register === undefined && account.type === 'partnerAccountId')
      context.addIssue({
        code: 'custom',
        message:
          'maps nothing: add biometrics, conditions, careTeams, medicalRecords or assessment, or account.register for a roster',
      })
  })
  .superRefine(({ read, row, biometrics = {}, conditions = {} }, context) => {
    // Columns of CSV and of a sheet may have any name.
    if (isTable(read.format)) return
    const refuse = (path: (string | number)[], ignored: readonly string[] = []): void => {
      for (const [at, name] of ignored.entries())
        if (!PART_NAMES.includes(name))
          context.addIssue({
            code: 'custom',
            path: [...path, 'ignore', at],
            message: `"${name}" is no part of a structure: these are ${PART_NAMES.join(', ')}`,
          })
    }
    refuse(['row'], row.ignore)
    for (const [section, rules] of Object.entries({ biometrics, conditions }))
      for (const [name, rule] of Object.entries(rules))
        if (typeof rule === 'object')
          refuse([section, Array.isArray(rules) ? Number(name) : name], rule.ignore)
  })
  .superRefine(({ read, joins = {} }, context) => {
    if (!isTable(read.format)) return
    const message = 'belongs to JSON: a CSV row has no elements'
    for (const [name, join] of Object.entries(joins))
      if (join.within !== undefined)
        context.addIssue({ code: 'custom', path: ['joins', name, 'within'], message })
  })
  .transform((mapping) => {
    const { observedAt = OF_ROSTER.observedAt, source = OF_ROSTER.source } = mapping.row
    return { ...mapping, row: { ...mapping.row, observedAt, source } }
  })

export type MappingDefinition = z.infer<typeof MappingDefinition>
/** Time of observation in a draft that found none; no record with it may be sent. */
export const PLACEHOLDER_INSTANT = '1900-01-01T00:00:00.000Z'

const ASKS = /#.*\bDECIDE:/
const PLACEHOLDER = new RegExp(
  `^[^#]*\\bconstant:\\s*["']?${PLACEHOLDER_INSTANT.slice(0, 10)}(?:T00:00(?::00(?:\\.0+)?)?Z?)?["']?\\s*(?:[},#]|$)`,
)

/** Lines of a mapping's text, from 1, with an open decision of a draft: a comment with `DECIDE:`, or the placeholder of a date. */
export const undecidedLines = (text: string): number[] =>
  text
    .split('\n')
    .flatMap((line, at) => (ASKS.test(line) || PLACEHOLDER.test(line.trimEnd()) ? [at + 1] : []))
