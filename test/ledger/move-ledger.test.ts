import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { moveLedger } from '../../src/ledger/postgres/move-ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import type { RowPrint } from '../../src/model/ids.ts'
import { asAdmin, emptySchema } from '../postgres/server.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { beginExport, beginRun, openChunk, settleChunk } from './begun-run.ts'
import { chunkRows } from './delivered-chunks.ts'

const CHUNKS = 60
const IDS = createAccountIdCipher(() => 'key')
const PEOPLE = Array.from({ length: 2_345 }, (_, at) => at.toString(16).padStart(32, '0'))

/** Ledger with a finished run of many chunks, of which later ones replace rows of earlier ones. */
async function ledgerFile() {
  const file = join(await temporaryFolder(), 'ledger.sqlite')
  const ledger = await openLedger(file, undefined, undefined, IDS)
  await ledger.installation.useKey('fingerprint', undefined)
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run)
  await run.saveAccounts(
    'gateway',
    PEOPLE.map((reference) => ({ reference, accountId: `id of ${reference}`, sentBefore: null })),
    0,
  )
  const last = new Map<string, unknown>()
  const prints = new Map<string, RowPrint>()
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    await openChunk(run, exportRow, chunk)
    const print: RowPrint = { first: chunk, last: ~chunk, biometrics: 12, conditions: 1 }
    const delivered = chunkRows(chunk).map((row) => ({ ...row, print }))
    for (const { rowKey, records } of delivered) {
      last.set(rowKey, records)
      prints.set(rowKey, print)
    }
    await settleChunk(run, exportRow, chunk, { delivered })
  }
  await ledger.leases.release(run.lease)
  return { file, ledger, run, last, prints }
}

const moving = (more: object = {}) => ({
  ...{ id: 'first', now: 0, isDead: () => false, interrupt: new AbortController().signal },
  ...more,
})

/** Signal of a process that is interrupted when it has looked so many times. */
const interruptedAt = (looks: number): AbortSignal => {
  let left = looks
  return Object.assign(new AbortController().signal, {
    throwIfAborted() {
      left -= 1
      if (left < 0) throw new Error('interrupted')
    },
  })
}

async function rowsOf(url: string, table: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ count: number }>(`select cast(count(*) as int) from "${table}"`)
  await client.end()
  return rows[0]?.count ?? -1
}

test('a copy that is interrupted again and again continues, and the database opens only once it is whole', async () => {
  const { file, ledger, last, prints } = await ledgerFile()
  await ledger.close()
  const url = await emptySchema()
  let tries = 0
  let compared: Awaited<ReturnType<typeof moveLedger>> | undefined
  for (let looks = 40; compared === undefined; looks += 40) {
    compared = await moveLedger(file, { url }, moving({ interrupt: interruptedAt(looks) })).catch(
      async (error: unknown) => {
        expect(error).toMatchObject({ message: 'interrupted' })
        await expect(openPostgresLedger({ url })).rejects.toMatchObject({ code: 'copy-unfinished' })
        return undefined
      },
    )
    tries += 1
  }
  expect(tries).toBeGreaterThan(2)

  const source = new DatabaseSync(file, { readOnly: true })
  onTestFinished(() => source.close())
  for (const { table, rows } of compared) {
    if (table === 'delivered') continue
    const [wanted] = source.prepare(`select count(*) as count from "${table}"`).all()
    expect([table, rows, await rowsOf(url, table)]).toEqual([table, wanted?.['count'], wanted?.['count']])
  }
  expect(compared.find(({ table }) => table === 'delivered')?.rows).toBe(last.size)
  const moved = await openPostgresLedger({ url }, { ids: IDS })
  onTestFinished(() => moved.close())
  const jobId = await moved.jobs.id('nightly', 'gateway')
  expect(await moved.slots.delivered(jobId, [...last.keys()])).toEqual(last)
  expect(await moved.slots.prints(jobId, [...last.keys()])).toEqual(prints)
  expect((await moved.people.accounts('gateway', PEOPLE)).size).toBe(PEOPLE.length)
  // Numbers continue behind those of the file.
  const next = await beginRun(moved, 'run-2')
  expect(await beginExport(next)).toBeGreaterThan(1)
})

test('the file is closed to processes that have it open, and to those that open it', async () => {
  const { file, ledger, run } = await ledgerFile()
  const { jobId } = run.lease
  const asked = { jobId, runId: 'run-2', owner: 'here:2', now: 0, ttlMs: 1, givesWay: false }
  const url = await emptySchema()
  await moveLedger(file, { url }, moving())
  await expect(ledger.leases.acquire(asked, () => true)).rejects.toMatchObject({
    code: 'ledger-unusable',
    message: expect.stringContaining('was moved'),
  })
  // A process that slept within a run.
  await expect(run.saveAccounts('gateway', [], 0)).rejects.toThrow()
  await ledger.close()
  await expect(openLedger(file, undefined, undefined, IDS)).rejects.toMatchObject({ code: 'ledger-moved' })
  // To another database, too.
  const other = await emptySchema()
  await expect(moveLedger(file, { url: other }, moving())).rejects.toMatchObject({ code: 'ledger-moved' })
})

test('a ledger in the database, and a run under way, are refused, and the file stays as it is', async () => {
  const { file, ledger, run } = await ledgerFile()
  onTestFinished(() => ledger.close())
  const url = await emptySchema()
  const used = await openPostgresLedger({ url })
  await used.jobs.id('other', 'gateway')
  await used.close()
  await expect(moveLedger(file, { url }, moving())).rejects.toMatchObject({ code: 'usage-wrong' })

  const request = { jobId: run.lease.jobId, runId: 'run-2', owner: 'here:2', now: 0, ttlMs: 60_000 }
  await ledger.leases.acquire(request, () => true)
  const empty = await emptySchema()
  await expect(moveLedger(file, { url: empty }, moving({ now: 1 }))).rejects.toMatchObject({
    code: 'job-held',
  })
  expect(await ledger.jobs.id('a job of its own', 'gateway')).toBeGreaterThan(0)
  // Another file begins a copy, and this one finds it.
  const another = await ledgerFile()
  await another.ledger.close()
  await moveLedger(another.file, { url: empty }, moving({ interrupt: interruptedAt(9) })).catch(() => {})
  await expect(moveLedger(file, { url: empty }, moving({ id: 'second', now: 90_000 }))).rejects.toMatchObject(
    { code: 'usage-wrong' },
  )
  expect(await ledger.jobs.id('one more', 'gateway')).toBeGreaterThan(0)
})

test.each(['update account set registered_at = 1', 'delete from account', 'delete from delivered'])(
  'a copy that differs is refused: %s',
  async (change) => {
    const { file, ledger } = await ledgerFile()
    await ledger.close()
    const url = await emptySchema()
    // Interrupted within the comparison: all rows are copied by then.
    await expect(moveLedger(file, { url }, moving({ interrupt: interruptedAt(60) }))).rejects.toThrow(
      'interrupted',
    )
    await asAdmin(url, change)
    await expect(moveLedger(file, { url }, moving())).rejects.toMatchObject({
      code: 'ledger-unusable',
      message: expect.stringContaining('differs from the file'),
    })
    await expect(openPostgresLedger({ url })).rejects.toMatchObject({ code: 'copy-unfinished' })
  },
)
