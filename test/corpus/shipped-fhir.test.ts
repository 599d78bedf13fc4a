/** The shipped mappings of FHIR on Synthea's bulk exports and on the examples of the specification and US Core. */
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import type { LoadedMapping } from '../../src/definitions/definition-files.ts'
import { openExport } from '../../src/extract/open-export.ts'
import type { RowOutcome } from '../../src/model/entry.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { joinSample } from '../run/join-sample.ts'
import { load, ROOT, wires } from '../transform/mapping-under-test.ts'
import { corpusPath } from './corpus-file.ts'

const SHIPPED = join(ROOT, 'mappings')
/** Synthea names patients by urn:uuid, with the id that their own resource has: that, a mapping must say. */
const OF_SYNTHEA = 'reference: { from: $.subject.reference, extract: "^(?:urn:uuid:|Patient/)?(.+)$" }'
const shipped = (name: string, format: 'ndjson' | 'json' = 'ndjson'): LoadedMapping =>
  load(
    readFileSync(join(SHIPPED, `${name}.yaml`), 'utf8')
      .replace('format: ndjson', `format: ${format}`)
      .replace('reference: $.subject.reference', OF_SYNTHEA),
  )

async function outcomes({ compiled, read }: LoadedMapping, file: string): Promise<RowOutcome[]> {
  const map = compiled.bind(undefined, file, Number.POSITIVE_INFINITY)
  const found: RowOutcome[] = []
  for await (const rows of (await openExport(file, read)).rows()) found.push(...rows.map((row) => map(row)))
  return found
}

const faultsOf = (outcome: RowOutcome): string[] =>
  outcome.outcome === 'mapped' ? outcome.rejected.map(({ rule, issue }) => `${rule} ${issue.code}`) : []

const lines = (file: string): unknown[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))

const State = z.object({ coding: z.array(z.object({ code: z.string() })) })
const Condition = z.object({
  id: z.string(),
  code: z.object({ coding: z.array(z.object({ system: z.string(), code: z.string() })) }),
  clinicalStatus: State,
  subject: z.object({ reference: z.string() }),
  onsetDateTime: z.string(),
})
const ConditionEntries = z.record(
  z.string(),
  z.looseObject({ snomed: z.union([z.string(), z.array(z.string())]) }),
)
const Sent = z.looseObject({
  account: z.object({ reference: z.string() }),
  status: z.string(),
  observationDate: z.number(),
})

describe('FHIR conditions', NEEDS_CORPUS, () => {
  test.each([
    'synthea/ndjson-bulk-10pat/Condition.000.ndjson',
    'synthea/ndjson-split-smart-r4/Condition.ndjson',
  ])('%s: each of the catalog becomes a record, nothing else does', async (name) => {
    const entries = ConditionEntries.parse(
      parse(readFileSync(join(SHIPPED, 'catalog/conditions.yaml'), 'utf8')),
    )
    const keys = new Map(
      Object.entries(entries).flatMap(([key, { snomed }]) => [snomed].flat().map((code) => [code, key])),
    )
    const expected = lines(corpusPath(name)).flatMap((line) => {
      const { id, code, clinicalStatus, subject, onsetDateTime } = Condition.parse(line)
      const key = keys.get(code.coding[0]?.code ?? '')
      const person = subject.reference.replace(/^(Patient\/|urn:uuid:)/, '')
      return key === undefined
        ? []
        : [`${id} ${key}-1 ${person} ${clinicalStatus.coding[0]?.code} ${Date.parse(onsetDateTime)}`]
    })
    const found = (await outcomes(shipped('fhir-condition'), corpusPath(name))).flatMap((row) => {
      expect(row.outcome).not.toBe('rejected')
      if (row.outcome !== 'mapped') return []
      expect(row.rejected).toEqual([])
      return wires(row).map((record, at) => {
        const { account, status, observationDate } = Sent.parse(record)
        return `${row.key} ${row.records[at]?.rule} ${account.reference} ${status} ${observationDate}`
      })
    })
    expect(expected.length).toBeGreaterThan(20)
    expect(found).toEqual(expected)
  })
})

