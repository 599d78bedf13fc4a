/** Compares a delivered file with its announcement: a checksum file, a manifest or a marker. */

import { stat } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import type { WaybillError } from '../../model/errors.ts'
import { digestOf, exportError, unreadable } from '../content.ts'
import { compilePattern, type Delivery, inOrder } from '../sources/source.ts'

/** `export-not-as-announced` */
export const notAsAnnounced = (
  address: string,
  what: string,
  announced: string | number,
  came: string | number,
): WaybillError =>
  exportError(address, `The export is not as announced: ${what} should be ${announced}, but is ${came}.`, {
    code: 'export-not-as-announced',
  })

/** @throws `export-not-as-announced`, `export-unreadable` */
export async function verifySize(address: string, file: string, bytes: number): Promise<void> {
  const { size } = await stat(file).catch((cause) => {
    throw unreadable(address, cause)
  })
  if (size !== bytes) throw notAsAnnounced(address, 'its size in bytes', bytes, size)
}

/**
 * @param signal ends the reading; aborted with a `WaybillError`
 * @throws `export-not-as-announced`, `export-unreadable`; the reason of an aborted signal
 */
export async function verifyChecksum(
  address: string,
  file: string,
  { algorithm, digest }: Checksum,
  signal?: AbortSignal,
): Promise<void> {
  const { digest: came } = await digestOf(file, algorithm, signal).catch((cause) => {
    throw unreadable(address, cause)
  })
  if (came !== digest) throw notAsAnnounced(address, `its ${algorithm.toUpperCase()}`, digest, came)
}

interface Checksum {
  readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'
  /** Hexadecimal digits in lower case. */
  readonly digest: string
}

const BY_LENGTH = { 32: 'md5', 40: 'sha1', 64: 'sha256', 128: 'sha512' } as const
const BSD = /^(MD5|SHA1|SHA256|SHA512) ?\((.+)\) ?= ?([0-9a-f]+)$/i
/** GNU coreutils: a backslash in front where the name is escaped, then digest, blank, `*` or blank, name. */
const GNU = /^\\?([0-9a-f]+)(?:[ \t]+\*?(.+))?$/i

/**
 * The checksum of a file by its name, with or without a folder in front. A digest without a name, or a single line with any name, is for the
 * file beside.
 * @returns undefined for none
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

/** Announcement of an export. */
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

/** Spellings of the columns, in lower case, letters and digits only. */
const SPELLINGS = {
  name: ['name', 'file', 'filename'],
  bytes: ['bytes', 'size', 'filesize', 'sizebytes'],
  rows: ['rows', 'rowcount', 'records', 'recordcount', 'count'],
  sha256: ['sha256', 'sha256sum', 'checksum', 'digest'],
} as const

/**
 * Reads a manifest: CSV with a header, or a list of objects (JSON: the document, or its member `files`).
 * @returns announcements by file name, without folders
 * @throws `export-unreadable`
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
    // The messages of the parsers quote the content.
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

const unreadableManifest = (address: string, problem: string): WaybillError =>
  exportError(address, `The manifest cannot be read: ${problem}.`, {
    remedy: 'A manifest has the columns name, and any of bytes, sha256, rows. Ask the vendor for it again.',
  })

/** Conditions of a complete delivery, and names of the files beside, with `{name}` for that of the export. */
export interface ArrivalRules {
  readonly match: string
  readonly stableForMs: number
  readonly marker?: string | undefined
  /** A pattern like `match`. */
  readonly manifest?: string | undefined
  readonly checksum?: string | undefined
}

/** A complete export, with the files that belong to it alone. */
export interface CompleteExport {
  readonly delivery: Delivery
  readonly checksum?: Delivery | undefined
  readonly marker?: Delivery | undefined
  readonly announced?: Announced | undefined
}

/** Missing conditions; `rest`: the file may still change. */
type Lack = 'rest' | 'marker' | 'checksum' | 'manifest'

/** An incomplete export. */
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

const MOST_SHOWN = 20

/** Describes each incomplete export in a line. */
export function waitingLines(waiting: readonly WaitingExport[], rules: ArrivalRules): string[] {
  const more = waiting.length - MOST_SHOWN
  const lines = waiting.slice(0, MOST_SHOWN).map((one) => waitingText(one, rules))
  return more > 0 ? [...lines, `${more} more are incomplete`] : lines
}

/** Time of the last known change of a file. */
type KnownSince = (delivery: Delivery) => number

/**
 * Modification time, for a single look. It comes from another clock, so a time far in the future proves nothing. A time ahead by less than
 * `stableFor` may belong to a file still being written.
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
 * Exports by the date in the name, oldest first, then by name (in code-unit order). A complete export has not changed for `stableFor`, and
 * has the marker, checksum file and manifest of the rules, which are no exports.
 * @param announced announcements of manifests, by name
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
    const announcement = announced.get(delivery.name)
    const lacks: Lack[] = []
    if (rules.stableForMs > 0 && now - since(delivery) < rules.stableForMs) lacks.push('rest')
    if (rules.marker !== undefined && marker === undefined) lacks.push('marker')
    if (rules.checksum !== undefined && checksum === undefined) lacks.push('checksum')
    if (rules.manifest !== undefined && announcement === undefined) lacks.push('manifest')
    if (lacks.length === 0) complete.push({ delivery, marker, checksum, announced: announcement })
    else waiting.push({ delivery, lacks })
  }
  return { complete, waiting }
}

export const completeExports = (...given: Parameters<typeof sortExports>): CompleteExport[] =>
  sortExports(...given).complete
