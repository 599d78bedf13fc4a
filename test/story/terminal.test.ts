import { describe, expect, test } from 'vitest'
import { driftLines, summaryText } from '../../src/story/terminal.ts'
import type { ExportDrift } from '../../src/watch/drift-watch.ts'
import { exportWith, kinds, made, rows, summaryWith } from './report/sample-facts.ts'
import { reason } from './report/sample-reports.ts'

const CLEAN = {
  rows: rows(100, 0, 0),
  records: kinds({ biometric: made({ accepted: 100 }) }),
  warnings: {},
  leftOut: {},
}

/** So many exports: the last could not be used, every third before it has rejects, more of them the later it came. */
function exportsOf(count: number) {
  return Array.from({ length: count }, (_, at) => {
    if (at === count - 1)
      return exportWith(at, { counts: CLEAN, state: 'failed', error: 'export-unreadable' })
    if (at % 3 > 0) return exportWith(at, { counts: CLEAN })
    const counts = { ...CLEAN, records: kinds({ biometric: made({ accepted: 90, rejected: 1 + at }) }) }
    return exportWith(at, { counts, rejects: `/home/rejects/R/${at}.rejects.csv` })
  })
}

const linesOf = (count: number): string[] =>
  summaryText(summaryWith({ exports: exportsOf(count), files: { rejects: '/home/rejects/R' } }), [])

const matching = (lines: readonly string[], pattern: RegExp): string[] =>
  lines.filter((line) => pattern.test(line))

describe('the exports of a run', () => {
  test('up to a dozen are all there, with their files of rejects', () => {
    const lines = linesOf(12)
    expect(matching(lines, /^ acme_/)).toHaveLength(12)
    // The first, fourth, seventh and tenth.
    expect(matching(lines, /^Rejects /)).toEqual(
      [0, 3, 6, 9].map((at) => `Rejects  /home/rejects/R/${at}.rejects.csv`),
    )
  })

  test('of many those with most left behind, and the folder of rejects', () => {
    const lines = linesOf(90)
    // 30 of the 89, and the one that could not be used.
    expect(lines).toContain('90 exports, 31 of them with something left behind:')
    const shown = matching(lines, /^ acme_/)
    expect(shown).toHaveLength(12)
    expect(shown[0]).toContain('failed: export-unreadable')
    expect(shown[1]).toMatch(/acme_screening_20260389.csv +finished +100 +100 +0 +0 +88/)
    expect(lines).toContain(
      '  and 19 more with something left behind, 59 with nothing left behind; --json lists all of them',
    )
    expect(matching(lines, /^Rejects /)).toEqual(['Rejects  /home/rejects/R: 30 files'])
  })

  test('of many that are clean there is one line', () => {
    const clean = Array.from({ length: 90 }, (_, at) => exportWith(at, { counts: CLEAN }))
    const lines = summaryText(summaryWith({ exports: clean }), [])
    expect(lines).toContain('90 exports, 0 of them with something left behind')
    expect(matching(lines, /acme_/)).toEqual([])
  })
})

test('every number stands under its own name', () => {
  const summary = summaryWith({
    rows: rows(5, 4, 3),
    records: kinds({ biometric: made({ accepted: 97, rejected: 8, unchanged: 7, inDoubt: 6, pending: 2 }) }),
    accounts: { registered: 11, known: 12, refused: 13 },
    requests: { sent: 21, retried: 22, readBack: 23 },
    primaryCare: { marked: 31, unmarked: 32, owed: 0 },
    careTeams: { replaced: 33, removed: 34, owed: 0, unjudged: 0 },
    durationMs: 12_300,
  })
  const lines = summaryText(summary, [])
  expect(lines[1]).toContain('finished, after 12.3 s at work, sent to https://gateway.example/api')
  expect(lines).toContain('Rows     read 12 = mapped 5 + skipped 4 + rejected 3')
  const [head = '', counts = ''] = lines.slice(lines.findIndex((line) => line.includes('pending')))
  const cells = (line: string): string[] => line.trim().split(/ {2,}/)
  expect(cells(head).map((name, at) => `${name} ${cells(counts)[at]}`)).toEqual([
    ...['records biometrics', 'made 120', 'accepted 97', 'rejected 8', 'unchanged 7'],
    ...['in doubt 6', 'pending 2'],
  ])
  expect(lines).toContain(
    'Accounts 11 registered, 12 known, 13 refused; 31 primary care physicians marked, 32 unmarked; 33 care teams replaced; 34 care teams deleted, no longer listed',
  )
  expect(lines).toContain('Requests 21 sent, 22 retries; 23 reads of profiles')
})