describe('FHIR observations', NEEDS_CORPUS, () => {
  test('of several LOINC codes of one value the first of the catalog is taken, and blood pressure is read from its components', async () => {
    const of = async (name: string): Promise<string[]> => {
      const [file = ''] = globSync(corpusPath(`fhir-r4/*/Observation-${name}.json`))
      return (await outcomes(shipped('fhir-observation', 'json'), file)).flatMap((row) =>
        row.outcome === 'mapped'
          ? [
              ...row.records.map(
                ({ rule, account, evidence }) =>
                  `${account.reference} ${rule} ${evidence.value} ${evidence.unit}`,
              ),
              ...faultsOf(row),
            ]
          : [row.outcome === 'rejected' ? `rejected ${row.issue.code}` : row.outcome],
      )
    }
    expect(await of('example')).toEqual(['example body-weight-1 83.9 kg'])
    expect(await of('satO2')).toEqual(['example oxygen-saturation-1 95 %'])
    // It has the day of its issue alone.
    expect(await of('f202')).toEqual(['rejected date-missing'])
    expect(await of('blood-pressure')).toEqual([
      'example systolic-bp-1 107 mm[Hg]',
      'example diastolic-bp-1 60 mm[Hg]',
    ])
    expect(await of('blood-pressure-cancel')).toEqual(['skipped'])
  })
})

const Resource = z.looseObject({ id: z.string() })

describe('FHIR care teams', NEEDS_CORPUS, () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waybill-care-team-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** Maps a team that lies beside practitioners. */
  async function mapTeam(
    name: string,
    team: object,
    practitioners: (file: string) => void,
  ): Promise<RowOutcome> {
    const file = join(await mkdtemp(join(folder, name)), 'CareTeam.ndjson')
    writeFileSync(file, `${JSON.stringify(team)}\n`)
    practitioners(join(file, '../Practitioner.000.ndjson'))
    const [outcome] = await outcomes(await joinSample(shipped('fhir-care-team'), file), file)
    return outcome ?? expect.fail()
  }

  test('US Core: the practitioners, one with an invented NPI, and neither the patient nor her caregiver', async () => {
    const at = (name: string): string => corpusPath('fhir-r4/us-core-examples', `${name}.json`)
    // The example has no date.
    const team = {
      ...Resource.parse(JSON.parse(readFileSync(at('careteam-example'), 'utf8'))),
      meta: { lastUpdated: '2026-02-04T14:10:00Z' },
    }
    const row = await mapTeam('us-core', team, (file) =>
      writeFileSync(
        file,
        ['practitioner-1', 'practitioner-2', 'practitioner-3']
          .map((name) => `${JSON.stringify(JSON.parse(readFileSync(at(name), 'utf8')))}\n`)
          .join(''),
      ),
    )
    expect(wires(row)).toEqual([
      expect.objectContaining({ npi: '1245319599', name: 'Dr Fielding Kathy', type: 'PCP' }),
    ])
    // The other one's NPI begins with 9.
    expect(faultsOf(row)).toEqual(['care-team-1 npi-invalid'])
  })

  test.each(['ndjson-split-smart-r4/Practitioner.ndjson', 'ndjson-bulk-10pat/Practitioner.000.ndjson'])(
    'Synthea, %s: the invented NPIs are rejected, each with its own entry',
    async (name) => {
      const source = corpusPath('synthea', name)
      const participant = lines(source).map((one) => ({
        member: { reference: `Practitioner/${Resource.parse(one).id}` },
      }))
      const team = {
        id: 't',
        status: 'active',
        subject: { reference: 'Patient/p' },
        period: { start: '2026' },
        participant,
      }
      const row = await mapTeam('synthea', team, (file) => copyFileSync(source, file))
      expect(participant.length).toBeGreaterThan(20)
      expect(faultsOf(row)).toEqual(participant.map((_, at) => `care-team-${at + 1} npi-invalid`))
      expect(wires(row)).toEqual([])
    },
  )
})
