import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openClinic } from './clinic.ts'
import { PROJECT, summaryOf } from './command-line.ts'

const JOB = `exports: { from: ../inbox, match: "*.json" }
mapping: fhir-bundle
accounts: { register: never }
`

interface Result {
  readonly day: string
  readonly value: number | string
}

const bundle = (results: readonly Result[], diagnoses: readonly string[]): string =>
  JSON.stringify({
    resourceType: 'Bundle',
    entry: [
      { resourceType: 'Patient', id: 'ann' },
      ...results.map(({ day, value }) => ({
        ...{ resourceType: 'Observation', status: 'final', effectiveDateTime: day },
        code: { coding: [{ system: 'http://loinc.org', code: '4548-4' }] },
        valueQuantity: { value, code: '%' },
      })),
      ...diagnoses.map((code) => ({
        ...{ resourceType: 'Condition', onsetDateTime: '2020-01-01' },
        code: { coding: [{ system: 'http://hl7.org/fhir/sid/icd-10-cm', code }] },
        clinicalStatus: { coding: [{ code: 'active' }] },
      })),
    ].map((resource) => ({ resource })),
  })

const SPRING = { day: '2026-03-02', value: 5.1 }
const SUMMER = { day: '2026-06-02', value: 5.3 }
const AUTUMN = { day: '2026-09-02', value: 5.5 }

test('of a later Bundle only what is new is sent, wherever it stands among what is known', async () => {
  const clinic = await openClinic({ job: JOB })
  await cp(
    join(PROJECT, 'mappings/fhir-bundle.yaml'),
    join(clinic.workplace.folder, 'mappings/fhir-bundle.yaml'),
  )
  const accepted = async (name: string, text: string): Promise<[number, number]> => {
    await clinic.deliver(name, text)
    const { records, balanced } = summaryOf(await clinic.run())
    expect(balanced).toBe(true)
    return [records.biometric.accepted, records.condition.accepted]
  }
  expect(await accepted('1.json', bundle([SPRING, SUMMER], ['E11.9']))).toEqual([2, 1])
  expect(await accepted('2.json', bundle([AUTUMN, SPRING, SUMMER], ['I10', 'E11.9']))).toEqual([1, 1])
  expect(await accepted('3.json', bundle([SUMMER, AUTUMN, SPRING], ['E11.9', 'I10']))).toEqual([0, 0])
  expect(await accepted('4.json', bundle([SPRING], ['E11.9']))).toEqual([0, 0])
  expect(await accepted('5.json', bundle([AUTUMN, SUMMER, SPRING], ['I10', 'E11.9']))).toEqual([0, 0])
  expect(await clinic.stored()).toEqual(['ann hba1c 5.1', 'ann hba1c 5.3', 'ann hba1c 5.5'])
})

test('of several of one instant each keeps its place: where the first could not be read and is corrected, and where the second is', async () => {
  const clinic = await openClinic({ job: JOB })
  await cp(
    join(PROJECT, 'mappings/fhir-bundle.yaml'),
    join(clinic.workplace.folder, 'mappings/fhir-bundle.yaml'),
  )
  const bad = { ...SPRING, value: 'hemolyzed' }
  const second = { ...SPRING, value: 5.2 }
  const run = async (name: string, ...results: Result[]) => {
    await clinic.deliver(name, bundle(results, []))
    return summaryOf(await clinic.run())
  }
  expect((await run('1.json', bad, second)).records.biometric).toMatchObject({ accepted: 1, rejected: 1 })
  const first = { ...SPRING, value: 5.1 }
  expect((await run('2.json', first, second)).records.biometric).toMatchObject({ accepted: 1 })
  expect((await run('3.json', bad, second, SUMMER)).records.biometric.accepted).toBe(1)

  // The third of an instant is corrected by itself, in the rejects file.
  const left = await run('4.json', first, second, bad, SUMMER)
  expect(left.records.biometric.accepted).toBe(0)
  const corrected = join(clinic.workplace.folder, 'corrected.csv')
  const rejects = await readFile(left.exports.find((one) => one.name === '4.json')?.rejects ?? '', 'utf8')
  await writeFile(corrected, rejects.replace('""hemolyzed""', '5.4'))
  expect(summaryOf(await clinic.run('--file', corrected)).records.biometric.accepted).toBe(1)
  expect(
    (await run('5.json', first, second, { ...SPRING, value: 5.4 }, SUMMER)).records.biometric.accepted,
  ).toBe(0)
  expect(await clinic.stored()).toEqual(['ann hba1c 5.1', 'ann hba1c 5.2', 'ann hba1c 5.3', 'ann hba1c 5.4'])
})
