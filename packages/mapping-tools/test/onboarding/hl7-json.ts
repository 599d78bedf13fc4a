/** Results of HL7 v2 as JSON, as interfaces that do not exist spell it, from a seed, with the records that they hold. */
import { drawFrom } from '../../../../test/load/simulated-flow.ts'

export interface Hl7File {
  readonly name: string
  readonly content: string
  /** `person key value date`. */
  readonly truth: readonly string[]
  /** True if the shape gives the owner of each name, date and sex. */
  readonly registers: boolean
}

interface Result {
  readonly code: string
  readonly text: string
  readonly value: string
  readonly unit: string
  readonly status: string
}

interface Order {
  readonly at: string
  readonly results: readonly Result[]
}

interface Message {
  readonly id: string
  readonly person: string
  readonly first: string
  readonly last: string
  readonly born: string
  readonly sex: string
  readonly zip: string
  readonly orders: readonly Order[]
}

const two = (number: number): string => String(number).padStart(2, '0')

const TESTS = [
  ['4548-4', 'Hemoglobin A1c', '%', 4.8, 8.5, 1],
  ['2093-3', 'Cholesterol', 'mg/dL', 140, 260, 0],
  ['2085-9', 'HDL Cholesterol', 'mg/dL', 35, 80, 0],
] as const
const KEYS: Readonly<Record<string, string>> = {
  '4548-4': 'hba1c',
  '2093-3': 'total-cholesterol',
  '2085-9': 'hdl-cholesterol',
}

/** Messages of one order each, or of one and of several. */
function inventMessages(chance: () => number, several: boolean): Message[] {
  return Array.from(
    { length: 8 },
    (_, at): Message => ({
      ...{ id: `MSG${at}`, person: `MRN${at}`, first: `Given${at}`, last: `Reed${at}` },
      ...{ born: `19${50 + at}0${1 + at}12`, sex: at % 2 === 0 ? 'F' : 'M', zip: `0488${at}` },
      orders: Array.from({ length: several ? 1 + (at % 3) : 1 }, (__, order) => ({
        at: `202602${two(1 + at * 3 + order)}`,
        results: TESTS.slice(0, 1 + ((at + order) % 3)).map(
          ([code, text, unit, low, high, decimals], place) => ({
            ...{ code, text, unit, value: (low + chance() * (high - low)).toFixed(decimals) },
            status: place === 1 && at % 2 === 0 ? 'P' : 'F',
          }),
        ),
      })),
    }),
  )
}

const truthOf = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ person, orders }) =>
    orders.flatMap(({ at, results }) =>
      results.flatMap(({ code, value, unit, status }) =>
        status === 'F'
          ? [
              `${person} ${KEYS[code]} ${value} ${unit} ${at.slice(0, 4)}-${at.slice(4, 6)}-${at.slice(6)}T00:00:00.000Z`,
            ]
          : [],
      ),
    ),
  )

/** Names of a field and of its parts, by number of the component. */
type Named = (
  segment: string,
  field: number,
  ...parts: (readonly [component: number, text: string])[]
) => object

/** `OBX_5: { OBX_5_1: … }`. */
const nested =
  (name: (segment: string, ...numbers: number[]) => string, repeats = false): Named =>
  (segment, field, ...parts) => {
    const components = Object.fromEntries(
      parts.map(([component, text]) => [name(segment, field, component), text]),
    )
    return { [name(segment, field)]: repeats ? [components] : components }
  }

/** `OBX_5_1: …`, or `OBX_5: …` of the first alone. */
const flat =
  (name: (segment: string, ...numbers: number[]) => string): Named =>
  (segment, field, ...parts) =>
    Object.fromEntries(
      parts.map(([component, text]) => [
        parts.length === 1 && component === 1 ? name(segment, field) : name(segment, field, component),
        text,
      ]),
    )

const header = ({ id }: Message, named: Named): object => ({
  ...named('MSH', 7, [1, '20260301']),
  ...named('MSH', 10, [1, id]),
})
const patient = ({ person, first, last, born, sex, zip }: Message, named: Named): object => ({
  ...named('PID', 3, [1, person]),
  ...named('PID', 5, [1, last], [2, first]),
  ...named('PID', 7, [1, born]),
  ...named('PID', 8, [1, sex]),
  ...named('PID', 11, [5, zip]),
})
const request = ({ at }: Order, named: Named): object => named('OBR', 7, [1, at])
const result = ({ code, text, value, unit, status }: Result, named: Named): object => ({
  ...named('OBX', 3, [1, code], [2, text], [3, 'LN']),
  ...named('OBX', 5, [1, value]),
  ...named('OBX', 6, [1, unit]),
  ...named('OBX', 11, [1, status]),
})

/** Groups of orders, each with its results. */
const grouped = (
  message: Message,
  named: Named,
  [msh, pid, obr, obx] = ['MSH', 'PID', 'OBR', 'OBX'],
): object => ({
  [msh ?? '']: header(message, named),
  [pid ?? '']: patient(message, named),
  orderGroups: message.orders.map((order) => ({
    [obr ?? '']: request(order, named),
    [obx ?? '']: order.results.map((one) => result(one, named)),
  })),
})

