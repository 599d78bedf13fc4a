/**
 * Places where vendors put exports. Implementations pass `test/conformance/export-source.ts`. Here are the rules for names, which become
 * part of paths, addresses and messages: a name stands for one file in one folder.
 */
import { DateTime } from 'luxon'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { cutToBytes } from '../../system/own-files.ts'
import { n, shown } from '../../system/shown-text.ts'
import { exportError } from '../content.ts'

/** A file as its source lists it. */
export interface Delivery {
  readonly name: string
  readonly bytes: number
  /** Some sources know seconds only. */
  readonly modifiedAt: number
  /** Entity tag, or size and time: differs for other content. */
  readonly version: string
  /** Left under an aside name by a killed process, or by a process that found a changed file. */
  readonly isAside?: boolean
}

/** Limits of fetching. */
export interface Fetching {
  /** Ends fetching; aborted with a `WaybillError`, which is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Called with the number of bytes to be written. @throws `disk-full` */
  readonly room?: ((bytes: number) => void) | undefined
}

/** Content of a source. */
export interface Listing {
  readonly files: readonly Delivery[]
  readonly refused: readonly RefusedFile[]
}

/** A file that is not taken. */
export interface RefusedFile {
  /** Name with control and invisible characters spelled out. */
  readonly shown: string
  /** `export-refused` */
  readonly error: WaybillError
  /** Names for the pattern of a job. */
  readonly names: readonly string[]
}

export interface ExportSource {
  /** Address of a file for people and the ledger: a path, `sftp://…`, `s3://…`. No credential. */
  address(name: string): string
  /**
   * Files of the place, without those in folders below, in no order. Made by `listingOf`.
   * @param signal ends the listing; aborted with a `WaybillError`, which is thrown
   * @throws `export-unreadable` (also for an endless listing), `source-unreachable`, `source-untrusted`
   */
  list(signal?: AbortSignal): Promise<Listing>
  /**
   * Copies a file here, whole and in the listed version, or not at all.
   * @param file target, of mode 0600; its folder is made
   * @returns `file`, or the path of the original in a local source
   * @throws `export-changed` for another version, `export-unreadable` for a missing or unreadable file, `source-unreachable`; as
   *   `fetching` does
   */
  fetch(delivery: Delivery, file: string, fetching?: Fetching): Promise<string>
  /**
   * Moves a file to the archive of the source. Overwrites nothing: a taken name gets a number. A newer delivery under the name stays.
   * @returns address in the archive
   * @throws `export-changed` for another version, `export-unreadable` for a file that cannot be moved: either file stays for the
   *   next listing; `source-unreachable`
   */
  archive(delivery: Delivery): Promise<string>
  close(): Promise<void>
}

/** A source elsewhere, which collections are delivered to as well. */
export interface RemoteSource extends ExportSource {
  /**
   * Puts a whole file there, or none under that name. A retry looks for the file first, and does not put it twice.
   * @param name of Waybill's own, with folders, which are made
   * @param file here
   * @throws `collection-not-delivered`, `source-untrusted`
   */
  put(name: string, file: string): Promise<void>
}

/** @param address of the file to be put */
export function notDelivered(address: string, error: unknown): WaybillError {
  if (error instanceof WaybillError && error.code === 'source-untrusted') return error
  // The message of a source error is about exports.
  const cause = error instanceof WaybillError ? (error.cause ?? error) : error
  const why = reasonOf(cause)
  return new WaybillError('collection-not-delivered', `${address} was not delivered: ${why}`, { cause })
}

/** Place of the exports of a job, by its `from`. */
export interface SourcePlace {
  /** Address for people. No credential. */
  readonly shown: string
  /** For a folder of this machine, which needs no connection. */
  readonly local?: { readonly archive: string | undefined }
  /** True for a place of Waybill itself, with nothing to check. */
  readonly isMade?: boolean
  open(access: SourceAccess): Promise<ExportSource>
}

/** Place for collections, by `to` of a job. */
export interface RemotePlace extends SourcePlace {
  open(access: SourceAccess): Promise<RemoteSource>
}

/** @param what problem of the folder: `is missing` */
export const folderRefused = (folder: string, what: string, cause: unknown): WaybillError =>
  exportError(folder, `the exports folder ${folder} ${what}`, {
    remedy: 'Correct `from` in the job, or make the folder; this user must be able to read it.',
    cause,
  })

