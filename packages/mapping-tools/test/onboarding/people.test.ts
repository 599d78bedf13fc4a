/** Reference of a person, in the shipped mappings and in drafts: never a word for none, a number that was damaged, or a citizen's number. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LoadedMapping } from '../../../../src/definitions/definition-files.ts'
import { allRows, exportFile } from '../../../../test/extract/export-file.ts'
import { load, NOW, ROOT } from '../../../../test/transform/mapping-under-test.ts'
import { finished } from './finished.ts'

const LABS = readFileSync(join(ROOT, 'mappings/tables/hl7-lab-codes.csv'), 'utf8')
const shipped = (name: string): LoadedMapping =>
  load(readFileSync(join(ROOT, 'mappings', `${name}.yaml`), 'utf8'), { 'hl7-lab-codes': LABS })

/** The reference, or the reason, of each row. */
async function peopleOf({ compiled, read }: LoadedMapping, content: string): Promise<string[]> {
  const map = compiled.bind(undefined, 'export', NOW)
  return (await allRows(await exportFile(content), read)).map((row) => {
    const outcome = map(row)
    return outcome.outcome === 'rejected'
      ? outcome.issue.code
      : (outcome.account?.reference ?? outcome.outcome)
  })
}

const observation = (reference: string): string =>
  JSON.stringify({
    ...{ resourceType: 'Observation', id: 'o1', status: 'final', subject: { reference } },
    code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] },
    ...{ effectiveDateTime: '2026-02-04T09:10:00Z', valueQuantity: { value: 61, code: '/min' } },
  })

test.each([
  ['Patient/4711/_history/2', '4711'],
  ['https://ehr.example/fhir/Patient/4712/_history/2', '4712'],
  ['Patient/4713', '4713'],
  ['#p1', 'account-unresolved'],
  ['urn:uuid:27de96c6-6910-4f0f-8f10-00ce6090f447', 'account-unresolved'],
  ['Patient?identifier=7', 'account-unresolved'],
  ['Group/12', 'account-unresolved'],
])('FHIR: %s is %s', async (reference, person) => {
  expect(await peopleOf(shipped('fhir-observation'), `${observation(reference)}\n`)).toEqual([person])
})

const message = (identifiers: string, at = 0): string =>
  [
    `MSH|^~\\&|LAB|FAC|EHR|FAC|20260204101500||ORU^R01^ORU_R01|M${at}|P|2.5.1`,
    `PID|1||${identifiers}||Quill^Ada||19790412|F|||1 Elm St^^Springfield^IL^62701`,
    `OBR|1|ORD1|FIL${at}|24323-8^Panel^LN|||20260204091000`,
    'OBX|1|NM|8867-4^Pulse^LN||62|/min|||||F\r',
  ].join('\r')

test.each([
  ['900-11-2200^^^SSA^SS~MR0000^^^NORTH^MR', 'MR0000'],
  ['7^^^NORTH^PT~8^^^NORTH^PI', '8'],
  ['7^^^NORTH^PI~8^^^NORTH^MRN', '8'],
  ['900-11-2200^^^SSA^SS~MR0001', 'MR0001'],
  ['MR0002^^^NORTH', 'MR0002'],
  ['900-11-2200^^^SSA^SS', 'account-missing'],
  ['1^^^A^MR~2^^^B^MR', 'field-not-scalar'],
  ['1~2', 'field-not-scalar'],
])('HL7 v2: %s is %s', async (identifiers, person) => {
  expect(await peopleOf(shipped('hl7v2-oru'), message(identifiers))).toEqual([person])
})

test('a draft of HL7 v2 takes the number of the type that its messages have, wherever it stands', async () => {
  const identifiers = (at: number): string =>
    at % 2 === 0
      ? `900-11-${2200 + at}^^^SSA^SS~MR${at}9^^^NORTH^MR`
      : `MR${at}9^^^NORTH^MR~900-11-${2200 + at}^^^SSA^SS`
  const sample = Array.from({ length: 24 }, (_, at) => message(identifiers(at), at)).join('')
  const { records } = await finished('ids.hl7', sample)
  expect(records.map((one) => one.split(' ')[0])).toEqual(Array.from({ length: 24 }, (_, at) => `MR${at}9`))
})

test.each([
  ['12340.0', 'account-damaged'],
  ['NULL', 'account-missing'],
  ['="0012340"', '0012340'],
  ['1.2E+08', 'account-damaged'],
])('CSV: a draft and its mapping take %s for %s', async (written, person) => {
  const rows = Array.from({ length: 9 }, (_, at) => `P-${at + 1},2026-02-0${at + 1} 09:10,${60 + at}`)
  const quoted = `"${written.replaceAll('"', '""')}"`
  const { records, rejected } = await finished(
    'visits.csv',
    `pid,visited,pulse\n${[...rows, `${quoted},2026-02-10 09:10,71`].join('\n')}\n`,
  )
  const people = [...records.map((one) => one.split(' ')[0]), ...rejected]
  expect(people.at(-1)).toBe(person.startsWith('account') ? `row: ${person}` : person)
  expect(people).toHaveLength(10)
})
