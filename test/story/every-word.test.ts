/**
 * Every face of runs that are unlike each other, with none, one and two of everything: summary and list on a terminal, next steps, notice, page.
 * A change of words shows in the golden files, and in no other place: `vitest run test/story/every-word.test.ts --update=all`.
 */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { remedyOf } from '../../src/model/errors.ts'
import { nextSteps, stepLines, stepsForPart } from '../../src/story/next-steps.ts'
import { runNotice } from '../../src/story/notices.ts'
import { REMEDIES } from '../../src/story/remedies.ts'
import { reportPage } from '../../src/story/report/report-page.ts'
import type { DetailedStory } from '../../src/story/run-story.ts'
import { runsTable, summaryText, waitingLines } from '../../src/story/terminal.ts'
import { BEGAN, exportWith, factsWith, kinds, made, RUN, rows } from './report/sample-facts.ts'
import { OUTPUTS, reason } from './report/sample-reports.ts'

type Story = Omit<DetailedStory, 'summary'> & { readonly summary: DetailedStory['summary'] }

const CLEAN = {
  rows: rows(100, 0, 0),
  records: kinds({ biometric: made({ accepted: 100 }) }),
  warnings: {},
  leftOut: {},
}
const DELIVERED = {
  ...{ rows: rows(100, 0, 0), records: kinds({ biometric: made({ accepted: 100 }) }) },
  accounts: { registered: 0, known: 100, refused: 0 },
  primaryCare: { marked: 0, unmarked: 0, owed: 0 },
}
const LATER = '20260303T090000Z-0a1b2c'
const AT = '2026-03-02T07:20:05.123Z'
const clean = (at: number, more: Parameters<typeof exportWith>[1] = {}) =>
  exportWith(at, { counts: CLEAN, ...more })

/** One of everything, or two. */
function several(count: number): Story {
  const each = made({ accepted: count, unchanged: count, rejected: count, inDoubt: count })
  const exports = Array.from({ length: count }, (_, at) => [
    exportWith(2 * at, { rejects: `/rejects/${at}.csv`, file: `/in/${at}.csv` }),
    clean(2 * at + 1, { state: 'failed', error: 'export-unreadable', detail: 'it cannot be read.' }),
  ]).flat()
  return factsWith(
    {
      rows: { ...rows(count, count, count), corrected: count },
      records: kinds({ biometric: each, condition: each, careTeam: each }),
      warnings: ['date-in-future', 'name-changed'].slice(0, count).map((code) => ({ code, count })),
      leftOut: ['skipWhen', 'status X'].slice(0, count).map((code) => ({ code, count })),
      drift: ['rows', 'mix'].slice(0, count).map((measure, at) => ({
        ...{
          export: `acme_screening_${20260302 + 2 * at}.csv`,
          level: 'warn' as const,
          message: `${at}, usually 9`,
        },
        measure: measure as 'rows' | 'mix',
        change: 0.5 + at,
      })),
      exports,
      accounts: { registered: count, known: count, refused: count },
      requests: { sent: count, retried: count, readBack: count },
      primaryCare: { marked: count, unmarked: count, owed: count },
      careTeams: { replaced: count, removed: count, owed: 3 * count, unjudged: count },
      files: { rejects: '/rejects', receipts: '/receipts/r.ndjson.gz' },
      exit: 1,
      leftBehind: { new: count, known: 7 * count, since: '2026-02-19T03:04:05.000Z' },
      settled: [LATER, `${LATER}d`].slice(0, count).map((run) => ({ run, count: 1 })),
      decided: Array.from({ length: count }, (_, at) => ({
        ...{ decision: 'acknowledge' as const, by: `ann${at}`, at: AT },
        ...(at === 0 ? {} : { code: 'date-invalid', note: 'as told' }),
      })),
      untold: (['pending', 'given-up'] as const).slice(0, count).map((state, at) => ({
        ...{ target: `webhook hooks${at}.example`, state },
        ...(at === 0 ? {} : { error: 'the webhook answered 404' }),
      })),
      anew: exports.slice(0, count).map(({ name }) => ({ export: name, run: LATER })),
      origin: { run: LATER, selection: 'rejected' as const },
    },
    {
      exports,
      zone: 'America/New_York',
      rowsInHand: count,
      reasons: ['date-invalid', 'refused'].slice(0, count).map((code, at) =>
        reason(count + at, code, `words of ${code}`, {
          ...{ rule: at === 0 ? null : 'hba1c', field: 'dob', known: at, settled: 0 },
          ...(at === 0 ? {} : { stage: 'deliver', knownSince: '2026-02-19T03:04:05.000Z' }),
        }),
      ),
    },
  )
}