/** The export stays in its folder. @param archive for messages */
export const notArchived = (archive: string, why: string, cause: unknown): WaybillError =>
  exportError(archive, `The export cannot be moved into the archive: ${why}`, {
    remedy:
      'Correct `archive` in the job, or let this user write into both folders: the next run reads the export again, sends only what is new in it, and archives it.',
    cause,
  })

export const MAY_NOT_WRITE = 'this user may not write there'

interface ListedArticle {
  readonly contentId: string
  readonly title?: string | undefined
}

/** Query parameters of the list of articles. */
export interface ArticleQuery {
  readonly page?: { readonly parameter: string; readonly first: number } | undefined
  readonly filter?: Readonly<Record<string, string | number>> | undefined
}

/** Lists of ids that Waybill itself can make (id-lists.ts). */
export interface IdLists {
  readonly now: () => number
  /** Pages of the people known at the gateway. */
  people(): AsyncIterable<readonly { readonly accountId: string }[]>
  /** @throws `gateway-failing` */
  articles(query: ArticleQuery): Promise<readonly ListedArticle[]>
}

/** Access to sources, which no job file holds. */
export interface SourceAccess {
  /** For an SFTP server without a key in the job. */
  readonly sftpPassword?: string | undefined
  /** Set for a run. */
  readonly lists?: IdLists | undefined
}

/** Bytes of a name before a number: a name has 255 at most. */
const LONGEST_NUMBERED = 240

/** `a.csv`, `a.csv.1`, `a.csv.2` …: with a number behind the ending, no pattern of a job takes the file for a new export. */
export function* archiveNames(name: string): Generator<string> {
  yield name
  for (let at = 1; ; at += 1) yield `${cutToBytes(name, LONGEST_NUMBERED)}.${at}`
}

const ASIDE = '.wb-'

/** Name of a file during the move to the archive: no new delivery can replace it. Names have 255 bytes at most. */
export const asideName = (name: string): string => `${ASIDE}${name}`

/** Present name of a delivery in its folder. */
export const nameThere = ({ name, isAside }: Delivery): string => (isAside ? asideName(name) : name)

/** Gives aside files their old names, and lists them first: a newer file of that name may be there. */
export function asidesFirst(listed: readonly ListedFile[]): ListedFile[] {
  const { aside = [], others = [] } = Object.groupBy(listed, ({ name, isLink }) =>
    name.startsWith(ASIDE) && !isLink ? 'aside' : 'others',
  )
  return [...aside.map((one) => ({ ...one, name: one.name.slice(ASIDE.length), isAside: true })), ...others]
}

/** A file with an unchecked name. */
export interface ListedFile extends Delivery {
  /** A link to a file elsewhere. */
  readonly isLink?: boolean
}

/** Bounds of a listing, beyond any folder of exports. */
const MOST_FILES = 2_000_000
const MOST_PAGES = 50_000

/**
 * Collects a listing, page by page.
 * @param address of the source
 * @param most files; lower in tests
 * @throws `export-unreadable` for too many files or pages
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
      throw exportError(address, `The listing of ${address} has ${found}.`, {
        remedy:
          'Move finished exports away (`archive` in the job), or correct the folder or prefix in `from`.',
      })
    },
  }
}

/** @param prefix of the request to S3: each key must begin with the prefix */
export function listingOf(listed: readonly ListedFile[], prefix = ''): Listing {
  const files: Delivery[] = []
  const refused: RefusedFile[] = []
  for (const { isLink = false, ...file } of listed) {
    const isInside = file.name.startsWith(prefix)
    const name = isInside ? file.name.slice(prefix.length) : file.name
    const problem = isInside ? problemOf(name, isLink) : `it is outside ${prefix}`
    if (problem === undefined) files.push({ ...file, name })
    // Some storage lists the folder itself.
    else if (name !== '') refused.push(refusal(name, problem))
  }
  return { files, refused }
}

function problemOf(name: string, isLink: boolean): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'its name is that of a folder'
  if (name.includes('/')) return 'its name leads to another folder'
  if (/\p{Cc}/u.test(name)) return 'its name has control characters'
  // A name in another encoding opens nothing.
  if (name.includes('\ufffd')) return 'its name is not UTF-8'
  return isLink ? 'it is a link, and links are not followed' : undefined
}

/** Checks the name of a member. @param address of the archive @throws `export-refused` */
export function assertMemberName(address: string, path: string): void {
  const problem = path
    .split('/')
    .map((part) => problemOf(part, false))
    .find((one) => one !== undefined)
  if (problem === undefined) return
  throw exportError(address, `A member of the archive is refused: ${problem} (${shownName(path)}).`, {
    code: 'export-refused',
  })
}

