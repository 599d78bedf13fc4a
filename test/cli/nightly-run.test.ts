import { execFile } from 'node:child_process'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { generateSamples } from '../../samples/generate.ts'
import { createWorkplace, PROJECT, summaryOf } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((a, b) => a + b, 0)

test('the shipped job on samples like the shipped ones: all accounted for, by the arithmetic of the generator', async () => {
  const store = await startReferenceStore()
  const workplace = await createWorkplace(store.environment)
  const shipped = await readFile(join(PROJECT, 'jobs/nightly-screenings.yaml'), 'utf8')
  // It asks for the built-in gateway, which nobody can look into.
  await workplace.job('nightly-screenings', shipped.replace(/^job: .*$|^gateway: built-in$/gm, ''))
  const inbox = join(workplace.folder, 'samples/inbox')
  await mkdir(inbox, { recursive: true })
  const expected = await generateSamples({ out: inbox, participants: 400, messages: 50 })
  const { acme, northlab } = expected
  if (northlab === undefined) throw new Error('the lab file is part of the samples')

  const first = summaryOf(await workplace.waybill('run', 'nightly-screenings', '--json'))
  const { biometric, condition, careTeam } = first.records
  expect(first.balanced).toBe(true)
  expect(first.rows.read).toBe(acme.rows + northlab.messages)
  // The counts leave repeated rows out; each corrected one brings one new record, its systolic pressure.
  const sendable = sum(acme.records) + sum(northlab.records) + acme.faults['row-corrected']
  expect(biometric.accepted + condition.accepted + careTeam.accepted).toBe(sendable)
  expect(biometric.pending + condition.pending + careTeam.pending).toBe(0)

  const stored = (
    await Promise.all([store.records('biometric'), store.records('condition'), store.records('careTeam')])
  ).flat()
  expect(stored).toHaveLength(sendable)
  expect(new Set(stored.map((record) => record.source.meta.persistentRecordId)).size).toBe(sendable)

  const second = summaryOf(await workplace.waybill('run', 'nightly-screenings', '--json'))
  expect(second.balanced).toBe(true)
  expect(second.requests.sent).toBe(0)
  const { biometric: again } = second.records
  expect(again.unchanged).toBe(biometric.accepted + biometric.unchanged)
  expect(again.accepted).toBe(0)
  expect(await store.records('biometric')).toHaveLength(biometric.accepted)
})

test('from an id that the gateway stored back to file, line, rule, batch and tries', async () => {
  const store = await startReferenceStore()
  const workplace = await createWorkplace(store.environment)
  await generateSamples({ out: workplace.folder, participants: 40, messages: 0 })
  await workplace.job('small', 'exports: { from: .., match: "acme_*.csv", mapping: acme-onsite }\n')
  await workplace.waybill('run', 'small')
  const record = (await store.records('biometric'))[77]
  const traced = await workplace.waybill('trace', record?.transactionId ?? '', '--json')
  expect(traced.code).toBe(0)
  const trace = JSON.parse(traced.out)
  // The sample has a header and, in its first rows, no quoted line breaks: row n stands on line n + 1.
  expect(trace).toMatchObject({
    transactionId: record?.transactionId,
    origin: { line: trace.row + 1 },
    export: { name: 'acme_screening_20260302.csv', there: true },
    runs: [
      { outcome: 'accepted', batches: [{ batchId: record?.source.meta.batchId, attempts: 1, status: 201 }] },
    ],
  })
  const { stdout } = await promisify(execFile)('sed', ['-n', `${trace.origin.line}p`, trace.export.path])
  expect(stdout.startsWith(`${record?._account},`)).toBe(true)

  // Ids that nothing was sent or rejected under are not taken for delivered.
  const id = record?.transactionId ?? ''
  for (const invented of [
    id.replace(/-[0-9a-f]{8}$/, '-00000000'),
    id.replace(/-(\d{6})-.*-/, '-$1-banana-'),
  ]) {
    const { code, err } = await workplace.waybill('trace', invented)
    expect(code).toBe(2)
    expect(err).toContain('error transaction-not-found: no run has sent or rejected such a record of row')
  }
  const again = JSON.parse((await workplace.waybill('run', 'small', '--json')).out)
  const both = JSON.parse((await workplace.waybill('trace', id, '--json')).out)
  expect(both.runs).toMatchObject([{ run: again.run, outcome: 'unchanged' }, { outcome: 'accepted' }])
})

test('rejects and receipts can be read by their owner alone', async () => {
  const store = await startReferenceStore()
  const workplace = await createWorkplace(store.environment)
  await generateSamples({ out: workplace.folder, participants: 100, messages: 0 })
  await workplace.job('small', 'exports: { from: .., match: "acme_*.csv", mapping: acme-onsite }\n')
  const ended = await workplace.waybill('run', 'small', '--json')
  expect(ended.code).toBe(1)
  const summary = summaryOf(ended)
  const files = [summary.files.receipts, ...summary.exports.map((one) => one.rejects)]
  expect(files.length).toBe(2)
  for (const file of files) expect((await stat(file ?? '')).mode & 0o777).toBe(0o600)
})
