/** Reading ahead for drift: how far, for which rules, and what of it stops an export or is kept. */
import { expect, test } from 'vitest'
import { DriftDefinition } from '../../src/definitions/job-definition.ts'
import type { OpenExport } from '../../src/extract/open-export.ts'
import type { ProfileStart } from '../../src/ledger/run-ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Row } from '../../src/model/row.ts'
import { watchDrift } from '../../src/watch/drift-watch.ts'
import { createProfiler } from '../../src/watch/export-profile.ts'
import { load, NOW } from '../transform/mapping-under-test.ts'

const MAPPING = load(`mapping: tried
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }, source: { name: N, type: t } }
biometrics: { body-weight: weight }
`)
const COLUMNS = ['id', 'day', 'weight', 'note']
const BLOCK = 500

/** Rows of people of 70 to 89 kg, or of as much as is given. */
const rowsOf = (count: number, weight: (at: number) => string = (at) => `${70 + (at % 20)}`): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    ...{ row: at + 1, line: at + 2, byteOffset: 0, kind: 'cells' },
    cells: [`p${at}`, `2026-02-${10 + (at % 9)}`, weight(at), 'x'],
  }))

/** An export that counts the rows that are read of it. */
function opened(rows: readonly Row[], columns = COLUMNS) {
  let readings: number[] = []
  const open: OpenExport = {
    columns,
    seekable: true,
    share: () => 0,
    assertUnchanged: async () => {},
    controlTotal: async () => undefined,
    async *rows() {
      const at = readings.push(0) - 1
      for (let from = 0; from < rows.length; from += BLOCK) {
        const block = rows.slice(from, from + BLOCK)
        readings = readings.with(at, (readings[at] ?? 0) + block.length)
        yield block
      }
    },
  }
  return { open, readings: () => readings }
}

const mapped = (rows: readonly Row[]) => {
  const map = MAPPING.compiled.bind(COLUMNS, 'export.csv', NOW)
  return rows.map((source) => ({ source, outcome: map(source) }))
}

function contentOf(rows: readonly Row[], columns = COLUMNS): string {
  const profiler = createProfiler(MAPPING, columns)
  for (const { source, outcome } of mapped(rows)) profiler.add(source, outcome)
  return JSON.stringify(profiler.profile())
}

interface Memory {
  readonly rules?: object
  readonly accept?: boolean
  readonly mayStop?: boolean
  readonly whole?: boolean
  readonly earlier?: readonly string[]
  readonly known?: string
}

/** A watch with what it has written: findings, and profiles. */
async function watching({ rules = {}, earlier = USUAL, known = 'none', ...more }: Memory = {}) {
  const noted: { measure: string; level: string }[][] = []
  const saved: ProfileStart[] = []
  const asked: unknown[] = []
  const ledger = {
    profiles: {
      has: async (_: unknown, sha256: string) => sha256 === known,
      latest: async (...given: unknown[]) => {
        asked.push(given)
        return earlier.map((content) => ({ accepted: false, content }))
      },
    },
  }
  const memory = { job: 'night', rules: DriftDefinition.parse(rules), ledger, now: NOW }
  const watch = await watchDrift(
    { ...{ accept: false, mayStop: true, whole: true }, ...memory, ...more },
    MAPPING,
    'this',
  )
  const notes = {
    noteDrift: async (_: number, drift: string) => void noted.push(JSON.parse(drift)),
    saveProfile: async (_: number, profile: ProfileStart) => void saved.push(profile),
  }
  return { watch, notes, noted, saved, asked }
}

const USUAL = [contentOf(rowsOf(100)), contentOf(rowsOf(110)), contentOf(rowsOf(90))]
const OFF = {
  empty: 'off',
  mix: 'off',
  skipped: 'off',
  values: 'off',
  rejects: 'off',
  fit: 'off',
  checks: 'off',
}
const levels = (found: readonly { measure: string; level: string }[]): string[] =>
  found.map(({ measure, level }) => `${level} ${measure}`)

test('nothing is watched where the job compares nothing, or where this very content is known', async () => {
  expect((await watching({ rules: { ...OFF, columns: 'off', rows: 'off' } })).watch).toBeUndefined()
  expect((await watching({ known: 'this' })).watch).toBeUndefined()
  const { watch, asked } = await watching()
  expect(watch).toBeDefined()
  expect(asked).toEqual([[{ job: 'night', mapping: 'tried' }, 20]])
})

