import { expect, test } from 'vitest'
import { createProgress, NO_PROGRESS, type Progress } from '../../src/telemetry/progress.ts'

/** What is written over stands on the last line, which must not reach the last column. */
function screen(text: string, columns: number): string[] {
  let shown = ''
  for (const drawn of text.split('\r\x1b[2K')) {
    shown = shown.slice(0, shown.lastIndexOf('\n') + 1) + drawn
    expect(drawn.slice(drawn.lastIndexOf('\n') + 1).length).toBeLessThan(columns)
  }
  return shown.split('\n')
}

/** A display with a clock that the test moves. */
function display(columns: number | undefined) {
  const at = { ms: 0 }
  let text = ''
  const progress = createProgress({
    columns: columns !== undefined && (() => columns),
    now: () => at.ms,
    write: (more) => {
      text += more
    },
  })
  return { at, progress, text: () => text }
}

const NAME = 'acme_screening_20260302.csv.gz'
/** 600,000 rows in ten minutes, ten records a row; after four minutes the gateway has to be waited for. */
function night({ at, progress }: { at: { ms: number }; progress: Progress }, minutes = 10): void {
  progress.note('Records go to https://gateway.example/api.')
  progress.start(NAME, { rows: 0, records: 0, share: 0 })
  for (let tick = 1; tick <= minutes * 60; tick++) {
    at.ms += 1_000
    if (tick === 240) progress.note('waiting 30 s for the gateway (not-taken)')
    progress.advance({ rows: tick * 1_000, records: tick * 10_000, share: tick / 600 })
  }
  if (minutes === 10) progress.end({ rows: 600_000, records: 6_000_000, share: 1 })
}

test.each([
  [
    120,
    '65 % [█████████████░░░░░░░] 390,000 rows, 3,900,000 records, 1,000 rows/s, 3:30 left  acme_screening_20260302.csv.gz',
  ],
  [
    100,
    '65 % [█████████████░░░░░░░] 390,000 rows, 3,900,000 records, 1,000 rows/s, 3:30 left  acme_s…csv.gz',
  ],
  [80, '65 % [███████░░░] 390,000 rows, 3,900,000 records, 1,000 rows/s, 3:30 left'],
  [60, '65 % 390,000 rows, 1,000 rows/s, 3:30 left  acme_sc….csv.gz'],
  [40, '65 % 390,000 rows, 3:30 left'],
  [12, '65 % 3:30 l'],
])('in a terminal of %i columns', (columns, bar) => {
  const shown = display(columns)
  night(shown, 6.5)
  expect(screen(shown.text(), columns)).toEqual([
    'Records go to https://gateway.example/api.',
    'waiting 30 s for the gateway (not-taken)',
    bar,
  ])
})

test('a bar that is full stays as a line, and the next export has one of its own', () => {
  const shown = display(80)
  night(shown)
  shown.progress.start('b.csv', { rows: 0, records: 0, share: 0 })
  expect(screen(shown.text(), 80)).toEqual([
    'Records go to https://gateway.example/api.',
    'waiting 30 s for the gateway (not-taken)',
    'acme_screening_20260302.csv.gz: 600,000 rows, 6,000,000 records in 600.0 s, 1,000 rows/s',
    ' 0 % [░░░░░░░░░░░░░░░░░░░░] 0 rows, 0 records, 0 rows/s, -:-- left  b.csv',
  ])
  shown.progress.stop()
  expect(screen(shown.text(), 80).at(-1)).toBe('')
})

test('it is drawn ten times a second at most', () => {
  const { at, progress, text } = display(80)
  progress.start(NAME, { rows: 0, records: 0, share: 0 })
  for (let tick = 1; tick <= 1_000; tick++) {
    at.ms += 1
    progress.advance({ rows: tick, records: tick, share: tick / 1_000 })
  }
  expect(text().split('\r')).toHaveLength(1 + 1 + 10)
})

test('without a terminal: a line every five seconds, and one at the end', () => {
  const shown = display(undefined)
  const { at, progress, text } = shown
  progress.start('a.csv', { rows: 0, records: 0, share: 0 })
  for (let tick = 1; tick <= 12; tick++) {
    at.ms += 1_000
    progress.advance({ rows: tick * 1_500, records: tick * 15_000, share: tick / 16 })
  }
  progress.note('waiting 5 s for the gateway (not-taken)')
  progress.end({ rows: 24_000, records: 240_000, share: 1 })
  expect(text()).toBe(`a.csv: 7,500 rows, 75,000 records, 31 %, 1,500 rows/s, 0:11 left
a.csv: 15,000 rows, 150,000 records, 62 %, 1,500 rows/s, 0:06 left
waiting 5 s for the gateway (not-taken)
a.csv: 24,000 rows, 240,000 records in 12.0 s, 2,000 rows/s
`)
})

