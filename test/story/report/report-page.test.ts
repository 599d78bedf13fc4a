import { describe, expect, test } from 'vitest'
import { mergeReasons } from '../../../src/story/reasons.ts'
import { REMEDIES } from '../../../src/story/remedies.ts'
import { durationText, foldedTable, localText, nameHtml, utcText } from '../../../src/story/report/figures.ts'
import {
  isReportOf,
  nextSection,
  readExplanations,
  reportPage,
  sharesOf,
  verdictOf,
} from '../../../src/story/report/report-page.ts'
import { exportWith, factsWith, kinds, made, RUN, rows, summaryWith, workOf } from './sample-facts.ts'
import { CONTEXT, REPORTS, reason } from './sample-reports.ts'
import { misnested } from './well-formed.ts'

const textOf = (page: string): string =>
  page
    .slice(page.indexOf('<body>'))
    .replaceAll('<wbr>', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')

const pageOf = (name: string): string => reportPage(REPORTS[name] ?? factsWith(), CONTEXT)

describe.each(Object.keys(REPORTS))('the page of a run: %s', (name) => {
  const page = pageOf(name)

  test('is well formed, and needs nothing from elsewhere', () => {
    expect(misnested(page)).toEqual([])
    expect(page).not.toMatch(/<script|<link|<img|url\((?!#)|@import|\son\w+=|href=(?!"#)|src=/i)
    expect(page).not.toMatch(/NaN|undefined|Infinity/)
  })

  test('its contents name each section once, in their order', () => {
    const listed = [...page.matchAll(/<a href="#([a-z]+)">/g)].map(([, id]) => id)
    expect(listed).toEqual([...page.matchAll(/<section id="([a-z]+)"/g)].map(([, id]) => id))
  })

  test('tells all counts of its summary', () => {
    const { rows: counts, records } = REPORTS[name]?.summary ?? summaryWith()
    const body = textOf(page)
    for (const count of [
      ...Object.values(counts),
      ...Object.values(records).flatMap((kind) => Object.values(kind)),
    ])
      expect(body).toContain(` ${count.toLocaleString('en-US')} `)
  })
})

/** Tables of a page by their labels: head of each column → its cells, one after the other. */
function tablesOf(page: string): Record<string, Record<string, string[]>> {
  const cellsOf = (line: string): string[] =>
    [...line.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, ''))
  const tables = page.matchAll(/aria-label="([^"]*)">\s*<table[^>]*>(.*?)<\/table>/gs)
  return Object.fromEntries(
    [...tables].map(([, label = '', content = '']) => {
      const [heads = [], ...lines] = [...content.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, line = '']) =>
        cellsOf(line),
      )
      return [label, Object.fromEntries(heads.map((head, at) => [head, lines.map((line) => line[at] ?? '')]))]
    }),
  )
}

test('every number stands under its own head', () => {
  const counts = {
    rows: rows(5, 4, 3),
    records: kinds({ biometric: made({ accepted: 97, rejected: 8, unchanged: 7, inDoubt: 6, pending: 2 }) }),
    warnings: {},
    leftOut: {},
  }
  const facts = factsWith(
    { ...counts, warnings: [], leftOut: [], durationMs: 12_000 },
    { exports: [exportWith(0, { counts })], work: workOf({ ...counts, durationMs: 12_000 }, 3) },
  )
  const tables = tablesOf(reportPage(facts, CONTEXT))
  expect(tables['Exports and the outcomes of their rows']).toMatchObject({
    ...{ rows: ['12'], mapped: ['5'], skipped: ['4'], rejected: ['3'], records: ['120'] },
    'not delivered': ['16'],
  })
  const { what = [], count: numbers = [] } = tables['The balance in numbers'] ?? {}
  expect(what.map((name, at) => `${name} ${numbers[at]}`)).toEqual([
    ...['rows read 12', 'rows mapped 5', 'rows skipped 4', 'rows rejected 3', 'records made 120'],
    ...['records accepted 97', 'records unchanged 7', 'records rejected 8', 'records in doubt 6'],
    'records pending 2',
  ])
  const outcomes = Object.entries(tables['Outcomes by kind of record'] ?? {})
  const ofBiometrics = outcomes.map(([head, [cell]]) => `${head.replace(/^\W+ /, '')} ${cell}`.trim())
  expect(ofBiometrics).toEqual([
    ...['records biometrics', 'made 120', 'shares', 'accepted 97', 'unchanged 7', 'rejected 8'],
    ...['in doubt 6', 'pending 2'],
  ])
  const { rows: rowsShown = [], records: recordsShown = [], ...more } = tables['Throughput in numbers'] ?? {}
  // 120 in 12 seconds, spread evenly.
  expect(new Set(more['records a second'])).toEqual(new Set(['10']))
  expect(textOf(reportPage(facts, CONTEXT))).toContain(
    '12 rows and 120 records in 12 s at work: on average 1 row and 10 records a second.',
  )
  const sum = (cells: readonly string[]): number => cells.reduce((total, cell) => total + Number(cell), 0)
  expect([sum(rowsShown), sum(recordsShown)]).toEqual([12, 120])
})

