import { describe, expect, it } from 'vitest'
import { parseYaml } from '../../src/system/yaml-file.ts'
import {
  BiometricCatalog,
  CatalogExtension,
  createCatalog,
  extendCatalog,
} from '../../src/transform/catalog.ts'
import { createUnits } from '../../src/transform/units.ts'
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
      ['conditions.gout: is not in the catalog, so it must be whole: it lacks icd10, snomed or codes'],
    ],
    ['biometrics: { heart-rate: { unit: bpm } }', ['biometrics.heart-rate.unit: "bpm" is no UCUM code']],
    [
      `biometrics: { my-marker: ${MARKER.replace('2823-3', '8867-4')} }`,
      ['biometrics.my-marker.loinc: is already the code of "heart-rate": one LOINC, one key'],
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

describe('codes of other systems', () => {
  const CATALOG = `catalog:
  biometrics:
    heart-rate: { codes: [{ code: "364075005", system: SNOMED, name: Pulse }, { code: H-1, system: House, oid: 1.2.3 }] }
  conditions:
    
    deafness: { name: Deafness, snomed: "15188001" }
    tinnitus: { name: Tinnitus, icd10: H93.19, codes: [{ code: H03, system: ICPC-2, oid: 2.16.840.1.113883.6.139 }] }
    tiredness: { name: Tiredness, codes: [{ code: A04, system: ICPC-2, oid: 2.16.840.1.113883.6.139 }] }
`
  const map = csvMapper(
    `${HEAD}${CATALOG}biometrics: { heart-rate: pulse }
conditions:
  tinnitus: { when: { dx: Y }, status: active }
  deafness: { when: { dx: Y }, status: active }
  tiredness: { when: { dx: Y }, status: active }
`,
    ['id', 'at', 'pulse', 'dx'],
  )
  const outcome = map({ id: '1', at: '2026-02-04', pulse: '61', dx: 'Y' })
  const icd10 = { codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM' }
  const snomed = { codeSystem: '2.16.840.1.113883.6.96', codeSystemName: 'SNOMED CT' }

  it('are sent behind those that the catalog knows, and a condition needs one code of any', () => {
    expect(wires(outcome).map(({ codes }) => codes)).toEqual([
      [
        expect.objectContaining({ code: '8867-4', codeSystemName: 'LOINC' }),
        { code: '364075005', ...snomed, name: 'Pulse' },
        { code: 'H-1', codeSystem: '1.2.3', codeSystemName: 'House', name: 'Heart rate' },
      ],
      [
        { code: 'H93.19', ...icd10, name: 'Tinnitus' },
        { code: 'H03', codeSystem: '2.16.840.1.113883.6.139', codeSystemName: 'ICPC-2', name: 'Tinnitus' },
      ],
      [{ code: '15188001', ...snomed, name: 'Deafness' }],
      [{ code: 'A04', codeSystem: '2.16.840.1.113883.6.139', codeSystemName: 'ICPC-2', name: 'Tiredness' }],
    ])
  })

  it('tell a record only where it has no others: several measurements may share one', () => {
    expect(mapped(outcome).records.map(({ evidence: { codes }, seriesCode }) => [codes, seriesCode])).toEqual(
      [
        [['8867-4'], '8867-4'],
        [['H93.19'], 'H93.19'],
        [['15188001'], '15188001'],
        [['A04'], 'A04'],
      ],
    )
  })

  it.each([
    ['{ icd10: J45.909, codes: [] }', 'empty list'],
    ['{ name: X }', 'lacks icd10, snomed or codes'],
    ['{ name: X, codes: [{ code: X, system: ICPC-2 }] }', 'the identifier of the code system'],
    ['{ name: X, codes: [{ code: "44054007", system: SNOMED }] }', 'check digit'],
    ['{ name: X, codes: [{ code: "44054006", system: SNOMED, oid: 1.2.3 }] }', 'leave it out'],
  ])('of %s are refused', (entry, message) => {
    const text = `${HEAD}catalog: { conditions: { mine: ${entry} } }\nbiometrics: { heart-rate: pulse }\n`
    expect(
      refusalOf(() => load(text))
        .findings.map((one) => one.message)
        .join(),
    ).toContain(message)
  })

  it('of a condition with no others are those of one key', () => {
    const twice = CATALOG.replace(
      'tinnitus:',
      'weary: { name: W, codes: [{ code: A04, system: ICPC-2, oid: "1" }] }\n    tinnitus:',
    )
    expect(refusalOf(() => load(`${HEAD}${twice}biometrics: { heart-rate: pulse }\n`)).findings).toHaveLength(
      2,
    )
  })
})
