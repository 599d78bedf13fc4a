import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { WaybillError } from '../../../src/model/errors.ts'
import { createWorkplace, PROJECT } from '../../../test/cli/command-line.ts'
import { readAssessment } from '../src/age-assessment.ts'
import { of } from './gateway-under-test.ts'
import { startTest } from './test-taker.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assessment-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const SMALL = `assessmentId: small
assessmentType: bioage
modules:
  - moduleId: m
    pages:
      - pageNumber: "1.9"
        questionGroupId: g1
        questions:
          - id: pets
            questionText: Have you a pet?
            type: radio
            required: true
            factDataType: { pet: NONE }
            answers:
              - { answerId: 1, factId: pet, value: cat, text: A cat }
              - { answerId: 2, factId: pet, value: none, text: None, answersToClear: [3, 4] }
          - id: names
            questionText: Has it a name?
            type: radio
            required: false
            factDataType: { named: NONE }
            answers:
              - { answerId: 3, factId: named, value: "yes", text: Yes }
      - pageNumber: "1.10"
        questionGroupId: g2
        questions:
          - id: age
            questionText: How old is it?
            type: select
            required: false
            factDataType: { petAge: INTEGER }
            answers:
              - { answerId: 4, factId: petAge, value: "1", text: One, answersToClear: [3] }
scoring:
  ageWithoutDateOfBirth: { year: 30, month: 0 }
  bounds: { younger: 12, older: 12 }
  months: { 1: 5 }
languages: [en]
recommendations:
  - when: [1]
    benefitCost: benefit
    texts: { en: { teaser: Pet it, body: Now. } }
