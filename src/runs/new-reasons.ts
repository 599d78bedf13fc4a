/** Reasons for which rows and records would be rejected now, and were not by the last run that read such exports: a stricter mapping or version, or another vendor. */
import type { Ledger } from '../ledger/ledger.ts'
import { withoutOrdinal } from '../mapping-tools/record-facts.ts'

/** How many rows, or records of a rule, a reason rejects. */
export interface RejectedFor {
  readonly code: string
  /** Null of a row as a whole. */
  readonly rule: string | null
  readonly count: number
}

export interface NewReasons {
  /** Run that is compared with. */
  readonly run: string
  /** Reasons that it had not, most frequent first. */
  readonly reasons: readonly RejectedFor[]
}

/** Newest runs among which one is looked for. */
const RUNS_LOOKED_AT = 50

/** The run that is compared with: the last of a job at a gateway, or the last that read an export by a mapping of that name. */
export type ComparedWith = { readonly job: string; readonly gateway: string } | { readonly mapping: string }

/** @returns undefined where there is no such run */
export async function newReasons(
  ledger: Pick<Ledger, 'runs' | 'exportsOf' | 'reasonsOf'>,
  compared: ComparedWith,
  found: readonly RejectedFor[],
): Promise<NewReasons | undefined> {
  const run = await lastRun(ledger, compared)
  if (run === undefined) return undefined
  const before = new Set(
    (await ledger.reasonsOf(run.id)).flatMap(({ outcome, code, rule }) =>
      outcome === 'rejected' ? keyOf(code, rule) : [],
    ),
  )
  const reasons = found.filter(({ code, rule }) => !before.has(keyOf(code, rule)))
  return { run: run.id, reasons: reasons.toSorted((a, b) => b.count - a.count) }
}

const keyOf = (code: string, rule: string | null): string =>
  `${code} ${rule === null ? '' : withoutOrdinal(rule)}`

/** The newest finished one that read a whole export so. */
export async function lastRun(
  ledger: Pick<Ledger, 'runs' | 'exportsOf'>,
  compared: ComparedWith,
): Promise<{ readonly id: string; readonly job: string } | undefined> {
  for (const run of await ledger.runs(RUNS_LOOKED_AT, 'job' in compared ? { job: compared.job } : {})) {
    if (run.state !== 'finished' || run.origin_run !== null || run.pruned_at !== null) continue
    if ('job' in compared && run.gateway !== compared.gateway) continue
    const read = (await ledger.exportsOf(run.id)).filter(({ reading }) => reading === 'whole')
    if (read.some(({ mapping }) => 'job' in compared || mapping === compared.mapping)) return run
  }
  return undefined
}
