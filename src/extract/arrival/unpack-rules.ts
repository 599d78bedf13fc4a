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
