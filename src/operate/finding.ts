/** Findings of `waybill doctor`: a line for each check. Pure. */
import { EXIT, type ExitCode } from '../model/errors.ts'

export type Level = 'ok' | 'warning' | 'problem'

const CHECKS = [
  'settings',
  'home',
  'ledger',
  'needs',
  'key',
  'clock',
  'gateway',
  'token',
  'job',
  'mapping',
] as const
export type Check = (typeof CHECKS)[number]

export interface CheckFinding {
  readonly check: Check
  readonly level: Level
  /** Job, mapping or setting of the check. */
  readonly subject?: string
  /** Text of the finding. No health data, no secret. */
  readonly found: string
  /** Problems in a file with their places, a line each. */
  readonly details?: readonly string[]
  readonly remedy?: string
}

/** @param remedy undefined if nothing is to be done */
export const finding = (
  check: Check,
  level: Level,
  found: string,
  remedy?: string,
  more: Pick<CheckFinding, 'subject' | 'details'> = {},
): CheckFinding => ({ check, level, ...more, found, ...(remedy === undefined ? {} : { remedy }) })

/** Exit code: 3 if all problems are at the gateway or its credentials; 2 for any other problem. */
export function exitOf(findings: readonly CheckFinding[]): ExitCode {
  const problems = findings.filter(({ level }) => level === 'problem')
  if (problems.length === 0) return EXIT.ok
  const atGateway = problems.every(({ check }) => check === 'gateway' || check === 'token')
  return atGateway ? EXIT.gatewayUnavailable : EXIT.wrongUse
}
