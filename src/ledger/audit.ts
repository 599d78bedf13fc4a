/** Records of what people did to runs, jobs and accounts: who, when, on what, and why. No health data; people of exports appear by hash alone. */
import type { Audited, Decided } from './tables.ts'

/** Members of the ledger for actions of people. */
export interface ActionsOfPeople {
  readonly putAside: PutAside
  readonly audit: Audit
}

/** Person who acts, and the reason if given. */
export interface Acting {
  readonly by: string
  readonly note: string | null
  /** Equal for all records of a command. */
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
  /** Earliest action. */
  readonly since?: number | undefined
}

interface Audit {
  note(record: AuditRecord): Promise<void>
  /** Oldest first: decisions on runs, which the ledger keeps with the runs, and all other actions. */
  read(question: AuditQuestion): Promise<readonly AuditRecord[]>
}

export interface AsideExport extends Acting {
  readonly job: string
  readonly export: string
  /** Latest reading of the export, which failed. */
  readonly exportRow: number
}

/** Contents put aside (`asideContent`), by the path of the export. */
export type AsideContents = ReadonlyMap<string, string>
export const NONE_ASIDE: AsideContents = new Map()

/** Exports that a person has put aside. */
interface PutAside {
  contents(jobId: number): Promise<AsideContents>
  list(): Promise<readonly AsideExport[]>
  jobsOf(name: string): Promise<readonly string[]>
  /** @returns false if no export of this name is unread */
  begin(name: string, job: string, acting: Acting): Promise<boolean>
  /** @returns true if the export was put aside */
  end(name: string, job: string, acting: Acting): Promise<boolean>
}

/** Content of an export: hash, or time and size as the source lists them for a file that cannot be fetched or unpacked. */
export const asideContent = ({
  sha256,
  delivered,
}: {
  readonly sha256: string
  readonly delivered?: { readonly modifiedAt: number; readonly bytes: number } | undefined
}): string =>
  sha256 === '' && delivered !== undefined ? `${delivered.modifiedAt} ${delivered.bytes}` : sha256
