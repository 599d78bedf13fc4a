/** The files that a run leaves behind, read as a person would: rejects as CSV, receipts through gunzip. */
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'

/** `_row` without the zero that spreadsheet programs lose. */
const Row = z
  .string()
  .regex(/^0[1-9]/)
  .transform((row) => row.slice(1))
const Reject = z
  .looseObject({ _row: Row, _line: z.string(), _rule: z.string(), _code: z.string() })
  .catchall(z.string())
export type Reject = z.infer<typeof Reject>

export async function readRejects(path: string): Promise<Reject[]> {
  return z.array(Reject).parse(parse(await readFile(path), { columns: true }))
}

const Receipt = z.looseObject({
  transactionId: z.string(),
  outcome: z.literal('accepted'),
  batchId: z.string().nullable(),
  learnedFrom: z.enum(['read-back', 'decision']).optional(),
})
export type Receipt = z.infer<typeof Receipt>

export async function readReceipts(path: string): Promise<Receipt[]> {
  const lines = gunzipSync(await readFile(path))
    .toString()
    .split('\n')
  if (lines.pop() !== '') throw new Error('the last line of the receipts has no end')
  return lines.map((line) => Receipt.parse(JSON.parse(line)))
}
