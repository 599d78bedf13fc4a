/** What keeps an installation well, as values: old detail goes, the ledger is copied, a run is told of on a page. */
import { resolve } from 'node:path'
import { type BackedUp, backUpLedger } from '../ledger/sqlite/backup.ts'
import { type Compacted, compactLedger } from '../ledger/sqlite/pruning.ts'
import { type Pruned, prune } from '../operate/prune.ts'
import { measureOutputFiles } from '../report/files-section.ts'
import { runReport } from '../report/report-page.ts'
import { nameRun } from './amend-run.ts'
import { type Application, ledgerFile, noteBackup, withKnownLedger } from './application.ts'

export interface PrunedInstallation extends Pruned {
  /** What the ledger's file has given back; undefined of a dry run. */
  readonly ledger: Compacted | undefined
}

/**
 * Removes receipts, rejects and detail of runs that ended before an instant. What was delivered stays known.
 * @throws WaybillError `ledger-not-found`
 */
export async function pruneRuns(
  application: Application,
  { before, dryRun }: { readonly before: number; readonly dryRun: boolean },
): Promise<PrunedInstallation> {
  const { settings, now, interrupt } = application
  const pruned = await withKnownLedger(application, (ledger) =>
    prune({ ledger, home: settings.home, now, interrupt }, { before, dryRun }),
  )
  return { ...pruned, ledger: dryRun ? undefined : compactLedger(ledgerFile(application), now()) }
}

export interface Backup extends BackedUp {
  readonly ledger: string
  readonly copy: string
}

/** Copies the ledger, also while a run is on. @throws WaybillError `ledger-not-found`; `usage-wrong` where the copy is there already */
export async function backUp(application: Application, to: string): Promise<Backup> {
  const ledger = ledgerFile(application)
  // It may have the shape of an earlier program still.
  await withKnownLedger(application, async () => {})
  const copy = resolve(to)
  const backedUp = backUpLedger(ledger, copy, application.now())
  await noteBackup(application.settings.home, backedUp.takenAt)
  return { ledger, copy, ...backedUp }
}

/** A run as one page of HTML without health data. @param wanted undefined: the latest. @throws WaybillError `run-not-found` */
export async function reportOf(
  application: Application,
  wanted: string | undefined,
): Promise<{ readonly run: string; readonly page: string }> {
  const { settings, now, isDead, version } = application
  return withKnownLedger(application, async (ledger) => {
    const run = (await nameRun(ledger, wanted ?? 'latest')).id
    const { home } = settings
    const outputsOf = (summary: Parameters<typeof measureOutputFiles>[1]) => measureOutputFiles(home, summary)
    return { run, page: await runReport({ ledger, home, now: now(), isDead, version, outputsOf }, run) }
  })
}
