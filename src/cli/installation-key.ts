/** The key of this installation: made once and kept in the home, mode 0600. Without it, hashes and ids would be others. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { WaybillError } from '../model/errors.ts'
import { modeText } from '../own-files.ts'

/**
 * @param fresh a new key, taken if there is none yet
 * @param needed whether the ledger already holds what was hashed with it
 * @throws WaybillError `settings-invalid`, `ledger-unusable`
 */
export function readOrMakeKey(file: string, fresh: string, needed: boolean): string {
  if (needed && !existsSync(file)) {
    throw new WaybillError(
      'settings-invalid',
      `the key ${file} is gone, and the ledger beside it was made with it`,
      {
        remedy:
          'Put the key back that this home was made with, or set WAYBILL_KEY: with another one everything would be sent again. To begin anew, move the whole home away.',
      },
    )
  }
  try {
    // Exclusive: of two processes that start at once, one makes it and the other reads it.
    writeFileSync(file, `${fresh}\n`, { mode: 0o600, flag: 'wx' })
    return fresh
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new WaybillError('ledger-unusable', `the key ${file} cannot be made: ${reason}`, { cause: error })
    }
  }
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
  const key = readFileSync(file, 'utf8').trim()
  if (key.length < 16) {
    throw new WaybillError('settings-invalid', `the key in ${file} is too short to be one`, {
      remedy:
        'Put the key back that this home was made with; with another one everything would be sent again.',
    })
  }
  return key
}
