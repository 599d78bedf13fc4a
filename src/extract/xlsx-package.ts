/**
 * A workbook as a package (ISO/IEC 29500-2): a zip archive of parts that name one another by relationships. A part is read as a stream,
 * within the limits of unpacking, and compared with its CRC-32. No relationship that leads out of the package is followed.
 */
import { crc32 } from 'node:zlib'
import { type Entry, fromFdPromise } from 'yauzl'
import { WaybillError } from '../model/errors.ts'
import { type Compression, countAgainst, openVersion, readContent, unreadable } from './content.ts'
import { readXml } from './xlsx-xml.ts'

/** Of a local header of zip; of a compound file ([MS-CFB], 2.2). */
const ZIP = 'PK\x03\x04'
const COMPOUND = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
const HEAD_BYTES = 8

/** Whether an archive is a document of an office program, a workbook among them: then its members are no exports. */
export const isOfficeDocument = (members: readonly string[]): boolean =>
  members.some((name) => name.toLowerCase() === '[content_types].xml') ||
  isOpenDocument((name) => members.includes(name))

const isOpenDocument = (has: (name: string) => boolean): boolean =>
  has('content.xml') && has('META-INF/manifest.xml')

async function headOf(path: string, version?: string): Promise<Buffer> {
  const { handle } = await openVersion(path, version)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES))
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

const begins = (head: Buffer, magic: string): boolean => head.toString('latin1', 0, magic.length) === magic

/** Whether a file is a zip archive, a workbook among them, or an old office document. @throws WaybillError `export-unreadable` */
export async function isPacked(path: string): Promise<boolean> {
  const head = await headOf(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  return begins(head, ZIP) || begins(head, COMPOUND)
}

/**
 * Refuses a file that by its first bytes is of another kind than the mapping reads, where its lines or parts would not say why.
 * @throws WaybillError `export-unreadable`, `export-empty`
 */
export async function refuseKind(path: string, compression: Compression, format: string): Promise<void> {
  const head = await headOf(path, compression.version)
  const [isZip, isCompound] = [begins(head, ZIP), begins(head, COMPOUND)]
  const isRead = format === 'xlsx'
  if (isRead && head.length === 0)
    throw new WaybillError('export-empty', 'The export is empty.', { place: { file: path } })
  let kind =
    compression.kind === 'plain'
      ? 'text, XML or HTML, whatever its name says'
      : 'packed once more, by gzip or Zstandard'
  if (isZip) kind = 'a workbook (.xlsx) or another zip archive'
  else if (isCompound)
    kind = (await holdsUtf16(path, compression, 'EncryptedPackage'))
      ? 'a workbook with a password'
      : 'a workbook of Excel 97 to 2003 (.xls), or another old office document'
  if (isRead ? isZip : !isZip && !isCompound) return
  throw new WaybillError('export-unreadable', `The export is ${kind}, where ${format} is read.`, {
    place: { file: path },
    remedy: isRead
      ? 'Ask the vendor for .xlsx without a password, or for CSV. Where files must be encrypted, PGP does it.'
      : 'Use the mapping that is meant for these files. `waybill mapping init FILE` drafts one from a workbook (.xlsx).',
  })
}

/** Names of streams stand so in a compound file. */
async function holdsUtf16(path: string, compression: Compression, text: string): Promise<boolean> {
  const sought = Buffer.from(text, 'utf16le')
  let kept: Buffer = Buffer.alloc(0)
  for await (const chunk of readContent(path, compression, 0)) {
    kept = Buffer.concat([kept.subarray(-sought.length), chunk])
    if (kept.includes(sought)) return true
  }
  return false
}

/** Names of parts are compared without regard to case. */
export interface WorkbookPackage {
  /** Whether it is an OpenDocument file (OpenDocument 1.3, part 2, 2.2.1). */
  readonly isOpenDocument: boolean
  /** Bytes of a part as XML. */
  sizeOf(name: string): number
  /** @throws Error with the reason; WaybillError `export-too-large` */
  read(name: string): AsyncIterable<Buffer>
  /** Relationships of a part by their ids: the last word of their type, and the part that they lead to. */
  relationships(name: string): Promise<ReadonlyMap<string, Relationship>>
}

export interface Relationship {
  readonly type: string
  readonly target: string
}

const MOST_PARTS = 10_000

/** Opens the package for as long as it is used. @throws WaybillError `export-unreadable`, `export-changed`; what `use` throws, as one */
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
        if (parts.has(name)) throw new Error('a part stands in it twice, and nobody can tell which is meant')
        parts.set(name, entry)
      }
      const streamOf = (entry: Entry): Promise<AsyncIterable<Buffer>> => zip.openReadStreamPromise(entry)
      yield* use(packageOf(path, parts, streamOf, compression, bytes))
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
  }
}

function packageOf(
  path: string,
  parts: ReadonlyMap<string, Entry>,
  streamOf: (entry: Entry) => Promise<AsyncIterable<Buffer>>,
  { limits }: Compression,
  packedBytes: number,
): WorkbookPackage {
  const entryOf = (name: string): Entry => {
    const entry = parts.get(name.toLowerCase())
    if (entry === undefined) throw new Error(`it lacks the part ${name}`)
    return entry
  }
  const read = async function* (name: string): AsyncGenerator<Buffer> {
    const entry = entryOf(name)
    if (entry.isEncrypted()) throw new Error('it is encrypted as zip does it')
    const count = countAgainst(`${path} ${name}`, limits, packedBytes)
    let crc = 0
    for await (const chunk of await streamOf(entry)) {
      count(chunk.length)
      crc = crc32(chunk, crc)
      yield chunk
    }
    if (crc !== entry.crc32) throw new Error(`the part ${name} is damaged: its CRC-32 is another one`)
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
          // Relative to the part that names it (RFC 3986).
          const { pathname } = new URL(target.replaceAll('\\', '/'), `part:///${name}`)
          found.set(id, { type: type.split('/').at(-1) ?? '', target: decodeURIComponent(pathname).slice(1) })
        },
      })
      return found
    },
  }
}
