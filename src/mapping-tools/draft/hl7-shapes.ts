/** HL7 v2 messages (ORU^R01) as converters write them in JSON: docs/mapping.md, "Reading JSON", has the same levels. */
import { has, type JsonShape, member } from './json-shape.ts'

/** Fields of segments by their HL7 number: patient, visit's order, result. */
interface Segments {
  readonly pid: (field: number, component?: number) => readonly string[]
  readonly msh: (field: number, component?: number) => readonly string[]
  readonly obr: (field: number, component?: number) => readonly string[]
  readonly obx: (field: number, component?: number) => readonly string[]
}

/** HL7 v2.5.1: PID-3, 5, 7, 8, 11; MSH-7, 10; OBR-3, 7; OBX-3, 5, 6, 7, 11, 14. */
function hl7(
  kind: string,
  recognise: JsonShape['recognise'],
  each: JsonShape['each'],
  { pid, msh, obr, obx }: Segments,
): JsonShape {
  return {
    kind,
    recognise,
    each,
    key: msh(10, 1),
    reference: pid(3, 1),
    register: {
      firstName: pid(5, 2),
      lastName: pid(5, 1),
      dateOfBirth: pid(7, 1),
      gender: pid(8, 1),
      postalCode: pid(11, 5),
    },
    observedAt: [...obx(14, 1), ...obr(7, 1), ...obr(22, 1), ...msh(7, 1)],
    biometrics: {
      code: obx(3, 1),
      name: obx(3, 2),
      value: obx(5, 1),
      unit: [...obx(6, 2), ...obx(6, 1)],
      status: obx(11, 1),
      refRange: obx(7, 1),
    },
  }
}

/** `PID['PID.3'][0]['PID.3.1']`; a field without components is the text itself. */
const dotted =
  (start: string, segment: string, inner = '') =>
  (field: number, component = 1): string[] => {
    const path = `${start}${inner}['${segment}.${field}']`
    return [`${path}[0]['${segment}.${field}.${component}']`, ...(component === 1 ? [path] : [])]
  }

const numbered =
  (start: string) =>
  (field: number, component = 1): string[] => [
    `${start}['${field}'][0]['${component}']`,
    `${start}['${field}'][0]['${component}']['1']`,
    ...(component === 1 ? [`${start}['${field}'][0]`] : []),
  ]

const positional =
  (start: string) =>
  (field: number, component = 1): string[] => [`${start}[${field}][0][${component - 1}]`]

/** @param first number of the field that stands first in the list */
const tree =
  (start: string, first = 1) =>
  (field: number, component = 1): string[] => [
    `${start}.fields[${field - first}].value[0][${component - 1}].value[0]`,
  ]

/** Components are named by their type: each that a field can have. */
const typed =
  (start: string, segment: string) =>
  (field: number, component = 1): string[] => {
    const path = `${start}.${segment}[0]['${segment}.${field}'][0]`
    const types = ['CX', 'XPN', 'XAD', 'TS', 'CE', 'CWE', 'EI']
    return [
      ...types.flatMap((type) => [
        `${path}['${type}.${component}'][0]`,
        `${path}['${type}.${component}'][0]['FN.1'][0]`,
      ]),
      ...(component === 1 ? [path] : []),
    ]
  }

const groupedBy = (patient: string, order: string, seen: string): JsonShape['each'] => ({
  group: `$${patient}[*]`,
  order: `group${order}[*]`,
  seen: `order${seen}[*]`,
})

const NUMBERED = groupedBy('.PATIENT_RESULT', '.ORDER_OBSERVATION', '.OBSERVATION')

export const HL7_SHAPES: readonly JsonShape[] = [
  hl7(
    'HL7 v2 as Mirth / NextGen Connect writes it',
    (document) => has(document, 'HL7Message'),
    { obx: '$.HL7Message.OBX[*]' },
    {
      pid: dotted('$.HL7Message.PID', 'PID'),
      msh: dotted('$.HL7Message.MSH', 'MSH'),
      obr: dotted('$.HL7Message.OBR[0]', 'OBR'),
      obx: dotted('obx', 'OBX'),
    },
  ),
  hl7(
    'HL7 v2 as xml2js makes it of HAPI XML',
    (document) => has(document, 'ORU_R01', 'ORU_R01.PATIENT_RESULT'),
    groupedBy(
      ".ORU_R01['ORU_R01.PATIENT_RESULT']",
      "['ORU_R01.ORDER_OBSERVATION']",
      "['ORU_R01.OBSERVATION']",
    ),
    {
      pid: typed("$.ORU_R01['ORU_R01.PATIENT_RESULT'][0]['ORU_R01.PATIENT'][0]", 'PID'),
      msh: typed('$.ORU_R01', 'MSH'),
      obr: typed('order', 'OBR'),
      obx: typed('seen', 'OBX'),
    },
  ),
  hl7('HL7 v2 with numeric keys, in groups', (document) => has(document, 'PATIENT_RESULT'), NUMBERED, {
    pid: numbered('$.PATIENT_RESULT[0].PATIENT.PID'),
    msh: numbered('$.MSH'),
    obr: numbered('order.OBR'),
    obx: numbered('seen.OBX'),
  }),
  hl7(
    'HL7 v2 with numeric keys, in groups, below ORU_R01',
    (document) => has(document, 'ORU_R01', 'PATIENT_RESULT'),
    { ...NUMBERED, group: '$.ORU_R01.PATIENT_RESULT[*]' },
    {
      pid: numbered('$.ORU_R01.PATIENT_RESULT[0].PATIENT.PID'),
      msh: numbered('$.ORU_R01.MSH'),
      obr: numbered('order.OBR'),
      obx: numbered('seen.OBX'),
    },
  ),
  hl7(
    'HL7 v2 in positional lists',
    (document) => Array.isArray(document) && member(document, 0, 0) === 'MSH',
    { obx: "$[?@[0] == 'OBX']" },
    {
      pid: positional("$[?@[0] == 'PID']"),
      // MSH-1 is the separator itself, which takes a place of its own here.
      msh: positional('$[0]'),
      obr: positional("$[?@[0] == 'OBR']"),
      obx: positional('obx'),
    },
  ),
  hl7(
    'HL7 v2 as segments with an index',
    (document) => has(document, 'MSH', 0, 'data'),
    { obx: '$.OBX[*]' },
    {
      pid: dotted('$.PID[0]', 'PID', '.data'),
      msh: dotted('$.MSH[0]', 'MSH', '.data'),
      obr: dotted('$.OBR[0]', 'OBR', '.data'),
      obx: dotted('obx', 'OBX', '.data'),
    },
  ),
  hl7(
    'HL7 v2 as a tree of fields',
    (document) => has(document, 'segments', 0, 'fields'),
    { obx: "$.segments[?@.name == 'OBX']" },
    {
      pid: tree("$.segments[?@.name == 'PID']"),
      msh: tree('$.header', 3),
      obr: tree("$.segments[?@.name == 'OBR']"),
      obx: tree('obx'),
    },
  ),
]
