import { describe, expect, it } from 'vitest'
import {
  BiometricCatalog,
  CatalogExtension,
  createCatalog,
  extendCatalog,
} from '../../src/transform/catalog.ts'
import { createUnits } from '../../src/transform/units.ts'
import { parseYaml } from '../../src/yaml-file.ts'
import { csvMapper, faults, HEAD, load, mapped, refusalOf, wires } from './mapping-under-test.ts'

const SHIPPED = createCatalog(
  {
    'heart-rate': { name: 'Heart rate', loinc: '8867-4', unit: '/min', range: [20, 300], decimals: 0 },
    glucose: { name: 'Glucose', loinc: '2345-7', unit: 'mg/dL', range: [10, 2000], decimals: 0 },
  },
  { asthma: { name: 'Asthma', icd10: 'J45.909', icd9: ['493.90'], snomed: ['195967001', '233678006'] } },
)

const MARKER = '{ name: My marker, loinc: 2823-3, unit: mmol/L, range: [1, 12], decimals: 1 }'

function extended(text: string) {
  const { value } = parseYaml(text, 'x.yaml', CatalogExtension, 'catalog-invalid')
  const problems: string[] = []
  const catalog = extendCatalog(SHIPPED, value, createUnits(new Map()), (path, message) =>
    problems.push(`${path.join('.')}: ${message}`),
  )
  return { catalog, problems }
}

describe('codes', () => {
  it('lead to their entry: several LOINC numbers, and ICD-10-CM codes without the point', () => {
    const glucose = {
      name: 'Glucose',
      loinc: '2345-7',
      alsoLoinc: { '14749-6': 'mmol/L' },
      unit: 'mg/dL',
      range: [10, 2000],
      decimals: 0,
    }
    const catalog = createCatalog(BiometricCatalog.parse({ glucose }), Object.fromEntries(SHIPPED.conditions))
    expect(['2345-7', '14749-6', '2339-0'].map((code) => catalog.keyOf('LOINC', code))).toEqual([
      'glucose',
      'glucose',
      undefined,
    ])
    expect(['J45.909', 'J45909', 'J45'].map((code) => catalog.keyOf('ICD-10-CM', code))).toEqual([
      'asthma',
      'asthma',
      undefined,
    ])
  })

  it('of ICD-9-CM lead to their entry, with the point and without', () => {
    const { keyOf } = load(`${HEAD}conditions: [{ code: { from: dx, system: ICD-9-CM }, status: active }]`)
      .resources.catalog
    expect(
      ['250.00', '25000', '401.1', '496', 'V12.53', 'V1253', '250', '2500'].map((code) =>
        keyOf('ICD-9-CM', code),
      ),
    ).toEqual([
      ...['type-2-diabetes', 'type-2-diabetes', 'hypertension', 'copd'],
      ...['history-of-cardiac-arrest', 'history-of-cardiac-arrest', undefined, undefined],
    ])
  })
})

