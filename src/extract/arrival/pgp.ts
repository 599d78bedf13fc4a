/** Decrypts OpenPGP messages and verifies who signed them, before anything of them is read. */
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
import { assertObeyable } from '../../obeyed-files.ts'
import { newOwn } from '../../own-files.ts'
import { type ContentLimits, countAgainst, openVersion } from '../content.ts'
import type { PgpKeyFiles } from './unpack-rules.ts'

const ARMOR = '-----BEGIN'

/**
 * What stands in `target` is whole and, where verification keys are given, signed by one of them; where anything fails, nobody is told
 * of `target`.
 * @throws WaybillError `export-unreadable` (no key, another key), `export-untrusted` (changed, not signed as it should be),
 *   `export-too-large`
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
  // All are awaited below; one that fails before that is no unhandled rejection.
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

/** The session key is decrypted here: another key fails before any data. */
async function openMessage(
  address: string,
  file: string,
  decryptionKeys: PrivateKey[],
  verificationKeys: PublicKey[],
): Promise<DecryptMessageResult> {
  try {
    const message = (await isArmored(file))
      ? await readMessage<ReadableStream<string>>({
          // Not as a stream of text from the start: Node counts the bytes of what waits in a web stream, and text has none.
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
      // Streamed into a file that nobody reads until its end has proven all of it.
      config: { ...config, allowUnauthenticatedStream: true },
    })
  } catch (cause) {
    throw new WaybillError('export-unreadable', 'The export cannot be decrypted with the key that is set.', {
      place: { file: address },
      remedy: 'Check WAYBILL_PGP_KEY_FILE, and which key the vendor encrypts for.',
      cause,
    })
  }
}

async function readSecretKeys(
  address: string,
  { keyFile, passphraseFile }: PgpKeyFiles,
): Promise<PrivateKey[]> {
  if (keyFile === undefined)
    throw new WaybillError('export-unreadable', 'The export is encrypted with PGP, and no key is set.', {
      place: { file: address },
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

async function isArmored(file: string): Promise<boolean> {
  const { handle } = await openVersion(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
    return isArmor(buffer.subarray(0, bytesRead))
  } finally {
    await handle.close()
  }
}

const readSettingFile = (key: string, file: string): Promise<Buffer> =>
  readFile(file).catch((cause) => {
    throw badKey(key, `cannot be read: ${reasonOf(cause)}`, cause)
  })

const badKey = (key: string, problem: string, cause?: unknown): WaybillError =>
  new WaybillError('settings-invalid', `the file of ${key} ${problem}`, { place: { key }, cause })

const untrusted = (address: string, problem: string, cause?: unknown): WaybillError =>
  new WaybillError('export-untrusted', `The export ${problem}. Nothing of it was sent.`, {
    place: { file: address },
    cause,
  })

const isFileSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error
