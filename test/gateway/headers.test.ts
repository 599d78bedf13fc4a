import { describe, expect, it } from 'vitest'
import { DOCUMENTED_CALLS } from './documented-calls.ts'
import { client, echoing, failureOf, json, type Loopback, serve, serveRaw } from './loopback.ts'
import { EMPTY, SAMPLE_CALLS } from './sample-calls.ts'
import { ACCOUNT, RECORDS_REQUEST } from './sample-records.ts'

const KEYS = { key: 'the-key', requester: 'the-requester-key', '': undefined }
/** Not of the document; they are there so that nothing else can be there unnoticed. */
const TRANSPORT_HEADERS = {
  accept: 'application/json',
  'accept-encoding': expect.any(String),
  'user-agent': 'waybill',
  connection: 'keep-alive',
}

/** The headers that hold something. */
const sent = (headers: Readonly<Record<string, string | undefined>>): object =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined && value !== ''))

describe('what goes onto the wire', () => {
  it.each(DOCUMENTED_CALLS)('$name: $method $path', async (documented) => {
    const { call, reply = EMPTY, query, body = '', ...sample } = SAMPLE_CALLS[documented.name]
    const url = sample.url ?? [documented.path, query].filter((part) => part !== undefined).join('?')
    const server = await serve(() => reply)
    await call(client(server.url, { requesterApiKey: 'the-requester-key' }), server.url)
    expect(server.seen).toEqual([
      {
        method: documented.method,
        url,
        body,
        headers: {
          ...TRANSPORT_HEADERS,
          host: new URL(server.url).host,
          ...sent({
            'x-api-key': KEYS[documented.key],
            authorization: documented.bearer && 'Bearer the-token',
            'x-api-version': documented.version,
            'content-type': documented.contentType,
            'content-length': documented.contentType && String(Buffer.byteLength(body)),
            'accept-language': documented.language,
          }),
        },
      },
    ])
    // The address holds the documented path: parameters fill one segment each.
    const segments = documented.path.replaceAll(/\{\w+\}/g, '[^/?]+')
    if (documented.path.startsWith('/')) expect(url).toMatch(new RegExp(`^${segments}(\\?.*)?$`))
  })

  it('has every method of the client, and every endpoint of the document', () => {
    const gateway = client('http://127.0.0.1:1')
    const methods = Object.entries(gateway).flatMap(([resource, calls]) =>
      typeof calls === 'object' && !Array.isArray(calls)
        ? Object.keys(calls).map((method) => `${resource}.${method}`)
        : [],
    )
    expect(DOCUMENTED_CALLS.map(({ name }) => name).sort()).toEqual(methods.sort())
    // 2 of accounts, 3 of biometrics, 3 of conditions, 5 of care teams, 7 of the age assessment, 2 of content, 5 of the requester.
    expect(new Set(DOCUMENTED_CALLS.map(({ method, path }) => `${method} ${path}`)).size).toBe(27)
  })

  it('asks for no language where none is named', async () => {
    const server = await serve(() => json(200, []))
    const { ageAssessment } = client(server.url)
    await ageAssessment.recommendations('as-1', ACCOUNT)
    await ageAssessment.recommendationsByAccountId('as-1', 'a-1')
    expect(server.seen.map((seen) => seen.headers['accept-language'])).toEqual([undefined, undefined])
  })
})