const STOPS = { ...OFF, columns: 'warn', rows: 'off' }
test.each<[what: string, memory: Memory, returned: number | undefined, readings: number[]]>([
  ['warnings alone', { rules: { values: 'off', rejects: 'off' } }, undefined, []],
  ['a stop for rows', { rules: { ...STOPS, rows: { stop: '80%' } } }, 2_600, [2_600]],
  ['a stop for empty values', { rules: { ...STOPS, empty: { stop: '50%' } } }, 2_600, [2_600]],
  ['a stop for the mix', { rules: { ...STOPS, mix: { stop: '50%' } } }, 2_600, [2_600]],
  ['a stop for skipped rows', { rules: { ...STOPS, skipped: { stop: '50%' } } }, 2_600, [2_600]],
  ['a stop for suspicions', { rules: { ...STOPS, fit: 'stop' }, earlier: [] }, 2_600, [2_600]],
  ['a stop for columns of CSV', { rules: { ...STOPS, columns: 'stop' } }, undefined, []],
  ['a stop for medians', { rules: { ...STOPS, values: { stop: '50%' } } }, undefined, [2_000]],
  ['a stop for rejects', { rules: { ...STOPS, rejects: { stop: '50%' } } }, undefined, [2_000]],
  ['both', { rules: { ...STOPS, rejects: { stop: '50%' }, rows: { stop: '80%' } } }, 2_600, [2_000, 2_600]],
  [
    'too few deliveries for a stop',
    { rules: { rows: { stop: '80%' } }, earlier: USUAL.slice(1) },
    undefined,
    [],
  ],
  ['a job that accepts', { rules: { rows: { stop: '80%' }, fit: 'stop' }, accept: true }, undefined, []],
  [
    'a run that may not stop',
    { rules: { rows: { stop: '80%' }, fit: 'stop' }, mayStop: false },
    undefined,
    [],
  ],
  ['a part of the rows', { rules: { rows: { stop: '80%' }, fit: 'stop' }, whole: false }, undefined, []],
])('read ahead for %s: as far as need be', async (_, memory, returned, read) => {
  const { watch } = await watching(memory)
  const { open, readings } = opened(rowsOf(2_600))
  expect(await watch?.readAhead(open, 'export.csv')).toBe(returned)
  expect(readings()).toEqual(read)
})

test('columns that changed are compared by their first thousand values, and say so once', async () => {
  const named = ['id', 'day', 'weight', 'remark']
  const { watch, noted, notes } = await watching({ rules: { ...OFF, rows: 'off' } })
  const { open, readings } = opened(rowsOf(2_600), named)
  await watch?.readAhead(open, 'export.csv')
  expect(readings()).toEqual([1_000])
  await watch?.begin(notes, 1)
  expect(noted.map(levels)).toEqual([['warn columns']])
  const { watch: other } = await watching({ rules: { ...OFF, rows: 'off' } })
  const lacking = ['id', 'day', 'mass', 'note']
  await expect(other?.readAhead(opened(rowsOf(10), lacking).open, 'export.csv')).rejects.toMatchObject({
    code: 'columns-missing',
  })
})

const heavy = (count: number): Row[] => rowsOf(count, (at) => `${170 + (at % 20)}`)

test('a stop that shows ahead stops the export, with its finding; what shows later warns', async () => {
  const rules = { ...OFF, rows: { warn: '50%', stop: '50%' }, values: { stop: '50%' } }
  const { watch } = await watching({ rules })
  await watch?.readAhead(opened(heavy(200)).open, 'export.csv')
  const refusal = await Promise.resolve()
    .then(() => watch?.assertAllowed('export.csv', '/in/export.csv'))
    .catch((error: unknown) => error)
  if (!(refusal instanceof WaybillError)) return expect.fail('was allowed')
  expect(refusal).toMatchObject({ code: 'export-drifted', place: { file: '/in/export.csv' } })
  expect(refusal.findings.map(({ message }) => message)).toEqual([
    'values: the median of body-weight is 179, usually 79 (2.27 times)',
    'rows: 200, usually 100',
  ])
  expect(refusal.message).toMatch(/allows: values: .*; rows: 200, usually 100$/)

  const late = await watching({ rules: { ...OFF, rows: 'off', values: { stop: '50%' } } })
  await late.watch?.readAhead(opened(rowsOf(200)).open, 'export.csv')
  late.watch?.assertAllowed('export.csv', '/in/export.csv')
  await late.watch?.begin(late.notes, 1)
  expect(late.noted).toEqual([])
  late.watch?.look(mapped(heavy(200)))
  expect(levels((await late.watch?.end(late.notes, 1)) ?? [])).toEqual(['warn values'])
  expect(late.noted.map(levels)).toEqual([['warn values']])
})

