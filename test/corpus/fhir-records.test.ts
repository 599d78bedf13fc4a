/** FHIR R4: observations with a value, in components, or both, and care teams, as the records that they should become. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { openExport } from '../../src/extract/open-export.ts'
import type { MappedRow, RowOutcome } from '../../src/model/entry.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { load, ROOT } from '../transform/mapping-under-test.ts'
import { corpusPath } from './corpus-file.ts'

const LOINC = "coding[?@.system == 'http://loinc.org'].code"
const OBSERVATIONS = `mapping: observations
read: { format: FORMAT, each: { component: "$.component[*]" } }
row:
  key: [$.id]
  account: { reference: { from: $.subject.reference, extract: "^(?:urn:uuid:)?(.+)$" } }
  observedAt: { from: $.effectiveDateTime, format: ISO, zone: UTC, since: 1901-01-01 }
  source: { name: FHIR, type: ehr }
biometrics:
  - when: { $.valueQuantity.value: present }
    code: { from: "$.code.${LOINC}", system: LOINC, unknown: skip }
    value: $.valueQuantity.value
    unit: $.valueQuantity.code
    status: { from: $.status, keep: [final, amended] }
  - when: { component.valueQuantity.value: present }
    code: { from: "component.code.${LOINC}", system: LOINC, unknown: skip }
    value: component.valueQuantity.value
    unit: component.valueQuantity.code
    status: { from: $.status, keep: [final, amended] }
`

const Codes = z.object({
  coding: z.array(z.looseObject({ system: z.string().optional(), code: z.string().optional() })).default([]),
})
const Measured = z.looseObject({
  code: Codes,
  valueQuantity: z.looseObject({ value: z.number().optional(), code: z.string().optional() }).optional(),
})
const Observation = Measured.extend({
  id: z.string(),
  status: z.string(),
  component: z.array(Measured).default([]),
})

const catalog = z
  .record(
    z.string(),
    z.looseObject({
      loinc: z.string(),
      alsoLoinc: z.record(z.string(), z.string()).default({}),
      unit: z.string(),
    }),
  )
  .parse(parse(readFileSync(join(ROOT, 'mappings/catalog/biometrics.yaml'), 'utf8')))
const BY_LOINC = new Map(
  Object.entries(catalog).flatMap(([key, { loinc, alsoLoinc, unit }]) =>
    [loinc, ...Object.keys(alsoLoinc)].map((code) => [code, { key, unit }] as const),
  ),
)

/** `key value` of what the catalog knows, where it is in the catalog's unit; `key` alone where it must be converted. */
function expected(text: string): { id: string; measured: string[] } {
  const { id, status, component, ...whole } = Observation.parse(JSON.parse(text))
  const parts = ['final', 'amended'].includes(status) ? [whole, ...component] : []
  const measured = parts.flatMap(({ code, valueQuantity }) => {
    const known = code.coding.flatMap((one) => (one.system === 'http://loinc.org' ? [one.code ?? ''] : []))
    const entry = BY_LOINC.get(known[0] ?? '')
    if (entry === undefined || valueQuantity?.value === undefined) return []
    return [valueQuantity.code === entry.unit ? `${entry.key} ${valueQuantity.value}` : entry.key]
  })
  return { id, measured }
}

async function mappedRows(file: string, format: 'ndjson' | 'json'): Promise<Map<string, MappedRow>> {
  const { compiled, read } = load(OBSERVATIONS.replace('FORMAT', format))
  const map = compiled.bind(undefined, file, Number.POSITIVE_INFINITY)
  const rows = new Map<string, MappedRow>()
  for await (const block of (await openExport(file, read)).rows()) {
    for (const row of block) {
      const outcome = map(row)
      expect(outcome.outcome, JSON.stringify(outcome)).not.toBe('rejected')
      if (outcome.outcome === 'mapped') rows.set(outcome.key, outcome)
    }
  }
  return rows
}

