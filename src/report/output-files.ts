/** The files that a run has written, as they lie in the home now: size, mode and digest. The only part of a report that looks at files. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { RunSummary } from '../run/summary.ts'

export interface OutputFile {
  readonly what: 'rejects' | 'receipts'
  /** Relative to the home. */
  readonly path: string
  /** Undefined where it is gone. */
  readonly found?: { readonly bytes: number; readonly mode: number; readonly sha256: string }
}

/** @param home folder of the installation */
export async function measureOutputFiles(
  home: string,
  { exports, files }: Pick<RunSummary, 'exports' | 'files'>,
): Promise<OutputFile[]> {
  const named = [
    ...exports.flatMap(({ rejects }) => (rejects === undefined ? [] : [['rejects', rejects] as const])),
    ...(files.receipts === undefined ? [] : [['receipts', files.receipts] as const]),
  ]
  const measured: OutputFile[] = []
  for (const [what, path] of named) {
    const found = await measure(path).catch(() => undefined)
    measured.push({ what, path: relative(home, path), ...(found === undefined ? {} : { found }) })
  }
  return measured
}

async function measure(path: string): Promise<OutputFile['found']> {
  const { size, mode } = await lstat(path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { bytes: size, mode: mode & 0o777, sha256: hash.digest('hex') }
}
