/**
 * Structures of a value, and the parts beside a value that can change it, make it a bound, or void it (docs/mapping.md, "A value is
 * whole, or rejected"). A closed table: `ignore` uses the names of parts here.
 */
import { type Fault, fault } from '../model/record.ts'

/** Faults of the value itself. */
export const OF_VALUE = {
  form: fault('value-form-unread', 'no rule reads the form of the value, such as a text, a code or a date'),
  repeated: fault('value-repeated', 'the value is repeated, and the rule reads one of them'),
  part: fault('value-part-unread', 'the value has a part that the rule does not read'),
  joined: fault('value-not-a-number', 'the value is two numbers with nothing between them'),
  units: fault('unit-mismatch', 'unit and code of the quantity are different units'),
  bound: fault(
    'value-with-comparator',
    'a sign beside the value makes it a bound (below or above detection)',
  ),
}
const FLAGGED = fault('flag-unread', 'a flag beside the value means more than the place in its range')
const NOT_FINAL = fault('status-unread', 'the state is not final, and the rule does not read it')
const notRead = (code: string, what: string): Fault =>
  fault(code, `there is ${what}, and the rule does not read it`)
const UNIT_UNREAD = notRead('unit-unread', 'a unit')

/** A part of a structure. */
export interface Part {
  readonly name: string
  /** Members, joined by points; a field by its number; `value`: the structure itself. */
  readonly at: string | number
  readonly fault: Fault
  /** Texts, in capitals, that do not change the value. */
  readonly neutral?: ReadonlySet<string>
  /** Part with equal meaning: if the rule reads it, this part counts as read, unless it contradicts that part's neutral texts. */
  readonly givenBy?: string | number
}

const part = (
  at: string | number,
  fault: Fault,
  neutral?: Iterable<string>,
  more: Partial<Part> = {},
): Part => ({
  name: String(at).replace('valueQuantity.', ''),
  at,
  fault,
  ...(neutral && { neutral: new Set(neutral) }),
  ...more,
})
const fieldsOf = (segment: string, ...fields: readonly Part[]): readonly Part[] =>
  fields.map((one) => ({ ...one, name: `${segment}-${one.at}` }))

/** Texts for the place of a value in its range (HL7 tables 0078 and v3-ObservationInterpretation, codes and names). */
const PLACED = new Set([
  ...['N', 'A', 'AA', 'H', 'HH', 'HU', 'H>', 'L', 'LL', 'LU', 'L<', 'U', 'D', 'B', 'W', 'NULL'],
  ...['S', 'R', 'I', 'MS', 'VS', 'POS', 'NEG', 'RR', 'NR'],
  ...['NORMAL', 'ABNORMAL', 'HIGH', 'LOW', 'CRITICAL HIGH', 'CRITICAL LOW', 'CRITICAL ABNORMAL'],
  ...['VERY HIGH', 'VERY LOW', 'VERY ABNORMAL'],
])

/** Texts for a value below or above the range of the instrument (HL7 tables 0078 and v3-ObservationInterpretation). */
export const OFF_SCALE: ReadonlySet<string> = new Set(['<', '>', 'OFF SCALE LOW', 'OFF SCALE HIGH'])

/** Fields of OBX (HL7 v2.5.1, 7.4.2). OBX-2: types with the value itself as text. OBX-11: F final, C corrected. */
export const OBX = fieldsOf(
  'OBX',
  part(2, OF_VALUE.form, ['NM', 'SN', 'ST', 'TX', 'FT', 'CQ']),
  part(3, notRead('code-unread', 'a code')),
  part(
    4,
    fault('sub-id-unread', 'a sub-id distinguishes results of one code, and the rule does not read it'),
  ),
  part(5, OF_VALUE.part),
  part(6, UNIT_UNREAD),
  part(7, notRead('range-unread', 'a reference range')),
  part(8, FLAGGED, PLACED),
  part(11, NOT_FINAL, ['F', 'C']),
)

