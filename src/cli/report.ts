/** `waybill report`: what became of a run, as one HTML page to keep or to mail. */
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { EXIT, WaybillError } from '../model/errors.ts'
import { isReportOf } from '../report/report-page.ts'
import { reportOf } from '../runs/installation.ts'
import type { Action } from './commands.ts'
import { say } from './context.ts'

export const report: Action<'report'> = async (context, options) => {
  const { run, page } = await reportOf(context, options.run)
  const file = resolve(options.out ?? `${run}.html`)
  await writeReport(file, run, page)
  const written = { run, file, bytes: Buffer.byteLength(page) }
  const words = `${relative('.', file)} was written: the report of run ${run}. It holds no health data.`
  say(context, options.json, written, () => words)
  return EXIT.ok
}

/** An earlier report of the same run is replaced, and nothing else. @throws WaybillError `usage-wrong` */
async function writeReport(file: string, run: string, page: string): Promise<void> {
  const there = await beginningOf(file)
  if (there !== undefined && !isReportOf(there, run))
    throw new WaybillError('usage-wrong', `${file} is there already, and is no report of run ${run}`, {
      place: { file },
      remedy: 'Name another file with --out.',
    })
  const beside = `${file}.part`
  try {
    await writeFile(beside, page)
    await rename(beside, file)
  } catch (cause) {
    await rm(beside, { force: true })
    throw new WaybillError('usage-wrong', `${file} cannot be written`, {
      place: { file },
      remedy: 'Name a file in a folder that is there and may be written, with --out.',
      cause,
    })
  }
}

/** Its first bytes; undefined where there is none. What cannot be read is no report. */
async function beginningOf(file: string): Promise<string | undefined> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => error.code)
  if (handle === 'ENOENT') return undefined
  if (typeof handle !== 'object') return ''
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(2048), position: 0 })
    return buffer.toString('utf8', 0, bytesRead)
  } catch {
    return ''
  } finally {
    await handle.close()
  }
}
