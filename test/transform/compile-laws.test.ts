import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { MappedRow, RowOutcome } from '../../src/model/entry.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { readReference } from '../../src/transform/references.ts'
import { CORPUS, NEEDS_CORPUS } from '../needed.ts'
import { load, mapped, ORIGIN, ROOT, wire } from './mapping-under-test.ts'

const shippedMapping = (name: string): string => readFileSync(join(ROOT, 'mappings', `${name}.yaml`), 'utf8')

/** Exactly one outcome; every record of it fits the contract and says what the row says. */
function checkOutcome(outcome: RowOutcome): MappedRow | undefined {
  expect(outcome).toMatchObject(ORIGIN)
  expect(['mapped', 'skipped', 'rejected']).toContain(outcome.outcome)
  if (outcome.outcome !== 'mapped') return undefined
  const row = mapped(outcome)
  row.register()
  const rules = [...row.records, ...row.rejected].map(({ rule }) => rule)
  expect(new Set(rules).size).toBe(rules.length)
  for (const record of row.records) {
    const body = wire(record)
    expect(body['account']).toEqual(row.account)
    expect(body).toMatchObject({ source: { meta: { resourceKey: row.key.toWellFormed() } } })
    expect(
      new Date(z.union([z.string().regex(/T/), z.coerce.number()]).parse(body['observationDate'])).getTime(),
    ).toBe(record.observedAt)
    if (record.kind === 'biometric') {
      expect(body['value']).toBe(Number(record.evidence.value))
      expect(body['unit']).toBe(record.evidence.unit)
      expect(record.evidence.codes).toEqual([body['code']])
    }
  }
  return row
}

const NAUGHTY_FILE = join(CORPUS ?? '', 'json-datetime/blns/blns.json')
const naughty =
  CORPUS !== undefined && existsSync(NAUGHTY_FILE)
    ? z.array(z.string()).parse(JSON.parse(readFileSync(NAUGHTY_FILE, 'utf8')))
    : []

const ACME =
  'participant_id,first_name,last_name,dob,gender,zip,screened_at,no_show,fasting,sbp,dbp,pulse,height_in,weight_lb,bmi,waist_in,tc,hdl,ldl,trig,glucose,a1c,tobacco,dx_diabetes,dx_hypertension,dx_asthma,pcp_name,pcp_npi,pcp_phone'.split(
    ',',
  )
const plausible = fc.constantFrom(
  ...['P1', '02/04/2026 09:10', '2026-02-04 09:10', '120', '5.10', '70', '.5', '<5', 'Y', 'N', '1'],
  ...['F', '1980-05-01', '1234567893', 'ND', ''],
)
const cell = fc.oneof(
  { weight: 6, arbitrary: plausible },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)
const text = fc.oneof(
  plausible,
  fc.constantFrom('NL-CHOL', 'NL-A1C', 'mg/dL', 'mmol/L', '%', '20260223', 'F', 'P'),
  fc.string({ unit: 'binary' }),
)

