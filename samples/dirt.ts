/**
 * What is wrong with the samples, and how often: one entry a fault, at fixed places. A fault hits the participant (or the
 * message) whose ordinal, counted from 1, leaves the remainder `at` when divided by `every`; no two faults hit the same one.
 */

/**
 * What a fault costs. `nothing`: the row is read all the same. `record`: one record of the row cannot be made.
 * `row`: the row cannot be mapped. `account`: the person cannot be registered. `repeat`: the row stands in the file twice.
 */
export type Cost = 'nothing' | 'record' | 'row' | 'account' | 'repeat'

export interface Fault {
  readonly every: number
  readonly at: number
  readonly cost: Cost
  readonly what: string
}

export const ACME_FAULTS = {
  'systolic-implausible': { every: 500, at: 23, cost: 'record', what: '`sbp` is 1200: a digit too many' },
  'height-implausible': {
    every: 1000,
    at: 61,
    cost: 'record',
    what: '`height_in` is 6: feet in the column of inches',
  },
  'hdl-with-comparator': {
    every: 1000,
    at: 107,
    cost: 'record',
    what: '`hdl` is `<5`: below what the analyser can measure',
  },
  'text-for-number': { every: 1000, at: 149, cost: 'record', what: '`waist_in` is `see note`' },
  'npi-check-digit': { every: 1000, at: 191, cost: 'record', what: 'the last digit of `pcp_npi` is wrong' },
  'row-short': { every: 1000, at: 233, cost: 'row', what: 'the last five cells are missing' },
  'row-long': {
    every: 1000,
    at: 277,
    cost: 'row',
    what: 'a comma in `site` without quotes: one cell too many',
  },
  'participant-missing': { every: 1000, at: 311, cost: 'row', what: '`participant_id` is empty' },
  'date-impossible': { every: 1000, at: 353, cost: 'row', what: '`screened_at` is `13/45/2026 09:00`' },
  'birth-date-missing': {
    every: 1000,
    at: 397,
    cost: 'account',
    what: '`dob` is empty: no registration without it',
  },
  'newline-in-notes': {
    every: 1000,
    at: 419,
    cost: 'nothing',
    what: 'a line break inside the quotes of `notes`',
  },
  'row-repeated': {
    every: 1000,
    at: 443,
    cost: 'repeat',
    what: 'the same row again, 100 participants later',
  },
  'row-corrected': {
    every: 1000,
    at: 487,
    cost: 'repeat',
    what: 'the row again, 100 participants later, with `sbp` 4 higher',
  },
} as const satisfies Record<string, Fault>

export const NORTHLAB_FAULTS = {
  'hba1c-in-mass-unit': {
    every: 100,
    at: 11,
    cost: 'record',
    what: 'HbA1c in `mg/dL`, which it cannot be in',
  },
  'result-with-comparator': { every: 100, at: 29, cost: 'record', what: 'hs-CRP is `<5`' },
  'unit-unknown': { every: 250, at: 37, cost: 'record', what: 'creatinine in `furlong`' },
  'json-broken': { every: 250, at: 64, cost: 'row', what: 'the line ends in the middle of the document' },
  'code-unknown': {
    every: 250,
    at: 83,
    cost: 'record',
    what: 'a result under `NL-9999`, which no table knows',
  },
} as const satisfies Record<string, Fault>

export type AcmeFault = keyof typeof ACME_FAULTS
export type NorthlabFault = keyof typeof NORTHLAB_FAULTS

/** Finds the fault of an ordinal; none at all where the samples are to be clean. */
export function faultFinder<Name extends string>(
  faults: Readonly<Record<Name, Fault>>,
  clean: boolean,
): (ordinal: number) => Name | undefined {
  const names = clean ? [] : (Object.keys(faults) as Name[])
  return (ordinal) => names.find((name) => ordinal % faults[name].every === faults[name].at)
}

/** Counts by name, beginning at 0. */
export class Tally<Name extends string> {
  readonly counts: Record<Name, number>

  constructor(names: readonly Name[]) {
    this.counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
  }

  add(name: Name, times = 1): void {
    this.counts[name] += times
  }
}
