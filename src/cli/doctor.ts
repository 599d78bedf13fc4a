/** `waybill doctor`: looks the installation over and says what to do about each finding. Changes nothing. */
import { type CheckFinding, exitOf } from '../operate/finding.ts'
import { lookOver } from '../runs/look-over.ts'
import type { Line, Tone } from '../shown-text.ts'
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

const TONES = { ok: 'good', warning: 'attention', problem: 'bad' } as const satisfies Record<
  CheckFinding['level'],
  Tone
>

function doctorText(findings: readonly CheckFinding[]): Line[] {
  const lines = findings.flatMap(({ check, level, subject, found, details = [], remedy }): Line[] => [
    {
      text: `${level.padEnd(8)} ${check.padEnd(9)} ${subject === undefined ? '' : `${subject}: `}${found}`,
      tone: TONES[level],
    },
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
