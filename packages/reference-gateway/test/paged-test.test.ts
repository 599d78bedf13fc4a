import { describe, expect, it } from 'vitest'
import { SHOWN_PAGES, startTest, submission } from './test-taker.ts'

describe('GET and POST /assessments/bioage', () => {
  it('leads through all pages in order, and to an empty data after the last', async () => {
    const { read, submit } = await startTest()
    for (const [index, number] of SHOWN_PAGES.entries()) {
      expect((await read()).page?.pageNumber).toBe(number)
      const { status, shown, page } = await submit(submission(number))
      expect([status, shown.code, page?.pageNumber]).toEqual([200, 200, SHOWN_PAGES[index + 1]])
    }
    expect((await submit(submission('4.1'))).shown.data).toEqual([])
    expect((await read()).shown.data).toEqual([])
  })

  it('replaces the answers of an earlier page and goes on to the page after it', async () => {
    const { submit, answerUpTo, read } = await startTest()
    await answerUpTo('2.1')
    const heightAndWeight = {
      height: [{ 'height-feet': 'feet-6' }, { 'height-inches': 'inches-0' }],
      weight: [{ 'weight-pounds': 'pounds-190' }],
    }
    const { page } = await submit(submission('1.1', heightAndWeight))
    expect(page?.pageNumber).toBe('1.2')
    expect(page?.questions[0]?.previousValues).toEqual({ sitting: 'much' })
    expect((await read()).page?.pageNumber).toBe('3.1')
    await submit(submission('1.1'))
    const next = await submit(submission('1.2'))
    expect(next.page?.questions.map(({ previousValues }) => previousValues)).toEqual([
      { 'tobacco-use': 'current' },
      { 'cigarettes-a-day': '10' },
    ])
  })

  it('refuses a page whose turn has not come with 409, and stores nothing of it', async () => {
    const { submit, answerUpTo, read } = await startTest()
    await answerUpTo('1.1')
    const { status, body } = await submit(submission('2.1'))
    expect([status, body.code, body.errors[0]?.field]).toEqual([409, 409, 'questionGroupId'])
    expect((await read()).page?.pageNumber).toBe('1.2')
  })

  const [feet, inches] = [{ 'height-feet': 'feet-5' }, { 'height-inches': 'inches-1' }]
  const height = (...choices: object[]) => ({ answers: { height: choices } })
  it.each<[string, Record<string, unknown>, string]>([
    ['a page that is not there', { questionGroupId: 'none' }, 'questionGroupId'],
    ['a module that the page is not of', { moduleId: 'rest' }, 'questionGroupId'],
    ['a required question left out', { answers: {} }, 'answers.height.height-feet'],
    ['a required fact left out', height(feet), 'answers.height.height-inches'],
    ['a question of another page', { answers: { tobacco: [] } }, 'answers.tobacco'],
    ['an unknown fact', height({ weight: 'pounds-100' }), 'answers.height.0.weight'],
    ['an unknown answer', height({}, { 'height-feet': 'feet-9' }), 'answers.height.1.height-feet'],
    ['an answer to another fact', height({ 'height-feet': 'inches-5' }), 'answers.height.0.height-feet'],
    ['a fact answered twice', height({ ...feet, ...inches }, feet), 'answers.height.1.height-feet'],
  ])('refuses %s, naming the place', async (_, fields, field) => {
    const { submit, read } = await startTest()
    const { status, body } = await submit({ ...submission('1.1'), ...fields })
    expect([status, body.code, body.data]).toEqual([400, 400, []])
    expect(body.errors.map((error) => error.field)).toContain(field)
    expect(body.errors[0]?.message).toMatch(/^submission\./)
    expect((await read()).page?.pageNumber).toBe('1.1')
  })

  it('asks one answer at least of a required checkbox question', async () => {
    const { submit, answerUpTo } = await startTest()
    await answerUpTo('2.1')
    const { status, body } = await submit(submission('3.1', { 'activity-kinds': [] }))
    expect([status, body.errors.map(({ field }) => field)]).toEqual([400, ['answers.activity-kinds']])
    expect((await submit(submission('3.1', { 'activity-kinds': [{ trained: 'did-train' }] }))).status).toBe(
      200,
    )
  })
})

