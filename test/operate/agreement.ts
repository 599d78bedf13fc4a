/** The law of the faces: exit code, notices, the list of needs, `runs --failed`, `show` and `doctor` say one thing of a night. */
import { expect } from 'vitest'
import { z } from 'zod'
import { runIds } from '../cli/nights.ts'
import type { Listed, Scene } from './scene.ts'

/** Exit codes that are no failure of the job: all is well, another process has the job, a person stopped it, a killed process. */
const NO_FAILURE: ReadonlySet<number | null> = new Set([0, 5, 130, null])

/** Needs that name a run that is well in itself: `runs --failed` leaves it out. */
const NO_FAILED_RUN: ReadonlySet<string> = new Set(['owed', 'job-late'])
/** A need that the doctor names in a check of its own. */
const OF_LEDGER = 'ledger'

/** Signatures of a notice hold for minutes, and nights are played in days: it is read without them. */
const Posted = z.object({
  data: z.looseObject({ failure: z.boolean(), details: z.record(z.string(), z.unknown()) }),
})

const Findings = z.object({
  findings: z.array(z.looseObject({ check: z.string(), level: z.string(), found: z.string() })),
})

/** @param exit of the night. @param listed in the morning */
export async function expectAgreement(
  scene: Scene,
  exit: number | null,
  listed: readonly Listed[],
): Promise<void> {
  const posted = scene.hook.seen.map(({ body }) => Posted.parse(JSON.parse(body)))
  const failures = posted.filter(({ data }) => data.failure)
  if (!NO_FAILURE.has(exit)) {
    // What failed is listed, and somebody was notified.
    expect(listed, 'the list').not.toEqual([])
    const told = failures.map(({ data }) => data.details['exit'] ?? exit)
    expect(told, 'the notices').toContain(exit)
  }
  // Nobody is notified of a failure that nobody can find.
  if (exit === 0 && listed.length === 0) expect(failures, 'the notices').toEqual([])

  const runs = listed.flatMap(({ cause, runs }) => (NO_FAILED_RUN.has(cause) ? [] : runs))
  const table = await scene.look('runs', '--failed', '--json')
  if (table.code === 0) expect(runIds(table).toSorted(), 'runs --failed').toEqual(runs.toSorted())
  else expect(listed.map(({ cause }) => cause)).not.toContain('left-rejected')
  for (const run of new Set(runs)) {
    const shown = await scene.look('show', run)
    expect(shown.out, `show ${run}`).toMatch(/^Next$/m)
  }

  const doctor = Findings.parse(JSON.parse((await scene.look('doctor', '--json')).out)).findings
  const named = doctor.filter(({ check, level }) => check === 'needs' && level !== 'ok')
  const wanted = listed.filter(({ cause }) => cause !== OF_LEDGER).map(({ what }) => what)
  expect(
    named.map(({ found }) => found),
    'doctor',
  ).toEqual(wanted)
  const isWell = doctor.some(({ check, level }) => check === 'needs' && level === 'ok')
  expect(isWell && listed.length > 0, 'doctor finds nothing where needs lists something').toBe(false)
  if (listed.some(({ cause }) => cause === OF_LEDGER))
    expect(doctor.filter(({ check, level }) => check === 'ledger' && level === 'problem')).not.toEqual([])
}
