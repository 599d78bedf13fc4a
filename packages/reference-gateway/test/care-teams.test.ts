import { describe, expect, it } from 'vitest'
import { account, careTeam, type Item, NOW, of, startGateway } from './gateway-under-test.ts'

const PATH = '/health-profile/care-teams'
const GOOD = '1234567893'
const OTHER = '1987654328'

/** A gateway with an account and the entries given, and a look at who is the PCP. */
async function withEntries(...fields: Record<string, unknown>[]) {
  const gateway = await startGateway()
  const accountId = await gateway.register('p-1')
  const created = await gateway.call('POST', PATH, fields.map(careTeam))
  const list = async (): Promise<Item[]> => (await gateway.call('GET', `${PATH}?${of('p-1')}`)).body.data
  const pcps = async () => (await list()).filter((entry) => entry.pcp).map((entry) => entry.id)
  return { ...gateway, accountId, created, list, pcps }
}

it('creates and lists entries as returned: no account, userId the account id', async () => {
  const { accountId, created, call, records } = await withEntries({})
  const { account: _, ...sent } = careTeam()
  const entry = {
    ...sent,
    id: 'id-2',
    userId: accountId,
    createDate: String(NOW),
    updateDate: '0',
    pcp: false,
    observationDate: Date.UTC(2024, 2, 1),
    hydrateCareTeams: false,
  }
  expect([created.status, created.body.code, created.body.data]).toEqual([200, '200', [entry]])
  expect((await call('GET', `${PATH}?${of('p-1')}`)).body).toMatchObject({
    code: '200',
    data: [entry],
    errors: [],
  })
  expect(await records('careTeam')).toEqual([{ ...careTeam(), _account: 'p-1', _storedAt: NOW }])
})

it('stores each entry under the account it names, or none of the batch', async () => {
  const { call, register, counts } = await startGateway()
  await register('p-1')
  const batch = [careTeam(), careTeam({ account: account('p-2') })]
  const { status, body } = await call('POST', PATH, batch)
  expect([status, body.errors[0]?.position, (await counts()).careTeam]).toEqual([404, 1, 0])
  await register('p-2')
  await call('POST', PATH, batch)
  expect((await call('GET', `${PATH}?${of('p-2')}`)).body.data).toHaveLength(1)
})

it.each([
  [`npi=${GOOD}`, 204, ['id-4']],
  [`id=id-4&npi=${GOOD}`, 204, []],
  ['', 400, ['id-2', 'id-3', 'id-4']],
])('deletes with %j: %i, and leaves %j', async (query, status, left) => {
  const { call, list } = await withEntries({ npi: GOOD }, { npi: GOOD }, { npi: OTHER })
  expect((await call('DELETE', `${PATH}?${of('p-1')}&${query}`)).status).toBe(status)
  expect((await list()).map((entry) => entry.id)).toEqual(left)
})

describe('the PCP flag', () => {
  const named = (name: Record<string, string>) => ({ account: account('p-1'), ...name })

  it('is set by id or npi, on one entry of the user at most', async () => {
    const { call, pcps, list } = await withEntries({ npi: GOOD }, { npi: OTHER }, { npi: OTHER })
    const { status, body } = await call('POST', `${PATH}/pcp`, named({ id: 'id-2' }))
    expect([status, body]).toEqual([
      200,
      { code: '200', message: '200 OK', data: [{ npi: GOOD }], errors: [] },
    ])
    expect(await pcps()).toEqual(['id-2'])
    await call('POST', `${PATH}/pcp`, named({ npi: OTHER }))
    expect(await pcps()).toEqual(['id-4'])
    expect((await list()).map((entry) => entry.updateDate)).toEqual([String(NOW), '0', String(NOW)])
  })

  it('is unset by a DELETE with a body, and only on the entry named', async () => {
    const { call, pcps } = await withEntries({ npi: GOOD }, { npi: OTHER })
    await call('POST', `${PATH}/pcp`, named({ npi: GOOD }))
    await call('DELETE', `${PATH}/pcp`, named({ npi: OTHER }))
    expect(await pcps()).toEqual(['id-2'])
    const { status, body } = await call('DELETE', `${PATH}/pcp`, named({ npi: GOOD }))
    expect([status, body.data]).toEqual([200, [{ npi: GOOD }]])
    expect(await pcps()).toEqual([])
  })

  it.each([
    [{}, 400],
    [{ id: 'unknown' }, 404],
    [{ id: 'id-2', npi: OTHER }, 404],
    [{ id: 'id-2', npi: GOOD }, 200],
  ])('by %j answers %i', async (name, status) => {
    const { call } = await withEntries({ npi: GOOD })
    expect((await call('POST', `${PATH}/pcp`, named(name))).status).toBe(status)
  })
})

it('keeps the date of its mark where it is marked once more', async () => {
  let now = NOW
  const { call, register } = await startGateway({ clock: () => now })
  await register('p-1')
  await call('POST', PATH, [careTeam({ npi: GOOD }), careTeam({ npi: OTHER })])
  const dates = async (): Promise<unknown[]> =>
    (await call('GET', `${PATH}?${of('p-1')}`)).body.data.map(({ updateDate }: Item) => updateDate)
  for (const npi of [GOOD, GOOD, OTHER]) {
    await call('POST', `${PATH}/pcp`, { account: account('p-1'), npi })
    if (npi === GOOD) expect(await dates()).toEqual([String(NOW), '0'])
    now += 1_000
  }
  // The other one takes the mark over at its own time.
  expect(await dates()).toEqual([String(NOW + 2_000), String(NOW + 2_000)])
})