test.each([80, undefined])(
  'a run that was interrupted goes on at its share, what was done before is no pace, and the sum has all rows (columns: %s)',
  (columns) => {
    const { at, progress, text } = display(columns)
    progress.start('a.csv', { rows: 500_000, records: 5_000_000, share: 0.5 })
    at.ms += 10_000
    progress.advance({ rows: 510_000, records: 5_100_000, share: 0.51 })
    expect(text()).toContain(
      columns === undefined ? 'a.csv: continues after 500,000 rows' : '50 % [█████░░░░░]',
    )
    expect(text()).toContain('1,000 rows/s, 8:10 left')
    progress.end({ rows: 520_000, records: 5_200_000, share: 1 })
    expect(text()).toMatch(/a\.csv: 520,000 rows, 5,200,000 records in 10\.0 s, 2,000 rows\/s\n$/)
  },
)

test.each([120, undefined])('of several exports, the one at work is named (columns: %s)', (columns) => {
  const { at, progress, text } = display(columns)
  progress.start('3 exports', { rows: 0, records: 0, share: 0, at: { name: 'a.csv', number: 1, of: 3 } })
  for (const [index, name] of ['a.csv', 'b.csv', 'c.csv'].entries()) {
    at.ms += 5_000
    const share = (index + 1) / 4
    progress.advance({ rows: 100, records: 100, share, at: { name, number: index + 1, of: 3 } })
    const last =
      columns === undefined ? (text().trimEnd().split('\n').at(-1) ?? '') : screen(text(), 120).at(-1)
    expect(last).toContain(name)
    expect(last).toContain(`${index + 1} of 3`)
  }
})

test('what is left is told by the last half minute: an outage is forgotten', () => {
  const { at, progress, text } = display(80)
  progress.start('a.csv', { rows: 0, records: 0, share: 0 })
  at.ms += 3_600_000
  progress.advance({ rows: 0, records: 0, share: 0 })
  for (let tick = 1; tick <= 60; tick++) {
    at.ms += 1_000
    progress.advance({ rows: tick * 100, records: tick * 100, share: tick / 100 })
  }
  expect(screen(text(), 80).at(-1)).toBe(
    '60 % [████████████░░░░░░░░] 6,000 rows, 6,000 records, 100 rows/s, 0:40 left',
  )
})

test('quiet says nothing', () => {
  const at = { ms: 0 }
  expect(() => night({ at, progress: NO_PROGRESS })).not.toThrow()
})

const WAIT = 'waiting for the gateway since 02:17, gives up at 02:47 UTC'

test('in a terminal what it waits for stands in the place of the bar, also below a line that is told meanwhile', () => {
  const shown = display(40)
  const { progress, text } = shown
  progress.start('a.csv', { rows: 0, records: 0, share: 0 })
  progress.wait(WAIT)
  expect(screen(text(), 40)).toEqual([WAIT.slice(0, 39)])
  progress.note('a warning')
  shown.at.ms += 5_000
  progress.advance({ rows: 2_500, records: 2_500, share: 0.5 })
  expect(screen(text(), 40)).toEqual(['a warning', WAIT.slice(0, 39)])
  progress.wait(undefined)
  expect(screen(text(), 40).at(-1)).toMatch(/^50 % 2,500 rows/)
})

test('without a terminal it is said once a minute while it lasts, the first time a minute after it began', () => {
  const { at, progress, text } = display(undefined)
  const waitFor = (seconds: number): void => {
    for (let tick = 0; tick < seconds; tick += 15) {
      progress.wait(WAIT)
      at.ms += 15_000
    }
    progress.wait(undefined)
  }
  waitFor(60)
  expect(text()).toBe('')
  waitFor(150)
  expect(text()).toBe(`${WAIT}\n${WAIT}\n`)
})

test.each([
  [1, '0:01'],
  [59, '0:59'],
  [60, '1:00'],
  [3_599, '59:59'],
  [3_600, '1:00:00'],
  [7_384, '2:03:04'],
])('%i seconds before the end: %s left', (seconds, left) => {
  const { at, progress, text } = display(60)
  progress.start('a.csv', { rows: 0, records: 0, share: 0 })
  at.ms += seconds * 1_000
  progress.advance({ rows: 1, records: 1, share: 0.5 })
  expect(text()).toContain(` ${left} left`)
})

test('the rate is that of the last half minute', () => {
  const { at, progress, text } = display(80)
  progress.start('a.csv', { rows: 0, records: 0, share: 0 })
  // 100 rows a second for a minute, then 10 a second for ten seconds: of the last 30 s, 2,000 and 100 rows.
  for (let second = 1; second <= 70; second++) {
    at.ms += 1_000
    const rows = 100 * Math.min(60, second) + 10 * Math.max(0, second - 60)
    progress.advance({ rows, records: rows, share: second / 100 })
  }
  expect(screen(text(), 80).at(-1)).toContain(' 70 rows/s')
})
