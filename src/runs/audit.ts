/** Reads what people did to runs, jobs and accounts. */
import type { AuditQuestion, AuditRecord } from '../ledger/ledger.ts'
import { type Application, withLedgerIfAny } from './application.ts'

/** @returns oldest first; empty without a ledger */
export const readAudit = (
  application: Application,
  question: AuditQuestion,
): Promise<readonly AuditRecord[]> =>
  withLedgerIfAny(application, async (ledger) => (await ledger?.audit.read(question)) ?? [])
