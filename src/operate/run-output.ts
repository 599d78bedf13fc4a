/** The files of a run in the home: how large they are, and their end. */
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PrunableRun } from '../ledger/pruned-detail.ts'
import { WaybillError } from '../model/errors.ts'
import { assertWithin } from '../own-files.ts'

export interface FileCounts {
  files: number
  bytes: number
}

type Output = Pick<PrunableRun, 'rejectsPath' | 'receiptsPath'>

export async function measureOutput(home: string, run: Output): Promise<FileCounts> {
  const counts = { files: 0, bytes: 0 }
  for (const path of await outputOf(home, run)) {
    const found = await lstat(path).catch(() => undefined)
    if (found === undefined) continue
    counts.files += 1
    counts.bytes += found.size
  }
  return counts
}

/** What is gone already is no failure. @throws WaybillError `home-unusable` */
export async function removeOutput(home: string, run: Output): Promise<FileCounts> {
  const counts = await measureOutput(home, run)
  for (const path of [run.receiptsPath, run.rejectsPath].map((one) => join(home, one))) {
    // What lies behind a link is not of the home.
    assertWithin(home, path)
    await rm(path, { recursive: true, force: true }).catch((cause) => {
      throw new WaybillError('home-unusable', `${path} cannot be removed`, {
        place: { file: path },
        remedy: 'Check who owns the file, then prune again: it goes on where it stopped.',
        cause,
      })
    })
  }
  return counts
}

async function outputOf(home: string, { rejectsPath, receiptsPath }: Output): Promise<string[]> {
  const folder = join(home, rejectsPath)
  const names = await readdir(folder).catch(() => [])
  return [...names.map((name) => join(folder, name)), join(home, receiptsPath)]
}
