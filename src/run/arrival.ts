/** Way of an export from the vendor's place to a readable file: found, fetched, verified, unpacked; archived. */
import { mkdtemp, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { JobSource } from '../definitions/export-definition.ts'
import type { PgpKeyFiles } from '../extract/arrival/pgp.ts'
import { type UnpackedExport, unpack } from '../extract/arrival/unpack.ts'
import {
  type Announced,
  type ArrivalRules,
  manifestsOf,
  readChecksum,
  readManifest,
  sortExports,
  verifyChecksum,
  verifySize,
  type WaitingExport,
} from '../extract/arrival/verify-delivery.ts'
import { assertVersion, type ContentLimits, countWhole, fingerprint } from '../extract/content.ts'
import { lookAt } from '../extract/open-export.ts'
import { createFolderSource } from '../extract/sources/folder.ts'
import { createSpool, whileWanted } from '../extract/sources/receive-file.ts'
import {
  asideName,
  type Delivery,
  type ExportSource,
  type Listing,
  meantBy,
  nameThere,
  type RefusedFile,
  type SourceAccess,
} from '../extract/sources/source.ts'
import type { RunKind } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { assertWithin, createRoom } from '../system/own-files.ts'
import {
  chooseBeside,
  completeBeside,
  type FoundDelivery,
  isAnnounced,
  rulesOf,
  unlisted,
} from './found-delivery.ts'

/** Manifests and checksum files are held in memory. */
const MOST_COMPANION_BYTES = 16 * 1024 ** 2

/** Access to sources: keys, passwords and limits. */
export interface SourceSettings extends PgpKeyFiles, SourceAccess {
  /** Free bytes required on the disk of the spool. */
  readonly minFree?: number
  /** Ends listing, fetching, unpacking and reading; aborted with a `WaybillError`, which is thrown. */
  readonly signal?: AbortSignal
}

/** Export as a readable file. */
export interface ReceivedExport {
  /** Name of the delivered file; for a member of an archive, followed by `!` and the path of the member. */
  readonly name: string
  /** Origin of the export, as kept in the ledger. */
  readonly address: string
  readonly file: string
  /** Version of the file before inspection (`versionOf`): everything read must be of this version. */
  readonly version: string
  readonly announced: Announced
  readonly limits: ContentLimits
  readonly beside: Beside
}

/** File beside an export, joined with it. */
export type BesideExport = Pick<ReceivedExport, 'name' | 'address' | 'file' | 'version' | 'limits'>

/**
 * Fetches, verifies and unpacks the file with a matching name that belongs to an export, from the same archive, folder or bucket; undefined if there
 * is none.
 * @throws WaybillError as `receive` does
 */
export type Beside = (pattern: string) => Promise<BesideExport | undefined>

/** Content of a source. */
export interface SourceLook {
  readonly complete: readonly FoundDelivery[]
  readonly waiting: readonly WaitingExport[]
  /** Exports not taken; only the first ones if there are many. */
  readonly refused: readonly FoundDelivery[]
  /** Names of all files at the source, exports or not. */
  readonly names: readonly string[]
  /** Address of a file of the source, as in the ledger. */
  address(name: string): string
}

export type SeenSince = (address: string, delivery: Delivery) => number

export interface Arrival {
  /**
   * Exports of a source of the job, in order.
   * @param since time at which a file (address of the ledger) was first seen unchanged; default: modification time
   */
  look(source: JobSource, now: number, since?: SeenSince): Promise<SourceLook>
  /** File named by the operator, read by the rules of a source of the job, or by none. */
  named(file: string, rules: FoundDelivery['rules']): FoundDelivery
  /**
   * Fetches, verifies and unpacks. Nothing may be sent before this is done.
   * @throws WaybillError `export-refused`, `export-not-as-announced`, `export-untrusted`, `export-too-large`, `export-unreadable`, `export-changed`,
   *   `source-unreachable`
   */
  receive(found: FoundDelivery): Promise<ReceivedExport[]>
  /**
   * Export that an earlier process began with, by its address in the ledger: the fetched copy if still here, else fetched anew.
   * @returns undefined if no export with this SHA-256 is there
   */
  receiveAgain(
    address: string,
    sha256: string,
    sources: readonly JobSource[],
  ): Promise<ReceivedExport | undefined>
  /** Removes the fetched files of a delivery that nobody will resume. */
  forget(found: FoundDelivery): Promise<void>
  /** Keeps joined content, by SHA-256, until a run has ended well; `kept` returns it. */
  keep(sha256: string, text: string): Promise<void>
  kept(sha256: string): Promise<string | undefined>
  /** Moves the delivery and the files beside it to the archive. @returns the address of the delivery there */
  archive(found: FoundDelivery): Promise<string>
  /** Removes decrypted files left by dead processes. Only the holder of the job may call this. */
  clearUnpacked(): Promise<void>
  /** @param keepFetched true if a resumption will need the fetched files */
  close(keepFetched: boolean): Promise<void>
}

export function createArrival(spoolFolder: string, settings: SourceSettings): Arrival {
  const { signal = new AbortController().signal } = settings
  const room = createRoom(spoolFolder, settings.minFree ?? 0)
  const spool = createSpool(spoolFolder)
  const receiving: Receiving = { settings, signal, room, spool }
  const opened = new Map<JobSource, Promise<ExportSource>>()
  const open = (source: JobSource): Promise<ExportSource> => {
    const known = opened.get(source) ?? source.place.open(settings)
    opened.set(source, known)
    return known
  }
  /** Unpacks an archive once, however many members a run resumes. */
  const again = new Map<string, Promise<ReceivedExport[]>>()
  return {
    look: async (jobSource, now, since) =>
      lookAtSource(receiving, await open(jobSource), jobSource, now, since),
    named(file, rules) {
      const source = createFolderSource({ folder: dirname(file) })
      return unlisted(source, basename(file), rules)
    },
    async receive(found) {
      signal.throwIfAborted()
      if (found.refused !== undefined) throw found.refused
      return unpacked(receiving, found, await fetched(receiving, found))
    },
    async receiveAgain(address, sha256, sources) {
      for (const base of basesOf(address)) {
        for await (const { found, file } of candidates(receiving, open, base, sources)) {
          again.set(file, again.get(file) ?? unpacked(receiving, found, file))
          const exports = (await again.get(file)) ?? []
          const same = exports.find((one) => one.address === address)
          if (same === undefined) continue
          if ((await fingerprint(same.file, same.limits.signal, same.version)).sha256 === sha256) return same
        }
      }
      return undefined
    },
    async archive({ source, delivery, marker, checksum }) {
      // The marker goes first: an export without its marker waits, a marker without its export vouches for the next export.
      // A checksum file of another name may also belong to other exports.
      const own = checksum?.name.includes(delivery.name) ? checksum : undefined
      for (const one of [marker, own]) if (one !== undefined) await source.archive(one)
      return source.archive(delivery)
    },
    forget: ({ source, delivery }) => spool.forget(source.address(delivery.name)),
    keep: spool.keep,
    kept: spool.kept,
    clearUnpacked: spool.clearUnpacked,
    async close(keepFetched) {
      await spool.clearUnpacked()
      if (!keepFetched) await spool.clear()
      for (const source of opened.values()) await source.then((one) => one.close())
    },
  }
}

/** Place of fetched and unpacked files, and the limits on them. */
interface Receiving {
  readonly settings: SourceSettings
  readonly signal: AbortSignal
  readonly room: ReturnType<typeof createRoom>
  readonly spool: ReturnType<typeof createSpool>
}

// A file system may hang, too.
const listOf = ({ signal }: Receiving, source: ExportSource): Promise<Listing> =>
  whileWanted(source.list(signal), signal)

const limitsOf = ({ signal }: Receiving, { limits }: FoundDelivery['rules']): ContentLimits => ({
  ...limits,
  signal: limits.signal === undefined ? signal : AbortSignal.any([signal, limits.signal]),
})

const fetched = (receiving: Receiving, { source, delivery, rules }: FoundDelivery): Promise<string> =>
  receiving.spool.fetch(source, delivery, { ...limitsOf(receiving, rules), room: receiving.room })

async function lookAtSource(
  receiving: Receiving,
  source: ExportSource,
  rules: JobSource,
  now: number,
  since: SeenSince | undefined,
): Promise<SourceLook> {
  const { files: listing, refused } = await listOf(receiving, source)
  const announced = await announcedBy(receiving, source, rules, listing)
  const { archived } = rules
  const known = since && ((one: Delivery): number => since(source.address(one.name), one))
  const { complete, waiting } = sortExports(rules, listing, announced, now, known)
  const found = complete.map((one) => ({
    ...one,
    source,
    rules,
    neighbours: async (match: string) => completeBeside(rules, match, listing, announced, now),
    isListed: true,
    archived,
  }))
  const names = listing.map(({ name }) => name)
  const notTaken = refusedBy(rules, source, refused)
  return { complete: found, waiting, refused: notTaken, names, address: source.address }
}

async function readCompanion(
  { spool, signal, room }: Receiving,
  source: ExportSource,
  delivery: Delivery,
): Promise<string> {
  const address = source.address(delivery.name)
  if (delivery.bytes > MOST_COMPANION_BYTES)
    throw new WaybillError('export-too-large', `${delivery.name} has ${delivery.bytes} bytes.`, {
      place: { file: address },
    })
  return readFile(await spool.fetch(source, delivery, { signal, room }), 'utf8').catch((cause) => {
    throw new WaybillError('export-unreadable', 'A file beside the export cannot be read.', {
      place: { file: address },
      cause,
    })
  })
}

async function announcedBy(
  receiving: Receiving,
  source: ExportSource,
  rules: ArrivalRules,
  listing: readonly Delivery[],
): Promise<Map<string, Announced>> {
  const all = new Map<string, Announced>()
  for (const manifest of manifestsOf(rules, listing)) {
    const text = await readCompanion(receiving, source, manifest)
    for (const [name, one] of readManifest(text, source.address(manifest.name))) all.set(name, one)
  }
  return all
}

async function verify(
  receiving: Receiving,
  found: FoundDelivery,
  file: string,
  { signal }: Pick<ContentLimits, 'signal'>,
): Promise<void> {
  const { source, delivery, checksum, announced } = found
  const address = source.address(delivery.name)
  if (announced?.bytes !== undefined) await verifySize(address, file, announced.bytes)
  if (announced?.sha256 !== undefined)
    await verifyChecksum(address, file, { algorithm: 'sha256', digest: announced.sha256 }, signal)
  if (checksum === undefined) return
  const expected = readChecksum(await readCompanion(receiving, source, checksum), delivery.name)
  if (expected === undefined)
    throw new WaybillError('export-not-as-announced', `${checksum.name} has no checksum for the export.`, {
      place: { file: address },
    })
  await verifyChecksum(address, file, expected, signal)
}

/** Verifies a file, decrypts and unpacks it. */
async function unpacked(receiving: Receiving, found: FoundDelivery, file: string): Promise<ReceivedExport[]> {
  const { source, delivery, rules, announced = {} } = found
  const { settings, room, spool } = receiving
  const address = source.address(delivery.name)
  const { version, bytes } = await lookAt(file)
  const own = limitsOf(receiving, rules)
  const whole = countWhole(address, own, bytes)
  const limits = { ...own, whole }
  // Decrypted and unpacked files take space too: they must fit.
  const written = (file: string) => {
    const count = whole(file)
    return (length: number): void => {
      count(length)
      room(length)
    }
  }
  const isWhole = found.acceptEnd === true || isAnnounced(found, announced)
  const packed = { ...rules, limits: { ...own, whole: written }, pgp: settings, isWhole }
  // Accepts only the listed file, not a file put in its place since. A file in a folder is read where it lies.
  const isWhereItLies = file === join(dirname(address), nameThere(delivery))
  if (isWhereItLies && delivery.version !== '') assertVersion(address, version, delivery.version)
  await verify(receiving, found, file, limits)
  const exports = await unpack(address, file, packed, spool.unpack)
  const besides = new Map<string, Promise<UnpackedExport[]>>()
  /** Unpacks once for all members. The export itself came out of the archive: an archive unreadable now has no matching member. */
  const members = (pattern: string): Promise<UnpackedExport[]> => {
    const known =
      besides.get(pattern) ??
      unpack(address, file, { ...packed, members: pattern }, spool.unpack).catch((error) => {
        if (error instanceof WaybillError && error.code === 'export-unreadable') return []
        throw error
      })
    besides.set(pattern, known)
    return known
  }
  const received: ReceivedExport[] = []
  for (const { member, ...one } of exports)
    received.push({
      name: member === undefined ? delivery.name : `${delivery.name}!${member.replaceAll('/', '!')}`,
      address: member === undefined ? address : `${address}!${member}`,
      file: one.file,
      version: one.file === file ? version : (await lookAt(one.file)).version,
      announced: exports.length === 1 ? announced : {},
      limits,
      beside: async (pattern) =>
        (member === undefined
          ? undefined
          : await besideMember({ address, rules, limits }, await members(pattern), member, pattern)) ??
        (await besideDelivery(receiving, found, pattern)),
    })
  // The unpacked file is the verified file.
  assertVersion(address, (await lookAt(file)).version, version)
  return received
}

async function besideMember(
  { address, rules, limits }: Pick<FoundDelivery, 'rules'> & Pick<ReceivedExport, 'address' | 'limits'>,
  members: readonly UnpackedExport[],
  member: string,
  pattern: string,
): Promise<BesideExport | undefined> {
  const named = members.map((one) => ({ ...one, name: basename(one.member ?? '') }))
  const one = chooseBeside(named, pattern, basename(member), rules.members ?? '*')
  if (one === undefined) return undefined
  const { version } = await lookAt(one.file)
  const where = { address: `${address}!${one.member}`, file: one.file, version }
  return { name: one.name, ...where, limits }
}

async function besideDelivery(
  receiving: Receiving,
  found: FoundDelivery,
  pattern: string,
): Promise<BesideExport | undefined> {
  const listed = (await found.neighbours(pattern)).map((one) => ({ ...one, name: one.delivery.name }))
  const one = chooseBeside(listed, pattern, found.delivery.name, found.rules.match)
  if (one === undefined) return undefined
  const rules = { ...found.rules, members: undefined }
  const receive = async (delivery: Delivery): Promise<ReceivedExport | undefined> => {
    const joined = { ...found, ...one, rules, delivery }
    const [received] = await unpacked(receiving, joined, await fetched(receiving, joined))
    return received
  }
  return receive(one.delivery).catch(async (error: unknown) => {
    // A joined file may be replaced during a long run: then the current file is taken.
    const isOther = error instanceof WaybillError && error.code === 'export-changed'
    const now = isOther ? (await listOf(receiving, found.source)).files : []
    const anew = now.find(({ name }) => name === one.name)
    if (anew === undefined) throw error
    return receive(anew)
  })
}

/** Places where a delivery with this address may be found, nearest first. */
async function* candidates(
  receiving: Receiving,
  open: (source: JobSource) => Promise<ExportSource>,
  base: string,
  sources: readonly JobSource[],
): AsyncGenerator<{ found: FoundDelivery; file: string }> {
  const name = basename(base)
  if (isAbsolute(base)) {
    const rules = rulesOf(sources, dirname(base), name)
    const source = createFolderSource({ folder: dirname(base) })
    for (const file of [base, join(dirname(base), asideName(name))])
      if (await isFile(file)) yield { found: unlisted(source, name, rules), file }
    return
  }
  for (const rules of sources) {
    const source = await open(rules)
    if (source.address(name) !== base) continue
    const found = unlisted(source, name, rules)
    for (const file of await receiving.spool.fetched(base, name)) yield { found, file }
    const listed = (await listOf(receiving, source)).files.filter((one) => one.name === name)
    for (const delivery of listed) {
      const candidate = { ...found, delivery }
      yield { found: candidate, file: await fetched(receiving, candidate) }
    }
  }
}

/** Arrival outside of a run: fetched and unpacked files go into a folder of random name that only the owner may read, and are then removed. */
export async function withPassingArrival<Result>(
  settings: SourceSettings,
  work: (arrival: Arrival) => Promise<Result>,
): Promise<Result> {
  const arrival = createArrival(await mkdtemp(join(tmpdir(), 'waybill-looks-')), settings)
  return work(arrival).finally(() => arrival.close(false))
}

/** Refused files listed for a source; the rest are counted. */
const MOST_REFUSED = 20

/** Refused files that a source of the job would have taken. They fail like unreadable exports, and keep no other export from running. */
function refusedBy(rules: JobSource, source: ExportSource, refused: readonly RefusedFile[]): FoundDelivery[] {
  const { match, manifest, marker, checksum } = rules
  const beside = [marker, checksum].map((one) => one?.replaceAll('{name}', '*'))
  const patterns = [match, manifest, ...beside].filter((one) => one !== undefined)
  const meant = meantBy(patterns, refused)
  const more = meant.length - MOST_REFUSED
  return meant.slice(0, MOST_REFUSED).map(({ shown, error }, at) => {
    const isLast = at === MOST_REFUSED - 1 && more > 0
    const message = isLast ? `${error.message} ${more} more files there are refused.` : error.message
    const place = { file: source.address(shown) }
    return {
      ...unlisted(source, shown, rules),
      refused: new WaybillError('export-refused', message, { place }),
    }
  })
}

/** `a.zip!b.csv` may be a file of this name, or a member of `a.zip`. */
function basesOf(address: string): string[] {
  const parts = address.split('!')
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('!'))
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/**
 * Spool of a job. A backfill has a spool of its own: a waiting backfill needs the files again, and other runs of the job clear theirs.
 * @param part number of a part, from 0: each fetches the export for itself
 * @throws WaybillError `home-unusable` where a link in the home leads elsewhere
 */
export function spoolFolder(home: string, jobId: number, kind: RunKind, part?: number): string {
  const whose = kind === 'backfill' ? `${jobId}-backfill` : String(jobId)
  const folder = join(home, 'spool', part === undefined ? whose : `${whose}-part-${part + 1}`)
  assertWithin(home, folder)
  return folder
}
