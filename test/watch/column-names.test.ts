/** Meanings of columns by their names, in the shipped words (`src/watch/words.yaml`) and the shipped catalog. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readSynonyms } from '../../src/definitions/catalog-files.ts'
import { columnsBeside, isBeside, partOfRow, registeredAs } from '../../src/watch/column-names.ts'
import { doubtfulColumns, unreadBeside } from '../../src/watch/doubtful-columns.ts'
import { knownNames, nameWords, withoutOrdinal } from '../../src/watch/names.ts'
import { HEAD, load, ROOT } from '../transform/mapping-under-test.ts'

const { resources } = load(`${HEAD}biometrics: { bmi: b }`)
const names = knownNames(resources.catalog, resources.units, await readSynonyms(join(ROOT, 'mappings')))
const words = (text: string) => nameWords(text, names.naming)

it.each([
  ['time_zone', 'date'],
  ['relationship', 'person'],
  ['measurement system', 'unit'],
  ['comment', 'remark'],
  ['result comment', 'remark'],
  ['flag', 'value'],
  ['result flag', 'value'],
  ['specimen hemolyzed', 'value'],
  // Alone, a status may be that of an address or of a person.
  ['lab status', 'value'],
  ['status', undefined],
  ['result', undefined],
  ['result result', undefined],
  ['weight', undefined],
  ['glucose comment', undefined],
  ['result glucose', undefined],
])('the column %s is about: %s', (name, part) => {
  expect(partOfRow(words(name), names.words)).toBe(part)
})

it.each([
  ['First Name', ['firstName']],
  ['patient_first_name', ['firstName']],
  ['fname member', ['firstName']],
  ['surname', ['lastName']],
  ['dob', ['dateOfBirth']],
  ['Sex', ['gender']],
  ['ZIP', ['postalCode']],
  ['doctor first name', []],
  ['first name first name', []],
])('the column %s registers %j', (name, fields) => {
  expect(registeredAs(words(name).words, names.words)).toEqual(fields)
})

it.each([
  ['glucose', 'glucose_flag', true],
  ['glucose', 'glucose flag comment', true],
  ['ferritin_ng_ml', 'ferritin sign', true],
  ['weight', 'weight reported', true],
  // A name that is a unit is a name.
  ['mg', 'mg flag', true],
  ['glucose', 'glucose', false],
  ['glucose', 'hdl flag', false],
  ['glucose', 'flag glucose', false],
  ['weight', 'weight goal', false],
  ['weight', 'weight goal flag', false],
])('beside %s, %s says something of it: %s', (value, other, is) => {
  expect(isBeside(words(value), words(other), names)).toBe(is)
})

it('columns beside a value are those that say something of it, and others of the same measurement', () => {
  const unread = ['glucose flag', 'hdl flag', 'gluc', 'Glucose (mg/dL)', 'note']
  expect(columnsBeside('glucose', 'glucose', unread, names)).toEqual([
    'glucose flag',
    'gluc',
    'Glucose (mg/dL)',
  ])
})

const is = (key: string, more: object = {}) => ({
  kind: 'is',
  keys: [key],
  unit: undefined,
  ordinal: 1,
  ...more,
})
const like = (...keys: string[]) => ({ kind: 'like', keys })

it.each([
  ['HbA1c', is('hba1c')],
  ['total cholesterol', is('total-cholesterol')],
  ['cholesterol total', is('total-cholesterol')],
  ['sbp 1', is('systolic-bp')],
  ['2nd sbp', is('systolic-bp', { ordinal: 2 })],
  ['sbp second', is('systolic-bp', { ordinal: 2 })],
  ['sbp3', is('systolic-bp', { ordinal: 3 })],
  // One, two and three words of a unit.
  ['weight lbs', is('body-weight', { unit: 'lb' })],
  ['glucose_mg_dl', is('glucose', { unit: 'mg/dL' })],
  ['Glucose fasting mmol l', is('glucose-fasting', { unit: 'mmol/L' })],
  ['BMI kg m 2', is('bmi', { unit: 'kg/m2' })],
  ['weight (kg)', is('body-weight', { unit: 'kg' })],
  ['Pulse (bpm)', is('heart-rate', { unit: '/min' })],
  ['Systolic (sbp)', is('systolic-bp')],
  ['Chol/HDL', is('cholesterol-hdl-ratio')],
  // A ratio is written with the denominator last.
  ['HDL/Chol', like('hdl-cholesterol', 'total-cholesterol')],
  ['HDL/LDL', like('hdl-cholesterol', 'ldl-cholesterol')],
  ['HDL/HDL', like('hdl-cholesterol')],
  ['Weight (goal)', like('body-weight')],
  ['my weight today', like('body-weight')],
  ['Glucose (comment)', like('glucose')],
  ['x', undefined],
  ['', undefined],
])('the column %s is %j', (name, match) => {
  expect(names.measurements.match(words(name))).toEqual(match)
})

it.each([
  ['Diabetes', is('diabetes')],
  ['dx diabetes', is('diabetes')],
  ['asthma flag', is('asthma')],
  ['family diabetes', like('diabetes')],
])('the column %s is of the condition %j', (name, match) => {
  expect(names.conditions.match(words(name), names.words.wide.diagnosed)).toEqual(match)
})

it('an ordinal is taken off a name, before it, behind it or at its end; a name of an ordinal alone stays', () => {
  const without = (...all: string[]) => withoutOrdinal(all, names.naming)
  expect(without('sbp', '1')).toEqual({ called: ['sbp'], ordinal: 1 })
  expect(without('bpxsy3')).toEqual({ called: ['bpxsy'], ordinal: 3 })
  expect(without('2nd', 'sbp')).toEqual({ called: ['sbp'], ordinal: 2 })
  expect(without('sbp', 'third')).toEqual({ called: ['sbp'], ordinal: 3 })
  expect(without('second')).toEqual({ called: ['second'], ordinal: 1 })
  expect(without('sbp')).toEqual({ called: ['sbp'], ordinal: 1 })
})

const doubts = (rules: string, head = HEAD): string[] =>
  doubtfulColumns(load(`${head}${rules}`).definition, names).map(({ rule, message }) => `${rule}: ${message}`)

it('a rule that reads the column of another is told, and one whose column is something else', () => {
  expect(
    doubts(`biometrics:
  hba1c: { from: LDL }
  ldl-cholesterol: LDL
  body-weight: { from: Weight goal }
  mine: { catalog: heart-rate, from: hdl }
  good: { catalog: hdl-cholesterol, from: hdl }
  body-height: { firstOf: [hdl, ldl] }
  heart-rate: my pulse today
  bmi: goal
conditions:
  asthma: { when: { diabetes: Y }, status: active }
  type-2-diabetes: { when: { diabetes: Y }, status: active }
  diabetes: { when: { asthma: Y, b: Y }, status: active }
  hypertension: { when: { not: { asthma: Y } }, status: active }
  high: { catalog: type-2-diabetes, when: { hyperlipidemia: Y }, status: active }
`),
  ).toEqual([
    'hba1c: it reads the column "LDL", which names ldl-cholesterol',
    'body-weight: it reads the column "Weight goal", but "goal" suggests something else',
    'mine: it reads the column "hdl", which names hdl-cholesterol',
    'asthma: it reads the column "diabetes", which names diabetes',
    'high: it reads the column "hyperlipidemia", which names hyperlipidemia',
  ])
})

it('a field of a registration that reads the column of another is told, unless it takes a part of it', () => {
  const register =
    'register: { firstName: surname, lastName: { from: first name }, dateOfBirth: dob, gender: { from: zip, split: { by: "-", take: 1 } }, postalCode: { from: dob, extract: "[0-9]{5}" } }'
  const head = HEAD.replace('reference: id', `reference: id, ${register}`)
  expect(doubts('biometrics: { bmi: b }', head)).toEqual([
    'null: register.firstName reads the column "surname", which names lastName',
    'null: register.lastName reads the column "first name", which names firstName',
  ])
})

const unread = (rules: string, columns: readonly string[], head = HEAD): string[] =>
  unreadBeside(load(`${head}${rules}`).definition, columns, names).map(
    ({ rule, message }) => `${rule}: ${message.replace(/: read it, or write.*/, '')}`,
  )

it('a column that nobody reads, though it says something of a value, is told', () => {
  const wide =
    'biometrics: { glucose: { from: glucose, ignore: [glucose sign] }, hba1c: a1c, bmi: { firstOf: [b, c] } }'
  const columns = [
    'glucose flag',
    'glucose sign',
    'c flag',
    'flag',
    'comment',
    'time zone',
    'Sex',
    'unit system',
  ]
  expect(unread(wide, columns)).toEqual([
    'null: the column "flag" is not read, though by its name it is a flag on values of the row',
    'null: the column "time zone" is not read, though by its name it is a part of the time',
    'null: the column "unit system" is not read, though by its name it is the system of units',
    'glucose: the column "glucose flag" is not read, though by its name it belongs to this value',
    'bmi: the column "c flag" is not read, though by its name it belongs to this value',
  ])
  const long = 'biometrics:\n  - { code: { from: c, system: LOINC }, value: v, unit: u }'
  expect(unread(long, ['comment', 'relationship', 'v flag'])).toEqual([
    'null: the column "comment" is not read, though by its name it is a remark on the value',
    'null: the column "relationship" is not read, though by its name it separates people of one reference',
  ])
  // Without values, a flag says nothing of any.
  expect(
    unread('conditions: { asthma: { when: { a: Y }, status: active } }', ['flag', 'time zone']),
  ).toHaveLength(1)
})

it('a message says what to write, of a rule or of the row', () => {
  const messages = (...columns: string[]) =>
    unreadBeside(load(`${HEAD}biometrics: { glucose: glucose }`).definition, columns, names).map(
      (one) => one.message,
    )
  expect(messages('glucose flag', 'flag')).toEqual([
    expect.stringMatching(/: read it, or write ignore: \["flag"\] under row$/),
    expect.stringMatching(/: read it, or write ignore: \["glucose flag"\]$/),
  ])
})

it('a column that the mapping ignores is not told', () => {
  const head = HEAD.replace('row: {', 'row: { ignore: [flag, glucose flag],')
  const rules = 'biometrics: { glucose: glucose }'
  expect(unread(rules, ['flag', 'glucose flag'], head)).toEqual([])
  expect(unread(rules, ['flag', 'glucose flag'])).toHaveLength(2)
})

it('paths of JSON have no such names', () => {
  const json = HEAD.replace('format: csv', 'format: ndjson')
    .replace('key: [id]', 'key: [$.id]')
    .replace('reference: id', 'reference: $.id')
    .replace('from: at', 'from: $.at')
  const rules = 'biometrics: { hba1c: $.ldl }'
  expect(doubts(rules, json)).toEqual([])
  expect(unread(rules, ['flag'], json)).toEqual([])
})
