/**
 * Where a vendor puts exports, whatever it is. Implementations pass `test/conformance/export-source.ts`. A source says what lies at its
 * place, and what may come in is decided here, for all alike: a name from elsewhere becomes part of paths, addresses and messages, so it
 * must be the name of one file in one folder, and no more. Here are the patterns for the names of exports, too.
 */
import { DateTime } from 'luxon'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { cutToBytes } from '../../own-files.ts'
import { n, shown } from '../../shown-text.ts'

/** A file as its source lists it. */
export interface Delivery {
  readonly name: string
  readonly bytes: number
  /** Milliseconds since the epoch; a source may know it to the second alone. */
  readonly modifiedAt: number
  /** Differs whenever the content does: an entity tag, or size and time. */
  readonly version: string
  /** Left under a name of ours by a process that was killed, or that found another file than it had read. */
  readonly isAside?: boolean
}

/** Limits of fetching. */
export interface Fetching {
  /** Ends fetching; aborted with a `WaybillError`, which is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Called with the number of bytes to be written. @throws WaybillError `disk-full` */
  readonly room?: ((bytes: number) => void) | undefined
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
  /**
   * The files that lie there, in no order; not what lies in folders below. Built by `listingOf` alone.
   * @param signal ends the listing; aborted with a `WaybillError`, which is thrown
   * @throws WaybillError `export-unreadable` (also for an endless listing), `source-unreachable`, `source-untrusted`
   */
  list(signal?: AbortSignal): Promise<Listing>
  /**
   * Brings a file here. What was brought is whole and is the listed version; a half one is never left at `file`.
   * @param file where to put it, with mode 0600; its folder is made
   * @returns where it is: `file`, or its own path where the source is local and nothing need be copied
   * @throws WaybillError `export-changed` where the file is another by now, `export-unreadable` where it is gone or may not be
   *   read, `source-unreachable`; as `fetching` does
   */
  fetch(delivery: Delivery, file: string, fetching?: Fetching): Promise<string>
  /**
   * Moves a file to the archive of the source. A name that is taken there gets a number; nothing is overwritten. A delivery that
   * comes meanwhile under the name stays.
   * @returns its address in the archive
   * @throws WaybillError `export-changed` if the file is not the listed version, `export-unreadable` if it cannot be moved: either way it
   *   stays for the next listing; `source-unreachable`
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

/** The export stays in its folder. @param archive for messages */
export const notArchived = (archive: string, why: string, cause: unknown): WaybillError =>
  new WaybillError('export-unreadable', `The export cannot be moved into the archive: ${why}`, {
    place: { file: archive },
    remedy:
      'Correct `archive` in the job, or let this user write into both folders: the next run reads the export again, sends only what is new in it, and archives it.',
    cause,
  })

export const MAY_NOT_WRITE = 'this user may not write there'

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

const ASIDE = '.wb-'

/**
 * Name of a file in its folder while it is moved to the archive: a new delivery under the old name cannot replace the file. Short, as names
 * have 255 bytes at most.
 */
export const asideName = (name: string): string => `${ASIDE}${name}`

/** Present name of a delivery in its folder. */
export const nameThere = ({ name, isAside }: Delivery): string => (isAside ? asideName(name) : name)

/** Lists files that were left aside under their old names, and first: a newer file of that name may be there. */
export function asidesFirst(listed: readonly ListedFile[]): ListedFile[] {
  const { aside = [], others = [] } = Object.groupBy(listed, ({ name, isLink }) =>
    name.startsWith(ASIDE) && !isLink ? 'aside' : 'others',
  )
  return [...aside.map((one) => ({ ...one, name: one.name.slice(ASIDE.length), isAside: true })), ...others]
}

/** A file as its source names it, before anybody has looked at the name. */
export interface ListedFile extends Delivery {
  /** A link to a file elsewhere. */
  readonly isLink?: boolean
}

/** Bounds of a listing: more than any folder of exports has. */
const MOST_FILES = 2_000_000
const MOST_PAGES = 50_000

/**
 * Collects what a source lists, page by page.
 * @param address of the source
 * @param most files; lower in tests
 * @throws WaybillError `export-unreadable` for too many files or pages
 */
export function collectListed(
  address: string,
  most = MOST_FILES,
): { readonly files: readonly ListedFile[]; add(page: readonly ListedFile[]): void } {
  const files: ListedFile[] = []
  let pages = 0
  return {
    files,
    add(page) {
      pages += 1
      for (const file of page) files.push(file)
      if (files.length <= most && pages <= MOST_PAGES) return
      const found = files.length > most ? `more than ${n(most)} files` : `more than ${n(MOST_PAGES)} pages`
      throw new WaybillError('export-unreadable', `The listing of ${address} has ${found}.`, {
        place: { file: address },
        remedy:
          'Move finished exports away (`archive` in the job), or correct the folder or prefix in `from`.',
      })
    },
  }
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

/** Nothing in a pattern depends on the machine: not its zone, not its language. */
const NEUTRAL = { zone: 'utc', locale: 'en-US' } as const
/** A date whose year, month and day cannot be taken for one another, to try formats with. */
const PROBE = DateTime.fromObject({ year: 1987, month: 11, day: 23 }, NEUTRAL)
const PIECES = /\*+|\{[^{}]*\}|[{}]|[^*{}]+/g

/** `*` is any run of characters, `{date:FORMAT}` a date in Luxon's tokens. */
export interface ExportPattern {
  readonly names: RegExp
  readonly dateFormat?: string
}

/**
 * Compiles `acme_screening_{date:yyyyMMdd}.csv*`.
 * @throws WaybillError `job-invalid`: empty, with a folder in it, with braces that are no `{date:FORMAT}`, with two dates,
 *   or with a format that does not give a year and month
 */
export function compilePattern(pattern: string): ExportPattern {
  if (pattern === '') throw invalidPattern('is empty')
  if (/[/\\\0]/.test(pattern)) throw invalidPattern('names a folder; it is for file names alone')
  let dateFormat: string | undefined
  const parts = (pattern.match(PIECES) ?? []).map((piece) => {
    if (piece.startsWith('*')) return '.*'
    if (!/^[{}]/.test(piece)) return piece.replace(/[\\^$.+?()[\]|-]/g, '\\$&')
    const format = /^\{date:(.+)\}$/.exec(piece)?.[1]
    if (format === undefined) throw invalidPattern(`has "${piece}" where only {date:FORMAT} is known`)
    if (dateFormat !== undefined) throw invalidPattern('has two dates')
    dateFormat = format
    return `(?<date>${dateSource(format)})`
  })
  const names = new RegExp(`^${parts.join('')}$`, 's')
  return dateFormat === undefined ? { names } : { names, dateFormat }
}

/**
 * What the name says, or undefined when it does not match: its date as `YYYY-MM-DD`, where the pattern has one (a format without a day
 * gives the first of the month). A date that does not exist does not match.
 */
export function matchExportName(pattern: ExportPattern, name: string): { date?: string } | undefined {
  const found = pattern.names.exec(name)
  if (found === null) return undefined
  if (pattern.dateFormat === undefined) return {}
  const date = DateTime.fromFormat(found.groups?.['date'] ?? '', pattern.dateFormat, NEUTRAL)
  return date.isValid ? { date: date.toISODate() } : undefined
}

/** Luxon's own regular expression for a format, without its anchors. */
function dateSource(format: string): string {
  const sample = PROBE.toFormat(format, { locale: NEUTRAL.locale })
  const { regex } = DateTime.fromFormatExplain(sample, format, NEUTRAL)
  const date = DateTime.fromFormat(sample, format, NEUTRAL)
  // Without a year Luxon takes today's; without a month, January.
  if (regex === undefined || !date.hasSame(PROBE, 'month'))
    throw invalidPattern(`has a date format that gives no year and month: "${format}"`)
  // Y is no token of Luxon and D a whole localised date: YYYYMMDD would compile and match no name.
  if (/[YD]/.test(format.replace(/'[^']*'/g, '')))
    throw invalidPattern(`has Y or D in its date format, "${format}": years are y, days are d`)
  return inAnyCase(regex.source.replace(/^\^|\$$/g, ''))
}

/** Of names of months: `JAN`, `Jan`. The pattern around them stays as it is written. */
const inAnyCase = (source: string): string =>
  source.replaceAll(/\\.|\[[^\]]*\]|[a-z]/gi, (piece) =>
    piece.length === 1 ? `[${piece.toLowerCase()}${piece.toUpperCase()}]` : piece,
  )

function invalidPattern(problem: string): WaybillError {
  return new WaybillError('job-invalid', `The pattern ${problem}.`, {
    place: { key: 'exports.match' },
    remedy: 'Write it like acme_screening_{date:yyyyMMdd}.csv*',
  })
}

/** Those whose name matches, oldest date in the name first, then by name (in code-unit order). */
export function inOrder<Item extends { readonly name: string }>(
  pattern: ExportPattern,
  items: Iterable<Item>,
): Item[] {
  const dated: { item: Item; date: string }[] = []
  for (const item of items) {
    const matched = matchExportName(pattern, item.name)
    if (matched !== undefined) dated.push({ item, date: matched.date ?? '' })
  }
  return dated
    .sort((a, b) => compare(a.date, b.date) || compare(a.item.name, b.item.name))
    .map(({ item }) => item)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
