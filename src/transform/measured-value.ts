/** The value of a measurement as a number: its form, and what becomes of bounds (`<5`). */
import { parseFeetAndInches } from './feet-and-inches.ts'
import { compileNumber, type NumberFormat, type NumberReader, type NumberText } from './number-text.ts'
import { LEFT_OUT } from './rule.ts'

/** How a rule says that its value is written. */
export interface ValueForm {
  readonly number?: NumberFormat | undefined
  /** Of bounds: rejected, left out, or sent with the limit as value and the original in `source.notes`. */
  readonly comparators?: Comparators | undefined
  readonly form?: 'feet-and-inches' | undefined
}
export type Comparators = 'reject' | 'skip' | 'limit'

export type ValueFault = Extract<NumberText, { ok: false }>['code'] | 'value-not-feet-and-inches'

export const VALUE_MESSAGES: Readonly<Record<ValueFault, string>> = {
  'value-not-a-number': 'the value is no number',
  'value-with-comparator': 'the value is a bound (below or above detection), not a number',
  'value-in-scientific-notation':
    'the value is in scientific notation, as a spreadsheet writes what it has damaged',
  'value-not-feet-and-inches': 'the value is not in feet and inches',
}

export type MeasuredValue =
  /** `note` says what stood in the export where the number alone does not. */
  | { readonly ok: true; readonly text: string; readonly note?: string }
  | { readonly ok: false; readonly code: ValueFault }

/** `<5`, `>= 200`; HL7 and FHIR write no other comparators (HL7 v2.5.1, 2.A.66; FHIR R4, quantity-comparator). */
const BOUND = /^(?:<=|>=|[<>≤≥])\s*(.*)$/

/** @param inRow what the `row` block says of all values */
export function compileValue(
  rule: ValueForm,
  inRow: ValueForm,
): (raw: string) => MeasuredValue | typeof LEFT_OUT {
  if (rule.form !== undefined) return parseFeetAndInches
  const read = compileNumber(rule.number ?? inRow.number)
  const comparators = rule.comparators ?? inRow.comparators ?? 'reject'
  return comparators === 'reject' ? read : (raw) => readBound(raw, read, comparators)
}

function readBound(
  raw: string,
  read: NumberReader,
  comparators: 'skip' | 'limit',
): ReturnType<ReturnType<typeof compileValue>> {
  const number = read(raw)
  if (number.ok || number.code !== 'value-with-comparator') return number
  const limit = read(BOUND.exec(raw)?.[1] ?? '')
  if (!limit.ok) return limit
  return comparators === 'skip' ? LEFT_OUT : { ok: true, text: limit.text, note: `reported as ${raw}` }
}
