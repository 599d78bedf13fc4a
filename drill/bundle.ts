/** The watched program in a few files, made once for all rounds. */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle as bundleInto, copyData } from '../build/bundle.ts'

/** Inside the project: packages that stay as they are, with files of their own, are found from here. */
const CACHE = join(import.meta.dirname, '../node_modules/.cache')

/** @returns the folder that was made for it, and the file to start */
export async function bundle(
  program: string,
): Promise<{ readonly folder: string; readonly program: string }> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'waybill-drill-'))
  copyData()
  await bundleInto(folder, { program })
  return { folder, program: join(folder, 'program.mjs') }
}
