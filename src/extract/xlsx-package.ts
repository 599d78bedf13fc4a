/**
 * A workbook as a package (ISO/IEC 29500-2): a zip archive of parts that name one another by relationships. A part is read as a stream,
 * within the limits of unpacking, and compared with its CRC-32. No relationship that leads out of the package is followed.
 */
import { crc32 } from 'node:zlib'
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl'
import { type Compression, countAgainst, openVersion, readContent } from './content.ts'
import { readXml } from './xlsx-xml.ts'

/** Of a local header of zip, and of a compound file ([MS-CFB], 2.2). */
const ZIP = 'PK\x03\x04'
const COMPOUND = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
const CONTENT_TYPES = '[content_types].xml'
/** The first member of an OpenDocument file (OpenDocument 1.3, part 2, 3.3). */
const OPEN_DOCUMENT = 'mimetypeapplication/vnd.oasis.opendocument.'
/** Behind the fixed fields of a local header stand the name and the content. */
const NAME_OFFSET = 30

/** Bytes by which `isSpreadsheet` and `foreignKind` tell. */
export const HEAD_BYTES = NAME_OFFSET + OPEN_DOCUMENT.length

/** Whether an archive is an office document, by its first bytes and the names of its members: then its members are no exports. */
export const isOfficeDocument = (head: Buffer, members: readonly string[]): boolean =>
  isOpenDocument(head) || members.some((name) => name.toLowerCase() === CONTENT_TYPES)

const isOpenDocument = (head: Buffer): boolean =>
  head.toString('latin1', NAME_OFFSET, HEAD_BYTES) === OPEN_DOCUMENT

/** Whether a file may be a workbook or another office document, by its first bytes. */
export const isPacked = (head: Buffer): boolean =>
  head.toString('latin1', 0, 4) === ZIP || head.toString('latin1', 0, 8) === COMPOUND

/**
 * Names a file that is no workbook of the kind that is read; undefined where it may be one.
 * @param scan finds a text in the file, as UTF-16
 */
export async function foreignKind(
  head: Buffer,
  scan: (text: string) => Promise<boolean>,
): Promise<string | undefined> {
  if (isOpenDocument(head)) return 'an OpenDocument file (.ods)'
  if (head.toString('latin1', 0, 4) === ZIP) return undefined
  if (head.toString('latin1', 0, 8) === COMPOUND)
    return (await scan('EncryptedPackage'))
      ? 'a workbook with a password'
      : 'a file of Excel 97 to 2003 (.xls), or of another old office program'
  const text = head.toString('latin1').trimStart()
  return text.startsWith('<') ? 'XML or HTML, whatever its name says' : 'text, and no workbook'
}

/** Names of parts are compared without regard to case. */
export interface WorkbookPackage {
  /** Bytes of a part as XML. */
  sizeOf(name: string): number
  /** @throws Error with the reason; WaybillError `export-too-large` */
  read(name: string): AsyncIterable<Buffer>
  /** Targets of the part's relationships by their ids, with the last word of their types; those that lead out of the package are left out. */
  relationships(name: string): Promise<ReadonlyMap<string, Relationship>>
  close(): Promise<void>
}

export interface Relationship {
  readonly type: string
  readonly target: string
}

const MOST_PARTS = 10_000

/** To be closed. @throws Error with the reason; WaybillError `export-changed` */
export async function openPackage(path: string, compression: Compression): Promise<WorkbookPackage> {
  const { handle, bytes } = await openVersion(path, compression.version)
  const close = () => handle.close()
  try {
    const zip = await fromFdPromise(handle.fd, { autoClose: false })
    return { ...packageOf(path, zip, await partsOf(zip), compression, bytes), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function partsOf(zip: ZipFile): Promise<Map<string, Entry>> {
  const parts = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    if (parts.size === MOST_PARTS) throw new Error(`it has more than ${MOST_PARTS} parts`)
    const name = entry.fileName.toLowerCase()
    if (name.endsWith('/')) continue
    if (parts.has(name)) throw new Error('a part stands in it twice, and nobody can tell which is meant')
    parts.set(name, entry)
  }
  return parts
}

function packageOf(
  path: string,
  zip: ZipFile,
  parts: ReadonlyMap<string, Entry>,
  { limits }: Compression,
  packedBytes: number,
): Omit<WorkbookPackage, 'close'> {
  const entryOf = (name: string): Entry => {
    const entry = parts.get(name.toLowerCase())
    if (entry === undefined) throw new Error(`it lacks the part ${name}`)
    return entry
  }
  const read = async function* (name: string): AsyncGenerator<Buffer> {
    const entry = entryOf(name)
    if (entry.isEncrypted()) throw new Error('it is encrypted as zip does it')
    if (!entry.canDecodeFileData())
      throw new Error(`a part is compressed by method ${entry.compressionMethod}; workbooks use deflate`)
    const count = countAgainst(`${path} ${name}`, limits, packedBytes)
    let crc = 0
    for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      limits.signal?.throwIfAborted()
      count(chunk.length)
      crc = crc32(chunk, crc)
      yield chunk
    }
    if (crc !== entry.crc32) throw new Error(`the part ${name} is damaged: its CRC-32 differs`)
  }
  return {
    sizeOf: (name) => entryOf(name).uncompressedSize,
    read,
    async relationships(name) {
      const found = new Map<string, Relationship>()
      const slash = name.lastIndexOf('/') + 1
      const rels = `${name.slice(0, slash)}_rels/${name.slice(slash)}.rels`
      if (!parts.has(rels.toLowerCase())) return found
      await readXml(read(rels), {
        open(element, { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode }) {
          if (element === 'Relationship' && mode !== 'External')
            found.set(id, { type: type.split('/').at(-1) ?? '', target: partName(name, target) })
        },
        text() {},
        close() {},
      })
      return found
    },
  }
}

/** A target is a reference within the package (RFC 3986), relative to the part that names it. */
function partName(from: string, target: string): string {
  const { pathname } = new URL(target.replaceAll('\\', '/'), `part:///${from}`)
  try {
    return decodeURIComponent(pathname).replace(/^\/+/, '')
  } catch {
    return pathname.replace(/^\/+/, '')
  }
}

/** Whether a text stands in a file as UTF-16: names of streams in compound files do. */
export async function holdsUtf16(path: string, compression: Compression, text: string): Promise<boolean> {
  const sought = Buffer.from(text, 'utf16le')
  let kept: Buffer = Buffer.alloc(0)
  for await (const chunk of readContent(path, compression, 0)) {
    const joined = Buffer.concat([kept, chunk])
    if (joined.includes(sought)) return true
    kept = joined.subarray(-sought.length)
  }
  return false
}
