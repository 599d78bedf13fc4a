import type { AssessmentDefinition, QuestionDefinition } from './assessment-definition.ts'

/** A contradiction in a definition, with the path of its key. */
export interface Contradiction {
  readonly path: (string | number)[]
  readonly message: string
}

type Path = Contradiction['path']
type Report = (path: Path, message: string) => void

interface PlacedQuestion {
  readonly question: QuestionDefinition
  readonly path: Path
}

/**
 * What the schema cannot see: ids that stand twice or lead nowhere, pages out of order, facts without a data type, and
 * answers that clear what a required question needs, so that a page could never be left.
 */
export function contradictionsOf(definition: AssessmentDefinition): Contradiction[] {
  const found: Contradiction[] = []
  const report: Report = (path, message) => found.push({ path, message })
  const questions = definition.modules.flatMap(({ pages }, module) =>
    pages.flatMap((page, at) =>
      page.questions.map((question, index) => ({
        question,
        path: ['modules', module, 'pages', at, 'questions', index],
      })),
    ),
  )
  checkPages(definition, report)
  checkIds(questions, report)
  for (const placed of questions) checkFacts(placed, report)
  const owners = new Map(
    questions.flatMap(({ question }) =>
      question.answers.map(({ answerId }) => [String(answerId), question] as const),
    ),
  )
  for (const placed of questions) checkClearing(placed, owners, report)
  checkScoring(definition, owners, report)
  checkRecommendations(definition, owners, report)
  return found
}

function checkPages({ modules }: AssessmentDefinition, report: Report): void {
  const moduleOnce = createOnce(report)
  let before: readonly number[] = [-1, -1]
  for (const [module, { moduleId, pages }] of modules.entries()) {
    moduleOnce(moduleId, ['modules', module, 'moduleId'])
    const groupOnce = createOnce(report)
    for (const [at, { pageNumber, questionGroupId }] of pages.entries()) {
      const path = ['modules', module, 'pages', at]
      groupOnce(questionGroupId, [...path, 'questionGroupId'])
      const number = pageNumber.split('.').map(Number)
      if (!isAfter(number, before)) report([...path, 'pageNumber'], 'must come after that of the page before')
      before = number
    }
  }
}

function isAfter(
  [major = 0, minor = 0]: readonly number[],
  [beforeMajor = 0, beforeMinor = 0]: readonly number[],
) {
  return major > beforeMajor || (major === beforeMajor && minor > beforeMinor)
}

function checkIds(questions: readonly PlacedQuestion[], report: Report): void {
  const questionOnce = createOnce(report)
  const factOnce = createOnce(report)
  const answerOnce = createOnce(report)
  for (const { question, path } of questions) {
    questionOnce(question.id, [...path, 'id'])
    for (const fact of Object.keys(question.factDataType)) factOnce(fact, [...path, 'factDataType', fact])
    for (const [index, { answerId }] of question.answers.entries()) {
      answerOnce(String(answerId), [...path, 'answers', index, 'answerId'])
    }
  }
}

function checkFacts({ question, path }: PlacedQuestion, report: Report): void {
  const { displayLabel, displayLabelOrder, factDataType, answers } = question
  const answered = new Set(answers.map(({ factId }) => factId))
  for (const fact of Object.keys(factDataType)) {
    if (!answered.has(fact)) report([...path, 'factDataType', fact], 'no answer is of this fact')
  }
  for (const fact of Object.keys(displayLabel)) {
    if (!answered.has(fact)) report([...path, 'displayLabel', fact], 'no answer is of this fact')
  }
  for (const [index, fact] of displayLabelOrder.entries()) {
    if (!answered.has(fact)) report([...path, 'displayLabelOrder', index], 'no answer is of this fact')
  }
  for (const [index, { factId, value }] of answers.entries()) {
    const type = factDataType[factId]
    if (type === undefined)
      report([...path, 'answers', index, 'factId'], 'factDataType does not name this fact')
    if (type === 'INTEGER' && !/^-?\d+$/.test(value)) {
      report([...path, 'answers', index, 'value'], 'must be an integer: the fact is of type INTEGER')
    }
  }
}

function checkClearing(
  { question, path }: PlacedQuestion,
  owners: ReadonlyMap<string, QuestionDefinition>,
  report: Report,
): void {
  for (const [index, { answerId, answersToClear }] of question.answers.entries()) {
    for (const [at, cleared] of answersToClear.entries()) {
      const place = [...path, 'answers', index, 'answersToClear', at]
      const owner = owners.get(String(cleared))
      if (owner === undefined) report(place, 'there is no such answer')
      else if (String(cleared) === String(answerId)) report(place, 'an answer cannot clear itself')
      else if (owner.required && (owner !== question || question.type !== 'checkbox')) {
        report(place, 'it belongs to a required question, which would be left without it')
      }
    }
  }
}

function checkScoring(
  { scoring }: AssessmentDefinition,
  owners: ReadonlyMap<string, unknown>,
  report: Report,
): void {
  for (const answerId of Object.keys(scoring.months)) {
    if (!owners.has(answerId)) report(['scoring', 'months', answerId], 'there is no such answer')
  }
}

function checkRecommendations(
  { languages, recommendations }: AssessmentDefinition,
  owners: ReadonlyMap<string, unknown>,
  report: Report,
): void {
  const languageOnce = createOnce(report)
  for (const [index, language] of languages.entries()) languageOnce(language, ['languages', index])
  for (const [index, { when, texts }] of recommendations.entries()) {
    const path = ['recommendations', index]
    for (const [at, answerId] of when.entries()) {
      if (!owners.has(String(answerId))) report([...path, 'when', at], 'there is no such answer')
    }
    for (const language of languages) {
      if (!Object.hasOwn(texts, language)) report([...path, 'texts'], `the text in ${language} is missing`)
    }
    for (const language of Object.keys(texts)) {
      if (!languages.includes(language)) report([...path, 'texts', language], 'not one of languages')
    }
  }
}

/** Reports every id but the first of its kind. */
function createOnce(report: Report) {
  const seen = new Set<string>()
  return (id: string, path: Path): void => {
    if (seen.has(id)) report(path, 'stands twice')
    seen.add(id)
  }
}
