/** Address and password of a ledger in PostgreSQL, from the settings. */
import type { PostgresAddress } from '../ledger/postgres/database.ts'
import { WaybillError } from '../model/errors.ts'
import { type Settings, wholeEnvironment } from '../system/settings.ts'
import { runShell } from '../system/shell-command.ts'

const TIME_LIMIT_MS = 30_000

type OfLedger = Pick<Settings, 'ledger' | 'ledgerPassword' | 'ledgerPasswordCommand'>

/** @throws `ledger-unusable`, from `password`, if the command fails; `file-untrusted` */
export function ledgerAddress({
  ledger = '',
  ledgerPassword,
  ledgerPasswordCommand,
}: OfLedger): PostgresAddress {
  if (ledgerPassword !== undefined) return { url: ledger, password: async () => ledgerPassword }
  if (ledgerPasswordCommand === undefined) return { url: ledger }
  return { url: ledger, password: () => printed(ledgerPasswordCommand) }
}

async function printed(command: string): Promise<string> {
  const ended = await runShell({
    command,
    timeoutMs: TIME_LIMIT_MS,
    environment: wholeEnvironment(),
    isRead: true,
  })
  if ('out' in ended) return ended.out.trim()
  if (ended.error !== undefined) throw ended.error
  throw new WaybillError('ledger-unusable', `WAYBILL_LEDGER_PASSWORD_COMMAND ${ended.why}`, {
    remedy: 'Run the command by hand: it must print the password of the database within 30 s.',
  })
}

/** @throws `usage-wrong` for a ledger that is no file */
export function assertLedgerFile({ ledger }: Pick<Settings, 'ledger'>, command: string): void {
  if (ledger === undefined) return
  throw new WaybillError('usage-wrong', `waybill ${command} works on a ledger in a file`, {
    remedy: 'The ledger is in PostgreSQL (WAYBILL_LEDGER): use the tools of the server, such as pg_dump.',
  })
}
