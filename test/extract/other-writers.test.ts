/** Workbooks that other programs wrote (test/extract/workbooks/README.md says how). */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { brief, collect } from './export-file.ts'
import { xlsx } from './workbook-file.ts'

const FOLDER = join(import.meta.dirname, 'workbooks')
const DOUBLED = ['10.2', '12.2', '14.2']
const row = (at: number, double: string) => [
  `000${11 + 37 * at}`.slice(-5),
  `2026-03-0${2 + at}`,
  `2026-03-0${2 + at}T08:30:00`,
  `07:0${5 + at}:00`,
  `${5 + at}.1`,
  '0.055',
  at % 2 === 0 ? 'TRUE' : 'FALSE',
  `n\u00f6te ${at}`,
  double,
]
const WHOLE = [0, 1, 2].map((at) => row(at, DOUBLED[at] ?? ''))
/** openpyxl computes no formula. */
const NOT_COMPUTED = [0, 1, 2].map((at) => row(at, '#NOT-COMPUTED!'))
const NARROW = WHOLE.map((cells) => [cells[0], cells[1], cells[4]])

describe('workbooks of', () => {
  test.each([
    ['openpyxl.xlsx', NOT_COMPUTED, 0],
    ['openpyxl-1904.xlsx', NOT_COMPUTED, 2],
    ['openpyxl-streamed.xlsx', NARROW, 0],
    ['exceljs.xlsx', WHOLE, 1],
    ['exceljs-streamed.xlsx', NARROW, 0],
    ['sheetjs.xlsx', WHOLE, 0],
    ['sheetjs.xlsm', WHOLE, 0],
  ])('%s', async (name, rows, notes) => {
    const opened = await openExport(join(FOLDER, name), xlsx())
    expect((await collect(opened.rows())).map(brief)).toEqual(rows)
    expect(opened.notes).toHaveLength(notes)
  })

  test.each([
    ['sheetjs.xls', 'Excel 97 to 2003 (.xls)'],
    ['sheetjs.xlsb', '.xlsb'],
    ['sheetjs.ods', '.ods'],
  ])('%s is named', async (name, words) => {
    await expect(openExport(join(FOLDER, name), xlsx())).rejects.toThrow(words)
  })

  test('all of them are tried', async () => {
    expect((await readdir(FOLDER)).filter((name) => !name.endsWith('.md'))).toHaveLength(10)
  })
})
