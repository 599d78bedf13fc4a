import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { noTallies } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/sqlite/open-ledger.ts'
import { noCounts } from '../../../src/model/balance.ts'
import { prune } from '../../../src/operate/prune.ts'
import { gatherDetails } from '../../../src/story/facts.ts'
import { runReport } from '../../../src/story/report/report-page.ts'
import { ANN, BEN, between, type Clinic, HEADER, JOB, openClinic } from '../../cli/clinic.ts'
import { summaryOf } from '../../cli/command-line.ts'

const BAD = 'cid,2026-03-02,630,,,,\n'

async function ranOnce(): Promise<{ clinic: Clinic; run: string }> {
  const clinic = await openClinic({ job: `${JOB}schedule: { cron: "15 2 * * *", zone: Europe/Berlin }\n` })
  await clinic.deliver('day-1.csv', between(BAD))
  return { clinic, run: summaryOf(await clinic.run()).run }
}

async function sourcesOf({ workplace: { home } }: Clinic) {
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  return { ledger, home, now: Date.now(), isDead: () => true }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

test('the facts of a run are those of the ledger', async () => {
  const { clinic, run } = await ranOnce()
  const sources = await sourcesOf(clinic)
  const facts = await gatherDetails(sources, run)
  const delivered = Buffer.from(between(BAD))
  expect(facts.exports).toMatchObject([
    {
      name: 'day-1.csv',
      bytes: delivered.length,
      sha256: sha256(delivered),
      mapping: 'clinic',
      state: 'finished',
    },
  ])
  expect(facts.reasons.map(({ code, count }) => [code, count])).toEqual([['value-out-of-range', 1]])
  // No schedule was running: nobody knows of a zone.
  expect(facts.zone).toBeUndefined()
  expect(facts.rowsInHand).toBe(0)
  expect(
    facts.work.map(({ rows, records }) => [rows, records.made, records.accepted, records.rejected]),
  ).toEqual([[3, 7, 6, 1]])
  const [{ from = 0, to = 0 } = {}] = facts.work
  expect(from).toBe(0)
  expect(to).toBeGreaterThan(0)
  expect(to).toBeLessThanOrEqual(facts.summary.durationMs)
  await expect(gatherDetails(sources, 'nothing')).rejects.toMatchObject({ code: 'run-not-found' })
})

test('the zone of the schedule that has seen the job', async () => {
  const { clinic, run } = await ranOnce()
  const sources = await sourcesOf(clinic)
  const { ledger } = sources
  const { job_id: jobId = 0 } = (await ledger.runs.find(run)) ?? {}
  await ledger.fires.comeDue(
    jobId,
    undefined,
    { cron: '15 2 * * *', zone: 'Europe/Berlin', seenUntil: 1 },
    [],
  )
  expect((await gatherDetails(sources, run)).zone).toBe('Europe/Berlin')
})

test('the page is made from the ledger alone: without the files of the run it lacks their digests', async () => {
  const { clinic, run } = await ranOnce()
  const page = await runReport(
    {
      ...(await sourcesOf(clinic)),
      version: '1.2.3',
    },
    run,
  )
  expect(page).toContain(`\nwaybill rerun ${run} --only rejected</pre>`)
  expect(page).toContain('by Waybill 1.2.3')
  expect(page).not.toContain('written, in the home')
})

test('waybill report writes the page of the latest run, with what to type next, and replaces it alone', async () => {
  const { clinic, run } = await ranOnce()
  const { folder, home, waybill } = clinic.workplace
  const { code, out } = await waybill('report')
  expect({ code, out }).toEqual({
    code: 0,
    out: `Wrote ${run}.html: the report of run ${run}, without health data.\n`,
  })
  const page = await readFile(join(folder, `${run}.html`), 'utf8')
  const [export_] = summaryOf(await clinic.run()).exports
  expect(export_?.name).toBe('day-1.csv')
  const rejects = join(home, 'rejects', run, '1-day-1.rejects.csv')
  expect(page).toContain(`<pre>waybill mapping check clinic --export `)
  expect(page).toContain(sha256(await readFile(rejects)))
  expect(page).toContain('<code>0600</code>')
  expect(page).toContain(sha256(await readFile(join(home, 'receipts', `${run}.ndjson.gz`))))
  expect(page).toContain(sha256(Buffer.from(between(BAD))))
  // The path of the home is nobody's concern.
  expect(page.slice(page.indexOf('id="files"'))).not.toContain(home)

  const again = await waybill('report', run, '--out', `${run}.html`, '--json')
  expect(JSON.parse(again.out)).toMatchObject({ run, file: join(folder, `${run}.html`) })
  // The next run is another one.
  const other = await waybill('report', '--out', `${run}.html`)
  expect(other).toMatchObject({ code: 2, out: '' })
  expect(other.err).toContain(`${run}.html exists already`)
  await writeFile(join(folder, 'mine.html'), 'mine')
  expect((await waybill('report', run, '--out', 'mine.html')).code).toBe(2)
  expect(await readFile(join(folder, 'mine.html'), 'utf8')).toBe('mine')
  expect((await waybill('report', run, '--out', 'nowhere/x.html')).err).toContain('cannot be written')
  expect((await waybill('report', run, '--out', '.')).code).toBe(2)
  expect((await waybill('report', 'no-such-run')).err).toContain('run-not-found')
})

test('without a ledger there is nothing to report', async () => {
  const { workplace } = await openClinic()
  const { code, err } = await workplace.waybill('report')
  expect(code).toBe(2)
  expect(err).toContain('ledger-not-found')
})

test('runs that take up each other name each other; once pruned, the balance is left', async () => {
  const { clinic, run } = await ranOnce()
  const rejects = join(clinic.workplace.home, 'rejects', run, '1-day-1.rejects.csv')
  const text = await readFile(rejects, 'utf8')
  await writeFile(rejects, text.replace(',630,', ',63,'))
  const later = summaryOf(await clinic.run('--file', rejects)).run
  const sources = await sourcesOf(clinic)
  const parts = { ...sources, version: '0' }
  expect(await runReport(parts, run)).toContain(
    `Settled since by run <code>${later}</code>: 1 of the rejects.`,
  )
  expect(await runReport(parts, run)).toContain('1 settled since by later runs')
  expect(await runReport(parts, later)).toContain('a corrected rejects file')

  const deps = { ...sources, now: Date.now, interrupt: new AbortController().signal }
  await prune(deps, { before: Date.now() + 1, dryRun: false })
  const pruned = await runReport(parts, run)
  expect(pruned).toContain('Detail pruned on')
  expect(pruned).toContain('<tspan class="count">6</tspan>')
  expect((await gatherDetails(sources, run)).work).toEqual([])
})

test('a run that is cut off: what was settled is shown, and what is in hand', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
  const { run } = summaryOf(await clinic.run())
  const { ledger, ...sources } = await sourcesOf(clinic)
  const { job_id: jobId = 0 } = (await ledger.runs.find(run)) ?? {}
  const request = { jobId, runId: 'cut', owner: 'h:1', now: 1_000, ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => true)
  if (!answer.ok) throw new Error('the lease is held')
  const writing = await ledger.runs.start(answer.lease, {
    id: 'cut',
    jobId,
    startedAt: 1_000,
    rejectsPath: 'rejects/cut',
    receiptsPath: 'receipts/cut.ndjson.gz',
  })
  const [record] = await ledger.exports.ofRun(run)
  if (record === undefined) throw new Error('the run has no export')
  const { id } = await writing.addExport({
    ordinal: 1,
    exportId: record.export_id,
    name: 'cut.csv',
    path: record.path,
    sha256: record.sha256,
    bytes: record.bytes,
    mapping: { name: 'clinic', digest: record.mapping_digest, content: 'kept' },
  })
  await writing.openChunk(id, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 2500 })
  const facts = await gatherDetails({ ...sources, ledger, now: 2_000, isDead: () => false }, 'cut')
  expect(facts).toMatchObject({ rowsInHand: 2500, work: [], endedAt: undefined })
  expect(facts.summary.activity).toMatchObject({ kind: 'under-way', owner: 'h:1' })

  // Killed after its lease was renewed once, and taken up an hour later.
  await writing.renew(6_000, 60_000)
  const hour = 3_600_000
  const left = await ledger.runs.find('cut')
  if (left === undefined) throw new Error('the run is gone')
  const resumed = await ledger.runs.resume(answer.lease, left, hour - 5_000)
  const key = { exportRow: id, chunk: 1 }
  await resumed.settleChunk({
    ...key,
    counts: JSON.stringify({ ...noCounts(), rows: { ...noCounts().rows, read: 2500, mapped: 2500 } }),
    receiptsLength: 0,
    rejectsLength: 0,
    delivered: [],
    held: [],
    arrival: 1,
    exceptions: [],
    tallies: noTallies(),
    at: hour,
  })
  expect(await gatherDetails({ ...sources, ledger, now: hour, isDead: () => true }, 'cut')).toMatchObject({
    rowsInHand: 0,
    // From the first instant to the hour there were ten seconds at work.
    work: [{ from: 0, to: 10_000, paused: hour - 1_000 - 10_000, rows: 2500 }],
    summary: { activity: { kind: 'stopped' }, rows: { read: 2500 }, durationMs: 10_000 },
  })
})
