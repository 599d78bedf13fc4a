/** Parts of an export as the holder of the job has them read: by workers, whose tickets it sends, or by itself. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noTallies, type PartOf, type PartRecord } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { readDivided } from '../../src/run/divided.ts'
import { createRunEvents } from '../../src/run/events.ts'
import type { OpenRun } from '../../src/run/open-run.ts'
import { faultText } from '../../src/run/parts.ts'
import type { World } from '../../src/run/plan.ts'
import { openAppended } from '../../src/run/receipts.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const COUNT = 3
const failure = (code: 'threshold-passed' | 'export-unreadable' | 'gave-way' | 'disk-full' | 'job-held') =>
  new WaybillError(code, code)

type Reading = Awaited<ReturnType<typeof begin>>

/** A begun export of three parts. Time passes by sleeping alone. @param meanwhile called at each instant that somebody sleeps to */
async function begin(meanwhile: (reading: Reading, now: number) => Promise<void> = async () => {}) {
  const home = await temporaryFolder()
  await mkdir(join(home, 'rejects'))
  const ledger = await passingLedger()
  const runLedger = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(runLedger, { name: 'day.csv' })
  await runLedger.openParts(exportRow, COUNT)
  const record = (await ledger.exports.find(exportRow)) ?? expect.fail('no export')
  const receipts = openAppended(home, join(home, 'receipts.ndjson.gz'), 0, async () => {})
  const [stopped, lost] = [new AbortController(), new AbortController()]
  const clock = { now: 0 }
  const started: unknown[] = []
  const events = createRunEvents({ exportStarted: ({ share }) => void started.push(share) })
  const run = {
    ...{ ledger, runLedger, events, home, rejectsFolder: join(home, 'rejects'), settling: { receipts } },
    ...{ leftover: [], signal: stopped.signal },
  } as unknown as OpenRun
  const world = {
    now: () => clock.now,
    isDead: () => false,
    held: { stopped: stopped.signal, lost: lost.signal },
    async sleep(ms: number, signal: AbortSignal) {
      signal.throwIfAborted()
      clock.now += ms
      await meanwhile(reading, clock.now)
    },
  } as unknown as World
  const lease = (number: number) => ({ ...runLedger.lease, part: { exportRow, number, of: COUNT } })
  const partOf = (number: number) => ledger.runs.ofPart(lease(number), noTallies())
  const sent: string[] = []
  const carried: number[] = []
  const reading = {
    ...{ ledger, run, exportRow, sent, carried, started, stopped, lost, clock },
    end: (number: number, state: PartRecord['state'], error?: WaybillError) =>
      partOf(number).endPart(state, error === undefined ? null : faultText(error)),
    open: (number: number) => openChunk(partOf(number), exportRow, number + 1),
    settle: (number: number, read: number) => {
      const counts = { ...noCounts(), rows: { ...noCounts().rows, read } }
      return settleChunk(partOf(number), exportRow, number + 1, { counts: JSON.stringify(counts) })
    },
    /** A worker has the part until it lets go. */
    async work(number: number): Promise<() => Promise<void>> {
      const { jobId } = runLedger.lease
      const asked = { jobId, runId: 'run-1', owner: `there:${number}`, now: clock.now, ttlMs: 1e9 }
      const answer = await ledger.leases.acquire({ ...asked, part: lease(number).part }, () => false)
      if (!answer.ok) throw new Error('the part is held')
      return () => ledger.leases.release(answer.lease)
    },
    stateOfExport: async () => (await ledger.exports.find(exportRow))?.state,
    read(carry?: (part: PartOf) => Promise<unknown>) {
      const send = async ({ number }: PartOf): Promise<void> => void sent.push(`${clock.now} ${number}`)
      const opened = { rows: async function* () {} } as never
      const dividing = {
        ...{ opened, count: COUNT, send: carry === undefined ? send : undefined },
        carry: async (part: PartOf): Promise<unknown> => {
          carried.push(part.number)
          return carry?.(part)
        },
      }
      const step = { record, mapping: undefined, limits: undefined, watch: undefined } as never
      return readDivided(run, step, world, dividing)
    },
  }
  return reading
}

test('the tickets of open parts are sent at once, and those of parts still open again every ten seconds', async () => {
  const reading = await begin(async ({ end }, now) => {
    if (now === 5_000) await end(0, 'settled')
    if (now === 19_750) for (const number of [1, 2]) await end(number, 'settled')
  })
  for (const [number, rows] of [4, 5, 6].entries()) {
    await reading.open(number)
    await reading.settle(number, rows)
  }
  const rejects = join(reading.run.rejectsFolder, '1-day.part-1.rejects.csv')
  await writeFile(rejects, 'row,_code\n')
  const { counts, join: joinAndEnd } = await reading.read()
  expect(reading.sent).toEqual(['0 0', '0 1', '0 2', '10000 1', '10000 2'])
  expect(reading.clock.now).toBe(19_750)
  expect([counts.rows.read, reading.started]).toEqual([15, [0]])
  expect(await reading.stateOfExport()).toBe('open')
  expect(existsSync(rejects)).toBe(true)
  await joinAndEnd()
  expect([await reading.stateOfExport(), existsSync(rejects)]).toEqual(['finished', false])
})

