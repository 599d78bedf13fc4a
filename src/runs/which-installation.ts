/**
 * Identity of an installation: key, and traces of a ledger in the home. Under another key, or with a new ledger in place of a lost one, everything
 * would be sent again.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Ledger } from '../ledger/ledger.ts'
import { keyDiffers } from '../ledger/sqlite/installation.ts'
import { reasonOf, WaybillError } from '../model/errors.ts'
import { createIdentity, type Identity } from '../model/ids.ts'
import { assertObeyable } from '../system/obeyed-files.ts'
import { assertWithin, lookAt, modeText, wasTaken, writeOwn } from '../system/own-files.ts'
import type { Settings } from '../system/settings.ts'

interface Parts {
  readonly settings: Settings
  readonly randomHex: (bytes: number) => string
}

/** Options to continue without the ledger or the key of earlier deliveries. */
export interface WithoutOld {
  /** The ledger may lack deliveries: read profiles before sending. */
  readonly lookFirst?: boolean | undefined
  /** Nothing was delivered from this home: start a new ledger, without reading profiles. */
  readonly newLedger?: boolean | undefined
  /** Reads profiles like `lookFirst`, and makes the current key the key of the ledger. */
  readonly newKey?: boolean | undefined
}

const keyFile = (home: string): string => join(home, 'key')

/** Call only without a ledger. @throws `ledger-missing` if earlier runs or backups have left traces */
export function assertNothingLost(home: string): void {
  const found = (name: string): number | undefined => {
    assertWithin(home, join(home, name))
    const stats = lookAt(join(home, name))
    return stats?.isDirectory() === true ? readdirSync(join(home, name)).length : stats && 0
  }
  const history = [
    ...['key', 'last-backup'].filter((name) => found(name) === 0),
    ...['receipts', 'rejects'].filter((name) => (found(name) ?? 0) > 0),
  ]
  if (history.length === 0) return
  const words = `the home ${home} has no ledger, but traces of earlier runs (${history.join(', ')})`
  throw new WaybillError('ledger-missing', words)
}

/**
 * Identity for sending. Creates the key if there is none, and none is expected.
 * @throws `key-differs`, `settings-invalid`, `ledger-unusable`; as `Installation.useKey`
 */
export async function identityToSend(
  { settings, randomHex, now }: Parts & { readonly now: () => number },
  ledger: Ledger,
  { lookFirst = false, newKey = false }: WithoutOld,
): Promise<Identity> {
  const known = await ledger.installation.key()
  const file = keyFile(settings.home)
  assertWithin(settings.home, file)
  const fresh = randomHex(KEY_BYTES)
  const key = settings.key ?? readOrMakeKey(file, fresh, known !== undefined && !newKey)
  const identity = createIdentity(key)
  // A new key beside a lost ledger means a lost key.
  const isOther = newKey || (key === fresh && lookFirst)
  await ledger.installation.useKey(identity.fingerprint, isOther ? now() : undefined).catch((error) => {
    if (key === fresh) rmSync(file)
    throw error
  })
  return identity
}

const KEY_BYTES = 32

/**
 * Identity for commands that look records up and send none; creates nothing. Without a key, a random key recognises as much.
 * @throws `key-differs`, `settings-invalid`
 */
export async function identityToLook(
  { settings, randomHex }: Parts,
  ledger: Ledger | undefined,
): Promise<Identity> {
  const known = await ledger?.installation.key()
  const identity = createIdentity(ownKey(settings, known !== undefined) ?? randomHex(KEY_BYTES))
  if (known !== undefined && known.fingerprint !== identity.fingerprint) throw keyDiffers()
  return identity
}

/**
 * Reads the key. @param needed true if the ledger was made with a key. @returns undefined if there is none, and none is needed. @throws as
 * `readOrMakeKey`
 */
export function ownKey({ key, home }: Pick<Settings, 'key' | 'home'>, needed: boolean): string | undefined {
  const file = keyFile(home)
  if (key !== undefined) return key
  if (lookAt(file) !== undefined) return readKey(file)
  if (needed) throw isGone(file)
  return undefined
}

/**
 * @param fresh a new key, used if there is none
 * @param needed true if the ledger was made with a key
 * @throws `settings-invalid`, `ledger-unusable`
 */
export function readOrMakeKey(file: string, fresh: string, needed: boolean): string {
  if (needed && lookAt(file) === undefined) throw isGone(file)
  try {
    // Exclusive: if two processes start at once, the first creates the key and the second reads it.
    writeOwn(file, `${fresh}\n`, { isNew: true })
    return fresh
  } catch (error) {
    if (!wasTaken(error)) {
      const reason = reasonOf(error)
      throw new WaybillError('ledger-unusable', `the key ${file} cannot be made: ${reason}`, { cause: error })
    }
  }
  return readKey(file)
}

const isGone = (file: string): WaybillError =>
  new WaybillError('settings-invalid', `the key ${file} is gone, and the ledger needs it`, {
    remedy:
      'Put the key of this home back, or set WAYBILL_KEY. If it is lost: `waybill run JOB --new-key` creates a new key and reads profiles before it sends.',
  })

function readKey(file: string): string {
  const { mode } = statSync(file)
  if ((mode & 0o007) !== 0)
    throw new WaybillError(
      'settings-invalid',
      `other users may read or write the key ${file} (mode ${modeText(mode)})`,
      {
        place: { file },
        remedy: `Find out who has opened it: with the key, ids lead back to people. Then: chmod 600 ${file}`,
      },
    )
  // A user with write access to the home may have created the key.
  assertObeyable(file)
  const key = textOf(file).trim()
  if (key.length >= 16) return key
  throw new WaybillError('settings-invalid', `the key in ${file} is too short`, {
    remedy: 'Put the key of this home back: with a different key, everything would be sent again.',
  })
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new WaybillError('settings-invalid', `the key ${file} cannot be read: ${reasonOf(cause)}`, {
      place: { file },
      remedy: 'Run Waybill as the user who owns it.',
      cause,
    })
  }
}