`

async function fileOf(text: string): Promise<string> {
  const file = join(folder, 'assessment.yaml')
  await writeFile(file, text)
  return file
}

describe('the shipped definition', () => {
  it('has at least four pages, two of one major number, both data types and both languages', async () => {
    const { pages, languages } = await readAssessment()
    const majors = pages.map(({ pageNumber }) => pageNumber.split('.')[0])
    expect(pages.length).toBeGreaterThanOrEqual(4)
    expect(new Set(majors).size).toBeLessThan(majors.length)
    const types = pages.flatMap(({ questions }) =>
      questions.flatMap((question) => Object.values(question.factDataType)),
    )
    expect(new Set(types)).toEqual(new Set(['NONE', 'INTEGER']))
    expect(languages).toEqual(['en', 'es'])
  })

  it('says of its scoring rule that it is illustrative', async () => {
    const file = join(PROJECT, 'packages/reference-gateway/src/definitions/assessment.yaml')
    expect(await readFile(file, 'utf8')).toMatch(
      /ILLUSTRATIVE, WITHOUT MEDICAL MEANING[^\n]*\n(?:#[^\n]*\n)*scoring:/,
    )
  })
})

describe('another definition', () => {
  it('is served instead: its pages, its score, its recommendations', async () => {
    const { read, submit, call } = await startTest({ assessmentFile: await fileOf(SMALL) })
    expect((await read()).page?.pageNumber).toBe('1.9')
    await submit({ moduleId: 'm', questionGroupId: 'g1', answers: { pets: [{ pet: 1 }] } })
    const last = await submit({ moduleId: 'm', questionGroupId: 'g2', answers: {} })
    expect(last.shown.data).toEqual([])
    const result = await call('GET', `/bioage/result?${of('p-1')}`)
    expect(JSON.parse(result.text)).toMatchObject({ bioAgeDelta: { year: 0, month: 5 } })
    const recommended = await call('GET', `/bioage/assessments/small/recommendations?${of('p-1')}`)
    expect(recommended.body).toEqual([{ teaser: 'Pet it', body: 'Now.', benefitCost: 'benefit' }])
  })

  it('gives an answer id in the form that it has: a number is not taken as a string', async () => {
    const { submit } = await startTest({ assessmentFile: await fileOf(SMALL) })
    const first = { moduleId: 'm', questionGroupId: 'g1' }
    expect((await submit({ ...first, answers: { pets: [{ pet: '1' }] } })).status).toBe(400)
    expect((await submit({ ...first, answers: { pets: [{ pet: 1 }] } })).status).toBe(200)
  })

  it('clears answers of other pages, earlier and later', async () => {
    const { submit, call } = await startTest({ assessmentFile: await fileOf(SMALL) })
    const first = (answers: unknown) => submit({ moduleId: 'm', questionGroupId: 'g1', answers })
    const second = (answers: unknown) => submit({ moduleId: 'm', questionGroupId: 'g2', answers })
    const answered = async () => {
      const list = await call('GET', `/bioage/completed/questions?${of('p-1')}`)
      return JSON.parse(list.text)[0].questions.map(({ id }: { id: string }) => id)
    }
    await first({ pets: [{ pet: 1 }], names: [{ named: 3 }] })
    await second({})
    expect(await answered()).toEqual(['pets', 'names'])
    await second({ age: [{ petAge: 4 }] })
    expect(await answered()).toEqual(['pets', 'age'])
    expect((await first({ pets: [{ pet: 2 }] })).page?.questions[0]?.previousValues).toEqual({})
    expect(await answered()).toEqual(['pets'])
  })

  it('that asks more of a page opens a test that was complete', async () => {
    const dataFile = join(folder, 'gateway.db')
    const before = await startTest({ dataFile, assessmentFile: await fileOf(SMALL) })
    await before.submit({ moduleId: 'm', questionGroupId: 'g1', answers: { pets: [{ pet: 1 }] } })
    await before.submit({ moduleId: 'm', questionGroupId: 'g2', answers: {} })
    await before.close()
    const assessmentFile = await fileOf(
      SMALL.replaceAll('required: false', 'required: true').replace(/, answersToClear: \[.*\]/g, ''),
    )
    const { read, call } = await startTest({ dataFile, assessmentFile, makeId: () => 'later' })
    expect((await read()).page?.pageNumber).toBe('1.9')
    expect((await call('GET', `/bioage/result?${of('p-1')}`)).status).toBe(404)
  })
})

describe('a definition that is wrong is refused before anything is served', () => {
  const FIRST = 'modules[0].pages[0].questions[0].answers[1].answersToClear'
  const SECOND = 'modules[0].pages[1]'
  const ASKED = `${SECOND}.questions[0]`
  const ANSWER = `${ASKED}.answers[0]`
  const LABEL = 'displayLabel: { x: X }\n            factDataType: { petAge'
  /** Change to the small file; line and key of the finding. */
  it.each<[string, string | RegExp, string, number, string]>([
    ['a syntax error', 'languages: [en]', 'languages: [en', 39, ''],
    ['an unknown key', 'assessmentType:', 'assesmentType:', 2, 'assesmentType'],
    ['a page number without a minor', '"1.9"', '"1"', 6, 'modules[0].pages[0].pageNumber'],
    ['a page number that is no text', '"1.9"', '1.9', 6, 'modules[0].pages[0].pageNumber'],
    ['pages out of order', '"1.10"', '"1.8"', 24, `${SECOND}.pageNumber`],
    ['a group that stands twice', ': g2', ': g1', 25, `${SECOND}.questionGroupId`],
    ['a question that stands twice', 'id: age', 'id: pets', 27, `${ASKED}.id`],
    ['a fact that stands twice', /petAge/g, 'pet', 31, `${ASKED}.factDataType.pet`],
    ['an answer that stands twice', 'answerId: 4', 'answerId: 1', 33, `${ANSWER}.answerId`],
    ['a fact without a data type', 'factId: petAge', 'factId: other', 33, `${ANSWER}.factId`],
    ['a data type without a fact', 'e: INTEGER }', 'e: INTEGER, x: NONE }', 31, `${ASKED}.factDataType.x`],
    ['a data type that there is not', 'INTEGER', 'FLOAT', 31, `${ASKED}.factDataType.petAge`],
    ['an integer that is none', 'value: "1"', 'value: one', 33, `${ANSWER}.value`],
    ['a label of no fact', 'factDataType: { petAge', LABEL, 31, `${ASKED}.displayLabel.x`],
    ['clearing an answer that is not there', '[3, 4]', '[3, 9]', 16, `${FIRST}[1]`],
    ['clearing itself', '[3, 4]', '[2]', 16, `${FIRST}[0]`],
    ['clearing what is required', 'Clear: [3] }', 'Clear: [1] }', 33, `${ANSWER}.answersToClear[0]`],
    ['a score for no answer', '{ 1: 5 }', '{ 9: 5 }', 37, 'scoring.months.9'],
    ['a recommendation after no answer', 'when: [1]', 'when: [9]', 40, 'recommendations[0].when[0]'],
    ['a language without a text', '[en]', '[en, es]', 42, 'recommendations[0].texts'],
    [
      'a text in no language',
      '{ en: {',
      '{ fr: { teaser: T, body: B }, en: {',
      42,
      'recommendations[0].texts.fr',
    ],
  ])('%s', async (_, what, by, line, key) => {
    const file = await fileOf(SMALL.replace(what, by))
    const error = await readAssessment(file).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(WaybillError)
    if (!(error instanceof WaybillError)) return
    expect([error.code, error.place?.file]).toEqual(['usage-wrong', file])
    expect(error.findings.map(({ place }) => [place.file, place.line, place.key ?? ''])).toContainEqual([
      file,
      line,
      key,
    ])
  })

  it.each([
    ['year: 30', 'year: 0', true],
    ['year: 30', 'year: -1', false],
    ['month: 0', 'month: 11', true],
    ['month: 0', 'month: 12', false],
    ['month: 0', 'month: -1', false],
    ['younger: 12', 'younger: 0', true],
    ['younger: 12', 'younger: -1', false],
    ['older: 12', 'older: 0', true],
    ['older: 12', 'older: -1', false],
    ['{ 1: 5 }', '{ 1: -5 }', true],
    ['{ 1: 5 }', '{ 1: 0.5 }', false],
  ])('scoring with %s as %s', async (what, by, isTaken) => {
    const read = readAssessment(await fileOf(SMALL.replace(what, by)))
    if (isTaken) await expect(read).resolves.toBeDefined()
    else await expect(read).rejects.toMatchObject({ code: 'usage-wrong' })
  })

  it('a file that is not there is named', async () => {
    const assessmentFile = join(folder, 'missing.yaml')
    await expect(startTest({ assessmentFile })).rejects.toMatchObject({
      code: 'usage-wrong',
      place: { file: assessmentFile },
    })
  })
})

it('waybill gateway takes definition and bindings from its options', async () => {
  const { start } = await createWorkplace()
  const child = start(
    'gateway',
    '--port',
    '0',
    '--json',
    '--open',
    '--assessment',
    await fileOf(SMALL),
    '--bind',
    't-1=p-1',
  )
  onTestFinished(() => {
    child.kill()
  })
  const [line] = await once(createInterface({ input: child.stdout ?? process.stdin }), 'line')
  const { url } = JSON.parse(String(line))
  const headers = { 'x-api-key': 'k', authorization: 'Bearer t-1', 'x-api-version': '1.0' }
  const answer = await (await fetch(`${url}/assessments/bioage`, { headers })).json()
  expect(answer).toMatchObject({ data: [{ pageNumber: '1.9' }] })
})

it('waybill gateway names file, line and key of a definition that is wrong', async () => {
  const { waybill } = await createWorkplace()
  const file = await fileOf(SMALL.replace('"1.10"', '"1.8"'))
  const { code, err } = await waybill('gateway', '--port', '0', '--assessment', file)
  expect(code).toBe(2)
  expect(err).toContain(`${file}:24`)
  expect(err).toContain('modules[0].pages[1].pageNumber')
})

it('waybill gateway refuses a binding of another form, and --help says how to bind', async () => {
  const { waybill } = await createWorkplace()
  const [wrong, help] = await Promise.all([waybill('gateway', '--bind', 't-1'), waybill('gateway', '--help')])
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('TOKEN=REFERENCE')])
  expect(help.out).toMatch(/--bind <token=reference\.\.\.>[\s\S]*POST \/_reference\/tokens/)
})
