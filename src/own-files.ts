/**
 * The files that Waybill makes: how they are named after what others have named, and that they stay where they belong. What a vendor, a
 * server or an archive calls a file is never a path here. And the room on the disk of the home: how much there is, what a run asks for before
 * it begins, and a reserve, a file that takes room while there is some; pruning gives it up on a full disk, so that the ledger can be written
 * while room is made.
 */
import { hash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { reasonOf, WaybillError } from './model/errors.ts'
import { sizeText } from './shown-text.ts'

const ROOT = 0

/** A name is 255 bytes at most on common file systems; what is written beside it has some more. */
const MOST_BYTES = 200
/** Control and format characters, half characters, line ends, separators of folders. */
const NO_PART_OF_A_NAME = /[\p{C}\p{Zl}\p{Zp}/\\]/gu
const DIGEST_DIGITS = 8

/**
 * A name for a file of ours, of 200 bytes at most. What cannot stay as it is, or is too long, has a digest of the whole behind it, so
 * that two names do not become one.
 * @param name whatever somebody else has called it
 * @param ending of our own, `.rejects.csv`
 */
export function ownFileName(name: string, ending = ''): string {
  const clean = name.replace(NO_PART_OF_A_NAME, '_').replace(/^\.*$/, '_')
  const most = MOST_BYTES - Buffer.byteLength(ending)
  if (clean === name && Buffer.byteLength(name) <= most) return `${name}${ending}`
  const digest = `~${hash('sha256', name, 'hex').slice(0, DIGEST_DIGITS)}`
  return `${cutToBytes(clean, most - digest.length)}${digest}${ending}`
}

/** The start of a text, as far as it has so many bytes in UTF-8. */
export function cutToBytes(text: string, most: number): string {
  // A character that is cut in two is left out.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, most), { stream: true })
}

/**
 * Makes a folder and those above it; one that is there stays as it is. Node's own way of doing so tries for ever where a folder is there
 * and takes none, as in /proc.
 * @throws an error of the file system
 */
export function makeFolder(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const isThere = (folder: string): boolean =>
      statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    if (code === 'EEXIST' && isThere(path)) return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    if (isThere(dirname(path))) throw new Error(`no folder can be made in ${dirname(path)}`, { cause: error })
    makeFolder(dirname(path), mode)
    mkdirSync(path, { mode })
  }
}

/** @throws WaybillError `home-unusable` where a path leads out of the folder, by its parts or by a link, or may not be looked at */
export function assertWithin(folder: string, path: string): void {
  const below = relative(folder, path)
  if (isAbsolute(below) || below.split(sep)[0] === '..')
    throw new WaybillError('home-unusable', `${path} is not in ${folder}: nothing is written there`, {
      place: { file: path },
    })
  let at = folder
  for (const part of below.split(sep)) {
    at = join(at, part)
    const found = lookAt(at)
    // What lies below a file, the file system refuses.
    if (found === undefined || found.isFile()) return
    if (at !== folder && found.isSymbolicLink())
      throw isLink(
        at,
        'Remove the link. To keep these files on another disk, move the whole home there and set WAYBILL_HOME.',
      )
  }
}

/**
 * What stands at a path of ours, which a link is not followed from; undefined where nothing does.
 * @throws WaybillError `home-unusable` where this user may not know
 */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
    throw new WaybillError('home-unusable', `${path} may not be looked at by this user${code}`, {
      place: { file: path },
      remedy: 'Run Waybill as the user who owns it, or give that user the folder.',
      cause,
    })
  }
}

/**
 * Opens a file of ours to write to, and makes it where it is not there: for its owner alone, never through a link.
 * @param folder in which it must be, the home
 * @param flags of `node:fs` `constants`, beside those that follow from this
 * @throws WaybillError `home-unusable` for a link; an error of the file system
 */
export async function openOwn(folder: string, path: string, flags = 0): Promise<FileHandle> {
  assertWithin(folder, path)
  makeFolder(dirname(path))
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants
  const handle = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW | flags, 0o600)
  // One that was there may have been opened to others.
  await handle.chmod(0o600)
  return handle
}

/** Makes a file for this user alone, where neither file nor link is (open(2), O_EXCL). @throws an error of the file system */
export const newOwn = (path: string): Promise<FileHandle> => open(path, 'wx', 0o600)

/** Makes the same, empty. */
export const makeOwn = (path: string): void => closeSync(openSync(path, 'wx', 0o600))

/**
 * Writes a file whole or not at all, by another name that is renamed. Replaces an existing file, and leaves its content to those who have it open.
 * @param isNew refuses an existing file
 * @throws WaybillError `usage-wrong`: a new file exists, or cannot be written; `home-unusable`: a link, or no regular file
 */
