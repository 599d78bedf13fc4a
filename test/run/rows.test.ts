import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type OpenExport, openExport } from '../../src/extract/open-export.ts'
import { csvDefinition } from '../../src/extract/read-definition.ts'
import type { LeftRow } from '../../src/ledger/ledger.ts'
import type { Row } from '../../src/model/row.ts'
import { selectRows } from '../../src/run/rows.ts'
import { temporaryFolder } from '../temporary-folder.ts'

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

/** Counts the rows that are read. */
function counted(opened: OpenExport): { opened: OpenExport; read: () => number } {
  let read = 0
  async function* rows(from?: Parameters<OpenExport['rows']>[0]) {
    for await (const block of opened.rows(from)) {
      read += block.length
      yield block
    }
  }
  return { opened: { ...opened, rows }, read: () => read }
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

test('a place at which no row stands is said to be none', async () => {
  const opened = await openText('plain', TEXT)
  const selected = selectRows(opened, async (after) =>
    after < 0 ? [{ row: 1, line: 2, byteOffset: 9_999_999 }] : [],
  )
  await expect(all(selected.rows())).rejects.toMatchObject({ code: 'export-changed' })
})
