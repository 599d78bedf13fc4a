/**
 * A workbook as a package (ISO/IEC 29500-2): a zip archive of parts, streamed within the limits of unpacking and compared with their
 * CRC-32. Relationships out of the package are ignored.
 */
import { type Entry, fromFdPromise } from 'yauzl'
import {
  type Compression,
  countAgainst,
  exportError,
  openVersion,
  readContent,
  readHead,
  unreadable,
  withCrc,
} from './content.ts'
import { readXml } from './xlsx-xml.ts'

/** First bytes of a local header of zip; of a compound file ([MS-CFB], 2.2). */
const ZIP = 'PK\x03\x04'
const COMPOUND = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'

async function packingOf(path: string, version?: string): Promise<'zip' | 'compound' | 'empty' | undefined> {
  const { head } = await readHead(path, COMPOUND.length, version)
  const text = head.toString('latin1')
  if (text.startsWith(ZIP)) return 'zip'
  if (text === COMPOUND) return 'compound'
  return text === '' ? 'empty' : undefined
}

/** True for an archive that is an office document: its members are not exports. */
export const isOfficeDocument = (members: readonly string[]): boolean =>
  members.some((name) => name.toLowerCase() === '[content_types].xml') ||
  isOpenDocument((name) => members.includes(name))

const isOpenDocument = (has: (name: string) => boolean): boolean =>
  has('content.xml') && has('META-INF/manifest.xml')

/** True for a zip archive, a workbook among them, or an old office document. @throws `export-unreadable` */
export async function isPacked(path: string): Promise<boolean> {
  const packing = await packingOf(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  return packing === 'zip' || packing === 'compound'
}

/**
 * Refuses a file of another kind than the mapping reads, by its first bytes, if rows or parts could not say why.
 * @throws `export-unreadable`, `export-empty`
 */
export async function refuseKind(path: string, compression: Compression, format: string): Promise<void> {
  const packing = await packingOf(path, compression.version)
  const isRead = format === 'xlsx'
  if (isRead && packing === 'empty') throw exportError(path, 'The export is empty.', { code: 'export-empty' })
  if (isRead ? packing === 'zip' : packing !== 'zip' && packing !== 'compound') return
  let kind = 'text, XML or HTML, whatever its name says'
  if (compression.kind !== 'plain') kind = 'packed once more, by gzip or Zstandard'
  if (packing === 'zip') kind = 'a workbook (.xlsx) or another zip archive'
  if (packing === 'compound')
    kind = (await holdsUtf16(path, compression, 'EncryptedPackage'))
      ? 'a workbook with a password'
      : 'a workbook of Excel 97 to 2003 (.xls), or another old office document'
  throw exportError(path, `The export is ${kind}, but the mapping reads ${format}.`, {
    remedy: isRead
      ? 'Ask the vendor for .xlsx without a password, or for CSV. If files must be encrypted, use PGP.'
      : 'Use the mapping for these files. `waybill mapping init FILE` drafts one from a workbook (.xlsx).',
  })
}

/** Searches a compound file for the name of a stream. */
async function holdsUtf16(path: string, compression: Compression, text: string): Promise<boolean> {
  const sought = Buffer.from(text, 'utf16le')
  let kept: Buffer = Buffer.alloc(0)
  for await (const chunk of readContent(path, compression, 0)) {
    kept = Buffer.concat([kept.subarray(-sought.length), chunk])
    if (kept.includes(sought)) return true
  }
  return false
}

/** Parts by name, in any case. */
export interface WorkbookPackage {
  /** OpenDocument 1.3, part 2, 2.2.1. */
  readonly isOpenDocument: boolean
  sizeOf(name: string): number
  /** @throws Error with the reason; WaybillError `export-too-large` */
  read(name: string): AsyncIterable<Buffer>
  /** Relationships of a part by id. */
  relationships(name: string): Promise<ReadonlyMap<string, Relationship>>
}

interface Relationship {
  /** The last word of the type. */
  readonly type: string
  readonly target: string
}

const MOST_PARTS = 10_000

/** Opens the package for `use`. @throws `export-unreadable`, `export-changed` */
export async function* usingPackage<Result>(
  path: string,
  compression: Compression,
  use: (opened: WorkbookPackage) => AsyncIterable<Result>,
): AsyncGenerator<Result> {
  try {
    const { handle, bytes } = await openVersion(path, compression.version)
    try {
      const zip = await fromFdPromise(handle.fd, { autoClose: false })
      const parts = new Map<string, Entry>()
      for await (const entry of zip.eachEntry()) {
        const name = entry.fileName.toLowerCase()
        if (parts.size === MOST_PARTS) throw new Error(`it has more than ${MOST_PARTS} parts`)
        if (parts.has(name)) throw new Error('a part occurs twice')
        parts.set(name, entry)
      }
      const content = async function* (entry: Entry, name: string) {
        const count = countAgainst(`${path} ${name}`, compression.limits, bytes)
        const damaged = `the part ${name} is damaged: its CRC-32 does not match`
        yield* withCrc(await zip.openReadStreamPromise(entry), entry.crc32, count, damaged)
      }
      yield* use(packageOf(parts, content))
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

function packageOf(
  parts: ReadonlyMap<string, Entry>,
  content: (entry: Entry, name: string) => AsyncIterable<Buffer>,
): WorkbookPackage {
  const entryOf = (name: string): Entry => {
    const entry = parts.get(name.toLowerCase())
    if (entry === undefined) throw new Error(`it lacks the part ${name}`)
    return entry
  }
  const read = (name: string): AsyncIterable<Buffer> => {
    const entry = entryOf(name)
    if (entry.isEncrypted()) throw new Error('it is encrypted with zip encryption')
    return content(entry, name)
  }
  return {
    isOpenDocument: isOpenDocument((name) => parts.has(name.toLowerCase())),
    sizeOf: (name) => entryOf(name).uncompressedSize,
    read,
    async relationships(name) {
      const found = new Map<string, Relationship>()
      const rels = name.replace(/[^/]*$/, '_rels/$&.rels')
      if (!parts.has(rels.toLowerCase())) return found
      await readXml(read(rels), {
        open(element, { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode }) {
          if (element !== 'Relationship' || mode === 'External') return
          // Relative to the part (RFC 3986).
          const { pathname } = new URL(target.replaceAll('\\', '/'), `part:///${name}`)
          found.set(id, { type: type.split('/').at(-1) ?? '', target: decodeURIComponent(pathname).slice(1) })
        },
      })
      return found
    },
  }
}
