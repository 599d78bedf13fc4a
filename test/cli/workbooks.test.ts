/** A vendor delivers a workbook every night. */
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import { texts, workbookBytes, worksheet } from '../extract/workbook-file.ts'
import { CLINIC, GOOD, openClinic, rejectsOf } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { readRejects } from './run-outputs.ts'

const MAPPING = CLINIC.replace('{ format: csv }', '{ format: xlsx, sheet: Results, header: { line: 3 } }')
const JOB = 'exports: { from: ../inbox, match: "*.xls*" }\nmapping: clinic\naccounts: { register: never }\n'
const FORMATS = ['00000', 14]

interface Visit {
  readonly line: number
  readonly id: string
  readonly pulse: string
  readonly hidden?: boolean
}

/** Day 46083 is 2 March 2026. */
const visit = ({ line, id, pulse, hidden = false }: Visit, a1c: string, weight: string): string =>
  `<row r="${line}"${hidden ? ' hidden="1"' : ''}><c r="A${line}" t="str"><v>${id}</v></c><c r="B${line}" s="2"><v>46083</v></c>${pulse}<c r="D${line}"><v>${a1c}</v></c><c r="E${line}"><v>${weight}</v></c><c r="F${line}" t="str"><v>kg</v></c></row>`

const number = (line: number, value: string): string => `<c r="C${line}"><v>${value}</v></c>`
const HEAD = texts(1, 'Acme screenings') + texts(3, 'id', 'day', 'pulse', 'a1c', 'weight', 'unit')
const ANN = visit({ line: 4, id: 'ann', pulse: number(4, '61') }, '5.0999999999999996', '70.5')
const BEN = visit({ line: 6, id: 'ben', pulse: number(6, '62'), hidden: true }, '5.2', '71.5')
const DAN = visit(
  { line: 5, id: 'dan', pulse: '<c r="C5" t="e"><f>1/0</f><v>#DIV/0!</v></c>' },
  '5.4',
  '73.5',
)

const workbook = (rows: string): Promise<Buffer> =>
  workbookBytes({
    sheets: { Notes: texts(1, 'Made by Acme'), Results: worksheet(HEAD + rows) },
    formats: FORMATS,
  })

test('a workbook is run; the rejects are CSV, which is corrected and run; a record is traced to sheet and row', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  await clinic.deliver('day.xlsx', await workbook(ANN + DAN + BEN))
  const ended = await clinic.run()
  const before = summaryOf(ended)
  expect([ended.code, before.balanced]).toEqual([1, true])
  expect(before.records.biometric).toMatchObject({ made: 9, accepted: 8, rejected: 1 })
  expect(ended.err).toContain('1 rows are hidden')
  expect(await rejectsOf(before)).toEqual(['line 5 heart-rate cell-error'])
  const dan = ['dan body-weight 73.5', 'dan hba1c 5.4']
  expect(await clinic.stored()).toEqual([...GOOD, ...dan].sort())

  const file = before.exports[0]?.rejects ?? ''
  expect(file).toMatch(/1-day\.rejects\.csv$/)
  const [line] = await readRejects(file)
  expect(line).toMatchObject({ id: 'dan', day: '2026-03-02', pulse: '#DIV/0!', _line: '5', _row: '2' })

  // Uncorrected, it is rejected for the same reason.
  const same = join(clinic.workplace.folder, 'same.csv')
  await copyFile(file, same)
  expect(await rejectsOf(summaryOf(await clinic.run('--file', same)))).toEqual([
    'line 5 heart-rate cell-error',
  ])

  const corrected = join(clinic.workplace.folder, 'corrected.csv')
  await writeFile(corrected, (await readFile(file, 'utf8')).replace('#DIV/0!', '64'))
  const after = await clinic.run('--file', corrected)
  expect([after.code, summaryOf(after).records.biometric]).toMatchObject([0, { made: 1, accepted: 1 }])
  expect(await clinic.stored()).toEqual([...GOOD, ...dan, 'dan heart-rate 64'].sort())

  const ids = (await clinic.store.records('biometric')).map((one) => one.source.meta.persistentRecordId)
  const weight = ids.find((id) => id.includes('-000003-body-weight-')) ?? ''
  const traced = await clinic.workplace.waybill('trace', weight)
  expect(traced.out).toContain('Row          3, row 6 of the sheet Results of ')
  const row = await clinic.workplace.waybill('trace', '--row', 'day.xlsx:Results!6', '--json')
  expect(JSON.parse(row.out)).toMatchObject({ row: 3, records: { length: 3 } })
  const none = await clinic.workplace.waybill('trace', '--row', 'day.xlsx:Results!7')
  expect(none.code).toBe(2)

  // The same again, and with one value changed.
  await clinic.deliver('again.xlsx', await workbook(ANN + BEN))
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 0 })
  await clinic.deliver('new.xlsx', await workbook(ANN.replace('70.5', '69.5') + BEN))
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1 })
})

