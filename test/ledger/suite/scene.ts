/** Scene of the suites that each driver of the ledger passes. */
import { afterEach, beforeEach, expect } from 'vitest'
import {
  type BatchIntent,
  type ChunkSettlement,
  type Exception,
  type Held,
  type Ledger,
  noTallies,
  type RunLedger,
  type RunStart,
  THE_PERSON,
} from '../../../src/ledger/ledger.ts'
import { packHolds } from '../../../src/ledger/packed-records.ts'
import { keptSlot } from '../kept-slots.ts'

type BatchSettlement = Parameters<RunLedger['settleBatch']>[0]
type ChunkStart = Parameters<RunLedger['openChunk']>[1]

export interface OpenedLedger {
  readonly ledger: Ledger
  /**
   * Closes the ledger, and opens it again as the next process does.
   * @param place boot and PID namespace of that process; default: the first one's
   */
  reopen(place?: string): Promise<Ledger>
  cleanup(): Promise<void>
}

/** Opens an empty ledger of the driver under test. */
export type OpenLedger = () => Promise<OpenedLedger>

export const NOW = 1_700_000_000_000
export const TTL = 60_000
/** Row of an export behind all of a test. */
export const LATER = 1_000_000
export const alive = (_owner: string) => false
export const hex = (text: string, digits: number): string =>
  Buffer.from(text).toString('hex').padStart(digits, '0').slice(-digits)
export const rowKey = (at: number): string => hex(`row ${at}`, 32)
export const content = (at: number): string => hex(`c ${at}`, 16)
export const record = (at: number) => ({ rule: hex(`r ${at % 7}`, 8), content: content(at) })
export const said = (at: number) =>
  keptSlot(record(at).rule, content(at), { arrival: 2 ** 32 - 1 - at, row: at, isLate: at % 3 === 0 })
/** @param more what is not as with most: rows, places */
export const chunk = (number: number, more: Partial<ChunkStart> = {}): ChunkStart => {
  return { number, firstRow: 1, firstLine: 2, byteOffset: 50, rows: 3, ...more }
}
export const person = (at: number, accountId: string | null = 'a') => {
  return { reference: rowKey(at), accountId, sentBefore: null }
}
export const lost = { code: 'lease-lost' }
export const illegal = { code: 'state-illegal' }
export const holds: readonly Held[] = [1, 2, 3].map((row) => ({
  row,
  rule: 'systolic-bp',
  content: content(row),
}))

export const exception = (fields: Partial<Exception> = {}): Exception => ({
  row: 2,
  line: 3,
  byteOffset: 200,
  kind: 'biometric',
  rule: 'systolic-bp',
  content: content(2),
  outcome: 'rejected',
  stage: 'submit',
  code: 'refused',
  field: null,
  message: 'HTTP 400: no',
  batchId: 'batch-1',
  ...fields,
})

