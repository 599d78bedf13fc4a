import { lstat, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS, versionOf } from '../../src/extract/content.ts'
import { type OpenExport, openExport } from '../../src/extract/open-export.ts'
import { csvDefinition } from '../../src/extract/read-definition.ts'
import type { LeftRow, Selection } from '../../src/ledger/ledger.ts'
import type { Row } from '../../src/model/row.ts'
import { assertReadWhole, openRows, selectRows } from '../../src/run/rows.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { IDENTITY } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { load } from '../transform/mapping-under-test.ts'

const ROWS = 40_000
const TEXT = `id,remark\n${Array.from({ length: ROWS }, (_, at) => `${at + 1},${'x'.repeat(at % 50)}\n`).join('')}`

async function openText(name: string, content: Buffer | string): Promise<OpenExport> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, name), content)
  return openExport(join(folder, name), csvDefinition.parse({ format: 'csv' }))
}

async function all(blocks: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const block of blocks) rows.push(...block)
  return rows
}

/** The places of rows, given by pages as the ledger does. */
const placesOf = (rows: readonly Row[], wanted: readonly number[]) => {
  const places: LeftRow[] = rows.filter(({ row }) => wanted.includes(row))
  return async (after: number, limit: number) =>
    places.filter(({ byteOffset }) => byteOffset > after).slice(0, Math.min(limit, 3))
}

/** Counts the rows that are read, and the readings. */
function counted(opened: OpenExport) {
  let read = 0
  let begun = 0
  async function* rows(from?: Parameters<OpenExport['rows']>[0]) {
    begun += 1
    for await (const block of opened.rows(from)) {
      read += block.length
      yield block
    }
  }
  return { opened: { ...opened, rows }, read: () => read, begun: () => begun }
}

const WANTED = [1, 2, 900, 901, 17_000, 39_999, 40_000]

test.each([
  ['plain', (text: string) => Buffer.from(text)],
  ['compressed', (text: string) => gzipSync(text)],
  ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
])('some rows of a %s file, from the first or from one of them', async (name, encode) => {
  const opened = await openText(name, encode(TEXT))
  const rows = await all(opened.rows())
  const selected = selectRows(opened, placesOf(rows, WANTED))
  const expected = rows.filter(({ row }) => WANTED.includes(row))
  expect(await all(selected.rows())).toEqual(expected)
  expect(await all(selected.rows(expected[3]))).toEqual(expected.slice(3))
  expect(await all(selectRows(opened, placesOf(rows, [])).rows())).toEqual([])
})

test('few rows of a plain file are read without the many between them', async () => {
  const whole = await openText('plain', TEXT)
  const places = placesOf(await all(whole.rows()), WANTED)
  const { opened, read } = counted(whole)
  expect(await all(selectRows(opened, places).rows())).toHaveLength(WANTED.length)
  expect(read()).toBeLessThan(ROWS / 10)
})

// A compressed file can be read from its beginning alone; of a plain one the 500 kB to row 17,000 and the 700 kB behind it are left out.
test.each([
  ['plain', (text: string) => Buffer.from(text), 3],
  ['compressed', (text: string) => gzipSync(text), 1],
] as const)('rows of a %s file that are near each other are read in one go', async (name, encode, times) => {
  const whole = await openText(name, encode(TEXT))
  const places = placesOf(await all(whole.rows()), WANTED)
  const { opened, begun } = counted(whole)
  expect(await all(selectRows(opened, places).rows())).toHaveLength(WANTED.length)
  expect(begun()).toBe(times)
})

test('a place at which no row stands is said to be none', async () => {
  const opened = await openText('plain', TEXT)
  const selected = selectRows(opened, async (after) =>
    after < 0 ? [{ row: 1, line: 2, byteOffset: 9_999_999 }] : [],
  )
  await expect(all(selected.rows())).rejects.toMatchObject({ code: 'export-changed' })
})

const PEOPLE = `mapping: people
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t } }
careTeams:
  seen: { when: { npi: present }, npi: npi, name: doctor }
`
/** Rows 1 to 5: what a run left of each. */
const LEFT = [undefined, 'rejected', 'in-doubt', 'rejected', undefined] as const

/** A run has left rows of an export; another one takes up its rows, and a third one those of the second. */
async function leftOf(kind: 'whole' | 'rejects') {
  const folder = await temporaryFolder()
  const ids = LEFT.map((_, at) => `person-${at + 1}`)
  const columns = 'id,npi,doctor'
  const ends = '_export,_exportId,_row,_line,_rule,_stage,_code,_reason,_raw'
  const lines = ids.map((id, at) => {
    const end = kind === 'whole' ? '' : `,a.csv,0123456789abcdef,0${at + 11},${at + 12},,submit,refused,r,`
    return `${id},1234567893,Test Practice${end}`
  })
  const text = [kind === 'whole' ? columns : `${columns},${ends}`, ...lines, ''].join('\n')
  const path = join(folder, 'a.csv')
  await writeFile(path, text)
  const ledger = await passingLedger()
  const first = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(first, { path, reading: kind })
  const exceptions = LEFT.flatMap((outcome, at) => {
    if (outcome === undefined) return []
    const place = {
      row: at + 1,
      line: at + 2,
      byteOffset: Buffer.byteLength(text.split(`${ids[at]},`)[0] ?? ''),
    }
    const record = { kind: 'careTeam', rule: 'seen', content: `000000000000000${at}`, batchId: null }
    return [{ ...place, ...record, outcome, stage: 'submit', code: 'refused', field: null, message: 'm' }]
  })
  await openChunk(first, exportRow, 1, LEFT.length)
  await settleChunk(first, exportRow, 1, { exceptions })
  const version = versionOf(await lstat(path, { bigint: true }))
  const openAs = async (runId: string, origin: number | undefined, selection: Selection) => {
    const runLedger = await beginRun(ledger, runId)
    const more = origin === undefined ? {} : ({ reading: 'selected', originExport: origin } as const)
    const at = await beginExport(runLedger, { path, ...(origin === undefined ? { reading: kind } : more) })
    const record = (await ledger.exports.find(at)) ?? expect.fail('no export')
    const context = {
      ledger,
      runLedger,
      identity: IDENTITY,
      startedAt: 0,
      origin: { run: 'run-1', selection },
    }
    const opened = await openRows(context, { ...record, path, version }, load(PEOPLE), DEFAULT_LIMITS)
    const outcomes = (await all(opened.opened.rows())).map((row) => opened.mapper(row))
    return {
      at,
      opened,
      rows: outcomes.map((one) => one.row),
      people: outcomes.map((one) => one.account?.reference),
    }
  }
  return { exportRow, openAs, path }
}

