/**
 * Unpacks PGP messages and zip archives, one in the other, detected by their first bytes. gzip and Zstandard are streamed (content.ts). Workbooks
 * stay as they are, though they are zip archives.
 */
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { newOwn } from '../../system/own-files.ts'
import { type ContentLimits, countAgainst, exportError, readHead, unreadable, withCrc } from '../content.ts'
import { assertMemberName, compilePattern, inOrder } from '../sources/source.ts'
import { isOfficeDocument } from '../xlsx-package.ts'
import type { PgpKeyFiles } from './pgp.ts'

interface UnpackRules {
  readonly limits: ContentLimits
  /** Pattern for names of members. Default: an archive has one member */
  readonly members?: string | undefined
  /** Refuses a file without encryption. */
  readonly encrypted: boolean
  readonly pgp: PgpKeyFiles
  /** True for a verified file: bytes behind a PGP message are ignored. */
  readonly isWhole?: boolean
}

export interface UnpackedExport {
  readonly file: string
  readonly member?: string
}

/** Nobody delivers more layers in good faith. */
const MOST_LAYERS = 4
const HEAD_BYTES = 64
/** First bytes of a local header, and of an empty archive (APPNOTE 4.3.7, 4.3.16). */
const ZIP = ['PK\x03\x04', 'PK\x05\x06']

/**
 * @param address of the delivered file, for errors
 * @param rules with limits for the whole delivery (`countWhole`), as layers would multiply
 * @param newFile path for a new file of that name
 * @throws `export-unreadable` (damaged, no key), `export-untrusted`, `export-too-large`
 */
export async function unpack(
  address: string,
  file: string,
  rules: UnpackRules,
  newFile: (name: string) => Promise<string>,
): Promise<UnpackedExport[]> {
  const layer = async (one: UnpackedExport, depth: number, decrypted: boolean): Promise<UnpackedExport[]> => {
    const { head } = await readHead(one.file, HEAD_BYTES).catch((cause) => {
      throw unreadable(address, cause)
    })
    const packing = await packingOf(address, one.file, head)
    if (packing !== undefined && depth === MOST_LAYERS)
      throw unreadable(address, new Error(`it is packed more than ${MOST_LAYERS} times`))
    if (packing === 'pgp') {
      const target = await newFile(one.member ?? nameOf(address))
      const { decryptPgp, hasMoreBehind } = await import('./pgp.ts')
      if (rules.isWhole !== true && (await hasMoreBehind(one.file)))
        throw exportError(
          address,
          'The export has content after its first PGP message. Nothing of it was sent.',
          { code: 'export-cut' },
        )
      await decryptPgp(address, one.file, target, rules.pgp, rules.limits)
      return layer({ ...one, file: target }, depth + 1, true)
    }
    if (rules.encrypted && !decrypted && packing === undefined)
      throw exportError(address, 'The export is not encrypted with PGP, but the job requires it.', {
        code: 'export-untrusted',
      })
    if (packing === undefined) return [one]
    if (one.member !== undefined) throw unreadable(address, new Error('an archive in an archive is not read'))
    const members = await unpackZip(address, one.file, rules, newFile)
    // Sequential: after a failure, nothing else is still writing.
    const exports: UnpackedExport[] = []
    for (const member of members) exports.push(...(await layer(member, depth + 1, decrypted)))
    return exports
  }
  return layer({ file }, 0, false)
}

async function packingOf(address: string, file: string, head: Buffer): Promise<'pgp' | 'zip' | undefined> {
  if (isPgpMessage(head)) return 'pgp'
  if (!ZIP.includes(head.toString('latin1', 0, 4))) return undefined
  return isOfficeDocument(await namesInZip(address, file)) ? undefined : 'zip'
}

const nameOf = (address: string): string => address.split('/').at(-1) ?? address

const MOST_MEMBERS = 10_000

/**
 * Unpacks the only member of a zip archive (PKWARE APPNOTE 6.3), or all members whose names (without folders) match `members`, by the
 * central directory. Names are never paths.
 * @throws `export-unreadable` (damaged, cut off, encrypted, with names that lead out of the archive, without such members),
 * `export-refused` (names with control characters), `export-too-large` (by the sum of all members)
 */