const ended = (more: Partial<DetailedStory['summary']>, reasons: DetailedStory['reasons'] = []): Story =>
  factsWith(
    { ...DELIVERED, exit: 1, ...more },
    { reasons, exports: more.exports?.map((one) => ({ ...clean(0), ...one })) ?? [] },
  )

const failedWith = (error: string, more: object = {}) => clean(0, { state: 'failed', error, ...more })
const WAITS = {
  ...{ since: AT, givesUpAt: '2026-03-02T07:50:05.000Z', class: 'unreachable' },
  ...{ what: 'POST /biometrics/bulk: connection refused', pending: 1 },
}

const STORIES: Readonly<Record<string, Story>> = {
  'nothing left': factsWith({ ...DELIVERED, exit: 0, exports: [clean(0)] }, { exports: [clean(0)] }),
  'no rows': factsWith({ ...DELIVERED, rows: rows(0, 0, 0), records: kinds(), exit: 0 }, { work: [] }),
  'one of everything': several(1),
  'two of everything': several(2),
  'under way': ended({
    state: 'running',
    soFar: true,
    activity: { kind: 'under-way', owner: 'h:1', since: new Date(BEGAN).toISOString() },
  }),
  'resumed, and waits': ended({
    state: 'running',
    soFar: true,
    activity: { kind: 'under-way', owner: 'h:1', since: AT, waits: WAITS },
  }),
  'waits with two records': ended({
    state: 'running',
    soFar: true,
    activity: { kind: 'under-way', owner: 'h:1', since: AT, waits: { ...WAITS, pending: 2 } },
  }),
  stopped: ended({ state: 'running', soFar: true, activity: { kind: 'stopped', lastSign: AT } }),
  'stopped of a process': ended({
    state: 'running',
    soFar: true,
    activity: { kind: 'stopped', owner: 'h:1', lastSign: AT },
  }),
  'interrupted by the gateway': ended({
    state: 'interrupted',
    soFar: true,
    reason: 'gateway-failing',
    detail: 'HTTP 500',
  }),
  'interrupted by a person': ended({
    state: 'interrupted',
    soFar: true,
    reason: 'asked-to-stop',
    settingsName: 'built-in',
  }),
  'interrupted by a full disk': ended({ state: 'interrupted', soFar: true, reason: 'disk-full' }),
  'interrupted, two files changed': ended({
    ...{ state: 'interrupted', soFar: true, reason: 'export-changed' },
    exports: [clean(0, { state: 'open' }), clean(1), clean(2, { state: 'open' })],
  }),
  'failed by the threshold': ended(
    { state: 'failed', reason: 'threshold-passed', exit: 4, exports: [exportWith(0, { file: '/in/a.csv' })] },
    [reason(9, 'date-invalid', 'no date', { outcome: 'held-back', exportName: exportWith(0).name })],
  ),
  'failed, acknowledged': ended({
    ...{ state: 'failed', reason: 'threshold-passed', exit: 0 },
    acknowledged: [{ code: 'threshold-passed', by: 'ann', at: AT }],
  }),
  'given up': ended(
    {
      state: 'failed',
      reason: 'given-up',
      records: kinds({ biometric: made({ accepted: 1, inDoubt: 1, rejected: 1 }) }),
    },
    [reason(1, 'perhaps-sent', 'no answer', { outcome: 'in-doubt' }), reason(1, 'perhaps-sent', 'not found')],
  ),
  'given up, acknowledged': ended({
    state: 'failed',
    reason: 'given-up',
    acknowledged: [{ by: 'ann', at: AT }],
  }),
  'columns missing': ended({ exports: [failedWith('columns-missing', { file: '/in/a b.csv' })] }),
  'drifted, cut and named': ended({
    exports: [
      failedWith('export-drifted', { named: '/in/a.csv' }),
      { ...failedWith('export-cut', { named: '/in/b.csv', detail: 'it ends early:' }), name: 'b.csv' },
    ],
  }),
  'put aside, and read since': ended({
    exports: [
      failedWith('export-empty', { readSince: LATER }),
      { ...failedWith('export-empty', { putAside: { by: 'ann', note: 'a trial', at: AT } }), name: 'b.csv' },
      { ...failedWith('export-empty', { putAside: { by: 'bob', at: AT } }), name: 'c.csv' },
    ],
  }),
  'failed after some was sent': ended({
    exports: [
      failedWith('export-changed', {
        counts: { ...CLEAN, records: kinds({ biometric: made({ accepted: 2, inDoubt: 1 }) }) },
      }),
      {
        ...failedWith('export-changed', {
          counts: { ...CLEAN, records: kinds({ biometric: made({ rejected: 1 }) }) },
        }),
        name: 'b.csv',
      },
      {
        ...failedWith('export-changed', { counts: { ...CLEAN, rows: rows(0, 0, 0), records: kinds() } }),
        name: 'c.csv',
      },
    ],
  }),
  'of another gateway': ended({
    settingsName: 'https://other.example',
    careTeams: { replaced: 0, removed: 0, owed: 2, unjudged: 0 },
  }),
  'a backfill': ended({
    backfill: { from: '2026-01-01', to: '2026-01-31', in: '/archive of all', rate: 5, acceptDrift: true },
    ...{ state: 'interrupted', soFar: true, reason: 'interrupted' },
  }),
  'a backfill that drifted': ended({
    backfill: { from: '2026-01-01', to: '2026-01-31' },
    exports: [failedWith('export-drifted'), { ...failedWith('export-cut'), name: 'b.csv' }],
  }),
  pruned: ended({ pruned: AT, exit: 1, records: kinds({ biometric: made({ rejected: 3 }) }) }),
  'differs from earlier deliveries': ended({
    exit: 0,
    exports: [clean(0)],
    drift: [{ export: clean(0).name, measure: 'rows', level: 'warn', message: '5, usually 9' }],
  }),
  unbalanced: ended({ balanced: false, exit: 70 }),
  'all rejects settled': ended({
    ...{
      records: kinds({ biometric: made({ accepted: 1, rejected: 2 }) }),
      settled: [{ run: LATER, count: 2 }],
    },
  }),
  'marks owed alone': ended({
    primaryCare: { marked: 1, unmarked: 0, owed: 1 },
    careTeams: { replaced: 0, removed: 0, owed: 1, unjudged: 0 },
  }),
  'a deletion owed alone': ended({ careTeams: { replaced: 0, removed: 0, owed: 1, unjudged: 0 } }),
  // A reason for each remedy, and a record in doubt.
  'every remedy': ended(
    {
      records: kinds({ biometric: made({ accepted: 1, rejected: 12, inDoubt: 2 }) }),
      exports: [exportWith(0, { rejects: '/rejects/a.csv', file: '/in/a.csv' })],
    },
    [...new Map([...REMEDIES].map(([code, remedy]) => [remedy, code])).values()].map((code, at) =>
      reason(20 - at, code, `words of ${code}`, {
        exportName: exportWith(0).name,
        ...(code === 'mark-waits' ? { outcome: 'in-doubt' } : {}),
      }),
    ),
  ),
}

