/**
 * Files with instructions for Waybill: `.env`, jobs, mappings, commands in these files, the home. A user who may write to such a file, or to a
 * folder above, acts as the user of Waybill: the file is refused.
 */
import { lstatSync, readFileSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { delimiter, dirname, resolve } from 'node:path'
import { WaybillError } from '../model/errors.ts'
import { shellWord } from './shown-text.ts'

const ROOT = 0

/** A place to which another user may write. */
interface Doubt {
  /** The file, a folder above the file, or the target of a link. */
  readonly at: string
  /** Text behind `at`: "may be written by …". */
  readonly why: string
  /** Undefined for a mere warning. */
  readonly remedy: string | undefined
}

/**
 * Checks a file or folder, the folders above up to the first one of root, and the same for every link on the way.
 * @returns nothing on a system without users, and for a missing path
 */
export function doubtsOf(path: string): Doubt[] {
  const me = process.geteuid?.()
  const doubts: Doubt[] = []
  const seen = new Set<string>()
  const starts = me === undefined ? [] : [resolve(path)]
  for (const start of starts)
    for (let at = start; me !== undefined && !seen.has(at); at = dirname(at)) {
      seen.add(at)
      const found = statsOf(at)
      if (found?.isSymbolicLink() === true) {
        if (!isTrusted(found.uid, me)) doubts.push(ofAnother(at, found))
        starts.push(resolve(realpathSync(dirname(at)), readlinkSync(at)))
        continue
      }
      const isNear = at === start || at === dirname(start)
      const doubt = found === undefined ? undefined : doubtOf(at, found, me, isNear)
      if (doubt !== undefined) doubts.push(doubt)
      if (at !== start && found?.uid === ROOT && doubt?.remedy === undefined) break
    }
  return doubts
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // Opening the file reports the error.
    return undefined
  }
}

/** @param isNear true for the checked path and its folder */
function doubtOf(at: string, found: Stats, me: number, isNear: boolean): Doubt | undefined {
  if (!isTrusted(found.uid, me)) return ofAnother(at, found)
  const byAll = (found.mode & 0o002) !== 0
  const byGroup = (found.mode & 0o020) !== 0 && !isWithoutOthers(found.gid, me)
  if (!byAll && !byGroup) return undefined
  const writers = byAll ? 'every user of this machine' : `group ${found.gid}, which others may be in`
  const why = `may be written by ${writers}`
  // In a sticky folder, only the owner of a file removes or replaces the file (chmod(1)).
  if (found.isDirectory() && (found.mode & 0o1000) !== 0)
    return isNear ? { at, why: `${why}, but is sticky`, remedy: undefined } : undefined
  if (!byAll && isVolumeOf(at, found))
    return { at, why: `${why}, as the volume was given to it (fsGroup)`, remedy: undefined }
  return { at, why, remedy: `Remove the right: chmod ${byAll ? 'o' : 'g'}-w ${shellWord(at)}` }
}

const isTrusted = (uid: number, me: number): boolean => uid === me || uid === ROOT

const ofAnother = (at: string, { uid }: Stats): Doubt => ({
  at,
  why: `belongs to user ${uid}, who is neither this user nor root`,
  remedy: `If it belongs to a service, run Waybill as that user: runuser -u USER -- waybill …. Otherwise take it over as root: chown -h ${process.geteuid?.() ?? 'USER'} ${shellWord(at)}`,
})

/** True for the group of root, and for a group without other users in the lists of this machine. */
function isWithoutOthers(gid: number, me: number): boolean {
  if (gid === ROOT) return true
  const users = table('/etc/passwd')
  const isMe = (name: string): boolean =>
    users.some(([user, , uid]) => user === name && isTrusted(Number(uid), me))
  if (users.some(([, , uid, group]) => Number(group) === gid && !isTrusted(Number(uid), me))) return false
  const group = table('/etc/group').find(([, , id]) => Number(id) === gid)
  if (group === undefined) return gid === process.getegid?.()
  const [, , , members = ''] = group
  return members.split(',').every((name) => name === '' || isMe(name))
}

/** passwd(5), group(5) */
function table(file: string): string[][] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => line.split(':'))
  } catch {
    return []
  }
}

/**
 * True on a volume that Kubernetes gave to a group of this process: the root of the volume belongs to the group, is writable by the group, and is
 * setgid (kubernetes.io/docs/tasks/configure-pod-container/security-context).
 */
function isVolumeOf(path: string, { gid, ...found }: Stats): boolean {
  if (process.getgroups?.().includes(gid) !== true) return false
  let root = (found.mode & 0o170000) === 0o040000 ? path : dirname(path)
  const { dev } = statSync(root)
  while (root !== dirname(root) && statSync(dirname(root)).dev === dev) root = dirname(root)
  const ofRoot = statSync(root)
  return root !== dirname(root) && ofRoot.gid === gid && (ofRoot.mode & 0o2020) === 0o2020
}

/** @param path checked path */
export const doubtText = ({ at, why }: Doubt, path: string): string =>
  `${at} ${why}${at === resolve(path) ? '' : `, and ${path} depends on it`}`

/** @throws `file-untrusted` if another user may write to the file */
export function assertObeyable(path: string): void {
  for (const doubt of doubtsOf(path)) {
    const { at, remedy } = doubt
    if (remedy !== undefined)
      throw new WaybillError('file-untrusted', doubtText(doubt, path), { place: { file: at }, remedy })
  }
}

/** Reads a file with instructions. @throws `file-untrusted`; an error of the file system */
export async function readObeyed(path: string): Promise<string> {
  assertObeyable(path)
  return readFile(path, 'utf8')
}

/** A word of a shell command: plain, escaped and quoted pieces in a row. */
const WORD = String.raw`(?:'[^']*'|"[^"]*"|\\.|[^\s;|&()<>\\'"\x60])+`
const WORDS = new RegExp(WORD, 'g')
const WRITTEN = new RegExp(String.raw`>+[&|]?\s*${WORD}`, 'g')

/**
 * Checks the files in a shell command, by path or on the PATH, also below a folder in the command (`cd`). Skips files that the command only writes.
 * @param folder working folder of the command
 * @throws `file-untrusted`
 */
export function assertObeyableCommand(
  command: string,
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const text = command
    .replace(/(?<![^\s'"=])~(?=\/)/g, '$HOME')
    .replace(/\$(?:(\w+)|\{(\w+)\})/g, (_, bare, braced) => environment[bare ?? braced] ?? '')
    .replace(WRITTEN, ' ')
  const words = [...new Set(wordsOf(text))]
  const places = [folder, ...words.map((word) => resolve(folder, word)).filter(isFolder)]
  for (const word of words) {
    const named = places.map((place) => resolve(place, word)).filter(isFile)
    for (const path of [...named, ...(word.includes('/') ? [] : onPath(word))]) assertObeyable(path)
  }

  /** The file, and the places before, where a file would win. */
  function onPath(word: string): string[] {
    const paths = (environment['PATH'] ?? '').split(delimiter).map((one) => resolve(folder, one, word))
    return paths.slice(0, paths.findIndex(isFile) + 1)
  }
}

/** Words without quotes, and words within: a quoted text may be a name, or a command. */
const wordsOf = (text: string): string[] =>
  (text.match(WORDS) ?? []).flatMap((word) => {
    const bare = word.replace(/['"]|\\(.)/g, '$1')
    return bare === word ? [word, ...word.split(/[=:]/)] : [bare, ...wordsOf(bare)]
  })

const isFile = (path: string): boolean => targetOf(path)?.isFile() === true
const isFolder = (path: string): boolean => targetOf(path)?.isDirectory() === true

function targetOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