const idsOf = (...rows: readonly number[]): string[] => rows.map((row) => `person-${row}`)

test.each([
  ['whole', 0],
  ['rejects', 10],
] as const)(
  'rows that a run has left of a file read as %s are those of the selection, at their places',
  async (kind, by) => {
    const { exportRow, openAs } = await leftOf(kind)
    const read = async (runId: string, origin: number | undefined, selection: Selection) => {
      const { rows, people } = await openAs(runId, origin, selection)
      return { rows: rows.map((row) => row - by), people }
    }
    expect(await read('whole', undefined, 'rejected')).toEqual({
      rows: [1, 2, 3, 4, 5],
      people: idsOf(1, 2, 3, 4, 5),
    })
    expect(await read('rejected', exportRow, 'rejected')).toEqual({ rows: [2, 4], people: idsOf(2, 4) })
    expect(await read('doubt', exportRow, 'in-doubt')).toEqual({ rows: [3], people: idsOf(3) })
    expect(await read('both', exportRow, 'left-behind')).toEqual({ rows: [2, 3, 4], people: idsOf(2, 3, 4) })
    // Nothing is left of the rows taken up by another run.
    const { at } = await openAs('second', exportRow, 'rejected')
    expect(await read('third', at, 'rejected')).toEqual({ rows: [], people: [] })
  },
)

const NOW = Date.UTC(2026, 2, 5)
const TWO_RULES = `${PEOPLE}  also: { when: { npi: present }, npi: npi, name: doctor, city: { constant: Springfield } }
`

test('of rows that a person decided on, the decided contents alone are read: neither other records nor rejects', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'a.csv')
  await writeFile(
    path,
    'id,npi,doctor\none,1234567893,Test\n,1234567893,Test\nthree,123,Test\ntwo,1234567893,Test\n',
  )
  const mapping = load(TWO_RULES)
  const read = csvDefinition.parse({ format: 'csv' })
  const rows = await all((await openExport(path, read)).rows())
  const [first] = rows.map(mapping.compiled.bind(['id', 'npi', 'doctor'], 'a.csv', NOW))
  const [seen] = first?.outcome === 'mapped' ? first.records : []
  const content = IDENTITY.content(seen ?? expect.fail('no record'))
  const ledger = await passingLedger()
  const origin = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(origin, { path })
  const left = { kind: 'careTeam', rule: 'seen', batchId: null, outcome: 'in-doubt' } as const
  const why = { stage: 'submit', code: 'no-answer', field: null, message: 'm' }
  const exceptions = rows.map(({ row, line, byteOffset }, at) => {
    const own = at === 0 ? content : `000000000000000${at}`
    return { ...left, ...why, row, line, byteOffset, content: own }
  })
  await openChunk(origin, exportRow, 1, rows.length)
  await settleChunk(origin, exportRow, 1, { exceptions })
  const doubts = await ledger.left.inDoubt('run-1', 0, 9)
  const runLedger = await beginRun(ledger, 'run-2')
  const decisions = doubts.map(({ id }) => ({ exception: id, event: 'resend' as const }))
  await runLedger.rule({ run: 'run-2', decisions, released: [] }, 0)
  const id = await beginExport(runLedger, { path, reading: 'selected', originExport: exportRow })
  const record = (await ledger.exports.find(id)) ?? expect.fail('no export')
  const version = versionOf(await lstat(path, { bigint: true }))
  const context = {
    ledger,
    runLedger,
    identity: IDENTITY,
    startedAt: NOW,
    origin: { selection: 'decided' },
  } as const
  const { opened, mapper } = await openRows(context, { ...record, version }, mapping, DEFAULT_LIMITS)
  const outcomes = (await all(opened.rows())).map(mapper)
  expect(
    outcomes.map((one) => [
      one.row,
      one.outcome,
      ...(one.outcome === 'mapped' ? [one.records.map(({ rule }) => rule), one.rejected] : []),
    ]),
  ).toEqual([
    [1, 'mapped', ['seen'], []],
    [2, 'rejected'],
    [3, 'mapped', [], []],
    [4, 'mapped', [], []],
  ])
})

test('a file that changes while it is read, or has no rows, was not read whole', async () => {
  const { openAs, path } = await leftOf('whole')
  const { opened } = await openAs('run-2', undefined, 'rejected')
  const at = { name: 'a.csv', path }
  const counts = (read: number) => ({ rows: { read } }) as Parameters<typeof assertReadWhole>[2]
  await assertReadWhole(opened.opened, at, counts(1))
  await expect(assertReadWhole(opened.opened, at, counts(0))).rejects.toMatchObject({ code: 'export-empty' })
  await writeFile(path, `${await readFile(path, 'utf8')}more\n`)
  await expect(assertReadWhole(opened.opened, at, counts(1))).rejects.toMatchObject({
    code: 'export-changed',
  })
})
