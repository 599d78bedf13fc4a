/** What is looked up of runs that are over: lines of the log, records of a person. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ANN, BEN, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const ReferenceOf = z.looseObject({ account: z.looseObject({ reference: z.string() }) })

test('logs tell what was logged of a run, also in files that were put aside', async () => {
  const environment = {
    WAYBILL_LOG_FILE: 'log/waybill.log',
    WAYBILL_LOG_FILE_SIZE: '1KiB',
    WAYBILL_LOG_LEVEL: 'debug',
  }
  const clinic = await openClinic({ environment })
  const { waybill, folder } = clinic.workplace
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  const first = summaryOf(await clinic.run()).run
  await clinic.deliver('b.csv', `${HEADER}${BEN}`)
  const second = summaryOf(await clinic.run('--file', join(folder, 'inbox', 'b.csv'))).run
  const current = await readFile(join(folder, 'log/waybill.log'), 'utf8')
  expect(current).not.toContain(first)

  const { lines } = JSON.parse((await waybill('logs', first, '--json')).out)
  expect(lines.map(({ message }: { message: string }) => message)).toEqual(
    expect.arrayContaining(['run started', 'export started', 'batch answered', 'export ended', 'run ended']),
  )
  expect(lines.every(({ run }: { run: string }) => run === first)).toBe(true)
  const { out } = await waybill('logs')
  expect(out).toMatch(/^\S+Z info {2}run started job=clinic gateway=/m)
  expect(out).toContain('export=b.csv')
  expect(out).not.toContain('export=a.csv')
  expect((await waybill('logs', second.slice(-6))).out).toBe(out)

  await rm(join(folder, 'log'), { recursive: true })
  const gone = await waybill('logs', first, '--json')
  expect(gone.code).toBe(2)
  expect(JSON.parse(gone.out).error.code).toBe('log-not-found')
})

test("a person's records are found in all exports that are still there, and the person is kept nowhere", async () => {
  const clinic = await openClinic()
  const { waybill, folder, home } = clinic.workplace
  await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
  await clinic.run()
  await clinic.deliver(
    'b.csv',
    `${HEADER}${BEN}${ANN.replace('2026-03-02', '2026-03-03').replace('kg', 'parsec')}`,
  )
  await clinic.run('--file', join(folder, 'inbox', 'b.csv'))

  const found = JSON.parse((await waybill('trace', '--person', 'ann', '--json')).out)
  expect(found.unread).toEqual([])
  expect(found.rows.map((one: { export: string; row: number }) => `${one.export}:${one.row}`)).toEqual([
    'b.csv:2',
    'a.csv:1',
  ])
  const outcomes = found.rows.flatMap(({ records }: { records: { rule: string; outcome: string }[] }) =>
    records.map(({ rule, outcome }) => `${rule} ${outcome}`),
  )
  expect(outcomes.toSorted()).toEqual(
    [
      ...['body-weight accepted', 'body-weight rejected', 'hba1c accepted', 'hba1c accepted'],
      ...['heart-rate accepted', 'heart-rate accepted'],
    ].toSorted(),
  )
  const stored = await clinic.store.records('biometric')
  const own = stored.filter((one) => ReferenceOf.parse(one).account.reference === 'ann')
  const ids = found.rows.flatMap(({ records }: { records: { outcome: string; transactionId: string }[] }) =>
    records.filter(({ outcome }) => outcome === 'accepted').map(({ transactionId }) => transactionId),
  )
  expect(ids.toSorted()).toEqual(own.map((one) => one.source.meta.persistentRecordId).toSorted())
  expect((await readFile(join(home, 'ledger.sqlite'))).includes('ann,')).toBe(false)

  await rm(join(folder, 'inbox', 'a.csv'))
  const { out } = await waybill('trace', '--person', 'ann')
  expect(out).toContain('Not searched: a.csv: a.csv is gone or has changed')
  expect(out).not.toContain('ann')
  expect((await waybill('trace', '--person', 'zoe')).out).toMatch(/^No remaining export has/)
})
