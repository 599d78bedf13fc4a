import { describe, expect, it } from 'vitest'
import type { Lenient } from '../../src/gateway/contract/shared-objects.ts'
import { saysNotFound } from '../../src/gateway/gateway-error.ts'
import { client, echoing, failureOf, json, serve } from './loopback.ts'
import { ACCOUNT, BIOMETRIC } from './sample-records.ts'

const CONDITION_READ = { codes: [], observationDate: '1709301900000' }

describe('what may not be sent', () => {
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
    const answer = await client(server.url).biometrics.sendBulk('[{},{}]', 2)
    expect(answer.class).toBe(expected)
    expect(answer.status).toBe(reply.status)
    expect(answer.echoes[0]?.transactionId).toBe('b')
    expect(answer.errors).toHaveLength(errors)
  })

  it('keeps what it does not know, and bears an id of another kind', async () => {
    const data = [{ transactionId: 7, id: 'c-1', value: 3, later: { added: true } }]
    const server = await serve(() => json(201, { code: 201, data, more: 1 }))
    const { echoes } = await client(server.url).conditions.sendBulk('[{}]', 1)
    expect(echoes).toEqual([{ transactionId: 7, id: 'c-1', value: 3, later: { added: true } }])
  })
})

describe('bulk calls with records', () => {
  it('send them as they are, and give typed echoes that bear what is missing or of another kind', async () => {
    const data = [{ transactionId: 't-1', value: 81.5, more: true }, { value: 'many' }]
    const server = await serve(() => json(201, { code: 201, data }))
    const answer = await client(server.url).biometrics.createBulk([BIOMETRIC, { ...BIOMETRIC, value: 82 }])
    expect(server.seen.map(({ url }) => url)).toEqual(['/health-profile/biometrics/bulk'])
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual([BIOMETRIC, { ...BIOMETRIC, value: 82 }])
    const value: Lenient<number> | undefined = answer.echoes[0]?.value
    expect([answer.class, value, answer.echoes]).toEqual(['accepted', 81.5, data])
  })
})

describe('lists of many pages', () => {
  const article = (id: number) => ({ id, title: `Article ${id}` })

  it.each([
    ['an empty page', [[1, 2], [3], []]],
    ['a page that comes again', [[1, 2], [3], [3]]],
  ])('end with %s, and give each article once', async (_, found) => {
    const server = await serve(({ url }) => {
      const page = Number(new URL(url, 'http://gateway').searchParams.get('seite'))
      return json(200, { code: 200, data: (found[page] ?? []).map(article) })
    })
    const { content } = client(server.url)
    const articles = content.articles({ tag: 'heart' }, { parameter: 'seite', first: 0 })
    expect((await Array.fromAsync(articles)).map(({ id }) => id)).toEqual([1, 2, 3])
    expect(server.seen).toHaveLength(3)
  })

  it('ask once where nothing says how a page is asked for', async () => {
    const server = await serve(() => json(200, { code: 200, data: [article(1)] }))
    expect(await Array.fromAsync(client(server.url).content.articles())).toHaveLength(1)
    expect(server.seen.map(({ url }) => url)).toEqual(['/content/distribution/article'])
  })

  it('of requests end behind a page that is not full', async () => {
    const request = (at: number) => ({ referenceNumber: `r-${at}` })
    const server = await serve(({ body }) => {
      const { page } = JSON.parse(body) as { page: number }
      const results = Array.from({ length: page === 1 ? 100 : 3 }, (_, at) => request(100 * page + at))
      return json(200, { code: 200, data: [{ results }] })
    })
    const filter = [{ patient: { lastName: 'Person' }, request: { type: '', subType: '' } }]
    const found = await Array.fromAsync(client(server.url).medicalRecords.requests(filter))
    expect([found.length, server.seen.length]).toEqual([103, 2])
  })
})