describe('laws', () => {
  it('any CSV row has exactly one outcome; what is made of it fits the contract and equals the source', () => {
    const map = load(shippedMapping('acme-onsite')).compiled.bind(ACME, 'x', Number.POSITIVE_INFINITY)
    let made = 0
    fc.assert(
      fc.property(
        fc.tuple(
          ...ACME.map((name) =>
            name === 'participant_id'
              ? text
              : name === 'screened_at'
                ? fc.constantFrom('02/04/2026 09:10', 'x')
                : name === 'no_show'
                  ? fc.constantFrom('Y', 'N')
                  : cell,
          ),
        ),
        (cells) => {
          const row = checkOutcome(map({ ...ORIGIN, kind: 'cells', cells }))
          for (const record of row?.records ?? []) {
            made++
            const sources = { hba1c: 'a1c', 'systolic-bp': 'sbp', bmi: 'bmi' }
            const source = Object.entries(sources).find(([rule]) => rule === record.rule)?.[1]
            if (source !== undefined)
              expect(Number(record.evidence.value)).toBe(Number(cells[ACME.indexOf(source)]))
            if (record.rule === 'body-weight') {
              expect(
                Math.abs(
                  Number(record.evidence.value) - Number(cells[ACME.indexOf('weight_lb')]) * 0.45359237,
                ),
              ).toBeLessThanOrEqual(0.05 + 1e-9)
            }
          }
        },
      ),
      { numRuns: 300 },
    )
    expect(made).toBeGreaterThan(0)
  })

  const part = (name: string, value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonValue> =>
    value.map((inner) => ({ [`${name}.1`]: inner }))
  const anything: fc.Arbitrary<JsonValue> = fc.oneof(
    { weight: 5, arbitrary: text },
    { weight: 1, arbitrary: fc.constantFrom<JsonValue>(null, true, [], {}, ['x'], { a: { b: null } }) },
  )

  const mostly = (good: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonValue> =>
    fc.oneof({ weight: 8, arbitrary: good }, { weight: 1, arbitrary: anything })

  it('any JSON row has exactly one outcome; what is made of it fits the contract', () => {
    const map = load(shippedMapping('northlab-oru')).compiled.bind(undefined, 'x', Number.POSITIVE_INFINITY)
    let made = 0
    const segment = fc.record({
      'OBX.3': part('OBX.3', mostly(fc.constant('NL-CHOL'))),
      'OBX.5': part('OBX.5', mostly(fc.constantFrom('190', '5.10'))),
      'OBX.6': part('OBX.6', mostly(fc.constantFrom('mg/dL', 'mmol/L'))),
      'OBX.11': part('OBX.11', mostly(fc.constant('F'))),
    })
    const message = fc.record({
      PID: fc.record({ 'PID.3': part('PID.3', mostly(fc.constant('P1'))) }),
      OBR: fc.record({
        'OBR.3': part('OBR.3', anything),
        'OBR.7': part('OBR.7', mostly(fc.constant('20260223'))),
      }),
      OBX: fc.oneof(segment, fc.array(fc.oneof(segment, anything), { maxLength: 4 }), anything),
    })
    fc.assert(
      fc.property(
        fc.oneof(
          { weight: 9, arbitrary: message.map((HL7Message): JsonValue => ({ HL7Message })) },
          { weight: 1, arbitrary: anything },
        ),
        (value) => {
          made += checkOutcome(map({ ...ORIGIN, kind: 'json', value, text: '' }))?.records.length ?? 0
        },
      ),
      { numRuns: 400 },
    )
    expect(made).toBeGreaterThan(0)
  })

  /** Every form of the language at once, so that whatever a cell holds meets it. */
  const ALL_FORMS = `
mapping: all-forms
read: { format: csv }
row:
  key: [{ concat: [a, b], separator: "/" }]
  account: { reference: { constant: P1 } }
  observedAt:
    { firstOf: [c, { constant: 2026-02-04 }], format: [HL7, ISO, EXCEL, dd.MM.yyyy], zone: { firstOf: [d, { constant: UTC }], table: { UTC: UTC, NY: America/New_York } }, skipped: forward, doubled: later, partial: start }
  source: { name: S, type: t }
  emptyWhen: [ND, '""']
  number: { decimal: ",", group: "." }
  comparators: limit
biometrics:
  body-height: { from: a, form: feet-and-inches }
  glucose: { from: a, unit: { firstOf: [{ from: b, split: { by: "^", take: 2 } }, b, { constant: mmol/L }] }, refRange: c }
  bmi: { from: a, extract: "([0-9,]+)", when: { any: [{ b: { matches: "[a-z]" } }, { not: { c: { ">=": 5 } } }, { d: { "<": 2026-01-01, format: HL7 } }] } }
  ferritin: { from: a, number: { decimal: "." }, comparators: skip, refRange: { from: c, case: upper } }
conditions:
  asthma: { when: { b: { in: [Y, F] } }, status: { concat: [a, d], separator: " " } }
`
  const FORMS = ['a', 'b', 'c', 'd']
  const formed = fc.oneof(
    cell,
    fc.constantFrom(
      `5'11"`,
      '5-11',
      '<5,5',
      '1.234,5',
      '70-99',
      '<200 mg/dL',
      'CD:289^mg/dL',
      '46057',
      '2026',
      'NY',
    ),
  )

  it('any row under every form of the language has exactly one outcome; what is made of it fits the contract', () => {
    const map = load(ALL_FORMS).compiled.bind(FORMS, 'x', Number.POSITIVE_INFINITY)
    let made = 0
    fc.assert(
      fc.property(fc.tuple(formed, formed, formed, formed), (cells) => {
        made += checkOutcome(map({ ...ORIGIN, kind: 'cells', cells }))?.records.length ?? 0
      }),
      { numRuns: 1000 },
    )
    expect(made).toBeGreaterThan(0)
  })

  describe('the big list of naughty strings', NEEDS_CORPUS, () => {
    it('under every form of the language', () => {
      const map = load(ALL_FORMS).compiled.bind(FORMS, 'x', Number.POSITIVE_INFINITY)
      for (const string of naughty) {
        checkOutcome(map({ ...ORIGIN, kind: 'cells', cells: FORMS.map(() => string) }))
        for (const at of FORMS.keys()) {
          const cells = ['5', 'mmol/L', '2026-02-04', 'UTC'].map((good, column) =>
            column === at ? string : good,
          )
          checkOutcome(map({ ...ORIGIN, kind: 'cells', cells }))
        }
      }
    })

    it('in any column', () => {
      const map = load(shippedMapping('acme-onsite')).compiled.bind(ACME, 'x', Number.POSITIVE_INFINITY)
      const good: Record<string, string> = {
        participant_id: 'P1',
        screened_at: '02/04/2026 09:10',
        a1c: '5.1',
        pcp_npi: '1234567893',
        pcp_name: 'N',
        tobacco: 'Y',
      }
      for (const string of naughty) {
        // Everywhere but in what the row is told apart by, so that every rule sees it.
        const everywhere = ACME.map((name) =>
          /^(participant_id|screened_at|fasting)$/.test(name) ? (good[name] ?? '') : string,
        )
        checkOutcome(map({ ...ORIGIN, kind: 'cells', cells: everywhere }))
        const row = checkOutcome(
          map({
            ...ORIGIN,
            kind: 'cells',
            cells: ACME.map((name) => (name === 'participant_id' ? string : (good[name] ?? ''))),
          }),
        )
        // A reference that is none, or was damaged, could be anybody's.
        if (string.trim() !== '' && 'reference' in readReference(string.trim()))
          expect(row?.records, string).toHaveLength(3)
      }
    })
  })
})
