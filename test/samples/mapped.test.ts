import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ACME_FAULTS, type Cost, type Fault, NORTHLAB_FAULTS } from '../../samples/dirt.ts'
import { generateSamples, SAMPLE_FILES } from '../../samples/generate.ts'
import { readJob, readMapping } from '../../src/definitions/definition-files.ts'
import { openExport } from '../../src/extract/open-export.ts'
import type { MappedRow, RowOutcome } from '../../src/model/entry.ts'
import { CORPUS, NEEDS_CORPUS } from '../needed.ts'

const ROOT = join(import.meta.dirname, '../..')
const INBOX = join(ROOT, 'samples/inbox')
const FOLDERS = { jobs: join(ROOT, 'jobs'), mappings: join(ROOT, 'mappings') }

/** Every row of an export, mapped as a run maps it. */
async function mapAll(mapping: string, path: string): Promise<RowOutcome[]> {
  const { read, compiled } = await readMapping(FOLDERS, mapping)
  const opened = await openExport(path, read)
  const map = compiled.bind(opened.columns, path, Date.parse('2027-01-01'))
  const outcomes: RowOutcome[] = []
  for await (const rows of opened.rows()) outcomes.push(...rows.map(map))
  return outcomes
}

const isMapped = (outcome: RowOutcome): outcome is MappedRow => outcome.outcome === 'mapped'
const times = (outcomes: readonly RowOutcome[], outcome: RowOutcome['outcome']): number =>
  outcomes.filter((one) => one.outcome === outcome).length

/** Records by catalog key: a rule of a long mapping is the key and an ordinal, here always 1. */
function byKey(rows: readonly MappedRow[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { rule } of rows.flatMap((row) => row.records)) add(counts, rule.replace(/-1$/, ''))
  return counts
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

/** How often faults of one cost stand in the file. */
function sumOf<Name extends string>(
  faults: Record<Name, Fault>,
  counts: Record<Name, number>,
  cost: Cost,
): number {
  const names = Object.keys(faults) as Name[]
  return names.filter((name) => faults[name].cost === cost).reduce((sum, name) => sum + counts[name], 0)
}

let out: string
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'waybill-mapped-'))
})
afterAll(() => rm(out, { recursive: true }))

describe('the shipped job and mappings', () => {
  it('read the folder of the samples', async () => {
    const job = await readJob(FOLDERS, 'nightly-screenings')
    expect(job.sources.map(({ from, mapping }) => ({ from, mapping }))).toEqual([
      { from: INBOX, mapping: 'acme-onsite' },
      { from: INBOX, mapping: 'northlab-oru' },
    ])
  })

  it('make of the wide sample what the generator counted', async () => {
    const { acme } = await generateSamples({ out })
    const outcomes = await mapAll('acme-onsite', join(INBOX, SAMPLE_FILES.acme))
    const mapped = outcomes.filter(isMapped)
    expect(outcomes.length).toBe(acme.rows)
    expect(times(outcomes, 'skipped')).toBe(acme.noShows)
    expect(times(outcomes, 'rejected')).toBe(sumOf(ACME_FAULTS, acme.faults, 'row'))

    const seen = new Map<string, MappedRow>()
    for (const row of mapped) if (!seen.has(row.key)) seen.set(row.key, row)
    const first = [...seen.values()]
    expect(mapped.length - first.length).toBe(sumOf(ACME_FAULTS, acme.faults, 'repeat'))
    const refused = first.filter((row) => row.register()?.ok === false)
    expect(refused.length).toBe(acme.faults['birth-date-missing'])
    expect(refused.flatMap((row) => row.records).length).toBe(acme.recordsWithoutAccount)
    expect(byKey(first.filter((row) => row.register()?.ok === true))).toEqual(acme.records)
    expect(first.flatMap((row) => row.rejected).length).toBe(sumOf(ACME_FAULTS, acme.faults, 'record'))

    const contents = new Map(first.map((row) => [row.key, row.records.map((record) => record.text)]))
    const again = mapped.filter((row) => seen.get(row.key) !== row)
    const fresh = again.flatMap((row) =>
      row.records.filter((record) => !contents.get(row.key)?.includes(record.text)),
    )
    expect(fresh.map((record) => record.rule)).toEqual(
      Array(acme.faults['row-corrected']).fill('systolic-bp'),
    )
  })

  it('make of the nested sample what the generator counted', async () => {
    const { northlab } = await generateSamples({ out })
    if (northlab === undefined) throw new Error('the generator made no messages')
    const outcomes = await mapAll('northlab-oru', join(INBOX, SAMPLE_FILES.northlab))
    const mapped = outcomes.filter(isMapped)
    expect(outcomes.length).toBe(northlab.messages)
    expect(times(outcomes, 'rejected')).toBe(sumOf(NORTHLAB_FAULTS, northlab.faults, 'row'))
    expect(byKey(mapped)).toEqual(northlab.records)
    expect(mapped.flatMap((row) => row.rejected).length).toBe(
      sumOf(NORTHLAB_FAULTS, northlab.faults, 'record'),
    )
    expect(mapped.every((row) => row.register()?.ok)).toBe(true)
  })
})