/** Opens a ledger with one job for each test, and begins runs, exports and chunks. */
export function ledgerScene(open: OpenLedger) {
  let opened: OpenedLedger
  let ledger: Ledger
  let jobId: number
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
    jobId = await ledger.jobs.id('job', 'gateway')
  })
  afterEach(() => opened.cleanup())

  const ask = (fields: Partial<Parameters<Ledger['leases']['acquire']>[0]> = {}, isDead = alive) =>
    ledger.leases.acquire({ jobId, runId: 'run-1', owner: 'here:1', now: NOW, ttlMs: TTL, ...fields }, isDead)
  const lease = async (fields: Parameters<typeof ask>[0] = {}, isDead = alive) => {
    const answer = await ask(fields, isDead)
    if (!answer.ok) throw new Error('the lease is held')
    return answer.lease
  }
  const begun = (id: string, more: Partial<RunStart> = {}): RunStart => {
    return {
      id,
      jobId,
      startedAt: NOW,
      rejectsPath: `rejects/${id}`,
      receiptsPath: `receipts/${id}`,
      ...more,
    }
  }
  const startRun = async (id = 'run-1'): Promise<RunLedger> =>
    ledger.runs.start(await lease({ runId: id }), begun(id))
  const runOf = async (id = 'run-1') => (await ledger.runs.find(id)) ?? expect.fail(`the run ${id} is gone`)
  /** What earlier readings of the export left behind. */
  const leftBefore = (
    before: number,
    rows: readonly number[],
    selection: 'rejected' | 'left-behind' = 'rejected',
  ) => ledger.left.ofEarlierReadings({ jobId, exportId: '0123456789abcdef', before, selection }, rows)
  const unfinished = (kind: 'ordinary' | 'backfill' = 'ordinary') => ledger.runs.unfinished(jobId, kind)
  const addExport = (run: RunLedger, ordinal = 1) =>
    run.addExport({
      ordinal,
      exportId: '0123456789abcdef',
      name: 'a.csv',
      path: '/in/a.csv',
      sha256: '0123456789abcdef'.repeat(4),
      bytes: 77,
      mapping: { name: 'm', digest: 'd', content: '{"a":1}' },
    })
  const heldUnder = (...of: number[]) =>
    of.map((at, nth) => ({ ...record(at), isOpen: nth > 0, sentUntil: null }))
  /** A run with an export and its first chunk open. */
  const openChunk = async () => {
    const run = await startRun()
    const { id: exportRow } = await addExport(run)
    await run.openChunk(exportRow, chunk(1))
    const intent: BatchIntent = {
      exportRow,
      chunk: 1,
      batchId: 'batch-1',
      kind: 'biometric',
      records: holds.length,
      holds: packHolds(holds),
      at: NOW,
    }
    const settled = (id: number, fields: Partial<BatchSettlement> = {}): BatchSettlement => ({
      id,
      exportRow,
      chunk: 1,
      answer: 'accepted',
      status: 201,
      attempts: 2,
      accepted: packHolds(holds.slice(0, 1)),
      exceptions: [exception()],
      held: [],
      at: NOW + 5,
      ...fields,
    })
    const chunkSettled = (fields: Partial<ChunkSettlement> = {}): ChunkSettlement => ({
      exportRow,
      chunk: 1,
      counts: '{}',
      receiptsLength: 10,
      rejectsLength: 20,
      delivered: [{ rowKey: rowKey(1), records: [said(1), said(2)] }],
      held: [{ rowKey: rowKey(2), ...record(3), series: null }],
      arrival: 1,
      exceptions: [exception({ row: 9, batchId: null })],
      tallies: { ...noTallies(), requests: { sent: 4, retried: 1, readBack: 2 } },
      at: NOW + 9,
      ...fields,
    })
    return { run, exportRow, intent, settled, chunkSettled, key: { exportRow, chunk: 1 } }
  }
  /** A run of the job that has collected of these people, and has listed care teams of them. */
  const saveOfJob = async (
    id: number,
    runId: string,
    people: readonly string[],
    held: ChunkSettlement['held'] = [],
  ) => {
    const answer = await ledger.leases.acquire(
      { jobId: id, runId, owner: 'here:1', now: NOW, ttlMs: TTL },
      alive,
    )
    if (!answer.ok) throw new Error('the lease is held')
    const run = await ledger.runs.start(answer.lease, { ...begun(runId), jobId: id })
    const { id: exportRow } = await addExport(run)
    await run.openChunk(exportRow, chunk(1))
    await run.settleChunk({
      ...{ exportRow, chunk: 1, counts: '{}', receiptsLength: 0, rejectsLength: 0, delivered: [] },
      ...{
        held,
        arrival: 1,
        exceptions: [],
        tallies: noTallies(),
        at: NOW,
      },
      listed: people.flatMap((account) => [THE_PERSON, rowKey(9)].map((npi) => ({ account, npi, at: NOW }))),
      collected: { collection: '{}', people: people.map((person) => ({ person, content: content(1) })) },
    })
  }
  return {
    get ledger() {
      return ledger
    },
    get jobId() {
      return jobId
    },
    async reopen(place?: string): Promise<Ledger> {
      ledger = await opened.reopen(place)
      return ledger
    },
    ask,
    lease,
    begun,
    startRun,
    runOf,
    leftBefore,
    unfinished,
    addExport,
    heldUnder,
    openChunk,
    saveOfJob,
  }
}