describe('the settings', () => {
  it('give the requester the one key there is', async () => {
    const server = await serve(() => json(200, { data: [] }))
    await client(server.url).medicalRecords.requestTypes()
    expect(server.seen[0]?.headers['x-api-key']).toBe('the-key')
  })

  it('leave the bearer token off the bulk call of conditions, and off no other', async () => {
    const server = await serve(() => json(200, { data: [] }))
    const gateway = client(server.url, { bearerOnConditionsBulk: false })
    await gateway.conditions.sendBulk('[]', 0)
    await gateway.conditions.create([])
    expect(server.seen.map((seen) => seen.headers.authorization)).toEqual([undefined, 'Bearer the-token'])
  })

  it('move a path, with its parameters and its headers', async () => {
    const server = await serve(() => json(200, { data: [] }))
    const gateway = client(`${server.url}/v2/`, {
      paths: { listCareTeams: '/care-team-list', readArticle: '/articles/{contentId}/text' },
    })
    await gateway.careTeams.list({ reference: 'p-1', type: 'partnerAccountId' })
    await gateway.content.article('a b')
    await gateway.careTeams.create([])
    expect(server.seen.map((seen) => seen.url)).toEqual([
      '/v2/care-team-list?accountReference=p-1&accountReferenceType=partnerAccountId',
      '/v2/articles/a%20b/text',
      '/v2/health-profile/care-teams',
    ])
    expect(server.seen[1]?.headers['x-api-version']).toBe('1.0.0')
  })

  it('spell the fields that the document spells in two ways', async () => {
    const server = await serve(() => json(200, { data: [{ referenceNumber: 'ref-1', results: [] }] }))
    const spelling = {
      datesOfService: 'dateOfService',
      requestSubType: 'requestSubtype',
      subType: 'subType',
    } as const
    const { medicalRecords } = client(server.url, { spelling })
    const { datesOfService, requestSubType, ...rest } = RECORDS_REQUEST.request
    await medicalRecords.upsert([RECORDS_REQUEST])
    const filter = [{ patient: { zip: '00000' }, request: { type: '', subType: 's-1' } }]
    await medicalRecords.search({ page: 1, limit: 10, filter })
    expect(server.seen.map((seen): unknown => JSON.parse(seen.body))).toEqual([
      [
        {
          ...RECORDS_REQUEST,
          request: { ...rest, dateOfService: datesOfService, requestSubtype: requestSubType },
        },
      ],
      { page: 1, limit: 10, filter },
    ])
  })
})

describe('what never leaves', () => {
  const nothingAt = (...servers: Loopback[]): void => {
    for (const server of servers) expect([server.seen, server.connections()]).toEqual([[], 0])
  }

  it.each(DOCUMENTED_CALLS)('$name follows no redirect', async ({ name }) => {
    const elsewhere = await serve(() => echoing())
    const server = await serve((_, index) => ({
      status: [301, 302, 303, 307, 308][index] ?? 500,
      headers: { location: `${elsewhere.url}/taken` },
    }))
    const gateway = client(server.url)
    for (const status of [301, 302, 303, 307, 308]) {
      const failure = await failureOf(SAMPLE_CALLS[name].call(gateway, server.url))
      expect(failure).toMatchObject({ class: 'not-allowed', status })
    }
    expect(server.seen).toHaveLength(5)
    nothingAt(elsewhere)
  })

  it.each([
    ['plain http elsewhere', 'http://192.0.2.1/store/1'],
    ['another scheme', 'ftp://127.0.0.1/store/1'],
    ['a path alone', '/store/1'],
    ['nothing', ''],
  ])('an authorization whose upload address is %s', async (_, address) => {
    const server = await serve(() => ({ status: 200 }))
    const gateway = client(server.url)
    await expect(
      gateway.medicalRecords.uploadAuthorization(address, Buffer.from('%PDF-1.7\n%%EOF\n')),
    ).rejects.toMatchObject({ name: 'WaybillError', code: 'usage-wrong' })
    expect(gateway.events).toEqual([])
    nothingAt(server)
  })

  it.each(['', '.', '..'])('a call whose parameter %j would change its path', async (parameter) => {
    const server = await serve(() => json(200, { data: [] }))
    const { medicalRecords, content, ageAssessment } = client(server.url)
    const outcomes = await Promise.allSettled([
      medicalRecords.delete(parameter),
      content.article(parameter),
      ageAssessment.resultByAccountId(parameter),
      ageAssessment.recommendations(parameter, ACCOUNT),
      ageAssessment.recommendationsByAccountId('as-1', parameter),
    ])
    expect(outcomes).toMatchObject(
      Array(5).fill({
        status: 'rejected',
        reason: { name: 'GatewayError', class: 'refused', status: undefined },
      }),
    )
    nothingAt(server)
  })
})

describe('an upload on another connection than the gateway', () => {
  it('may have arrived where the connection broke, whatever the scheme of the gateway', async () => {
    const store = await serveRaw((request) => {
      request.resume().on('end', () => request.socket.resetAndDestroy())
    })
    const { medicalRecords } = client('https://127.0.0.1')
    const failure = await failureOf(
      medicalRecords.uploadAuthorization(store.url, Buffer.from('%PDF-1.7\n%%EOF\n')),
    )
    expect(failure.class).toBe('ambiguous')
    expect(failure.message).not.toContain(store.url)
  })
})