test('once a part has ended the run, only chunks in flight are waited for', async () => {
  const reading = await begin(async ({ settle, end }, now) => {
    if (now !== 1_000) return
    await settle(1, 1)
    await end(1, 'stopped', failure('gave-way'))
  })
  await reading.open(1)
  await reading.end(0, 'failed', failure('threshold-passed'))
  await expect(reading.read()).rejects.toMatchObject({ code: 'threshold-passed' })
  expect([reading.sent, reading.clock.now]).toEqual([['0 1'], 1_000])
  // The run reports its end; then nobody needs the files of its parts.
  expect(reading.run.leftover).toHaveLength(1)
  expect(await reading.stateOfExport()).toBe('open')
})

test('no part open, yet one at work: the export is over once that worker has let go', async () => {
  let letGo = async (): Promise<void> => {}
  const reading = await begin(async (_, now) => {
    if (now === 500) await letGo()
  })
  for (const number of [0, 1, 2]) await reading.end(number, 'stopped', failure('disk-full'))
  // As readDivided opens stopped parts again, they stop while it reads.
  letGo = await reading.work(2)
  const stopAgain = reading.ledger.parts.ofExport
  reading.ledger.parts.ofExport = async (row) => {
    for (const number of [0, 1, 2]) await reading.end(number, 'stopped', failure('disk-full'))
    return stopAgain(row)
  }
  await expect(reading.read()).rejects.toMatchObject({ code: 'disk-full', message: 'part 1 of 3: disk-full' })
  expect([reading.sent, reading.clock.now]).toEqual([[], 500])
})

test.each([
  ['stopped, until the workers have let go', false, 750],
  ['lost, at once', true, 250],
])('a holder whose job is %s throws', async (_, isLost, endsAt) => {
  let letGo = async (): Promise<void> => {}
  const why = failure('gave-way')
  const reading = await begin(async ({ stopped, lost }, now) => {
    if (now === 250) stopped.abort(why)
    if (now === 250 && isLost) lost.abort(failure('disk-full'))
    if (now === 750) await letGo()
  })
  letGo = await reading.work(1)
  await expect(reading.read()).rejects.toBe(why)
  expect(reading.clock.now).toBe(endsAt)
})

test.each([
  ['settled', 'failed'],
  ['in flight', 'open'],
])('of an export that cannot be read, with its last chunk %s, the state is %s', async (chunk, state) => {
  const reading = await begin()
  for (const number of [0, 1]) await reading.open(number)
  await reading.settle(0, 1)
  if (chunk === 'settled') await reading.settle(1, 1)
  for (const number of [0, 2]) await reading.end(number, 'settled')
  await reading.end(1, 'failed', failure('export-unreadable'))
  await expect(reading.read()).rejects.toMatchObject({ code: 'export-unreadable' })
  expect(await reading.stateOfExport()).toBe(state)
})

/** @param ends what becomes of each part that is carried: its state, or the error that leaves it open */
async function readHere(ends: Readonly<Record<number, PartRecord['state'] | WaybillError>>) {
  const reading = await begin()
  await reading.end(1, 'settled')
  const read = reading.read(async ({ number }) => {
    const end = ends[number] ?? 'settled'
    if (end instanceof WaybillError) return end
    await reading.end(number, end, end === 'failed' ? failure('threshold-passed') : undefined)
    return undefined
  })
  const code = await read.then(
    () => undefined,
    (error: WaybillError) => error.code,
  )
  return { code, carried: reading.carried }
}

test.each<[string, Parameters<typeof readHere>[0], readonly number[], string | undefined]>([
  ['each open part in turn', {}, [0, 2], undefined],
  ['no more, once a part stays open for an error', { 0: failure('disk-full') }, [0], 'disk-full'],
  ['all, though one gives way', { 0: failure('gave-way') }, [0, 2], 'gave-way'],
  ['all, though the last gives way', { 2: failure('gave-way') }, [0, 2], 'gave-way'],
  [
    'all, and ends the run for the share of a part rather than for the way given',
    { 0: failure('gave-way'), 2: 'failed' },
    [0, 2],
    'threshold-passed',
  ],
])('one process reads %s', async (_, ends, carried, code) => {
  expect(await readHere(ends)).toEqual({ code, carried })
})

test('one process takes a part again that a worker still reads', async () => {
  const reading = await begin()
  await reading.end(1, 'settled')
  let held = 2
  await reading.read(async ({ number }) => {
    if (number === 0 && held-- > 0) return failure('job-held')
    await reading.end(number, 'settled')
    return undefined
  })
  expect(reading.carried).toEqual([0, 0, 0, 2])
})