/** Parts of an Observation or a component (FHIR R4, Observation). `value` stands for all forms of `value[x]`. */
export const FHIR = {
  value: part('value', OF_VALUE.form),
  status: part('status', NOT_FINAL, ['FINAL', 'AMENDED', 'CORRECTED']),
  component: part('component', fault('components-unread', 'no rule reads the components beside the value')),
}
const MODIFIER = part(
  'modifierExtension',
  fault('modifier-unread', 'an extension changes the meaning, and the rule does not read it'),
)
const INTERPRETATION = part('interpretation', FLAGGED, PLACED)
/** Parts that also apply to components and extensions of an Observation. */
export const OF_OWNER: readonly Part[] = [FHIR.status, INTERPRETATION, MODIFIER]
export const OF_OBSERVATION: readonly Part[] = [
  FHIR.value,
  FHIR.component,
  part('valueQuantity.comparator', OF_VALUE.bound),
  part('valueQuantity.unit', UNIT_UNREAD, undefined, { givenBy: 'valueQuantity.code' }),
  part('valueQuantity.code', UNIT_UNREAD, undefined, { name: 'unit', givenBy: 'valueQuantity.unit' }),
  FHIR.status,
  part('dataAbsentReason', fault('absent-reason-unread', 'a reason for a missing value is beside the value')),
  INTERPRETATION,
  MODIFIER,
]

/** Forms of `value[x]` (FHIR R4, Observation and Extension), as members of the value's owner. */
export const VALUE_FORMS: ReadonlySet<string> = new Set(
  [
    ...['Quantity', 'CodeableConcept', 'String', 'Boolean', 'Integer', 'Decimal', 'Range', 'Ratio'],
    ...['SampledData', 'Time', 'DateTime', 'Date', 'Period', 'Instant', 'Code', 'Coding', 'Age'],
    ...['Duration', 'Money', 'PositiveInt', 'UnsignedInt', 'Attachment', 'Integer64', 'Reference'],
  ].map((form) => `value${form}`),
)

const NOT_HELD = fault(
  'status-unread',
  'the condition may not hold, or no longer, and the rule does not read its state',
)
export const CONTRADICTED = fault(
  'status-contradictory',
  'the state is active, but an end of the condition is beside it',
)
const ABATED = ['DateTime', 'Age', 'Period', 'Range', 'String', 'Boolean'].map((form) =>
  part(`abatement${form}`, NOT_HELD, ['FALSE'], { name: 'abatement', givenBy: 'clinicalStatus' }),
)

/** Parts beside the code of a condition: FHIR R4, Condition; HL7 v2.5.1, 6.5.2 (tables 0052, 0206) and 12.4.2 (0287); Redox. */
export const OF_CONDITION = {
  fhir: [
    part('verificationStatus', NOT_HELD, ['CONFIRMED']),
    part('clinicalStatus', NOT_HELD, ['ACTIVE', 'RECURRENCE', 'RELAPSE']),
    ...ABATED,
    MODIFIER,
  ],
  DG1: fieldsOf('DG1', part(6, NOT_HELD, ['F', 'FINAL']), part(21, NOT_HELD, ['A', 'U', 'X'])),
  PRB: fieldsOf(
    'PRB',
    part(1, NOT_HELD, ['AD', 'CO', 'LI', 'UC', 'UP']),
    part(9, NOT_HELD, undefined, { givenBy: 14 }),
    part(13, NOT_HELD, ['CONFIRMED', 'C']),
    part(14, NOT_HELD, ['ACTIVE', 'A']),
  ),
  problem: [
    part('Status', NOT_HELD, ['ACTIVE', '55561003']),
    part('EndDate', NOT_HELD, undefined, { givenBy: 'Status' }),
  ],
  diagnosis: [part('Type', NOT_HELD, ['FINAL', 'DISCHARGE'])],
} satisfies Readonly<Record<string, readonly Part[]>>

/** Parts beside `Value` of a result or an observation of Redox. */
export const OF_REDOX_VALUE: readonly Part[] = [
  part('ValueType', OF_VALUE.form, ['NUMERIC', 'PHYSICALQUANTITY', 'STRING', 'TEXT', 'FORMATTED TEXT']),
  part('Units', UNIT_UNREAD),
  part('Status', NOT_FINAL, ['FINAL', 'CORRECTED', 'COMPLETED']),
  ...['AbnormalFlag', 'Interpretation'].map((at) => part(at, FLAGGED, PLACED)),
]

/** Parts of an entry of a Bundle, as used in `ignore`. */
export const ENTRY = { subject: 'subject', request: 'request' } as const

/** Names of parts, as used in `ignore`. */
export const PART_NAMES: readonly string[] = [
  ...new Set(
    [...[...OBX, ...OF_OBSERVATION, ...OF_REDOX_VALUE], ...Object.values(OF_CONDITION).flat()].map(
      ({ name }) => name,
    ),
  ),
  ...Object.values(ENTRY),
]
