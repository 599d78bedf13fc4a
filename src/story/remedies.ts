/** Remedies for left-behind rows and records, by reason (docs/reasons.md). Pure. */
import type { Reason } from '../ledger/ledger.ts'

const REASONS = {
  /** The mapping, its tables or the catalog must cover the values of the vendor. */
  mapping: [
    'field-not-scalar',
    'value-not-in-table',
    'value-not-extracted',
    'value-doubled-in-join',
    'spelling-unlisted',
    'expression-failed',
    'expression-too-costly',
    'account-unresolved',
    'zone-unknown',
    'date-ambiguous',
    'value-with-comparator',
    'value-part-unread',
    'value-form-unread',
    'code-unread',
    'sub-id-unread',
    'unit-unread',
    'range-unread',
    'status-unread',
    'components-unread',
    'modifier-unread',
    'unit-unknown',
    'code-unknown',
    'account-unknown',
    'answer-not-clear',
  ],
  data: [
    'row-too-short',
    'row-too-long',
    'row-too-large',
    'row-message-invalid',
    'row-record-misplaced',
    'row-json-invalid',
    'row-encoding-invalid',
    'row-place-unclear',
    'account-missing',
    'date-missing',
    'date-skipped-by-daylight-saving',
    'date-doubled-by-daylight-saving',
    'cell-not-computed',
    'cell-merged',
    'cell-invalid',
    'cell-digits-lost',
    'account-damaged',
    'key-damaged',
    'value-not-feet-and-inches',
    'value-in-scientific-notation',
    'code-missing',
    'code-damaged',
    'check-digit-wrong',
    'date-before-birth',
    'npi-invalid',
    'name-missing',
    'name-damaged',
    'registration-incomplete',
    'registration-damaged',
    'answers-missing',
  ],
  /** A person must decide between mapping and data. */
  either: [
    'subject-of-another',
    'resource-deleted',
    'status-contradictory',
    'codes-contradictory',
    'corrected-beside',
    'row-quote-broken',
    'row-quote-not-closed',
    'row-member-missing',
    'key-missing',
    'source-missing',
    'date-invalid',
    'date-too-early',
    'value-not-in-join',
    'cell-error',
    'cell-format-differs',
    'cell-day-doubtful',
    'value-missing',
    'value-not-a-number',
    'bound-not-a-number',
    'bounds-crossed',
    'value-repeated',
    'flag-unread',
    'absent-reason-unread',
    'value-out-of-range',
    'unit-mismatch',
    'systolic-not-above-diastolic',
    'date-in-future',
    'status-missing',
    'npi-missing',
    'type-missing',
    'answer-missing',
    'answer-not-offered',
    'disclosure-unknown',
    'flag-not-true-or-false',
    'authorization-badly-named',
    'request-type-unknown',
  ],
  /** Nothing was readable; only the vendor can help. */
  redelivery: ['rest-unreadable'],
  /** The gateway refused the record, and gave the reason. */
  gateway: [
    'registration-fails',
    'page-repeated',
    'user-token-refused',
    'request-types-unreadable',
    'authorization-refused',
    'withdrawal-refused',
    'refused',
    'too-large',
    'listed-as-error',
    'not-echoed',
  ],
  /** Somebody must find out whether the gateway has the record. */
  doubt: ['in-doubt', 'held', 'account-stale', 'perhaps-sent', 'waits-for-older', 'mark-waits'],
  /** The gateway does not have the record, and nothing else is wrong. */
  'send-again': [],
  /** Somebody must find out to which person the records belong. */
  person: ['reference-shared'],
  void: ['withdrawn'],
  document: ['awaiting-authorization', 'authorization-unusable'],
  /** Every later run that meets the record tries again by itself. */
  'next-run': [
    'account-not-there',
    'account-id-unknown',
    'collect-refused',
    'collect-fails',
    'mark-refused',
    'replaced-not-deleted',
    'replacement-not-listed',
  ],
  /** Nothing is wrong; the job wants it this way. */
  none: ['account-repaired', 'care-team-kept', 'care-team-outdated', 'outdated', 'name-changed'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Remedy = keyof typeof REASONS

export const REMEDIES: ReadonlyMap<string, Remedy> = new Map(
  // The cast is sound: the keys are those of the table.
  (Object.entries(REASONS) as [Remedy, readonly string[]][]).flatMap(([remedy, codes]) =>
    codes.map((code) => [code, remedy] as const),
  ),
)

/**
 * Remedy by reason code. A field of the registration has the remedy of any field. A record in doubt found not stored can simply be sent. A code of
 * another version is checked from both sides.
 */
export function remedyFor({ code, outcome }: Pick<Reason, 'code' | 'outcome'>): Remedy {
  const remedy = REMEDIES.get(code) ?? REMEDIES.get(code.replace('registration-', '')) ?? 'either'
  return remedy === 'doubt' && outcome === 'rejected' ? 'send-again' : remedy
}
