import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { filter, HEADERS, PATH, roi, startRequester } from './requester-under-test.ts'

const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
const request = JSON.stringify(roi())
const search = JSON.stringify({ page: 1, limit: 1, filter: [filter({ zip: '1' })] })

describe('a hostile request gets a body of section "Errors", nothing is stored, and the gateway goes on', () => {
  it.each<[string, number, string, string | Uint8Array]>([
    ['broken JSON', 400, 'PATCH', '[{"patient":'],
    ['an empty body', 400, 'PATCH', ''],
    ['null', 400, 'PATCH', 'null'],
    ['one request without an array', 400, 'PATCH', request],
    ['an empty array', 400, 'PATCH', '[]'],
    ['an array of what is no request', 400, 'PATCH', '[1,"x",null,[]]'],
    ['a deep array', 400, 'PATCH', deep],
    ['a deep field of the provider', 400, 'PATCH', `[${request.replace('"kept"', deep)}]`],
    ['a deep sort', 400, 'POST', search.replace('"filter"', `"sort":{"a":${deep}},"filter"`)],
    [
      'a polluting key',
      400,
      'PATCH',
      '[{"__proto__":{"referenceNumber":"x"},"constructor":{"prototype":{}}}]',
    ],
    ['blocks that are arrays', 400, 'PATCH', '[{"referenceNumber":"r","patient":[],"request":[]}]'],
    ['half of a surrogate pair', 400, 'PATCH', `[${request.replace('ref-1', '\\ud800')}]`],
    ['a million empty requests', 400, 'PATCH', `[${'{},'.repeat(1_000_000)}{}]`],
    [
      'a million wrong disclosures',
      400,
      'PATCH',
      `[${request.replace('"abstract"', `${'1,'.repeat(1_000_000)}1`)}]`,
    ],
    ['a million empty filters', 400, 'POST', search.replace('[{', `[${'{},'.repeat(1_000_000)}{`)],
    ['a query that is text', 400, 'POST', '"x"'],
    ['broken JSON in a search', 400, 'POST', '{'],
    ['bytes that are not UTF-8', 400, 'PATCH', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])],
    ['a body over the limit', 413, 'PATCH', `[${request}${' '.repeat(9_000_000)}]`],
  ])('%s: %i', async (_, status, method, body) => {
    const { url, upsert, held } = await startRequester()
    const headers = { ...HEADERS, 'content-type': 'application/json' }
    const answer = await fetch(url + PATH, { method, headers, body })
    const refusal = JSON.parse(await answer.text())
    expect([answer.status, refusal.code]).toEqual([status, status])
    expect(refusal.errors.length).toBeGreaterThan(0)
    for (const one of refusal.errors) {
      const keys = Object.keys(one).sort().join()
      expect(['code,exception,message', 'code,message']).toContain(keys)
    }
    expect(await held()).toEqual([])
    expect((await upsert(roi())).status).toBe(200)
  })

  it('other content types and encodings: 415', async () => {
    const { call } = await startRequester()
    for (const more of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }]) {
      const { status, body } = await call('PATCH', PATH, [roi()], { ...HEADERS, ...more })
      expect([status, body.code]).toEqual([415, 415])
    }
  })

  it('never repeats a value that was sent', async () => {
    const { call, upsert, search } = await startRequester()
    const secret = 'S3CRET'
    const answers = [
      await call('PATCH', PATH, `[{"${secret}`),
      await upsert(secret, { [secret]: secret }),
      await upsert(roi({ patient: { firstName: 'f', lastName: [secret], dob: secret } })),
      await upsert(roi({ request: { ...roi().request, requestType: secret, disclosures: [secret] } })),
      await upsert(roi({ request: { ...roi().request, requestType: secret } })),
      await upsert(roi({ webhook: { url: secret } })),
      await upsert(roi({ referenceNumber: secret }), roi({ referenceNumber: secret })),
      await search({ patient: { dob: secret, [secret]: secret }, request: secret }),
      await call('POST', PATH, { page: secret, limit: secret, sort: secret, filter: secret }),
      await call('DELETE', `${PATH}/${secret}`),
      await call('DELETE', `${PATH}/${secret}%zz`),
    ]
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400))
    for (const { text } of answers) expect(text).not.toContain(secret)
  })

  it('lists no more than 20 faults', async () => {
    const { upsert } = await startRequester()
    const { body } = await upsert(...Array.from({ length: 100 }, () => ({})))
    expect(body.message).toContain('request 20 of 100')
    expect(body.message).not.toContain('request 21 of 100')
  })
})

describe('with a data file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'requester-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('requests, documents and upload addresses survive a restart', async () => {
    const dataFile = join(folder, 'gateway.db')
    const before = await startRequester({ dataFile })
    const { body } = await before.upsert(roi(), roi({ referenceNumber: 'ref-2' }))
    const [first = '', second = ''] = body.data.map(({ authorizationUploadUrl }) => authorizationUploadUrl)
    await before.put(first)
    await before.close()

    const after = await startRequester({ dataFile, makeId: () => 'later' })
    expect(await after.held()).toEqual(['ref-1', 'ref-2'])
    expect((await after.remove('ref-1')).status).toBe(400)
    expect((await after.put(after.url + new URL(second).pathname)).status).toBe(200)
    expect((await after.remove('ref-2')).status).toBe(400)
    expect((await after.upsert({ referenceNumber: 'ref-1', patient: { zip: null } })).status).toBe(200)
  })
})