/** Lists of segments side by side. */
const besides = (message: Message, named: Named): object => ({
  message: {
    MSH: header(message, named),
    PID: [patient(message, named)],
    OBR: message.orders.map((order) => request(order, named)),
    // As many converters do, of one result no list is made.
    OBX: one(message.orders.flatMap(({ results }) => results.map((each) => result(each, named)))),
  },
})

const one = (values: readonly object[]): unknown => (values.length === 1 ? values[0] : values)

/** All of a result in one object. */
const rows = (message: Message, named: Named): object[] =>
  message.orders.flatMap((order) =>
    order.results.map((each) => ({
      ...header(message, named),
      ...patient(message, named),
      ...request(order, named),
      ...result(each, named),
    })),
  )

const inWords = ({ id, person, first, last, born, sex, zip, orders }: Message): object => ({
  MessageHeader: { MessageControlID: id },
  PatientIdentification: {
    PatientIdentifierList: [{ IDNumber: person, AssigningAuthority: 'X' }],
    PatientName: [{ FamilyName: last, GivenName: first }],
    DateTimeOfBirth: born,
    AdministrativeSex: sex,
    PatientAddress: [{ City: 'X', ZipOrPostalCode: zip }],
  },
  Orders: orders.map(({ at, results }) => ({
    ObservationRequest: { ObservationDateTime: at },
    ObservationResults: results.map(({ code, text, value, unit, status }) => ({
      ObservationIdentifier: { Identifier: code, Text: text },
      ObservationValue: value,
      Units: { Identifier: unit },
      ObservationResultStatus: status,
    })),
  })),
})

const inSnakeCase = ({ id, person, orders }: Message): object[] =>
  orders.flatMap(({ at, results }) =>
    results.map(({ code, text, value, unit, status }) => ({
      ...{ message_control_id: id, patient_identifier_list: person, requested_observation_date_time: at },
      ...{
        observation_identifier: code,
        observation_identifier_text: text,
        observation_value: value,
        units: unit,
      },
      ...{ observation_result_status: status, value_type: 'NM' },
    })),
  )

const ofAnApi = ({ person, first, last, born, sex, zip, orders }: Message): object => ({
  // Values of another person or time, or no measurements, under equal names.
  goals: [{ results: [{ code: '2093-3', value: '180', unit: 'mg/dL', status: 'F' }] }],
  previous: { results: [{ code: '4548-4', value: '9.9', unit: '%', status: 'F' }] },
  patient: {
    ...{ mrn: person, firstName: first, lastName: last, dob: born, sex, zip },
    mother: { firstName: 'Other', lastName: 'Person', dob: '19010101' },
  },
  orders: orders.map(({ at, results }) => ({
    collectedAt: at,
    results: results.map(({ code, text, value, unit, status }) => ({
      code,
      name: text,
      value,
      unit,
      status,
      flag: 'N',
    })),
  })),
})

export function inventHl7(seed: number): Hl7File[] {
  const chance = drawFrom(seed)
  const lines = (
    name: string,
    several: boolean,
    write: (message: Message) => object,
    registers = true,
  ): Hl7File => {
    const messages = inventMessages(chance, several)
    const content = messages.map((message) => `${JSON.stringify(write(message))}\n`).join('')
    return { name: `${name}.ndjson`, content, truth: truthOf(messages), registers }
  }
  const list = (name: string, write: (message: Message) => object[], registers = true): Hl7File => {
    const messages = inventMessages(chance, true)
    return {
      name: `${name}.json`,
      content: JSON.stringify(messages.flatMap(write)),
      truth: truthOf(messages),
      registers,
    }
  }
  const withMark =
    (mark: string) =>
    (segment: string, ...numbers: number[]) =>
      [segment, ...numbers].join(mark)
  const short = (segment: string, field: number, component?: number): string =>
    `${segment.toLowerCase()}${field}${component === undefined ? '' : `_${component}`}`
  return [
    lines('OBX_5', true, (message) => grouped(message, nested(withMark('_')))),
    lines('OBX-5, repetitions in lists', true, (message) => grouped(message, nested(withMark('-'), true))),
    lines('OBX.5 beside each other', false, (message) => besides(message, nested(withMark('.')))),
    lines('obx and numbers', true, (message) =>
      grouped(
        message,
        nested((_, field, component) => String(component ?? field), true),
        ['msh', 'pid', 'obr', 'obx'],
      ),
    ),
    lines('obx5', true, (message) =>
      grouped(message, flat(short), ['header', 'patient', 'order', 'results']),
    ),
    list('obx5 in rows', (message) => rows(message, flat(short))),
    list('OBX.5 in rows', (message) => rows(message, flat(withMark('.')))),
    lines('ObservationValue', true, inWords),
    list('observation_value', inSnakeCase, false),
    lines('value of an interface of its own', true, ofAnApi),
  ]
}

/** Orders beside results, so that of several nobody can tell which result is of which. */
export function inventMuddle(seed: number): Pick<Hl7File, 'content' | 'truth'> {
  const messages = inventMessages(drawFrom(seed), true)
  const named = nested((segment, ...numbers) => [segment, ...numbers].join('_'))
  return {
    content: messages.map((message) => `${JSON.stringify(besides(message, named))}\n`).join(''),
    truth: truthOf(messages),
  }
}
