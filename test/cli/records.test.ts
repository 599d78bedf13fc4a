import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openClinic, rejectsOf } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const MAPPING = `mapping: clinic
read:
  format: records
  delimiter: "|"
  row: PID
  types:
    PID: [patient]
    OBR: [order, at]
    OBX: { in: OBR, columns: [code, value, unit] }
  skip: [HDR]
  count: { type: TRL, cell: 1 }
  each: { order: "$.OBR[*]", seen: "order.OBX[*]" }
row:
  key: ["$.patient"]
  account: { reference: "$.patient", type: partnerAccountId }
  observedAt: { from: order.at, format: yyyy-MM-dd, zone: UTC }
  source: { name: Clinic, type: laboratory }
biometrics:
  - { code: { from: seen.code, system: LOINC }, value: seen.value, unit: seen.unit }
`
const JOB = `exports: { from: ../inbox, match: "*.txt" }
mapping: clinic
accounts: { register: never }
`
const person = (id: string, value: string, between = ''): string =>
  `PID|${id}\nOBR|o|2026-03-02\n${between}OBX|4548-4|${value}|%\n`

test('a flat file with records of several types is sent; what is wrong costs its row, and is corrected in the rejects file', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  const text = `HDR|1\n${person('ann', '5.10')}${person('cat', '5.3', 'ZZZ|1\n')}${person('dan', 'high')}TRL|3\n`
  await clinic.deliver('day.txt', text)
  const ended = await clinic.run()
  const summary = summaryOf(ended)
  expect([ended.code, summary.balanced]).toEqual([1, true])
  expect(await clinic.stored()).toEqual(['ann hba1c 5.1'])
  expect(await rejectsOf(summary)).toEqual([
    'line 5 row-record-misplaced',
    'line 9 hba1c-1 value-not-a-number',
  ])

  const corrected = join(clinic.workplace.folder, 'corrected.csv')
  const rejects = await readFile(summary.exports[0]?.rejects ?? '', 'utf8')
  await writeFile(corrected, rejects.replace('ZZZ|1\n', '').replaceAll('""high""', '""5.4""'))
  expect((await clinic.run('--file', corrected)).code).toBe(0)
  expect(await clinic.stored()).toEqual(['ann hba1c 5.1', 'cat hba1c 5.3', 'dan hba1c 5.4'])

  await clinic.deliver('short.txt', `${person('eve', '5.0')}TRL|2\n`)
  const { code, out } = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/short.txt'))
  expect([code, JSON.parse(out).exports[0].error]).toEqual([2, 'export-not-as-announced'])
})
