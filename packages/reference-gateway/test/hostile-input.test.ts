import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { biometric, of, startGateway } from './gateway-under-test.ts'
import { BODY_LIMIT, CALLS, expectAnswered, placesIn, startTarget, textWith } from './hostile-calls.ts'

const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels)
const DEEP_ARRAY = deep(200_000, '[', ']')
const DEEP_OBJECT = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`

/** Text in place of the string "XX", with bytes of one's own. */
const withBytes = (text: string, bytes: readonly number[]) => {
  const [before = '', after = ''] = text.split('XX')
  return Uint8Array.from([...Buffer.from(before), ...bytes, ...Buffer.from(after)])
}

/** The good body with a string "XX" at the place of its last string. */
const marked = (body: unknown) => {
  const places = placesIn(body).filter(
    (place) =>
      typeof place.reduce<unknown>((value, key) => Reflect.get(Object(value), key), body) === 'string',
  )
  return textWith(body, places.at(-1) ?? [], '"XX"')
}

/** The good body with a member more in its first object. */
const withMember = (body: unknown, member: string) => JSON.stringify(body).replace('{', `{${member},`)

describe.each(CALLS)('$call', ({ body, ...call }) => {
  it('refuses what is not a JSON body of it, stores nothing of it, and goes on', async () => {
    const { send, holdings } = await startTarget()
    const before = await holdings()
    const good = JSON.stringify(body)
    const refused: [string, number, string | Uint8Array<ArrayBuffer> | undefined, Record<string, string>?][] =
      [
        ['nothing', 400, undefined],
        ['an empty body', 400, ''],
        ['white space', 400, ' \n'],
        ['broken JSON', 400, good.slice(0, -1)],
        ['two values', 400, good + good],
        ['JavaScript', 400, good.replaceAll('"', "'")],
        ['null', 400, 'null'],
        ['a string', 400, '"text"'],
        ['a number', 400, '1e999'],
        ['an empty array', 400, '[]'],
        ['an empty object', 400, '{}'],
        ['an array of arrays', 400, `[${good}]`],
        ['an array of nulls', 400, '[null,null]'],
        ['a deep array', 400, DEEP_ARRAY],
        ['a deep object', 400, DEEP_OBJECT],
        [
          'a polluting key alone',
          400,
          '[{"__proto__":{"value":1},"constructor":{"prototype":{"unit":"x"}}}]',
        ],
        ['a byte that is not UTF-8', 400, withBytes(marked(body), [0xff])],
        ['a surrogate in UTF-8', 400, withBytes(marked(body), [0xed, 0xa0, 0x80])],
        ['half of a surrogate pair', 400, marked(body).replace('XX', '\\ud800')],
        ['half of a surrogate pair in a key', 400, withMember(body, '"\\udfff":1')],
        ['UTF-16', 400, Uint8Array.from(Buffer.from(good, 'utf16le'))],
        ['a body over the limit', 413, good + ' '.repeat(BODY_LIMIT)],
        ['gzip that is named', 415, Uint8Array.from(gzipSync(good)), { 'content-encoding': 'gzip' }],
        ['gzip that is not named', 400, Uint8Array.from(gzipSync(good))],
        ['text', 415, good, { 'content-type': 'text/plain' }],
        ['a form', 415, 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
        ['a media type that is none', 415, good, { 'content-type': ';;;' }],
      ]
    for (const [what, status, bytes, headers] of refused) {
      const answer = await send(call, bytes, headers)
      expect([what, answer.status]).toEqual([
        what,
        what === 'nothing' && answer.status === 415 ? 415 : status,
      ])
      expectAnswered(answer)
    }
    expect(await holdings()).toBe(before)
    expect((await send(call, good)).status).toBeLessThan(300)
  })

  it('takes fields that it does not know, of any form and key, and the last of a key that stands twice', async () => {
    const { send, holdings } = await startTarget()
    for (const member of [
      '"unknown":[{"a":null}]',
      '"":""',
      '"__proto__":{"polluted":true}',
      '"constructor":{"prototype":{"polluted":true}},"hasOwnProperty":1,"toString":null',
      `"odd":${JSON.stringify('\u0000\u001f\u2028 𝄞 \\ud800 \' " -- ; DROP TABLE accounts')}`,
      `"many":{${Array.from({ length: 5000 }, (_, index) => `"k${index}":${index}`).join(',')}}`,
      Object.entries(JSON.parse(JSON.stringify([body].flat()[0])))
        .map(([name]) => `${JSON.stringify(name)}:{"wrong":[]}`)
        .join(','),
    ]) {
      const answer = await send(call, withMember(body, member))
      expect([member.slice(0, 30), answer.status]).toEqual([member.slice(0, 30), expect.any(Number)])
      expect(answer.status).toBeLessThan(300)
    }
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    expect(JSON.parse(await holdings()).account).toBeGreaterThan(0)
  })

  it('bears any JSON in place of any of its values', async () => {
    const target = await startTarget()
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...placesIn(body)), ANY_JSON, async (place, json) => {
        expectAnswered(await target.send(call, textWith(body, place, json)))
      }),
      { numRuns: 150 },
    )
    const reads: [string, string?][] = [
      [`/health-profile/biometrics?${of('p-1')}`],
      [`/health-profile/conditions?${of('p-1')}`],
      [`/health-profile/care-teams?${of('p-1')}`],
      ['/assessments/bioage', '1.0'],
      ['/medical-records/requester/requestTypes', '1.0.0'],
      ['/_reference/counts'],
    ]
    for (const [path, version] of reads) {
      const { status } = await target.send({ method: 'GET', path, version }, undefined)
      expect([path, status]).toEqual([path, 200])
    }
    expect((await target.send(call, JSON.stringify(body))).status).toBeLessThan(300)
    for (const kind of ['biometric', 'condition', 'careTeam']) await target.records(kind)
  })
})

/** JSON texts: of all sorts, of strings that are hard to keep, of numbers at the ends, of keys that mean something. */
const ANY_JSON = fc.oneof(
  fc.json({ stringUnit: 'binary' }),
  fc.json(),
  fc
    .string({ unit: fc.constantFrom('\ud800', '\udfff', '\u0000', '𝄞', '"', '\\', 'a') })
    .map((text) => JSON.stringify(text)),
  fc.constantFrom(
    ...'-0 1e308 1e999 -1e999 9007199254740991 -9007199254740991 9007199254740993 1e-400 0.1'.split(' '),
    ...'| |null|9999999999999999|-1|2024-02-30T00:00:00.000Z|9999-12-31|0000-01-01'
      .split('|')
      .map((text) => JSON.stringify(text)),
    ...'{"__proto__":{"a":1}} {"constructor":null} {"length":1} {"toString":1} [[]] [{}] [null]'.split(' '),
    JSON.stringify('n'.repeat(20_000)),
    deep(5000, '[', ']'),
  ),
)

it('bears any query and any path, and answers within the interface or refuses with an envelope', async () => {
  const { send, call } = await startTarget()
  const calls = [
    ...['biometrics', 'conditions', 'care-teams'].map((kind) => `GET /health-profile/${kind}`),
    ...['result', 'result/', 'assessments/', 'completed/questions'].map((path) => `GET /bioage/${path}`),
    ...['', '/'].map((end) => `GET /content/distribution/article${end}`),
    ...['DELETE /health-profile/care-teams', 'DELETE /account', 'DELETE /medical-records/requester/'],
    ...['PUT /uploads/', 'GET /'],
    ...['records', 'record'].map((path) => `GET /_reference/${path}`),
  ]
  const names = fc.constantFrom(
    ...'accountReference accountReferenceType entity id npi page kind __proto__'.split(' '),
    '',
  )
  const values = fc.oneof(
    fc.constantFrom(
      ...'p-2 accountId partnerAccountId % %zz %00 %ff %ED%A0%80 .. []'.split(' '),
      'a'.repeat(5000),
    ),
    fc.webQueryParameters(),
    fc.string().map((text) => encodeURIComponent(text)),
  )
  const query = fc.array(fc.tuple(names, values), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...calls),
      fc.oneof(fc.constant(''), values, fc.webPath()),
      query,
      async (called, rest, pairs) => {
        const [method = '', path = ''] = called.split(' ')
        const version = path.startsWith('/content') || path.startsWith('/medical') ? '1.0.0' : '1.0'
        const search = pairs.map(([name, value]) => `${name}=${value}`).join('&')
        expectAnswered(
          await send(
            { method, path: `${path}${path.endsWith('/') ? rest : ''}?${search}`, version },
            undefined,
          ),
        )
      },
    ),
    { numRuns: 500 },
  )
  expect((await call('POST', '/health-profile/biometrics', [biometric()])).status).toBe(201)
})

it('answers 404 on a path that is not served', async () => {
  const { call } = await startGateway()
  expect(await call('GET', '/health-profile/nothing')).toMatchObject({ status: 404, body: { code: '404' } })
  expect(await call('PUT', '/account')).toMatchObject({ status: 404, body: { code: 404 } })
})

it('quotes nothing of a path that it cannot read', async () => {
  const { call } = await startGateway()
  for (const path of ['/bioage/result/secret%zz', `/bioage/result/secret${'a'.repeat(5000)}`]) {
    const { status, text } = await call('GET', path)
    expect([status, text.includes('secret')]).toEqual([400, false])
  }
})

it('takes a body just under the limit', async () => {
  const body = JSON.stringify([biometric()])
  const { call } = await startGateway({ open: true, bodyLimit: Buffer.byteLength(body) })
  expect((await call('POST', '/health-profile/biometrics', body)).status).toBe(201)
  expect((await call('POST', '/health-profile/biometrics', `${body} `)).status).toBe(413)
})

it('keeps reference values that look like SQL or hold any Unicode as they are', async () => {
  const { call, register, records } = await startGateway()
  const odd = "p'; DROP TABLE accounts; -- \u0000 é 𝄞"
  await register(odd)
  const sent = biometric({ account: { reference: odd, type: 'partnerAccountId' } })
  expect((await call('POST', '/health-profile/biometrics', [sent])).status).toBe(201)
  expect((await records('biometric'))[0]).toMatchObject({ account: { reference: odd }, _account: odd })
})
