/**
 * What everything that people do with runs is handed: settings, clock, chance, and the parts that are built when they are asked for. The
 * ledger of those that only look: where there is none they make none.
 */

import { readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Job, readJob } from '../definitions/definition-files.ts'
import { chooseGateway } from '../definitions/jobs.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { reasonOf, WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { lookAt, modeText, openOwn, wasTaken, writeOwn } from '../own-files.ts'
import type { RunDependencies } from '../run/events.ts'
import type { Settings } from '../settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import { findRun } from './amend-run.ts'

export interface GatewayConnection {
  readonly gateway: Gateway
  /** Names it in the ledger: its address, or `built-in`. */
  readonly name: string
  /** For people: where the records go. */
  readonly describe: string
  close(): Promise<void>
}

/** Built by `src/application.ts` alone. */
export interface Application
  extends Pick<RunDependencies, 'now' | 'random' | 'sleep' | 'owner' | 'isDead' | 'interrupt'> {
  /** Of the program. */
  readonly version: string
  readonly settings: Settings
  /** Who has begun this process, as the operating system knows them. */
  readonly user: string
  readonly logger: Logger
  readonly randomHex: (bytes: number) => string
  readonly openLedger: () => Promise<Ledger>
  /**
   * @param name of the gateway, as `chooseGateway` gives it
   * @param onRequest told of every request
   */
  readonly connectGateway: (
    name: string,
    onRequest?: TransportOptions['onRequest'],
  ) => Promise<GatewayConnection>
  /** @param hadRuns whether the ledger already holds what was hashed with its key, which must then be there */
  readonly identity: (hadRuns?: boolean) => Promise<Identity>
}

export const ledgerFile = ({ settings }: Pick<Application, 'settings'>): string =>
  join(settings.home, 'ledger.sqlite')

/** Where there is no ledger yet, nothing was delivered: the work is done without one, and none is made. */
export async function withLedgerIfAny<Result>(
  { settings, openLedger }: Pick<Application, 'settings' | 'openLedger'>,
  work: (ledger: Ledger | undefined) => Promise<Result>,
): Promise<Result> {
  const ledger = lookAt(ledgerFile({ settings })) === undefined ? undefined : await openLedger()
  try {
    return await work(ledger)
  } finally {
    await ledger?.close()
  }
}

/** @throws WaybillError `ledger-not-found`, and what opening it throws */
export const withKnownLedger = <Result>(
  context: Pick<Application, 'settings' | 'openLedger'>,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> =>
  withLedgerIfAny(context, (ledger) => {
    if (ledger !== undefined) return work(ledger)
    throw new WaybillError('ledger-not-found', `there is no ledger in the home ${context.settings.home}`)
  })

/** For who looks at records and sends none. */
export const knownIdentity = (application: Application): Promise<Identity> =>
  withLedgerIfAny(application, async (ledger) =>
    application.identity(ledger !== undefined && (await ledger.runs(1)).length > 0),
  )

/**
 * Before anything else is begun, and told of, that would come to nothing without the run.
 * @returns its job, and the gateway to go to
 * @throws WaybillError `ledger-not-found`, `run-not-found`, `run-pruned`; as `readJob` and `chooseGateway`
 */
export async function findJobOfRun(
  context: Pick<Application, 'settings' | 'openLedger'>,
  id: string,
): Promise<{ readonly job: Job; readonly gateway: string }> {
  return withKnownLedger(context, async (ledger) => {
    const job = await readJob(context.settings, (await findRun(ledger, id)).job)
    return { job, gateway: chooseGateway(context.settings, job) }
  })
}

/**
 * @param fresh a new key, taken if there is none yet
 * @param needed whether the ledger already holds what was hashed with it
 * @throws WaybillError `settings-invalid`, `ledger-unusable`
 */
export function readOrMakeKey(file: string, fresh: string, needed: boolean): string {
  if (needed && lookAt(file) === undefined) {
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
    writeOwn(file, `${fresh}\n`, { isNew: true })
    return fresh
  } catch (error) {
    if (!wasTaken(error)) {
      const reason = reasonOf(error)
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
  const key = readKey(file).trim()
  if (key.length < 16) {
    throw new WaybillError('settings-invalid', `the key in ${file} is too short to be one`, {
      remedy:
        'Put the key back that this home was made with; with another one everything would be sent again.',
    })
  }
  return key
}

function readKey(file: string): string {
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

/** Holds the instant at which the ledger was last copied: the copy itself lies somewhere else. */
const lastBackupOf = (home: string): string => join(home, 'last-backup')

/** Notes that the ledger was copied. Never throws: the copy is there all the same. */
export async function noteBackup(home: string, at: number): Promise<void> {
  const handle = await openOwn(home, lastBackupOf(home)).catch(() => undefined)
  try {
    await handle?.truncate()
    await handle?.write(`${new Date(at).toISOString()}\n`, 0)
  } catch {
    // A full disk: it is told by other means.
  } finally {
    await handle?.close()
  }
}

/** When the ledger was last copied, in milliseconds since the epoch; undefined where none was made, or nobody can tell. */
export async function lastBackupAt(home: string): Promise<number | undefined> {
  const at = Date.parse((await readFile(lastBackupOf(home), 'utf8').catch(() => '')).trim())
  return Number.isNaN(at) ? undefined : at
}
