import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { receiptOf, receiptsOf, receiptsText } from '../../src/job/receipts.ts'
import type { EntryOutcome } from '../../src/model/entry.ts'
import { people } from '../load/made-up-entries.ts'

const linesOf = (text: Uint8Array): unknown[] =>
  gunzipSync(text)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

it('are read as one when appended chunk by chunk, and name what was accepted, or is found, alone', async () => {
  const [a, b, c, d] = people(4)
  if (a === undefined || b === undefined || c === undefined || d === undefined)
    throw new Error('four were made')
  const reason = { stage: 'submit', code: 'refused', message: 'm', scrubbed: 'm' } as const
  const first: EntryOutcome[] = [
    { entry: a, outcome: 'accepted', batchId: 'batch-1', status: 201, gatewayId: 'an "id"' },
    { entry: b, outcome: 'rejected', batchId: 'batch-1', reason },
    { entry: c, outcome: 'unchanged' },
  ]
  const found: EntryOutcome = { entry: c, outcome: 'unchanged', found: true, readBack: true }
  const second: EntryOutcome[] = [
    { entry: b, outcome: 'accepted', batchId: 'batch-2', status: null, readBack: true },
    // The same record in two rows was sent once.
    ...[found, found],
    { entry: d, outcome: 'unchanged', found: true, readBack: true },
    { entry: a, outcome: 'unchanged', found: true },
  ]
  const before = {
    exportId: 'aaaabbbbccccdddd',
    row: 7,
    rule: 'pulse',
    content: c.content,
    batchId: 'batch-0',
  }
  const sentAs = new Map([[c.content, before]])
  const text = Buffer.concat([
    await receiptsText(receiptsOf(first, new Map())),
    await receiptsText([]),
    await receiptsText(receiptsOf(second, sentAs)),
    await receiptsText([receiptOf(before, 'decision')]),
  ])
  const accepted = { outcome: 'accepted', status: null, learnedFrom: 'read-back' }
  const c8 = `aaaabbbbccccdddd-000007-pulse-${c.content.slice(0, 8)}`
  expect(linesOf(text)).toEqual([
    {
      ...{ transactionId: a.transactionId, outcome: 'accepted', batchId: 'batch-1' },
      status: 201,
      gatewayId: 'an "id"',
    },
    { ...accepted, transactionId: b.transactionId, batchId: 'batch-2' },
    { ...accepted, transactionId: c8, batchId: 'batch-0' },
    { ...accepted, transactionId: d.transactionId, batchId: null },
    { ...accepted, transactionId: c8, batchId: 'batch-0', learnedFrom: 'decision' },
  ])
})

it('of a chunk without any are no bytes', async () => {
  expect(await receiptsText([])).toHaveLength(0)
})