test('of many findings ten are named in the error, all beside it', async () => {
  const { watch } = await watching({ earlier: [] })
  for (let at = 0; at < 12; at++) watch?.note({ measure: 'end', level: 'stop', message: `finding ${at}` })
  const refusal = await Promise.resolve()
    .then(() => watch?.assertAllowed('export.csv', '/in'))
    .catch((error: unknown) => error)
  expect(refusal).toMatchObject({ message: expect.stringMatching(/end: finding 9; and 2 more$/) })
  expect(refusal instanceof WaybillError && refusal.findings).toHaveLength(12)
})

test.each<[string, Memory]>([
  ['a job that accepts', { accept: true }],
  ['a run that may not stop', { mayStop: false }],
])('%s is not stopped, and the profile keeps what was accepted', async (_, more) => {
  const rules = { ...OFF, rows: { warn: '50%', stop: '50%' } }
  const { watch, notes, noted, saved } = await watching({ rules, ...more })
  await watch?.readAhead(opened(rowsOf(200)).open, 'export.csv')
  watch?.assertAllowed('export.csv', '/in/export.csv')
  watch?.look(mapped(rowsOf(200)))
  const level = more.accept === true ? 'accepted' : 'stop'
  expect(levels((await watch?.end(notes, 7)) ?? [])).toEqual([`${level} rows`])
  expect(noted.map(levels)).toEqual([[`${level} rows`]])
  expect(saved).toMatchObject([
    { job: 'night', mapping: 'tried', sha256: 'this', accepted: more.accept === true },
  ])
  expect(JSON.parse(saved[0]?.content ?? '')).toEqual(JSON.parse(contentOf(rowsOf(200))))
})

test('a usual export is accepted for nothing, and its profile is kept once', async () => {
  const { watch, notes, noted, saved } = await watching({ accept: true })
  await watch?.readAhead(opened(rowsOf(100)).open, 'export.csv')
  await watch?.begin(notes, 1)
  watch?.look(mapped(rowsOf(100)))
  expect(watch?.compare()).toEqual([])
  await watch?.end(notes, 1)
  expect([noted, saved]).toMatchObject([[], [{ accepted: false }]])
})

test('an export that was read ahead whole is kept at its begin, and compared no more', async () => {
  const { watch, notes, saved, noted } = await watching({ rules: { fit: 'stop' } })
  await watch?.readAhead(opened(rowsOf(100)).open, 'export.csv')
  await watch?.begin(notes, 1)
  expect([saved.length, noted]).toEqual([1, []])
  watch?.look(mapped(heavy(300)))
  expect(await watch?.end(notes, 1)).toEqual([])
  expect(saved).toHaveLength(1)
})

test('some of the rows are compared by their columns alone, and not kept', async () => {
  const { watch, notes, saved, noted } = await watching({ whole: false })
  await watch?.readAhead(opened(heavy(300)).open, 'export.csv')
  await watch?.begin(notes, 1)
  watch?.look(mapped(heavy(300)))
  expect(await watch?.end(notes, 1)).toEqual([])
  expect([saved, noted]).toEqual([[], []])
})

test('rows that an earlier process had settled count, and findings from elsewhere stay', async () => {
  const { watch, notes, saved, noted } = await watching({ rules: OFF })
  const rows = rowsOf(1_600)
  const { open, readings } = opened(rows)
  await watch?.catchUp(open, 'export.csv', 700)
  expect(readings()).toEqual([1_000])
  watch?.note({ measure: 'end', level: 'warn', message: 'the end is odd' })
  watch?.look(mapped(rows.slice(700)))
  expect(levels((await watch?.end(notes, 1)) ?? [])).toEqual(['warn end', 'warn rows'])
  expect(JSON.parse(saved[0]?.content ?? '')).toMatchObject({ rows: 1_600, taken: 1_600 })
  expect(noted.map(levels)).toEqual([['warn end', 'warn rows']])
  const none = opened(rows)
  const { watch: other } = await watching()
  await other?.catchUp(none.open, 'export.csv', 0)
  await other?.catchUp(none.open, 'export.csv', 500)
  // The block that has the last settled row is the last that is read.
  expect(none.readings()).toEqual([500])
})
