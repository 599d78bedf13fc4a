/** Pictures of a job's exports: bars of rows, and a line for each column over the nights. */
import { expect, onTestFinished, test } from 'vitest'
import { createApplication } from '../../src/application.ts'
import { exportsPage } from '../../src/console/exports-page.ts'
import { noCounts } from '../../src/model/balance.ts'
import { readSettings } from '../../src/system/settings.ts'
import { beginExport, beginRun, openChunk, settleChunk } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

interface Night {
  /** Rows in all, skipped, rejected. */
  readonly rows: readonly [number, number, number]
  /** Empty ones of ten values, by column; undefined for a column without values. */
  readonly empty: Readonly<Record<string, number | undefined>>
}

/** The page of a job that has read an export a night. */
async function pageOf(nights: readonly Night[]): Promise<string> {
  const home = await temporaryFolder()
  const settings = readSettings({ WAYBILL_HOME: home, WAYBILL_JOBS: home }, home)
  const application = createApplication('0', settings, () => {}, new AbortController().signal)
  const ledger = await application.openLedger()
  onTestFinished(() => ledger.close())
  for (const [at, { rows, empty }] of nights.entries()) {
    const run = await beginRun(ledger, `run-${at}`, { startedAt: at })
    const sha256 = `content-${at}`
    const exportRow = await beginExport(run, { exportId: sha256, sha256 })
    const [read, skipped, rejected] = rows
    const counted = { ...noCounts(), rows: { ...noCounts().rows, read, skipped, rejected } }
    await openChunk(run, exportRow, 1)
    await settleChunk(run, exportRow, 1, { counts: JSON.stringify(counted) })
    const columns = Object.entries(empty).map(([name, count]) => ({
      name,
      values: count === undefined ? 0 : 10,
      empty: count ?? 0,
      sample: { values: 0, numbers: 0, characters: 0 },
    }))
    const none = { taken: 0, skipped: 0, warnings: {}, rules: {}, codes: {}, units: {} }
    const content = JSON.stringify({ rows: read, columns, ...none })
    await run.saveProfile(exportRow, { job: 'nightly', mapping: 'm', sha256, accepted: false, content })
    await run.endExport(exportRow, 'finished')
    await run.endRun({ state: 'finished', reason: null, endedAt: at, detail: null })
  }
  return (await exportsPage(application, 'nightly')).body
}

const linesIn = (page: string): string[] =>
  [...page.matchAll(/<polyline points="([^"]*)"/g)].map(([, points = '']) => points)

// A line is drawn from 2 to 118 across, and from 17 for the least to 3 for the most.
test('each column has a line from its least to its most; those that never change come last', async () => {
  const page = await pageOf([
    { rows: [10, 0, 0], empty: { flat: 1, weight: 0, late: 1 } },
    { rows: [10, 0, 0], empty: { flat: 1, weight: 2, late: undefined } },
    { rows: [10, 0, 0], empty: { flat: 1, weight: 4, late: 3 } },
  ])
  expect(linesIn(page)).toEqual(['2,17 60,10 118,3', '2,17 118,3', '2,17 60,17 118,17'])
  expect(page.indexOf('weight')).toBeLessThan(page.indexOf('flat'))
  // The latest night first.
  expect(page).toMatch(/weight[\s\S]*40 %[\s\S]*20 %[\s\S]*0 %[\s\S]*flat/)
})

test('one night is a point', async () => {
  expect(linesIn(await pageOf([{ rows: [10, 0, 0], empty: { weight: 4 } }]))).toEqual(['2,17'])
})

// The highest bar is 120 high, and rejected rows stand on skipped ones on mapped ones.
test('bars of rows are as high as there are rows, against the most of all', async () => {
  const page = await pageOf([
    { rows: [20, 5, 5], empty: {} },
    { rows: [40, 0, 40], empty: {} },
  ])
  const boxes = page.matchAll(
    /class="node (\w+)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/g,
  )
  expect([...boxes].map(([, ...parts]) => parts.join(' '))).toEqual([
    'mapped 0 90 30',
    'skipped 0 75 15',
    'rejected 0 60 15',
    'mapped 30 120 0',
    'skipped 30 120 0',
    'rejected 30 0 120',
  ])
  expect(page).toContain('The highest bar: 40 rows')
})
