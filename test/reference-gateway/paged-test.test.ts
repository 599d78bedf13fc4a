import { describe, expect, it } from 'vitest'
import { AssessmentPage } from '../../src/gateway/contract/age-assessment.ts'
import { of } from './gateway-under-test.ts'
import { SHOWN_PAGES, startTest, submission } from './test-taker.ts'

describe('GET and POST /assessments/bioage', () => {
  it('gives the first page in an envelope with an integer code', async () => {
    const { read } = await startTest()
    const { status, shown, page } = await read()
    expect([status, shown.code, shown.message, shown.data.length]).toEqual([200, 200, '200 OK', 1])
    expect(page).toMatchObject({ moduleId: 'body-and-day', questionGroupId: 'size', pageNumber: '1.1' })
    expect(page?.questions[0]).toEqual({
      id: 'height',
      questionText: 'How tall are you?',
      displayLabel: { 'height-feet': 'Feet', 'height-inches': 'Inches' },
      displayLabelOrder: ['height-feet', 'height-inches'],
      factDataType: { 'height-feet': 'INTEGER', 'height-inches': 'INTEGER' },
      answers: expect.arrayContaining([
        { answerId: 'feet-5', factId: 'height-feet', value: '5', text: '5 ft', answersToClear: [] },
      ]),
      required: true,
      type: 'select',
      previousValues: {},
      moreInfoTitle: '',
      moreInfoBody: '',
    })
    expect(() => AssessmentPage.parse(page)).not.toThrow()
  })

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

  it.each<[string, Record<string, unknown>, string]>([
    ['a page that is not there', { questionGroupId: 'none' }, 'questionGroupId'],
    ['a module that the page is not of', { moduleId: 'rest' }, 'questionGroupId'],
    ['a required question left out', { answers: {} }, 'answers.height.height-feet'],
    [
      'a required fact left out',
      { answers: { height: [{ 'height-feet': 'feet-5' }] } },
      'answers.height.height-inches',
    ],
    ['a question of another page', { answers: { tobacco: [] } }, 'answers.tobacco'],
    [
      'an unknown fact',
      { answers: { height: [{ 'weight-pounds': 'pounds-100' }] } },
      'answers.height.0.weight-pounds',
    ],
    [
      'an unknown answer',
      { answers: { height: [{}, { 'height-feet': 'feet-9' }] } },
      'answers.height.1.height-feet',
    ],
    [
      'an answer to another fact',
      { answers: { height: [{ 'height-feet': 'inches-5' }] } },
      'answers.height.0.height-feet',
    ],
    [
      'a fact answered twice',
      {
        answers: {
          height: [{ 'height-feet': 'feet-5', 'height-inches': 'inches-1' }, { 'height-feet': 'feet-6' }],
        },
      },
      'answers.height.1.height-feet',
    ],
    ['no module', { moduleId: undefined }, 'moduleId'],
    ['answers that are a list', { answers: [] }, 'answers'],
    ['choices that are an object', { answers: { height: { 'height-feet': 'feet-5' } } }, 'answers.height'],
    [
      'an answer that is an object',
      { answers: { height: [{ 'height-feet': {} }] } },
      'answers.height.0.height-feet',
    ],
    [
      'an answer that is a fraction',
      { answers: { height: [{ 'height-feet': 5.5 }] } },
      'answers.height.0.height-feet',
    ],
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
  it('is told by the token: each user has a test of their own', async () => {
    const tokenOwners = {
      't-1': { reference: 'p-1', type: 'partnerAccountId' },
      't-2': { reference: 'p-2', type: 'partnerAccountId' },
    } as const
    const { answerUpTo, read, register } = await startTest({ tokenOwners })
    await register('p-2')
    await answerUpTo('1.2')
    expect((await read()).page?.pageNumber).toBe('2.1')
    expect((await read({ authorization: 'Bearer t-2' })).page?.pageNumber).toBe('1.1')
  })

  it('is not known of a token that is bound to nobody: 403, saying how to bind it', async () => {
    const { read, submit } = await startTest({ tokenOwners: {} })
    const { status, body } = await read()
    expect([status, body.code]).toEqual([403, 403])
    expect(body.errors[0]?.message).toMatch(/--bind TOKEN=REFERENCE.*POST \/_reference\/tokens/)
    expect((await submit(submission('1.1'))).status).toBe(403)
  })

  it('must be registered: 404, unless the gateway is open', async () => {
    const tokenOwners = { 't-1': { reference: 'p-9', type: 'partnerAccountId' } } as const
    expect((await (await startTest({ tokenOwners })).read()).status).toBe(404)
    const { submit } = await startTest({ tokenOwners, open: true })
    expect((await submit(submission('1.1'))).page?.pageNumber).toBe('1.2')
  })

  it('needs a token that passes, and the version header', async () => {
    const { read } = await startTest({ tokens: ['other'] })
    expect((await read()).status).toBe(200)
    expect((await read({ authorization: 'Bearer unknown' })).status).toBe(401)
    expect((await read({ 'x-api-version': '1.0.0' })).status).toBe(400)
  })

  it('can be bound while the gateway runs, by account id too', async () => {
    const { call, read, accountId } = await startTest({ tokenOwners: {}, tokens: ['other'] })
    expect((await read()).status).toBe(401)
    const account = { reference: accountId, type: 'accountId' }
    const bound = await call('POST', '/_reference/tokens', { token: 't-1', account }, {})
    expect([bound.status, bound.text]).toEqual([204, ''])
    expect((await read()).page?.pageNumber).toBe('1.1')
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

describe('a hostile submission is refused with an envelope, and the test goes on', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`q${at}`, []])))
  const withAnswers = (answers: string) =>
    `{"moduleId":"body-and-day","questionGroupId":"size","answers":${answers}}`
  it.each<[string, number, string]>([
    ['broken JSON', 400, '{"moduleId":'],
    ['no object', 400, '"text"'],
    ['null', 400, 'null'],
    ['a deep value', 400, withAnswers(deep)],
    ['a deep choice', 400, withAnswers(`{"height":${deep}}`)],
    ['polluting keys', 400, withAnswers('{"__proto__":[{"x":"y"}],"constructor":[{"prototype":"x"}]}')],
    ['polluting facts', 400, withAnswers('{"height":[{"__proto__":"feet-5","toString":"feet-5"}]}')],
    ['very many questions', 400, withAnswers(many)],
    ['a body over the limit', 413, withAnswers(`{"height":"${'x'.repeat(1_000_000)}"}`)],
  ])('%s', async (_, status, text) => {
    const { submit, read } = await startTest({ bodyLimit: 1_000_000 })
    const { body, ...answer } = await submit(text)
    expect([answer.status, body.code]).toEqual([status, status])
    expect(body.errors.length).toBeGreaterThan(0)
    expect(body.errors.length).toBeLessThanOrEqual(20)
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

  it('an unknown field is not looked at', async () => {
    const { submit } = await startTest()
    expect((await submit({ ...submission('1.1'), extra: { deep: [1] } })).page?.pageNumber).toBe('1.2')
  })
})

it('starts anew for a user who was deleted and registered again', async () => {
  const { call, answerUpTo, read, register } = await startTest()
  await answerUpTo('4.1')
  await call('DELETE', `/account?${of('p-1')}`)
  expect((await read()).status).toBe(404)
  await register('p-1')
  const { page } = await read()
  expect([page?.pageNumber, page?.questions[0]?.previousValues]).toEqual(['1.1', {}])
})
