/** Withdrawn results of a chunk: which of them a person is told of, and under which transaction id the gateway has them. */
import { expect, it } from 'vitest'
import { type LoadedChunk, loadChunk } from '../../src/load/load-chunk.ts'
import { createWithdrawn, type Entry, WithdrawnEntry } from '../../src/model/entry.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { BIOMETRICS, placed, SPEAKS, startLoading } from './loading.ts'
import { biometric, EXPORT_ID, entryOf, IDENTITY, type Made, mappedRow } from './made-up-entries.ts'

const made = (at: number): Made => ({ row: at, person: `person-${at}`, key: `key-${at}` })
const resultOf = (at: number, more: Made = {}): Entry => entryOf(biometric, { ...made(at), ...more })

function withdrawalOf(at: number, row = at): WithdrawnEntry {
  const of = { ...made(at), row }
  const { frame, rule, facts, observed } = biometric(of)
  const entry = new WithdrawnEntry(frame, rule, facts, observed, 'status W')
  const withdrawn: WithdrawnEntry[] = []
  createWithdrawn(IDENTITY, EXPORT_ID, { ...mappedRow([], of), withdrawn: [entry] }, withdrawn)
  return entry
}

/** Takes the batch of the fifth person without an answer, and refuses to show the profile. */
const unanswered = ({ method, path, body, query }: Passing): Fault => {
  if (path === BIOMETRICS && body.includes('"person-5"')) return { do: 'pass-then-reset' }
  return method === 'GET' && query.includes('person-5') ? answer(400) : PASS
}

/** Loads the results of five people in three batches of two chunks; the last is in doubt. Each later night has an export of its own. */
async function afterFirstNight() {
  const loading = await startLoading({ limits: { records: 2 }, faultOf: unanswered, concurrency: 1 })
  const results = [1, 2, 3, 4, 5].map((at) => resultOf(at))
  const [last, ...others] = [results.slice(3), results.slice(0, 3)]
  for (const [at, some] of [...others, last].entries())
    await loading.settle(await loading.load(some ?? [], false, at + 1), at + 1)
  let night = 1
  const load = async (entries: readonly Entry[], withdrawn: readonly WithdrawnEntry[], isTakenUp = false) => {
    const { runLedger, clock } = loading
    const exportId = `${++night}`.repeat(16)
    const mapping = { name: 'test', digest: 'digest', content: '{}' }
    const file = { name: `${night}.csv`, path: `/${night}.csv`, sha256: exportId.repeat(4), bytes: 1 }
    const { id: exportRow } = await runLedger.addExport({ ordinal: night, exportId, ...file, mapping })
    const place = { exportRow, chunk: 1 }
    const speaks = { ...SPEAKS, arrival: exportRow, isTakenUp, resumed: false }
    const words = { entries: placed(entries), withdrawn, listed: [], shared: [] }
    const loaded = await loadChunk(loading.context, { ...place, exportId, ...speaks, ...words })
    await runLedger.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 1, rows: 1 })
    await runLedger.settleChunk({
      ...{ ...place, counts: '{}', receiptsLength: 0, rejectsLength: 0, arrival: exportRow },
      ...{ delivered: loaded.learned.delivered, held: [], exceptions: [], tallies: {}, at: clock.now },
    })
    return loaded
  }
  return { results, load }
}

const toldOf = ({ takenBack = [] }: LoadedChunk): (readonly [number, string | undefined])[] =>
  takenBack.map(({ entry, sentAs }) => [entry.row.row, sentAs])

it('are told with the id of the batch, chunk or doubt that has them, and not if nothing was sent', async () => {
  const { results, load } = await afterFirstNight()
  const told = toldOf(
    await load(
      [],
      [1, 3, 4, 5, 9].map((at) => withdrawalOf(at)),
    ),
  )
  expect(told).toEqual([1, 3, 4, 5].map((row) => [row, results[row - 1]?.transactionId]))
})

it('are told once, until the result is sent again; where rejected rows are taken up, each time', async () => {
  const { load } = await afterFirstNight()
  const rowsTold = async (...night: Parameters<typeof load>) =>
    toldOf(await load(...night)).map(([row]) => row)
  const both = () => [withdrawalOf(1), withdrawalOf(2)]
  expect(await rowsTold([], both())).toEqual([1, 2])
  expect(await rowsTold([], both())).toEqual([])
  expect(await rowsTold([], [withdrawalOf(1)], true)).toEqual([1])
  expect(await rowsTold([resultOf(1, { value: '7' })], [])).toEqual([])
  expect(await rowsTold([], both())).toEqual([1])
})

it('are told once, however often the chunk repeats them, and not if a row behind them brings the result', async () => {
  const { load } = await afterFirstNight()
  const behind = entryOf(biometric, { ...made(2), row: 12 })
  const loaded = await load([behind], [withdrawalOf(1), withdrawalOf(1, 11), withdrawalOf(2)])
  expect(toldOf(loaded).map(([row]) => row)).toEqual([11])
  expect(loaded.outcomes).toEqual([{ entry: behind, outcome: 'unchanged' }])
})
