/** Outcomes as a report shows them: each has a name, a mark and a colour, so that none is told by its colour alone. */
import type { RecordCounts } from '../model/balance.ts'
import type { RecordKind } from '../model/record.ts'

/** Also the name of its colour in style.ts. */
export type Outcome =
  | 'accepted'
  | 'unchanged'
  | 'rejected'
  | 'in-doubt'
  | 'pending'
  | 'skipped'
  | 'mapped'
  | 'unaccounted'

export const OUTCOMES: Readonly<Record<Outcome, { readonly name: string; readonly mark: string }>> = {
  mapped: { name: 'mapped', mark: '→' },
  skipped: { name: 'skipped', mark: '–' },
  accepted: { name: 'accepted', mark: '✓' },
  unchanged: { name: 'unchanged', mark: '=' },
  rejected: { name: 'rejected', mark: '×' },
  'in-doubt': { name: 'in doubt', mark: '?' },
  pending: { name: 'pending', mark: '…' },
  unaccounted: { name: 'unaccounted for', mark: '!' },
}

/** What becomes of records, in the order in which it is shown. */
export const RECORD_OUTCOMES = ['accepted', 'unchanged', 'rejected', 'in-doubt', 'pending'] as const

export type RecordOutcome = (typeof RECORD_OUTCOMES)[number]

export const countOf = (counts: RecordCounts, outcome: RecordOutcome): number =>
  counts[outcome === 'in-doubt' ? 'inDoubt' : outcome]

export const KINDS: Readonly<Record<RecordKind, string>> = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care teams',
}
