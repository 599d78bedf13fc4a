import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { receiptsOf } from '../../src/job/receipts.ts'
import type { EntryOutcome } from '../../src/load/entry.ts'
import { people } from '../load/made-up-entries.ts'

it('are read as one when appended chunk by chunk, and name what was accepted alone', async () => {
  const [a, b, c] = people(3)
  if (a === undefined || b === undefined || c === undefined) throw new Error('three were made')
  const reason = { stage: 'submit', code: 'refused', message: 'm', scrubbed: 'm' } as const
  const first: EntryOutcome[] = [
    { entry: a, outcome: 'accepted', batchId: 'batch-1', status: 201, gatewayId: 'an "id"' },
    { entry: b, outcome: 'rejected', batchId: 'batch-1', reason },
    { entry: c, outcome: 'unchanged' },
  ]
  const second: EntryOutcome[] = [
    { entry: b, outcome: 'accepted', batchId: 'batch-2', status: null, readBack: true },
  ]
  const text = gunzipSync(
    Buffer.concat([await receiptsOf(first), await receiptsOf([]), await receiptsOf(second)]),
  ).toString()
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    {
      transactionId: a.transactionId,
      outcome: 'accepted',
      batchId: 'batch-1',
      status: 201,
      gatewayId: 'an "id"',
    },
    { transactionId: b.transactionId, outcome: 'accepted', batchId: 'batch-2', status: null, readBack: true },
  ])
})

it('of a chunk without any are no bytes', async () => {
  expect(await receiptsOf([])).toHaveLength(0)
})
