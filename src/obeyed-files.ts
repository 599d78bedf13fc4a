/**
 * Files that Waybill obeys: `.env`, jobs, mappings, the commands that they name, the home. Whoever may write to one of them, or to a folder on the
 * way to it, acts as the user who runs Waybill: such a file is refused.
 */
import { lstatSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { WaybillError } from './model/errors.ts'
import { shellWord } from './shown-text.ts'

const ROOT = 0
/** Groups whose members can become root anyway: on macOS `admin`, which owns the folders of Homebrew. */
const ROOT_GROUPS: readonly number[] = process.platform === 'darwin' ? [0, 80] : [0]

/** Links followed from one path, as Linux has it (path_resolution(7)). */
const MOST_LINKS = 40

/** Another user may write here. */
export interface Doubt {
  /** The file, a folder above it, or what a link leads to. */
  readonly at: string
  /** Behind `at`: "may be written by …". */
  readonly why: string
  /** Undefined: it passes, and the operator is warned. */
  readonly remedy: string | undefined
}

/**
 * Looks at a file or folder, at the folders above it up to the first one that root owns, and at the same of every link on the way.
 * @returns nothing on a system without users, and of what is not there
 */
export function doubtsOf(path: string, links = 0): Doubt[] {
  const me = process.geteuid?.()
  const start = resolve(path)
  const doubts: Doubt[] = []
  for (let at = start; me !== undefined; at = dirname(at)) {
    const found = statsOf(at)
    if (found?.isSymbolicLink() === true) {
      if (!isTrusted(found.uid, me)) doubts.push(ofAnother(at, found))
      if (links < MOST_LINKS) doubts.push(...doubtsOf(resolve(dirname(at), readlinkSync(at)), links + 1))
    } else if (found !== undefined) {
      const doubt = doubtOf(at, found, me, at === start || at === dirname(start))
      if (doubt !== undefined) doubts.push(doubt)
      if (at !== start && found.uid === ROOT && doubt?.remedy === undefined) break
    }
    if (at === dirname(at)) break
  }
  return doubts
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // Opening it says why.
    return undefined
  }
}

/** @param isNear whether it is what was asked about, or the folder of that: those further up only lead there */
function doubtOf(at: string, found: Stats, me: number, isNear: boolean): Doubt | undefined {
  if (!isTrusted(found.uid, me)) return ofAnother(at, found)
  const byAll = (found.mode & 0o002) !== 0
  const byGroup = (found.mode & 0o020) !== 0 && !isWithoutOthers(found.gid, me)
  if (!byAll && !byGroup) return undefined
  const whom = byAll ? 'every user of this machine' : `group ${found.gid}, which others may be in`
  const why = `may be written by ${whom}`
  // In a sticky folder nobody takes away or replaces what is another's (chmod(1)).
  if (found.isDirectory() && (found.mode & 0o1000) !== 0)
    return isNear ? { at, why: `${why}, but is sticky`, remedy: undefined } : undefined
  if (!byAll && isVolumeOf(at, found))
    return { at, why: `${why}, as the volume was given to it (fsGroup)`, remedy: undefined }
  return { at, why, remedy: `Take the right from them: chmod ${byAll ? 'o' : 'g'}-w ${shellWord(at)}` }
}

const isTrusted = (uid: number, me: number): boolean => uid === me || uid === ROOT

const ofAnother = (at: string, { uid }: Stats): Doubt => ({
  at,
  why: `belongs to user ${uid}, who is neither this user nor root`,
  remedy: `Where it is a service's, run Waybill as that user: runuser -u USER -- waybill …. Else take it over as root: chown -h ${process.geteuid?.() ?? 'USER'} ${shellWord(at)}`,
})

/** A group that is this user's own, or has no members: as far as this machine lists them. */
function isWithoutOthers(gid: number, me: number): boolean {
  if (ROOT_GROUPS.includes(gid)) return true
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
 * A volume that was given to a group of this process as Kubernetes does it: its root belongs to that group, which may write, and hands the group on
 * (kubernetes.io/docs/tasks/configure-pod-container/security-context).
 */
function isVolumeOf(path: string, { gid, ...found }: Stats): boolean {
  if (process.getgroups?.().includes(gid) !== true) return false
  let root = (found.mode & 0o170000) === 0o040000 ? path : dirname(path)
  const { dev } = statSync(root)
  while (root !== dirname(root) && statSync(dirname(root)).dev === dev) root = dirname(root)
  const ofRoot = statSync(root)
  return root !== dirname(root) && ofRoot.gid === gid && (ofRoot.mode & 0o2020) === 0o2020
}

/** In words. */
export const doubtText = ({ at, why }: Doubt, path: string): string =>
  `${at} ${why}${at === resolve(path) ? '' : `, and ${path} depends on it`}`

/** @throws WaybillError `file-untrusted` where another user may write to it */
export function assertObeyable(path: string): void {
  for (const doubt of doubtsOf(path)) {
    const { at, remedy } = doubt
    if (remedy !== undefined)
      throw new WaybillError('file-untrusted', doubtText(doubt, path), { place: { file: at }, remedy })
  }
}

/** Reads a file that is obeyed. @throws WaybillError `file-untrusted`; an error of the file system */
export async function readObeyed(path: string): Promise<string> {
  assertObeyable(path)
  return readFile(path, 'utf8')
}

/**
 * Looks at every file that a shell command names: by its path, or on the PATH. A file that it only writes to is left out.
 * @param folder in which it is run
 * @throws WaybillError `file-untrusted`
 */
export function assertObeyableCommand(
  command: string,
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const text = command
    .replace(/(?<![^\s'"=])~(?=\/)|\$HOME\b|\$\{HOME\}/g, environment['HOME'] ?? '~')
    .replace(/\d*>{1,2}[&|]?\s*[^\s;|&]+/g, ' ')
  for (const word of new Set(wordsOf(text))) {
    const paths = (environment['PATH'] ?? '').split(delimiter).map((one) => join(resolve(folder, one), word))
    const found = [resolve(folder, word), ...(word.includes('/') ? [] : paths)].filter(isFile)
    for (const path of found.slice(0, 2)) assertObeyable(path)
  }
}

/** What is in quotes may be one name, or a command with words of its own. */
const wordsOf = (text: string): string[] =>
  (text.match(/'[^']*'|"[^"]*"|[^\s;|&()<>`'"]+/g) ?? []).flatMap((word) => {
    const inner = /^['"]/.test(word) ? word.slice(1, -1) : undefined
    return inner === undefined ? [word, ...word.split('=').slice(1)] : [inner, ...wordsOf(inner)]
  })

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
  } catch {
    return false
  }
}
