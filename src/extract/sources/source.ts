/**
 * Where a vendor puts exports, whatever it is. Implementations pass `test/conformance/export-source.ts`. A source says what lies at its
 * place, and what may come in is decided here, for all alike: a name from elsewhere becomes part of paths, addresses and messages, so it
 * must be the name of one file in one folder, and no more.
 */
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { cutToBytes } from '../../own-files.ts'
import { shown } from '../../shown-text.ts'
import { compilePattern, matchExportName } from '../discover.ts'

/** A file as its source lists it. */
export interface Delivery {
  readonly name: string
  readonly bytes: number
  /** Milliseconds since the epoch; a source may know it to the second alone. */
  readonly modifiedAt: number
  /** Differs whenever the content does: an entity tag, or size and time. */
  readonly version: string
}

/** What lies at a source. */
export interface Listing {
  readonly files: readonly Delivery[]
  readonly refused: readonly RefusedFile[]
}

/** A file that is not taken. */
export interface RefusedFile {
  /** With control characters, and what else a person does not see, written out. */
  readonly shown: string
  /** `export-refused` */
  readonly error: WaybillError
  /** Names that the pattern of a job may mean by it. */
  readonly names: readonly string[]
}

export interface ExportSource {
  /** Names a file for people and the ledger: a path, `sftp://…`, `s3://…`. Never a credential. */
  address(name: string): string
  /** The files that lie there, in no order; not what lies in folders below. Built by `listingOf` alone. @throws WaybillError `export-unreadable`, `source-unreachable`, `source-untrusted` */
  list(): Promise<Listing>
  /**
   * Brings a file here. What was brought is whole and is the listed version; a half one is never left at `file`.
   * @param file where to put it, with mode 0600; its folder is made
   * @param signal aborted, with a `WaybillError`, when it is not wanted any more
   * @returns where it is: `file`, or its own path where the source is local and nothing need be copied
   * @throws WaybillError `export-changed` where the file is another by now, `export-unreadable` where it is gone or may not be
   *   read, `source-unreachable`; what the signal is aborted with
   */
  fetch(delivery: Delivery, file: string, signal?: AbortSignal): Promise<string>
  /**
   * Moves a file to the archive of the source. A name that is taken there gets a number behind it; nothing is overwritten.
   * @returns its address in the archive
   * @throws WaybillError `export-changed` where the file is not the listed version: it stays where it is
   */
  archive(delivery: Delivery): Promise<string>
  close(): Promise<void>
}

/** A source elsewhere, which collections are delivered to as well. */
export interface RemoteSource extends ExportSource {
  /**
   * Puts a file there: whole, or it is not there under that name. Once more it is looked for first, and not put twice.
   * @param name of Waybill's own, with its folders, which are made
   * @param file here
   * @throws WaybillError `collection-not-delivered`, `source-untrusted`
   */
  put(name: string, file: string): Promise<void>
}

/** @param address of what was to be put there */
export function notDelivered(address: string, error: unknown): WaybillError {
  if (error instanceof WaybillError && error.code === 'source-untrusted') return error
  // The words of a source that cannot be read are about exports.
  const cause = error instanceof WaybillError ? (error.cause ?? error) : error
  const why = reasonOf(cause)
  return new WaybillError('collection-not-delivered', `${address} was not taken: ${why}`, { cause })
}

/** Where a job's exports lie, as its `from` says. */
export interface SourcePlace {
  /** As people are told of it. No credential. */
  readonly shown: string
  /** It is a folder of this machine: looking there asks nobody. With the folder of its archive. */
  readonly local?: { readonly archive: string | undefined }
  open(secrets: SourceSecrets): Promise<ExportSource>
}

/** Where collections go as well, as `to` of a job says. */
export interface RemotePlace extends SourcePlace {
  open(secrets: SourceSecrets): Promise<RemoteSource>
}

/** The folder that a source is to list is not there to be listed. @param what is wrong with it: `is missing` */
export const folderRefused = (folder: string, what: string, cause: unknown): WaybillError =>
  new WaybillError('export-unreadable', `the exports folder ${folder} ${what}`, {
    place: { file: folder },
    remedy: 'Correct `from` in the job, or make the folder; this user must be able to read it.',
    cause,
  })

/** What no job file holds. */
export interface SourceSecrets {
  /** For an SFTP server where the job names no key. */
  readonly sftpPassword?: string | undefined
}

/** In bytes: what has a number behind it is to be no longer than a name may be. */
const LONGEST_NUMBERED = 240

/** `a.csv`, `a.csv.1`, `a.csv.2` …: behind the ending, so that the pattern of a job takes none for a new export. */
export function* archiveNames(name: string): Generator<string> {
  yield name
  for (let at = 1; ; at += 1) yield `${cutToBytes(name, LONGEST_NUMBERED)}.${at}`
}

/** A file as its source names it, before anybody has looked at the name. */
export interface ListedFile extends Delivery {
  /** A link to a file elsewhere. */
  readonly isLink?: boolean
}

/** @param prefix what the source was asked for, and every name must begin with: that of keys of S3 */
export function listingOf(listed: readonly ListedFile[], prefix = ''): Listing {
  const files: Delivery[] = []
  const refused: RefusedFile[] = []
  for (const { isLink = false, ...file } of listed) {
    const isInside = file.name.startsWith(prefix)
    const name = isInside ? file.name.slice(prefix.length) : file.name
    const problem = isInside ? problemOf(name, isLink) : `it does not lie in ${prefix}`
    if (problem === undefined) files.push({ ...file, name })
    // The folder itself, as some storage lists it.
    else if (name !== '') refused.push(refusal(name, problem))
  }
  return { files, refused }
}

function problemOf(name: string, isLink: boolean): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'its name is that of a folder'
  if (name.includes('/')) return 'its name leads to another folder'
  if (/\p{Cc}/u.test(name)) return 'its name has control characters'
  // What a name in another encoding becomes: nothing can be opened by it.
  if (name.includes('\ufffd')) return 'its name is not UTF-8'
  return isLink ? 'it is a link, and links are not followed' : undefined
}

/** @throws WaybillError `export-refused` where a name that stands in an archive is none of one file. @param address of the archive */
export function assertMemberName(address: string, path: string): void {
  const problem = path
    .split('/')
    .map((part) => problemOf(part, false))
    .find((one) => one !== undefined)
  if (problem === undefined) return
  const message = `A member of the archive is refused: ${problem} (${shownName(path)}).`
  throw new WaybillError('export-refused', message, { place: { file: address } })
}

const refusal = (name: string, problem: string): RefusedFile => ({
  shown: shownName(name),
  error: new WaybillError('export-refused', `The file is refused: ${problem}.`),
  names: [name, (name.split('/').at(-1) ?? '').replaceAll(/\p{Cc}/gu, '')],
})

/** Those that patterns of a job mean: what fits none is none of its business. */
export function meantBy(patterns: readonly string[], refused: readonly RefusedFile[]): RefusedFile[] {
  const compiled = patterns.map(compilePattern)
  return refused.filter(({ names }) =>
    compiled.some((pattern) => names.some((name) => matchExportName(pattern, name) !== undefined)),
  )
}

/** Characters of a name that are shown. */
const MOST_SHOWN = 120

/** In one line, with nothing in it that acts. */
const shownName = (name: string): string => {
  const whole = shown(name)
  return whole.length > MOST_SHOWN ? `${whole.slice(0, MOST_SHOWN)}…` : whole
}