test('tables are no wider than the terminal, have a line for each row, and count the dropped columns', () => {
  const why = Array.from({ length: 3 }, (_, at) =>
    reason(2, `a-rather-long-code-${at}`, 'words of some length that say why it was left behind', {
      exportName: `acme_screening_2026030${at}.csv`,
    }),
  )
  const shown = (columns?: number): string =>
    summaryText(summaryWith({ exports: exportsOf(90) }), why, columns)
      .join('\n')
      .split('\nNext')[0] ?? ''
  const tables = matching(shown(100).split('\n'), /^( {1,4}\S| +\d)/)
  expect(Math.max(...tables.map(({ length }) => length))).toBeLessThanOrEqual(100)
  expect(
    Math.max(
      ...shown()
        .split('\n')
        .map(({ length }) => length),
    ),
  ).toBeGreaterThan(100)
  const rowsOf = (text: string): string[] => matching(text.split('\n'), /^ acme_|a-rather-long-code/)
  const firstWords = (text: string): string[] => rowsOf(text).map((row) => row.trim().split(/ {2,}/)[0] ?? '')
  expect(firstWords(shown(100))).toEqual(firstWords(shown()))
  expect(matching(shown(100).split('\n'), /^ \(1 more column in a wider terminal\)$/)).toHaveLength(2)
})

describe('why rows and records were left behind', () => {
  const of = (count: number) =>
    Array.from({ length: count }, (_, at) => reason(2, 'c', 'words', { exportName: `${at}.csv` }))
  const tableOf = (reasons: ReturnType<typeof of>): string[] =>
    matching(summaryText(summaryWith(), reasons), / words/)

  test('is one line for all exports: few are named, many counted', () => {
    expect(tableOf(of(2))).toEqual([expect.stringMatching(/^ +4 .* 0\.csv, 1\.csv +words/)])
    expect(tableOf(of(83))).toEqual([expect.stringMatching(/^ +166 .* 0\.csv and 82 more exports +words/)])
  })

  test('says what is known, and since when, beside what is settled', () => {
    const knownSince = '2026-11-19T02:15:00.000Z'
    const outcomes = (known: number, settled: number): string[] =>
      tableOf([reason(22, 'c', 'words', { known, settled, ...(known === 0 ? {} : { knownSince }) })])
    expect(outcomes(0, 0)).toEqual([expect.stringMatching(/^ +22 +rejected +c /)])
    expect(outcomes(22, 0)).toEqual([expect.stringMatching(/^ +22 +rejected, 22 known since 2026-11-19 +c /)])
    expect(outcomes(20, 3)).toEqual([
      expect.stringMatching(/^ +22 +rejected, 20 known since 2026-11-19, 3 settled +c /),
    ])
    expect(outcomes(22, 22)).toEqual([expect.stringMatching(/^ +22 +settled, 22 known since 2026-11-19 +c /)])
  })

  test('what is beyond the table is counted', () => {
    const many = Array.from({ length: 16 }, (_, at) => reason(20 - at, `c-${at}`, `words ${at}`))
    const text = summaryText(summaryWith(), many)
    expect(text).toContain('  and 5 more for 1 other reason; --json lists all of them')
  })
})

describe('drift', () => {
  const finding = (at: number, more: Partial<ExportDrift> = {}): ExportDrift => ({
    ...{ export: `${at}.csv`, measure: 'rows', level: 'warn', message: `words ${at}` },
    ...more,
  })

  test('a little is all there, in a table', () => {
    const text = driftLines([finding(1), finding(2)]).join('\n')
    expect(text).toContain('words 2')
    expect(text).not.toContain('differences')
  })

  test('of much the counts by measure, and what differs most', () => {
    const drift = [
      ...Array.from({ length: 300 }, (_, at) => finding(at, { change: at / 1000 })),
      ...Array.from({ length: 10 }, (_, at) => finding(at, { measure: 'empty', change: 0.21 })),
      finding(7, { level: 'stop', measure: 'mix', change: 0.1 }),
    ]
    const lines = driftLines(drift)
    expect(lines).toContain(
      'Drift    311 differences in 300 exports: rows 300, empty 10, mix 1. The largest:',
    )
    expect(matching(lines, /words/).map((line) => /words \d+/.exec(line)?.[0])).toEqual([
      'words 7',
      ...[299, 298, 297, 296].map((at) => `words ${at}`),
    ])
    expect(lines).toContain('  and 306 more; --json lists all of them')
  })
})

test('a run that is not over is balanced so far: what it has in hand is in no count', () => {
  const balance = (soFar: { soFar?: true }): string[] =>
    matching(summaryText(summaryWith(soFar), []), /^Balanced/)
  expect(balance({})).toEqual(['Balanced: every row and every record has exactly one outcome.'])
  expect(balance({ soFar: true })).toEqual([
    'Balanced so far: every counted row and record has exactly one outcome. The run has not reached the end of its exports.',
  ])
})

test('of a run of nothing nothing is said beside its counts', () => {
  const lines = summaryText(summaryWith({ rows: CLEAN.rows, records: CLEAN.records, exports: [] }), [])
  expect(
    lines.filter((line) => /^(Unsent|Collected|Owed|Kept|New|Next|Rejects|Receipts|Left out)\b/.test(line)),
  ).toEqual([])
  expect(
    summaryText(summaryWith({ exports: [], untold: [{ target: 'mail to a', state: 'pending' }] }), []),
  ).toContain('Unsent   mail to a (on its way)')
})
