/** Records of what people did to runs, jobs and accounts: who, when, on what, and why. No health data; people of exports appear by hash alone. */
import type { Decided } from './tables.ts'

/** Actions beside the decisions on runs, which `resolution` has. */
export type Audited =
  | 'stop'
  | 'pause'
  | 'unpause'
  | 'put-aside'
  | 'undo-put-aside'
  | 'acknowledge'
  | 'accounts-export'
  | 'accounts-confirm'
  | 'accounts-forget'
  | 'accounts-erase'

/** Person who acts, and the reason if given. */
export interface Acting {
  readonly by: string
  readonly note: string | null
  /** Milliseconds since the epoch; equal for all records of a command. */
  readonly at: number
}

export interface AuditRecord extends Acting {
  readonly action: Audited | Decided
  /** Null for an action on no job. */
  readonly job: string | null
  readonly run: string | null
  /** Reason code, export, file with its number of people, or the keyed hash of a person; null for the run or job as a whole. */
  readonly subject: string | null
}

export interface AuditQuestion {
  readonly job?: string | undefined
  /** Earliest action: milliseconds since the epoch. */
  readonly since?: number | undefined
}

export interface Audit {
  note(record: AuditRecord): Promise<void>
  /** Oldest first: decisions on runs, which the ledger keeps with the runs, and all other actions. */
  read(question: AuditQuestion): Promise<readonly AuditRecord[]>
}