describe('answersToClear', () => {
  const previousOf = async (
    test: Awaited<ReturnType<typeof startTest>>,
    before: '1.2' | '2.1',
    question: number,
  ) => (await test.submit(submission(before))).page?.questions[question]?.previousValues

  it('drops what a chosen answer clears within the submission', async () => {
    const test = await startTest()
    await test.answerUpTo('1.2')
    await test.submit(
      submission('2.1', {
        tobacco: [{ 'tobacco-use': 'tobacco-never' }],
        cigarettes: [{ 'cigarettes-a-day': 'cigarettes-20' }],
      }),
    )
    expect(await previousOf(test, '1.2', 0)).toEqual({ 'tobacco-use': 'never' })
    expect(await previousOf(test, '1.2', 1)).toEqual({})
  })

  it.each([
    [[{ rested: 'did-nothing' }, { walked: 'did-walk' }], { rested: 'yes' }],
    [
      [{ walked: 'did-walk' }, { rested: 'did-nothing' }, { trained: 'did-train' }],
      { walked: 'yes', trained: 'yes' },
    ],
  ])('keeps of answers that clear each other the one sent first: %j', async (choices, kept) => {
    const test = await startTest()
    await test.answerUpTo('2.1')
    expect((await test.submit(submission('3.1', { 'activity-kinds': choices }))).page?.pageNumber).toBe('4.1')
    expect(await previousOf(test, '2.1', 0)).toEqual(kept)
  })
})

describe('whose test it is', () => {
  it('is not known of a token that is bound to nobody: 403, saying how to bind it', async () => {
    const { call, read, submit, accountId } = await startTest({ tokenOwners: {} })
    const { status, body } = await read()
    expect([status, body.code]).toEqual([403, 403])
    expect(body.errors[0]?.message).toMatch(/--bind TOKEN=REFERENCE.*POST \/_reference\/tokens/)
    expect((await submit(submission('1.1'))).status).toBe(403)
    const account = { reference: accountId, type: 'accountId' }
    const bound = await call('POST', '/_reference/tokens', { token: 't-1', account }, {})
    expect([bound.status, bound.text]).toEqual([204, ''])
    expect((await read()).page?.pageNumber).toBe('1.1')
  })

  it('must be registered: 404, unless the gateway is open', async () => {
    const tokenOwners = { 't-1': { reference: 'p-9', type: 'partnerAccountId' } } as const
    expect((await (await startTest({ tokenOwners })).read()).status).toBe(404)
    const { submit } = await startTest({ tokenOwners, open: true })
    expect((await submit(submission('1.1'))).page?.pageNumber).toBe('1.2')
  })

  it.each([
    { token: '', account: { reference: 'p-1', type: 'accountId' } },
    { token: 'a b', account: { reference: 'p-1', type: 'accountId' } },
    { token: 't-1', account: { reference: 'p-1', type: 'entity' } },
    { token: 't-1' },
    [],
  ])('is not bound by %j', async (body) => {
    const { call } = await startTest()
    expect((await call('POST', '/_reference/tokens', body, {})).status).toBe(400)
  })
})

it('lists no more than 20 faults of a submission, whatever its keys, and stores nothing of it', async () => {
  const { submit, read } = await startTest()
  const answers = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`q${at}`, []]))
  const { status, body } = await submit(submission('1.1', answers))
  expect([status, body.errors.length]).toEqual([400, 20])
  const polluting =
    '{"height":[{"__proto__":"feet-5","toString":"feet-5"}],"constructor":[{"prototype":"x"}]}'
  expect((await submit(submission('1.1', JSON.parse(polluting)))).status).toBe(400)
  expect((await read()).page?.questions[0]?.previousValues).toEqual({})
})

it.each([{ ['k'.repeat(500_000)]: [] }, { ['k'.repeat(500_000)]: 1 }])(
  'does not send a long key back',
  async (answers) => {
    const { submit } = await startTest()
    const { status, text } = await submit(submission('1.1', answers))
    expect(status).toBe(400)
    expect(text.length).toBeLessThan(2_000)
  },
)
