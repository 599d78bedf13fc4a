/** `waybill audit`: who decided, stopped, paused, erased or exported what, when, and why. */
import type { AuditRecord } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import { readAudit } from '../runs/audit.ts'
import { counted, iso, type Lines, utcTime } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import type { Action } from './commands.ts'

export const audit: Action<'audit'> = async (context, { job, json, since }) => {
  const records = await readAudit(context, { job, since: since?.(context.now()) })
  if (json) {
    const audit = records.map(({ at, ...record }) => ({ at: iso(at), ...record }))
    context.out(JSON.stringify({ audit }))
  } else context.out(auditText(records, context.columns))
  return EXIT.ok
}

/** A line for each command: one on several people or runs is one line. */
function auditText(records: readonly AuditRecord[], columns: number | undefined): Lines {
  if (records.length === 0) return 'Nobody has acted yet.'
  const commands = Map.groupBy(records, ({ at, by, action, job }) => JSON.stringify([at, by, action, job]))
  const rows = [...commands.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const { at, by, action, job, run, subject, note } = first
    const one = [run ?? job, subject].filter((part) => part !== null).join(' ')
    const what =
      others.length === 0
        ? one
        : run === null
          ? counted(others.length + 1, 'person', 'people')
          : `${counted(others.length + 1, 'run')} of ${job}`
    return [[utcTime(at), by, action, what, note ?? '']]
  })
  return fittedTable(['UTC', 'by', 'action', 'of', 'why'], rows, 'none', columns)
}