describe('an extension of the catalog', () => {
  it('adds entries that are whole, found by their codes', () => {
    const { catalog, problems } = extended(`
biometrics: { my-marker: ${MARKER} }
conditions: { gout: { name: Gout, icd10: M10.9, snomed: "90560007" } }`)
    expect(problems).toEqual([])
    expect(catalog.biometrics.get('my-marker')).toMatchObject({ loinc: '2823-3' })
    expect(catalog.keyOf('LOINC', '2823-3')).toBe('my-marker')
    expect(catalog.keyOf('SNOMED', '90560007')).toBe('gout')
    expect(catalog.keyOf('LOINC', '8867-4')).toBe('heart-rate')
  })

  it('changes some fields of an entry, and leaves the others, and the catalog that it is laid over', () => {
    const { catalog } = extended(`
biometrics: { heart-rate: { range: [30, 250] }, glucose: { molarMass: 180.16 } }
conditions: { asthma: { snomed: "195967001" } }`)
    expect(catalog.biometrics.get('heart-rate')).toEqual({
      name: 'Heart rate',
      loinc: '8867-4',
      unit: '/min',
      range: [30, 250],
      decimals: 0,
    })
    expect(catalog.biometrics.get('glucose')).toMatchObject({ molarMass: 180.16, range: [10, 2000] })
    expect(catalog.keyOf('SNOMED', '233678006')).toBeUndefined()
    expect(SHIPPED.biometrics.get('heart-rate')?.range).toEqual([20, 300])
    expect(SHIPPED.keyOf('SNOMED', '233678006')).toBe('asthma')
  })

  it('may take over a code that its owner gives up', () => {
    const { catalog, problems } = extended(`
biometrics:
  glucose: { loinc: 2339-0 }
  glucose-serum: { name: G, loinc: 2345-7, unit: mg/dL, range: [10, 2000], decimals: 0 }`)
    expect(problems).toEqual([])
    expect(catalog.keyOf('LOINC', '2345-7')).toBe('glucose-serum')
    expect(catalog.keyOf('LOINC', '2339-0')).toBe('glucose')
  })

  it.each([
    [
      'biometrics: { my-marker: { loinc: 2823-3, range: [1, 2] } }',
      ['biometrics.my-marker: is not in the catalog, so it must be whole: it lacks name, unit, decimals'],
    ],
    [
      'conditions: { gout: { name: Gout } }',
      ['conditions.gout: is not in the catalog, so it must be whole: it lacks icd10, snomed'],
    ],
    ['biometrics: { heart-rate: { unit: bpm } }', ['biometrics.heart-rate.unit: "bpm" is no UCUM code']],
    [
      `biometrics: { my-marker: ${MARKER.replace('2823-3', '8867-4')} }`,
      ['biometrics.my-marker.loinc: is the code of "heart-rate" already: one LOINC, one key'],
    ],
    [
      'conditions: { wheeze: { name: W, icd10: R06.2, snomed: "233678006" } }',
      ['conditions.wheeze.snomed: has a code of "asthma": one SNOMED CT code, one key'],
    ],
    [
      'conditions: { wheeze: { name: W, icd10: R06.2, icd9: ["493.90"], snomed: "56018004" } }',
      ['conditions.wheeze.icd9: has a code of "asthma": one ICD-9-CM code, one key'],
    ],
    [
      'biometrics: { heart-rate: { unit: bpm }, glucose: { unit: mgs } }',
      ['biometrics.heart-rate.unit: "bpm" is no UCUM code', 'biometrics.glucose.unit: "mgs" is no UCUM code'],
    ],
  ])('%s is refused', (text, expected) => {
    expect(extended(text).problems).toEqual(expected)
  })

  it.each([
    ['biometrics: { heart-rate: { range: [250, 30] } }', 'biometrics.heart-rate.range'],
    ['biometrics: { heart-rate: { loinc: 8867-5 } }', 'biometrics.heart-rate.loinc'],
    ['biometrics: { heart-rate: { decimal: 1 } }', 'biometrics.heart-rate.decimal'],
    ['conditions: { asthma: { snomed: "195967002" } }', 'conditions.asthma.snomed'],
    ['biometric: {}', 'biometric'],
  ])('%s is refused at %s', (text, key) => {
    expect(refusalOf(() => extended(text)).findings).toMatchObject([{ place: { line: 1, key } }])
  })
})

describe('the catalog block of a mapping', () => {
  const mapping = (catalog: string, rules: string): string => `mapping: m
read: { format: csv }
row:
  key: [id]
  account: { reference: id }
  observedAt: { constant: "2026-02-04T00:00:00Z" }
  source: { name: N, type: t }
catalog:
${catalog}
${rules}
`

  it('holds for its rules', () => {
    const map = csvMapper(
      mapping(
        `  biometrics:
    heart-rate: { range: [30, 250] }
    zinc: { name: "Zinc in serum", loinc: 5763-8, unit: ug/dL, range: [10, 500], decimals: 0, molarMass: 65.38 }`,
        'biometrics: { heart-rate: hr, zinc: { from: zn, unit: umol/L } }',
      ),
      ['id', 'hr', 'zn'],
    )
    const outcome = mapped(map({ id: 'P1', hr: '290', zn: '15.3' }))
    expect(faults(outcome)).toEqual(['heart-rate: value-out-of-range hr'])
    expect(wires(outcome)).toMatchObject([
      { name: 'Zinc in serum', code: '5763-8', value: 100, unit: 'ug/dL' },
    ])
  })

  it('is refused with line and key, along with all else that is wrong', () => {
    const error = refusalOf(() =>
      load(
        mapping(
          '  biometrics:\n    zinc: { name: Zinc, loinc: 5763-8 }\n    bmi: { unit: kg/sqm }',
          'biometrics: { heart-rate: h, nothing: n }',
        ),
      ),
    )
    expect(error.code).toBe('mapping-invalid')
    expect(error.findings.map(({ place }) => [place.line, place.key])).toEqual([
      [10, 'catalog.biometrics.zinc'],
      [11, 'catalog.biometrics.bmi.unit'],
      [12, 'biometrics.nothing'],
    ])
  })
})