async function unpackZip(
  address: string,
  file: string,
  { limits, members }: Pick<UnpackRules, 'limits' | 'members'>,
  newFile: (name: string) => Promise<string>,
): Promise<UnpackedExport[]> {
  let zip: ZipFile | undefined
  try {
    const count = countAgainst(`${file} ${members}`, limits, (await stat(file)).size)
    zip = await openPromise(file, { autoClose: false, strictFileNames: true })
    const unpacked: UnpackedExport[] = []
    const memberOf = namedOnce()
    for (const entry of choose(address, await entriesOf(zip), members)) {
      assertMemberName(address, entry.fileName)
      const target = await newFile(entry.fileName)
      await extract(address, zip, entry, target, count)
      unpacked.push({ file: target, member: memberOf(entry.fileName) })
    }
    return unpacked
  } catch (cause) {
    throw unreadable(address, cause)
  } finally {
    zip?.close()
  }
}

/** @throws `export-unreadable` */
async function namesInZip(address: string, file: string): Promise<string[]> {
  let zip: ZipFile | undefined
  try {
    // Some programs write workbooks with backslashes in their names.
    zip = await openPromise(file, { autoClose: false })
    return (await entriesOf(zip)).map(({ fileName }) => fileName)
  } catch (cause) {
    throw unreadable(address, cause)
  } finally {
    zip?.close()
  }
}

/** Makes names unique: the second `a.csv` of an archive is `a.csv#2`. */
function namedOnce(): (name: string) => string {
  const taken = new Map<string, number>()
  return (name) => {
    let place = taken.get(name) ?? 0
    let member = name
    do if (++place > 1) member = `${name}#${place}`
    while (taken.has(member))
    taken.set(name, place).set(member, taken.get(member) ?? 1)
    return member
  }
}

async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of zip.eachEntry()) {
    if (entries.length === MOST_MEMBERS) throw new Error(`the archive has more than ${MOST_MEMBERS} members`)
    // Folders, and additions of macOS.
    if (!entry.fileName.endsWith('/') && !entry.fileName.startsWith('__MACOSX/')) entries.push(entry)
  }
  return entries
}

function choose(address: string, entries: readonly Entry[], members: string | undefined): readonly Entry[] {
  const remedy =
    'Name the exports in the archive: `members: "*.csv"` beside `match` in the job (docs/jobs.md), `--members` of a mapping command.'
  if (members === undefined) {
    if (entries.length === 1) return entries
    const message = `The archive holds ${entries.length} files, and the job does not name the exports among them.`
    throw exportError(address, message, { remedy })
  }
  const named = entries.map((entry) => ({ name: entry.fileName.split('/').at(-1) ?? '', entry }))
  const chosen = inOrder(compilePattern(members), named).map(({ entry }) => entry)
  if (chosen.length > 0) return chosen
  const message = `None of the ${entries.length} files of the archive matches ${members}.`
  throw exportError(address, message, { remedy })
}

async function extract(
  address: string,
  zip: ZipFile,
  entry: Entry,
  target: string,
  count: (length: number) => void,
): Promise<void> {
  if (entry.isEncrypted())
    throw unreadable(
      address,
      new Error('the archive is encrypted with zip encryption'),
      'Ask the vendor to encrypt with PGP instead, or not at all.',
    )
  if (!entry.canDecodeFileData())
    throw unreadable(
      address,
      new Error(`a member is compressed by method ${entry.compressionMethod}, which is not supported`),
      'Ask the vendor to compress with deflate, the usual method of zip.',
    )
  await pipeline(
    withCrc(
      await zip.openReadStreamPromise(entry),
      entry.crc32,
      count,
      'a member is damaged: its CRC-32 is not the one in the archive',
    ),
    (await newOwn(target)).createWriteStream(),
  )
}

const ARMOR = '-----BEGIN PGP MESSAGE-----'

const ENCRYPTED_SESSION_KEY_TAG = 1

const PASSWORD_SESSION_KEY_TAG = 3

/**
 * Detects an armored message (6.2), or a packet (4.2) with an encrypted session key: tag 1 in version 3 or 6, tag 3 in version 4 to 6. No text in
 * UTF-8, UTF-16 or windows-1252 has a version byte, a control character, at that place.
 */
function isPgpMessage(head: Buffer): boolean {
  if (head.toString('latin1').trimStart().startsWith(ARMOR)) return true
  const [first = 0, length = 0] = head
  if ((first & 0x80) === 0) return false
  const old = (first & 0x40) === 0
  const tag = old ? (first >> 2) & 0x0f : first & 0x3f
  // Octets of the length: 4.2.2 for the old form, 4.2.1 for the new one.
  const octets = old ? 1 << (first & 3) : length < 192 ? 1 : length < 224 ? 2 : 5
  if (old && (first & 3) === 3) return false
  const version = head[1 + octets] ?? 0
  if (tag === ENCRYPTED_SESSION_KEY_TAG) return version === 3 || version === 6
  return tag === PASSWORD_SESSION_KEY_TAG && version >= 4 && version <= 6
}
