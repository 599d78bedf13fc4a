import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, CLINIC, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const MAPPING = CLINIC.replace(
  'biometrics:',
  '  checks: { plausible-range: warn, damaged-key: warn }\nbiometrics:',
)
/** A pulse of 301 and a person 1.2E+11 go on; a date in the future does not. */
const EXPORT = `${HEADER}${ANN}ben,2026-03-02,301,5.2,71.5,kg,\n1.2E+11,2026-03-02,302,,,,\ncid,2126-03-02,63,,,,\n`

test('warnings are counted and shown, and the ledger remembers them', async () => {
  const clinic = await openClinic({ mapping: MAPPING })
  await clinic.deliver('a.csv', EXPORT)
  const line = /^Warnings .*$/m
  const warnings = [
    { code: 'value-out-of-range', count: 2 },
    { code: 'account-damaged', count: 1 },
  ]

  const dry = await clinic.workplace.waybill('run', 'clinic', '--dry-run')
  expect(line.exec(dry.out)?.[0]).toBe('Warnings value-out-of-range 2, account-damaged 1')
  expect(JSON.parse((await clinic.run('--dry-run')).out)).toMatchObject({ warnings })

  const ran = await clinic.workplace.waybill('run', 'clinic')
  expect(line.exec(ran.out)?.[0]).toBe('Warnings value-out-of-range 2, account-damaged 1')
  const shown = await clinic.workplace.waybill('show', '--json')
  expect(JSON.parse(shown.out)).toMatchObject({
    warnings,
    rows: { mapped: 4 },
    records: { biometric: { made: 8, accepted: 7, rejected: 1 } },
    exports: [{ counts: { warnings: { 'value-out-of-range': 2, 'account-damaged': 1 } } }],
  })
  expect(await clinic.stored()).toContain('ben heart-rate 301')
  expect(await clinic.stored()).toContain('1.2E+11 heart-rate 302')
  expect(await clinic.stored()).not.toContain('cid heart-rate 63')
})

test('a job lays a catalog of its own over the shipped one', async () => {
  const clinic = await openClinic({
    job: `exports: { from: ../inbox, match: "*.csv", mapping: clinic }
catalog: ../clinic-catalog.yaml
accounts: { register: never }
`,
  })
  await writeFile(
    join(clinic.workplace.folder, 'clinic-catalog.yaml'),
    'biometrics: { heart-rate: { range: [20, 310] } }\n',
  )
  await clinic.deliver('a.csv', EXPORT)
  const summary = summaryOf(await clinic.run())
  expect(summary.records.biometric).toMatchObject({ accepted: 6, rejected: 1 })
  expect(await clinic.stored()).toContain('ben heart-rate 301')
})
