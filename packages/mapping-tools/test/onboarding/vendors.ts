/** Exports of vendors that do not exist, from a seed, with what each column truly is. */
import { drawFrom } from '../../../../test/load/simulated-flow.ts'
import { CONDITIONS, MEASURED, PERSON_TRAPS, PERSONS, PROVIDERS, TRAPS } from './spellings.ts'

/** A vendor's export; a unit `from` another column is told row by row. */
export interface Vendor {
  readonly name: string
  readonly csv: string
  /** Columns of measurements and conditions. */
  readonly truth: ReadonlyMap<
    string,
    { readonly key: string; readonly unit: string | { readonly from: string } }
  >
  /** Columns of person, visit and provider, with their meaning. */
  readonly persons: ReadonlyMap<string, string>
  /** The column of NPIs, and whether these are primary care physicians. */
  readonly provider: { readonly npi: string; readonly primary: boolean }
}

const ROWS = 60
const UNITS = ['mg/dL', 'mmol/L'] as const
/** 180.16 g/mol: mg/dL of a mmol/L of glucose. */
const GLUCOSE = 18.016
/** The standard's own example (ISO prefix 80840), and others with a valid check digit. */
const NPIS = ['1234567893', '1245319599', '1003000126', '1679576722']

const two = (number: number): string => String(number).padStart(2, '0')

/** Cells of a column of the person. */
const PERSONAL: Readonly<Record<string, (row: number, hand: number) => string>> = {
  reference: (row, hand) => `M${hand}-${row}`,
  firstName: (row) => `Given${row}`,
  lastName: (row) => `Family${row}`,
  dateOfBirth: (row) => `${1950 + (row % 50)}-${two(1 + (row % 12))}-${two(1 + ((row * 7) % 28))}`,
  gender: (row) => (row % 2 === 0 ? 'F' : 'M'),
  postalCode: (row) => String(10_001 + row * 37),
  observedAt: (row) => `2026-02-${two(1 + (row % 27))}`,
}

/** @returns vendors that together use every header once or more */
export function inventVendors(count: number, seed: number): Vendor[] {
  const chance = drawFrom(seed)
  const dealt = <Item>(items: readonly Item[], hand: number): Item[] =>
    items.filter((_, at) => at % count === hand)
  return Array.from({ length: count }, (_, hand): Vendor => {
    const columns: { header: string; cell: (row: number) => string }[] = []
    const persons = new Map<string, string>()
    for (const [at, [part, headers]] of Object.entries(PERSONS).entries()) {
      const cell = PERSONAL[part] ?? (() => '')
      const header = headers[hand % headers.length] ?? ''
      const traps = PERSON_TRAPS[part] ?? []
      // One vendor in three has the trap alone, one both, the trap first.
      const isTrapped = (hand + at) % 3 < 2 && traps.length > 0
      const trap = traps[Math.floor(hand / 3) % traps.length] ?? ''
      if (isTrapped) columns.push({ header: trap, cell: (row) => cell(row + 1, hand) })
      if (isTrapped && (hand + at) % 3 === 0 && hand >= headers.length) continue
      columns.push({ header, cell: (row) => cell(row, hand) })
      persons.set(header, part)
    }
    const [npi = '', name = '', primary = false] = PROVIDERS[hand % PROVIDERS.length] ?? []
    columns.push({ header: npi, cell: (row) => NPIS[row % NPIS.length] ?? '' })
    columns.push({ header: name, cell: (row) => `Dr. Number${row % NPIS.length}` })
    persons.set(npi, 'npi').set(name, 'providerName')
    const truth = new Map<string, { key: string; unit: string | { from: string } }>()
    for (const [header, key, unit, low, high, decimals] of [
      ...dealt(MEASURED, hand),
      ...dealt(TRAPS, hand),
    ]) {
      columns.push({ header, cell: () => (low + chance() * (high - low)).toFixed(decimals) })
      if (key !== '') truth.set(header, { key, unit })
    }
    for (const [header, key] of dealt(CONDITIONS, hand)) {
      columns.push({ header, cell: () => (chance() < 0.3 ? 'Y' : 'N') })
      if (key !== '') truth.set(header, { key, unit: '' })
    }
    if (hand % 4 === 0) {
      // Half the rows in one unit, half in the other.
      columns.push({
        header: 'random_glucose',
        cell: (row) => (row % 2 === 0 ? '95' : (95 / GLUCOSE).toFixed(1)),
      })
      columns.push({ header: 'random_glucose_units', cell: (row) => UNITS[row % 2] ?? '' })
      columns.push({ header: 'tsh', cell: () => (1 + chance()).toFixed(2) })
      columns.push({ header: 'tsh_uom', cell: (row) => (row % 12 === 0 ? 'mIU/L' : 'uIU/mL') })
      truth.set('random_glucose', { key: 'glucose', unit: { from: 'random_glucose_units' } })
      truth.set('tsh', { key: 'tsh', unit: { from: 'tsh_uom' } })
    }
    const lines = Array.from({ length: ROWS }, (_, row) => columns.map(({ cell }) => cell(row)))
    const plain = (header: string): string => header.replaceAll(',', ';')
    return {
      name: `vendor ${hand + 1}`,
      csv: [columns.map(({ header }) => plain(header)), ...lines].map((cells) => cells.join(',')).join('\n'),
      truth: new Map([...truth].map(([header, told]) => [plain(header), told])),
      persons,
      provider: { npi, primary },
    }
  })
}
