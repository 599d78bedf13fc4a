/** Answers that cost more than what was asked for: each is broken off, and the request that it answers fails alone. */
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { CLIENTS, client, failureOf, json, serve, serveRaw } from '../gateway/loopback.ts'

const PERSON = { reference: 'ann', type: 'partnerAccountId' } as const
const RECORDS = '[{"transactionId":"a"},{"transactionId":"b"}]'

/** As deep as no record is, and as a recursive reader cannot bear. */
const nested = (levels: number): string => `${'{"errors":['.repeat(levels)}1${']}'.repeat(levels)}`

const envelope = (data: readonly unknown[], errors: readonly unknown[] = []) => ({ code: 201, data, errors })

describe.each(CLIENTS)('by %s', (_, create) => {
  test('a few bytes of gzip that become many are not unpacked', async () => {
    // 30 MB, fewer than an answer may have, out of 30 kB.
    const body = gzipSync(`{"code":201,"data":[],"errors":[],"more":"${' '.repeat(30_000_000)}"}`)
    const server = await serve(() => ({ status: 201, headers: { 'content-encoding': 'gzip' }, body }))
    const failure = await failureOf(create(client(server.url), RECORDS))
    expect(failure).toMatchObject({ class: 'ambiguous', status: 201 })
    expect(failure.message).toContain('longer than')
  })

  test('an answer to two records has no megabytes', async () => {
    const server = await serve(() => json(201, { ...envelope([]), more: ' '.repeat(5_000_000) }))
    const failure = await failureOf(create(client(server.url), RECORDS))
    expect(failure).toMatchObject({ class: 'ambiguous', status: 201 })
    expect(failure.message).toContain('longer than')
  })

  test.each([
    ['echoes', envelope(Array(21).fill({}))],
    ['errors', envelope([], Array(21).fill('no'))],
  ])('two records are not answered by 21 %s', async (__, body) => {
    const server = await serve(() => json(201, body))
    const failure = await failureOf(create(client(server.url), RECORDS))
    expect(failure).toMatchObject({ class: 'ambiguous', status: 201 })
    expect(failure.message).toContain('more than')
  })

  test.each([
    [201, 'ambiguous'],
    [422, 'refused'],
  ])('errors nested 8,000 deep in an answer %i say nothing', async (status, kind) => {
    const body = `{"code":${status},"data":[],"errors":[${nested(8_000)}]}`
    const server = await serve(() => ({ status, body }))
    const failure = await failureOf(create(client(server.url), RECORDS))
    expect(failure).toMatchObject({ class: kind, status })
    expect(failure.refusal).toBeUndefined()
  })

  test('answers that are long together are broken off, the longest first, and a short one gets through', async () => {
    const LONG = 900_000
    const server = await serveRaw((request, response) => {
      request.resume()
      request.on('end', () => {
        if (request.url?.includes('short')) response.end('{"code":"200","data":[],"errors":[]}')
        // Never ends.
        else response.writeHead(201).write(' '.repeat(LONG))
      })
    })
    // Together they may have two of the longest.
    const gateway = client(server.url, { maxAnswerBytes: 1_000_000 })
    const rest = new AbortController()
    const body = JSON.stringify([{ text: 'x'.repeat(100_000) }])
    const messages: string[] = []
    const failures = Array.from({ length: 6 }, async () => {
      messages.push((await failureOf(create(gateway.during(rest.signal), body))).message)
      if (messages.length === 4) rest.abort()
    })
    await gateway.biometrics.read({ ...PERSON, reference: 'short' })
    await Promise.all(failures)
    expect(messages.slice(0, 4)).toEqual(
      messages.slice(0, 4).map(() => expect.stringContaining('longer than')),
    )
  })
})

test('a page that never ends, and pages that never end', async () => {
  let id = 0
  const server = await serve(() => json(200, { code: 200, data: [{ id: ++id }], errors: [] }))
  const { content, medicalRecords } = client(server.url)
  const drain = async (items: AsyncIterable<unknown>): Promise<number> => {
    let seen = 0
    for await (const _ of items) if (++seen > 20_000) break
    return seen
  }
  await expect(drain(content.articles({}, { parameter: 'page' }))).rejects.toBeInstanceOf(GatewayError)
  expect(id).toBeLessThanOrEqual(10_001)
  expect(medicalRecords).toBeDefined()
})

test('a person has not completed thousands of tests, each of which would be asked about', async () => {
  const completed = Array.from({ length: 101 }, (_, at) => ({
    id: `c${at}`,
    assessmentId: `a${at}`,
    questions: [],
  }))
  const server = await serve(() => json(200, completed))
  const failure = await failureOf(client(server.url).ageAssessment.completedQuestions(PERSON))
  expect(failure).toMatchObject({ class: 'ambiguous', status: 200 })
})

test('tests, and requests, of another person are none of this one', async () => {
  const server = await serve(({ url }) =>
    url.startsWith('/bioage')
      ? json(200, [
          {
            id: 'c',
            assessmentId: 'a',
            account: { type: 'partnerAccountId', reference: 'ben' },
            questions: [],
          },
        ])
      : json(200, {
          code: 200,
          data: [{ results: [{ referenceNumber: 'r', patient: { reference: 'ben' } }] }],
          errors: [],
        }),
  )
  const { ageAssessment, medicalRecords } = client(server.url)
  const request = { type: 'a', subType: 'b' }
  const search = (...people: { reference: string; type: 'partnerAccountId' }[]) =>
    medicalRecords.search({ page: 1, limit: 100, filter: people.map((patient) => ({ patient, request })) })
  const others = ['cleo', 'ben'].map((reference) => ({ ...PERSON, reference }))
  for (const call of [
    ageAssessment.completedQuestions(PERSON),
    search(PERSON),
    search(PERSON, ...others.slice(0, 1)),
  ])
    expect((await failureOf(call)).message).toContain('another account')
  expect((await search(PERSON, ...others)).results).toHaveLength(1)
})

test('a page of requests has not ten times as many as were asked for', async () => {
  const results = Array.from({ length: 1_001 }, (_, at) => ({ referenceNumber: `r${at}` }))
  const server = await serve(() => json(200, { code: 200, data: [{ results }], errors: [] }))
  const filter = [{ patient: { lastName: 'Person' }, request: { type: 'a', subType: 'b' } }]
  const failure = await failureOf(client(server.url).medicalRecords.search({ page: 1, limit: 100, filter }))
  expect(failure).toMatchObject({ class: 'ambiguous', status: 200 })
})

test('a reference that would lead to another path is refused for itself, and nothing is sent', async () => {
  const server = await serve(() => json(200, { code: 200, data: [], errors: [] }))
  const { medicalRecords, content } = client(server.url)
  for (const call of [
    medicalRecords.delete('..'),
    medicalRecords.delete('.'),
    content.article('..'),
    content.article(''),
  ])
    expect(await failureOf(call)).toMatchObject({ class: 'refused', status: undefined })
  expect(server.seen).toEqual([])
})
