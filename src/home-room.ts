/**
 * Room on the disk of the home: how much there is, what a run asks for before it begins, and a reserve. The reserve is a file that takes room while
 * there is some; pruning gives it up on a full disk, so that the ledger can be written while room is made.
 */
import { rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { WaybillError } from './model/errors.ts'
import { openOwn } from './own-files.ts'
import { sizeText } from './shown-text.ts'

/** More than the ledger needs for the largest step of a pruning. */
const RESERVE_BYTES = 8 * 1024 * 1024
const PIECE = Buffer.alloc(64 * 1024)

const reserveOf = (home: string): string => join(home, 'reserve')

/** What a user without privileges can still write, in bytes. @throws an error of the file system */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * Before a run begins. Where there is room for it, a reserve is made.
 * @param least bytes that must be free
 * @throws WaybillError `disk-full`
 */
export async function assertRoom(home: string, least: number): Promise<void> {
  const free = freeBytes(home)
  if (free < least)
    throw new WaybillError(
      'disk-full',
      `the disk of ${home} has ${sizeText(free)} left, and a run begins only with ${sizeText(least)} (WAYBILL_MIN_FREE)`,
      { place: { file: home } },
    )
  const reserve = reserveOf(home)
  if (free < 2 * RESERVE_BYTES || statSync(reserve, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return
  const handle = await openOwn(home, reserve)
  try {
    for (let at = 0; at < RESERVE_BYTES; at += PIECE.length) await handle.write(PIECE, 0, PIECE.length, at)
  } finally {
    await handle.close()
  }
}

/** Gives the reserve up where the disk has less left than it takes. */
export function giveUpReserve(home: string): void {
  if (freeBytes(home) < RESERVE_BYTES) rmSync(reserveOf(home), { force: true })
}