const WAITING = {
  ...{ kind: 'under-way' as const, owner: 'h:1', since: '' },
  waits: { since: '', givesUpAt: '', class: 'not-sent', what: 'ECONNREFUSED', pending: 1 },
}

describe('what a page says', () => {
  const says = (name: string): string => textOf(pageOf(name))

  test('an imbalance is told as the equation that does not hold', () => {
    expect(says('unbalanced')).toContain('Not balanced. This is a defect of Waybill')
    expect(says('unbalanced')).toContain('rows: read 100 ≠ mapped 80 + skipped 5 + rejected 5')
    expect(says('unbalanced')).toContain('conditions: made 3 ≠ accepted 4 +')
    expect(says('night')).not.toContain('Not balanced')
  })

  test('of a run that is not over the balance is one so far', () => {
    expect(says('interrupted')).toContain('Balance so far')
    expect(says('interrupted')).toContain('The run is not at the end of its exports')
    expect(says('night')).not.toMatch(/so far|to the end of its exports/)
  })

  test('a run that was pruned', () => {
    expect(says('pruned')).toContain('Detail pruned on 2026-09-01')
    expect(says('pruned')).toContain('Reasons are gone')
    expect(says('pruned')).toContain('→ mapped 5,373')
  })

  test('a run that is not at its end', () => {
    expect(says('interrupted')).toContain('Pending: 2,500 rows in flight')
    expect(says('interrupted')).toContain('pause of 23 h')
    expect(says('night')).not.toContain('in flight')
  })

  test('a run without a row', () => {
    expect(says('no row')).toContain('there is nothing to draw')
  })

  test('related runs, instants in both zones, files with digests', () => {
    expect(says('night')).toContain('Settled since by run 20260303T090000Z-0a1b2c : 98 of the rejects')
    expect(says('ninety exports')).toContain('Retries what run 20260301T021500Z-777777 left behind')
    expect(says('night')).toContain(
      'Mon 2026-03-02 07:15:00 UTC Mon 2026-03-02 02:15:00 -05:00 America/New_York',
    )
    expect(says('night')).toContain(`1-acme_screening_20260302.rejects.csv 39,733 0600 ${'14'.repeat(32)}`)
    expect(says('night')).toContain(`${RUN}.ndjson.gz missing`)
    expect(says('night')).toContain('Rejects are rows as they came, health data: keep them where they are.')
  })

  test('a backfill: its range and exports, drift by measure, each mapping once', () => {
    const page = pageOf('a backfill')
    const text = textOf(page)
    expect(text).toContain('a backfill of 2024-01-01 to 2026-01-08: 739 exports')
    expect(page).not.toContain('/archive')
    // Every fourth of 311, beginning with the first.
    expect(text).toContain('311 differences in 311 exports: rows 233, empty 78. The largest first.')
    const drift = /<section id="findings">.*?<details class="rest"><summary>([^<]*)</s.exec(page)
    expect(drift?.[1]).toBe('306 more differences')
    const shown = [...(drift?.[0] ?? '').matchAll(/<td>(\d+), usually 900</g)].map(([, at]) => at)
    expect(shown).toEqual(['200', '310', '309', '308', '307'])
    expect(page.split('7d'.repeat(32))).toHaveLength(2)
    expect(text).toContain(`acme-onsite 739 exports ${'7d'.repeat(32)}`)
    expect(text).toContain('1,700')
    // Ten times 70 s and ten times 12 s.
    expect(text).toContain(
      '20 pauses are left out, together 13 min 40 s. The longest: 1 min 10 s after 0.4 s, ',
    )
  })

  test('a mapping that joins other files has a digest for each export', () => {
    const exports = [0, 1].map((at) => exportWith(at, { mappingDigest: `${at}e`.repeat(32) }))
    const text = textOf(reportPage(factsWith({}, { exports }), CONTEXT))
    expect(text).toContain(`acme-onsite acme_screening_20260303.csv ${'1e'.repeat(32)}`)
  })

  test('names of anything are text', () => {
    const hostile = '<img src=x onerror=alert(1)>"\''
    const page = reportPage(
      factsWith(
        {
          job: hostile,
          gateway: hostile,
          reason: hostile,
          state: 'failed',
          warnings: [{ code: hostile, count: 1 }],
          drift: [{ export: hostile, measure: 'rows', level: 'warn', message: hostile }],
        },
        {
          reasons: [
            reason(1, hostile, hostile, {
              rule: hostile,
              exportName: hostile,
              stage: hostile,
              outcome: hostile,
            }),
          ],
          exports: [exportWith(0, { name: hostile, mapping: hostile, error: hostile })],
          zone: 'UTC',
        },
      ),
      {
        ...CONTEXT,
        nextSteps: [{ say: hostile, commands: [hostile] }],
        outputs: [{ what: 'rejects', path: hostile }],
      },
    )
    expect(misnested(page)).toEqual([])
    expect(page).not.toContain('<img')
  })

  test('it is known as the report of its run', () => {
    const beginning = pageOf('night').slice(0, 2000)
    expect(isReportOf(beginning, RUN)).toBe(true)
    expect(isReportOf(beginning, '20260302T071500Z-000000')).toBe(false)
    expect(isReportOf(`<p>${RUN}</p>`, RUN)).toBe(false)
  })
})