const refusal = (name: string, problem: string): RefusedFile => ({
  shown: shownName(name),
  error: new WaybillError('export-refused', `The file is refused: ${problem}.`),
  names: [name, (name.split('/').at(-1) ?? '').replaceAll(/\p{Cc}/gu, '')],
})

/** Refused files that match a pattern of a job. */
export function meantBy(patterns: readonly string[], refused: readonly RefusedFile[]): RefusedFile[] {
  const compiled = patterns.map(compilePattern)
  return refused.filter(({ names }) =>
    compiled.some((pattern) => names.some((name) => matchExportName(pattern, name) !== undefined)),
  )
}

const MOST_SHOWN = 120

/** In one line, without control characters. */
const shownName = (name: string): string => {
  const whole = shown(name)
  return whole.length > MOST_SHOWN ? `${whole.slice(0, MOST_SHOWN)}…` : whole
}

/** Zone and language of patterns, on any machine. */
const NEUTRAL = { zone: 'utc', locale: 'en-US' } as const
/** A date with unmistakable year, month and day, to try formats. */
const PROBE = DateTime.fromObject({ year: 1987, month: 11, day: 23 }, NEUTRAL)
const PIECES = /\*+|\{[^{}]*\}|[{}]|[^*{}]+/g

/** `*` is any run of characters, `{date:FORMAT}` a date in Luxon's tokens. */
interface ExportPattern {
  readonly names: RegExp
  readonly dateFormat?: string
}

/**
 * Compiles `acme_screening_{date:yyyyMMdd}.csv*`.
 * @throws `job-invalid`: empty, with a folder, with braces other than `{date:FORMAT}`, with two dates, or with a format without year
 *   and month
 */
export function compilePattern(pattern: string): ExportPattern {
  if (pattern === '') throw invalidPattern('is empty')
  if (/[/\\\0]/.test(pattern)) throw invalidPattern('names a folder; it is for file names alone')
  let dateFormat: string | undefined
  const parts = (pattern.match(PIECES) ?? []).map((piece) => {
    if (piece.startsWith('*')) return '.*'
    if (!/^[{}]/.test(piece)) return piece.replace(/[\\^$.+?()[\]|-]/g, '\\$&')
    const format = /^\{date:(.+)\}$/.exec(piece)?.[1]
    if (format === undefined)
      throw invalidPattern(`has "${piece}", but the only placeholder is {date:FORMAT}`)
    if (dateFormat !== undefined) throw invalidPattern('has two dates')
    dateFormat = format
    return `(?<date>${dateSource(format)})`
  })
  const names = new RegExp(`^${parts.join('')}$`, 's')
  return dateFormat === undefined ? { names } : { names, dateFormat }
}

/**
 * Matches a name. A date that does not exist does not match.
 * @returns the date as `YYYY-MM-DD`, if the pattern has one; without a day in the format, the first of the month
 */
export function matchExportName(pattern: ExportPattern, name: string): { date?: string } | undefined {
  const found = pattern.names.exec(name)
  if (found === null) return undefined
  if (pattern.dateFormat === undefined) return {}
  const date = DateTime.fromFormat(found.groups?.['date'] ?? '', pattern.dateFormat, NEUTRAL)
  return date.isValid ? { date: date.toISODate() } : undefined
}

/** Regular expression of Luxon for a format, without anchors. */
function dateSource(format: string): string {
  const sample = PROBE.toFormat(format, { locale: NEUTRAL.locale })
  const { regex } = DateTime.fromFormatExplain(sample, format, NEUTRAL)
  const date = DateTime.fromFormat(sample, format, NEUTRAL)
  // Without a year Luxon takes today's; without a month, January.
  if (regex === undefined || !date.hasSame(PROBE, 'month'))
    throw invalidPattern(`has a date format without year and month: "${format}"`)
  // Y is no token of Luxon and D a whole localised date: YYYYMMDD would compile and match no name.
  if (/[YD]/.test(format.replace(/'[^']*'/g, '')))
    throw invalidPattern(`has Y or D in its date format, "${format}": years are y, days are d`)
  return inAnyCase(regex.source.replace(/^\^|\$$/g, ''))
}

/** For names of months: `JAN`, `Jan`. */
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

/** Matching items by the date in the name, oldest first, then by name (in code-unit order). */
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

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
