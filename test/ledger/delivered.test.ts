import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import type { DeliveredRow } from '../../src/ledger/ledger.ts'
import { openLedgerDatabase, type SqliteLedgerDatabase } from '../../src/ledger/sqlite/database.ts'
import { deliveredOf } from '../../src/ledger/sqlite/delivered.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { chunkRows, SMALL_PACE } from './delivered-chunks.ts'
import { anySlot } from './kept-slots.ts'

type Pace = NonNullable<Parameters<typeof deliveredOf>[1]>

async function newFile(): Promise<string> {
  const folder = await temporaryFolder()
  const file = join(folder, 'ledger.sqlite')
  await (await openLedger(file)).close()
  return file
}

/** The ledger's file, opened as a process does, and what was delivered in it. */
function opened(file: string, pace: Pace = SMALL_PACE) {
  const database: SqliteLedgerDatabase = openLedgerDatabase(file, 1_000)
  const { statements } = database
  // Nothing here outlives the machine.
  statements.run('pragma synchronous = off')
  const delivered = deliveredOf(statements, pace)
  const transaction = (work: () => void, end: 'commit' | 'rollback' = 'commit') => {
    statements.run('begin')
    work()
    statements.run(end)
  }
  return {
    delivered,
    transaction,
    save: (jobId: number, rows: readonly DeliveredRow[]) => transaction(() => delivered.save(jobId, rows)),
    /** @param pieces at most. @param settled rows since the last one */
    keepUp(jobId: number, pieces = Number.POSITIVE_INFINITY, settled = 1) {
      for (let left = pieces; left > 0; ) {
        const some = delivered.upkeep(jobId).slice(0, left)
        if (some.length === 0) return
        for (const piece of some) transaction(() => delivered.keepUp(jobId, piece, settled))
        left -= some.length
      }
    },
    close: () => database.kysely.destroy(),
  }
}

const ROW_KEYS = Array.from({ length: 24 }, (_, at) => `${at % 8}`.repeat(16) + `${at}`.padStart(16, '0'))
const rows = fc.uniqueArray(
  fc.record({
    rowKey: fc.constantFrom(...ROW_KEYS),
    records: fc.array(anySlot(fc.constantFrom('00000000', 'ffffffff'), fc.constantFrom(0x01234567, -1, 0)), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  { selector: ({ rowKey }) => rowKey, minLength: 1, maxLength: 8 },
)
const job = fc.constantFrom(1, 2)
/** Most chunks have no round number of rows. */
const settled = fc.constantFrom(1, 33)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('save' as const), job, rows }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('roll back' as const), job, rows }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('keep up' as const), job, pieces: fc.nat(4), settled }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
)
const steps = fc.array(fc.tuple(step, fc.boolean()), { minLength: 1, maxLength: 40 })

it('in every history, what was delivered is what a map says that was written to as often', async () => {
  const file = await newFile()
  let ledger = opened(file)
  // Another process, which looks things up while this one writes.
  const onlooker = opened(file)
  onTestFinished(async () => {
    await Promise.all([ledger.close(), onlooker.close()])
  })
  let jobs = 0
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      jobs += 2
      const expected = new Map([1, 2].map((job) => [job, new Map<string, DeliveredRow['records']>()]))
      for (const [step, isLookedUp] of history) {
        if (step.do === 'reopen') {
          await ledger.close()
          ledger = opened(file)
        } else if (step.do === 'keep up') ledger.keepUp(jobs + step.job, step.pieces, step.settled)
        else if (step.do === 'save') {
          ledger.save(jobs + step.job, step.rows)
          for (const { rowKey, records } of step.rows) expected.get(step.job)?.set(rowKey, records)
        } else {
          ledger.transaction(() => {
            ledger.delivered.save(jobs + step.job, step.rows)
            ledger.delivered.save(jobs + step.job, step.rows.toReversed())
          }, 'rollback')
        }
        if (!isLookedUp) continue
        for (const job of [1, 2])
          for (const one of [ledger, onlooker])
            expect(one.delivered.read(jobs + job, ROW_KEYS)).toEqual(expected.get(job))
      }
      for (const job of [1, 2]) {
        ledger.keepUp(jobs + job)
        expect(ledger.delivered.read(jobs + job, ROW_KEYS)).toEqual(expected.get(job))
      }
    }),
    { numRuns: 100 },
  )
})

