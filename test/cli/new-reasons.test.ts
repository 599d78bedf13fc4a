/** A stricter mapping: what it would reject that the last run did not is said before anything is sent. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CLINIC, HEADER, openClinic } from './clinic.ts'

const ROWS = [
  'a,2026-03-02,61,5.1,,,',
  'b,2026-03-02,fast,5.2,,,',
  'c,2026-03-02,62,99,,,',
  'd,2026-03-03,63,5.3,,,',
]

it('dry run and mapping check name the reasons that the last run had not, with their numbers', async () => {
  const clinic = await openClinic()
  const { waybill, folder } = clinic.workplace
  const file = await clinic.deliver('a.csv', `${HEADER}${ROWS.join('\n')}\n`)
  const dry = () => waybill('run', 'clinic', '--dry-run')
  const check = (...args: string[]) => waybill('mapping', 'check', 'clinic', '--export', file, ...args)
  // Nothing was run that could be compared with.
  expect((await dry()).out).not.toContain('Not rejected by the last run')
  expect((await check()).out).not.toContain('Not rejected by the last run')
  const { run } = JSON.parse((await clinic.run()).out)
  expect((await dry()).out).not.toContain('Not rejected by the last run')

  await writeFile(
    join(folder, 'mappings/clinic.yaml'),
    CLINIC.replace('format: yyyy-MM-dd', 'format: dd.MM.yyyy'),
  )
  const told = [`Not rejected by the last run, ${run}:`, '  4 rows: date-invalid']
  expect((await dry()).out).toContain(told.join('\n'))
  const checked = await check()
  expect(checked.out).toContain(told.join('\n'))
  expect(JSON.parse((await check('--json')).out).mappings[0].newReasons).toEqual({
    run,
    reasons: [{ code: 'date-invalid', rule: null, count: 4 }],
  })

  await writeFile(join(folder, 'mappings/clinic.yaml'), CLINIC.replace('hba1c: "a1c"', 'hba1c: "id"'))
  const { newReasons } = JSON.parse((await waybill('run', 'clinic', '--dry-run', '--json')).out)
  expect(newReasons).toMatchObject({
    run,
    reasons: [{ rule: 'hba1c', code: 'value-not-a-number', count: 4 }],
  })
  // A ledger that cannot be read keeps nobody from checking a mapping.
  await writeFile(join(clinic.workplace.home, 'ledger.sqlite'), 'no ledger')
  expect((await check()).out).toContain('is well-formed')
})
