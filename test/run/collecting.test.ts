/** Collecting over chunks and nights: each person is asked about once a run, and what was collected of them is remembered. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noTallies } from '../../src/ledger/ledger.ts'
import { allRecords, type Counts, noPeople, type PeopleCounts } from '../../src/model/balance.ts'
import type { Chunk } from '../../src/run/chunks.ts'
import { createCollector } from '../../src/run/collecting.ts'
import { type AnswerEnvelope, answer, PASS } from '../faults/fault-proxy.ts'
import { SPEAKS, startLoading } from '../load/loading.ts'
import { biometric, EXPORT_ID, entryOf, IDENTITY, mappedRow } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const withValue =
  (value: number) =>
  (envelope: AnswerEnvelope): AnswerEnvelope => {
    return { ...envelope, data: envelope.data.map((one) => ({ ...one, value })) }
  }

const ISSUE = { stage: 'transform', code: 'date-invalid', message: 'no date' } as const

const AROUND = { ...SPEAKS, exportId: EXPORT_ID, resumed: false, listsTeams: false }

type Chunks = readonly (readonly string[])[]

/** Ann and Ben have a pulse of 61 and 62; the gateway knows nobody else. */
async function openNights(only: 'all' | 'changed' = 'changed', format: 'ndjson' | 'csv' = 'ndjson') {
  const asked: string[] = []
  let refused: readonly string[] = []
  const changed = new Set<string>()
  /** Of each chunk: counts before it was reached, and afterwards; its rows. */
  const worked: [Counts, Counts, Chunk['rows']][] = []
  let edited = withValue(70)
  /** Account id, or reference → person. */
  const names = new Map([['dan', 'dan']])
  const loading = await startLoading({
    faultOf: ({ method, path, query }) => {
      const id = [...names.keys()].find((one) => (path + query).includes(one)) ?? ''
      const person = names.get(id)
      if (method !== 'GET' || person === undefined) return PASS
      asked.push(person)
      if (refused.includes(person)) return answer(422)
      return changed.has(person) ? { do: 'pass-then-edit', edit: edited } : PASS
    },
  })
  const { ledger, gateway } = loading
  await loading.load([
    entryOf(biometric, { row: 1, person: 'ann', value: '61' }),
    entryOf(biometric, { row: 2, person: 'ben', value: '62' }),
  ])
  for (const person of ['ann', 'ben']) {
    const hashed = IDENTITY.account({ reference: person, type: 'partnerAccountId' })
    const { accountId } = (await ledger.people.accounts(loading.reference.url, [hashed])).get(hashed) ?? {}
    names.set(accountId ?? expect.fail(`${person} has no account`), person)
  }
  await ledger.leases.release(loading.runLedger.lease)
  const folder = await temporaryFolder()
  let nights = 0

  /** @param open the last chunk is not settled, and its process is gone */
  const collect = async (runId: string, chunks: Chunks, { open = false, from = 0, isRead = true } = {}) => {
    const jobId = await ledger.jobs.id('test-job', loading.reference.url)
    const request = { jobId, runId, owner: 'here:1', now: 0, ttlMs: 60_000 }
    const taken = await ledger.leases.acquire(request, () => true)
    if (!taken.ok) throw new Error('the lease is held')
    const run = await ledger.runs.find(runId)
    const start = { id: runId, jobId, startedAt: 0, rejectsPath: 'r', receiptsPath: 'r' }
    const runLedger =
      run === undefined
        ? await ledger.runs.start(taken.lease, start)
        : await ledger.runs.resume(taken.lease, run, 0)
    const [known] = await ledger.exports.ofRun(runId)
    const { id: exportRow } =
      known ??
      (await runLedger.addExport({
        ...{
          ordinal: 1,
          exportId: EXPORT_ID,
          name: 'roster.csv',
          path: '/roster.csv',
          sha256: 'aa',
          bytes: 1,
        },
        mapping: { name: 'm', digest: 'd', content: '{}' },
      }))
    const collector = createCollector({
      ...{ ledger, runLedger, gateway, gatewayName: loading.reference.url, identity: IDENTITY, folder },
      read: (_operation, call) => call(),
      what: { what: ['biometrics'], deprecated: false },
      to: { folder, format, only },
      ...{ destination: undefined, job: 'test-job', startedAt: 0, now: () => 0 },
      ...{ before: run?.collection ?? null, gone: undefined },
    })
    asked.length = 0
    for (const [index, people] of chunks.entries()) {
      const number = from + index + 1
      const rows = people.map((person, at) => {
        const outcome = mappedRow([biometric()], { row: number * 10 + at, person })
        const rejected = [{ kind: 'condition' as const, rule: 'dx', issue: ISSUE }]
        return { source: outcome.source, outcome: { ...outcome, rejected } }
      })
      const place = { row: number * 10, line: number * 10 + 1, byteOffset: number * 1_000 }
      const { behind } = AROUND
      const chunk: Chunk = { number, start: place, rows, entries: [], withdrawn: [], shared: [], behind }
      const { row: firstRow, line: firstLine, byteOffset } = place
      await runLedger.openChunk(exportRow, { number, firstRow, firstLine, byteOffset, rows: rows.length })
      const { rows: left, counts, settle } = await collector.work(chunk, { ...AROUND, exportRow })
      worked.push([collector.pending(chunk), counts, left])
      const collected = await settle?.()
      if (open && index === chunks.length - 1) break
      await runLedger.settleChunk({
        ...{ exportRow, chunk: number, counts: JSON.stringify(counts), receiptsLength: 0 },
        ...{ rejectsLength: 0, delivered: [], held: [], arrival: 1 },
        ...{ exceptions: [], tallies: noTallies(), collected, at: 0 },
      })
    }
    if (open) return { asked: asked.toSorted(), people: undefined, collected: undefined }
    await collector.finish(isRead)
    await runLedger.endExport(exportRow, 'finished')
    await runLedger.endRun({ state: 'finished', endedAt: 0, reason: null })
    await ledger.leases.release(taken.lease)
    const at = join(folder, runId)
    if (format === 'csv' || !existsSync(at))
      return { asked: asked.toSorted(), people: undefined, collected: undefined }
    const { people } = JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8')) as {
      people: PeopleCounts
    }
    const lines = (await readFile(join(at, 'people.ndjson'), 'utf8')).split('\n').slice(0, -1)
    const collected = lines.map((line) => JSON.parse(line).account.reference as string)
    return { asked: asked.toSorted(), people, collected }
  }
  return {
    changed,
    collect,
    folder,
    worked,
    editing(edit: typeof edited) {
      edited = edit
    },
    night: async (chunks: Chunks, refusing: readonly string[] = []) => {
      refused = refusing
      return collect(`night-${++nights}`, chunks)
    },
  }
}