it('goes through no table that grows', async () => {
  const file = await newFile()
  const { statements, kysely } = openLedgerDatabase(file, 1_000)
  onTestFinished(() => kysely.destroy())
  statements.run('pragma synchronous = off')
  const asked = new Map<string, number>()
  const listen =
    <Result>(perform: (sql: string, ...parameters: (number | Uint8Array)[]) => Result) =>
    (sql: string, ...parameters: (number | Uint8Array)[]): Result => {
      if (/^(select|insert|update|delete)/.test(sql)) asked.set(sql, parameters.length)
      return perform(sql, ...parameters)
    }
  const heard = {
    run: listen(statements.run),
    insert: listen(statements.insert),
    all: listen(statements.all),
  }
  const delivered = deliveredOf(heard as typeof statements, SMALL_PACE)
  for (let chunk = 0; chunk < 20; chunk++) {
    delivered.save(1, chunkRows(chunk))
    for (const piece of delivered.upkeep(1)) delivered.keepUp(1, piece, 1)
    delivered.read(
      1,
      chunkRows(chunk).map(({ rowKey }) => rowKey),
    )
  }
  expect(asked.size).toBeGreaterThan(15)
  for (const [sql, parameters] of asked) {
    const plan = statements.all(`explain query plan ${sql}`, ...Array.from({ length: parameters }, () => 1))
    for (const { detail } of plan) expect(String(detail), sql).not.toMatch(/^SCAN (?!CONSTANT ROW)/)
  }
})

it('is read while another process writes', async () => {
  const file = await newFile()
  const [one, other] = [opened(file), opened(file)]
  onTestFinished(async () => {
    await Promise.all([one.close(), other.close()])
  })
  const [first, second] = [chunkRows(0), chunkRows(1)]
  const rowKeys = [...first, ...second].map(({ rowKey }) => rowKey)
  one.save(1, first)
  one.transaction(() => {
    one.delivered.save(1, second)
    expect(other.delivered.read(1, rowKeys).size).toBe(first.length)
  })
  expect(other.delivered.read(1, rowKeys).size).toBe(first.length + second.length)
})

it('keeps nothing of what was merged, and of what was replaced at most as much as of what was not', async () => {
  const file = await newFile()
  const ledger = opened(file)
  onTestFinished(() => ledger.close())
  const expected = new Map<string, DeliveredRow['records']>()
  const ROUNDS = 20
  for (let round = 0; round < ROUNDS; round++) {
    // The same 100 or so rows each time.
    const again = Array.from({ length: 15 }, (_, chunk) => chunkRows(chunk)).flat()
    const all = new Map(
      again.map((row) => [row.rowKey, { ...row, records: chunkRows(round)[0]?.records ?? [] }]),
    )
    ledger.save(1, [...all.values()])
    for (const { rowKey, records } of all.values()) expected.set(rowKey, records)
    ledger.keepUp(1)
  }
  expect(ledger.delivered.read(1, [...expected.keys()])).toEqual(expected)
  const database = new DatabaseSync(file, { readOnly: true })
  onTestFinished(() => database.close())
  const one = (sql: string): unknown => Object.values(database.prepare(sql).get() ?? {})[0]
  expect(one('select sum(count) from delivered')).toBeLessThanOrEqual(2 * expected.size)
  expect(one('select count(*) from delivered_segment')).toBeLessThan(
    SMALL_PACE.fanOut * Math.log2(2 * ROUNDS),
  )
  for (const table of ['delivered_block', 'delivered_filter'])
    expect(one(`select count(*) from ${table} where segment not in (select id from delivered_segment)`)).toBe(
      0,
    )
  expect(one('select count(*) from delivered_replaced where pack not in (select id from delivered)')).toBe(0)
})

it('is whole wherever a process is killed in the middle of merging, and merging goes on', async () => {
  const file = await newFile()
  const program = new URL('delivered-process.ts', import.meta.url).pathname
  const CHUNKS = 60
  const done = { merge: 0, remove: 0, clear: 0 }
  let settled = 0
  for (let kill = 1; settled < CHUNKS; kill++) {
    const child = spawn(process.execPath, [program, file, String(settled), String(CHUNKS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // Each is killed a little later in its work than the one before.
    let left = kill * 50
    for await (const line of createInterface(child.stdout)) {
      const [what = '', chunk] = line.split(' ')
      if (what === 'settled') settled = Number(chunk) + 1
      else if (what in done) done[what as keyof typeof done]++
      if (--left === 0) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')

    const ledger = opened(file)
    const expected = new Map<string, DeliveredRow['records']>()
    for (let at = 0; at < settled; at++)
      for (const { rowKey, records } of chunkRows(at)) expected.set(rowKey, records)
    const found = ledger.delivered.read(1, [...expected.keys()])
    // The next chunk may have been settled without its line.
    const next = new Map(chunkRows(settled).map(({ rowKey, records }) => [rowKey, records]))
    for (const [rowKey, records] of expected)
      expect([records, next.get(rowKey)], rowKey).toContainEqual(found.get(rowKey))
    await ledger.close()
  }
  for (const count of Object.values(done)) expect(count).toBeGreaterThan(10)
  const database = new DatabaseSync(file, { readOnly: true })
  onTestFinished(() => database.close())
  expect(database.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
})
