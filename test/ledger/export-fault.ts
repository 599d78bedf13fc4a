import type { ExportFault } from '../../src/ledger/ledger.ts'

/** An export that could not be used, for a reason that says all. */
export const fault = (reason: string): ExportFault => ({
  reason,
  detail: `${reason}, in words`,
  remedy: null,
})