test('a workbook within an archive is read; what nobody can tell holds back the workbook alone', async () => {
  const job = JOB.replace('"*.xls*"', '"*", members: "*.xls*"')
  const clinic = await openClinic({ mapping: MAPPING, job })
  const archive = new ZipFile()
  archive.addBuffer(await workbook(ANN), 'ann.xlsx')
  archive.addBuffer(await workbook(BEN + texts(8, 'Total', '', '62')), 'ben.xlsx')
  archive.end()
  await clinic.deliver('night.zip', await buffer(archive.outputStream))
  const ended = await clinic.run()
  expect(ended.code).toBe(1)
  expect(ended.err).toMatch(/Row 8 of the sheet seems to be a line of totals.*read\.below: nothing/s)
  expect(await clinic.stored()).toEqual(['ann body-weight 70.5', 'ann hba1c 5.1', 'ann heart-rate 61'])
})

test('mapping init finds sheet and header; check, preview and test read what it has drafted', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  const header =
    texts(1, 'Acme screenings') + texts(3, 'Employee ID', 'Screening Date', 'Systolic', 'Diastolic', 'HbA1c')
  const rows = Array.from({ length: 30 }, (_, at) => {
    const line = at + 4
    return `<row r="${line}"><c r="A${line}" s="1"><v>${at * 37 + 11}</v></c><c r="B${line}" s="2"><v>${46080 + (at % 3)}</v></c><c r="C${line}"><v>${110 + at}</v></c><c r="D${line}"><v>${70 + (at % 15)}</v></c><c r="E${line}"><v>${(50 + at) / 10}</v></c></row>`
  })
  const below = texts(36, 'Total', '', '', '', '30')
  const sample = await clinic.deliver(
    'acme.xlsx',
    await workbookBytes({
      sheets: { Notes: texts(1, 'Made by Acme'), Results: worksheet(header + rows.join('') + below) },
      formats: FORMATS,
    }),
  )
  const init = await clinic.workplace.waybill('mapping', 'init', sample, '--name', 'acme')
  expect(init.code).toBe(0)
  const file = join(clinic.workplace.folder, 'mappings/acme.yaml')
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(
    /read:\n {2}format: xlsx\n {2}sheet: Results\n {2}header: \{ line: 3 \}\n {2}below: nothing\n/,
  )
  for (const part of [
    'several sheets have content',
    'below the table',
    'systolic-bp: Systolic',
    'format: ISO',
  ])
    expect(text).toContain(part)
  expect(text).not.toContain('EXCEL')
  const check = await clinic.workplace.waybill('mapping', 'check', 'acme', '--export', sample)
  expect(check.out).toContain('read 30 = mapped 30')
  expect(check.out).toContain('Sheet    1 rows below the table are not read')
  const preview = await clinic.workplace.waybill('mapping', 'preview', 'acme', sample, '--row', '1')
  expect(preview.out).toContain('00011')
  expect(preview.err).toContain('The sheet: 1 rows below the table are not read because of read.below.\n')
  expect((await clinic.workplace.waybill('mapping', 'test', 'acme')).code).toBe(0)
})

test('drift: a column that is gone stops nothing and is told; what is no workbook is named', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  await clinic.deliver('a.xlsx', await workbook(ANN + BEN))
  expect((await clinic.run()).code).toBe(0)
  const more = HEAD.replace('<t xml:space="preserve">unit</t></is></c>', '$&<c t="str"><v>remark</v></c>')
  await clinic.deliver(
    'b.xlsx',
    await workbookBytes({ sheets: { Results: worksheet(more + ANN + BEN) }, formats: FORMATS }),
  )
  expect((await clinic.run()).err).toContain('new: "remark"')
  await clinic.deliver('c.xls', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2000)]))
  const old = await clinic.run()
  expect([old.code, old.err]).toEqual([1, expect.stringContaining('Excel 97 to 2003 (.xls)')])
})
