/** Reasons for rejects that the last comparable run did not have: a sign of a stricter mapping or version, or of a different vendor. */
import type { Ledger } from '../ledger/ledger.ts'
import { withoutOrdinal } from '../watch/fit-facts.ts'

/** Number of rows, or of records of a rule, rejected for a reason. */
export interface RejectedFor {
  readonly code: string
  /** Null for a whole row. */
  readonly rule: string | null
  readonly count: number
}

export interface NewReasons {
  readonly run: string
  readonly reasons: readonly RejectedFor[]
}

const RUNS_LOOKED_AT = 50

/** Selects the run to compare with: the last run of a job at a gateway, or the last run that read an export with a mapping of this name. */
type ComparedWith = { readonly job: string; readonly gateway: string } | { readonly mapping: string }

/** @returns undefined if there is no run to compare with */
export async function newReasons(
  ledger: Pick<Ledger, 'runs' | 'exports' | 'reasons'>,
  compared: ComparedWith,
  found: readonly RejectedFor[],
): Promise<NewReasons | undefined> {
  const run = await lastRun(ledger, compared)
  if (run === undefined) return undefined
  const before = new Set(
    (await ledger.reasons.ofRun(run.id)).flatMap(({ outcome, code, rule }) =>
      outcome === 'rejected' ? keyOf(code, rule) : [],
    ),
  )
  const reasons = found.filter(({ code, rule }) => !before.has(keyOf(code, rule)))
  return { run: run.id, reasons: reasons.toSorted((a, b) => b.count - a.count) }
}

const keyOf = (code: string, rule: string | null): string =>
  `${code} ${rule === null ? '' : withoutOrdinal(rule)}`

/** The newest finished run that read a whole export, of the job or with the mapping. */
export async function lastRun(
  ledger: Pick<Ledger, 'runs' | 'exports'>,
  compared: ComparedWith,
): Promise<{ readonly id: string; readonly job: string } | undefined> {
  for (const run of await ledger.runs.list(RUNS_LOOKED_AT, 'job' in compared ? { job: compared.job } : {})) {
    if (run.state !== 'finished' || run.origin_run !== null || run.pruned_at !== null) continue
    if ('job' in compared && run.gateway !== compared.gateway) continue
    const read = (await ledger.exports.ofRun(run.id)).filter(({ reading }) => reading === 'whole')
    if (read.some(({ mapping }) => 'job' in compared || mapping === compared.mapping)) return run
  }
  return undefined
}
