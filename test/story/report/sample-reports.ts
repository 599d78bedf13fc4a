/** Pages of runs of every kind, as they are opened in the browser. */

import { readExplanations, type reportPage } from '../../../src/story/report/report-page.ts'
import type { DetailedStory } from '../../../src/story/run-story.ts'
import { BEGAN, exportWith, factsWith, kinds, made, RUN, records, rows, workOf } from './sample-facts.ts'

export const reason = (
  count: number,
  code: string,
  message: string,
  more: Partial<DetailedStory['reasons'][number]> = {},
) => ({
  outcome: 'rejected',
  stage: 'transform',
  code,
  rule: 'systolic-bp',
  exportName: 'acme_screening_20260302.csv',
  field: null,
  message,
  count,
  settled: 0,
  known: 0,
  ...more,
})

const REASONS = [
  reason(71, 'registration-incomplete', 'registration needs dateOfBirth, which is empty', {
    field: 'dob',
    stage: 'register',
  }),
  reason(10, 'value-out-of-range', 'the value is outside the plausible range 40 to 320 mm[Hg]'),
  reason(5, 'row-too-long', '32 cells where the header has 31', { stage: 'extract', rule: null }),
  reason(3, 'in-doubt', 'no answer came, and the profile cannot tell', {
    stage: 'read-back',
    outcome: 'in-doubt',
  }),
]

type ReportContext = Parameters<typeof reportPage>[1]

export const OUTPUTS: ReportContext['outputs'] = [
  {
    what: 'rejects',
    path: `rejects/${RUN}/1-acme_screening_20260302.rejects.csv`,
    found: { bytes: 39_733, mode: 0o600, sha256: '14'.repeat(32) },
  },
  { what: 'receipts', path: `receipts/${RUN}.ndjson.gz` },
]

const HOUR = 3_600_000
const HUGE = {
  rows: rows(1_999_998, 1, 1),
  records: kinds({
    biometric: made({ accepted: 13_899_997, rejected: 1, unchanged: 1, inDoubt: 1 }),
    condition: made({ accepted: 1 }),
    careTeam: made({ rejected: 1 }),
  }),
}
const EVERYTHING = made({ accepted: 400, unchanged: 300, rejected: 200, inDoubt: 100, pending: 50 })
const LONG = 'a-very-long-name-of-an-export-without-any-place-to-break-it-'.repeat(3)

export const REPORTS: Readonly<Record<string, DetailedStory>> = {
  night: factsWith(
    {
      files: { rejects: 'r', receipts: 'r' },
      warnings: [{ code: 'date-in-future', count: 12 }],
      drift: [
        {
          export: 'acme_screening_20260302.csv',
          measure: 'rows',
          level: 'warn',
          message: '5,010 rows where 9,800 are usual',
        },
      ],
      settled: [{ run: '20260303T090000Z-0a1b2c', count: 98 }],
    },
    { reasons: REASONS, exports: [exportWith(0), exportWith(1)], zone: 'America/New_York' },
  ),
  'huge against tiny': factsWith(
    { ...HUGE, durationMs: 400_000 },
    { work: workOf({ ...HUGE, durationMs: 400_000 }, 400) },
  ),
  'every outcome': factsWith({
    rows: rows(300, 200, 100),
    records: kinds({ biometric: EVERYTHING, condition: EVERYTHING, careTeam: EVERYTHING }),
  }),
  'a single outcome': factsWith({
    rows: rows(1, 0, 0),
    records: kinds({ condition: made({ accepted: 1 }) }),
  }),
  'rows rejected alone': factsWith({ rows: rows(0, 0, 7), records: kinds() }),
  'no row': factsWith({ rows: rows(0, 0, 0), records: kinds() }, { work: [] }),
  unbalanced: factsWith({
    balanced: false,
    rows: { ...rows(80, 5, 5), read: 100 },
    records: kinds({
      biometric: { ...made({ accepted: 60, rejected: 5 }), made: 70 },
      condition: records({ accepted: 4, made: 3 }),
    }),
  }),
  pruned: factsWith({ pruned: '2026-09-01T00:00:00.000Z' }, { work: [], exports: [exportWith(0)] }),
  interrupted: factsWith(
    {
      state: 'interrupted',
      soFar: true,
      reason: 'gateway-unreachable',
      records: kinds({ biometric: made({ accepted: 900, pending: 40, inDoubt: 3 }) }),
    },
    {
      endedAt: undefined,
      rowsInHand: 2500,
      work: workOf(
        {
          rows: rows(990, 5, 5),
          records: kinds({ biometric: made({ accepted: 900, inDoubt: 43 }) }),
          durationMs: 14_000,
        },
        20,
      ).map((span, at) => (at === 9 ? { ...span, paused: 23 * HOUR } : span)),
    },
  ),
  'a backfill': factsWith(
    {
      backfill: { from: '2024-01-01', to: '2026-01-08', in: '/archive/of/the/clinic' },
      files: { rejects: 'r', receipts: 'r' },
      drift: Array.from({ length: 311 }, (_, at) => ({
        export: `acme_screening_${20240101 + at}.csv`,
        measure: at % 4 === 0 ? ('empty' as const) : ('rows' as const),
        level: at === 200 ? ('stop' as const) : ('warn' as const),
        message: `${at}, usually 900`,
        change: at / 1000,
      })),
    },
    {
      reasons: Array.from({ length: 85 }, (_, at) =>
        reason(20, 'registration-incomplete', 'registration needs dateOfBirth, which is empty', {
          ...{ field: 'dob', stage: 'register', exportName: `acme-onsite_2026-03-02_${at}.csv` },
        }),
      ),
      exports: Array.from({ length: 739 }, (_, at) =>
        exportWith(at, { name: `acme-onsite_2026-03-02_${at}.csv` }),
      ),
      work: workOf(
        {
          rows: rows(5373, 115, 22),
          records: kinds({ biometric: made({ accepted: 65_842, rejected: 104 }) }),
          durationMs: 14_089,
        },
        40,
      ).map((span, at) => ({ ...span, paused: [0, 70_000, 0, 12_000][at % 4] ?? 0 })),
    },
  ),
  'ninety exports': factsWith(
    {
      job: LONG,
      origin: { run: '20260301T021500Z-777777', selection: 'left-behind' },
      gateway: `https://${LONG}.example`,
    },
    {
      exports: Array.from({ length: 90 }, (_, at) =>
        exportWith(
          at,
          at === 50
            ? { state: 'failed', error: 'columns-missing' }
            : at === 51
              ? { name: `${LONG}.csv` }
              : {},
        ),
      ),
      reasons: Array.from({ length: 60 }, (_, at) =>
        reason(60 - at, `code-${at}`, `${LONG} ${at}`, { rule: LONG, exportName: `${LONG}.csv` }),
      ),
    },
  ),
}

export const CONTEXT: ReportContext = {
  explanations: await readExplanations(),
  writtenAt: BEGAN + HOUR,
  version: '0.1.0',
  nextSteps: [
    {
      say: 'where the mapping is wrong, correct it, see that it fits, and map these rows again',
      commands: [
        'waybill mapping check acme-onsite --export inbox/acme_screening_20260302.csv',
        `waybill rerun ${RUN} --only rejected`,
      ],
    },
    {
      say: 'where the data are wrong, correct the lines in the rejects file, and run that',
      commands: [
        `waybill run nightly-screenings --file home/rejects/${RUN}/1-acme_screening_20260302.rejects.csv`,
      ],
    },
  ],
  outputs: OUTPUTS,
}
