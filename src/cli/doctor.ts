/** `waybill doctor`: looks the installation over and says what to do about each finding. Changes nothing. */
import { type CheckFinding, exitOf } from '../operate/finding.ts'
import { lookOver } from '../runs/look-over.ts'
import type { Line, Tone } from '../shown-text.ts'
import type { Action } from './context.ts'
import { countCases } from './mapping-test.ts'
import { folded } from './plain-table.ts'

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
  context.out(options.json ? JSON.stringify({ exit, findings }) : doctorText(findings, context.columns))
  return exit
}

const TONES = { ok: 'good', warning: 'attention', problem: 'bad' } as const satisfies Record<
  CheckFinding['level'],
  Tone
>

/** Blanks before what stands below a finding. */
const HANG = 19

function doctorText(findings: readonly CheckFinding[], columns: number | undefined): Line[] {
  const lines = findings.flatMap(({ check, level, subject, found, details = [], remedy }): Line[] => {
    const line = `${level.padEnd(8)} ${check.padEnd(9)} ${subject === undefined ? '' : `${subject}: `}${found}`
    const below = remedy === undefined || level === 'ok' ? details : [...details, `What to do: ${remedy}`]
    return [
      ...folded([line], columns, HANG).map((text) => ({ text, tone: TONES[level] })),
      ...folded(
        below.map((text) => ' '.repeat(HANG) + text),
        columns,
      ),
    ]
  })
  const count = (wanted: CheckFinding['level']): number =>
    findings.filter(({ level }) => level === wanted).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const told = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
  const end =
    problems + warnings === 0 ? 'All is well.' : `${told(problems, 'problem')}, ${told(warnings, 'warning')}.`
  return [...lines, '', end]
}
