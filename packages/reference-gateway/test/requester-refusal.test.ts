import { expect, it } from 'vitest'
import { filter, PATH, roi, startRequester } from './requester-under-test.ts'

const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
const request = JSON.stringify(roi())
const search = JSON.stringify({ page: 1, limit: 1, filter: [filter({ zip: '1' })] })

it.each<[string, string, string]>([
  ['a deep field of the provider', 'PATCH', `[${request.replace('"kept"', deep)}]`],
  ['a deep sort', 'POST', search.replace('"filter"', `"sort":{"a":${deep}},"filter"`)],
  ['blocks that are arrays', 'PATCH', '[{"referenceNumber":"r","patient":[],"request":[]}]'],
  ['a million empty requests', 'PATCH', `[${'{},'.repeat(1_000_000)}{}]`],
  [
    'a million wrong disclosures',
    'PATCH',
    `[${request.replace('"abstract"', `${'1,'.repeat(1_000_000)}1`)}]`,
  ],
  ['a million empty filters', 'POST', search.replace('[{', `[${'{},'.repeat(1_000_000)}{`)],
])('%s: 400 in a body of section "Errors", and nothing is stored', async (_, method, body) => {
  const { call, held } = await startRequester()
  const answer = await call(method, PATH, body)
  expect([answer.status, answer.body.code]).toEqual([400, 400])
  expect(answer.body.errors.length).toBeGreaterThan(0)
  for (const one of answer.body.errors)
    expect(['code,exception,message', 'code,message']).toContain(Object.keys(one).sort().join())
  expect(await held()).toEqual([])
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