/** Records and rejected ones, `key value` or `key`; ordinals tell those of one key apart. */
const made = (row: MappedRow | undefined, like: readonly string[]): string[] => [
  ...(row?.records ?? []).map(({ rule, evidence }) => {
    const key = rule.replace(/-\d+$/, '')
    return like.some((one) => one === key) ? key : `${key} ${Number(evidence.value)}`
  }),
  ...(row?.rejected ?? []).map(({ rule }) => rule.replace(/-\d+$/, '')),
]

describe('FHIR observations', NEEDS_CORPUS, () => {
  test('Synthea: each value of the catalog becomes a record, also of components, and nothing else does', async () => {
    const file = corpusPath('synthea/ndjson-split-smart-r4/Observation.ndjson')
    const rows = await mappedRows(file, 'ndjson')
    let records = 0
    let components = 0
    for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
      const { id, measured } = expected(line)
      const row = rows.get(id)
      const rejected = new Set(row?.rejected.map(({ rule }) => rule.replace(/-\d+$/, '')))
      const told = measured.map((one) =>
        rejected.has(one.split(' ')[0] ?? '') ? (one.split(' ')[0] ?? '') : one,
      )
      expect(made(row, told).sort(), id).toEqual(told.sort())
      records += measured.length
      if (measured.some((one) => one.startsWith('systolic-bp'))) components += 1
    }
    expect([records, components]).toEqual([expect.toSatisfy((count: number) => count > 1000), 251])
  })

  test('the examples: blood pressure in components, one value, both, neither', async () => {
    const of = async (name: string): Promise<string[]> => {
      const [file = ''] = globSync(corpusPath(`fhir-r4/*/Observation-${name}.json`))
      const rows = await mappedRows(file, 'json')
      return [...rows.values()].flatMap((row) => [
        ...row.records.map(({ rule, evidence }) => `${rule} ${evidence.value} ${evidence.unit}`),
        ...row.rejected.map(({ rule, issue }) => `${rule} ${issue.code}`),
      ])
    }
    expect(await of('blood-pressure')).toEqual(['systolic-bp-1 107 mm[Hg]', 'diastolic-bp-1 60 mm[Hg]'])
    expect(await of('blood-pressure-cancel')).toEqual([])
    expect(await of('bmi')).toEqual(['bmi-1 16.2 kg/m2'])
    expect(await of('heart-rate')).toEqual(['heart-rate-1 44 /min'])
    expect(await of('vitals-panel')).toEqual([])
  })
})

const TEAMS = `mapping: teams
read: { format: json, each: { participant: "$.participant[*]" } }
row:
  key: [$.id]
  account: { reference: $.subject.reference }
  observedAt: { constant: "2026-02-04T00:00:00Z" }
  source: { name: FHIR, type: ehr }
joins:
  members:
    within: "$.contained[*]"
    key: { concat: [{ constant: "#" }, $.id] }
    on: participant.member.reference
careTeams:
  - when: { members.resourceType: Practitioner }
    npi: "members.identifier[?@.system == 'http://hl7.org/fhir/sid/us-npi'].value"
    name: { concat: ["members.name[0].given[0]", "members.name[0].family"], separator: " " }
    type: { from: "participant.role[0].text" }
`

describe('FHIR care teams', NEEDS_CORPUS, () => {
  test('the example: the practitioner it contains is found; he has no NPI', async () => {
    const file = corpusPath('fhir-r4/spec-examples-4.0.1/CareTeam-example.json')
    const { compiled, read } = load(TEAMS)
    const map = compiled.bind(undefined, file, Number.POSITIVE_INFINITY)
    const outcomes: RowOutcome[] = []
    for await (const block of (await openExport(file, read)).rows())
      outcomes.push(...block.map((row) => map(row)))
    expect(outcomes).toMatchObject([
      { outcome: 'mapped', records: [], rejected: [{ rule: 'care-team-1', issue: { code: 'npi-missing' } }] },
    ])
  })
})
