/**
 * Account ids, encrypted with the key of the installation, as an id may hold a member number. Equal ids give equal texts, for queries. No query reads
 * or writes a `SealedId` without the cipher.
 */
import { createCipheriv, createDecipheriv, hash } from 'node:crypto'

declare const SEALED: unique symbol

/** An account id as stored in a column: text at run time, but incompatible with `string` in both directions. */
export interface SealedId {
  readonly [SEALED]: true
}

/** Seals and opens ids. Null stays null: the gateway did not give the id. */
export interface AccountIdCipher {
  readonly seal: (id: string | null) => SealedId | null
  /** Null also for an id sealed with another key. */
  readonly open: (sealed: SealedId | null) => string | null
}

/** NIST SP 800-38D: AES-256-GCM with a 96-bit IV, here a keyed hash of the id, and a 128-bit tag. */
const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const TAG = { authTagLength: TAG_BYTES } as const

/** @param keyOf called once, when the first id is sealed or opened: the key may be made after the ledger */
export function createAccountIdCipher(keyOf: () => string): AccountIdCipher {
  let key: string | undefined
  const keyed = (use: string, text = ''): Buffer => {
    key ??= keyOf()
    return hash('sha256', `${key}\naccount-id ${use}\n${text}`, 'buffer')
  }
  let known: Buffer | undefined
  const secret = (): Buffer => {
    known ??= keyed('secret')
    return known
  }
  return {
    seal(id) {
      if (id === null) return null
      const iv = keyed('iv', id).subarray(0, IV_BYTES)
      const cipher = createCipheriv(ALGORITHM, secret(), iv, TAG)
      const text = Buffer.concat([cipher.update(id, 'utf8'), cipher.final()])
      const sealed: unknown = Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
      return sealed as SealedId
    },
    open(sealed) {
      if (sealed === null) return null
      const bytes = Buffer.from(String(sealed), 'base64url')
      const textFrom = IV_BYTES + TAG_BYTES
      const opening = secret()
      try {
        const decipher = createDecipheriv(ALGORITHM, opening, bytes.subarray(0, IV_BYTES), TAG)
        decipher.setAuthTag(bytes.subarray(IV_BYTES, textFrom))
        return decipher.update(bytes.subarray(textFrom), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return null
      }
    },
  }
}

/** For a ledger opened without the key, and without account ids: sealing or opening an id throws. */
export const NO_ACCOUNT_IDS = createAccountIdCipher(() => {
  throw new Error('the ledger was opened without the key of its account ids')
})
