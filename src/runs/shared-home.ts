/** Home of all machines of a ledger, shown by a file with the ledger's mark. On a machine without the mount, the file is missing. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { assertWithin, lookAt, wasTaken, writeOwn } from '../system/own-files.ts'
import type { Application } from './application.ts'

type Machine = Pick<Application, 'randomHex'> & {
  readonly settings: Pick<Application['settings'], 'home'>
}

const fileOf = (home: string): string => join(home, 'shared-home')

function markIn(home: string): string | undefined {
  const file = fileOf(home)
  assertWithin(home, file)
  return lookAt(file)?.isFile() === true ? readFileSync(file, 'utf8').trim() : undefined
}

/**
 * Asserts that the home is the shared home of all machines. The first machine of a ledger marks the home.
 * @returns true while the home is still there
 * @throws `home-differs`
 */
export async function assertSharedHome(
  { settings: { home }, randomHex }: Machine,
  { sharedHome }: Pick<Ledger, 'sharedHome'>,
): Promise<() => boolean> {
  if (sharedHome === undefined) return () => true
  const mark = (await sharedHome.mark()) ?? (await sharedHome.claim(readOrMakeMark(home, randomHex(8))))
  const isThere = (): boolean => markIn(home) === mark
  if (isThere()) return isThere
  throw homeDiffers(home, mark)
}

/**
 * Call before a process writes into the home.
 * @returns true if the home is shared
 * @throws `home-differs`
 */
export async function assertOwnHome(
  { settings: { home } }: Pick<Machine, 'settings'>,
  { sharedHome }: Pick<Ledger, 'sharedHome'>,
): Promise<boolean> {
  const mark = await sharedHome?.mark()
  if (mark !== undefined && markIn(home) !== mark) throw homeDiffers(home, mark)
  return mark !== undefined
}

const homeDiffers = (home: string, mark: string): WaybillError =>
  new WaybillError('home-differs', `the home ${home} is not the home of the other machines`, {
    remedy: `Mount the folder that they share as ${home} (WAYBILL_HOME). If its content is lost, write ${mark} into ${fileOf(home)}: receipts and rejects of earlier runs are gone.`,
  })

function readOrMakeMark(home: string, fresh: string): string {
  const known = markIn(home)
  if (known !== undefined) return known
  try {
    writeOwn(fileOf(home), `${fresh}\n`, { isNew: true })
  } catch (error) {
    const isTaken = error instanceof WaybillError && wasTaken(error.cause)
    if (!isTaken) throw error
  }
  // Another machine may have made the file meanwhile.
  return markIn(home) ?? fresh
}
