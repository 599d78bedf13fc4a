/**
 * Compares a file that was delivered with what was announced of it: the whole of it is read before anything is sent. Announced by a
 * checksum file, a manifest or a marker beside it.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { WaybillError } from '../../model/errors.ts'
import { unreadable } from '../content.ts'
import { compilePattern, type Delivery, inOrder } from '../sources/source.ts'

/** @throws WaybillError `export-not-as-announced` */
export function notAsAnnounced(
  address: string,
  what: string,
  announced: string | number,
  came: string | number,
): WaybillError {
  return new WaybillError(
    'export-not-as-announced',
    `The export is not as announced: ${what} should be ${announced}, and is ${came}.`,
    { place: { file: address } },
  )
}

/** @throws WaybillError `export-not-as-announced`, `export-unreadable` */
export async function verifySize(address: string, file: string, bytes: number): Promise<void> {
  const { size } = await stat(file).catch((cause) => {
    throw unreadable(address, cause)
  })
  if (size !== bytes) throw notAsAnnounced(address, 'its size in bytes', bytes, size)
}

/**
 * @param signal aborted, with a `WaybillError`, when it is to end before
 * @throws WaybillError `export-not-as-announced`, `export-unreadable`; what the signal is aborted with
 */
export async function verifyChecksum(
  address: string,
  file: string,
  { algorithm, digest }: Checksum,
  signal?: AbortSignal,
): Promise<void> {
  const hash = createHash(algorithm)
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      signal?.throwIfAborted()
      hash.update(chunk)
    }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(address, cause)
  }
  const came = hash.digest('hex')
  if (came !== digest) throw notAsAnnounced(address, `its ${algorithm.toUpperCase()}`, digest, came)
}

export interface Checksum {
  readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'
  /** Hexadecimal digits in lower case. */
  readonly digest: string
}

const BY_LENGTH = { 32: 'md5', 40: 'sha1', 64: 'sha256', 128: 'sha512' } as const
const BSD = /^(MD5|SHA1|SHA256|SHA512) ?\((.+)\) ?= ?([0-9a-f]+)$/i
/** GNU coreutils: a backslash in front where the name is escaped, then digest, blank, `*` or blank, name. */
const GNU = /^\\?([0-9a-f]+)(?:[ \t]+\*?(.+))?$/i

/**
 * The checksum of the file with that name. In the file a name may have a folder in front; a digest without a name, or a single
 * line with whatever name, is that of the file it lies beside.
 * @returns undefined where the text has no checksum for it
 */
export function readChecksum(text: string, name: string): Checksum | undefined {
  const lines = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const entries = lines.map(readLine).filter((entry) => entry !== undefined)
  const own = entries.find((entry) => entry.name?.split(/[/\\]/).at(-1) === name)
  const only = lines.length === 1 ? entries[0] : undefined
  return (own ?? only)?.checksum
}

function readLine(line: string): { checksum: Checksum; name: string | undefined } | undefined {
  const bsd = BSD.exec(line)
  const [digest = '', name] = bsd === null ? (GNU.exec(line)?.slice(1) ?? []) : [bsd[3], bsd[2]]
  const algorithm = Object.entries(BY_LENGTH).find(([length]) => Number(length) === digest.length)?.[1]
  if (algorithm === undefined || (bsd !== null && bsd[1]?.toLowerCase() !== algorithm)) return undefined
  return { checksum: { algorithm, digest: digest.toLowerCase() }, name }
}

/** What was said of an export before it was read. */
export interface Announced {
  readonly bytes?: number | undefined
  readonly sha256?: string | undefined
  readonly rows?: number | undefined
}

const total = z
  .union([z.int().min(0), z.string().regex(/^\d{1,15}$/), z.literal('')])
  .nullish()
  .transform((value) => (value === '' || value === null || value === undefined ? undefined : Number(value)))

