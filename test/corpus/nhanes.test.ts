import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createWorkplace, summaryOf } from '../cli/command-line.ts'
import { startReferenceStore } from '../cli/reference-store.ts'
import { readRejects } from '../cli/run-outputs.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { corpusPath, readPlainCsv, storedConditions, storedMeasurements } from './corpus-file.ts'

/** Cholesterol weighs 386.65 g/mol: 1 mmol/L is 386.65 mg/L, or 38.665 mg/dL. In thousandths, to count in whole numbers. */
const CHOLESTEROL_THOUSANDTHS = 38_665
const asItStands = (cell: string): number => Number(cell)
/** Cells of at most two decimals, in mmol/L, as whole mg/dL. */
const cholesterol = (cell: string): number =>
  Math.round((Math.round(Number(cell) * 100) * CHOLESTEROL_THOUSANDTHS) / 100_000)

/** Column → LOINC, unit and plausible range of the catalog, and the value that is to be stored. */
const MEASUREMENTS = {
  Weight: { rule: 'body-weight', code: '29463-7', unit: 'kg', range: [0.5, 450], value: asItStands },
  Height: { rule: 'body-height', code: '8302-2', unit: 'cm', range: [30, 260], value: asItStands },
  BMI: { rule: 'bmi', code: '39156-5', unit: 'kg/m2', range: [7, 130], value: asItStands },
  Pulse: { rule: 'heart-rate', code: '8867-4', unit: '/min', range: [20, 300], value: asItStands },
  BPSys: { rule: 'systolic-bp', code: '8480-6', unit: 'mm[Hg]', range: [40, 320], value: asItStands },
  BPDia: { rule: 'diastolic-bp', code: '8462-4', unit: 'mm[Hg]', range: [10, 220], value: asItStands },
  Testosterone: { rule: 'testosterone', code: '2986-8', unit: 'ng/dL', range: [0, 3000], value: asItStands },
  HDLChol: { rule: 'hdl-cholesterol', code: '2085-9', unit: 'mg/dL', range: [3, 250], value: cholesterol },
  TotChol: {
    rule: 'total-cholesterol',
    code: '2093-3',
    unit: 'mg/dL',
    range: [30, 1500],
    value: cholesterol,
  },
} as const
const COLUMNS = Object.keys(MEASUREMENTS) as (keyof typeof MEASUREMENTS)[]

const DAY = '2012-12-31T00:00:00.000Z'

describe('NHANES 2011-2012, 5,000 rows of 3,211 people', NEEDS_CORPUS, () => {
  test('what the gateway stored is what the file says, converted; told apart from what was repeated and implausible', async () => {
    const file = corpusPath('population/nhanes-bioconnector/nhanes.csv')
    const source = readPlainCsv(file, ['id', 'Diabetes', ...COLUMNS])
    const measured: string[] = []
    const implausible: string[] = []
    const diagnosed: string[] = []
    for (const [at, row] of source.entries()) {
      for (const column of COLUMNS) {
        if (row[column] === 'NA' || row[column] === '') continue
        const { rule, code, unit, range, value } = MEASUREMENTS[column]
        const stored = value(row[column])
        if (stored < range[0] || stored > range[1]) {
          implausible.push([at + 1, at + 2, rule, 'value-out-of-range', row[column]].join(' '))
        } else measured.push([row.id, code, DAY, stored, unit].join(' '))
      }
      if (row.Diabetes === 'Yes')
        diagnosed.push([row.id, 'E11.9', '73211009', Date.parse(DAY), 'active'].join(' '))
    }
    const once = { measured: [...new Set(measured)].sort(), diagnosed: [...new Set(diagnosed)].sort() }
    expect(once.measured.length).toBeGreaterThan(15_000)
    expect(measured.length).toBeGreaterThan(once.measured.length)
    expect(implausible.length).toBeGreaterThan(0)

    const store = await startReferenceStore({ open: true })
    const workplace = await createWorkplace(store.environment)
    await workplace.job(
      'survey',
      `exports: { from: ${dirname(file)}, match: nhanes.csv, mapping: nhanes }\naccounts: { register: never }\n`,
    )
    const ended = await workplace.waybill('run', 'survey', '--json')
    const summary = summaryOf(ended)

    expect(ended.code).toBe(1)
    expect(summary).toMatchObject({
      state: 'finished',
      balanced: true,
      rows: { read: source.length, mapped: source.length, skipped: 0, rejected: 0 },
    })
    expect(summary.records.biometric).toEqual({
      made: measured.length + implausible.length,
      accepted: once.measured.length,
      unchanged: measured.length - once.measured.length,
      rejected: implausible.length,
      inDoubt: 0,
      pending: 0,
    })
    expect(summary.records.condition).toEqual({
      made: diagnosed.length,
      accepted: once.diagnosed.length,
      unchanged: diagnosed.length - once.diagnosed.length,
      rejected: 0,
      inDoubt: 0,
      pending: 0,
    })
    expect(await storedMeasurements(store)).toEqual(once.measured)
    expect(await storedConditions(store)).toEqual(once.diagnosed)

    const rejects = await readRejects(summary.exports[0]?.rejects ?? '')
    const columnOf = new Map<string, string>(COLUMNS.map((column) => [MEASUREMENTS[column].rule, column]))
    const listed = rejects.map((reject) =>
      [reject._row, reject._line, reject._rule, reject._code, reject[columnOf.get(reject._rule) ?? '']].join(
        ' ',
      ),
    )
    expect(listed.sort()).toEqual(implausible.sort())

    const again = summaryOf(await workplace.waybill('run', 'survey', '--json'))
    expect(again).toMatchObject({ balanced: true, requests: { sent: 0 } })
    expect(again.records.biometric).toMatchObject({ accepted: 0, unchanged: measured.length })
    expect(again.records.condition).toMatchObject({ accepted: 0, unchanged: diagnosed.length })
  })
})
