/**
 * Identity of an installation: its key, and the traces of a ledger in its home. With another key, or with a new ledger in place of a lost one,
 * everything would be sent again.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Ledger } from '../ledger/ledger.ts'
import { keyDiffers } from '../ledger/sqlite/installation.ts'
import { reasonOf, WaybillError } from '../model/errors.ts'
import { createIdentity, type Identity } from '../model/ids.ts'
import { assertObeyable } from '../obeyed-files.ts'
import { assertWithin, lookAt, modeText, wasTaken, writeOwn } from '../own-files.ts'
import type { Settings } from '../settings.ts'

interface Parts {
  readonly settings: Settings
  readonly randomHex: (bytes: number) => string
}

/** Options that continue without the ledger or the key that records were delivered with. */
export interface WithoutOld {
  /** The ledger does not know all that was delivered: profiles are read before anything is sent. */
  readonly lookFirst?: boolean | undefined
  /** Nothing was delivered from this home: a new ledger is begun, and nothing is looked for. */
  readonly newLedger?: boolean | undefined
  /** Looks as `lookFirst` does, and makes the current key that of the ledger. */
  readonly newKey?: boolean | undefined
}

const keyFile = (home: string): string => join(home, 'key')

/** @throws WaybillError `ledger-missing` where runs or backups have left anything. To be called where there is no ledger */
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
  const words = `the home ${home} has no ledger, though runs have left something there (${history.join(', ')})`
  throw new WaybillError('ledger-missing', words)
}

/**
 * The identity to send by. Makes the key where none is needed yet.
 * @throws WaybillError `key-differs`, `settings-invalid`, `ledger-unusable`; as `Installation.useKey`
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
  // A new key beside a lost ledger means that the old key is lost, too.
  const isOther = newKey || (key === fresh && lookFirst)
  await ledger.installation.useKey(identity.fingerprint, isOther ? now() : undefined).catch((error) => {
    if (key === fresh) rmSync(file)
    throw error
  })
  return identity
}

const KEY_BYTES = 32

/**
 * The same for who looks at records and sends none: nothing is made. Without a key, one by chance recognises as much.
 * @throws WaybillError `key-differs`, `settings-invalid`
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

/** Reads the key. @param needed true where a ledger was made with one. @returns undefined where there is none, and none is needed. @throws as `readOrMakeKey` */
export function ownKey({ key, home }: Pick<Settings, 'key' | 'home'>, needed: boolean): string | undefined {
  const file = keyFile(home)
  if (key !== undefined) return key
  if (lookAt(file) !== undefined) return readKey(file)
  if (needed) throw isGone(file)
  return undefined
}

/**
 * @param fresh a new key, taken if there is none yet
 * @param needed true where the ledger was made with one
 * @throws WaybillError `settings-invalid`, `ledger-unusable`
 */
export function readOrMakeKey(file: string, fresh: string, needed: boolean): string {
  if (needed && lookAt(file) === undefined) throw isGone(file)
  try {
    // Exclusive: of two processes that start at once, one makes it and the other reads it.
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
  new WaybillError('settings-invalid', `the key ${file} is gone, and the ledger beside it was made with it`, {
    remedy:
      'Put the key back that this home was made with, or set WAYBILL_KEY. Where it is lost: `waybill run JOB --new-key` makes another one and reads profiles before it sends.',
  })

function readKey(file: string): string {
  const { mode } = statSync(file)
  if ((mode & 0o007) !== 0)
    throw new WaybillError(
      'settings-invalid',
      `the key ${file} may be read or written by others (mode ${modeText(mode)})`,
      {
        place: { file },
        remedy: `Find out who has opened it: with the key, ids lead back to people. Then: chmod 600 ${file}`,
      },
    )
  // Another user who may make files in the home may have made the key.
  assertObeyable(file)
  const key = textOf(file).trim()
  if (key.length >= 16) return key
  throw new WaybillError('settings-invalid', `the key in ${file} is too short to be one`, {
    remedy: 'Put the key back that this home was made with; with another one everything would be sent again.',
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
