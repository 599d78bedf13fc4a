/** How the faults of dirt.ts look in Acme's export. */
import {
  ACME_COLUMNS,
  type AcmeRule,
  type Cells,
  type Column,
  DIAGNOSED,
  DIAGNOSES,
  MEASURED,
  MEASUREMENTS,
} from './acme-columns.ts'
import type { AcmeFault } from './dirt.ts'

/** The column that a fault of cost `record` spoils. */
const SPOILED: Partial<Record<AcmeFault, Column>> = {
  'systolic-implausible': 'sbp',
  'height-implausible': 'height_in',
  'hdl-with-comparator': 'hdl',
  'text-for-number': 'waist_in',
  'npi-check-digit': 'pcp_npi',
}

/** The rules that make a record which can be sent out of these cells. */
export function usableRules(cells: Cells, fault: AcmeFault | undefined): AcmeRule[] {
  const spoiled = fault === undefined ? undefined : SPOILED[fault]
  const rules: AcmeRule[] = []
  for (const column of MEASURED) {
    if (cells[column] === '' || cells[column] === 'ND' || column === spoiled) continue
    rules.push(column === 'glucose' && cells.fasting === 'Y' ? 'glucose-fasting' : MEASUREMENTS[column])
  }
  for (const column of DIAGNOSED) if (cells[column] === 'Y') rules.push(DIAGNOSES[column])
  if (cells.pcp_npi !== '' && spoiled !== 'pcp_npi') rules.push('pcp')
  return rules
}

/** The faults within cells; those of the line itself are made by `csvLine`. */
export function spoil(cells: Cells, fault: AcmeFault): void {
  switch (fault) {
    case 'systolic-implausible':
      cells.sbp = '1200'
      break
    case 'height-implausible':
      cells.height_in = '6'
      break
    case 'hdl-with-comparator':
      cells.hdl = '<5'
      break
    case 'text-for-number':
      cells.waist_in = 'see note'
      break
    case 'npi-check-digit':
      cells.pcp_npi = `${cells.pcp_npi.slice(0, 9)}${(Number(cells.pcp_npi.at(-1)) + 1) % 10}`
      break
    case 'participant-missing':
      cells.participant_id = ''
      break
    case 'date-impossible':
      cells.screened_at = '13/45/2026 09:00'
      break
    case 'birth-date-missing':
      cells.dob = ''
      break
    case 'newline-in-notes':
      cells.notes = 'felt dizzy after the draw\nrested, then left'
      break
  }
}

/** The row as a line of CSV, with the fault of the line, if it has one. */
export function csvLine(cells: Cells, fault: AcmeFault | undefined): string {
  const texts = ACME_COLUMNS.map((column) => csvCell(cells[column]))
  if (fault === 'row-short') texts.length -= 5
  if (fault === 'row-long') texts[ACME_COLUMNS.indexOf('site')] = `${cells.site},2nd floor`
  return `${texts.join(',')}\n`
}

/** RFC 4180: quotes around what holds a comma, a quote or a line break. */
const csvCell = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
