/** What Waybill says in the end: the summary of its last process, and of every export the rejects file. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'

const count = z.int().min(0)
const Records = z.object({
  made: count,
  accepted: count,
  rejected: count,
  unchanged: count,
  inDoubt: count,
  pending: count,
})
const Counts = {
  rows: z.object({ read: count, mapped: count, skipped: count, rejected: count }),
  records: z.object({ biometric: Records, condition: Records, careTeam: Records }),
}
const Run = z.object({
  run: z.string(),
  state: z.string(),
  balanced: z.boolean(),
  ...Counts,
  exports: z.array(
    z.object({
      name: z.string(),
      sha256: z.string(),
      state: z.string(),
      error: z.string().optional(),
      rejects: z.string().optional(),
      counts: z.object(Counts),
    }),
  ),
  careTeams: z.object({ replaced: count, owed: count }),
  accounts: z.object({ registered: count, known: count }),
  requests: z.object({ sent: count, retried: count, readBack: count }),
  durationMs: z.number(),
})
/** `waybill run --json`, as docs/cli.md promises it. */
export const Summary = Run.extend({ resumed: Run.optional() })
export type Summary = z.infer<typeof Summary>
export type ExportSummary = Summary['exports'][number]

/** `waybill runs --json`. */
export const Listed = z.object({
  runs: z.array(
    Run.extend({
      job: z.string(),
      reason: z.string().optional(),
      origin: z.object({ run: z.string() }).optional(),
      backfill: z.object({ from: z.string(), to: z.string() }).optional(),
    }),
  ),
})
export type ListedRun = z.infer<typeof Listed>['runs'][number]

/** What a command says that has ended before there was a result. */
export const Refusal = z.object({ error: z.object({ code: z.string() }) })

const Reject = z.object({ _row: z.coerce.number(), _rule: z.string(), _stage: z.string(), _code: z.string() })
export type Reject = z.infer<typeof Reject>

/** Stages of what follows an entry that is there. */
export const FOLLOWING: ReadonlySet<string> = new Set(['primary-care', 'replace'])

export async function readRejects(path: string | undefined): Promise<Reject[]> {
  if (path === undefined) return []
  return z.array(Reject).parse(parse(await readFile(path), { columns: true }))
}

const Receipt = z.object({ transactionId: z.string() })

/** Transaction ids of all that any run of the home has a receipt for. */
export async function readReceipts(home: string): Promise<string[]> {
  const folder = join(home, 'receipts')
  const files = await readdir(folder).catch(() => [])
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file))))
  return texts.flatMap((bytes) =>
    gunzipSync(bytes)
      .toString()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : Receipt.parse(JSON.parse(line)).transactionId)),
  )
}
