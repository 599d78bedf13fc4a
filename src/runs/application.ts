/**
 * What everything that people do with runs is handed: settings, clock, chance, and the parts that are built when they are asked for. The
 * ledger of those that only look: where there is none they make none.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Job, readJob } from '../definitions/definition-files.ts'
import { chooseGateway } from '../definitions/jobs.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { lookAt, openOwn } from '../own-files.ts'
import type { RunDependencies } from '../run/events.ts'
import type { Settings } from '../settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import { findRun } from './amend-run.ts'
import { assertNothingLost, identityToLook, type WithoutOld } from './which-installation.ts'

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
  /**
   * @param at now
   * @throws WaybillError `ledger-missing` where there is none in a home with history, and nobody said to go on without it
   */
  readonly openLedger: (without?: WithoutOld, at?: number) => Promise<Ledger>
  /**
   * @param name of the gateway, as `chooseGateway` gives it
   * @param onRequest told of every request
   */
  readonly connectGateway: (
    name: string,
    onRequest?: TransportOptions['onRequest'],
  ) => Promise<GatewayConnection>
}

export const ledgerFile = ({ settings }: Pick<Application, 'settings'>): string =>
  join(settings.home, 'ledger.sqlite')

/**
 * Does the work without a ledger where there is none yet, and makes none.
 * @param ifLost refuse, or work without a ledger, where the home has lost one
 * @throws WaybillError `ledger-missing`, and what opening it throws
 */
export async function withLedgerIfAny<Result>(
  { settings, openLedger }: Pick<Application, 'settings' | 'openLedger'>,
  work: (ledger: Ledger | undefined) => Promise<Result>,
  ifLost: 'refuse' | 'work' = 'refuse',
): Promise<Result> {
  const isThere = (lookAt(ledgerFile({ settings }))?.size ?? 0) > 0
  if (!isThere && ifLost === 'refuse') assertNothingLost(settings.home)
  const ledger = isThere ? await openLedger() : undefined
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
  withLedgerIfAny(application, (ledger) => identityToLook(application, ledger), 'work')

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
