import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openExport } from '../../src/extract/open-export.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { joinSample } from '../run/join-sample.ts'
import { load, wires } from '../transform/mapping-under-test.ts'
import { corpusPath, readPlainCsv } from './corpus-file.ts'

/** The export has no NPI, so a constant stands for it. */
const ENCOUNTERS = `mapping: encounters
read: { format: csv }
row:
  key: [Id]
  account: { reference: PATIENT }
  observedAt: { from: START, format: ISO, zone: UTC, since: 1901-01-01 }
  source: { name: Synthea, type: ehr }
joins:
  doctors: { export: "providers*.csv", read: { format: csv }, key: Id, on: PROVIDER }
  sites: { export: "organizations.csv", read: { format: csv }, key: Id, on: doctors.ORGANIZATION }
careTeams:
  seen: { npi: { constant: "1234567893" }, name: doctors.NAME, zip: doctors.ZIP, location: sites.CITY, when: { doctors.NAME: present } }
`

describe('Synthea, 28 patients', NEEDS_CORPUS, () => {
  test('every encounter is joined with its provider, and through him with his organization', async () => {
    const at = (name: string): string => corpusPath('synthea/csv-ohdsi-28pat', name)
    const file = at('encounters.csv')
    const mapping = await joinSample(load(ENCOUNTERS), file)
    const opened = await openExport(file, mapping.read)
    const map = mapping.compiled.bind(opened.columns, basename(file), Number.POSITIVE_INFINITY)
    const told: string[] = []
    for await (const block of opened.rows()) {
      for (const row of block) {
        const outcome = map(row)
        for (const { account, name, location } of wires(outcome))
          told.push(`${z.object({ reference: z.string() }).parse(account).reference} ${name} ${location}`)
      }
    }
    const cities = new Map(
      readPlainCsv(at('organizations.csv'), ['Id', 'CITY']).map(({ Id, CITY }) => [Id, CITY]),
    )
    const doctors = new Map(
      readPlainCsv(at('providers.csv'), ['Id', 'NAME', 'ORGANIZATION']).map((one) => [one.Id, one] as const),
    )
    const expected = readPlainCsv(file, ['PATIENT', 'PROVIDER']).map(({ PATIENT, PROVIDER }) => {
      const doctor = doctors.get(PROVIDER)
      return `${PATIENT} ${doctor?.NAME} ${cities.get(doctor?.ORGANIZATION ?? '')}`
    })
    expect(expected.length).toBeGreaterThan(100)
    expect(told).toEqual(expected)
  })
})
