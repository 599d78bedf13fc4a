/** What unpacking is told, and what comes of it. */
import type { ContentLimits } from '../content-limits.ts'

export interface UnpackRules {
  readonly limits: ContentLimits
  /** Pattern for the names of the members of an archive; without it, an archive holds one. */
  readonly members?: string | undefined
  /** Refuse what is not encrypted. */
  readonly encrypted: boolean
  readonly pgp: PgpKeyFiles
}

/** Files with OpenPGP keys, armored or binary. */
export interface PgpKeyFiles {
  readonly keyFile?: string | undefined
  readonly passphraseFile?: string | undefined
  /** Where there is one, every message must be signed by one of its keys. */
  readonly verifyKeyFile?: string | undefined
}

export interface UnpackedExport {
  readonly file: string
  /** Path within the archive. */
  readonly member?: string
}
