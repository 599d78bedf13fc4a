import { expect, it } from 'vitest'
import type { Expectation } from '../../src/definitions/export-definition.ts'
import { isNothingExplained } from '../../src/runs/scheduled-jobs.ts'

const hour = (of: number): number => Date.UTC(2026, 2, 2, of)
const DUE = hour(9)

interface Past {
  readonly expect?: Expectation
  readonly state?: 'finished' | 'interrupted'
  readonly started: number
  readonly ended: number | null
  /** Whether it is the run of the fire before. */
  readonly ofFire?: true
  readonly gateway?: string
  readonly backfill?: string
  /** The run whose left rows it sends again. */
  readonly origin?: string
}

function isExplained(past: Past): Promise<boolean> {
  const run = { id: 'r', gateway: past.gateway ?? 'g', state: past.state ?? 'finished', reason: null }
  const origin = { origin_run: past.origin ?? null, backfill: past.backfill ?? null }
  const fire = { job_id: 1, due: hour(8), run_id: past.ofFire ? 'r' : null }
  const ledger: unknown = {
    runs: {
      list: async () => [{ ...run, ...origin, started_at: past.started, ended_at: past.ended }],
    },
    fires: { latest: async () => [{ ...fire, due: DUE, run_id: null }, fire] },
  }
  const job: unknown = { definition: { job: 'j' }, sources: [{ expect: past.expect }] }
  return isNothingExplained(
    ledger as Parameters<typeof isNothingExplained>[0],
    'g',
    job as Parameters<typeof isNothingExplained>[2],
    { job_id: 1, due: DUE },
  )
}

const NIGHTLY: Expectation = { by: '0 8 * * *', zone: 'Etc/UTC', count: 1, size: undefined }

it.each<[string, boolean, Past]>([
  [
    'the run of the fire before went on until this one',
    true,
    { started: hour(8), ended: DUE + 1, ofFire: true },
  ],
  [
    'the run of the fire before was over by then',
    false,
    { started: hour(8) + 1, ended: hour(8) + 9, ofFire: true },
  ],
  ['somebody has run the job in between', true, { started: hour(8) + 1, ended: hour(8) + 9 }],
  ['somebody has run the job before that', false, { started: hour(7), ended: hour(7) + 9 }],
  ['that run was interrupted', false, { started: hour(8) + 1, ended: null, state: 'interrupted' }],
  ['that run was of another gateway', false, { started: hour(8) + 1, ended: DUE + 1, gateway: 'other' }],
  [
    'that run was a backfill',
    false,
    { started: hour(8) + 1, ended: DUE + 1, backfill: '2026-01-01/2026-01-31' },
  ],
  ['that run was a rerun', false, { started: hour(8) + 1, ended: DUE + 1, origin: 'run-1' }],
  ['a source has an expectation, which tells it', true, { started: 0, ended: 1, expect: NIGHTLY }],
])('a fire that finds nothing: %s', async (_, explained, past) => {
  expect(await isExplained(past)).toBe(explained)
})
