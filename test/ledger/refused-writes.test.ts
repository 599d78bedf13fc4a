/** A settlement is written as a whole or not at all, whichever of its writes the database refuses. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { noTallies } from '../../src/ledger/ledger.ts'
import { packHolds } from '../../src/ledger/packed-records.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { beginExport, beginRun, openChunk, settleChunk } from './begun-run.ts'
import { content, exception, person, record, rowKey } from './suite/scene.ts'

/** Run with a chunk to settle: with an earlier doubt, a record held under a former row key, and a planned batch. */
async function scene() {
  const file = join(await temporaryFolder(), 'ledger.sqlite')
  const ledger = await openLedger(
    file,
    undefined,
    undefined,
    createAccountIdCipher(() => 'of-a-test'),
  )
  const database = new DatabaseSync(file, { timeout: 10_000 })
  onTestFinished(async () => {
    database.close()
    await ledger.close()
  })
  const first = await beginRun(ledger, 'run-1')
  await first.saveAccounts('gateway', [person(1)], 0)
  const before = await beginExport(first)
  await openChunk(first, before, 1)
  const doubt = exception({ row: 3, content: content(3), outcome: 'in-doubt' })
  await settleChunk(first, before, 1, {
    exceptions: [doubt],
    held: [{ rowKey: rowKey(7), ...record(3), series: null }],
  })
  await first.endRun({ state: 'finished', endedAt: 1, reason: null })
  const run = await beginRun(ledger, 'run-2', { startedAt: 2 })
  const exportRow = await beginExport(run)
  await openChunk(run, exportRow, 1)
  const holds = packHolds([{ row: 1, rule: 'pulse', content: content(1) }])
  const batch = { exportRow, chunk: 1, batchId: 'b', kind: 'biometric', records: 1, holds, at: 3 } as const
  await run.planBatches([batch])
  const [left] = await ledger.left.inDoubt('run-1', 0, 1)
  if (left === undefined) throw new Error('nothing is in doubt')
  const settle = (): Promise<void> =>
    settleChunk(run, exportRow, 1, {
      receiptsLength: 10,
      rejectsLength: 20,
      exceptions: [exception({ row: 9, batchId: null })],
      held: [{ rowKey: rowKey(2), ...record(3), series: null }],
      listed: [{ account: rowKey(1), npi: rowKey(9), at: 4 }],
      names: { gateway: 'gateway', named: new Map([[person(1).reference, 5]]) },
      ruling: {
        decisions: [{ exception: left.id, event: 'deliver' }],
        run: 'run-2',
        resolution: { run: 'run-1', decision: 'accept', by: 'ann', note: null, at: 4 },
        released: [],
      },
      tallies: { ...noTallies(), requests: { sent: 4, retried: 1, readBack: 2 } },
      collected: { collection: '{"files":[]}', people: [{ person: rowKey(1), content: content(1) }] },
      at: 9,
    })
  return { database, settle }
}

const tablesOf = (database: DatabaseSync): string[] =>
  database
    .prepare(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`)
    .all()
    .map(({ name }) => String(name))

const contentOf = (database: DatabaseSync): unknown =>
  tablesOf(database).map((table) => database.prepare(`select * from "${table}"`).all())

/** Writes of the settlement, table by table. */
const WRITES = [
  ['batch', 'delete'],
  ['batch_holds', 'delete'],
  ['care_team_listed', 'insert'],
  ['chunk', 'update'],
  ['collected', 'insert'],
  ['account', 'update'],
  ['decision', 'insert'],
  ['exception', 'insert'],
  ['exception', 'update'],
  ['held', 'delete'],
  ['held', 'insert'],
  ['resolution', 'insert'],
  ['run', 'update of worked_ms'],
  ['run', 'update of collection'],
] as const

test.each(WRITES)(
  'whose write to %s (%s) is refused leaves nothing, and succeeds afterwards',
  async (table, verb) => {
    const { database, settle } = await scene()
    const before = contentOf(database)
    database.exec(
      `create trigger refusing before ${verb} on "${table}" begin select raise(abort, 'refused by a test'); end`,
    )
    await expect(settle()).rejects.toThrow()
    expect(contentOf(database)).toEqual(before)
    database.exec('drop trigger refusing')
    await settle()
    expect(contentOf(database)).not.toEqual(before)
  },
)
