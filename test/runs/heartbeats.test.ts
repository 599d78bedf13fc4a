/** Needs that a heartbeat tells its monitor of, and those that the schedule ends by itself. */
import { describe, expect, test } from 'vitest'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import type { Need } from '../../src/needs/need.ts'
import { needsSomebody } from '../../src/runs/heartbeats.ts'

const fire = (state: FireRecord['state'], run_id: string | null) => ({ state, run_id })
const need = (cause: Need['cause'], jobs: readonly string[], ...runs: string[]) => ({ cause, jobs, runs })

describe('a job needs somebody', () => {
  test.each([
    ['no need', [], [], false],
    ['a need of its own', [need('run-unfinished', ['clinic'], 'R1')], [], true],
    ['a need of another job', [need('run-unfinished', ['lab'], 'R1')], [], false],
    ['a disk that is full stops every job', [need('disk', [])], [], true],
    ['a disk that is full while a run is tried again', [need('disk', [])], [fire('retrying', 'R1')], true],
    ['its run is tried again', [need('run-unfinished', ['clinic'], 'R1')], [fire('retrying', 'R1')], false],
    [
      'its run has ended, its fire not yet',
      [need('run-unfinished', ['clinic'], 'R1')],
      [fire('running', 'R1')],
      false,
    ],
    [
      'one gateway is away for two jobs',
      [need('run-unfinished', ['clinic', 'lab'], 'R9', 'R1')],
      [fire('retrying', 'R1')],
      false,
    ],
    [
      'an earlier run while another goes on',
      [need('run-unfinished', ['clinic'], 'R0')],
      [fire('running', 'R1')],
      true,
    ],
    [
      'an earlier run while another is tried again',
      [need('run-unfinished', ['clinic'], 'R0')],
      [fire('retrying', 'R1')],
      true,
    ],
    [
      'its run has left rejects, its fire has not ended',
      [need('left-rejected', ['clinic'], 'R1')],
      [fire('running', 'R1')],
      true,
    ],
    [
      'its run waits for the schedule to start',
      [need('run-unfinished', ['clinic'], 'R1')],
      [fire('interrupted', 'R1')],
      true,
    ],
    [
      'a need without a run, while a fire begins',
      [need('job-late', ['clinic'])],
      [fire('running', null)],
      true,
    ],
    [
      'the second of two needs',
      [need('run-unfinished', ['clinic'], 'R1'), need('run-unfinished', ['clinic'], 'R0')],
      [fire('retrying', 'R1')],
      true,
    ],
  ] as const)('%s', (_, needs, open, expected) => {
    expect(needsSomebody('clinic', needs, open)).toBe(expected)
  })
})
