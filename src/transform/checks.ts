/**
 * Checks of what a row says (docs/mapping.md, "Checks"). A check that finds something rejects the record, or lets it go on
 * with a warning, or is not made at all, as the mapping has it.
 */
import { z } from 'zod'
import type { Issue, RecordKind, RejectedRecord, Warning } from '../model/record.ts'

const Effect = z.enum(['reject', 'warn', 'off'], 'is one of: reject, warn, off').default('reject')

/** `row.checks` of a mapping. */
export const Checks = z.strictObject({
  'plausible-range': Effect,
  'systolic-above-diastolic': Effect,
  'future-date': Effect,
  'before-birth': Effect,
  'loinc-check-digit': Effect,
  'snomed-check-digit': Effect,
  'npi-check-digit': Effect,
  'damaged-code': Effect,
  'damaged-key': Effect,
})
export type Checks = z.infer<typeof Checks>
export type Check = keyof Checks

const NONE: readonly Warning[] = []

/** Decides what follows from a check's finding, and keeps the warnings of the row that is being mapped. */
export class Checker {
  readonly effects: Checks
  #warnings: Warning[] = []

  constructor(effects: Checks = Checks.parse({})) {
    this.effects = effects
  }

  /** Forgets the row before. */
  begin(): void {
    if (this.#warnings.length > 0) this.#warnings = []
  }

  /**
   * @param kind null, and `rule` null: what was found concerns the row
   * @returns the issue where it is to be rejected; undefined where it goes on
   */
  found(check: Check, kind: RecordKind | null, rule: string | null, issue: Issue): Issue | undefined {
    const effect = this.effects[check]
    if (effect === 'reject') return issue
    if (effect === 'warn') this.#warnings.push({ kind, rule, issue })
    return undefined
  }

  /** The warnings of the row, but for those of records that were rejected for something else. */
  warnings(rejected: readonly RejectedRecord[]): readonly Warning[] {
    if (this.#warnings.length === 0) return NONE
    const gone = new Set<string | null>(rejected.map(({ rule }) => rule))
    return this.#warnings.filter(({ rule }) => !gone.has(rule))
  }
}