const Entry = z
  .looseObject({
    name: z.string().min(1),
    bytes: total,
    rows: total,
    sha256: z
      .union([z.string().regex(/^[0-9a-f]{64}$/i), z.literal('')])
      .nullish()
      .transform((digest) => digest?.toLowerCase() || undefined),
  })
  .transform(({ name, bytes, rows, sha256 }) => ({ name, bytes, rows, sha256 }))

/** Spellings of the four columns, in lower case without what is neither letter nor digit. */
const SPELLINGS = {
  name: ['name', 'file', 'filename'],
  bytes: ['bytes', 'size', 'filesize', 'sizebytes'],
  rows: ['rows', 'rowcount', 'records', 'recordcount', 'count'],
  sha256: ['sha256', 'sha256sum', 'checksum', 'digest'],
} as const

/**
 * A list of objects (JSON: the document, or its member `files`); folders in front of a name do not count.
 * @returns what is said of each file, by its name
 * @throws WaybillError `export-unreadable`
 */
export function readManifest(text: string, address: string): Map<string, Announced> {
  const found = new Map<string, Announced>()
  for (const [at, one] of entriesOf(text, address).entries()) {
    const entry = Entry.safeParse(canonical(one))
    if (!entry.success) {
      const [issue] = entry.error.issues
      throw unreadableManifest(address, `entry ${at + 1}: ${issue?.path.join('.')} ${issue?.message}`)
    }
    const { name, ...announced } = entry.data
    found.set(name.split(/[/\\]/).at(-1) ?? name, announced)
  }
  return found
}

