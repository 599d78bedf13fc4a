/** What a run tells those who watch it. Names, counts and codes; no health data. */
import type { WaybillError } from '../errors.ts'
import type { Counts } from '../reconcile/balance.ts'

export interface RunEvents {
  runStarted(run: {
    readonly id: string
    readonly job: string
    readonly gateway: string
    readonly resumed: boolean
  }): void
  exportStarted(found: { readonly name: string; readonly bytes: number }): void
  /** After each settled chunk: counts of the export so far, and the byte up to which it is settled. */
  exportAdvanced(name: string, counts: Counts, byteOffset: number): void
  exportEnded(name: string, counts: Counts): void
  exportFailed(name: string, error: WaybillError): void
  waiting(event: {
    readonly operation: string
    readonly waitMs: number
    readonly class: string
    readonly givesUpAt: number
  }): void
  runEnded(): void
}
