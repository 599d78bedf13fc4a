import { describe, expect, it } from 'vitest'
import { BATCH_WRITES, type BatchWrite, IDS } from './fault-calls.ts'
import { account } from './gateway-under-test.ts'
import { roi } from './requester-under-test.ts'
import { type FaultGiven, startStruck } from './struck-gateway.ts'

interface Told {
  readonly code: number | string
  readonly data: Record<string, unknown>[]
  readonly errors: { readonly position?: number; readonly message: string }[]
}

/** Sends the batch to a gateway with the fault; gives what came back and what is stored how often. */
async function strike(write: BatchWrite, fault: FaultGiven, users?: readonly string[]) {
  const gateway = await startStruck([fault])
  const sent = write.records(users)
  const { status, text = '' } = await gateway.send({ method: 'POST', path: write.path, body: sent })
  const told = JSON.parse(text) as Told
  return { gateway, sent, status, told, stored: await gateway.occurrences(write.kind) }
}

const once = (ids: readonly string[]) => Object.fromEntries(ids.map((id) => [id, 1]))
const text = (item: unknown): string => JSON.stringify(item)

describe.each(BATCH_WRITES)('$name', (write) => {
  const { name: on, success, path } = write
  const whole = async () => (await strike(write, { do: 'slow', on, ms: 0 })).told.data

  it.each([
    ['half where nothing is said', {}, 3],
    ['a share', { share: 0.7 }, 4],
    ['a count', { count: 1 }, 1],
    ['never all', { count: 100 }, 5],
    ['never none', { share: 0.001 }, 1],
  ])('store-part stores %s, once each, and says which', async (_, amount, kept) => {
    const { status, told, stored } = await strike(write, { do: 'store-part', on, ...amount })
    expect([status, Object.keys(stored).length, told.data.length]).toEqual([success, kept, kept])
    const missing = IDS.flatMap((id, position) => (id in stored ? [] : [position]))
    expect(stored).toEqual(once(IDS.filter((id) => id in stored)))
    expect(told.errors.map(({ position }) => position)).toEqual(missing)
    for (const { position, message } of told.errors) expect(message).toContain(`[${position}]`)
  })

  it('store-part that says all answers as if all were stored', async () => {
    const { status, told, stored } = await strike(write, { do: 'store-part', on, count: 2, say: 'all' })
    expect([status, told.errors, Object.keys(stored).length]).toEqual([success, [], 2])
    // Ids that the gateway gives differ from one gateway to the next.
    const plain = (items: Record<string, unknown>[]) => items.map(({ id, ...item }) => item)
    expect(plain(told.data)).toEqual(plain(await whole()))
    expect(new Set(told.data.map(({ id, transactionId }) => id ?? transactionId)).size).toBe(IDS.length)
  })

  it.each(['altered', 'other-account', 'other-id'] as const)(
    'store-part that says %s echoes what is not stored as something else; echo does so with what is',
    async (other) => {
      const plain = (items: Record<string, unknown>[]) => items.map(({ id, ...item }) => text(item))
      const honest = new Set(plain(await whole()))
      const part = await strike(write, { do: 'store-part', on, count: 2, say: other })
      expect([part.told.data.length, part.told.errors, Object.keys(part.stored).length]).toEqual([6, [], 2])
      expect(plain(part.told.data).filter((item) => honest.has(item)).length).toBe(2)
      const echo = await strike(write, { do: 'echo', on, count: 4, as: other })
      expect([echo.told.data.length, echo.stored]).toEqual([6, once(IDS)])
      expect(plain(echo.told.data).filter((item) => honest.has(item)).length).toBe(2)
    },
  )

  it('store-part leaves a batch of one record alone', async () => {
    const gateway = await startStruck([{ do: 'store-part', on }])
    await gateway.send({ method: 'POST', path, body: write.records().slice(0, 1) })
    expect(await gateway.occurrences(write.kind)).toEqual(once(['r-0']))
  })

  it('poison refuses the batch that holds the record and stores none of it; the rest goes through', async () => {
    const record = { 'source.meta.persistentRecordId': 'r-4' }
    const { gateway, sent, status, told, stored } = await strike(write, { do: 'poison', on, record })
    expect([status, told.errors.map(({ position }) => position), stored]).toEqual([400, [4], {}])
    const rest = sent.filter((_, position) => position !== 4)
    expect((await gateway.send({ method: 'POST', path, body: rest })).status).toBe(success)
    expect(await gateway.occurrences(write.kind)).toEqual(once(IDS.filter((id) => id !== 'r-4')))
  })

  it('echo shuffled: all items, in another order', async () => {
    const { status, told, stored } = await strike(write, { do: 'echo', on, as: 'shuffled' })
    const fields = (items: Record<string, unknown>[]) => items.map(({ id: _, ...item }) => text(item))
    const expected = fields(await whole())
    expect([status, stored]).toEqual([success, once(IDS)])
    expect(fields(told.data).sort()).toEqual(expected.sort())
    if (on !== 'createCareTeams') return
    const ids = told.data.map(({ id }) => id)
    expect(ids).not.toEqual([...ids].sort())
  })

  it.each([
    [{ as: 'missing', share: 0.5 }, 3],
    [{ as: 'doubled', count: 4 }, 10],
    [{ as: 'foreign', share: 1 }, 12],
  ] as const)('echo %j: %i items, all stored once', async (given, items) => {
    const { status, told, stored } = await strike(write, { do: 'echo', on, ...given })
    expect([status, told.data.length, stored]).toEqual([success, items, once(IDS)])
    const foreign = told.data.filter((item) => text(item).includes('"foreign-'))
    expect(foreign.length).toBe(given.as === 'foreign' ? items - 6 : 0)
    const distinct = new Set(told.data.map(text)).size
    const echoed = given.as === 'doubled' ? 6 : items
    if ('transactionId' in (told.data[0] ?? {}) || 'id' in (told.data[0] ?? {})) expect(distinct).toBe(echoed)
  })

  it('store-part answers for the account of each record', async () => {
    const several = on !== 'createBiometrics' && on !== 'createConditions'
    const users = several ? ['p-1', 'p-2'] : ['p-1']
    const fault = { do: 'store-part', on, count: 5, say: 'all' } as const
    const { told } = await strike(write, fault, users)
    const { told: honest } = await strike(write, { do: 'slow', on, ms: 0 }, users)
    const owners = ({ data }: Told) => data.map(({ account: owner, userId }) => owner ?? userId)
    expect(owners(told)).toEqual(owners(honest))
  })

  it('what the gateway refuses itself is refused as it is', async () => {
    const gateway = await startStruck([{ do: 'store-then-answer', on, status: 502 }])
    const body = write.records().map((record) => ({ ...record, account: account('p-unknown') }))
    expect(await gateway.send({ method: 'POST', path, body })).toMatchObject({ status: 404 })
  })
})

it('store-part that says all of requests for medical records gives their dates as returned', async () => {
  const on = 'upsertMedicalRecords'
  const gateway = await startStruck([{ do: 'store-part', on, count: 2, say: 'all' }])
  const body = ['ref-1', 'ref-2', 'ref-3'].map((referenceNumber) => roi({ referenceNumber }))
  const headers = { 'x-api-version': '1.0.0' }
  const { text: told = '' } = await gateway.send({
    method: 'PATCH',
    path: '/medical-records/requester',
    body,
    headers,
  })
  const { data } = JSON.parse(told) as Told
  expect(data).toHaveLength(3)
  for (const item of data) {
    expect(item['patient']).toMatchObject({ dob: '02/28/1970' })
    expect(item['request']).toMatchObject({ datesOfService: { start: '01/31/2020' } })
  }
})