export function writeOwn(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, isNew = false }: { readonly mode?: number; readonly isNew?: boolean } = {},
): void {
  const aside = `${path}.${process.pid}.part`
  try {
    const there = lstatSync(path, { throwIfNoEntry: false })
    // Checked first: a full disk has no room for the other name.
    if (there !== undefined && isNew) throw Object.assign(new Error('taken'), { code: 'EEXIST' })
    if (there?.isSymbolicLink() === true) throw isLink(path)
    if (there?.isFile() === false) throw refused(path, 'is no file')
    rmSync(aside, { force: true })
    try {
      writeFileSync(aside, content, { flag: 'wx', mode: 0o600, flush: true })
      chmodSync(aside, mode)
      if (isNew) placeNew(aside, path)
      else renameSync(aside, path)
    } finally {
      rmSync(aside, { force: true })
    }
  } catch (cause) {
    if (cause instanceof WaybillError) throw cause
    const isTaken = wasTaken(cause)
    const found = isTaken ? 'is there already; nothing was written' : `cannot be written: ${reasonOf(cause)}`
    throw new WaybillError('usage-wrong', `${path} ${found}`, {
      place: { file: path },
      remedy: isTaken
        ? 'Name another file, or move that one away.'
        : 'Name a file in a folder that is there and may be written.',
      cause,
    })
  }
}

/**
 * Gives a file a name that is free: by a link, as a rename replaces what is there. The old name may stay.
 * @throws an error of the file system: `wasTaken`, or `EXDEV` for another file system
 */
export function placeNew(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (wasTaken(error) || (error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
    // A file system without links, or a file of another user.
    makeOwn(to)
    renameSync(from, to)
  }
}

/** True for an error, or a cause, that a file exists. */
export const wasTaken = (error: unknown): boolean =>
  error instanceof Error && (('code' in error && error.code === 'EEXIST') || wasTaken(error.cause))

/**
 * Appends to a file of this user or root; makes a missing file. Follows a link only if root owns the link, and only to a pipe or device, as
 * /dev/stderr is.
 * @throws WaybillError `home-unusable` for other links, and another user's file; an error of the file system
 */
export function appendOwn(path: string, text: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false })
  const isLinked = there?.isSymbolicLink() === true
  if (isLinked && (there.uid !== ROOT || statSync(path).isFile())) throw isLink(path)
  const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
  const flags = isLinked ? O_WRONLY | O_APPEND : O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW
  const opened = openSync(path, flags, 0o600)
  try {
    const found = fstatSync(opened)
    if (found.isFile() && ![ROOT, process.geteuid?.()].includes(found.uid))
      throw refused(path, `belongs to user ${found.uid}: nothing is written into the file of another`)
    appendFileSync(opened, text)
  } finally {
    closeSync(opened)
  }
}

/** `0666` */
export const modeText = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')

/**
 * Takes a file of ours from users who are neither its owner nor of its group.
 * @returns the mode that it had; undefined where nothing was to be done
 * @throws an error of the file system where it is another user's
 */
export function closeToOthers(path: string): number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink() || (found.mode & 0o007) === 0) return undefined
  chmodSync(path, found.mode & 0o770)
  return found.mode
}

const refused = (path: string, why: string, remedy = 'Remove it, or name another file.'): WaybillError =>
  new WaybillError('home-unusable', `${path} ${why}`, { place: { file: path }, remedy })

const isLink = (path: string, remedy?: string): WaybillError =>
  refused(path, 'is a link: nothing is written through a link', remedy)

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

/** Bytes between two checks of the disk. */
const LOOK_EVERY = 1024 * 1024

/**
 * Guards the free space of a disk.
 * @param least bytes that must stay free
 * @returns a function to call before each write, with the bytes of the write. @throws WaybillError `disk-full`
 */
export function createRoom(folder: string, least: number): (bytes: number) => void {
  let unseen = LOOK_EVERY
  return (bytes) => {
    unseen += bytes
    if (unseen < LOOK_EVERY) return
    unseen = 0
    const free = freeBytes(folder)
    if (free - bytes < least)
      throw new WaybillError(
        'disk-full',
        `the disk of ${folder} has ${sizeText(free)} left: ${sizeText(bytes)} more of an export, and ${sizeText(least)} must stay free (WAYBILL_MIN_FREE)`,
        { place: { file: folder } },
      )
  }
}

/** Gives the reserve up where the disk has less left than it takes. */
export function giveUpReserve(home: string): void {
  if (freeBytes(home) < RESERVE_BYTES) rmSync(reserveOf(home), { force: true })
}
