import { describe, expect, it } from 'vitest'
import { NOW, of } from './gateway-under-test.ts'
import { startTest, submission } from './test-taker.ts'

const ASSESSMENT = 'everyday-habits-1'
const RESULT = '/bioage/result'
const RECOMMENDED = `/bioage/assessments/${ASSESSMENT}/recommendations`
const ANSWERED = '/bioage/completed/questions'

/** A user who has answered every page: 20 months by the rule of the shipped file. */
async function startCompleted(...options: Parameters<typeof startTest>) {
  const test = await startTest(...options)
  await test.answerUpTo('4.1')
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const { text, ...answer } = await test.call('GET', path, undefined, { 'x-api-key': 'key', ...headers })
    return { ...answer, json: JSON.parse(text) }
  }
  return { ...test, get }
}

describe('the age result', () => {
  it('is not there until the last page is answered: 404 with an envelope', async () => {
    const { call, answerUpTo, submit } = await startTest()
    await answerUpTo('3.1')
    const { status, body } = await call('GET', `${RESULT}?${of('p-1')}`)
    expect([status, body.code, body.data]).toEqual([404, 404, []])
    await submit(submission('4.1'))
    expect((await call('GET', `${RESULT}?${of('p-1')}`)).status).toBe(200)
  })

  it('follows the answers given last, and `completed` their time', async () => {
    let now = NOW
    const { get, submit } = await startCompleted({ clock: () => now })
    expect((await get(`${RESULT}?${of('p-1')}`)).json).toEqual({
      status: 'COMPLETE',
      bioAge: { year: 56, month: 0 },
      calendarAge: { year: 54, month: 4 },
      bioAgeDelta: { year: 1, month: 8 },
      completed: '2024-07-01T00:00:00.000Z',
    })
    now += 86_400_000
    await submit(submission('1.2', { 'sitting-hours': [{ sitting: 'sits-little' }] }))
    expect((await get(`${RESULT}?${of('p-1')}`)).json).toMatchObject({
      bioAgeDelta: { year: 1, month: 0 },
      completed: '2024-07-02T00:00:00.000Z',
    })
  })
})

describe('recommendations', () => {
  it('are a bare array that follows from the answers', async () => {
    const { get, submit } = await startCompleted()
    const { status, json } = await get(`${RECOMMENDED}?${of('p-1')}`)
    expect(status).toBe(200)
    expect(json.map(({ teaser, benefitCost }: Record<string, string>) => [teaser, benefitCost])).toEqual([
      ['Name a day without tobacco', 'cost'],
      ['Stand up for a call', 'cost'],
      ['Keep a steady rhythm', 'neither'],
    ])
    await submit(submission('2.1', { tobacco: [{ 'tobacco-use': 'tobacco-never' }] }))
    expect((await get(`${RECOMMENDED}?${of('p-1')}`)).json[0]).toMatchObject({
      teaser: 'Stay with it',
      benefitCost: 'benefit',
    })
  })

  it.each([
    [{}, 'en'],
    [{ 'accept-language': 'fr-CA, es-MX;q=0.8, en;q=0.7' }, 'es'],
  ])('are in the language that %j asks for, in both forms', async (headers, language) => {
    const { get, accountId } = await startCompleted()
    const teaser = { en: 'Name a day without tobacco', es: 'Elige un día sin tabaco' }[language]
    const answer = await get(`${RECOMMENDED}?${of('p-1')}`, headers)
    expect([answer.json[0].teaser, answer.headers.get('content-language')]).toEqual([teaser, language])
    expect((await get(`${RECOMMENDED}/${accountId}`, headers)).json).toEqual(answer.json)
  })

  it('are 404 for another assessment, and for a user who has not completed this one', async () => {
    const { get, register } = await startCompleted()
    const other = RECOMMENDED.replace(ASSESSMENT, 'other')
    expect(await get(`${other}?${of('p-1')}`)).toMatchObject({ status: 404, json: { code: 404, data: [] } })
    await register('p-2')
    expect((await get(`${RECOMMENDED}?${of('p-2')}`)).status).toBe(404)
  })
})

describe('completed questions', () => {
  it('are the questions that were answered, under the account id', async () => {
    const { get, accountId } = await startCompleted()
    const [{ questions, ...record }] = (await get(`${ANSWERED}?${of('p-1')}`)).json
    expect(record).toMatchObject({
      assessmentId: ASSESSMENT,
      account: { type: 'accountId', reference: accountId },
      assessmentType: 'bioage',
    })
    expect(questions.map(({ id }: { id: string }) => id)).toEqual(
      'height sitting-hours tobacco cigarettes activity-kinds sleep-hours'.split(' '),
    )
    expect(questions[0].answers).toEqual([
      { id: 'feet-5', description: '5 ft', label: 'Feet', value: '5' },
      { id: 'inches-7', description: '7 in', label: 'Inches', value: '7' },
    ])
  })

  it('keep their id when a page is answered again', async () => {
    const { get, submit } = await startCompleted()
    const idOf = async () => (await get(`${ANSWERED}?${of('p-1')}`)).json[0].id
    const before = await idOf()
    await submit(submission('1.2'))
    expect(await idOf()).toBe(before)
  })

  it('are an empty array while the test is not complete', async () => {
    const { call, answerUpTo } = await startTest()
    await answerUpTo('3.1')
    const { status, text } = await call('GET', `${ANSWERED}?${of('p-1')}`)
    expect([status, text]).toEqual([200, '[]'])
  })
})

it.each([RESULT, RECOMMENDED, ANSWERED])('%s is 404 for an account that is not registered', async (path) => {
  const { get } = await startCompleted()
  expect(await get(`${path}?${of('p-9')}`)).toMatchObject({ status: 404, json: { code: 404 } })
  expect(await get(path)).toMatchObject({ status: 400, json: { code: 400 } })
})

it.each([`${RESULT}/`, '/bioage/assessments//recommendations', `/bioage/assessments//recommendations/id-1`])(
  'a path without an id is refused: %s',
  async (path) => {
    const { get } = await startCompleted()
    expect(await get(`${path}?${of('p-1')}`)).toMatchObject({ status: 400, json: { code: 400, data: [] } })
  },
)

it('goes with the account', async () => {
  const { call, get, register } = await startCompleted()
  await call('DELETE', `/account?${of('p-1')}`)
  await register('p-1')
  expect((await get(`${RESULT}?${of('p-1')}`)).status).toBe(404)
})