describe('reading', () => {
  it('is ambiguous where a record could not be matched with one that was sent', async () => {
    const server = await serve(() => json(200, { data: [{ id: 'b-1', value: 81.5 }] }))
    const failure = await failureOf(client(server.url).biometrics.read(ACCOUNT))
    expect(failure.class).toBe('ambiguous')
    expect(failure.message).toContain('data.0.observationDate')
  })

  it.each([
    ['tells of failure', { code: '500', data: [] }],
    ['lists errors', { code: '200', data: [], errors: [{ message: 'No answer of the store.' }] }],
  ])('is ambiguous, not empty, where the envelope %s', async (_, envelope) => {
    const nested = (seen: { url: string }) => seen.url.startsWith('/health-profile/conditions')
    const server = await serve((seen) => json(200, nested(seen) ? { data: envelope } : envelope))
    const gateway = client(server.url)
    const reads = [
      gateway.biometrics.read(ACCOUNT),
      gateway.conditions.read(ACCOUNT),
      gateway.careTeams.list(ACCOUNT),
      gateway.content.listArticles(),
      gateway.assessment.currentPage(),
      gateway.medicalRecords.requestTypes(),
      gateway.medicalRecords.delete('ref-1'),
    ]
    for (const failure of await Promise.all(reads.map(failureOf))) {
      expect(failure).toMatchObject({ class: 'ambiguous', status: 200 })
    }
  })

  const HTML = '<!doctype html><title>Gateway</title>'
  const nested = (data: unknown) => ({ code: '200', data: { code: '200', data, errors: [] } })
  const flat = (data: unknown) => ({ code: '200', data, errors: [] })
  /** A profile of biometrics and one of conditions whose record names an account so. */
  const naming = (account: unknown): [string, string] => [
    JSON.stringify(flat([{ ...CONDITION_READ, accountReference: account }])),
    JSON.stringify(nested([{ ...CONDITION_READ, account }])),
  ]
  it.each<[string, string | undefined, string | undefined]>([
    ['a page of a proxy', HTML, HTML],
    ['an empty body', '', ''],
    ['null', 'null', 'null'],
    ['an empty object', '{}', '{}'],
    ['an array without its envelope', '[]', '[]'],
    ['an envelope without data', '{"code":"200"}', '{"code":"200","data":{"code":"200"}}'],
    ['data that is null', '{"data":null}', '{"data":{"data":null}}'],
    ['data that is an object', '{"data":{}}', '{"data":{"data":{}}}'],
    ['each envelope for the other', JSON.stringify(nested([])), JSON.stringify(flat([]))],
    ['records of another account', ...naming({ type: 'accountId', reference: 'other' })],
    ['records of another account in URL form', ...naming({ type: 'entity', reference: 'https://g/other' })],
  ])('takes %s for no profile', async (_, plain, ofConditions) => {
    const server = await serve(({ url }) => ({
      status: 200,
      body: (url.startsWith('/health-profile/conditions') ? ofConditions : plain) ?? '',
    }))
    const { biometrics, conditions } = client(server.url)
    const asked = { reference: 'a-1', type: 'accountId' } as const
    for (const read of [
      biometrics.read(asked),
      biometrics.read({ entity: 'https://g/a-1' }),
      conditions.read(asked),
    ])
      expect(await failureOf(read)).toMatchObject({ class: 'ambiguous', status: 200 })
  })

  it.each([
    ['as it was asked about', 'accountId', 'a-1'],
    ['in URL form', 'entity', 'https://g/accounts/a-1/'],
    ['not at all', undefined, ''],
    ['in a way that is not known', 'member', 'm-1'],
  ])('bears records that name the account %s', async (_, type, reference) => {
    const [plain, ofConditions] = naming(type === undefined ? undefined : { type, reference })
    const server = await serve(({ url }) => ({
      status: 200,
      body: url.startsWith('/health-profile/conditions') ? ofConditions : plain,
    }))
    const { biometrics, conditions } = client(server.url)
    const asked = { reference: 'a-1', type: 'accountId' } as const
    expect(await biometrics.read(asked)).toHaveLength(1)
    expect(await conditions.read(asked)).toHaveLength(1)
  })

  it.each([
    ['of two accounts, asked by the partner’s reference', ['accountId', 'accountId'], ['a-1', 'a-2']],
    ['of another partner reference', ['partnerAccountId'], ['other']],
  ])('takes records %s for no profile', async (_, types, references) => {
    const records = types.map((type, at) => ({
      codes: [],
      observationDate: '1',
      accountReference: { type, reference: references[at] },
    }))
    const server = await serve(() => json(200, flat(records)))
    expect(await failureOf(client(server.url).biometrics.read(ACCOUNT))).toMatchObject({ class: 'ambiguous' })
  })

  it('takes care-team entries of two users for no list', async () => {
    const entries = (...users: string[]) => flat(users.map((userId, at) => ({ id: `${at}`, userId })))
    const server = await serve((_, index) =>
      json(200, index === 0 ? entries('u-1', 'u-1') : entries('u-1', 'u-2')),
    )
    const { careTeams } = client(server.url)
    expect(await careTeams.list(ACCOUNT)).toHaveLength(2)
    expect(await failureOf(careTeams.list(ACCOUNT))).toMatchObject({ class: 'ambiguous' })
  })

  it.each<[string, string, number | undefined]>([
    ['in an envelope', '{"code":404,"message":"Not found","data":[],"errors":[{"message":"none"}]}', 404],
    ['in an envelope with its code as text', '{"code":"404"}', 404],
    ['in the nested envelope of conditions', '{"code":"404","data":{"code":"404","data":[]}}', 404],
    ['in an envelope of another code', '{"code":500,"data":[]}', 500],
    ['in an envelope with records', '{"code":404,"data":[{}]}', undefined],
    ['in JSON of somebody else', '{"message":"no Route matched with those values"}', undefined],
    ['in a page', HTML, undefined],
    ['in nothing', '', undefined],
  ])('a 404 %s', async (_, body, envelopeCode) => {
    const server = await serve(() => ({ status: 404, body }))
    const failure = await failureOf(client(server.url).biometrics.read(ACCOUNT))
    expect(failure).toMatchObject({ class: 'refused', status: 404, envelopeCode })
    expect(saysNotFound(failure)).toBe(envelopeCode === 404)
  })

  it('names the account by its URL form alone where it is given so', async () => {
    const server = await serve(() => json(200, { data: [] }))
    await client(server.url).biometrics.read({ entity: 'https://gateway.example/accounts/4711' })
    expect(server.seen[0]?.url).toBe(
      '/health-profile/biometrics?entity=https%3A%2F%2Fgateway.example%2Faccounts%2F4711',
    )
  })
})

describe('deleting care teams', () => {
  it('tells whether one was deleted', async () => {
    const server = await serve((_, index) => (index === 0 ? { status: 204 } : json(404, { code: '404' })))
    const { careTeams } = client(server.url)
    expect(await careTeams.delete(ACCOUNT, { id: ['1'] })).toBe(true)
    expect(await careTeams.delete(ACCOUNT, { id: ['1'] })).toBe(false)
  })

  it.each([
    ['without a body', { status: 404 }],
    ['with a page', { status: 404, body: '<html>Not found</html>' }],
    ['with JSON of another form', json(404, { error: 'no such path' })],
  ])('does not take a 404 %s for the word of the gateway', async (_name, answer) => {
    const server = await serve(() => answer)
    expect(await failureOf(client(server.url).careTeams.delete(ACCOUNT, { id: ['1'] }))).toMatchObject({
      ...{ class: 'ambiguous', status: 404 },
    })
  })
})