describe('the mappings of real exports', NEEDS_CORPUS, () => {
  const corpus = (path: string): string => join(CORPUS ?? '', path)
  const cellsOf = (path: string): Record<string, string>[] =>
    z.array(z.record(z.string(), z.string())).parse(parse(readFileSync(path), { columns: true }))
  const issues = (outcomes: readonly RowOutcome[]): string[] =>
    outcomes.filter(isMapped).flatMap((row) => row.rejected.map(({ rule, issue }) => `${rule} ${issue.code}`))

  it('map NHANES, but for diastolic pressures of 0', async () => {
    const path = corpus('population/nhanes-bioconnector/nhanes.csv')
    const rows = cellsOf(path)
    const outcomes = await mapAll('nhanes', path)
    const measured = (column: string): number => rows.filter((row) => row[column] !== 'NA').length
    const zeros = rows.filter((row) => row['BPDia'] === '0').length
    expect(byKey(outcomes.filter(isMapped))).toEqual({
      'body-weight': measured('Weight'),
      'body-height': measured('Height'),
      bmi: measured('BMI'),
      'heart-rate': measured('Pulse'),
      'systolic-bp': measured('BPSys'),
      'diastolic-bp': measured('BPDia') - zeros,
      testosterone: measured('Testosterone'),
      'hdl-cholesterol': measured('HDLChol'),
      'total-cholesterol': measured('TotChol'),
      diabetes: rows.filter((row) => row['Diabetes'] === 'Yes').length,
    })
    expect(issues(outcomes)).toEqual(Array(zeros).fill('diastolic-bp value-out-of-range'))
  })

  it('map observations of Synthea, but for proteins whose unit is wrong', async () => {
    const path = corpus('synthea/csv-ohdsi-28pat/observations.csv')
    // Not for the catalog: quality-adjusted life years, specific IgE, size of the household and of a polyp.
    const left = /^([QD]ALY|QOLS)$|IgE Ab|family members|^Polyp size/
    const known = cellsOf(path).filter(
      (row) => row['TYPE'] === 'numeric' && !left.test(row['DESCRIPTION'] ?? ''),
    )
    // Synthea gives protein in g/dL that is in g/L, and globulin the other way about.
    const wrong = known.filter((row) => row['CODE'] === '2885-2' || row['CODE'] === '10834-0').length
    const outcomes = await mapAll('synthea-observations', path)
    const mapped = outcomes.filter(isMapped)
    expect(times(outcomes, 'rejected')).toBe(0)
    expect(mapped.flatMap((row) => row.records).length).toBe(known.length - wrong)
    expect(new Set(issues(outcomes))).toEqual(
      new Set(['total-protein-1 value-out-of-range', 'globulin-1 value-out-of-range']),
    )
    expect(issues(outcomes).length).toBe(wrong)
    expect(new Set(mapped.map((row) => row.key)).size).toBe(mapped.length)
  })

  it('map conditions of Synthea, active and resolved', async () => {
    const path = corpus('synthea/csv-ohdsi-28pat/conditions.csv')
    // Social findings, and an alcohol finding whose code was rounded as a number (its check digit does not hold).
    const left =
      /employ|labor force|education|equivalency|criminal|Housing|social|Stress|Risk activity|abuse|alcohol/i
    const known = cellsOf(path).filter((row) => !left.test(row['DESCRIPTION'] ?? ''))
    const outcomes = await mapAll('synthea-conditions', path)
    const mapped = outcomes.filter(isMapped)
    const contents = mapped.flatMap((row) => row.records.map((record) => record.text))
    const active = known.filter((row) => row['STOP'] === '').length
    expect(contents.filter((content) => content.includes('"status":"active"')).length).toBe(active)
    expect(contents.filter((content) => content.includes('"status":"resolved"')).length).toBe(
      known.length - active,
    )
    expect(new Set(mapped.map((row) => row.key)).size).toBe(mapped.length)
  })
})
