/**
 * Composition root: makes every part with access to clock, chance, files of the home, SQLite and network, and hands these parts in, for the
 * command line and for programs.
 */

import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Ledger } from './ledger/ledger.ts'
import type { AccountIdCipher } from './ledger/sealed-ids.ts'
import { reasonOf, WaybillError } from './model/errors.ts'
import type { Application } from './runs/application.ts'
import type { WithoutOld } from './runs/which-installation.ts'
import { assertObeyable, doubtsOf, doubtText } from './system/obeyed-files.ts'
import { appendOwn, assertWithin, closeToOthers, lookAt, makeFolder, modeText } from './system/own-files.ts'
import { identify, processTable } from './system/process-identity.ts'
import type { Settings } from './system/settings.ts'
import { shipped } from './system/shipped.ts'
import { createLogFile, createLogger, type Logger } from './telemetry/logger.ts'

/** Version in package.json. */
export function programVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(shipped('package.json'), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : '0'
}

/**
 * @param err receives the lines of the log
 * @param interrupt aborts to stop: work in flight is finished, nothing new starts
 */
export function createApplication(
  version: string,
  settings: Settings,
  err: (text: string) => void,
  interrupt: AbortSignal,
): Application {
  const logger = openLog(settings, err, Date.now)
  const processes = processTable(process.pid)
  return {
    version,
    settings,
    user: userName(),
    logger,
    interrupt: withReason(interrupt),
    now: Date.now,
    random: () => randomInt(2 ** 32) / 2 ** 32,
    randomHex: hexOf,
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
    },
    ...identify(hostname(), process.pid, randomBytes(8).toString('hex'), processes),
    async openLedger(without = {}, at = Date.now()) {
      makeHome(settings.home)
      return settings.ledger === undefined
        ? openOwnLedger(settings, logger, processes.place, without, at)
        : openSharedLedger(settings, without, at)
    },
    async openTickets(opening) {
      const [{ openTickets }, { ledgerAddress }, cipher] = await Promise.all([
        import('./ledger/postgres/tickets.ts'),
        import('./runs/ledger-address.ts'),
        cipherOf(settings, false),
      ])
      return openTickets(ledgerAddress(settings), { ...opening, cipher })
    },
    async readLedger() {
      if (settings.ledger !== undefined) return openSharedLedger(settings, {}, Date.now())
      const { openLedger } = await import('./ledger/sqlite/open-ledger.ts')
      const file = join(settings.home, 'ledger.sqlite')
      assertWithin(settings.home, file)
      return openLedger(file, processes.place, undefined, undefined, 'read')
    },
    async connectGateway(name, onRequest) {
      makeHome(settings.home)
      for (const path of [settings.home, settings.jobs, settings.mappings])
        for (const doubt of doubtsOf(path)) logger.warn(doubtText(doubt, path))
      const { connectGateway } = await import('./runs/connect-gateway.ts')
      const parts = { now: Date.now, nextRequestId: randomUUID, randomHex: hexOf }
      return connectGateway(name, settings, onRequest === undefined ? parts : { ...parts, onRequest })
    },
  }
}

/** @throws WaybillError `ledger-unusable`, `file-untrusted` */
function makeHome(home: string): void {
  try {
    makeFolder(home)
  } catch (cause) {
    const reason = reasonOf(cause)
    throw new WaybillError('ledger-unusable', `the home ${home} cannot be made: ${reason}`, { cause })
  }
  assertObeyable(home)
}

/** Cipher by the key of the installation. @param needed false to open nothing without a key, rather than to refuse */
async function cipherOf(settings: Settings, needed: boolean): Promise<AccountIdCipher> {
  const [{ createAccountIdCipher }, { ownKey }] = await Promise.all([
    import('./ledger/sealed-ids.ts'),
    import('./runs/which-installation.ts'),
  ])
  return createAccountIdCipher(() => ownKey(settings, needed) ?? '')
}

/** Parts of every ledger: cipher of account ids, and what a ledger without history is taken for. */
async function ledgerParts(settings: Settings, { lookFirst, newLedger, newKey }: WithoutOld, at: number) {
  const [ids, { assertNothingLost }] = await Promise.all([
    cipherOf(settings, true),
    import('./runs/which-installation.ts'),
  ])
  return {
    ids,
    onNew(): number | undefined {
      if (lookFirst === true || newKey === true) return at - 1
      if (newLedger !== true) assertNothingLost(settings.home)
      return undefined
    },
  }
}

/** Ledger in PostgreSQL: a home without history may join it. */
async function openSharedLedger(settings: Settings, without: WithoutOld, at: number): Promise<Ledger> {
  const [{ openPostgresLedger }, { ledgerAddress }, parts] = await Promise.all([
    import('./ledger/postgres/open-ledger.ts'),
    import('./runs/ledger-address.ts'),
    ledgerParts(settings, without, at),
  ])
  return openPostgresLedger(ledgerAddress(settings), parts)
}

async function openOwnLedger(
  settings: Settings,
  logger: Logger,
  place: string | undefined,
  without: WithoutOld,
  at: number,
): Promise<Ledger> {
  const [{ openLedger }, { ids, onNew }] = await Promise.all([
    import('./ledger/sqlite/open-ledger.ts'),
    ledgerParts(settings, without, at),
  ])
  const file = join(settings.home, 'ledger.sqlite')
  assertWithin(settings.home, file)
  // Refuses before the file is made.
  if ((lookAt(file)?.size ?? 0) === 0) onNew()
  // SQLite gives the files beside a ledger the mode of the ledger, and creates a ledger that other users may read.
  try {
    appendOwn(file, '')
  } catch {
    // Opening the file reports the reason.
  }
  closeLedgerToOthers(file, logger)
  return openLedger(file, place, onNew, ids)
}

/** @throws WaybillError `ledger-unusable` */
function closeLedgerToOthers(ledger: string, logger: Logger): void {
  for (const file of [ledger, `${ledger}-wal`, `${ledger}-shm`]) {
    try {
      const mode = closeToOthers(file)
      if (mode !== undefined)
        logger.warn(`${file} was open to all users (${modeText(mode)}); fixed to ${modeText(mode & 0o770)}`)
    } catch (cause) {
      throw new WaybillError('ledger-unusable', `${file} is open to all users and belongs to another user`, {
        place: { file },
        remedy: 'Give the file to the user who runs Waybill (chown), then run chmod 600 on it.',
        cause,
      })
    }
  }
}

/** Aborts with the error `interrupted`, for any reason of the caller's signal. */
function withReason(interrupt: AbortSignal): AbortSignal {
  const interrupted = new AbortController()
  const abort = (): void => interrupted.abort(new WaybillError('interrupted', 'the command was interrupted'))
  if (interrupt.aborted) abort()
  else interrupt.addEventListener('abort', abort, { once: true })
  return interrupted.signal
}

/** Name of the user, or the number of a user without a name, as in many containers. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

const hexOf = (bytes: number): string => randomBytes(bytes).toString('hex')

function openLog(
  { logLevel: level, logFormat: form, logFile }: Pick<Settings, 'logLevel' | 'logFormat' | 'logFile'>,
  err: (text: string) => void,
  now: () => number,
): Logger {
  const standardError = { level, form, print: err } as const
  const alone = createLogger(standardError, undefined, now)
  if (logFile === undefined) return alone
  const print = createLogFile(logFile, now, (problem) => alone.warn(problem))
  return createLogger(standardError, { level, form: 'json', print }, now)
}
