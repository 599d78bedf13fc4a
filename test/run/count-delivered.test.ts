/** Records of a chunk that were delivered before, as a dry run counts them: each kind of record has its own memory. */
import { expect, test } from 'vitest'
import type { KeptSlot, Ledger } from '../../src/ledger/ledger.ts'
import { createWithdrawn, WithdrawnEntry } from '../../src/model/entry.ts'
import { countDelivered } from '../../src/run/count-exports.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import {
  biometric,
  EXPORT_ID,
  entryOf,
  IDENTITY,
  type Made,
  mappedRow,
  medicalRequest,
} from '../load/made-up-entries.ts'

const hashed = (reference: string) => IDENTITY.account({ reference, type: 'partnerAccountId' })

interface Memory {
  readonly slots?: ReadonlyMap<string, readonly KeptSlot[]>
  readonly requests?: ReadonlyMap<string, { readonly state: string; readonly content: string | null }>
}

function counterOf({ slots = new Map(), requests = new Map() }: Memory) {
  const known = new Map([[hashed('ann'), { born: null, named: IDENTITY.named(hashed('ann'), 'ann|old') }]])
  const ledger = {
    slots: { delivered: async () => slots },
    people: {
      forgotten: async () => new Map(),
      accounts: async (_: string, some: readonly string[]) =>
        new Map(some.flatMap((one) => (known.has(one) ? [[one, known.get(one)]] : []))),
      medicalRequests: async () => requests,
    },
  } as unknown as Ledger
  return countDelivered(ledger, IDENTITY, { jobId: 1, gateway: 'gateway' })
}

const weight = (row: number, made: Made = {}) => entryOf(biometric, { row, key: `key-${row}`, ...made })

function withdrawalOf(row: number): WithdrawnEntry {
  const made = { row, key: `key-${row}` }
  const { frame, rule, facts, observed } = biometric(made)
  const entry = new WithdrawnEntry(frame, rule, facts, observed, 'status W')
  createWithdrawn(IDENTITY, EXPORT_ID, { ...mappedRow([], made), withdrawn: [entry] }, [])
  return entry
}

test('records count by content and rule, and withdrawn results if they are stored and not withdrawn yet', async () => {
  const same = weight(1)
  const slotOf = ({ ruleHash, content }: typeof same, more = {}) => keptSlot(ruleHash, content, more)
  const [changed, heard, elsewhere, unknown] = [2, 3, 4, 5].map((row) => weight(row))
  if (!changed || !heard || !elsewhere || !unknown) throw new Error('made')
  const stored = weight(6)
  const slots = new Map<string, readonly KeptSlot[]>([
    [same.rowKey, [slotOf(same)]],
    [changed.rowKey, [slotOf(weight(2, { value: '99' }))]],
    [heard.rowKey, [slotOf(heard, { isStored: false })]],
    [elsewhere.rowKey, [{ ...slotOf(elsewhere), ruleHash: 'ffffffff' }]],
    [stored.rowKey, [slotOf(stored)]],
    [weight(7).rowKey, [slotOf(weight(7), { isStored: false })]],
    [weight(8).rowKey, [{ ...slotOf(weight(8)), latest: 'withdrawn' }]],
  ])
  const entries = [same, changed, heard, elsewhere, unknown]
  const withdrawn = [6, 7, 8, 9].map(withdrawalOf)
  const counted = await counterOf({ slots })({ entries, withdrawn })
  expect(counted).toEqual({ records: 1, withdrawn: [withdrawn[0]], renamed: [] })
})

test('a person of an open record whose name is another one by now is counted', async () => {
  const [known, fresh] = ['ann|old', 'ann|new'].map((fullName, at) =>
    weight(at + 1, { person: 'ann', fullName }),
  )
  if (!known || !fresh) throw new Error('made')
  const slots = new Map([[known.rowKey, [keptSlot(known.ruleHash, known.content)]]])
  const counter = counterOf({ slots })
  expect(await counter({ entries: [known], withdrawn: [] })).toMatchObject({ records: 1, renamed: [] })
  expect(await counter({ entries: [known, fresh], withdrawn: [] })).toMatchObject({
    ...{ records: 1, renamed: [hashed('ann')] },
  })
})

const request = (reference: string, isWithdrawn = false) =>
  medicalRequest({ reference, body: '{"a":1}', isWithdrawn } as never)
const done = IDENTITY.requestBody('{"a":1}')

test.each<[string, boolean, { readonly state: string; readonly content: string | null } | undefined, number]>(
  [
    ['complete', false, { state: 'complete', content: done }, 1],
    ['complete, with another text', false, { state: 'complete', content: 'f'.repeat(16) }, 0],
    ['awaited', false, { state: 'awaiting', content: done }, 0],
    ['withdrawn', false, { state: 'withdrawn', content: done }, 0],
    ['unknown', false, undefined, 0],
    ['withdrawn, and is to be', true, { state: 'withdrawn', content: null }, 1],
    ['complete, and is to be withdrawn', true, { state: 'complete', content: done }, 0],
  ],
)('a request that is %s', async (_, isWithdrawn, known, records) => {
  const requests = new Map(known === undefined ? [] : [[IDENTITY.request('r2'), known]])
  const entries = [request('r1'), request('r2', isWithdrawn)]
  expect(await counterOf({ requests })({ entries, withdrawn: [] })).toEqual({
    ...{ records, withdrawn: [], renamed: [] },
  })
})