const counts = (more: Partial<PeopleCounts>): PeopleCounts => ({ ...noPeople(), ...more })

test.each<[string, Chunks]>([
  ['one chunk', [['ann', 'dan', 'ben', 'ann', 'dan', 'ben']]],
  [
    'two chunks',
    [
      ['ann', 'dan', 'ben'],
      ['dan', 'ben', 'ann'],
    ],
  ],
  ['a chunk for each row', [['ann'], ['dan'], ['ann'], ['ben'], ['dan'], ['ben']]],
])('people who stand on several rows, in %s, are asked about and collected once', async (_what, chunks) => {
  const { night } = await openNights()
  expect(await night(chunks)).toEqual({
    asked: ['ann', 'ben', 'dan'],
    people: counts({ asked: 3, collected: 2, refused: 1 }),
    collected: ['ann', 'ben'],
  })
  expect(await night(chunks)).toEqual({
    ...{
      asked: ['ann', 'ben', 'dan'],
      people: counts({ asked: 3, unchanged: 2, refused: 1 }),
      collected: [],
    },
  })
})

test('a run that was killed asks nobody again whose chunk is settled, and has nobody twice in its files', async () => {
  const { collect } = await openNights()
  const killed = await collect(
    'run-k',
    [
      ['ann', 'dan'],
      ['ben', 'ann'],
    ],
    { open: true },
  )
  expect(killed.asked).toEqual(['ann', 'ben', 'dan'])
  expect(await collect('run-k', [['ben', 'ann']], { from: 1 })).toEqual({
    asked: ['ben'],
    people: counts({ asked: 3, collected: 2, refused: 1 }),
    collected: ['ann', 'ben'],
  })
})

