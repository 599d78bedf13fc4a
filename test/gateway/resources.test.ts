import { describe, expect, it } from 'vitest'
import type { BiometricSent } from '../../src/gateway/contract/biometric.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { client, echoing, failureOf, json, type Reply, serve } from './loopback.ts'

const ACCOUNT = { reference: 'participant 4711&x', type: 'partnerAccountId' } as const
const ACCOUNT_QUERY = 'accountReference=participant+4711%26x&accountReferenceType=partnerAccountId'
const HEALTH_PROFILE_TYPE = 'application/json;charset=UTF-8'
const REGISTRATION = {
  dateOfBirth: '1970-01-31',
  firstName: 'Test',
  gender: 'FEMALE',
  lastName: 'Person',
  partnerAccountId: 'p-1',
  postalCode: '00000',
}
const BIOMETRIC: BiometricSent = {
  transactionId: 't-1',
  account: ACCOUNT,
  name: 'Body weight',
  observationDate: '2024-03-01T14:05:00.000Z',
  codes: [
    { code: '29463-7', codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC', name: 'Body weight' },
  ],
  value: 81.5,
  unit: 'kg',
  source: { name: 'Screening', type: 'screening' },
}
const CONDITION_READ = { codes: [], observationDate: '1709301900000' }

interface Expected {
  readonly call: (gateway: Gateway) => Promise<unknown>
  readonly reply: Reply
  readonly line: string
  readonly bearer: boolean
  readonly contentType?: string
  readonly body?: string
}

/** The tables of the sections "Endpoints" and "Authentication", call by call. */
const CALLS: readonly Expected[] = [
  {
    call: (gateway) => gateway.accounts.register(REGISTRATION),
    reply: json(200, { accountId: 'a-1', partnerAccountId: 'p-1' }),
    line: 'POST /account/register',
    bearer: false,
    contentType: 'application/json',
    body: JSON.stringify(REGISTRATION),
  },
  {
    call: (gateway) => gateway.accounts.delete(ACCOUNT),
    reply: { status: 204 },
    line: `DELETE /account?${ACCOUNT_QUERY}`,
    bearer: false,
  },
  {
    call: (gateway) => gateway.biometrics.create([BIOMETRIC]),
    reply: echoing('t-1'),
    line: 'POST /health-profile/biometrics',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: JSON.stringify([BIOMETRIC]),
  },
  {
    call: (gateway) => gateway.biometrics.createBulk('[ {"value":5.10} ]', 1),
    reply: echoing('t-1'),
    line: 'POST /health-profile/biometrics/bulk',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: '[ {"value":5.10} ]',
  },
  {
    call: (gateway) => gateway.biometrics.read(ACCOUNT),
    reply: json(200, { code: '200', data: [], errors: [] }),
    line: `GET /health-profile/biometrics?${ACCOUNT_QUERY}`,
    bearer: true,
  },
  {
    call: (gateway) => gateway.conditions.create([]),
    reply: json(200, { code: '200', data: [], errors: [] }),
    line: 'POST /health-profile/conditions',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: '[]',
  },
  {
    call: (gateway) => gateway.conditions.createBulk('[{}]', 1),
    reply: json(200, { code: '200', data: [{ id: 'c-1' }], errors: [] }),
    line: 'POST /health-profile/conditions/bulk',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: '[{}]',
  },
  {
    call: (gateway) => gateway.conditions.read(ACCOUNT),
    reply: json(200, { data: { code: '200', data: [], errors: [] } }),
    line: `GET /health-profile/conditions?${ACCOUNT_QUERY}`,
    bearer: true,
  },
  {
    call: (gateway) => gateway.careTeams.createBulk('[{}]', 1),
    reply: json(200, { code: '200', data: [{ id: '1' }], errors: [] }),
    line: 'POST /health-profile/care-teams',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: '[{}]',
  },
  {
    call: (gateway) => gateway.careTeams.create([]),
    reply: json(200, { code: '200', data: [], errors: [] }),
    line: 'POST /health-profile/care-teams',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: '[]',
  },
  {
    call: (gateway) => gateway.careTeams.list(ACCOUNT),
    reply: json(200, { code: '200', data: [], errors: [] }),
    line: `GET /health-profile/care-teams?${ACCOUNT_QUERY}`,
    bearer: true,
  },
  {
    call: (gateway) => gateway.careTeams.delete(ACCOUNT, { id: ['1', '2'], npi: ['1234567893'] }),
    reply: { status: 204 },
    line: `DELETE /health-profile/care-teams?${ACCOUNT_QUERY}&id=1&id=2&npi=1234567893`,
    bearer: true,
  },
  {
    call: (gateway) => gateway.careTeams.setPrimary({ account: ACCOUNT, npi: '1234567893' }),
    reply: json(200, { code: '200', data: [{ npi: '1234567893' }], errors: [] }),
    line: 'POST /health-profile/care-teams/pcp',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: JSON.stringify({ account: ACCOUNT, npi: '1234567893' }),
  },
  {
    call: (gateway) => gateway.careTeams.unsetPrimary({ account: ACCOUNT, id: '1' }),
    reply: json(200, { code: '200', data: [{}], errors: [] }),
    line: 'DELETE /health-profile/care-teams/pcp',
    bearer: true,
    contentType: HEALTH_PROFILE_TYPE,
    body: JSON.stringify({ account: ACCOUNT, id: '1' }),
  },
]

describe('what goes onto the wire', () => {
  it.each(CALLS)('$line', async ({ call, reply, line, bearer, contentType, body = '' }) => {
    const server = await serve(() => reply)
    await call(client(server.url))
    expect(server.seen).toHaveLength(1)
    const [seen] = server.seen
    expect(`${seen?.method} ${seen?.url}`).toBe(line)
    expect(seen?.body).toBe(body)
    expect(seen?.headers).toEqual({
      'x-api-key': 'the-key',
      accept: 'application/json',
      'accept-encoding': expect.any(String),
      'user-agent': 'waybill',
      host: new URL(server.url).host,
      connection: 'keep-alive',
      ...(bearer ? { authorization: 'Bearer the-token' } : {}),
      ...(contentType === undefined
        ? {}
        : { 'content-type': contentType, 'content-length': String(Buffer.byteLength(body)) }),
    })
  })

  it('leaves the bearer token off the bulk call of conditions where told to, and off no other', async () => {
    const server = await serve(() => json(200, { data: [] }))
    const gateway = client(server.url, { bearerOnConditionsBulk: false })
    await gateway.conditions.createBulk('[]', 0)
    await gateway.conditions.create([])
    expect(server.seen.map((seen) => seen.headers.authorization)).toEqual([undefined, 'Bearer the-token'])
  })

  it('lists care teams where told to', async () => {
    const server = await serve(() => json(200, { data: [] }))
    await client(server.url, { paths: { listCareTeams: '/health-profile/care-team-list' } }).careTeams.list(
      ACCOUNT,
    )
    expect(server.seen[0]?.url).toBe(`/health-profile/care-team-list?${ACCOUNT_QUERY}`)
  })

  it('never deletes care teams, or marks one, without saying which', async () => {
    const server = await serve(() => ({ status: 204 }))
    const { careTeams } = client(server.url)
    await expect(careTeams.delete(ACCOUNT, {})).rejects.toThrow('at least one id or npi')
    await expect(careTeams.delete(ACCOUNT, { id: [], npi: [] })).rejects.toThrow('at least one id or npi')
    await expect(careTeams.setPrimary({ account: ACCOUNT })).rejects.toThrow('an id or an npi')
    expect(server.seen).toEqual([])
  })
})

describe('creating records', () => {
  it.each([
    ['all echoed', echoing('b', 'a'), 'accepted', 0],
    ['errors absent', json(201, { data: [{ transactionId: 'b' }, { transactionId: 'a' }] }), 'accepted', 0],
    ['one not echoed', echoing('b'), 'accepted-in-part', 0],
    ['one too many', echoing('b', 'a', 'c'), 'accepted-in-part', 0],
    [
      'an error listed',
      json(200, {
        data: [{ transactionId: 'b' }, { transactionId: 'a' }],
        errors: [{ code: 1, message: 'No.' }],
      }),
      'accepted-in-part',
      1,
    ],
  ])('two records, %s', async (_, reply, expected, errors) => {
    const server = await serve(() => reply)
    const answer = await client(server.url).biometrics.createBulk('[{},{}]', 2)
    expect(answer.class).toBe(expected)
    expect(answer.status).toBe(reply.status)
    expect(answer.echoes[0]?.transactionId).toBe('b')
    expect(answer.errors).toHaveLength(errors)
  })

  it('keeps what it does not know, and bears an id of another kind', async () => {
    const data = [{ transactionId: 7, id: 'c-1', value: 3, later: { added: true } }]
    const server = await serve(() => json(201, { code: 201, data, more: 1 }))
    const { echoes } = await client(server.url).conditions.createBulk('[{}]', 1)
    expect(echoes).toEqual([{ transactionId: undefined, id: 'c-1', value: 3, later: { added: true } }])
  })
})

describe('reading', () => {
  it('gives the biometrics of the account', async () => {
    const stored = {
      id: 'b-1',
      codes: [],
      observationDate: '1709301900000',
      value: 81.5,
      unit: 'kg',
      later: 1,
    }
    const server = await serve(() => json(200, { code: '200', data: [stored], errors: [] }))
    expect(await client(server.url).biometrics.read(ACCOUNT)).toEqual([stored])
  })

  it('unwraps the conditions from their two envelopes', async () => {
    const inner = { code: '200', message: 'ok', data: [CONDITION_READ], errors: [] }
    const server = await serve(() => json(200, { code: '200', message: 'ok', data: inner, errors: [] }))
    expect(await client(server.url).conditions.read(ACCOUNT)).toEqual([CONDITION_READ])
  })

  it('is ambiguous where a record could not be matched with one that was sent', async () => {
    const server = await serve(() => json(200, { data: [{ id: 'b-1', value: 81.5 }] }))
    const failure = await failureOf(client(server.url).biometrics.read(ACCOUNT))
    expect(failure.class).toBe('ambiguous')
    expect(failure.message).toContain('data.0.observationDate')
  })

  it('is refused for an account that is not registered', async () => {
    const server = await serve(() => json(404, { message: 'No such account.' }))
    expect(await failureOf(client(server.url).biometrics.read(ACCOUNT))).toMatchObject({
      class: 'refused',
      status: 404,
    })
  })
})

describe('deleting care teams', () => {
  it('tells whether one was deleted', async () => {
    const server = await serve((_, index) => ({ status: index === 0 ? 204 : 404 }))
    const { careTeams } = client(server.url)
    expect(await careTeams.delete(ACCOUNT, { id: ['1'] })).toBe(true)
    expect(await careTeams.delete(ACCOUNT, { id: ['1'] })).toBe(false)
  })
})