const GOLDEN = join(import.meta.dirname, 'golden')
const golden = async (name: string, text: string): Promise<void> =>
  await expect(text).toMatchFileSnapshot(join(GOLDEN, `${name}.txt`))

const asTyped = (file: string): string => `'${file}'`

const ofEach = (face: (story: Story) => readonly string[]): string =>
  Object.entries(STORIES)
    .map(([name, story]) => `=== ${name}\n${face(story).join('\n')}\n`)
    .join('\n')

it('summaries on a terminal', async () => {
  await golden(
    'summaries',
    ofEach(({ summary, reasons }) => summaryText(summary, reasons)),
  )
  await golden(
    'summaries-narrow',
    ofEach(({ summary, reasons }) => summaryText(summary, reasons, 60)),
  )
})

it('lists of runs', async () => {
  const runs = Object.values(STORIES).map(({ summary }, at) => ({
    ...summary,
    run: `${RUN.slice(0, -2)}${String(at).padStart(2, '0')}`,
    ...(at % 2 === 0 ? {} : { mostFrequent: { code: 'date-invalid', count: at } }),
  }))
  const lines = runsTable(runs, BEGAN + 7_200_000, undefined).map((line) =>
    typeof line === 'string' ? line : `${line.tone.padEnd(9)}${line.text}`,
  )
  await golden('runs', [...lines, ...waitingLines(runs), ''].join('\n'))
})

