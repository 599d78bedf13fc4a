/** Moves the ledger of the home to PostgreSQL. */
import { type CopiedTable, moveLedger } from '../ledger/postgres/move-ledger.ts'
import { openLedger } from '../ledger/sqlite/open-ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { assertWithin, lookAt } from '../system/own-files.ts'
import { problemOfLedgerUrl } from '../system/settings.ts'
import { type Application, ledgerFile, withKnownLedger } from './application.ts'
import { assertLedgerFile, ledgerAddress } from './ledger-address.ts'

interface CopiedLedger {
  readonly ledger: string
  readonly rows: number
  readonly tables: readonly CopiedTable[]
}

/**
 * Copies the file of the home, whatever WAYBILL_LEDGER says, and closes the file.
 * @param to address of the database, without a password
 * @throws `usage-wrong`, `ledger-not-found`; as `moveLedger`
 */
export async function copyLedger(application: Application, to: string): Promise<CopiedLedger> {
  const { settings, now, isDead, interrupt, randomHex } = application
  const problem = problemOfLedgerUrl(to, settings.ledgerUnencrypted)
  if (problem !== undefined) throw new WaybillError('usage-wrong', `the address of --to ${problem}`)
  const ledger = ledgerFile(application)
  if ((lookAt(ledger)?.size ?? 0) === 0) {
    assertLedgerFile(settings, 'ledger copy')
    await withKnownLedger(application, async () => {})
  }
  assertWithin(settings.home, ledger)
  // Migrates a file of an earlier version first. A file that was moved is checked by the copy.
  await openLedger(ledger).then(
    ({ close }) => close(),
    (error: unknown) => {
      if (!(error instanceof WaybillError && error.code === 'ledger-moved')) throw error
    },
  )
  const moving = { id: randomHex(8), now: now(), isDead, interrupt }
  const tables = await moveLedger(ledger, ledgerAddress({ ...settings, ledger: to }), moving)
  return { ledger, rows: tables.reduce((sum, { rows }) => sum + rows, 0), tables }
}
