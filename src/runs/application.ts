/** Dependencies of all actions on runs. Commands that only read open the ledger here: they never make one. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Job, readJob } from '../definitions/definition-files.ts'
import { chooseGateway } from '../definitions/jobs.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Tickets } from '../ledger/tickets.ts'
import { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { RunDependencies } from '../run/events.ts'
import { lookAt, openOwn } from '../system/own-files.ts'
import type { Settings } from '../system/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import { findRun } from './amend-run.ts'
import { assertNothingLost, identityToLook, type WithoutOld } from './which-installation.ts'

export interface GatewayConnection {
  readonly gateway: Gateway
  /** Name in the ledger: the address, or `built-in`. */
  readonly name: string
  /** Destination of the records, for people. */
  readonly describe: string
  close(): Promise<void>
}

/** Built by `src/application.ts` alone. */
export interface Application
  extends Pick<RunDependencies, 'now' | 'random' | 'sleep' | 'owner' | 'isDead' | 'interrupt' | 'sendPart'> {
  readonly version: string
  readonly settings: Settings
  /** User of this process, according to the operating system. */
  readonly user: string
  readonly logger: Logger
  readonly randomHex: (bytes: number) => string
  /**
   * @param at now
   * @throws `ledger-missing` if a home with history has no ledger, and no option allows a new one
   */
  readonly openLedger: (without?: WithoutOld, at?: number) => Promise<Ledger>
  readonly openTickets: (opening: { readonly supervises: boolean }) => Promise<Tickets>
  /** Opens an existing ledger, which refuses all writes. */
  readonly readLedger: () => Promise<Ledger>
  /**
   * @param name of the gateway, from `chooseGateway`
   * @param onRequest called for every request
   */
  readonly connectGateway: (
    name: string,
    onRequest?: TransportOptions['onRequest'],
  ) => Promise<GatewayConnection>
}

export const ledgerFile = ({ settings }: Pick<Application, 'settings'>): string =>
  join(settings.home, 'ledger.sqlite')

/**
 * Works without a ledger if there is none, and creates none.
 * @param ifLost refuse, or work without a ledger, if the home has lost one
 * @throws `ledger-missing`, and errors of opening the ledger
 */
export async function withLedgerIfAny<Result>(
  { settings, openLedger }: Pick<Application, 'settings' | 'openLedger'>,
  work: (ledger: Ledger | undefined) => Promise<Result>,
  ifLost: 'refuse' | 'work' = 'refuse',
): Promise<Result> {
  const isThere = settings.ledger !== undefined || (lookAt(ledgerFile({ settings }))?.size ?? 0) > 0
  if (!isThere && ifLost === 'refuse') assertNothingLost(settings.home)
  const ledger = isThere ? await openLedger() : undefined
  try {
    return await work(ledger)
  } finally {
    await ledger?.close()
  }
}

/** @throws `ledger-not-found`, and errors of opening the ledger */
export const withKnownLedger = <Result>(
  context: Pick<Application, 'settings' | 'openLedger'>,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> =>
  withLedgerIfAny(context, (ledger) => {
    if (ledger !== undefined) return work(ledger)
    throw new WaybillError('ledger-not-found', `there is no ledger in the home ${context.settings.home}`)
  })

/** Identity for commands that look records up and send none. */
export const knownIdentity = (application: Application): Promise<Identity> =>
  withLedgerIfAny(application, (ledger) => identityToLook(application, ledger), 'work')

/**
 * Finds the job of a run, before any work that would be useless without the run.
 * @returns the job, its gateway, and the id of the run
 * @throws `ledger-not-found`, `run-not-found`, `run-pruned`; as `readJob` and `chooseGateway`
 */
export async function findJobOfRun(
  context: Pick<Application, 'settings' | 'openLedger'>,
  id: string,
): Promise<{ readonly job: Job; readonly gateway: string; readonly id: string }> {
  return withKnownLedger(context, async (ledger) => {
    const run = await findRun(ledger, id)
    const job = await readJob(context.settings, run.job)
    return { job, gateway: chooseGateway(context.settings, job), id: run.id }
  })
}

/** File with the time of the last backup; the backup itself lies elsewhere. */
const lastBackupOf = (home: string): string => join(home, 'last-backup')

/** Notes a backup of the ledger. Never throws: the backup succeeded in any case. */
export async function noteBackup(home: string, at: number): Promise<void> {
  const handle = await openOwn(home, lastBackupOf(home)).catch(() => undefined)
  try {
    await handle?.truncate()
    await handle?.write(`${new Date(at).toISOString()}\n`, 0)
  } catch {
    // Full disk: reported elsewhere.
  } finally {
    await handle?.close()
  }
}

/** Time of the last backup; undefined if none is known. */
export async function lastBackupAt(home: string): Promise<number | undefined> {
  const at = Date.parse((await readFile(lastBackupOf(home), 'utf8').catch(() => '')).trim())
  return Number.isNaN(at) ? undefined : at
}
