/** Ends of a run in the middle of an export: what is open stays open, and is counted. */
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { carryOut } from '../../src/runs/take-up.ts'
import { HEADER } from '../cli/clinic.ts'
import { startReferenceStore } from '../cli/reference-store.ts'
import { answer, type Fault, PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { openRunScene } from './run-scene.ts'

/** Each of a person of their own, with three records. */
const rows = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `p${from + at},2026-03-02,61,5.1,70.5,kg,fine\n`).join('')

/** Runs over one export, in chunks of two rows. */
async function scene(count: number) {
  const usual = { ...CHUNK_SIZE }
  CHUNK_SIZE.rows = 2
  onTestFinished(() => void Object.assign(CHUNK_SIZE, usual))
  const store = await startReferenceStore({ open: true })
  let faultOf: () => Fault | Promise<Fault> = () => PASS
  const proxy = await startFaultProxy(store.url, ({ method }) => (method === 'POST' ? faultOf() : PASS))
  const run = await openRunScene(proxy.url)
  const file = join(run.inbox, 'day.csv')
  await writeFile(file, HEADER + rows(1, count))
  const states = async (): Promise<string[]> =>
    (await run.ledger.chunks.ofRun('run')).map(({ state }) => state).toSorted()
  return {
    ...{ ...run, store, file, states },
    strike(next: typeof faultOf) {
      faultOf = next
    },
    /** The credentials are no good, from the given batch on, once so many chunks are begun. */
    strikeFrom(batch: number, chunks: number) {
      let batches = 0
      faultOf = async () => {
        if (++batches < batch) return PASS
        while ((await states()).length < chunks) await turnOfTheLoop()
        return answer(403)
      }
    },
  }
}

test('what is open when a run must stop is pending: of each chunk that was begun', async () => {
  const { prepare, strikeFrom, states } = await scene(7)
  strikeFrom(1, 2)
  const { summary, error } = await carryOut(...(await prepare('run')))
  expect([error?.code, await states()]).toEqual(['gateway-refused-credentials', ['open', 'open']])
  expect(summary.rows).toMatchObject({ read: 4, mapped: 4 })
  expect(summary.records.biometric).toMatchObject({ made: 12, pending: 12 })
})

test('an export that changes while a chunk of it is open does not end: what was sent is settled with the file put back', async () => {
  const { ledger, openArrival, prepare, strikeFrom, strike, states, store, file } = await scene(5)
  strikeFrom(2, 3)
  await carryOut(...(await prepare('run')))
  expect(await states()).toContain('open')
  strike(() => PASS)
  // By the time that its bytes are compared it is the same file still.
  const arrival = openArrival()
  const receiveAgain: typeof arrival.receiveAgain = async (...given) => {
    const received = await arrival.receiveAgain(...given)
    await appendFile(file, rows(6, 6))
    return received
  }
  const changed = await carryOut(...(await prepare('run', { arrival: { ...arrival, receiveAgain } })))
  expect([changed.error?.code, changed.summary.state]).toEqual(['export-changed', 'interrupted'])
  expect(await ledger.exports.ofRun('run')).toMatchObject([{ state: 'open', reason: null }])
  await writeFile(file, HEADER + rows(1, 5))
  const { summary, error } = await carryOut(...(await prepare('run')))
  expect(error).toBeUndefined()
  expect(summary).toMatchObject({ state: 'finished', balanced: true, rows: { read: 5 } })
  expect(await store.records('biometric')).toHaveLength(15)
})

test('an export whose counts do not add up ends the run', async () => {
  const { prepare, strikeFrom, strike, states, ledger } = await scene(5)
  strikeFrom(2, 3)
  const [plan, world] = await prepare('run')
  await carryOut(plan, world)
  expect(await states()).toContain('settled')
  const database = new DatabaseSync(join(world.home, 'ledger.sqlite'))
  database.exec("update chunk set counts = json_set(counts, '$.rows.mapped', 3) where state = 'settled'")
  database.close()
  strike(() => PASS)
  const { error, summary } = await carryOut(...(await prepare('run')))
  expect([error?.code, summary.balanced]).toEqual(['not-balanced', false])
  expect(await ledger.runs.find('run')).toMatchObject({ state: 'interrupted', reason: 'not-balanced' })
})