test('who is refused for a night is as before in the next: unchanged, or collected where there is news', async () => {
  const { night, changed } = await openNights()
  const chunks: Chunks = [['ann', 'ben']]
  expect(await night(chunks)).toMatchObject({ people: counts({ asked: 2, collected: 2 }) })
  expect(await night(chunks, ['ann', 'ben'])).toMatchObject({ people: counts({ asked: 2, refused: 2 }) })
  expect(await night(chunks, ['ann', 'ben'])).toMatchObject({ people: counts({ asked: 2, refused: 2 }) })
  changed.add('ben')
  expect(await night(chunks)).toMatchObject({
    people: counts({ asked: 2, collected: 1, unchanged: 1 }),
    collected: ['ben'],
  })
  expect(await night(chunks)).toMatchObject({ people: counts({ asked: 2, unchanged: 2 }), collected: [] })
})

test('a job that wants all has all each night', async () => {
  const { night } = await openNights('all')
  for (let at = 0; at < 2; at++)
    expect(await night([['ann', 'ben']])).toMatchObject({ collected: ['ann', 'ben'] })
})

test('of CSV lines are counted, not ends of line within cells', async () => {
  const { night, changed, editing, folder } = await openNights('all', 'csv')
  changed.add('ben')
  editing((envelope) => ({
    ...envelope,
    data: envelope.data.map((one) => ({ ...one, name: 'a "name"\nof two\nlines, and more' })),
  }))
  await night([['ann', 'ben']])
  const at = join(folder, 'night-1')
  expect(JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8'))).toMatchObject({
    files: [{ name: 'biometrics.csv', lines: 2 }],
  })
  expect((await readFile(join(at, 'biometrics.csv'), 'utf8')).split('\n')).toHaveLength(6)
})

test.each<[string, Chunks, boolean, boolean]>([
  ['of whom none could be read', [], false, false],
  ['of whom none could be read now, and some before', [], false, true],
  ['of whom some were read', [['ann']], true, false],
])('people %s: a collection is put in its place or not', async (_what, chunks, isRead, before) => {
  const { collect, folder } = await openNights()
  if (before) await collect('run-1', [['ann'], ['ben']], { open: true })
  await collect('run-1', chunks, { isRead })
  expect((await readdir(folder)).filter((name) => !name.startsWith('.'))).toEqual(
    isRead || before ? ['run-1'] : [],
  )
})

test('rows of people give no records: a person who is refused is one reject, on the first row', async () => {
  const { night, worked } = await openNights()
  await night([['ann', 'dan', 'dan']])
  const [[pending, counted, rows]] = worked as [(typeof worked)[0]]
  for (const counts of [pending, counted]) {
    expect(counts.rows).toMatchObject({ read: 3, mapped: 3, corrected: 0 })
    expect(Object.values(allRecords(counts)).every((count) => count === 0)).toBe(true)
  }
  expect(pending.people).toEqual(counts({ asked: 2, pending: 2 }))
  expect(counted.people).toEqual(counts({ asked: 2, collected: 1, refused: 1 }))
  const left = rows.map(({ outcome }) => (outcome.outcome === 'mapped' ? outcome : expect.fail('not mapped')))
  expect(left.map(({ records }) => records)).toEqual([[], [], []])
  expect(left.map(({ rejected }) => rejected.map(({ rule, issue }) => `${rule} ${issue.stage}`))).toEqual([
    [],
    ['account collect'],
    [],
  ])
})

test.each([
  ['noted', false, ['noted', 'kept']],
  ['not noted, as the ledger refuses it', true, []],
])(
  'a list of articles is kept for the next run once the collection is %s',
  async (_, isRefused, expected) => {
    const { ledger, runLedger, gateway, reference } = await startLoading()
    const calls: string[] = []
    const collector = createCollector({
      ...{ ledger, gateway, gatewayName: reference.url, identity: IDENTITY, folder: await temporaryFolder() },
      runLedger: {
        ...runLedger,
        async noteCollection() {
          if (isRefused) throw new Error('refused')
          calls.push('noted')
        },
      },
      read: (_operation, call) => call(),
      what: { what: ['articles'], deprecated: false },
      to: { folder: 'out', format: 'ndjson', only: 'all' },
      ...{ destination: undefined, job: 'test-job', startedAt: 0, now: () => 0, before: null },
      gone: async () => ({ lines: ['{"contentId":"7"}\n'], keep: async () => void calls.push('kept') }),
    })
    const finished = collector.finish(true).catch((error: Error) => error.message)
    expect(await finished).toBe(isRefused ? 'refused' : undefined)
    expect(calls).toEqual(expected)
  },
)
