/** What a look at the installation has found: one line for each thing looked at. Pure. */
import { EXIT, type ExitCode } from '../model/errors.ts'

export type Level = 'ok' | 'warning' | 'problem'

export const CHECKS = [
  'settings',
  'home',
  'ledger',
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
  /** Which of several: a job, a mapping, a setting. */
  readonly subject?: string
  /** What was found. No health data, no secret. */
  readonly found: string
  /** Each on a line of its own: what is wrong in a file, with its place. */
  readonly details?: readonly string[]
  /** What to do about it. */
  readonly remedy?: string
}

/** @param remedy undefined: nothing is to be done */
export const finding = (
  check: Check,
  level: Level,
  found: string,
  remedy?: string,
  more: Pick<CheckFinding, 'subject' | 'details'> = {},
): CheckFinding => ({ check, level, ...more, found, ...(remedy === undefined ? {} : { remedy }) })

/** 2 where something must be put right here; 3 where that is the gateway, or what it is entered with, alone. */
export function exitOf(findings: readonly CheckFinding[]): ExitCode {
  const problems = findings.filter(({ level }) => level === 'problem')
  if (problems.length === 0) return EXIT.ok
  const atGateway = problems.every(({ check }) => check === 'gateway' || check === 'token')
  return atGateway ? EXIT.gatewayUnavailable : EXIT.wrongUse
}