describe('how a run stands', () => {
  const clean = { rows: rows(5, 1, 0), records: kinds({ biometric: made({ accepted: 5 }) }) }
  test.each([
    ['well', 'every row and record is accounted for', clean],
    ['left', '22 rows rejected, 115 records rejected', {}],
    ['left', '1 record in doubt', { ...clean, records: kinds({ condition: made({ inDoubt: 1 }) }) }],
    [
      'left',
      '2 marks owed, 1 deletion owed',
      {
        ...clean,
        primaryCare: { marked: 0, unmarked: 0, owed: 2 },
        careTeams: { replaced: 0, removed: 0, owed: 3, unjudged: 0 },
      },
    ],
    [
      'left',
      '1 export could not be used',
      { ...clean, exports: [exportWith(0, { error: 'columns-missing' })] },
    ],
    ['bad', 'Failed (threshold-passed)', { state: 'failed', reason: 'threshold-passed' }],
    ['bad', 'Not balanced', { ...clean, balanced: false }],
    ['open', 'Interrupted (lease-lost)', { state: 'interrupted', reason: 'lease-lost' }],
    ['open', 'Stopped before its end', { state: 'running' }],
    [
      'open',
      'Under way',
      { state: 'running', activity: { kind: 'under-way', owner: 'h:1', since: '' } as const },
    ],
    ['open', 'Under way: waiting for the gateway', { state: 'running', activity: WAITING }],
  ])('%s: %s', (level, words, more) => {
    const verdict = verdictOf(summaryWith(more))
    expect(verdict.level).toBe(level)
    expect(verdict.words).toContain(words)
  })
})

test('what is known is told apart, by reason and in all', () => {
  const leftBehind = { new: 3, known: 4, since: '2026-11-18T02:15:00.000Z' }
  const reasons = [
    reason(3, 'a', 'words', { known: 2, knownSince: '2026-11-19T02:15:00.000Z' }),
    reason(3, 'a', 'words', { rule: null, known: 2, knownSince: leftBehind.since }),
    reason(1, 'b', 'words'),
  ]
  const text = textOf(reportPage(factsWith({ leftBehind }, { reasons }), CONTEXT))
  expect(text).toContain('New: 3, known 4 (since 2026-11-18).')
  expect(text).toContain('transform, 4 known since 2026-11-18')
  expect(text.match(/known since/g)).toHaveLength(1)
})

test('a reason leads to what it means and what to do, in the page itself; one of another version to nothing', () => {
  const reasons = [
    reason(3, 'row-quote-broken', 'words'),
    reason(2, 'in-doubt', 'words'),
    reason(2, 'registration-fails', 'words'),
    reason(1, 'of-the-future', 'words'),
  ]
  const page = reportPage(factsWith({}, { reasons }), CONTEXT)
  const targets = [...page.matchAll(/<a href="#(reason-[^"]+)">/g)].map(([, target = '']) => target)
  expect(targets).toEqual(['reason-row-quote-broken', 'reason-in-doubt', 'reason-registration-fails'])
  for (const target of targets) expect(page.split(`<dt id="${target}">`)).toHaveLength(2)
  expect(page).toContain('<code>of-the-future</code>')
  const text = textOf(page)
  expect(text).toContain('a quote inside a cell, or text behind a closing quote')
  expect(text).toContain(
    'What to do: ask the vendor to double quotes (RFC 4180), or set read.quote in the mapping',
  )
  // A link of the docs leads nowhere from here, and a command names the run.
  expect(text).toContain('then waybill resolve : in doubt')
  expect(text).toContain(`waybill rerun ${RUN}`)
  expect(page).not.toContain('.md#')
})