it('next steps', async () => {
  await golden(
    'next-steps',
    ofEach(({ summary, reasons }) => stepLines(nextSteps(summary, reasons, asTyped))),
  )
})

it('next steps for one part', async () => {
  const parts = ofEach(({ summary, reasons }) => [
    ...summary.exports.flatMap(({ name, error: code }) =>
      code === undefined ? [] : stepLines(stepsForPart(summary, { of: 'export', name, code })),
    ),
    ...(summary.state === 'failed' ? stepLines(stepsForPart(summary, { of: 'failure', reasons })) : []),
    ...stepLines(stepsForPart(summary, { of: 'owed' })),
    ...reasons.slice(0, 2).flatMap((one, at) =>
      stepLines(
        stepsForPart(summary, {
          ...{
            of: 'left',
            open: [one],
            rejected: one.outcome === 'rejected' ? one.count : 0,
            code: one.code,
          },
          inDoubt: one.outcome === 'rejected' ? 0 : one.count,
          which: at === 0 ? undefined : `--job ${summary.job} --reason ${one.code}`,
        }),
      ),
    ),
  ])
  await golden('parts', parts)
})

it('notices', async () => {
  const notices = ofEach(({ summary, reasons }) => {
    const next = nextSteps(summary, reasons, asTyped)
    const { title, text, subject, kind, failure, known } = runNotice({
      ...{ summary, reasons, next, at: BEGAN + 60_000, exit: summary.exit ?? 130 },
    })
    return [`${kind} of ${subject}, failure ${failure}, known ${known === true}`, title, ...text]
  })
  await golden('notices', notices)
})

/** Words of a page, a line for each row, entry and paragraph; the places of drawings are tried elsewhere. */
const wordsOf = (page: string): string[] =>
  page
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .split(/<(?:tr|li|dt|p|h\d|section|svg|desc|title|summary)\b[^>]*>/)
    .map((text) =>
      text
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((text) => text !== '')

const SHOWN = [
  'one of everything',
  'two of everything',
  'resumed, and waits',
  'failed by the threshold',
  'a backfill',
]

it('pages', async () => {
  const pages = Object.entries(STORIES)
    .filter(([name]) => SHOWN.includes(name))
    .map(([name, story]) => {
      const words = wordsOf(
        reportPage(story, {
          ...{ writtenAt: BEGAN + 3_600_000, version: '1.2.3', explanations: new Map(), outputs: OUTPUTS },
          nextSteps: nextSteps(story.summary, story.reasons, asTyped),
        }),
      )
      return `=== ${name}\n${words.join('\n')}\n`
    })
  await golden('pages', pages.join('\n'))
})

it('names the command that starts a run again wherever a remedy does', () => {
  expect(remedyOf('disk-full', 'waybill run x')).toContain('type `waybill run x` again')
})
