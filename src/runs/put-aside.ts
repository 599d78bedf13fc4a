/** Puts an unreadable export aside: later runs pass over the file, untouched, until its content changes. */
import type { AsideExport } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { shellWord } from '../system/shown-text.ts'
import { type Application, withKnownLedger, withLedgerIfAny } from './application.ts'
import type { Person } from './resolve.ts'

interface AsideRequest {
  readonly name: string
  /** Undefined: the only job that has the export. */
  readonly job?: string | undefined
  readonly undo: boolean
}

/** @throws `usage-wrong` if several jobs have the export; `nothing-left` if none has it unread, or none has put it aside */
export function putAside(
  application: Application,
  { name, job, undo }: AsideRequest,
  person: Person,
): Promise<{ readonly job: string; readonly export: string }> {
  return withKnownLedger(application, async ({ putAside: aside }) => {
    const having = undo
      ? (await aside.list()).filter((one) => one.export === name).map((one) => one.job)
      : await aside.jobsOf(name)
    const jobs = [...new Set(having)].filter((one) => job === undefined || one === job)
    const [only] = jobs
    if (only === undefined)
      throw new WaybillError(
        'nothing-left',
        undo ? `${name} is not put aside` : `no run has left an export ${name} unread`,
        { remedy: 'See what needs somebody, and what is put aside, with `waybill needs`.' },
      )
    if (jobs.length > 1)
      throw new WaybillError('usage-wrong', `several jobs have an export ${name}: ${jobs.join(', ')}`, {
        remedy: `Name one, like: --job ${shellWord(only)}`,
      })
    const acting = { ...person, at: application.now() }
    await (undo ? aside.end(name, only, acting) : aside.begin(name, only, acting))
    return { job: only, export: name }
  })
}

/** @returns oldest first; empty without a ledger, or with one that cannot be used */
export const readAside = (application: Application, job?: string): Promise<readonly AsideExport[]> =>
  withLedgerIfAny(application, async (ledger) => (await ledger?.putAside.list()) ?? []).then(
    (all) => all.filter((one) => job === undefined || one.job === job),
    (error: unknown) => {
      // `needs` lists the ledger itself.
      if (error instanceof WaybillError) return []
      throw error
    },
  )
