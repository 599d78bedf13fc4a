/** Maintenance of an installation, as values: prepares a new folder, prunes old detail, backs up the ledger, reports a run as a page. */

import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type BackedUp, backUpLedger } from '../ledger/sqlite/backup.ts'
import { type Compacted, compactLedger } from '../ledger/sqlite/pruning.ts'
import { WaybillError } from '../model/errors.ts'
import { type Pruned, prune } from '../operate/prune.ts'
import { measureOutputFiles, runReport } from '../story/report/report-page.ts'
import { makeFolder, wasTaken, writeOwn } from '../system/own-files.ts'
import { shipped } from '../system/shipped.ts'
import { nameRun } from './amend-run.ts'
import { type Application, ledgerFile, noteBackup, withKnownLedger } from './application.ts'
import { assertLedgerFile } from './ledger-address.ts'
import { assertOwnHome } from './shared-home.ts'

export interface PrunedInstallation extends Pruned {
  /** Space that the ledger's file released; undefined for a dry run. */
  readonly ledger: Compacted | undefined
}

/** `Waybill.prune`. @throws `ledger-not-found` */
export async function pruneRuns(
  application: Application,
  { before, dryRun }: { readonly before: number; readonly dryRun: boolean },
): Promise<PrunedInstallation> {
  const { settings, now, interrupt } = application
  const pruned = await withKnownLedger(application, async (ledger) => {
    await assertOwnHome(application, ledger)
    return prune(
      { ledger, home: settings.home, now, interrupt },
      { before, dryRun, auditSince: now() - settings.auditKeep },
    )
  })
  // A server makes room by itself.
  const isToCompact = !dryRun && settings.ledger === undefined
  return { ...pruned, ledger: isToCompact ? compactLedger(ledgerFile(application), now()) : undefined }
}

export interface Backup extends BackedUp {
  readonly ledger: string
  readonly copy: string
}

/** `Waybill.backUp`. @throws `ledger-not-found`; `usage-wrong` if the copy exists */
export async function backUp(application: Application, to: string): Promise<Backup> {
  assertLedgerFile(application.settings, 'backup')
  const ledger = ledgerFile(application)
  // Migrates a ledger of an earlier version first.
  await withKnownLedger(application, async () => {})
  const copy = resolve(to)
  const backedUp = backUpLedger(ledger, copy, application.now())
  await noteBackup(application.settings.home, backedUp.takenAt)
  return { ledger, copy, ...backedUp }
}

/** `Waybill.report`. @param wanted undefined: the latest. @throws `run-not-found` */
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

const SAMPLES = [
  'jobs/nightly-screenings.yaml',
  ...['acme-onsite', 'northlab-oru'].flatMap((name) => [
    `mappings/${name}.yaml`,
    `mappings/${name}.cases.yaml`,
  ]),
  'mappings/tables/lab-codes.csv',
  ...['job', 'mapping', 'cases', 'catalog-biometrics', 'catalog-conditions'].map(
    (name) => `schemas/${name}.schema.json`,
  ),
  'samples/inbox/acme_screening_20260302.csv',
  'samples/inbox/northlab_oru_20260302.ndjson',
  'samples/tutorial/lakeside_20260430.csv',
] as const

const ENVIRONMENT = `# Settings of this folder: copy to .env (mode 0600) and fill in. All of them: docs/settings.md.
# Where records go, unless the job says so: https://…, or built-in for the stand-in on this machine.
#WAYBILL_GATEWAY_URL=
#WAYBILL_API_KEY=
# One of these: a token, or a command that prints one.
#WAYBILL_ACCESS_TOKEN=
#WAYBILL_ACCESS_TOKEN_COMMAND=
# Ledger, key, receipts and rejects: a local disk, and the one thing to back up.
#WAYBILL_HOME=.waybill
#WAYBILL_LOG_FILE=.waybill/log/waybill.log
`

interface Begun {
  readonly folder: string
  /** Paths relative to the folder. */
  readonly written: readonly string[]
  readonly kept: readonly string[]
}

/** Prepares a folder; overwrites nothing. @throws `usage-wrong` if the folder cannot be written */
export async function beginFolder(to: string): Promise<Begun> {
  const folder = resolve(to)
  const written: string[] = []
  const kept: string[] = []
  const place = (name: string, content: string | Uint8Array): void => {
    const path = join(folder, name)
    try {
      makeFolder(dirname(path), 0o777)
      writeOwn(path, content, { isNew: true })
      written.push(name)
    } catch (error) {
      if (!wasTaken(error))
        throw new WaybillError('usage-wrong', `${path} cannot be written`, {
          place: { file: path },
          remedy: 'Go to a folder that you may write to, or name one: waybill init FOLDER.',
          cause: error,
        })
      kept.push(name)
    }
  }
  for (const name of SAMPLES) place(name, readFileSync(shipped(name)))
  place('.env.example', ENVIRONMENT)
  return { folder, written, kept }
}
