import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { corpusPath } from '../../../test/corpus/corpus-file.ts'
import { NEEDS_CORPUS } from '../../../test/needed.ts'
import { load, ORIGIN } from '../../../test/transform/mapping-under-test.ts'
import { type PreviewedRow, previewPage, previewRow, previewText, rowHtml } from '../src/preview.ts'

const ROW = `
mapping: tried
read: { format: csv }
row:
  key: [id]
  account: { reference: id }
  observedAt: { constant: "2026-02-04T00:00:00.000Z" }
  source: { name: S, type: screening }
`
const MAPPING = `${ROW}
biometrics: { systolic-bp: sbp, hba1c: a1c }
conditions: { hypertension: { when: { dx: Y }, status: active } }
careTeams: { pcp: { when: { npi: present }, npi: npi, name: doctor, type: PCP } }
`
const COLUMNS = ['id', 'sbp', 'a1c', 'dx', 'npi', 'doctor', 'note']
const map = load(MAPPING).compiled.bind(COLUMNS, 'e.csv', Date.parse('2026-11-01T00:00:00Z'))

function preview(...cells: readonly string[]): PreviewedRow {
  const row = { ...ORIGIN, kind: 'cells' as const, cells }
  return previewRow(row, COLUMNS, map(row))
}

const MARKS = { reads: () => [], line: () => undefined, before: undefined }

/** Rows of three columns, of which the last leaves a row out. */
function readSkipping(): (...cells: readonly string[]) => PreviewedRow {
  const columns = ['id', 'sbp', 'visit']
  const bind = load(`${ROW}
  skipWhen: { visit: no show }
biometrics: { systolic-bp: sbp }
`).compiled.bind(columns, 'e.csv', Date.parse('2026-11-01T00:00:00Z'))
  return (...cells) => {
    const row = { ...ORIGIN, kind: 'cells' as const, cells: [...cells, '', ''].slice(0, 3) }
    return previewRow(row, columns, bind(row))
  }
}

const WHOLE = preview('P-1', '118', 'high', 'Y', '1234567893', 'Dr. A', '')

