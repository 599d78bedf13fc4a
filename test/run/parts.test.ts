/** Whose rows a part has, and how the files of parts become one. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createIdentity } from '../../src/model/ids.ts'
import type { CsvRow, Row } from '../../src/model/row.ts'
import { createStopWhen } from '../../src/run/chunks.ts'
import { faultOf, faultText, joinFiles, ownRows, removeJoined } from '../../src/run/parts.ts'
import { openAppended } from '../../src/run/receipts.ts'
import type { RowMapper } from '../../src/transform/compile.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { mappedRow } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const rowsOf = (people: readonly string[]): CsvRow[] =>
  people.map((person, at) => ({
    ...({ kind: 'cells', row: at + 1, line: at + 2, byteOffset: at * 10 } as const),
    cells: [person],
  }))

/** The person is the first cell; nobody if empty. */
const mapper: RowMapper = (row: Row) => {
  const { row: ordinal, line, byteOffset } = row
  const reference = row.kind === 'cells' ? (row.cells[0] ?? '') : ''
  if (reference !== '') return mappedRow([], { row: ordinal, person: reference })
  const issue = { stage: 'transform', code: 'account-missing', message: 'nobody' } as const
  return { row: ordinal, line, byteOffset, outcome: 'rejected', issue }
}

async function* inBlocks(rows: readonly CsvRow[]) {
  for (let at = 0; at < rows.length; at += 3) yield rows.slice(at, at + 3)
}

async function partsOf(people: readonly string[], of: number, key = 'key'): Promise<string[][]> {
  const identity = createIdentity(key)
  const parts: string[][] = []
  for (let number = 0; number < of; number++) {
    const own: string[] = []
    const part = { exportRow: 1, number, of }
    for await (const block of ownRows(inBlocks(rowsOf(people)), mapper, identity, part))
      for (const row of block) own.push(row.kind === 'cells' ? (row.cells[0] ?? '') : '')
    parts.push(own)
  }
  return parts
}

test('each row is in one part, in the order of the export; a person is in one part, and nobody in the first', async () => {
  const person = fc.integer({ min: 0, max: 20 }).map((at) => (at === 0 ? '' : `p${at}`))
  await fc.assert(
    fc.asyncProperty(
      fc.array(person, { maxLength: 60 }),
      fc.integer({ min: 2, max: 16 }),
      async (people, of) => {
        const parts = await partsOf(people, of)
        expect(parts.flat().sort()).toEqual([...people].sort())
        for (const one of new Set(people)) {
          const [where, ...more] = parts.flatMap((part, number) => (part.includes(one) ? number : []))
          expect(more).toEqual([])
          if (one === '') expect(where).toBe(0)
        }
        expect(await partsOf(people, of)).toEqual(parts)
      },
    ),
    { numRuns: 30 },
  )
})

test('people are spread over all parts, otherwise under another key', async () => {
  const people = Array.from({ length: 400 }, (_, at) => `p${at}`)
  const parts = await partsOf(people, 4)
  for (const part of parts) expect(part.length).toBeGreaterThan(60)
  expect(await partsOf(people, 4, 'another key')).not.toEqual(parts)
})

test('the files of parts become one, in their order, as far as they are settled', async () => {
  const home = await temporaryFolder()
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run, { name: 'day.csv' })
  await run.openParts(exportRow, 3)
  const record = (await ledger.exports.find(exportRow)) ?? expect.fail('no export')
  const rejectsFolder = join(home, 'rejects/run-1')
  await mkdir(rejectsFolder, { recursive: true })
  const header = '"a\nb",_row\n'
  const rejectsOf = ['', `${header}x,1\n`, `${header}y,2\n`]
  const unsettled = 'not settled'
  for (const [number, rejects] of rejectsOf.entries()) {
    const lease = { ...run.lease, part: { exportRow, number, of: 3 } }
    const part = ledger.runs.ofPart(lease, run.tallies)
    const receipts = gzipSync(`receipt ${number}\n`)
    const name = join(rejectsFolder, `1-day.part-${number + 1}`)
    if (rejects !== '') await writeFile(`${name}.rejects.csv`, rejects + unsettled)
    await writeFile(
      join(rejectsFolder, `1.part-${number + 1}.receipts.ndjson.gz`),
      Buffer.concat([receipts, Buffer.from(unsettled)]),
    )
    await openChunk(part, exportRow, number + 1, 1)
    const counts = JSON.stringify(noCounts())
    const lengths = { counts, rejectsLength: rejects.length, receiptsLength: receipts.length }
    await settleChunk(part, exportRow, number + 1, lengths)
  }
  const receipts = openAppended(home, join(home, 'receipts.ndjson.gz'), 0, async () => {})
  const joining = { ledger, assertHeld: async () => {}, home, rejectsFolder }
  // A part that has ended the run has a sample of held-back rows behind those that are settled.
  const failed = { ...run.lease, part: { exportRow, number: 2, of: 3 } }
  await ledger.runs.ofPart(failed, run.tallies).endPart('failed', '{}')
  const remove = await joinFiles(joining, record, receipts)
  await receipts.close()
  expect(await readFile(join(rejectsFolder, '1-day.rejects.csv'), 'utf8')).toBe(
    `${header}x,1\ny,2\n${unsettled}`,
  )
  const joined = gunzipSync(await readFile(join(home, 'receipts.ndjson.gz'))).toString()
  expect(joined).toBe('receipt 0\nreceipt 1\nreceipt 2\n')
  await remove()
  expect(await readdir(rejectsFolder)).toEqual(['1-day.rejects.csv'])
})

