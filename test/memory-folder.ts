/**
 * Temporary folders of the tests lie in memory, where the machine has room: what tests write is written to the disk, ledgers with every commit, and
 * nobody needs it afterwards.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** File system in memory that Linux has. */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 1024 ** 3

/** Undefined where there is none, where it has little room (containers have 64 MiB of it), or where no program in it may be started. */
export function memoryFolder(): string | undefined {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES && startsPrograms(MEMORY) ? MEMORY : undefined
  } catch {
    return undefined
  }
}

function startsPrograms(folder: string): boolean {
  const place = mkdtempSync(join(folder, 'waybill-'))
  try {
    const program = join(place, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
    execFileSync(program)
    return true
  } finally {
    rmSync(place, { recursive: true })
  }
}
