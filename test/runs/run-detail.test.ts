/** Rows and values that a run left for a reason: over all its exports and chunks, as many as are asked for. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createApplication } from '../../src/application.ts'
import { rejectsPath } from '../../src/run/rejects.ts'
import { rowsOfReason, valuesOfReason } from '../../src/runs/run-detail.ts'
import { readSettings } from '../../src/system/settings.ts'
import { beginExport, beginRun, openChunk, settleChunk } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const ENDS = '_export,_exportId,_row,_line,_rule,_stage,_code,_reason,_raw'
const PERSON = { by: 'ann', note: null }

/** A run over two exports of two chunks with three rows each: all refused, every third for another reason. */
async function scene() {
  const home = await temporaryFolder()
  const settings = readSettings({ WAYBILL_HOME: home }, home)
  const application = createApplication('0', settings, () => {}, new AbortController().signal)
  const ledger = await application.openLedger()
  onTestFinished(() => ledger.close())
  const run = await beginRun(ledger, 'run-1', { rejectsPath: 'rejects' })
  const exportIds = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb']
  for (const [at, exportId] of exportIds.entries()) {
    const name = `${exportId.charAt(0)}.csv`
    const exportRow = await beginExport(run, { ordinal: at + 1, name, path: `/in/${name}`, exportId })
    for (const chunk of [0, 1]) {
      await openChunk(run, exportRow, chunk, 3)
      const exceptions = [1, 2, 3].map((place) => {
        const row = 3 * chunk + place
        const code = place === 3 ? 'other' : 'refused'
        const rule = place === 1 ? null : 'a1c'
        // The fifth row was refused before a record was made of it.
        const record = { rule, content: place === 1 || chunk === 1 ? null : '9c41d2aa00000000' }
        const why = { stage: 'submit', code, field: null, message: 'm' }
        return {
          row,
          line: row + 1,
          byteOffset: row,
          kind: 'biometric',
          batchId: null,
          outcome: 'rejected',
          ...record,
          ...why,
        } as const
      })
      await settleChunk(run, exportRow, chunk, { exceptions })
    }
  }
  return { home, application, ledger, run }
}

/** Rows 1, 2, 4, 5 of both exports have the reason. */
const REFUSED = ['a 1', 'a 2', 'a 4', 'a 5', 'b 1', 'b 2', 'b 4', 'b 5']

test.each([1, 2, 3, 4, 5, 7, 8, 9])('of eight rows with a reason %i are listed', async (most) => {
  const { application } = await scene()
  const { rows, hasMore } = await rowsOfReason(application, 'run-1', 'refused', most)
  expect(rows.map(({ export: name, row }) => `${name.charAt(0)} ${row}`)).toEqual(REFUSED.slice(0, most))
  expect(hasMore).toBe(most < 8)
})

test('a row has a transaction id where a record was made of it', async () => {
  const { application } = await scene()
  const { rows } = await rowsOfReason(application, 'run-1', 'refused', 4)
  const same = { export: 'a.csv', code: 'refused', state: 'rejected' }
  expect(rows).toEqual([
    { ...same, row: 1, line: 2, rule: null },
    { ...same, row: 2, line: 3, rule: 'a1c', transactionId: 'aaaaaaaaaaaaaaaa-000002-a1c-9c41d2aa' },
    { ...same, row: 4, line: 5, rule: null },
    { ...same, row: 5, line: 6, rule: 'a1c' },
  ])
  expect((await rowsOfReason(application, 'run-1', 'none', 2)).rows).toEqual([])
})

test.each([1, 2, 3, 4])('of three rows with a reason the values of %i are shown', async (most) => {
  const { application, home, ledger } = await scene()
  const [first, second] = await ledger.exports.ofRun('run-1')
  for (const [record, codes] of [
    [first, ['refused', 'other', 'refused']],
    [second, ['refused']],
  ] as const) {
    const file = rejectsPath({ rejectsFolder: join(home, 'rejects') }, record ?? expect.fail('no export'))
    await mkdir(dirname(file), { recursive: true })
    const lines = codes.map(
      (code, at) => `p${at},x.csv,aaaaaaaaaaaaaaaa,0${at + 1},${at + 2},,submit,${code},m,`,
    )
    await writeFile(file, [`id,${ENDS}`, ...lines, ''].join('\n'))
  }
  const { rows, hasMore, gone } = await valuesOfReason(application, 'run-1', 'refused', PERSON, most)
  const all = [
    { export: 'a.csv', row: 1, values: [['id', 'p0']] },
    { export: 'a.csv', row: 3, values: [['id', 'p2']] },
    { export: 'b.csv', row: 1, values: [['id', 'p0']] },
  ]
  expect(rows).toMatchObject(all.slice(0, most))
  expect(await ledger.audit.read({})).toMatchObject([
    { action: 'see-values', run: 'run-1', job: 'nightly', subject: 'refused', ...PERSON },
  ])
  expect([rows.length, hasMore, gone]).toEqual([Math.min(3, most), most < 3, []])
})

test('an export whose rejects file is gone is named once it has ended', async () => {
  const { application, ledger, run } = await scene()
  const gone = async () => (await valuesOfReason(application, 'run-1', 'refused', PERSON, 9)).gone
  expect(await gone()).toEqual([])
  const [, second] = await ledger.exports.ofRun('run-1')
  await run.endExport(second?.id ?? 0, 'finished')
  expect(await gone()).toEqual(['b.csv'])
})
