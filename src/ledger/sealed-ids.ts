/**
 * Account ids in the ledger: an id may hold a member number, so it stands there encrypted by the key of the installation. The same id is
 * always the same text, by which it is found again.
 */
import { createCipheriv, createDecipheriv, hash } from 'node:crypto'
import type { Ledger, RunLedger } from './ledger.ts'

export interface AccountIdCipher {
  readonly seal: (id: string) => string
  /** Null for what another key has sealed. */
  readonly open: (sealed: string) => string | null
}

/** NIST SP 800-38D: AES-256-GCM with 96 bits of IV, here of the id itself, keyed, and 128 of tag. */
const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const TAG = { authTagLength: TAG_BYTES } as const

export function createAccountIdCipher(key: string): AccountIdCipher {
  const keyed = (use: string, text = ''): Buffer =>
    hash('sha256', `${key}\naccount-id ${use}\n${text}`, 'buffer')
  const secret = keyed('secret')
  return {
    seal(id) {
      const iv = keyed('iv', id).subarray(0, IV_BYTES)
      const cipher = createCipheriv(ALGORITHM, secret, iv, TAG)
      const text = Buffer.concat([cipher.update(id, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url')
      const textFrom = IV_BYTES + TAG_BYTES
      try {
        const decipher = createDecipheriv(ALGORITHM, secret, bytes.subarray(0, IV_BYTES), TAG)
        decipher.setAuthTag(bytes.subarray(IV_BYTES, textFrom))
        return decipher.update(bytes.subarray(textFrom), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return null
      }
    },
  }
}

/** @param cipherOf asked when an id is first written or read: the key may be made after the ledger */
export function withSealedIds(ledger: Ledger, cipherOf: () => AccountIdCipher): Ledger {
  let known: AccountIdCipher | undefined
  const cipher = (): AccountIdCipher => {
    known ??= cipherOf()
    return known
  }
  const sealed = (id: string | null): string | null => (id === null ? null : cipher().seal(id))
  const opened = <One extends { readonly accountId: string | null }>(one: One): One =>
    one.accountId === null ? one : { ...one, accountId: cipher().open(one.accountId) }
  const sealing = <One extends { readonly accountId: string | null }>(all: readonly One[]): One[] =>
    all.map((one) => ({ ...one, accountId: sealed(one.accountId) }))
  const ofRun = (run: RunLedger): RunLedger => ({
    ...run,
    forgetAccount: (gateway, reference, id) => run.forgetAccount(gateway, reference, sealed(id)),
    saveAccounts: (gateway, accounts, at) => run.saveAccounts(gateway, sealing(accounts), at),
    noteMissing: (gateway, missing, owing) => run.noteMissing(gateway, missing, sealing(owing)),
    saveCareTeams: (gateway, entries, claimed) => run.saveCareTeams(gateway, sealing(entries), claimed),
  })
  return {
    ...ledger,
    startRun: async (...start) => ofRun(await ledger.startRun(...start)),
    resumeRun: async (...resumed) => ofRun(await ledger.resumeRun(...resumed)),
    amendRun: (lease) => ofRun(ledger.amendRun(lease)),
    async accounts(gateway, references) {
      const found = await ledger.accounts(gateway, references)
      return new Map([...found].map(([reference, account]) => [reference, opened(account)]))
    },
    knownAccounts: async (...page) => (await ledger.knownAccounts(...page)).map(opened),
    async careTeams(gateway, accounts) {
      const found = await ledger.careTeams(gateway, accounts)
      return new Map([...found].map(([account, entries]) => [account, entries.map(opened)]))
    },
    forgetPerson: (gateway, references, id) => ledger.forgetPerson(gateway, references, sealed(id)),
  }
}
