/** Store of delivered rows: a plain table, as PostgreSQL keeps an index small enough while it grows. */
import type { RowPrint } from '../../model/ids.ts'
import { packRows, readPack } from '../delivered-rows.ts'
import type { DeliveredRow, KeptSlot } from '../left-records.ts'
import { damagedLedger } from '../packed-records.ts'
import type { DeliveredStore } from '../sqlite/delivered-store.ts'
import type { Statements } from '../sqlite/exclusive.ts'

export const plainDeliveredOf = (statements: Statements): DeliveredStore => ({
  async read(jobId, rowKeys) {
    const rows = await rowsWith(statements, jobId, rowKeys)
    return new Map<string, readonly KeptSlot[]>(rows.map(({ rowKey, records }) => [rowKey, records]))
  },
  async prints(jobId, rowKeys) {
    const found = new Map<string, RowPrint>()
    for (const { rowKey, print } of await rowsWith(statements, jobId, rowKeys))
      if (print !== undefined) found.set(rowKey, print)
    return found
  },
  async save(jobId, rows, writing) {
    if (rows.length === 0) return
    // In one order, so that two runs never wait for each other; of a key that comes twice, the last counts.
    const packed = new Map(rows.map((row) => [row.rowKey, row]))
    const sorted = [...packed.values()].sort((a, b) => (a.rowKey < b.rowKey ? -1 : 1))
    await writing.run(
      `insert into delivered (job_id, row_key, records)
        select cast(? as bigint), * from unnest(cast(? as bytea[]), cast(? as bytea[]))
        on conflict (job_id, row_key) do update set records = excluded.records`,
      jobId,
      sorted.map(({ rowKey }) => Buffer.from(rowKey, 'hex')),
      sorted.map((row) => Buffer.concat(packRows([row]).map(({ bytes }) => bytes))),
    )
  },
  upkeep: () => [],
  keepUp: () => {},
})

async function rowsWith(
  statements: Statements,
  jobId: number,
  rowKeys: readonly string[],
): Promise<DeliveredRow[]> {
  if (rowKeys.length === 0) return []
  const packs = await statements.all(
    'select records from delivered where job_id = ? and row_key = any(cast(? as bytea[]))',
    jobId,
    rowKeys.map((key) => Buffer.from(key, 'hex')),
  )
  return packs.flatMap(({ records }) => {
    if (!(records instanceof Uint8Array)) throw damagedLedger(new Error('a delivered row is no bytes'))
    return readPack(records)
      .rows()
      .map(({ row }) => row)
  })
}
