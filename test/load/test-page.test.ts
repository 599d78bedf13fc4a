import { expect, it } from 'vitest'
import type { AssessmentPage } from '../../src/gateway/contract/age-assessment.ts'
import { submissionOf } from '../../src/load/assessment.ts'
import type { TestAnswer } from '../../src/model/record.ts'

const PAGE: AssessmentPage = {
  ...{ moduleId: 'm', questionGroupId: 'g' },
  questions: [
    {
      ...{ id: 'size', required: true },
      answers: [
        { factId: 'feet', answerId: 5, value: '5', text: 'five' },
        { factId: 'inches', answerId: 'i5', value: '5', text: 'five' },
        { factId: 'inches', answerId: 'five', value: 5.5, text: 'a half' },
      ],
    },
    { id: 'more', answers: [{ factId: 'any', answerId: 'a', value: null, text: 'A' }] },
  ],
}
const says = (question: string, option: string, fact?: string): TestAnswer => ({ question, fact, option })

it.each<[string, readonly TestAnswer[], object]>([
  ['an id before a value', [says('size', '5')], { size: [{ feet: 5 }] }],
  ['an id before a text', [says('size', 'five')], { size: [{ inches: 'five' }] }],
  ['a value that is a number', [says('size', '5.5')], { size: [{ inches: 'five' }] }],
  ['a value of a fact that is named', [says('size', '5', 'inches')], { size: [{ inches: 'i5' }] }],
  [
    'several facts, and a question that need not be answered',
    [says('size', 'five', 'feet'), says('size', 'i5'), says('more', 'A')],
    { size: [{ feet: 5 }, { inches: 'i5' }], more: [{ any: 'a' }] },
  ],
  ['no question of another page', [says('size', 'i5'), says('elsewhere', 'x')], { size: [{ inches: 'i5' }] }],
])('finds an option by %s', (_, answers, said) => {
  expect(submissionOf(PAGE, answers)).toEqual({
    submission: { moduleId: 'm', questionGroupId: 'g', answers: said },
  })
})

it.each<[readonly TestAnswer[], string]>([
  [[says('size', 'seven')], 'answer-not-offered'],
  [[says('size', 'i5', 'feet')], 'answer-not-offered'],
  [[says('more', 'A')], 'answer-missing'],
])('%j is refused: %s', (answers, code) => {
  expect(submissionOf(PAGE, answers)).toMatchObject({ fault: { code } })
})

it('does not choose between options of one name, and tells no answer', () => {
  const [size, more] = PAGE.questions
  if (size === undefined || more === undefined) throw new Error('both are there')
  const twice = {
    ...size,
    answers: size.answers.map((one) => ({ ...one, answerId: `x-${one.factId}-${one.answerId}` })),
  }
  const found = submissionOf({ ...PAGE, questions: [twice, more] }, [says('size', '5')])
  expect(found).toMatchObject({ fault: { code: 'answer-not-clear' } })
  expect(JSON.stringify(found)).not.toContain('"5"')
})
