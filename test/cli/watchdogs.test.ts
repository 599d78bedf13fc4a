/** Nights that end with exit code 0 and are told all the same: an export that is tiny, one that gives nothing, one that a check warns of. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CLINIC } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { delivery, noticesText, openNights, steadily } from './nights.ts'

const GOLDEN = join(import.meta.dirname, 'golden')
const SKIPPING = CLINIC.replace('row:\n', 'row:\n  skipWhen: { remark: no-show }\n')
const WARNING = CLINIC.replace('\nbiometrics:', '\n  checks: { plausible-range: warn }\nbiometrics:')

test('a file of 3 rows where 80 are usual: a warning with --quiet, a notice, a metric, a column in runs', async () => {
  const nights = await openNights({ environment: { WAYBILL_METRICS_FILE: '{job}.prom' } })
  for (const name of ['a1', 'a2', 'a3']) {
    await nights.deliver(`${name}.csv`, delivery(name, 80))
    const quiet = await nights.workplace.waybill('run', 'clinic', '--quiet')
    expect(quiet.err.replace(/^.*the ledger is new.*\n/m, '')).toBe('')
  }
  expect(nights.hook.titles()).toEqual([])

  await nights.deliver('b1.csv', delivery('b1', 3))
  const quiet = await nights.workplace.waybill('run', 'clinic', '--quiet')
  expect([quiet.code, quiet.out]).toEqual([0, ''])
  expect(quiet.err).toContain('b1.csv differs from earlier deliveries: rows: 3, usually 80')
  expect(nights.hook.titles()).toEqual([
    'waybill.export-drifted Waybill: clinic: b1.csv differs from earlier deliveries (rows)',
  ])
  const metrics = await readFile(join(nights.workplace.folder, 'clinic.prom'), 'utf8')
  expect(metrics).toContain('waybill_last_run_drift{job="clinic",measure="rows"} 1')
  const shown = await nights.look('show')
  const listed = await nights.look('runs', '--limit', '2')
  const seen = `${shown.out}\n${listed.out}\n${noticesText(nights)}\n`
  await expect(steadily(seen, nights)).toMatchFileSnapshot(join(GOLDEN, 'night-tiny.txt'))

  // It lies there still, and is told once.
  const again = await nights.workplace.waybill('run', 'clinic', '--quiet')
  expect([again.err, nights.hook.seen.length]).toEqual(['', 1])
})

test('an export whose 100 rows are all skipped: told without any history, and once', async () => {
  const nights = await openNights({ mapping: SKIPPING })
  await nights.deliver('b1.csv', delivery('b1', 100, '61,5.1,70.5,kg,no-show'))
  const quiet = await nights.workplace.waybill('run', 'clinic', '--quiet')
  expect([quiet.code, quiet.out]).toEqual([0, ''])
  expect(quiet.err).toContain('empty-handed: all 100 rows skipped')
  const seen = `${(await nights.look('show')).out}\n${(await nights.look('runs')).out}\n${noticesText(nights)}\n`
  await expect(steadily(seen, nights)).toMatchFileSnapshot(join(GOLDEN, 'night-empty-handed.txt'))
  await nights.run()
  expect(nights.hook.seen).toHaveLength(1)
})

test('a job that is skipped as a rule is not told of each time, and one row more than usual is no news', async () => {
  const nights = await openNights({ mapping: SKIPPING })
  for (const name of ['a1', 'a2', 'a3', 'a4'])
    await nights.deliver(`${name}.csv`, delivery(name, 30, '61,5.1,70.5,kg,no-show'))
  await nights.run()
  // The fourth has three before it that are like it.
  expect(nights.hook.titles()).toEqual(
    ['a1', 'a2', 'a3'].map(
      (name) => `waybill.export-empty-handed Waybill: clinic: all rows of ${name}.csv were skipped`,
    ),
  )
})

test('skipped rows can stop a run before anything is sent, and more of them than usual are told', async () => {
  const nights = await openNights({ mapping: SKIPPING, job: 'stopWhen: { skippedRows: 50%, after: 50 }\n' })
  for (const name of ['a1', 'a2', 'a3']) await nights.deliver(`${name}.csv`, delivery(name, 100))
  expect((await nights.run()).code).toBe(0)
  const some = `${delivery('b', 70)}${delivery('c', 30, '61,5.1,70.5,kg,no-show').replace(/^.*\n/, '')}`
  const path = await nights.deliver('b1.csv', some)
  const told = await nights.run('--file', path)
  expect(told.err).toContain('skipped: rows skipped 30.0 %, usually 0.0 %')
  const stopped = await nights.run(
    '--file',
    await nights.deliver('d1.csv', delivery('d', 100, '61,5.1,70.5,kg,no-show')),
  )
  expect(stopped.code).toBe(4)
  expect(summaryOf(stopped).error?.message).toBe(
    '100 of 100 rows were skipped (100.0 %); stopWhen.skippedRows allows 50.0 %',
  )
})

test('what a check with warn finds is told, unless as much of it is usual', async () => {
  const nights = await openNights({ mapping: WARNING })
  const high = (name: string, rows: number, of: number): string =>
    delivery(name, rows, '610,5.1,70.5,kg,fine') + delivery(`${name}x`, of - rows).replace(/^.*\n/, '')
  const measures = async (name: string, rows: number): Promise<number> => {
    await nights.deliver(`${name}.csv`, high(name, rows, 50))
    expect((await nights.run()).code).toBe(0)
    return nights.hook.seen.length
  }
  expect(await measures('a1', 2)).toBe(1)
  expect(await measures('a2', 2)).toBe(1)
  expect(await measures('a3', 1)).toBe(1)
  expect(await measures('a4', 3)).toBe(2)
  expect(nights.hook.received().at(-1)?.data.text.join('\n')).toContain(
    'checks: value-out-of-range 3 in 50 rows, before 4.0 % at most',
  )
})

test('--quiet says what a run has left behind', async () => {
  const nights = await openNights()
  await nights.deliver('b1.csv', delivery('b1', 2, '61,5.1,70.5,parsec,fine'))
  const quiet = await nights.workplace.waybill('run', 'clinic', '--quiet')
  expect([quiet.code, quiet.out]).toEqual([1, ''])
  expect(quiet.err).toMatch(/^Run \S+ of clinic finished with 2 rejected records: waybill show \S+$/m)
})
