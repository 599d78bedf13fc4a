/** Rules and results of unpacking. Detection of OpenPGP messages (RFC 9580) by the first bytes. */
import type { ContentLimits } from '../content.ts'

export interface UnpackRules {
  readonly limits: ContentLimits
  /** Pattern for names of members. Default: an archive has one member */
  readonly members?: string | undefined
  /** Refuses a file without encryption. */
  readonly encrypted: boolean
  readonly pgp: PgpKeyFiles
  /** True for a verified file: bytes behind a PGP message are ignored. */
  readonly isWhole?: boolean
}

/** Files with OpenPGP keys, armored or binary. */
export interface PgpKeyFiles {
  readonly keyFile?: string | undefined
  readonly passphraseFile?: string | undefined
  /** Keys of allowed signers. If set, every message must be signed by one of these keys. */
  readonly verifyKeyFile?: string | undefined
}

export interface UnpackedExport {
  readonly file: string
  /** Path within the archive. */
  readonly member?: string
}

const ARMOR = '-----BEGIN PGP MESSAGE-----'
const ENCRYPTED_SESSION_KEY_TAG = 1
const PASSWORD_SESSION_KEY_TAG = 3

/**
 * Detects an armored message (6.2), or a packet (4.2) with an encrypted session key: tag 1 in version 3 or 6, tag 3 in version 4 to 6. No text in
 * UTF-8, UTF-16 or windows-1252 has a version byte, a control character, at that place.
 */
export function isPgpMessage(head: Buffer): boolean {
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
