/** Decrypts OpenPGP messages and verifies their signatures before use. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import {
  config,
  type DecryptMessageResult,
  decrypt,
  decryptKey,
  type PrivateKey,
  type PublicKey,
  readKeys,
  readMessage,
  readPrivateKeys,
} from 'openpgp'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { assertObeyable } from '../../system/obeyed-files.ts'
import { newOwn } from '../../system/own-files.ts'
import { type ContentLimits, countAgainst, exportError, openVersion, readHead } from '../content.ts'

/** Files with OpenPGP keys, armored or binary. */
export interface PgpKeyFiles {
  readonly keyFile?: string | undefined
  readonly passphraseFile?: string | undefined
  /** Keys of allowed signers. If set, every message must be signed by one of these keys. */
  readonly verifyKeyFile?: string | undefined
}

const ARMOR = '-----BEGIN'

/**
 * Decrypts a message into `target`. With verification keys, a signature by one of them is required. After an error, `target` is not used.
 *
 * @throws `export-unreadable` (no key, wrong key), `export-untrusted` (changed, or without the required signature),
 * `export-too-large`
 */
export async function decryptPgp(
  address: string,
  file: string,
  target: string,
  keys: PgpKeyFiles,
  limits: ContentLimits,
): Promise<void> {
  const decryptionKeys = await readSecretKeys(address, keys)
  const verificationKeys = await readVerificationKeys(keys)
  const { data, signatures } = await openMessage(address, file, decryptionKeys, verificationKeys)
  // All are awaited below; an earlier failure is no unhandled rejection.
  for (const { verified } of signatures) verified.catch(() => {})
  const count = countAgainst(file, limits, (await stat(file)).size)
  const out = await newOwn(target)
  try {
    for await (const chunk of data as unknown as AsyncIterable<Uint8Array>) {
      count(chunk.length)
      for (let written = 0; written < chunk.length; )
        written += (await out.write(chunk, written, chunk.length - written)).bytesWritten
    }
  } catch (cause) {
    if (cause instanceof WaybillError || isFileSystemError(cause)) throw cause
    throw untrusted(address, 'was changed or damaged since it was encrypted', cause)
  } finally {
    await out.close()
  }
  if (verificationKeys.length === 0) return
  if (signatures.length === 0) throw untrusted(address, 'is not signed')
  try {
    await Promise.any(signatures.map(({ verified }) => verified))
  } catch (cause) {
    throw untrusted(address, 'is not signed by a key in WAYBILL_PGP_VERIFY_KEY_FILE, or was changed', cause)
  }
}

const ARMOR_END = '-----END PGP MESSAGE-----'

/** Packets before the encrypted data: session keys, marker (RFC 9580, 5). */
const BEFORE_DATA = new Set([1, 3, 10])

/** True if the file continues after its first PGP message. Only the first message is decrypted. */
export async function hasMoreBehind(file: string): Promise<boolean> {
  if (await isArmored(file)) {
    let behind: string | undefined
    let last = ''
    for await (const chunk of createReadStream(file, 'latin1')) {
      const text = behind === undefined ? last + chunk : String(chunk)
      const end = behind === undefined ? text.indexOf(ARMOR_END) : -ARMOR_END.length
      last = text.slice(-ARMOR_END.length)
      if (end === -1) continue
      behind = text.slice(end + ARMOR_END.length)
      if (behind.trim() !== '') return true
    }
    return false
  }
  const { handle, bytes } = await openVersion(file)
  const read = async (at: number): Promise<Buffer> => (await handle.read(Buffer.alloc(6), 0, 6, at)).buffer
  try {
    for (let at = 0, tag = 1; BEFORE_DATA.has(tag); ) {
      const head = await read(at)
      const [first = 0] = head
      if ((first & 0x40) === 0) {
        // The old form (4.2.2); a packet of indeterminate length ends with the file.
        tag = (first >> 2) & 0x0f
        const octets = 1 << (first & 3)
        if (octets === 8) return false
        at += 1 + octets + head.readUIntBE(1, octets)
      } else {
        tag = first & 0x3f
        at += 1
        // The new one (4.2.1), in parts.
        for (let isPart = true; isPart; ) {
          const length = await read(at)
          const octet = length[0] ?? 0
          isPart = octet >= 224 && octet < 255
          if (isPart) at += 1 + (1 << (octet & 0x1f))
          else if (octet < 192) at += 1 + octet
          else if (octet < 224) at += 2 + ((octet - 192) << 8) + (length[1] ?? 0) + 192
          else at += 5 + length.readUInt32BE(1)
        }
      }
      if (!BEFORE_DATA.has(tag)) return at < bytes
      if (at >= bytes) return false
    }
    return false
  } finally {
    await handle.close()
  }
}

