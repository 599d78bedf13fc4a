/** Fires of a job by day, in the zone of the schedule: results of the last weeks, and the next. */
import { DateTime } from 'luxon'
import { readGatewayName } from '../definitions/jobs.ts'
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import { firesAfter, type Timetable } from '../schedule/fires.ts'
import { type Application, withLedgerIfAny } from './application.ts'
import type { ExplainedJob } from './expectations.ts'

/** Result of a fire. `open`: about to start, under way, interrupted, or to be tried again. `missed`: no run was begun. */
export type FireResult = 'well' | 'left' | 'failed' | 'open' | 'missed' | 'next'

interface DatedFire {
  /** Day in the zone: `2026-03-02`. */
  readonly date: string
  readonly due: number
  readonly result: FireResult
}

export interface FireCalendar {
  /** Days in the zone, both included. */
  readonly from: string
  readonly to: string
  readonly fires: readonly DatedFire[]
}

const DAYS_BEFORE = 27
const DAYS_AFTER = 14
/** Fires to read of a job: each hour of four weeks. */
const FIRES = 24 * (DAYS_BEFORE + 1)

/** @returns calendars by job; jobs without a schedule and without fires have none */
export const readFireCalendars = (
  application: Application,
  jobs: readonly ExplainedJob[],
): Promise<ReadonlyMap<string, FireCalendar>> =>
  withLedgerIfAny(application, async (ledger) => {
    const found = new Map<string, FireCalendar>()
    for (const job of jobs) {
      const calendar = await calendarOf(application, ledger, job)
      if (calendar.fires.length > 0) found.set(job.job, calendar)
    }
    return found
  })

async function calendarOf(
  { settings, now }: Application,
  ledger: Ledger | undefined,
  { job, schedule, zone, last }: ExplainedJob,
): Promise<FireCalendar> {
  const today = DateTime.fromMillis(now(), { zone }).startOf('day')
  const [from, to] = [today.minus({ days: DAYS_BEFORE }), today.plus({ days: DAYS_AFTER })]
  const jobId = await ledger?.jobs.known(job, await readGatewayName(settings, job))
  const known = jobId === undefined ? [] : ((await ledger?.fires.latest(jobId, FIRES)) ?? [])
  const dues = new Set(known.map(({ due }) => due))
  // Fires that no schedule has seen are not in the ledger.
  const past = [...known, ...last.filter(({ due }) => !dues.has(due))].map((fire) => ({
    due: fire.due,
    result: resultOf(fire),
  }))
  const until = to.endOf('day').toMillis()
  const next = schedule === undefined ? [] : upcoming(schedule, now(), until)
  const fires = [...past, ...next]
    .filter(({ due }) => due >= from.toMillis())
    .sort((a, b) => a.due - b.due)
    .map((fire) => ({ date: dayIn(fire.due, zone), ...fire }))
  return { from: from.toFormat(DAY), to: to.toFormat(DAY), fires }
}

function upcoming(schedule: Timetable, now: number, until: number): { due: number; result: 'next' }[] {
  const found: { due: number; result: 'next' }[] = []
  for (const due of firesAfter(schedule, now)) {
    if (due > until || found.length === FIRES) break
    found.push({ due, result: 'next' })
  }
  return found
}

const DAY = 'yyyy-MM-dd'
const dayIn = (at: number, zone: string): string => DateTime.fromMillis(at, { zone }).toFormat(DAY)

function resultOf({ state, exit, error }: FireRecord): FireResult {
  if (state === 'skipped' || state === 'missed') return 'missed'
  if (state !== 'ended') return 'open'
  if (exit === EXIT.ok || error === 'exports-none') return 'well'
  return exit === EXIT.recordsLeftBehind ? 'left' : 'failed'
}
