/** Remedies for left-behind rows and records, by reason (docs/reasons.md). Pure. */
import type { Reason } from '../ledger/ledger.ts'

/**
 * - `mapping`: the mapping, its tables or the catalog must cover the values of the vendor.
 * - `data`: the row itself is wrong; its line in the rejects file can be corrected.
 * - `either`: a person must decide between mapping and data.
 * - `redelivery`: nothing was readable; only the vendor can help.
 * - `gateway`: the gateway refused the record, and gave the reason.
 * - `doubt`: somebody must find out whether the gateway has the record.
 * - `send-again`: the gateway does not have the record, and nothing else is wrong.
 * - `person`: somebody must find out to which person the records belong.
 * - `void`: the gateway has a record withdrawn by the source, and somebody must have it removed there.
 * - `document`: an accompanying file is missing, or is not valid.
 * - `next-run`: every later run that meets the record tries again by itself.
 * - `none`: nothing is wrong; the job wants it this way.
 */
export type Remedy =
  | 'mapping'
  | 'data'
  | 'either'
  | 'redelivery'
  | 'gateway'
  | 'doubt'
  | 'send-again'
  | 'person'
  | 'void'
  | 'document'
  | 'next-run'
  | 'none'

/** Remedy of every reason code. */
export const REMEDIES: Readonly<Record<string, Remedy>> = {
  'row-too-short': 'data',
  'row-too-long': 'data',
  'row-quote-broken': 'either',
  'row-quote-not-closed': 'either',
  'row-too-large': 'data',
  'row-message-invalid': 'data',
  'row-record-misplaced': 'data',
  'row-json-invalid': 'data',
  'row-member-missing': 'either',
  'rest-unreadable': 'redelivery',
  'row-encoding-invalid': 'data',
  'row-place-unclear': 'data',
  'account-missing': 'data',
  'account-not-there': 'next-run',
  'account-id-unknown': 'next-run',
  'collect-refused': 'next-run',
  'collect-fails': 'next-run',
  'key-missing': 'either',
  'source-missing': 'either',
  'date-missing': 'data',
  'date-invalid': 'either',
  'date-too-early': 'either',
  'date-skipped-by-daylight-saving': 'data',
  'date-doubled-by-daylight-saving': 'data',
  'field-not-scalar': 'mapping',
  'value-not-in-table': 'mapping',
  'value-not-extracted': 'mapping',
  'value-not-in-join': 'either',
  'value-doubled-in-join': 'mapping',
  'cell-error': 'either',
  'cell-not-computed': 'data',
  'cell-invalid': 'data',
  'cell-digits-lost': 'data',
  'expression-failed': 'mapping',
  'expression-too-costly': 'mapping',
  'account-damaged': 'data',
  'account-repaired': 'none',
  'account-unresolved': 'mapping',
  'subject-of-another': 'either',
  'resource-deleted': 'either',
  'reference-shared': 'person',
  'key-damaged': 'data',
  'zone-unknown': 'mapping',
  'value-missing': 'either',
  'value-not-a-number': 'either',
  'value-with-comparator': 'mapping',
  'bound-not-a-number': 'either',
  'bounds-crossed': 'either',
  'value-repeated': 'either',
  'value-part-unread': 'mapping',
  'value-form-unread': 'mapping',
  'code-unread': 'mapping',
  'sub-id-unread': 'mapping',
  'unit-unread': 'mapping',
  'range-unread': 'mapping',
  'flag-unread': 'either',
  'status-unread': 'mapping',
  'status-contradictory': 'either',
  'absent-reason-unread': 'either',
  'components-unread': 'mapping',
  'modifier-unread': 'mapping',
  'value-not-feet-and-inches': 'data',
  'value-in-scientific-notation': 'data',
  'value-out-of-range': 'either',
  'unit-unknown': 'mapping',
  'unit-mismatch': 'either',
  'code-missing': 'data',
  'code-damaged': 'data',
  'check-digit-wrong': 'data',
  'code-unknown': 'mapping',
  'systolic-not-above-diastolic': 'either',
  'date-in-future': 'either',
  'date-before-birth': 'data',
  'status-missing': 'either',
  'npi-missing': 'either',
  'npi-invalid': 'data',
  'name-missing': 'data',
  'type-missing': 'either',
  'account-unknown': 'mapping',
  'registration-incomplete': 'data',
  'registration-date-invalid': 'either',
  'registration-field-not-scalar': 'mapping',
  'registration-value-not-in-table': 'mapping',
  'registration-value-not-extracted': 'mapping',
  'registration-value-not-in-join': 'either',
  'registration-value-doubled-in-join': 'mapping',
  'registration-expression-failed': 'mapping',
  'registration-expression-too-costly': 'mapping',
  'registration-refused': 'gateway',
  'registration-fails': 'gateway',
  'answers-missing': 'data',
  'answer-missing': 'either',
  'answer-not-offered': 'either',
  'answer-not-clear': 'mapping',
  'page-repeated': 'gateway',
  'user-token-refused': 'gateway',
  'disclosure-unknown': 'either',
  'flag-not-true-or-false': 'either',
  'authorization-badly-named': 'either',
  'request-type-unknown': 'either',
  'request-types-unreadable': 'gateway',
  'awaiting-authorization': 'document',
  'authorization-unusable': 'document',
  'authorization-refused': 'gateway',
  'withdrawal-refused': 'gateway',
  refused: 'gateway',
  'too-large': 'gateway',
  'listed-as-error': 'gateway',
  'not-echoed': 'gateway',
  'in-doubt': 'doubt',
  held: 'doubt',
  'account-stale': 'doubt',
  'perhaps-sent': 'doubt',
  'waits-for-older': 'doubt',
  'mark-refused': 'next-run',
  'mark-waits': 'doubt',
  'replaced-not-deleted': 'next-run',
  'replacement-not-listed': 'next-run',
  'care-team-kept': 'none',
  'care-team-outdated': 'none',
  outdated: 'none',
  'name-changed': 'none',
  withdrawn: 'void',
}

/** Remedy by reason code. A record in doubt found not stored can simply be sent. A code of another version is checked from both sides. */
export function remedyFor({ code, outcome }: Pick<Reason, 'code' | 'outcome'>): Remedy {
  const remedy = REMEDIES[code] ?? 'either'
  return remedy === 'doubt' && outcome === 'rejected' ? 'send-again' : remedy
}
