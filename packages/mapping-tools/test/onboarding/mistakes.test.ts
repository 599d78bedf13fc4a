/** Mistakes planted in mappings: what the fit report tells of each before anything is sent, and nothing of mappings that are right. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readMapping } from '../../../../src/definitions/definition-files.ts'
import { DriftDefinition } from '../../../../src/definitions/job-definition.ts'
import { openExport } from '../../../../src/extract/open-export.ts'
import { FIT_FINDINGS } from '../../../../src/transform/mapping-definition.ts'
import { doubtfulColumns } from '../../../../src/watch/doubtful-columns.ts'
import { driftOf } from '../../../../src/watch/drift-watch.ts'
import { createProfiler, type ExportProfile } from '../../../../src/watch/export-profile.ts'
import { createFitWatch, type Suspicion, unexpected } from '../../../../src/watch/judge-fit.ts'
import { corpusPath } from '../../../../test/corpus/corpus-file.ts'
import { codeRows, page, sections } from '../../../../test/docs/pages.ts'
import { NEEDS_CORPUS } from '../../../../test/needed.ts'
import { load, ROOT } from '../../../../test/transform/mapping-under-test.ts'
import { vocabulary } from '../draft/drafting.ts'
import { MISTAKES, type Mistake, RIGHT_LONG, RIGHT_WIDE, rowsOf, TABLES } from './mistakes.ts'

const NOW = Date.parse('2026-03-02T08:00:00.000Z')

function suspicionsOf(text: string, rows: readonly Record<string, string>[]): Suspicion[] {
  const mapping = load(text, TABLES)
  const columns = Object.keys(rows[0] ?? {})
  const map = mapping.compiled.bind(columns, 'tried.csv', NOW)
  const watch = createFitWatch(mapping, columns, doubtfulColumns(mapping.definition, vocabulary))
  for (const [at, row] of rows.entries())
    watch.add(map({ row: at + 1, line: at + 2, byteOffset: 0, kind: 'cells', cells: Object.values(row) }))
  return unexpected(watch.report().suspicions)
}

const exported = rowsOf(20260301)

function profileOf(text: string, seed: number): ExportProfile {
  const rows = rowsOf(seed).wide
  const mapping = load(text, TABLES)
  const columns = Object.keys(rows[0] ?? {})
  const map = mapping.compiled.bind(columns, 'tried.csv', NOW)
  const profiler = createProfiler(mapping, columns)
  for (const [at, cells] of rows.entries()) {
    const row = {
      row: at + 1,
      line: at + 2,
      byteOffset: 0,
      kind: 'cells' as const,
      cells: Object.values(cells),
    }
    profiler.add(row, map(row))
  }
  return profiler.profile()
}

const earlier = [2, 3, 4, 5].map((seed) => ({ profile: profileOf(RIGHT_WIDE, seed), accepted: false }))
const driftOfMapping = (text: string): string[] => {
  const profile = profileOf(text, 20260301)
  const rules = DriftDefinition.parse({})
  return driftOf(profile, earlier, rules, { isCsv: true, suspicions: [] }).map(
    ({ measure, message }) => `${measure}: ${message}`,
  )
}

const found = ({ of, right, wrong }: Mistake): Suspicion[] => {
  const text = of === 'wide' ? RIGHT_WIDE : RIGHT_LONG
  expect(text).toContain(right)
  return suspicionsOf(text.replace(right, wrong), exported[of])
}

test('nothing is suspicious about the mappings in which mistakes are planted', () => {
  for (const seed of [20260301, 2, 3, 4, 5]) {
    const { wide, long } = rowsOf(seed)
    expect(suspicionsOf(RIGHT_WIDE, wide)).toEqual([])
    expect(suspicionsOf(RIGHT_LONG, long)).toEqual([])
  }
})

test('a hospital that codes much else is not suspicious, unless nothing is left of its export', () => {
  const text = RIGHT_LONG.replace('table: tried', 'table: tried, unknown: skip')
  const most = exported.long.map((row, at) => (at % 12 === 0 ? row : { ...row, code: `ZZ-${at % 7}` }))
  expect(suspicionsOf(text, most)).toEqual([])
  const all = exported.long.map((row) => ({ ...row, code: 'ZZ-1' }))
  expect(suspicionsOf(text, all).map(({ finding }) => finding)).toEqual(['rows-left-out'])
})

test('what a mapping expects is told with its reason, and is no suspicion', () => {
  const { wide } = exported
  const wrong = RIGHT_WIDE.replace('body-weight: weight_kg', 'body-weight: weight_lb')
  const expects = (rule: string): string =>
    `${wrong}expected: [{ finding: median-unusual, rule: ${rule}, reason: made up }]`
  expect(suspicionsOf(wrong, wide)).toHaveLength(1)
  expect(suspicionsOf(expects('body-weight'), wide)).toEqual([])
  expect(suspicionsOf(expects('heart-rate'), wide)).toHaveLength(1)
})

test('names that are taken out of one column, or read from columns that say whose they are, are not doubted', () => {
  const written = (first: string, last: string): string =>
    RIGHT_WIDE.replace('firstName: first', `firstName: ${first}`).replace(
      'lastName: last',
      `lastName: ${last}`,
    )
  const doubts = (first: string, last: string): string[] =>
    doubtfulColumns(load(written(first, last)).definition, vocabulary).map(({ message }) => message)
  const part = (take: number): string => `{ from: nombre, split: { by: " ", take: ${take} } }`
  expect(doubts(part(1), part(-1))).toEqual([])
  expect(doubts('"Patient First Name"', '"Patient Surname"')).toEqual([])
  expect(doubts('"{ from: x }"', '{ constant: last }')).toEqual([])
  expect(doubts('"Patient Surname"', '{ from: Vorname, case: upper }')).toEqual([
    'register.firstName reads the column "Patient Surname", which names lastName',
    'register.lastName reads the column "Vorname", which names firstName',
  ])
})

const inbox = (file: string): string => join(ROOT, 'samples/inbox', file)
const EXPORTS: readonly (readonly [mapping: string, file: string])[] = [
  ['acme-onsite', inbox('acme_screening_20260302.csv')],
  ['northlab-oru', inbox('northlab_oru_20260302.ndjson')],
]
const OF_THE_CORPUS: typeof EXPORTS = [
  ['nhanes', corpusPath('population/nhanes-bioconnector/nhanes.csv')],
  ['synthea-observations', corpusPath('synthea/csv-ohdsi-28pat/observations.csv')],
  ['synthea-conditions', corpusPath('synthea/csv-ohdsi-28pat/conditions.csv')],
  ['fhir-condition', corpusPath('synthea/ndjson-bulk-10pat/Condition.000.ndjson')],
]

const SENTENCE = 'nothing is suspicious about %s over %s'

async function expectNothingSuspicious(name: string, file: string): Promise<void> {
  const mapping = await readMapping({ jobs: '', mappings: join(ROOT, 'mappings') }, name)
  const { columns, rows } = await openExport(file, mapping.read)
  const map = mapping.compiled.bind(columns, 'export', NOW)
  const watch = createFitWatch(mapping, columns, doubtfulColumns(mapping.definition, vocabulary))
  for await (const block of rows()) for (const row of block) watch.add(map(row))
  const { facts, suspicions } = watch.report()
  expect(facts.rows.read).toBeGreaterThan(100)
  expect(suspicions).toEqual([])
}

test.each(EXPORTS)(SENTENCE, expectNothingSuspicious)
test.each(OF_THE_CORPUS)(SENTENCE, NEEDS_CORPUS, expectNothingSuspicious)

test('the page on judging has each finding, and no other', () => {
  const chapter = sections(page('docs/judging.md'), 2).get('Findings') ?? ''
  expect(codeRows(chapter).toSorted()).toEqual([...FIT_FINDINGS].toSorted())
})

test('most mistakes are found', () => {
  expect(MISTAKES.filter(({ finding }) => finding !== undefined).length / MISTAKES.length).toBeGreaterThan(
    20 / 24,
  )
})

describe('a planted mistake', () => {
  const alone = MISTAKES.filter(({ finding, byEarlier }) => finding !== undefined && !byEarlier)
  test.each(alone.map((one) => [one.name, one] as const))('is told: %s', (_, one) => {
    const told = found(one)
    expect(told.map(({ finding }) => finding)).toContain(one.finding)
    const words = told
      .filter(({ finding }) => finding === one.finding)
      .map(({ rule, message }) => `${rule}: ${message}`)
      .join('\n')
    expect(words).toContain(one.says ?? '')
  })

  const later = MISTAKES.filter(({ byEarlier }) => byEarlier)
  test.each(later.map((one) => [one.name, one] as const))('is told by earlier deliveries: %s', (_, one) => {
    const { right, wrong, finding, says = '' } = one
    expect(driftOfMapping(RIGHT_WIDE)).toEqual([])
    expect(driftOfMapping(RIGHT_WIDE.replace(right, wrong))).toEqual([
      expect.stringMatching(new RegExp(`^${finding}: .*${says.replaceAll('?', '\\?')}`)),
    ])
    // And by nothing else.
    expect(found(one)).toEqual([])
  })

  test.each(MISTAKES.filter(({ finding }) => finding === undefined).map((one) => [one.name, one] as const))(
    'cannot be told: %s',
    (_, one) => expect(found(one)).toEqual([]),
  )
})
