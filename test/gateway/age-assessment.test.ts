import { describe, expect, it } from 'vitest'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { client, failureOf, json, serve } from './loopback.ts'
import { ACCOUNT } from './sample-records.ts'

const RESULT = {
  status: 'COMPLETE',
  bioAge: { year: 41, month: 3 },
  calendarAge: { year: 44, month: 0 },
  bioAgeDelta: { year: -2, month: -9 },
  completed: '2024-03-01T14:05:00.000Z',
}
const CALLS: readonly [string, (gateway: Gateway) => Promise<unknown>][] = [
  ['result', ({ ageAssessment }) => ageAssessment.result(ACCOUNT)],
  ['resultByAccountId', ({ ageAssessment }) => ageAssessment.resultByAccountId('a-1')],
]

describe.each(CALLS)('%s', (_, call) => {
  it('gives the ages, and what it does not know', async () => {
    const server = await serve(() => json(200, { ...RESULT, later: 1 }))
    expect(await call(client(server.url))).toEqual({ ...RESULT, later: 1 })
  })

  it.each([
    ['a 404', json(404, { code: 404, message: 'No result.' })],
    ['a 404 in no words', { status: 404 }],
    ['a 204', { status: 204 }],
    ['null', json(200, null)],
  ])('is undefined where the answer is %s', async (_name, reply) => {
    const server = await serve(() => reply)
    const gateway = client(server.url)
    expect(await call(gateway)).toBeUndefined()
    expect(gateway.events).toMatchObject([{ class: 'accepted', status: reply.status }])
  })

  it.each([
    ['a refusal', json(400, {}), 'refused'],
    ['no JSON', { status: 200, body: '' }, 'ambiguous'],
    ['without a status', json(200, { bioAge: RESULT.bioAge }), 'ambiguous'],
  ])('fails where the answer is %s', async (_name, reply, expected) => {
    const server = await serve(() => reply)
    expect((await failureOf(call(client(server.url)))).class).toBe(expected)
  })
})

it('recommendations and completed questions come as bare arrays', async () => {
  const advice = [{ teaser: 'Walk', benefitCost: 'benefit', body: 'More.' }]
  const completed = [{ assessmentId: 'as-1', questions: [{ id: 'q-1', text: 'Do you?', answers: [] }] }]
  const server = await serve((seen) => json(200, seen.url.includes('questions') ? completed : advice))
  const { ageAssessment } = client(server.url)
  expect(await ageAssessment.completedQuestions(ACCOUNT)).toEqual(completed)
  expect(await ageAssessment.recommendations('as-1', ACCOUNT)).toEqual(advice)
  expect(await ageAssessment.recommendationsByAccountId('as-1', 'a-1')).toEqual(advice)
})
