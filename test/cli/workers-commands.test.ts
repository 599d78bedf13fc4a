/** Commands by workers, and in one process: the same words, exit codes, next steps and records. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptySchema } from '../postgres/server.ts'
import { ANN, BEN, CLINIC, type Clinic, HEADER, openClinic } from './clinic.ts'
import { type Ended, ended } from './command-line.ts'
import { writeMapping } from './left-behind.ts'

const JOB = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
`
const CAT = 'cat,03/02/2026,63,5.3,72.5,kg,fine\n'
const DAN = 'dan,2026-01-05,64,5.4,73.5,kg,fine\n'
const CORRECTED = CLINIC.replace('format: yyyy-MM-dd', 'format: [yyyy-MM-dd, MM/dd/yyyy]')
const SINCE = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?Z)?/g
const RUN = /\d{8}T\d{6}Z-[0-9a-f]{6}/g

/** Words of a command without what differs between two installations. */
const plain = ({ code, out, err }: Ended, { workplace, store }: Clinic) => ({
  code,
  out: withoutOwn(out, workplace.folder, store.url),
  // Progress, and the log beside it, are those of the process.
  error: withoutOwn(err.slice(err.indexOf('\nerror ') + 1), workplace.folder, store.url).replace(
    /^(?!error )[\s\S]*/,
    '',
  ),
})

const withoutOwn = (text: string, folder: string, url: string): string =>
  text
    .replaceAll(RUN, 'RUN')
    .replaceAll(folder, 'FOLDER')
    .replaceAll(url, 'GATEWAY')
    .replaceAll(SINCE, 'THEN')
    .replaceAll(/[\d,.]+ (ms|s|rows a second|records a second)\b/g, 'SO MUCH')

/** What a night, its mistakes and their repair print. */
async function story(clinic: Clinic): Promise<unknown[]> {
  const { waybill } = clinic.workplace
  const said: unknown[] = []
  const type = async (...args: string[]): Promise<void> => {
    said.push(args[0], plain(await waybill(...args), clinic))
  }
  await type('run', 'clinic')
  await clinic.deliver('clinic_20260302.csv', HEADER + ANN + CAT)
  await type('run', 'clinic')
  await type('resume', 'clinic')
  await writeMapping(clinic, CORRECTED)
  await type('rerun', 'latest')
  await clinic.deliver('by-hand.csv', HEADER + BEN)
  await type('run', 'clinic', '--file', join('inbox', 'by-hand.csv'))
  await clinic.deliver('clinic_20260105.csv', HEADER + DAN)
  await type('backfill', 'clinic', '--from', '2026-01-05', '--to', '2026-01-06')
  await type('backfill', 'clinic', '--from', '2025-01-05', '--to', '2025-01-06')
  return [said, await clinic.stored()]
}

test('run, resume, rerun, run --file and backfill by workers print what they print in one process', async () => {
  const byWorker = await openClinic({
    job: JOB,
    environment: { WAYBILL_LEDGER: await emptySchema(), WAYBILL_RUN_BY: 'workers' },
  })
  const worker = byWorker.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  const inOneProcess = await openClinic({ job: JOB })
  expect(await story(byWorker)).toEqual(await story(inOneProcess))
})
