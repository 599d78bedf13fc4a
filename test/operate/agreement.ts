/** The law of the faces: exit code, notices, the list of needs, `runs --failed`, `show` and `doctor` say one thing of a night. */
import { expect } from 'vitest'
import { z } from 'zod'
import { runIds } from '../cli/nights.ts'
import type { Listed, Scene } from './scene.ts'

/** Exit codes that are no failure of the job: all is well, another process has the job, a person stopped it, a killed process. */
const NO_FAILURE: ReadonlySet<number | null> = new Set([0, 5, 130, null])

/** Needs that are about runs of the table of runs. */
const OF_RUNS: ReadonlySet<string> = new Set([
  'run-unfinished',
  'backfill-unfinished',
  'run-failed',
  'export-failed',
  'export-unarchived',
  'left-rejected',
  'left-in-doubt',
])
/** Needs that the doctor names in checks of their own. */
const OF_MACHINE: ReadonlySet<string> = new Set(['ledger', 'disk'])

const Findings = z.object({
  findings: z.array(z.looseObject({ check: z.string(), level: z.string(), found: z.string() })),
})

/** @param exit of the night. @param listed in the morning */
export async function expectAgreement(
  scene: Scene,
  exit: number | null,
  listed: readonly Listed[],
): Promise<void> {
  const failures = scene.hook.received().filter(({ data }) => data.failure)
  if (!NO_FAILURE.has(exit)) {
    // What failed is listed, and somebody was notified.
    expect(listed, 'the list').not.toEqual([])
    const told = failures.map(({ data }) => data.details['exit'] ?? exit)
    expect(told, 'the notices').toContain(exit)
  }
  // Nobody is notified of a failure that nobody can find.
  if (exit === 0 && listed.length === 0) expect(failures, 'the notices').toEqual([])

  const runs = listed.flatMap(({ cause, runs }) => (OF_RUNS.has(cause) ? runs : []))
  const table = await scene.look('runs', '--failed', '--json')
  if (table.code === 0) expect(runIds(table).toSorted(), 'runs --failed').toEqual(runs.toSorted())
  else expect(listed.map(({ cause }) => cause)).not.toContain('left-rejected')
  for (const run of new Set(runs)) {
    const shown = await scene.look('show', run)
    expect(shown.out, `show ${run}`).toMatch(/^Next$/m)
  }

  const doctor = Findings.parse(JSON.parse((await scene.look('doctor', '--json')).out)).findings
  const named = doctor.filter(({ check, level }) => check === 'needs' && level !== 'ok')
  const wanted = listed.filter(({ cause }) => !OF_MACHINE.has(cause)).map(({ what }) => what)
  expect(
    named.map(({ found }) => found),
    'doctor',
  ).toEqual(wanted)
  const isOfMachine = listed.some(({ cause }) => OF_MACHINE.has(cause))
  if (isOfMachine)
    expect(
      doctor.some(({ level }) => level === 'problem'),
      'doctor',
    ).toBe(true)
}
