/** Schedules and fires in a line: state, run, reason, in this order. */
import { expect, test } from 'vitest'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import { fireWords, scheduleWords } from '../../src/runs/explained-schedule.ts'

const DUE = Date.UTC(2026, 2, 2, 3)
const HOUR_MS = 3_600_000
const fire = (fields: Partial<FireRecord>): FireRecord => ({
  job_id: 1,
  due: DUE,
  state: 'due',
  made_up_by: null,
  owner: null,
  run_id: null,
  begun_at: null,
  ended_at: null,
  exit: null,
  error: null,
  reason: null,
  detail: null,
  retry_at: null,
  ...fields,
})
const LATE = { made_up_by: DUE, reason: 'not-scheduled' } as const

test.each<[Partial<FireRecord>, string]>([
  [{}, 'about to start'],
  [{ state: 'missed', reason: 'paused' }, 'the job was paused, will run late'],
  [
    { state: 'missed', reason: 'job-held', detail: 'here:1' },
    'the job was already running by here:1, will run late',
  ],
  [
    { state: 'missed', reason: 'job-invalid', detail: 'line 3' },
    'the job file or a mapping was wrong: line 3, will run late',
  ],
  [{ state: 'missed', reason: 'unheard-of' }, 'unheard-of, will run late'],
  [{ state: 'missed' }, 'will run late'],
  [{ state: 'running', run_id: 'r', begun_at: DUE + HOUR_MS }, 'started at 2026-03-02 04:00, run r'],
  [{ state: 'running' }, 'started at 2026-03-02 03:00'],
  [
    { state: 'running', run_id: 'r', ...LATE },
    'started at 2026-03-02 03:00, run r, late (no schedule was running)',
  ],
  [
    { state: 'interrupted', run_id: 'r', ...LATE },
    'run r, continues when the schedule starts, late (no schedule was running)',
  ],
  [
    { state: 'retrying', run_id: 'r', exit: 3, error: 'gateway-failing', retry_at: DUE + HOUR_MS },
    'gateway-failing (exit 3), run r, tried again at 2026-03-02 04:00',
  ],
  [
    { state: 'retrying', error: 'exports-none', exit: 1 },
    'found no exports, tried again at 2026-03-02 03:00',
  ],
  [{ state: 'skipped', reason: 'paused' }, 'the job was paused'],
  [
    { state: 'skipped', reason: 'paused', made_up_by: DUE + HOUR_MS },
    'the job was paused, covered by the fire of 2026-03-02 04:00',
  ],
  [{ state: 'ended', exit: 0, run_id: 'r' }, 'all accounted for, run r'],
  [{ state: 'ended', exit: 1, run_id: 'r' }, 'something was left behind (exit 1), run r'],
  [
    { state: 'ended', exit: 0, run_id: 'r', ...LATE },
    'all accounted for, run r, late (no schedule was running)',
  ],
  // Made up for by a later fire, it did not run late itself.
  [{ state: 'ended', exit: 0, reason: 'paused', made_up_by: DUE + HOUR_MS }, 'all accounted for'],
])('%j', (fields, words) => {
  expect(fireWords(fire(fields))).toBe(words)
})

test('a job without a timetable says why', () => {
  expect(scheduleWords({ schedule: undefined, problem: undefined })).toBe('no schedule')
})
