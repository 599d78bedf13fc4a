import { expect, it } from 'vitest'
import { DriftDefinition } from '../../src/definitions/job-definition.ts'
import { driftOf } from '../../src/watch/drift-watch.ts'
import type { ExportProfile, MeasuredProfile } from '../../src/watch/export-profile.ts'

const WEIGHTS: MeasuredProfile = { found: 100, rejected: 1, values: 99, quartiles: [66, 80, 92] }
const night = (
  weight: Partial<MeasuredProfile> = {},
  fields: Partial<ExportProfile> = {},
): ExportProfile => ({
  ...{
    rows: 100,
    columns: [],
    taken: 100,
    rules: {},
    codes: {},
    units: {},
    rejectedRows: 2,
    skipped: 0,
    warnings: {},
    daysSpanned: 20,
  },
  measured: { 'body-weight': { ...WEIGHTS, ...weight } },
  ...fields,
})
const earlier = (...profiles: ExportProfile[]) => profiles.map((profile) => ({ profile, accepted: false }))
const usual = earlier(night(), night({ quartiles: [65, 79, 93] }), night({ quartiles: [67, 81, 91] }))

const CSV = { isCsv: true, suspicions: [] }
const told = (now: ExportProfile, before = usual, written: object = {}): string[] =>
  driftOf(now, before, DriftDefinition.parse(written), CSV)
    .filter(({ measure }) => measure === 'values' || measure === 'rejects')
    .map(({ measure, level, message }) => `${level} ${measure}: ${message}`)

it.each([
  { what: 'the same', now: night(), found: [] },
  {
    what: 'a median that moves by a quarter',
    now: night({ quartiles: [82, 100, 115] }),
    found: ['warn values: the median of body-weight is 100, usually 80 (1.25 times)'],
  },
  {
    what: 'a median that moves by more than half',
    now: night({ quartiles: [145, 176, 203] }),
    found: ['stop values: the median of body-weight is 176, usually 80 (2.2 times)'],
  },
  {
    what: 'a median that chance can move, as the values are few: 4 standard errors of 0.93 × 26 / √20 are 21.6',
    now: night({ values: 20, quartiles: [85, 101, 111] }),
    found: [],
  },
  {
    what: 'one value in most rows',
    now: night({ quartiles: [81, 81, 81] }),
    found: ['warn values: body-weight is 81 in most rows, and usually is not'],
  },
  {
    what: 'a rule that is always rejected',
    now: night({ rejected: 100, values: 0, quartiles: undefined }),
    found: ['stop rejects: of body-weight 100.0 % rejected, usually 1.0 %'],
  },
  { what: 'fewer rejects', now: night({ rejected: 0 }), found: [] },
  {
    what: 'too few records',
    now: night({ found: 19, rejected: 19, values: 0, quartiles: undefined }),
    found: [],
  },
  {
    what: 'rows that are rejected',
    now: night({}, { rejectedRows: 60 }),
    found: ['warn rejects: of rows 60.0 % rejected, usually 2.0 %'],
  },
  {
    what: 'dates far apart',
    now: night({}, { daysSpanned: 300 }),
    found: ['warn values: nine of ten dates lie within 300 days, usually 20: are day and month swapped?'],
  },
])('$what', ({ now, found }) => {
  expect(told(now)).toEqual(found)
})

it('stops for nothing where the job says so, and needs as many deliveries as that says', () => {
  const moved = night({ quartiles: [145, 176, 203] })
  expect(told(moved, usual, { values: { stop: 'off' } })).toEqual([expect.stringMatching(/^warn values/)])
  expect(told(moved, usual, { values: 'off', rejects: 'off' })).toEqual([])
  expect(told(moved, usual, { after: 4 })).toEqual([])
})

it('takes what was accepted for usual as well, and profiles of earlier versions for none', () => {
  const moved = night({ quartiles: [145, 176, 203] })
  expect(told(moved, [{ profile: moved, accepted: true }, ...usual])).toEqual([])
  expect(told(moved, earlier(...[1, 2, 3].map(() => night({}, { measured: {} }))))).toEqual([])
})

