import { describe, expect, it } from 'vitest'
import type { AnswerSubmission } from '../../src/gateway/contract/age-assessment.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { client, failureOf, json, serve } from './loopback.ts'

const PAGE = {
  moduleId: 'm-1',
  questionGroupId: 'g-2',
  pageNumber: '1.10',
  questions: [{ id: 'q-1', answers: [{ value: 'x', factId: 'f-1', answerId: 'a-1' }], required: true }],
}
const ANSWERS = { moduleId: 'm-1', questionGroupId: 'g-1', answers: { 'q-1': [{ 'f-1': 'a-1' }] } }
const CALLS: readonly [string, (gateway: Gateway) => Promise<unknown>][] = [
  ['currentPage', ({ assessment }) => assessment.currentPage()],
  ['submit', ({ assessment }) => assessment.submit(ANSWERS)],
]

describe.each(CALLS)('%s', (_, call) => {
  it('gives the page', async () => {
    const server = await serve(() => json(200, { code: 200, message: 'ok', data: [PAGE] }))
    expect(await call(client(server.url))).toEqual(PAGE)
  })

  it.each([
    ['an empty array', json(200, { code: 200, data: [] })],
    ['null', json(200, { code: 200, data: null })],
    ['nothing', json(200, { code: 200, message: 'Completed' })],
    ['no body', { status: 204 }],
  ])('gives no page where data is %s', async (_name, reply) => {
    const server = await serve(() => reply)
    expect(await call(client(server.url))).toBeUndefined()
  })

  it.each([
    ['no envelope', [PAGE]],
    ['a page without questions', { data: [{ ...PAGE, questions: undefined }] }],
    ['an envelope that tells of failure', { code: 500, data: [] }],
  ])('is ambiguous where the answer is %s', async (_name, body) => {
    const server = await serve(() => json(200, body))
    expect((await failureOf(call(client(server.url)))).class).toBe('ambiguous')
  })
})

it.each([
  ['no module', { ...ANSWERS, moduleId: '' }],
  ['an answer without an id', { ...ANSWERS, answers: { 'q-1': [{ 'f-1': '' }] } }],
  ['a fact without a name', { ...ANSWERS, answers: { 'q-1': [{ '': 'a-1' }] } }],
] satisfies [string, AnswerSubmission][])('sends no submission with %s', async (_, answers) => {
  const server = await serve(() => json(200, { data: [] }))
  await expect(client(server.url).assessment.submit(answers)).rejects.toMatchObject({ name: 'ZodError' })
  expect(server.seen).toEqual([])
})
