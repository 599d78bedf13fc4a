/** Disks that are really full, or may really not be written: file systems of their own in memory, where this user may mount one. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { needing } from '../needed.ts'

/** A file system of its own in memory; undefined where this user may mount none. */
export function mountDisk(
  size: string,
): { folder: string; resize(size: string, mode: 'ro' | 'rw'): void } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-disk-'))
  const mount = (...args: string[]): boolean => spawnSync('mount', args).status === 0
  if (!mount('-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder)) {
    rmSync(folder, { recursive: true })
    return undefined
  }
  onTestFinished(() => {
    spawnSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    resize: (now, mode) => expect(mount('-o', `remount,${mode},size=${now}`, folder)).toBe(true),
  }
}

export const MOUNTS =
  spawnSync('sh', [
    '-c',
    'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d"; s=$?; rmdir "$d"; exit $s',
  ]).status === 0

export const NEEDS_MOUNTS = needing(MOUNTS, 'a user who may mount a file system')
