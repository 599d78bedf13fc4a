import { describe, expect, it } from 'vitest'
import { plan } from '../../packages/reference-gateway/test/struck-gateway.ts'
import { NO_SUSPICION } from '../../src/ledger/ledger.ts'
import type { Entry } from '../../src/model/entry.ts'
import { receiptsOf } from '../../src/run/receipts.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { BIOMETRICS, failureOf, idsOf, startLoading, tally } from './loading.ts'
import {
  biometric,
  careTeam,
  condition,
  DAY_MS,
  entriesOf,
  entryOf,
  type Made,
  OBSERVED_AT,
  people,
} from './made-up-entries.ts'

describe('a chunk', () => {
  it('gives one outcome for each entry, in their order', async () => {
    const loading = await startLoading({ limits: { records: 3 } })
    const entries = [1, 2, 3, 4].flatMap((row) => {
      const made = { row, person: `person-${row}` }
      return entriesOf([biometric(made), condition(made), careTeam(made)], made)
    })
    const { outcomes, followUpFailures } = await loading.load(entries)
    expect(outcomes.map(({ entry }) => entry)).toEqual(entries)
    expect(tally(outcomes)).toEqual({ accepted: 12 })
    expect(followUpFailures).toEqual([])
    expect(loading.tallies).toMatchObject({
      accounts: { registered: 4 },
      primaryCare: { marked: 4, owed: 0 },
    })
  })

  it('sends records of people of an unsettled chunk once that one is settled, and keeps nobody else waiting', async () => {
    const loading = await startLoading()
    const before = [entryOf(biometric, { key: 'same', person: 'person-1', value: '61' })]
    const first = await loading.load(before)
    // Equal to the record of the chunk before: only its settlement tells.
    const entries = [
      entryOf(biometric, { row: 2, key: 'same', person: 'person-1', value: '61' }),
      entryOf(biometric, { row: 3, key: 'other', person: 'person-2' }),
      entryOf(biometric, { row: 4, key: 'another', person: 'person-1' }),
    ]
    const stored: number[] = []
    const awaited: unknown[] = []
    const { once } = loading.context.sending
    Object.assign(loading.context.sending, {
      once: (...asked: Parameters<typeof once>) => {
        awaited.push(asked[3]?.isAwaited)
        return once(...asked)
      },
    })
    const others = {
      behind: new Set(['person-1']),
      async beforeSettled() {
        stored.push((await loading.stored('biometric')).length)
        await loading.settle(first)
      },
    }
    const { outcomes } = await loading.load(entries, false, 2, 1, [], others)
    expect(stored).toEqual([2])
    expect(outcomes.map(({ entry, outcome }) => [entry, outcome])).toEqual([
      [entries[0], 'unchanged'],
      [entries[1], 'accepted'],
      [entries[2], 'accepted'],
    ])
    expect(await loading.stored('biometric')).toHaveLength(3)
    // The next chunk waits for the person of both: the second batch goes ahead of the batches of the next chunk.
    expect(awaited).toEqual([false, true])
  })

  it('sends nothing of them where the chunk before has failed', async () => {
    const loading = await startLoading()
    const others = {
      behind: new Set(['person-1']),
      beforeSettled: async () => Promise.reject(new Error('broken')),
    }
    await expect(loading.load(people(2), false, 2, 1, [], others)).rejects.toThrow('broken')
    expect(await loading.stored('biometric')).toMatchObject([{ account: { reference: 'person-2' } }])
  })

  it('sends the older of a series first, and each in a request of its own', async () => {
    const loading = await startLoading()
    const entries = [3, 1, 2].map((day, at) =>
      entryOf(biometric, { row: at + 1, observedAt: OBSERVED_AT + day * DAY_MS }),
    )
    await loading.load(entries)
    const stored = (await loading.stored('biometric')).map((record) => record.source.meta.persistentRecordId)
    expect(stored).toEqual([entries[1], entries[2], entries[0]].map((entry) => entry?.transactionId))
    expect(loading.posts(BIOMETRICS)).toBe(3)
  })

  it('sends the second of two equal records not at all: it is unchanged, or shares the refusal', async () => {
    const twins = (value: string) =>
      [1, 2].map((row) => entryOf(biometric, { row, key: 'same', person: `p${value}`, value }))
    const loading = await startLoading({
      faultOf: (request) => (request.body.includes('"value":666,') ? answer(400) : PASS),
    })
    const { outcomes } = await loading.load([...twins('1'), ...twins('666')])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'unchanged', 'rejected', 'rejected'])
    expect(await loading.stored('biometric')).toHaveLength(1)
  })

  it('sends neither what was delivered before nor what is in doubt', async () => {
    const loading = await startLoading()
    const [delivered, doubtful, fresh] = people(3)
    if (delivered === undefined || doubtful === undefined || fresh === undefined)
      throw new Error('three were made')
    await loading.runLedger.openChunk(loading.exportRow, {
      number: 1,
      firstRow: 1,
      firstLine: 2,
      byteOffset: 0,
      rows: 1,
    })
    await loading.runLedger.settleChunk({
      exportRow: loading.exportRow,
      chunk: 1,
      counts: '{}',
      receiptsLength: 0,
      rejectsLength: 0,
      delivered: [
        {
          rowKey: delivered.rowKey,
          records: [keptSlot(delivered.ruleHash, delivered.content)],
        },
      ],
      held: [{ rowKey: doubtful.rowKey, content: doubtful.content, rule: doubtful.ruleHash, series: null }],
      arrival: 1,
      exceptions: [],
      tallies: {},
      at: 0,
    })
    const { outcomes } = await loading.load([delivered, doubtful, fresh], false, 2)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['unchanged', 'in-doubt', 'accepted'])
    expect(await loading.storedIds('biometric')).toEqual(idsOf([fresh]))
    expect(loading.tallies.accounts.registered).toBe(1)
  })
})

