import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { createWorkplace, PROJECT, type Summary, summaryOf } from '../cli/command-line.ts'
import { startReferenceStore } from '../cli/reference-store.ts'
import { readRejects } from '../cli/run-outputs.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { corpusPath, readPlainCsv, storedConditions, storedMeasurements, tally } from './corpus-file.ts'

/**
 * Where the export's unit is written otherwise than the catalog's: what its value is divided by. The area that
 * 33914-3 refers to is part of its name, so leaving it out of the unit changes no number.
 */
const DIVISORS: Readonly<Record<string, number>> = {
  'g/L g/dL': 10,
  'mL/min mL/min/{1.73_m2}': 1,
}

const readCatalog = <Entry extends z.ZodType>(name: string, entry: Entry): z.infer<Entry>[] =>
  Object.values(
    z.record(z.string(), entry).parse(parse(readFileSync(join(PROJECT, 'mappings/catalog', name), 'utf8'))),
  )

async function runTwice(file: string, mapping: string) {
  const store = await startReferenceStore({ open: true })
  const workplace = await createWorkplace(store.environment)
  await workplace.job(
    'clinic',
    `exports: { from: ${dirname(file)}, match: "*", mapping: ${mapping} }\naccounts: { register: never }\n`,
  )
  const run = async (): Promise<Summary> =>
    summaryOf(await workplace.waybill('run', 'clinic', '--file', file, '--json'))
  return { store, first: await run(), second: await run() }
}

describe('Synthea, 28 patients', NEEDS_CORPUS, () => {
  test('every observation with a code of the catalog is stored with its value, unit and instant', async () => {
    const file = corpusPath('synthea/csv-ohdsi-28pat/observations.csv')
    const Entry = z.object({
      loinc: z.string(),
      unit: z.string(),
      range: z.tuple([z.number(), z.number()]),
      decimals: z.int(),
    })
    const catalog = new Map(readCatalog('biometrics.yaml', Entry).map((entry) => [entry.loinc, entry]))
    const source = readPlainCsv(file, ['DATE', 'PATIENT', 'CODE', 'VALUE', 'UNITS', 'TYPE'])
    const counts = { answers: 0, unmatched: 0 }
    const measured: string[] = []
    const refused: string[] = []
    for (const [at, row] of source.entries()) {
      if (row.TYPE === 'text') {
        counts.answers++
        continue
      }
      const entry = catalog.get(row.CODE)
      if (entry === undefined) {
        counts.unmatched++
        continue
      }
      const divisor = row.UNITS === entry.unit ? 1 : DIVISORS[`${row.UNITS} ${entry.unit}`]
      if (divisor === undefined)
        throw new Error(`line ${at + 2}: no arithmetic for ${row.UNITS} in ${entry.unit}`)
      const plain = Number(row.VALUE) / divisor
      const value = divisor === 1 ? plain : Number(plain.toFixed(entry.decimals))
      if (value < entry.range[0] || value > entry.range[1]) refused.push(`${at + 2} value-out-of-range`)
      else measured.push([row.PATIENT, row.CODE, row.DATE.replace('Z', '.000Z'), value, entry.unit].join(' '))
    }
    expect(measured.length).toBeGreaterThan(400)
    const once = [...new Set(measured)].sort()

    const { store, first, second } = await runTwice(file, 'synthea-observations')
    expect(first).toMatchObject({
      balanced: true,
      rows: { read: source.length, rejected: 0, skipped: counts.answers + counts.unmatched },
    })
    expect(first.records.biometric).toEqual({
      made: measured.length + refused.length,
      accepted: once.length,
      unchanged: measured.length - once.length,
      rejected: refused.length,
      inDoubt: 0,
      pending: 0,
    })
    expect(await storedMeasurements(store)).toEqual(once)
    const rejects = first.exports[0]?.rejects
    const listed = rejects === undefined ? [] : await readRejects(rejects)
    expect(listed.map(({ _line, _code }) => `${_line} ${_code}`)).toEqual(refused)
    expect(second).toMatchObject({ balanced: true, requests: { sent: 0 } })
    expect(second.records.biometric).toMatchObject({ accepted: 0, unchanged: measured.length })
  })

  test('every condition with a code of the catalog is stored, dated midnight in the patients’ zone; social findings are skipped', async () => {
    const file = corpusPath('synthea/csv-ohdsi-28pat/conditions.csv')
    const Entry = z.object({
      icd10: z.string(),
      snomed: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
    })
    const codes = new Map(
      readCatalog('conditions.yaml', Entry).flatMap(({ icd10, snomed }) =>
        snomed.map((code) => [code, `${icd10} ${snomed[0]}`] as const),
      ),
    )
    const source = readPlainCsv(file, ['START', 'STOP', 'PATIENT', 'ENCOUNTER', 'CODE'])
    // The export was made by a program that took codes for doubles: 10939881000119105 has lost its last digit.
    const rounded = source.filter(({ CODE }) => CODE === String(Number('10939881000119105')))
    expect(rounded.length).toBeGreaterThan(0)
    const diagnosed: { readonly key: string; readonly stored: string }[] = []
    for (const { START, STOP, PATIENT, ENCOUNTER, CODE } of source) {
      const known = codes.get(CODE)
      if (known === undefined) continue
      const stored = [PATIENT, known, newYorkMidnight(START), STOP === '' ? 'active' : 'resolved'].join(' ')
      diagnosed.push({ key: `${ENCOUNTER} ${CODE}`, stored })
    }
    const expected = [...new Map(diagnosed.map((one) => [`${one.key} ${one.stored}`, one.stored])).values()]
    expect(diagnosed.length).toBeGreaterThan(80)
    const offsets = tally(diagnosed.map(({ stored }) => `${(Number(stored.split(' ')[3]) / 3_600_000) % 24}`))
    expect([...offsets.keys()].sort()).toEqual(['4', '5'])

    const { store, first, second } = await runTwice(file, 'synthea-conditions')
    expect(first).toMatchObject({
      balanced: true,
      rows: {
        read: source.length,
        rejected: 0,
        mapped: diagnosed.length + rounded.length,
        skipped: source.length - diagnosed.length - rounded.length,
      },
    })
    expect(first.records.condition).toEqual({
      made: diagnosed.length + rounded.length,
      accepted: expected.length,
      unchanged: diagnosed.length - expected.length,
      rejected: rounded.length,
      inDoubt: 0,
      pending: 0,
    })
    expect(await storedConditions(store)).toEqual(expected.sort())
    expect(second).toMatchObject({ balanced: true, requests: { sent: 0 } })
    expect(second.records.condition).toMatchObject({ accepted: 0, unchanged: diagnosed.length })
  })
})

const NEW_YORK = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'America/New_York',
  dateStyle: 'short',
  timeStyle: 'medium',
})

/** Epoch milliseconds of the day's first instant, 4 or 5 hours after that of UTC. */
function newYorkMidnight(day: string): number {
  const found = [4, 5]
    .map((hours) => Date.parse(`${day}T00:00:00Z`) + hours * 3_600_000)
    .find((at) => NEW_YORK.format(at) === `${day} 00:00:00`)
  if (found === undefined) throw new Error(`no midnight of ${day}`)
  return found
}