test('files larger than the pieces in which they are copied lose no line, and no byte behind what is settled', async () => {
  const home = await temporaryFolder()
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run, { name: 'day.csv' })
  await run.openParts(exportRow, 2)
  const record = (await ledger.exports.find(exportRow)) ?? expect.fail('no export')
  const rejectsFolder = join(home, 'rejects')
  await mkdir(rejectsFolder)
  const line = `${'x'.repeat(1_023)}\n`
  const settled = `header\n${line.repeat(4 * 1024 + 1)}`
  for (const number of [0, 1]) {
    const part = ledger.runs.ofPart({ ...run.lease, part: { exportRow, number, of: 2 } }, run.tallies)
    await writeFile(join(rejectsFolder, `1-day.part-${number + 1}.rejects.csv`), `${settled}not settled`)
    await openChunk(part, exportRow, number + 1, 1)
    const counts = JSON.stringify(noCounts())
    await settleChunk(part, exportRow, number + 1, { counts, rejectsLength: settled.length })
  }
  const receipts = openAppended(home, join(home, 'receipts.ndjson.gz'), 0, async () => {})
  const remove = await joinFiles(
    { ledger, assertHeld: async () => {}, home, rejectsFolder },
    record,
    receipts,
  )
  const rejects = join(rejectsFolder, '1-day.rejects.csv')
  expect((await stat(rejects)).size).toBe(2 * settled.length - 'header\n'.length)
  // Without rejects of other exports, nothing is left of the folder.
  await rm(rejects)
  await remove()
  expect(await readdir(home)).toEqual([])
})

test('an error of a part is told with its number, unless the whole export is concerned', () => {
  const fault = faultText(new WaybillError('disk-full', 'no room', { remedy: 'Make room.' }))
  const part = {
    number: 1,
    fault,
    tallies: expect.anything(),
    receiptsLength: 0,
    takes: 1,
    rows: expect.anything(),
  }
  expect(faultOf({ ...part, state: 'stopped' }, 4)).toMatchObject({
    code: 'disk-full',
    message: 'part 2 of 4: no room',
    remedy: 'Make room.',
  })
  expect(faultOf({ ...part, state: 'failed' }, 4)).toMatchObject({ message: 'no room' })
  expect(faultOf({ ...part, state: 'settled', fault: null }, 4)).toBeUndefined()
  expect(
    faultOf({ ...part, state: 'stopped', fault: faultText(new Error('health data')) }, 4)?.message,
  ).not.toContain('health data')
})

test('rows of other parts count with the own ones', () => {
  const source = rowsOf(['ann'])[0] ?? expect.fail()
  const rows = [{ source, outcome: mapper({ ...source, cells: [''] }) }]
  const look = (read: number, rejected: number) => () =>
    createStopWhen({ rejectedRows: 0.5, after: 4 }, undefined, () => ({ read, rejected, skipped: 0 })).look(
      rows,
      false,
    )
  expect(look(2, 2)).not.toThrow()
  expect(look(3, 1)).not.toThrow()
  expect(look(3, 2)).toThrow(/3 of 4 rows were rejected/)
})

test('files of parts that were made one go with the next process, those of an open export and all others stay', async () => {
  const folder = await temporaryFolder()
  const kept = [
    '2.part-3.receipts.ndjson.gz',
    '2-b.part-1.rejects.csv',
    '1-a.rejects.csv',
    'notes.part-1.txt',
  ]
  const gone = ['1-a.part-1.rejects.csv', '1.part-16.receipts.ndjson.gz']
  for (const name of [...kept, ...gone]) await writeFile(join(folder, name), 'x')
  await removeJoined(folder, [
    { ordinal: 1, name: 'a.csv', reading: 'whole', state: 'finished' },
    { ordinal: 2, name: 'b.csv', reading: 'whole', state: 'open' },
  ])
  expect((await readdir(folder)).sort()).toEqual(kept.sort())
  await removeJoined(join(folder, 'nowhere'), [])
})