/** Tags of a page, by name, and the text between them, decoded. */
function pageParts(page: string): { tags: Set<string>; texts: string[] } {
  const body = page.slice(page.indexOf('<body>'))
  const tags = new Set([...body.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, name = '']) => name))
  const decoded = (text: string): string =>
    text.replaceAll(
      /&(amp|lt|gt|quot|#39);/g,
      (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'",
    )
  return { tags, texts: body.split(/<[^>]*>/).map(decoded) }
}

describe('a row beside its records', () => {
  test('in a terminal', () => {
    expect(previewText(WHOLE)).toEqual([
      ...['── row 7, line 9: mapped ───────────────────────────────────────────────────────'],
      ...[' id      P-1                                  │ · key      P-1'],
      ...[' sbp     118                                  │ · account  partnerAccountId P-1'],
      ...[
        ' a1c     high                                 │ → systolic-bp   118 mm[Hg]            2026-02-04T00:00:00.000Z  LOINC 8480-6',
      ],
      ...[
        ' dx      Y                                    │ → hypertension  active                2026-02-04T00:00:00.000Z  ICD-10-CM I10, SNOMED CT 38341003',
      ],
      ...[
        ' npi     1234567893                           │ → pcp           1234567893 Dr. A PCP  2026-02-04T00:00:00.000Z',
      ],
      ...[
        ' doctor  Dr. A                                │ ✗ hba1c         value-not-a-number: not a number',
        '',
      ],
    ])
  })

  test.each([60, 61])('shows sixty lines of a document of %i, and counts the others', (count) => {
    const source = Array.from({ length: count }, (_, at) => ['', `line ${at + 1}`] as const)
    const lines = previewText({ ...WHOLE, source }).map((line) => line.split('│')[0]?.trim())
    expect(lines.filter((line) => line?.startsWith('line '))).toHaveLength(60)
    expect(lines.includes('… 1 more')).toBe(count === 61)
  })

  test('a row is left out, rejected, or has nothing to give; its page says how many', () => {
    const read = readSkipping()
    const [made, rejected, none] = [read('P-1', '118'), read('', '118'), read('P-3', '')]
    const skipped = read('P-4', '118', 'no show')
    expect([made, rejected, none, skipped].map(({ outcome }) => outcome)).toEqual([
      ...['mapped', 'rejected', 'mapped', 'skipped'],
    ])
    const { texts } = pageParts(previewPage('m', 's', [made, rejected, none, skipped]))
    expect(texts.join('')).toContain('4 rows: 2 mapped, 1 rejected, 1 skipped; 1 record made, 0 rejected')
    const parts = (row: PreviewedRow): unknown =>
      JSON.parse(/data-parts="([^"]*)"/.exec(rowHtml(row, MARKS))?.[1]?.replaceAll('&quot;', '"') ?? 'null')
    expect([made, none].map(parts)).toEqual([[['accepted', 'systolic-bp', '']], [['accepted', '', '']]])
    expect(parts(rejected)).toEqual([['rejected', '', rejected.faults[0]?.code]])
    expect(parts(skipped)).toEqual([['left out', '', 'skipWhen']])
  })

  test('cells without a name are counted from one', () => {
    const row = { ...ORIGIN, kind: 'cells' as const, cells: ['', 'x'] }
    expect(previewRow(row, undefined, map({ ...row, cells: ['P-1'] })).source).toEqual([['cell 2', 'x']])
  })

  test('a cell cannot steer the terminal', () => {
    const text = previewText(preview('P-1', '118', '', '', '', '', '\u001b[2J\n\u009b')).join()
    expect(text).not.toMatch(/\p{Cc}/u)
    expect(text).toContain('\\u001b[2J\\n\\u009b')
  })

  test('on a page', () => {
    const { texts } = pageParts(previewPage('tried', 'e.csv', [WHOLE]))
    expect(texts).toEqual(
      expect.arrayContaining([
        ...['Row 7 ', 'line 9, mapped', 'sbp', '118', 'systolic-bp', '118 mm[Hg]', 'LOINC 8480-6'],
      ]),
    )
    expect(texts).toEqual(expect.arrayContaining(['hba1c', 'value-not-a-number']))
    expect(texts).toContain('This page holds health data of persons')
    expect(texts).toContain('1 row: 1 mapped; 3 records made, 1 rejected. Nothing was sent. ')
  })

  test('the page needs nothing from elsewhere', () => {
    const page = previewPage('tried', 'e.csv', [WHOLE])
    expect(page).not.toMatch(/<script|<link|<img|https?:|url\(|@import|\son\w+=/i)
    expect(page).toContain("default-src 'none'")
    expect(page).toContain('prefers-color-scheme: dark')
    expect(page).toContain('@media print')
  })
})

const TAGS = new Set(
  'html body header h1 h2 span p strong main section div dl dt dd table thead tbody tr th td ul li b code'.split(
    ' ',
  ),
)
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='x",
  '&lt;b&gt;',
  '</dd></dl></style><h1>',
]

test('hostile cells are text', () => {
  for (const cell of HOSTILE) {
    const { tags, texts } = pageParts(
      previewPage(cell, cell, [preview('P-1', '118', '', '', '1234567893', cell, cell)]),
    )
    expect(tags.difference(TAGS), cell).toEqual(new Set())
    expect(texts.filter((text) => text === cell).length, cell).toBeGreaterThan(1)
  }
})

describe('the big list of naughty strings', NEEDS_CORPUS, () => {
  test('each is text on the page', () => {
    const list = z
      .array(z.string())
      .parse(JSON.parse(readFileSync(corpusPath('json-datetime/blns/blns.json'), 'utf8')))
    expect(list.length).toBeGreaterThan(400)
    for (const cell of list) {
      const { tags } = pageParts(previewPage('m', 's', [preview('P-1', '', '', '', '', '', cell)]))
      expect(tags.difference(TAGS), cell).toEqual(new Set())
    }
  })
})

test('beside an earlier form of itself, a row marks what is new and what is gone', () => {
  const before = preview('P-1', '118', '5.1', '', '', '', '')
  const now = preview('P-1', '119', '5.1', '', '', '', '')
  const marks = { reads: () => [], line: () => undefined, before }
  const lines = rowHtml(now, marks)
    .split('\n')
    .flatMap(
      (line) =>
        /<tr( class="\w+")?[^>]*><th scope="row">(.*?)<\/th><td>(.*?)<\/td>/.exec(line)?.slice(1) ?? [],
    )
  expect(lines).toEqual([
    ...[' class="new"', 'systolic-bp', '119 mm[Hg]'],
    ...[undefined, 'hba1c', '5.1 %'],
    ...[' class="gone"', 'systolic-bp', '118 mm[Hg]'],
  ])
  expect(rowHtml(now)).not.toMatch(/class="(new|gone)"/)
})