test('every reason that leaves something behind is explained, each by itself', async () => {
  const explanations = await readExplanations()
  const unexplained = [...REMEDIES.keys()].filter((code) => !explanations.has(code))
  expect(unexplained).toEqual([])
  for (const [code, { means, remedy }] of explanations)
    expect([code, means, remedy].join(' ')).not.toMatch(/\bthe same$|\bas above\b|\bthe same \|/)
})

test('reasons in the same words are one line, most frequent first', () => {
  const merged = mergeReasons([
    reason(3, 'a', 'words', { rule: 'x', settled: 1 }),
    reason(2, 'b', 'words'),
    reason(4, 'a', 'words', { rule: null, exportName: 'other.csv', settled: 2 }),
    reason(1, 'a', 'other words', { rule: 'x' }),
    reason(1, 'a', 'words', { rule: 'x', field: 'sbp' }),
  ])
  expect(merged.map(({ code, message, count, settled }) => [code, message, count, settled])).toEqual([
    ['a', 'words', 7, 3],
    ['b', 'words', 2, 0],
    ['a', 'other words', 1, 0],
    ['a', 'words', 1, 0],
  ])
  expect(merged[0]).toMatchObject({
    rules: ['x', null],
    exports: ['acme_screening_20260302.csv', 'other.csv'],
  })
})

test.each([
  [4, 'r1, r2, r3, r4'],
  [5, 'r1, r2, r3 and 2 more rules'],
])('of %i rules with the same reason not all are named', (count, named) => {
  const reasons = Array.from({ length: count }, (_, at) => reason(1, 'a', 'words', { rule: `r${at + 1}` }))
  const { where: [cell] = [] } =
    tablesOf(reportPage(factsWith({}, { reasons }), CONTEXT))['Reasons, most frequent first'] ?? {}
  expect(cell?.replace(/acme.*/, '')).toBe(named)
})

test.each([
  ['acme_screening_20260302.csv', 'acme_<wbr>screening_<wbr>20260302.csv'],
  ['acme_2026_03_02_onsite.csv', 'acme_<wbr>2026_03_02_<wbr>onsite.<wbr>csv'],
  ['onsite-2026-03-02.csv', 'onsite-<span class="whole">2026-03-02</span>.csv'],
  ['a/2026.03.02/<b>.csv', 'a/<wbr>2026.03.02/<wbr>&lt;b&gt;.<wbr>csv'],
])('a name is broken between its words, never in a date: %s', (name, expected) => {
  expect(nameHtml(name)).toBe(expected)
})

test('shares fill their bar, and none is too narrow to be seen', () => {
  const shares = sharesOf(made({ accepted: 1_000_000, rejected: 1, pending: 1 }), 180)
  expect(shares.map(({ outcome }) => outcome)).toEqual(['accepted', 'rejected', 'pending'])
  expect(shares.reduce((sum, { width }) => sum + width, 0)).toBeCloseTo(180)
  expect(Math.min(...shares.map(({ width }) => width))).toBeGreaterThanOrEqual(2)
  expect(sharesOf(made({}), 180)).toEqual([])
})

test('long tables fold, and say how much is behind', () => {
  const lines = Array.from({ length: 90 }, (_, at) => [`line ${at}`])
  const folded = foldedTable({ label: 'l', columns: [{ head: 'h' }], lines }, 12, 'more exports')
  expect(folded).toContain('<summary>78 more exports</summary>')
  expect(folded.match(/<tr><th scope="row"/g)).toHaveLength(90)
  expect(
    foldedTable({ label: 'l', columns: [{ head: 'h' }], lines: lines.slice(0, 14) }, 12, 'more'),
  ).not.toContain('<details')
})

test('what to type next: commands stand apart from what they are for', () => {
  const section = nextSection([
    { say: 'to do this', commands: ['waybill a', 'waybill b'] },
    { say: 'then', commands: ['waybill c'] },
  ])
  expect([...section.matchAll(/<(p|pre)>([^<]*)</g)].map(([, tag, text]) => `${tag} ${text}`)).toEqual([
    'p to do this',
    'pre waybill a\nwaybill b',
    'p then',
    'pre waybill c',
  ])
  expect(nextSection([])).toBe('')
})

test('instants and durations', () => {
  const at = Date.parse('2026-11-01T05:30:09Z')
  expect(utcText(at)).toBe('Sun 2026-11-01 05:30:09 UTC')
  expect(localText(at, 'America/New_York')).toBe('Sun 2026-11-01 01:30:09 -04:00')
  expect([0, 420, 9_960, 12_000, 200_000, 3_600_000, 7_500_000, 90_000_000].map(durationText)).toEqual([
    '0 s',
    '0.4 s',
    '10 s',
    '12 s',
    '3 min 20 s',
    '1 h',
    '2 h 5 min',
    '1 d 1 h',
  ])
})
