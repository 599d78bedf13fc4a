/** All records of a row of an export, found by its name. */
import { expect, test } from 'vitest'
import { ANN, BEN, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

test('a row leads to its records, with outcome, reason and the id of each', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN.replace('kg', 'parsec')}dan,never,61,,,,\n`)
  const { run } = summaryOf(await clinic.run())
  await clinic.run()
  const { waybill } = clinic.workplace
  const rowOf = async (row: number) =>
    JSON.parse((await waybill('trace', '--row', `day.csv:${row}`, '--json')).out)
  const second = await rowOf(2)
  expect(
    second.records.map(({ rule, outcome, reason }: Record<string, { code: string }>) => [
      rule,
      outcome,
      reason?.code,
    ]),
  ).toEqual(
    expect.arrayContaining([
      ['heart-rate', 'accepted', undefined],
      ['hba1c', 'accepted', undefined],
      ['body-weight', 'rejected', 'unit-unknown'],
    ]),
  )
  expect(second.records).toHaveLength(3)
  const accepted = second.records.filter((one: { outcome: string }) => one.outcome === 'accepted')
  const stored = await clinic.store.records('biometric')
  const ids = stored.map((one) => one.source.meta.persistentRecordId)
  for (const { transactionId, run: by } of accepted) {
    expect(by).toBe(run)
    expect(ids).toContain(transactionId)
    expect((await waybill('trace', transactionId)).out).toContain('Row          2, line 3')
  }
  expect((await rowOf(3)).records).toMatchObject([
    { rule: null, outcome: 'rejected', reason: { code: 'date-invalid' } },
  ])
  const { out } = await waybill('trace', '--row', 'day.csv:1')
  expect(out).toMatch(/^Row 1 of day\.csv; for details of a record: waybill trace TRANSACTION$/m)
  expect(out).not.toContain('ann')

  expect((await rowOf(9)).error.message).toContain('of row 9 of day.csv')
  expect((await waybill('trace', '--row', 'other.csv:1')).err).toContain('knows no export other.csv')
  for (const args of [[], ['--row', 'day.csv'], ['--row', 'day.csv:0'], ['x', '--row', 'day.csv:1']])
    expect((await waybill('trace', ...args)).code).toBe(2)
})
