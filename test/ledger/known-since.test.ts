import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import {
  type Exception,
  type ExceptionRecord,
  type ExportStart,
  type Ledger,
  noTallies,
} from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import type { RunState } from '../../src/ledger/states.ts'

let ledger: Ledger
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  ledger = await openLedger(join(folder, 'ledger.sqlite'))
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

interface Night {
  readonly left: readonly Partial<Exception>[]
  readonly job?: string
  readonly state?: Exclude<RunState, 'running'>
  readonly part?: 'limit' | 'files'
  readonly export?: Partial<ExportStart>
  /** How its export ended. */
  readonly read?: 'finished' | 'failed'
  /** Whether it settles what the night before has left behind. */
  readonly settles?: true
}

const NIGHT_MS = 86_400_000
let histories = 0

const exception = (fields: Partial<Exception>): Exception => ({
  ...{ row: 2, line: 3, byteOffset: 200, kind: 'biometric', rule: 'hba1c', content: null },
  ...{ outcome: 'rejected', stage: 'transform', code: 'unit-unknown', field: null },
  ...{ message: 'words', batchId: null },
  ...fields,
})

/** Runs of one history, a night each from night 1 on; each export in one chunk. @returns their ids */
async function live(nights: readonly Night[]): Promise<string[]> {
  const history = ++histories
  const runs: string[] = []
  for (const [at, night] of nights.entries()) {
    const jobId = await ledger.jobs.id(`${night.job ?? 'job'}-${history}`, 'gateway')
    const id = `run-${history}-${at + 1}`
    runs.push(id)
    const answer = await ledger.leases.acquire(
      { jobId, runId: id, owner: 'here:1', now: 0, ttlMs: NIGHT_MS },
      () => true,
    )
    if (!answer.ok) throw new Error('the lease is held')
    const start = { id, jobId, startedAt: (at + 1) * NIGHT_MS, rejectsPath: 'r', receiptsPath: 'r' }
    const run = await ledger.runs.start(answer.lease, { ...start, part: night.part })
    const { id: exportRow } = await run.addExport({
      ...{ ordinal: 1, exportId: `export-${history}`, name: 'a.csv', path: '/in/a.csv' },
      ...{ sha256: 'aa', bytes: 7, mapping: { name: 'm', digest: 'd', content: '{}' } },
      ...night.export,
    })
    await run.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 50, rows: 99 })
    await run.settleChunk({
      ...{ exportRow, chunk: 1, counts: '{}', receiptsLength: 0, rejectsLength: 0 },
      ...{ delivered: [], held: [], arrival: 1, tallies: noTallies(), at: 0 },
      exceptions: night.left.map(exception),
    })
    if (night.settles) {
      const left = await leftBy(runs.at(-2) ?? '')
      const decisions = left.map(({ id }) => ({ exception: id, event: 'deliver' as const }))
      await run.rule({ run: id, decisions, released: [] }, 0)
    }
    await run.endExport(exportRow, night.read ?? 'finished')
    const state = night.state ?? 'finished'
    await run.endRun({ state, endedAt: start.startedAt, reason: null })
    await ledger.leases.release(answer.lease)
  }
  return runs
}

async function leftBy(run: string): Promise<ExceptionRecord[]> {
  const [record] = await ledger.exports.ofRun(run)
  return ledger.chunks.exceptions({ exportRow: record?.id ?? 0, chunk: 1 })
}

/** Nights since which what the latest run has left behind is known, by row; null of what is new. */
async function sinceOf(run: string): Promise<(number | null)[]> {
  return (await leftBy(run))
    .toSorted((a, b) => a.row - b.row)
    .map(({ known_since: since }) => (since === null ? null : since / NIGHT_MS))
}

const one: Night = { left: [{}] }
const record = { content: '00000000000000aa', stage: 'submit', code: 'refused' }
const doubt = { ...record, outcome: 'in-doubt', code: 'in-doubt' } as const

