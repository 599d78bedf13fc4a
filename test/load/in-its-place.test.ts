/** Other records that the profile shows in the place of a record, where the ledger is a copy that may lack what was sent since. */
import { expect, it } from 'vitest'
import type { KeptSlot } from '../../src/ledger/ledger.ts'
import { loadChunk } from '../../src/load/load-chunk.ts'
import { createEntries, type Entry } from '../../src/model/entry.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { BIOMETRICS, placed, SPEAKS, startLoading } from './loading.ts'
import {
  biometric,
  careTeam,
  DAY_MS,
  EXPORT_ID,
  entryOf,
  IDENTITY,
  mappedRow,
  OBSERVED_AT,
} from './made-up-entries.ts'

const COPIED = { until: OBSERVED_AT + DAY_MS, copy: 1 }
const UNKNOWN_EXPORT = 'f'.repeat(16)

const sentBy = (exportId: string, value: string): Entry => {
  const made = { row: 2, person: 'person-1', value }
  const [entry] = createEntries(IDENTITY, exportId, mappedRow([biometric(made)], made))
  if (entry === undefined) throw new Error('a record was made')
  return entry
}

interface Night {
  /** The gateway has this, of the same instant. */
  readonly shown: Entry
  /** The ledger, and the chunk, have this; default: a biometric record. */
  readonly own?: Entry
  /** Id under which the gateway has it; default: its own. */
  readonly id?: string
  readonly isAgain?: boolean
  /** The ledger has the record under this rule and another one, whose content is shown. */
  readonly isRenamed?: boolean
  /** The export of what is shown is still to be read. */
  readonly comesLater?: boolean
  /** The record of the chunk is in doubt. */
  readonly isInDoubt?: boolean
}

/** @returns the outcome of the record, and the requests that sent it */
async function load(night: Night) {
  const { shown, id, isAgain = false, isRenamed = false, comesLater = false, isInDoubt = false } = night
  const named = <Shown extends object>(envelope: Shown): Shown =>
    JSON.parse(JSON.stringify(envelope).replaceAll(shown.transactionId, id ?? shown.transactionId))
  const loading = await startLoading({
    faultOf: ({ method }) => (method === 'GET' ? { do: 'pass-then-edit', edit: named } : PASS),
  })
  await loading.load([shown])
  const entry = night.own ?? entryOf(biometric, { value: '118' })
  const slots: KeptSlot[] = isInDoubt
    ? []
    : [keptSlot(entry.ruleHash, entry.content, { isLapsed: isRenamed })]
  if (isRenamed) slots.push(keptSlot(IDENTITY.rule('former'), shown.content))
  const place = { exportRow: loading.exportRow, chunk: 1 }
  await loading.runLedger.openChunk(loading.exportRow, {
    ...{ number: 1, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 1 },
  })
  await loading.runLedger.settleChunk({
    ...{ ...place, counts: '{}', receiptsLength: 0, rejectsLength: 0, arrival: 1, held: [] },
    ...{ exceptions: [], tallies: {}, at: 0, delivered: [{ rowKey: entry.rowKey, records: slots }] },
  })
  const before = loading.posts(BIOMETRICS)
  const doubt = { rule: entry.ruleHash, content: entry.content, isOpen: false, sentUntil: null }
  const held = async () => new Map(isInDoubt ? [[entry.rowKey, [doubt]]] : [])
  const { memory } = loading.context
  const { outcomes } = await loadChunk(
    {
      ...{ ...loading.context, suspicion: COPIED, comesLater: async () => comesLater },
      ...{ held: 'look', memory: { ...memory, slots: { ...memory.slots, held } } },
    },
    {
      ...{ ...SPEAKS, arrival: 2, isAgain, exportRow: loading.exportRow, chunk: 2, exportId: EXPORT_ID },
      ...{ entries: placed([entry]), withdrawn: [], resumed: false, listed: [], shared: [] },
    },
  )
  return { outcomes, posts: loading.posts(BIOMETRICS) - before }
}

it.each<[string, Night, string, number]>([
  ['of an export unknown to the ledger: sent anew', { shown: sentBy(UNKNOWN_EXPORT, '7') }, 'accepted', 1],
  [
    'of an export that is still to be read: the later one stays',
    { shown: sentBy(UNKNOWN_EXPORT, '7'), comesLater: true },
    'unchanged: outdated',
    0,
  ],
  [
    'of an export that is still to be read, where this one is in doubt: in doubt as before',
    { shown: sentBy(UNKNOWN_EXPORT, '7'), comesLater: true, isInDoubt: true },
    'in-doubt',
    0,
  ],
  [
    'of a known export, though it is read again later: both are there',
    { shown: sentBy(EXPORT_ID, '7'), comesLater: true },
    'unchanged',
    0,
  ],
  [
    'of an export unknown to the ledger, where this one is read again: the later one stays',
    { shown: sentBy(UNKNOWN_EXPORT, '7'), isAgain: true },
    'unchanged',
    0,
  ],
  [
    'with an id that is none of ours: both are there',
    { shown: sentBy(EXPORT_ID, '7'), id: 'foreign' },
    'unchanged',
    0,
  ],
  ['of another row of a known export: both are there', { shown: sentBy(EXPORT_ID, '7') }, 'unchanged', 0],
  [
    'under the name that the rule had meanwhile: sent anew',
    { shown: sentBy(EXPORT_ID, '7'), isRenamed: true },
    'accepted',
    1,
  ],
])('a record %s', async (_, night, outcome, posts) => {
  const loaded = await load(night)
  const words = loaded.outcomes.map((one) =>
    'passedOver' in one ? `${one.outcome}: ${one.passedOver}` : one.outcome,
  )
  expect(words).toEqual([outcome])
  expect(loaded.posts).toBe(posts)
})

it.each([
  ['biometric', entryOf(biometric, { value: '118' })],
  ['care team', entryOf(careTeam, { npi: '1234567893' })],
] as const)(
  'a record that the ledger has, and the profile shows, has no second receipt: %s',
  async (_, own) => {
    const { outcomes, posts } = await load({ shown: own, own })
    expect(outcomes).toMatchObject([{ outcome: 'unchanged' }])
    expect(outcomes[0]).not.toHaveProperty('readBack')
    expect(posts).toBe(0)
  },
)
