/** A run in a new ledger, ready to settle chunks of its only export; and the processor time of a database server. */
import { readdir, readFile } from 'node:fs/promises'
import { type DeliveredRow, type Ledger, noTallies, type RunLedger } from '../src/ledger/ledger.ts'

interface BegunRun {
  readonly jobId: number
  readonly run: RunLedger
  /** Opens a chunk of new rows. @param first number of rows before the chunk */
  open(chunk: number, first: number, rows: number): Promise<void>
  settle(chunk: number, delivered: readonly DeliveredRow[]): Promise<void>
}

export async function beginRun(ledger: Ledger): Promise<BegunRun> {
  const jobId = await ledger.jobs.id('bench', 'https://gateway.example')
  const answer = await ledger.leases.acquire(
    { jobId, runId: 'run', owner: 'bench', now: Date.now(), ttlMs: 1e12 },
    () => true,
  )
  if (!answer.ok) throw new Error('a new ledger has its lease taken')
  const run = await ledger.runs.start(answer.lease, {
    id: 'run',
    jobId,
    startedAt: 0,
    rejectsPath: 'rejects',
    receiptsPath: 'receipts',
  })
  const { id: exportRow } = await run.addExport({
    ordinal: 1,
    exportId: '0123456789abcdef',
    name: 'bench.csv',
    path: '/bench.csv',
    sha256: '0'.repeat(64),
    bytes: 1,
    mapping: { name: 'bench', digest: 'bench', content: '{}' },
  })
  return {
    jobId,
    run,
    open: async (number, first, rows) =>
      run.openChunk(exportRow, { number, firstRow: first + 1, firstLine: 1, byteOffset: 1, rows }),
    settle: async (chunk, delivered) =>
      run.settleChunk({
        exportRow,
        chunk,
        counts: '{}',
        receiptsLength: chunk,
        rejectsLength: 0,
        delivered,
        held: [],
        arrival: 1,
        exceptions: [],
        tallies: noTallies(),
        at: chunk,
      }),
  }
}

/** Processor time of a server with all its processes, past ones included, in ticks of 10 ms: fields 14 to 17 of proc_pid_stat(5). */
export async function ticksOfServer(pid: number): Promise<number> {
  let ticks = 0
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : ''
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(name) !== pid && Number(fields[1]) !== pid) continue
    const counted = Number(name) === pid ? fields.slice(11, 15) : fields.slice(11, 13)
    ticks += counted.reduce((sum, one) => sum + Number(one), 0)
  }
  return ticks
}