const outcome = (
  now: Partial<ExportProfile>,
  before: Partial<ExportProfile>[],
  written: object = {},
): string[] =>
  driftOf(
    night({}, now),
    before.map((fields) => ({ profile: night({}, fields), accepted: false })),
    DriftDefinition.parse(written),
    CSV,
  )
    .filter(({ measure }) => measure === 'empty-handed' || measure === 'checks')
    .map(({ measure, level, message, change }) => `${level} ${measure}: ${message} (${change})`)

const SKIPPED = 'warn empty-handed: all 100 rows skipped (1)'
it.each<[string, Partial<ExportProfile>, Partial<ExportProfile>[], object, string[]]>([
  ['all rows skipped', { skipped: 100 }, [], {}, [SKIPPED]],
  ['all rows skipped but one', { skipped: 99 }, [], {}, []],
  ['no rows', { rows: 0, skipped: 0 }, [], {}, []],
  [
    'all rows skipped, as ever',
    { skipped: 100 },
    [{ skipped: 100 }, { skipped: 100 }, { skipped: 50 }],
    {},
    [],
  ],
  [
    'all rows skipped, as twice of late',
    { skipped: 100 },
    [{ skipped: 100 }, { skipped: 100 }],
    {},
    [SKIPPED],
  ],
  ['all rows skipped, as once', { skipped: 100 }, [{ skipped: 100 }, {}, {}], {}, [SKIPPED]],
  ['all rows skipped, of a job that does not ask', { skipped: 100 }, [], { skipped: 'off' }, []],
  [
    'a check that found nothing before',
    { warnings: { c: 3 } },
    [{}, {}],
    {},
    ['warn checks: c 3 in 100 rows, before 0.0 % at most (0.03)'],
  ],
  ['a check in a first export', { warnings: { c: 1 } }, [], {}, ['warn checks: c 1 in 100 rows (0.01)']],
  ['a check that found as many', { warnings: { c: 3 } }, [{}, { warnings: { c: 3 } }], {}, []],
  [
    'a check that found as many in twice the rows',
    { warnings: { c: 3 } },
    [{ rows: 200, warnings: { c: 3 } }],
    {},
    ['warn checks: c 3 in 100 rows, before 1.5 % at most (0.015)'],
  ],
  ['a check of a job that does not ask', { warnings: { c: 3 } }, [], { checks: 'off' }, []],
])('%s', (_, now, before, written, found) => {
  expect(outcome(now, before, written)).toEqual(found)
})

it('suspicions are findings with their rule and name, but for rows left out', () => {
  const suspicion = (finding: 'one-value' | 'rows-left-out', rule: string | null) => ({
    finding,
    rule,
    message: 'odd',
  })
  const all = [suspicion('one-value', 'bmi'), suspicion('one-value', null), suspicion('rows-left-out', null)]
  const found = (fit: string) =>
    driftOf(night(), [], DriftDefinition.parse({ fit }), { isCsv: true, suspicions: all })
  expect(found('stop')).toEqual([
    { measure: 'fit', level: 'stop', message: 'bmi: odd (one-value)' },
    { measure: 'fit', level: 'stop', message: 'odd (one-value)' },
  ])
  expect(found('off')).toEqual([])
})

it.each([
  // More than twice the usual, and more than a month more.
  [20, 51, false],
  [20, 52, true],
  [40, 80, false],
  [40, 81, true],
])('dates usually within %i days, now within %i, are told: %s', (before, now, isTold) => {
  const spanned = (daysSpanned: number) => night({}, { daysSpanned })
  expect(told(spanned(now), earlier(spanned(before), spanned(before), spanned(before)))).toHaveLength(
    isTold ? 1 : 0,
  )
})

it('a median of nothing has no ratio', () => {
  const zero = earlier(...[1, 2, 3].map(() => night({ quartiles: [-1, 0, 1] })))
  expect(told(night({ quartiles: [9, 10, 11] }), zero)).toEqual([
    'stop values: the median of body-weight is 10, usually 0',
  ])
})
