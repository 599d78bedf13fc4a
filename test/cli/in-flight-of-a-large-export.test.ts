/** An export with batches in flight that cannot be read any more as it was: nothing else is sent before those are settled. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER } from './clinic.ts'
import { type FaultyClinic, openFaultyClinic } from './left-behind.ts'

/** ANN and BEN, as lines of JSON. */
const TWO = [ANN, BEN]
  .map((row) => {
    const cells = row.trim().split(',')
    const members = HEADER.trim()
      .split(',')
      .map((name, at) => [name, cells[at]])
    return `${JSON.stringify(Object.fromEntries(members))}\n`
  })
  .join('')

/** An export with so many MiB beside the two rows, of JSON: long texts of it are read fastest. */
const packed = (mebibytes: number): Buffer => {
  const remark = 'x'.repeat(1024 ** 2)
  const row = (at: number): string => `${JSON.stringify({ id: `p${at}`, day: '2026-03-02', remark })}\n`
  return gzipSync(TWO + Array.from({ length: mebibytes }, (_, at) => row(at)).join(''))
}

const job = (
  limits: string,
): string => `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.ndjson*", mapping: clinic-json${limits} }
accounts: { register: never }
`
/** More comes out of a large export than out of a packed file may, unless the job allows it. */
const LIMITS = ', limits: { ratio: 1100 }'

async function cutOff(clinic: FaultyClinic, ...args: string[]): Promise<void> {
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(503)))
  expect((await clinic.workplace.waybill(...args)).code).toBe(3)
  clinic.strike(() => PASS)
}

test('by the limits of the job: the run stops, and goes on when it can be read', async () => {
  const [narrow, wide] = [', limits: { bytes: 1MiB }', ', limits: { bytes: 9MiB }']
  const clinic = await openFaultyClinic({ job: job(wide), patience: '1s' })
  await clinic.deliver('clinic_20260302.ndjson.gz', packed(2))
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
  await writeFile(join(history, 'clinic_20260302.ndjson.gz'), packed(70))
  await cutOff(
    clinic,
    ...['backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-31', '--in', 'history'],
  )
  await clinic.deliver('clinic_20260401.ndjson', TWO)
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
})
