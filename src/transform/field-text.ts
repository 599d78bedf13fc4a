/** What a compiled field gives of a row: a text, or why there is none. */
import type { Scope } from './scope.ts'

export const FIELD_MESSAGES = {
  'field-not-scalar': 'there is an object or a list where a single value is meant',
  'value-not-in-table': 'the value is not in the table',
  'value-not-extracted': 'the expression of `extract` does not fit the value',
  'value-not-in-join': 'the join has no row of this key',
  'value-doubled-in-join': 'several rows of the join have this key',
  'expression-failed': 'the expression cannot be evaluated on this row',
  'expression-too-costly': 'the expression does not end on this row, or makes too much of it',
} as const

/** Text of a field; '' where it is empty. */
export type FieldText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: keyof typeof FIELD_MESSAGES }

export interface CompiledField {
  /** Name of the column or path, for messages (of several, joined by commas); undefined for a constant. */
  readonly from: string | undefined
  readonly depth: number
  readonly read: (scope: Scope) => FieldText
}

export const EMPTY: FieldText = { ok: true, text: '' }
