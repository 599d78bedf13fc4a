/**
 * Files that Waybill makes: names derived from the names of others, and places within a folder. The name of a file at a vendor, on a server or in
 * an archive is never a path here. Free space on the disk of the home: the room that a run needs before it begins, and a reserve, a file that
 * pruning removes on a full disk, so that the ledger can be written.
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
import { reasonOf, WaybillError } from '../model/errors.ts'
import { sizeText } from './shown-text.ts'

const ROOT = 0

/** Most bytes of a name: common file systems take 255, and files beside have longer names. */
const MOST_BYTES = 200
/** Control and format characters, half characters, line ends, separators of folders. */
const NO_PART_OF_A_NAME = /[\p{C}\p{Zl}\p{Zp}/\\]/gu
const DIGEST_DIGITS = 8

/**
 * Derives a file name of 200 bytes at most. A changed or shortened name gets a digest of the original, so that two names stay apart.
 * @param name by somebody else
 * @param ending of our own, `.rejects.csv`
 */
export function ownFileName(name: string, ending = ''): string {
  const clean = name.replace(NO_PART_OF_A_NAME, '_').replace(/^\.*$/, '_')
  const most = MOST_BYTES - Buffer.byteLength(ending)
  if (clean === name && Buffer.byteLength(name) <= most) return `${name}${ending}`
  const digest = `~${hash('sha256', name, 'hex').slice(0, DIGEST_DIGITS)}`
  return `${cutToBytes(clean, most - digest.length)}${digest}${ending}`
}

/** Start of a text, of at most so many bytes in UTF-8. */
export function cutToBytes(text: string, most: number): string {
  // Drops a character that is cut in two.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, most), { stream: true })
}

/** Code of an error of the system or a library; empty for none. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/**
 * Makes a folder and the folders above. The recursive mkdir of Node never returns below a folder that takes none, as in /proc.
 * @throws an error of the file system
 */
export function makeFolder(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const code = errorCode(error)
    const isThere = (folder: string): boolean =>
      statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    if (code === 'EEXIST' && isThere(path)) return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    if (isThere(dirname(path))) throw new Error(`no folder can be made in ${dirname(path)}`, { cause: error })
    makeFolder(dirname(path), mode)
    mkdirSync(path, { mode })
  }
}

/** @throws `home-unusable` for a path out of the folder, by its parts or by a link, and for one that this user may not see */
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
    // The file system refuses a path below a file.
    if (found === undefined || found.isFile()) return
    if (at !== folder && found.isSymbolicLink())
      throw isLink(
        at,
        'Remove the link. To keep these files on another disk, move the whole home there and set WAYBILL_HOME.',
      )
  }
}

/** Attributes of a path, or of the link there; undefined for nothing. @throws `home-unusable` if this user may not see the path */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    const code = errorCode(cause)
    const text = code === '' ? '' : ` (${code})`
    throw new WaybillError('home-unusable', `${path} may not be looked at by this user${text}`, {
      place: { file: path },
      remedy: 'Run Waybill as the user who owns it, or give that user the folder.',
      cause,
    })
  }
}

/**
 * Opens a file to write, and makes a missing one: for this user alone, never through a link.
 * @param folder around the file, the home
 * @param flags of `node:fs` `constants`, added to those of this function
 * @throws `home-unusable` for a link; an error of the file system
 */
export async function openOwn(folder: string, path: string, flags = 0): Promise<FileHandle> {
  assertWithin(folder, path)
  makeFolder(dirname(path))
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants
  const handle = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW | flags, 0o600)
  // An existing file may be open to others.
  await handle.chmod(0o600)
  return handle
}

/** Makes a file for this user alone; refuses an existing file or link (open(2), O_EXCL). @throws an error of the file system */
export const newOwn = (path: string): Promise<FileHandle> => open(path, 'wx', 0o600)

/** Makes such a file, empty. */
export const makeOwn = (path: string): void => closeSync(openSync(path, 'wx', 0o600))

