import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openClinic, rejectsOf } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const MAPPING = `mapping: clinic
read:
  format: hl7v2
  each: { group: "$.PATIENT_RESULT[*]", order: "group.ORDER_OBSERVATION[*]", seen: "order.OBSERVATION[*]" }
row:
  key: ["$.MSH['10'][0]['1']"]
  account: { reference: "$.PATIENT_RESULT[0].PATIENT.PID['3'][0]['1']", type: partnerAccountId }
  observedAt: { from: "order.OBR['7'][0]['1']", format: HL7, zone: UTC }
  source: { name: Clinic, type: laboratory }
biometrics:
  - { code: { from: "seen.OBX['3'][0]['1']", system: LOINC }, value: "seen.OBX['5'][0]['1']", unit: "seen.OBX['6'][0]['1']" }
`
const JOB = `exports: { from: ../inbox, match: "*.hl7" }
mapping: clinic
accounts: { register: never }
`

const message = (person: string, value: string, between = ''): string =>
  `${[
    `MSH|^~\\&|LAB|N|HUB|US|20260302||ORU^R01|${person}-1|P|2.5.1`,
    `PID|1||${person}^^^N^PI`,
    'OBR|1||o||||20260302',
    `${between}OBX|1|NM|4548-4^A1c^LN||${value}|%|||||F`,
  ].join('\r')}\r`

test('messages are sent one by one; a damaged one and a wrong value cost themselves, and are corrected in the rejects file', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  const damaged = message('cat', '5.3', 'and more\r')
  const text = `BHS|^~\\&|LAB\r${message('ann', '5.10')}${damaged}${message('dan', 'high')}${message('ben', '5.2')}BTS|4\r`
  await clinic.deliver('day.hl7', text)
  const ended = await clinic.run()
  const summary = summaryOf(ended)
  expect([ended.code, summary.balanced]).toEqual([1, true])
  expect(await clinic.stored()).toEqual(['ann hba1c 5.1', 'ben hba1c 5.2'])
  expect(await rejectsOf(summary)).toEqual([
    'line 6 row-message-invalid',
    'line 11 hba1c-1 value-not-a-number',
  ])

  const corrected = join(clinic.workplace.folder, 'corrected.csv')
  const rejects = await readFile(summary.exports[0]?.rejects ?? '', 'utf8')
  await writeFile(corrected, rejects.replace('and more\r', '').replaceAll('""high""', '""5.4""'))
  const after = await clinic.run('--file', corrected)
  expect([after.code, after.err]).toEqual([0, expect.any(String)])
  expect(await clinic.stored()).toEqual(['ann hba1c 5.1', 'ben hba1c 5.2', 'cat hba1c 5.3', 'dan hba1c 5.4'])

  await clinic.deliver('day.hl7', text)
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 0 })
})

test('a batch that says more messages than there are is refused before anything is sent', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  await clinic.deliver('day.hl7', `${message('ann', '5.1')}BTS|2\r`)
  const { code, err } = await clinic.run()
  expect(code).toBe(2)
  expect(err).toContain('its number of rows, by its trailer, should be 2, but is 1')
  expect(await clinic.stored()).toEqual([])
})