describe('a chunk that an earlier process left open', () => {
  it.each([
    ['stored, unanswered', { do: 'pass-then-answer', status: 403 } as const],
    ['not stored', answer(403)],
  ])('is taken up where the ledger stands: the second batch was %s', async (_name, fault) => {
    const entries = people(9)
    const loading = await startLoading({
      concurrency: 1,
      limits: { records: 3 },
      // A 403 stops the run; as the ledger sees it, that is a crash while the second batch was being sent.
      faultOf: (request) => (request.path === BIOMETRICS && request.earlier === 1 ? fault : PASS),
    })
    expect(await failureOf(loading.load(entries))).toMatchObject({ code: 'gateway-refused-credentials' })
    const { outcomes } = await loading.load(entries, true)
    expect(outcomes.map(({ entry }) => entry)).toEqual(entries)
    expect(tally(outcomes)).toEqual({ accepted: 9 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
    expect((await loading.batches()).map((batch) => batch.state)).not.toContain('sending')
  })

  it('goes on in the batches of a chunk that was not left: newer records do not fill an older batch', async () => {
    const newer = { observedAt: OBSERVED_AT + DAY_MS }
    const again = [1, 2].map((at) => entryOf(biometric, { row: 5 + at, person: `person-${at}`, ...newer }))
    const batchesAfter = async (stops: boolean): Promise<string[]> => {
      let isDown = stops
      const loading = await startLoading({
        concurrency: 1,
        limits: { records: 3 },
        faultOf: ({ path, earlier }) => (isDown && path === BIOMETRICS && earlier > 0 ? answer(403) : PASS),
      })
      const entries = [...people(5), ...again]
      if (isDown) await failureOf(loading.load(entries))
      isDown = false
      await loading.load(entries, stops)
      const stored = await loading.stored('biometric')
      return stored.map(({ source: { meta } }) => `${meta.batchId} ${meta.persistentRecordId}`).toSorted()
    }
    expect(await batchesAfter(true)).toEqual(await batchesAfter(false))
  })

  it('sends nothing at all where everything was settled but the chunk', async () => {
    const entries = people(6).with(2, entryOf(biometric, { row: 3, person: 'person-3', value: '666' }))
    const loading = await startLoading({
      faultOf: (request) => (request.body.includes('"value":666,') ? answer(400) : PASS),
    })
    const before = await loading.load(entries)
    const requests = loading.proxy.seen.length
    const after = await loading.load(entries, true)
    expect(loading.proxy.seen).toHaveLength(requests)
    expect(after.outcomes.map(({ outcome }) => outcome)).toEqual(
      before.outcomes.map(({ outcome }) => outcome),
    )
    expect(await loading.exceptions()).toHaveLength(1)
  })

  it('judges what was open before it sends a newer record that would hide it', async () => {
    const older = entryOf(biometric, { row: 1 })
    const newer = entryOf(biometric, { row: 2, observedAt: OBSERVED_AT + DAY_MS })
    const loading = await startLoading({
      faultOf: (request) =>
        request.path === BIOMETRICS && request.earlier === 0 ? { do: 'pass-then-answer', status: 403 } : PASS,
    })
    await failureOf(loading.load([older, newer]))
    expect(tally((await loading.load([older, newer], true)).outcomes)).toEqual({ accepted: 2 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf([older, newer]))
  })
})

describe('a care-team entry where the list cannot be read', () => {
  const entry = entryOf(careTeam, { primary: false })
  const copied = { until: OBSERVED_AT + DAY_MS, copy: 1 }

  it.each([
    ['is sent by a new chunk', false, NO_SUSPICION, 'accepted'],
    [
      'is sent by a chunk that an earlier process left open, and had not sent',
      true,
      NO_SUSPICION,
      'accepted',
    ],
    ['is in doubt where the ledger is a copy', false, copied, 'in-doubt'],
  ])('%s', async (_what, resumed, suspicion, outcome) => {
    const loading = await startLoading({
      gateway: { faults: plan({ on: 'listCareTeams', do: 'refuse', status: 404 }) },
    })
    Object.assign(loading.context, { suspicion })
    expect(tally((await loading.load([entry], resumed)).outcomes)).toEqual({ [outcome]: 1 })
    expect(await loading.storedIds('careTeam')).toHaveLength(outcome === 'accepted' ? 1 : 0)
  })
})

describe('the buffer of a body', () => {
  it.each([
    ['serves again once the gateway has taken the batch', 0, 3],
    ['is left alone where an answer was lost: the bytes may still be under way', 1, 2],
  ])('%s', async (_what, lost, expected) => {
    const loading = await startLoading({
      limits: { records: 3 },
      faultOf: ({ path, earlier }) =>
        path === BIOMETRICS && earlier < lost ? { do: 'pass-then-answer', status: 500 } : PASS,
    })
    const { take, giveBack } = loading.context.buffers
    const given: Buffer[] = []
    const counting = {
      take,
      giveBack: (buffer: Buffer): void => {
        given.push(buffer)
        giveBack(buffer)
      },
    }
    Object.assign(loading.context, { buffers: counting })
    expect(tally((await loading.load(people(9))).outcomes)).toEqual({ accepted: 9 })
    expect(given).toHaveLength(expected)
  })
})

describe('a care-team entry of a chunk that an earlier process left open', () => {
  const made = (fields: Made = {}): Entry => entryOf(careTeam, { primary: false, ...fields })

  it('has no second receipt where it came under the same id before', async () => {
    const loading = await startLoading()
    const names = ['Test Practice', 'New Practice', 'Test Practice']
    const receipts: unknown[] = []
    for (const [at, name] of names.entries()) {
      const loaded = await loading.load([made({ name })], at === 2, at + 1, at + 1)
      receipts.push(...receiptsOf(loaded.outcomes, new Map()))
      await loading.settle(loaded, at + 1)
    }
    expect(receipts).toHaveLength(2)
    expect(await loading.storedIds('careTeam')).toHaveLength(2)
  })
})
