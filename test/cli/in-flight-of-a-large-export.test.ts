/** An export with batches in flight that cannot be read any more as it was: nothing else is sent before those are settled. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER } from './clinic.ts'
import { type FaultyClinic, openFaultyClinic } from './left-behind.ts'

/** An export with so many rows of 70 kB beside the two. */
const packed = (rows: number): Buffer =>
  gzipSync(
    `${HEADER}${ANN}${BEN}${Array.from({ length: rows }, (_, at) => `p${at},2026-03-02,,,,,${'x'.repeat(70_000)}\n`).join('')}`,
  )

const job = (
  limits: string,
): string => `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv*", mapping: clinic${limits} }
accounts: { register: never }
`
/** More comes out of a thousand rows than out of a packed file may, unless the job allows it. */
const LIMITS = ', limits: { ratio: 1100 }'

async function cutOff(clinic: FaultyClinic, ...args: string[]): Promise<void> {
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(503)))
  expect((await clinic.workplace.waybill(...args)).code).toBe(3)
  clinic.strike(() => PASS)
}

test('by the limits of the job: the run stops, and goes on when it can be read', async () => {
  const [narrow, wide] = [', limits: { bytes: 1MiB }', ', limits: { bytes: 9MiB }']
  const clinic = await openFaultyClinic({ job: job(wide), patience: '1s' })
  await clinic.deliver('clinic_20260302.csv.gz', packed(30))
  await cutOff(clinic, 'run', 'clinic')
  const submit = 'submit: { readLag: 100ms, patience: 1s }\n'
  await clinic.workplace.job('clinic', job(narrow) + submit)
  const stopped = await clinic.run()
  expect([stopped.code, JSON.parse(stopped.out).state]).toEqual([2, 'interrupted'])
  await clinic.workplace.job('clinic', job(wide) + submit)
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
})

test('by limits that are not those of the job, as a backfill has taken it from another folder: it is settled by those of the job', async () => {
  const clinic = await openFaultyClinic({ job: job(LIMITS), patience: '1s' })
  const history = join(clinic.workplace.folder, 'history')
  await mkdir(history)
  await writeFile(join(history, 'clinic_20260302.csv.gz'), packed(1_000))
  await cutOff(
    clinic,
    ...['backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-31', '--in', 'history'],
  )
  await clinic.deliver('clinic_20260401.csv', `${HEADER}${ANN}${BEN}`)
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
})