describe('what was left behind is known since the first of an unbroken line of runs', () => {
  const nights: readonly (readonly [string, readonly Night[], readonly (number | null)[]])[] = [
    ['the first night', [one], [null]],
    ['the same again, and again', [one, one, one], [1]],
    ['another row', [one, { left: [{ row: 3 }] }], [null]],
    [
      'another row of that number, as the mapping finds other rows in it by now',
      [one, { left: [{ byteOffset: 900 }], export: { mapping: { name: 'm', digest: 'f', content: '' } } }],
      [null],
    ],
    [
      'read again after its line of the rejects file was corrected, and is rejected still',
      [one, { left: [{ byteOffset: 70 }], export: { reading: 'rejects' }, part: 'files' }, one],
      [1],
    ],
    [
      'its line of the rejects file, as it stood there',
      [one, { left: [{ byteOffset: 70 }], export: { reading: 'rejects' }, part: 'files' }],
      [1],
    ],
    ['the row as a whole, once its rule', [one, { left: [{ rule: null, kind: null }] }], [null]],
    ['another rule', [one, { left: [{ rule: 'ldl' }] }], [null]],
    ['another code', [one, { left: [{ code: 'value-missing' }] }], [null]],
    ['other words for it', [one, { left: [{ message: 'other words', field: 'a1c' }] }], [1]],
    ['a row as a whole', [{ left: [{ rule: null }] }, { left: [{ rule: null }] }], [1]],
    ['a record refused again', [{ left: [record] }, { left: [record] }], [1]],
    [
      'a record that is made otherwise by now',
      [{ left: [record] }, { left: [{ ...record, content: '00000000000000bb' }] }],
      [null],
    ],
    ['in doubt, and held since', [{ left: [doubt] }, { left: [{ ...doubt, code: 'held' }] }], [1]],
    ['in doubt, and refused by now', [{ left: [doubt] }, { left: [record] }], [null]],
    ['some of it', [one, { left: [{}, { row: 3 }] }, { left: [{}, { row: 3 }, { row: 4 }] }], [1, 2, null]],
    ['what had been put right, and has come back', [one, { left: [] }, one], [null]],
    ['the same of another file', [one, { ...one, export: { exportId: 'another' } }], [null]],
    ['the same of another job', [{ ...one, job: 'other' }, one], [null]],
    [
      'read by another mapping',
      [one, { ...one, export: { mapping: { name: 'n', digest: 'e', content: '' } } }],
      [null],
    ],
    [
      'read by the mapping as it was changed',
      [one, { ...one, export: { mapping: { name: 'm', digest: 'f', content: '' } } }],
      [1],
    ],
    ['after a run that its threshold has ended', [{ ...one, state: 'failed' }, one], [null]],
    ['after a run that was stopped', [{ ...one, state: 'interrupted' }, one], [null]],
    ['after one that was stopped later', [one, { ...one, state: 'interrupted' }, one], [1]],
    ['after a run of the first rows alone', [one, { left: [], part: 'limit' }, one], [1]],
    ['after a run of a file that was named', [one, { left: [], part: 'files' }, one], [null]],
    ['after a run that could not read it to its end', [one, { left: [], read: 'failed' }, one], [1]],
    [
      'what its rows, taken up, have settled, and has come back',
      [one, { left: [], export: { reading: 'selected' }, settles: true }, one],
      [null],
    ],
    [
      'after its rows were taken up, and left behind for another reason',
      [one, { left: [{ code: 'value-missing' }], export: { reading: 'selected' } }, one],
      [1],
    ],
    [
      'for that reason again',
      [
        one,
        { left: [{ code: 'value-missing' }], export: { reading: 'selected' } },
        { left: [{ code: 'value-missing' }] },
      ],
      [2],
    ],
  ]
  it.each(nights)('%s', async (_, history, since) => {
    const runs = await live(history)
    expect(await sinceOf(runs.at(-1) ?? '')).toEqual(since)
  })
})

test('in every history, what is known and what is new are together all, and since when is told by its line', async () => {
  const night = fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(fc.array(night, { minLength: 1, maxLength: 5 }), async (history) => {
      const runs = await live(history.map((rows) => ({ left: rows.map((row) => ({ row })) })))
      let line = new Map<number, number>()
      for (const [at, rows] of history.entries()) {
        const run = runs[at] ?? ''
        const known = rows.filter((row) => line.has(row))
        expect(await sinceOf(run)).toEqual(rows.toSorted((a, b) => a - b).map((row) => line.get(row) ?? null))
        const since = known.map((row) => (line.get(row) ?? 0) * NIGHT_MS)
        expect(await ledger.reasons.known(run)).toEqual({
          known: known.length,
          since: known.length === 0 ? null : Math.min(...since),
        })
        const reasons = await ledger.reasons.ofRun(run)
        expect(reasons.map(({ count, known }) => [count, known])).toEqual(
          rows.length === 0 ? [] : [[rows.length, known.length]],
        )
        line = new Map(rows.map((row) => [row, line.get(row) ?? at + 1]))
      }
    }),
    { numRuns: 20 },
  )
})
