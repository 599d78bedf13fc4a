/** Restores a backup of this installation, and lists the runs missing in it. */
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { NO_GATEWAY } from '../definitions/jobs.ts'
import { backupUnusable, restoreLedger } from '../ledger/sqlite/backup.ts'
import { inspectLedger, type LedgerFacts } from '../ledger/sqlite/inspect.ts'
import { reasonOf, WaybillError } from '../model/errors.ts'
import { createIdentity } from '../model/ids.ts'
import { forgetRefusedStart, readRefusedStarts } from '../needs/refused-starts.ts'
import { assertWithin, lookAt, makeFolder } from '../system/own-files.ts'
import { type Application, ledgerFile, withKnownLedger } from './application.ts'
import { assertLedgerFile } from './ledger-address.ts'
import { readGatewayNames } from './look-over.ts'
import { ownKey } from './which-installation.ts'

export interface Restored {
  readonly ledger: string
  readonly backup: string
  /** Time of the backup, else the start of its latest run. ISO 8601, UTC. */
  readonly takenAt: string | undefined
  readonly gateways: readonly string[]
  readonly unfinished: readonly string[]
  /** Runs with receipts in the home, and missing in the backup. */
  readonly unknownRuns: readonly string[]
  readonly aside: string | undefined
}

/** @throws `usage-wrong` if a usable ledger exists, `backup-unusable`, `key-differs`, `gateway-differs`; the home stays unchanged */
export async function restoreBackup(application: Application, file: string): Promise<Restored> {
  const { settings, now } = application
  assertLedgerFile(settings, 'restore')
  const [ledger, backup] = [ledgerFile(application), resolve(file)]
  assertReplaceable(ledger, application)
  const facts = inspectBackup(backup, now())
  assertKey(settings, facts)
  const named = new Set((await readGatewayNames(settings)).values())
  if (settings.gatewayUrl !== undefined) named.add(settings.gatewayUrl)
  named.delete(NO_GATEWAY)
  assertGateway(facts, named)
  makeFolder(settings.home)
  assertWithin(settings.home, ledger)
  const aside = restoreLedger(backup, ledger, now())
  const receipts = join(settings.home, 'receipts')
  const receiptFiles = lookAt(receipts) === undefined ? [] : readdirSync(receipts)
  const { unfinished, unknownRuns } = await withKnownLedger(application, async (restored) => {
    const runs = receiptFiles.map((name) => name.replace('.ndjson.gz', '')).toSorted()
    const known = await Promise.all(runs.map((run) => restored.runs.find(run)))
    const open = await restored.runs.list(Number.MAX_SAFE_INTEGER, { states: ['running', 'interrupted'] })
    return {
      unfinished: open.map(({ id }) => id).reverse(),
      unknownRuns: runs.filter((_, at) => known[at] === undefined),
    }
  })
  // The copy is a need of its own until the job has run.
  for (const { job, code } of readRefusedStarts(settings.home))
    if (code === 'ledger-missing') forgetRefusedStart(settings.home, job)
  const at = facts.copiedAt ?? facts.latestRunAt
  return {
    ledger,
    backup,
    takenAt: at === undefined ? undefined : new Date(at).toISOString(),
    gateways: facts.gateways,
    unfinished,
    unknownRuns,
    aside,
  }
}

/** Allows replacing a ledger that is damaged, or that has sent nothing. */
function assertReplaceable(ledger: string, { now, isDead }: Application): void {
  let facts: LedgerFacts | undefined
  try {
    facts = inspectLedger(ledger, now())
  } catch {
    return
  }
  if (facts === undefined || facts.damage.length > 0) return
  const isHeld = facts.leases.some(({ owner }) => !isDead(owner))
  if (!facts.isOfUse && facts.newer.length === 0 && !isHeld) return
  throw new WaybillError('usage-wrong', `the ledger ${ledger} is intact and is not replaced`, {
    place: { file: ledger },
    remedy:
      'To restore the backup anyway, end all processes that use the home, and move ledger.sqlite, ledger.sqlite-wal and ledger.sqlite-shm away.',
  })
}

function inspectBackup(backup: string, now: number): LedgerFacts {
  let facts: LedgerFacts | undefined
  try {
    facts = inspectLedger(backup, now)
  } catch (cause) {
    throw backupUnusable(backup, reasonOf(cause), cause)
  }
  if (facts === undefined) throw new WaybillError('usage-wrong', `there is no file ${backup}`)
  if (facts.newer.length > 0) throw new WaybillError('ledger-newer', `a newer Waybill has written ${backup}`)
  const why = facts.shape === 'none' ? 'it is not a ledger of Waybill' : facts.damage[0]
  if (why !== undefined) throw backupUnusable(backup, why)
  return facts
}

function assertKey(settings: Application['settings'], { fingerprint }: LedgerFacts): void {
  const key = ownKey(settings, false)
  if (fingerprint === undefined || (key !== undefined && createIdentity(key).fingerprint === fingerprint))
    return
  throw new WaybillError('key-differs', 'the key of the backup is missing', {
    remedy:
      'Put the key back (`key` in the home, or WAYBILL_KEY), then restore the backup. If the key is lost, no delivery is recognised: `waybill run JOB --new-key` reads profiles before it sends.',
  })
}

function assertGateway({ gateways }: LedgerFacts, named: ReadonlySet<string>): void {
  if (gateways.length === 0 || named.size === 0 || gateways.some((one) => named.has(one))) return
  throw new WaybillError(
    'gateway-differs',
    `the backup has runs at ${gateways.join(', ')}, but settings and jobs name ${[...named].join(', ')}`,
  )
}
