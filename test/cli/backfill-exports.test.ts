/** Which exports a backfill takes: all of its range, by each mapping that reads them, whatever comes in between. */
import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, CLINIC, HEADER } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { openFaultyClinic } from './left-behind.ts'

const DATED = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
`
const RANGE = ['backfill', 'clinic', '--from', '2026-01-01', '--to', '2026-03-31'] as const

test('an archive of which a backfill has begun one member is read to its end, whatever older export comes in between', async () => {
  const clinic = await openFaultyClinic({
    job: DATED.replace('clinic_{date:yyyyMMdd}.csv"', 'clinic_{date:yyyyMMdd}.*", members: "*.csv"'),
    patience: '1s',
  })
  const { workplace } = clinic
  const archive = new ZipFile()
  archive.addBuffer(Buffer.from(`${HEADER}${ANN}`), '1.csv')
  archive.addBuffer(Buffer.from(`${HEADER}${BEN}`), '2.csv')
  archive.end()
  const history = join(workplace.folder, 'history')
  await mkdir(history)
  await pipeline(archive.outputStream, createWriteStream(join(history, 'clinic_20260302.zip')))
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(503)))
  expect((await workplace.waybill(...RANGE, '--in', 'history')).code).toBe(3)
  clinic.strike(() => PASS)
  await writeFile(join(history, 'clinic_20260301.csv'), `${HEADER}${ANN.replaceAll('ann', 'cat')}`)
  const ended = await workplace.waybill(...RANGE, '--in', 'history', '--json')
  expect(ended.code).toBe(0)
  expect(summaryOf(ended).exports.map(({ name }) => name)).toEqual([
    ...['clinic_20260302.zip!1.csv', 'clinic_20260302.zip!2.csv', 'clinic_20260301.csv'],
  ])
  expect(await clinic.store.allRecords()).toHaveLength(9)
})

test('an export that two mappings of the job read is read by both in a backfill, too', async () => {
  const source = (mapping: string): string =>
    `{ from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: ${mapping} }`
  const clinic = await openFaultyClinic({
    job: `exports: [${source('clinic')}, ${source('weight')}]\naccounts: { register: never }\n`,
  })
  const { workplace } = clinic
  await writeFile(
    join(workplace.folder, 'mappings/weight.yaml'),
    CLINIC.replace('mapping: clinic', 'mapping: weight').replace(
      'sendingSystem: clinic',
      'sendingSystem: scales',
    ),
  )
  await clinic.deliver('clinic_20260302.csv', `${HEADER}${ANN}${BEN}`)
  const { exports } = summaryOf(await workplace.waybill(...RANGE, '--json'))
  const run = summaryOf(await clinic.run())
  expect(run.exports).toHaveLength(2)
  expect(exports).toHaveLength(2)
})
