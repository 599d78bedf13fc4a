/** Each kind of notice about a job but that of a run (every-word.test.ts), with one of everything, with two, and with more than are named. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import {
  brokenNotice,
  brokenOffNotice,
  deadRunNotice,
  driftNotice,
  goneNotice,
  heldNotice,
  lateNotice,
  missedNotice,
  recoveredNotice,
  refusalNotice,
} from '../../src/story/notices.ts'
import { RUN, summaryWith } from './report/sample-facts.ts'

const AT = Date.UTC(2026, 2, 2, 7, 31)
const HOUR = 3_600_000
const ABOUT = { job: 'nightly', gateway: 'https://gateway.example', at: AT }
const HOLDER = { owner: 'host:12', run: RUN, since: AT - HOUR }

const findings = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    ...{ measure: at % 2 === 0 ? ('rows' as const) : ('mix' as const), level: 'warn' as const },
    message: `${at}, usually 9`,
  }))
const drifted = (count: number) => ({ name: 'a.csv', sha256: '7d'.repeat(32), findings: findings(count) })
const problem = (count: number): WaybillError =>
  new WaybillError('job-invalid', `jobs/nightly.yaml: ${count} problems`, {
    findings: Array.from({ length: count }, (_, at) => ({
      place: { file: 'jobs/nightly.yaml', line: at + 1, key: 'exports' },
      message: `problem ${at}`,
    })),
  })
const fire = (at: number, more: Partial<FireRecord> = {}): FireRecord => ({
  ...{ job_id: 1, due: AT - at * HOUR, state: 'missed', made_up_by: null, run_id: null, detail: null },
  ...({} as FireRecord),
  ...more,
})
const jobs = (count: number): string[] => Array.from({ length: count }, (_, at) => `job-${at}`)

it('says what has happened, and what to do', async () => {
  const notices = {
    differs: driftNotice(ABOUT, RUN, drifted(1)),
    'differs in more than are named': driftNotice(ABOUT, RUN, drifted(7)),
    'all rows skipped': driftNotice(ABOUT, RUN, {
      ...drifted(0),
      findings: [{ measure: 'empty-handed', level: 'warn', message: 'all 9 rows were skipped' }],
    }),
    refused: refusalNotice(ABOUT, problem(1), RUN),
    'refused for more than are named': refusalNotice(ABOUT, problem(7)),
    'refused by a defect': refusalNotice(ABOUT, new TypeError('Ann Person'), RUN),
    'broken off': brokenOffNotice(ABOUT, RUN, new WaybillError('disk-full', 'no room')),
    held: heldNotice(ABOUT, HOLDER),
    'dead, and goes on': deadRunNotice(ABOUT, HOLDER, true),
    dead: deadRunNotice(ABOUT, HOLDER, false),
    'a broken job': brokenNotice(ABOUT, problem(2), 'version 1'),
    'jobs gone': goneNotice(ABOUT, undefined, jobs(2)),
    'jobs not readable': goneNotice(ABOUT, new WaybillError('job-not-found', 'it cannot be read'), jobs(7)),
    'a fire missed, made up for': missedNotice(ABOUT, 'down', [fire(1, { made_up_by: AT - HOUR })]),
    'fires missed': missedNotice(ABOUT, 'down', [
      fire(1, { made_up_by: AT }),
      fire(2, { state: 'skipped', detail: 'the machine was off' }),
      fire(3),
    ]),
    'more fires than are named': missedNotice(ABOUT, 'down', [
      fire(1),
      ...[2, 3, 4, 5, 6, 7].map((at) => fire(at)),
    ]),
    recovered: recoveredNotice(ABOUT, { summary: summaryWith() }),
    late: lateNotice(ABOUT, { due: AT - HOUR, by: AT, zone: 'America/New_York', run: RUN, now: 'running' }),
    'late without a run': lateNotice(ABOUT, {
      due: AT - HOUR,
      by: AT,
      zone: 'Etc/UTC',
      run: null,
      now: 'missed',
    }),
  }
  await expect(stringify(notices)).toMatchFileSnapshot(join(import.meta.dirname, 'golden/every-notice.yaml'))
})

it('never shows the words of an error that nobody foresaw', () => {
  const notice = refusalNotice(ABOUT, new TypeError('Ann Person'))
  expect(JSON.stringify(notice)).not.toContain('Ann')
})

it('is another where the words of the error are, or a run has been in between', () => {
  const subjects = [
    refusalNotice(ABOUT, problem(1)),
    refusalNotice(ABOUT, problem(2)),
    refusalNotice(ABOUT, problem(1), RUN),
    brokenNotice(ABOUT, problem(1), '1'),
    brokenNotice(ABOUT, problem(2), '1'),
    brokenNotice(ABOUT, problem(1), '2'),
  ].map(({ kind, subject }) => `${kind} ${subject}`)
  expect(new Set(subjects).size).toBe(6)
})
