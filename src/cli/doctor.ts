/** `waybill doctor`: looks the installation over and says what to do about each finding. Changes nothing. */
import { type CheckFinding, exitOf } from '../operate/finding.ts'
import { lookOver } from '../runs/look-over.ts'
import type { Action } from './context.ts'
import { countCases } from './mapping-test.ts'

export interface DoctorOptions {
  readonly sources?: true
  readonly json?: true
}

export const doctor: Action<DoctorOptions> = async (context, options) => {
  const { settings, settingsFindings } = context
  const findings = await lookOver(context, {
    settingsFindings,
    servers: options.sources === true,
    countCases: (name) => countCases(settings, name),
  })
  const exit = exitOf(findings)
  context.out(options.json ? JSON.stringify({ exit, findings }) : doctorText(findings))
  return exit
}

function doctorText(findings: readonly CheckFinding[]): string[] {
  const lines = findings.flatMap(({ check, level, subject, found, details = [], remedy }) => [
    `${level.padEnd(8)} ${check.padEnd(9)} ${subject === undefined ? '' : `${subject}: `}${found}`,
    ...details.map((detail) => `                   ${detail}`),
    ...(remedy === undefined || level === 'ok' ? [] : [`                   What to do: ${remedy}`]),
  ])
  const count = (wanted: CheckFinding['level']): number =>
    findings.filter(({ level }) => level === wanted).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const told = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
  const end =
    problems + warnings === 0 ? 'All is well.' : `${told(problems, 'problem')}, ${told(warnings, 'warning')}.`
  return [...lines, '', end]
}
