/** What stands in cases for what a sample says of a person. */
import { DateTime } from 'luxon'
import type { DateForms } from './find-dates.ts'
import type { Draft } from './write-draft.ts'

const FIRST_NAMES = ['Ann', 'Ben', 'Cora']
const ALWAYS: Readonly<Record<string, string>> = {
  lastName: 'Reed',
  postalCode: '01001',
  // The NPI that the standard itself works out as its example (ISO prefix 80840).
  npi: '1234567893',
  providerName: 'Dr. Lee',
  providerPhone: '555-555-0100',
}

/**
 * The text for a column or path that holds no measurement and no code.
 * @param number of the case, from 1
 */
export function madeUp({ persons, dates, genders }: Draft, path: string, number: number): string {
  const part = persons.get(path)
  const forms = dates.get(path)
  if (forms !== undefined) {
    const day =
      part === 'dateOfBirth' ? DateTime.utc(1980, 1, number) : DateTime.utc(2026, 2, 2 + number, 9, 30)
    return dateText(day, forms, number)
  }
  if (part === 'dateOfBirth') return '1980-01-01'
  if (part === 'firstName') return FIRST_NAMES[(number - 1) % FIRST_NAMES.length] ?? ''
  if (part === 'gender') return genders[(number - 1) % genders.length] ?? ''
  return ALWAYS[part ?? ''] ?? `P-${number}`
}

/** As the column writes them; where it mixes forms, they take turns. */
function dateText(day: DateTime, { forms, timed, offset }: DateForms, number: number): string {
  const form = forms[(number - 1) % forms.length] ?? 'ISO'
  switch (form) {
    case 'EPOCH_MS':
      return String(day.toMillis())
    case 'EXCEL':
      return String(Math.floor(day.diff(DateTime.utc(1899, 12, 30), 'days').days) + (timed ? 0.5 : 0))
    case 'HL7':
      return day.toFormat(`yyyyMMdd${timed ? 'HHmm' : ''}`) + (offset ? '+0000' : '')
    case 'ISO':
      return day.toFormat(`yyyy-MM-dd${timed ? "'T'HH:mm:ss" : ''}`) + (offset ? 'Z' : '')
    default:
      return day.toFormat(form, { locale: 'en-US' })
  }
}
