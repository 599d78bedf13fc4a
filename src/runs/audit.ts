/** Actions of people on runs, jobs and accounts: the records, and a look at values of rows. */
import type { AuditQuestion, AuditRecord } from '../ledger/ledger.ts'
import { type Application, withKnownLedger, withLedgerIfAny } from './application.ts'
import type { Person } from './resolve.ts'

/** @returns oldest first; empty without a ledger */
export const readAudit = (
  application: Application,
  question: AuditQuestion,
): Promise<readonly AuditRecord[]> =>
  withLedgerIfAny(application, async (ledger) => (await ledger?.audit.read(question)) ?? [])

/** Notes that a person is about to see values of rows. @param subject reason code, or name of the export */
export const noteValuesSeen = (
  application: Application,
  of: Pick<AuditRecord, 'job' | 'run' | 'subject'>,
  person: Person,
): Promise<void> =>
  withKnownLedger(application, (ledger) =>
    ledger.audit.note({ ...of, ...person, at: application.now(), action: 'see-values' }),
  )