/** Decrypts the session key: another key fails before any data. */
async function openMessage(
  address: string,
  file: string,
  decryptionKeys: PrivateKey[],
  verificationKeys: PublicKey[],
): Promise<DecryptMessageResult> {
  try {
    const message = (await isArmored(file))
      ? await readMessage<ReadableStream<string>>({
          // Bytes first: a web stream of Node counts the bytes that wait, and text has none.
          armoredMessage: Readable.toWeb(createReadStream(file)).pipeThrough(new TextDecoderStream()),
        })
      : await readMessage<ReadableStream<Uint8Array>>({
          binaryMessage: Readable.toWeb(createReadStream(file)),
        })
    return await decrypt({
      message,
      decryptionKeys,
      verificationKeys,
      format: 'binary',
      // The file is read only after its end has proven the whole.
      config: { ...config, allowUnauthenticatedStream: true },
    })
  } catch (cause) {
    throw exportError(address, 'The export cannot be decrypted with the key that is set.', {
      remedy: 'Check WAYBILL_PGP_KEY_FILE, and ask the vendor for which key the files are encrypted.',
      cause,
    })
  }
}

async function readSecretKeys(
  address: string,
  { keyFile, passphraseFile }: PgpKeyFiles,
): Promise<PrivateKey[]> {
  if (keyFile === undefined)
    throw exportError(address, 'The export is encrypted with PGP, but no key is set.', {
      remedy: 'Set WAYBILL_PGP_KEY_FILE to the file with the secret key.',
    })
  const bytes = await readSettingFile('WAYBILL_PGP_KEY_FILE', keyFile)
  const passphrase =
    passphraseFile === undefined
      ? undefined
      : (await readSettingFile('WAYBILL_PGP_PASSPHRASE_FILE', passphraseFile)).toString('utf8').trimEnd()
  try {
    const found = await (isArmor(bytes)
      ? readPrivateKeys({ armoredKeys: bytes.toString('utf8') })
      : readPrivateKeys({ binaryKeys: bytes }))
    return await Promise.all(
      found.map((privateKey) =>
        privateKey.isDecrypted() || passphrase === undefined
          ? privateKey
          : decryptKey({ privateKey, passphrase }),
      ),
    )
  } catch (cause) {
    throw badKey('WAYBILL_PGP_KEY_FILE', 'holds no secret key that its passphrase opens', cause)
  }
}

async function readVerificationKeys({ verifyKeyFile }: PgpKeyFiles): Promise<PublicKey[]> {
  if (verifyKeyFile === undefined) return []
  assertObeyable(verifyKeyFile)
  const bytes = await readSettingFile('WAYBILL_PGP_VERIFY_KEY_FILE', verifyKeyFile)
  const found = await (isArmor(bytes)
    ? readKeys({ armoredKeys: bytes.toString('utf8') })
    : readKeys({ binaryKeys: bytes })
  ).catch((cause: unknown) => {
    throw badKey('WAYBILL_PGP_VERIFY_KEY_FILE', 'holds no key', cause)
  })
  if (found.length === 0) throw badKey('WAYBILL_PGP_VERIFY_KEY_FILE', 'holds no key')
  return found
}

const isArmor = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 64).trimStart().startsWith(ARMOR)

const isArmored = async (file: string): Promise<boolean> => isArmor((await readHead(file, 64)).head)

const readSettingFile = (key: string, file: string): Promise<Buffer> =>
  readFile(file).catch((cause) => {
    throw badKey(key, `cannot be read: ${reasonOf(cause)}`, cause)
  })

const badKey = (key: string, problem: string, cause?: unknown): WaybillError =>
  new WaybillError('settings-invalid', `the file of ${key} ${problem}`, { place: { key }, cause })

const untrusted = (address: string, problem: string, cause?: unknown): WaybillError =>
  exportError(address, `The export ${problem}. Nothing of it was sent.`, {
    code: 'export-untrusted',
    cause,
  })

const isFileSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error