/**
 * Writes a file whole or not at all, under another name that is renamed. A process that has the old file open keeps its content.
 * @param isNew refuses an existing file
 * @throws `usage-wrong`: a new file exists, or cannot be written; `home-unusable`: a link, or no regular file
 */
export function writeOwn(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, isNew = false }: { readonly mode?: number; readonly isNew?: boolean } = {},
): void {
  const aside = `${path}.${process.pid}.part`
  try {
    const there = lstatSync(path, { throwIfNoEntry: false })
    // First, as a full disk has no room for the other name.
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
 * Gives a file a free name, by a link, as a rename replaces a file there. The old name may stay.
 * @throws an error of the file system: `wasTaken`, or `EXDEV` for another file system
 */
export function placeNew(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (wasTaken(error) || errorCode(error) === 'EXDEV') throw error
    // A file system without links, or a file of another user.
    makeOwn(to)
    renameSync(from, to)
  }
}

/** True for an error, or a cause, about an existing file. */
export const wasTaken = (error: unknown): boolean =>
  error instanceof Error && (errorCode(error) === 'EEXIST' || wasTaken(error.cause))

/**
 * Appends to a file of this user or root; makes a missing file. Follows a link only if root owns the link, and only to a pipe or device, as
 * /dev/stderr is.
 * @throws `home-unusable` for other links, and another user's file; an error of the file system
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
 * Closes a file to users who are neither its owner nor of its group.
 * @returns the former mode; undefined for no change
 * @throws an error of the file system for the file of another user
 */
export function closeToOthers(path: string): number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink() || (found.mode & 0o007) === 0) return undefined
  chmodSync(path, found.mode & 0o770)
  return found.mode
}

/** Removes the socket that a process has left behind. @throws `home-unusable` for any other file */
export function removeSocket(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw refused(path, 'is not a socket')
  rmSync(path)
}

/** Closes a socket to other users. */
export const closeSocket = (path: string): void => chmodSync(path, 0o600)

const refused = (path: string, why: string, remedy = 'Remove it, or name another file.'): WaybillError =>
  new WaybillError('home-unusable', `${path} ${why}`, { place: { file: path }, remedy })

const isLink = (path: string, remedy?: string): WaybillError =>
  refused(path, 'is a link: nothing is written through a link', remedy)

/** More than the ledger needs for the largest step of a pruning. */
const RESERVE_BYTES = 8 * 1024 * 1024
const PIECE = Buffer.alloc(64 * 1024)

const reserveOf = (home: string): string => join(home, 'reserve')

/** Free bytes for a user without privileges. @throws an error of the file system */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * Checks the free space before a run, and makes a reserve if there is room.
 * @param least free bytes
 * @throws `disk-full`
 */
export async function assertRoom(home: string, least: number): Promise<void> {
  const free = freeBytes(home)
  if (free < least) throw fullDisk(home, free, `, and a run begins only with ${sizeText(least)}`)
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
 * @param least free bytes
 * @returns a function to call before each write, with its bytes. @throws `disk-full`
 */
export function createRoom(folder: string, least: number): (bytes: number) => void {
  let unseen = LOOK_EVERY
  return (bytes) => {
    unseen += bytes
    if (unseen < LOOK_EVERY) return
    unseen = 0
    const free = freeBytes(folder)
    if (free - bytes < least)
      throw fullDisk(
        folder,
        free,
        `: ${sizeText(bytes)} more of an export, and ${sizeText(least)} must stay free`,
      )
  }
}

const fullDisk = (folder: string, free: number, wanted: string): WaybillError =>
  new WaybillError(
    'disk-full',
    `the disk of ${folder} has ${sizeText(free)} left${wanted} (WAYBILL_MIN_FREE)`,
    { place: { file: folder } },
  )

/** Removes the reserve if the disk has less free space than its size. */
export function giveUpReserve(home: string): void {
  if (freeBytes(home) < RESERVE_BYTES) rmSync(reserveOf(home), { force: true })
}
