/**
 * What some tests need and not every machine has. Given to a `describe` or a test as its options, tests are skipped where that is missing, and the
 * closing lines of the suite say how many were, and for want of what.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

declare module 'vitest' {
  interface TaskMeta {
    /** The words behind "12 tests were skipped for want of". */
    needs?: string
  }
}

export interface Needed {
  readonly skip: boolean
  readonly meta: { readonly needs: string }
}

export const needing = (isThere: boolean, needs: string): Needed => ({ skip: !isThere, meta: { needs } })

const starts = (program: string): boolean =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0

const IS_ROOT = process.getuid?.() === 0

/** Folder of exports in real formats. */
export const CORPUS = process.env['WAYBILL_CORPUS']

export const NEEDS_CORPUS = needing(
  CORPUS !== undefined,
  'a corpus of real export formats, whose folder is WAYBILL_CORPUS',
)
export const NEEDS_ROOT = needing(IS_ROOT, 'root')
export const NEEDS_NO_ROOT = needing(!IS_ROOT, 'a user that is not root')
/** Whether the clock of processes is shifted, and that of files is not (test/at-midnight.ts). */
export const IS_SHIFTED = process.env['FAKETIME'] !== undefined
export const NEEDS_CLOCK_OF_FILES = needing(!IS_SHIFTED, 'a clock that files share')
export const NEEDS_PROC = needing(existsSync('/proc/self/ns/pid'), '/proc of Linux')

/** @param program answers to `--version` where it is installed */
export const needsProgram = (program: string): Needed => needing(starts(program), `${program} on the PATH`)