function entriesOf(text: string, address: string): readonly unknown[] {
  try {
    if (!/^\ufeff?\s*[[{]/.test(text))
      return parse(text, { bom: true, columns: true, trim: true, skip_empty_lines: true })
    const Document = z.union([z.array(z.unknown()), z.looseObject({ files: z.array(z.unknown()) })])
    const document = Document.parse(JSON.parse(text.replace(/^\ufeff/, '')))
    return Array.isArray(document) ? document : document.files
  } catch {
    // What the parsers say quotes the content.
    throw unreadableManifest(address, 'it is neither CSV with a header nor a JSON list of files')
  }
}

function canonical(entry: unknown): Record<string, unknown> {
  const given = z.record(z.string(), z.unknown()).safeParse(entry)
  const fields = Object.entries(given.data ?? {}).map(
    ([key, value]) => [key.toLowerCase().replace(/[^a-z0-9]/g, ''), value] as const,
  )
  return Object.fromEntries(
    Object.entries(SPELLINGS).map(([key, spellings]) => [
      key,
      fields.find(([given]) => spellings.some((spelling) => spelling === given))?.[1],
    ]),
  )
}

function unreadableManifest(address: string, problem: string): WaybillError {
  return new WaybillError('export-unreadable', `The manifest cannot be read: ${problem}.`, {
    place: { file: address },
    remedy: 'A manifest has the columns name, and any of bytes, sha256, rows. Ask the vendor for it again.',
  })
}

/** When an export counts as delivered, and what lies beside it. Names hold `{name}` for that of the export. */
export interface ArrivalRules {
  readonly match: string
  readonly stableForMs: number
  readonly marker?: string | undefined
  /** A pattern like `match`. */
  readonly manifest?: string | undefined
  readonly checksum?: string | undefined
}

/** An export that is complete, with the files that belong to it alone. */
export interface CompleteExport {
  readonly delivery: Delivery
  readonly checksum?: Delivery | undefined
  readonly marker?: Delivery | undefined
  readonly announced?: Announced | undefined
}

/** What an export still waits for: that it changes no more, its marker, its checksum file, a manifest that names it. */
export type Lack = 'rest' | 'marker' | 'checksum' | 'manifest'

/** An export that is there and not complete. */
export interface WaitingExport {
  readonly delivery: Delivery
  readonly lacks: readonly Lack[]
}

/** `a.csv: unchanged for less than 60 s, marker a.csv.done is missing` */
export function waitingText({ delivery, lacks }: WaitingExport, rules: ArrivalRules): string {
  const companion = (pattern = ''): string => pattern.replaceAll('{name}', delivery.name)
  const words = {
    rest: `unchanged for less than ${rules.stableForMs / 1000} s`,
    marker: `marker ${companion(rules.marker)} is missing`,
    checksum: `checksum file ${companion(rules.checksum)} is missing`,
    manifest: 'no manifest names it',
  }
  return `${delivery.name}: ${lacks.map((lack) => words[lack]).join(', ')}`
}

/** Lines; the rest is counted. */
const MOST_SHOWN = 20

/** Describes each incomplete export on a line. */
export function waitingLines(waiting: readonly WaitingExport[], rules: ArrivalRules): string[] {
  const more = waiting.length - MOST_SHOWN
  const lines = waiting.slice(0, MOST_SHOWN).map((one) => waitingText(one, rules))
  return more > 0 ? [...lines, `${more} more are incomplete`] : lines
}

/** Time since when a file is known to be unchanged, in milliseconds since the epoch. */
export type KnownSince = (delivery: Delivery) => number

/**
 * Modification time, for a single look. Another clock has set it: a time far in the future says nothing. One that is ahead by less than `stableFor`
 * may be of a file that is being written.
 */
const byItsTime =
  (now: number, stableForMs: number): KnownSince =>
  ({ modifiedAt }) =>
    modifiedAt - now >= stableForMs ? 0 : modifiedAt

/** The manifests of a listing, oldest date first. */
export function manifestsOf(rules: ArrivalRules, listing: readonly Delivery[]): readonly Delivery[] {
  return rules.manifest === undefined ? [] : inOrder(compilePattern(rules.manifest), listing)
}

/**
 * Exports in order: oldest date in the name first, then by name (in code-unit order). An export is complete when it has not
 * changed for long enough, its marker and its checksum file are there, and a manifest names it, as far as the rules ask for
 * these. Markers, checksum files and manifests are no exports, also where the pattern fits their names.
 * @param announced what manifests say, by name
 */
export function sortExports(
  rules: ArrivalRules,
  listing: readonly Delivery[],
  announced: ReadonlyMap<string, Announced>,
  now: number,
  since: KnownSince = byItsTime(now, rules.stableForMs),
): { readonly complete: CompleteExport[]; readonly waiting: WaitingExport[] } {
  const byName = new Map(listing.map((delivery) => [delivery.name, delivery]))
  const companion = (pattern: string | undefined, { name }: Delivery): Delivery | undefined =>
    pattern === undefined ? undefined : byName.get(pattern.replaceAll('{name}', name))
  const besides = new Set<Delivery | undefined>([
    ...manifestsOf(rules, listing),
    ...listing.flatMap((one) => [companion(rules.marker, one), companion(rules.checksum, one)]),
  ])
  const complete: CompleteExport[] = []
  const waiting: WaitingExport[] = []
  for (const delivery of inOrder(compilePattern(rules.match), listing)) {
    if (besides.has(delivery)) continue
    const marker = companion(rules.marker, delivery)
    const checksum = companion(rules.checksum, delivery)
    const said = announced.get(delivery.name)
    const lacks: Lack[] = []
    if (rules.stableForMs > 0 && now - since(delivery) < rules.stableForMs) lacks.push('rest')
    if (rules.marker !== undefined && marker === undefined) lacks.push('marker')
    if (rules.checksum !== undefined && checksum === undefined) lacks.push('checksum')
    if (rules.manifest !== undefined && said === undefined) lacks.push('manifest')
    if (lacks.length === 0) complete.push({ delivery, marker, checksum, announced: said })
    else waiting.push({ delivery, lacks })
  }
  return { complete, waiting }
}

/** Those alone that are complete. */
export const completeExports = (...given: Parameters<typeof sortExports>): CompleteExport[] =>
  sortExports(...given).complete
