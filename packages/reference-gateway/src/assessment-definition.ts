import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { AnswerId, BenefitCost, PageNumber } from '../../../src/gateway/contract/age-assessment.ts'
import { WaybillError } from '../../../src/model/errors.ts'
import { parseYaml } from '../../../src/system/yaml-file.ts'

const text = z.string().min(1)

const AnswerDefinition = z.strictObject({
  /** Unique in the file. Clearing, scoring and recommendations refer to this id. */
  answerId: AnswerId,
  factId: text,
  /** Digits if the fact's data type is `INTEGER`. */
  value: text,
  text,
  /** Ids of answers to remove when this one is chosen. */
  answersToClear: z.array(AnswerId).default([]),
})

/**
 * Question, in the fields of section "Assessment page". A fact takes a single answer. A required question needs an answer to every fact
 * (`radio`, `select`), or at least one (`checkbox`, with a fact per answer).
 */
const QuestionDefinition = z.strictObject({
  id: text,
  questionText: text,
  type: z.enum(['radio', 'select', 'checkbox']),
  required: z.boolean(),
  displayLabel: z.record(text, z.string()).default({}),
  displayLabelOrder: z.array(text).default([]),
  factDataType: z.record(text, z.enum(['NONE', 'INTEGER'])),
  answers: z.array(AnswerDefinition).min(1),
  moreInfoTitle: z.string().default(''),
  moreInfoBody: z.string().default(''),
})
export type QuestionDefinition = z.infer<typeof QuestionDefinition>

const ModuleDefinition = z.strictObject({
  moduleId: text,
  pages: z
    .array(
      z.strictObject({
        pageNumber: PageNumber,
        questionGroupId: text,
        questions: z.array(QuestionDefinition).min(1),
      }),
    )
    .min(1),
})

/** Scoring rule: months that each answer adds to the calendar age. Without medical meaning. */
const ScoringRule = z.strictObject({
  /** Calendar age of an account without a known date of birth. */
  ageWithoutDateOfBirth: z.strictObject({ year: z.int().min(0), month: z.int().min(0).max(11) }),
  /** Maximum difference in months between biological and calendar age, in both directions. */
  bounds: z.strictObject({ younger: z.int().min(0), older: z.int().min(0) }),
  /** Months by answer id; 0 for other answers. */
  months: z.record(text, z.int()),
})
export type ScoringRule = z.infer<typeof ScoringRule>

const RecommendationDefinition = z.strictObject({
  /** Answers, any of which leads to this recommendation. */
  when: z.array(AnswerId).min(1),
  benefitCost: BenefitCost,
  /** Texts by language tag. */
  texts: z.record(text, z.strictObject({ teaser: text, body: text })),
})
export type RecommendationDefinition = z.infer<typeof RecommendationDefinition>

/** Form of `definitions/assessment.yaml`: pages, scoring and recommendations of a test. */
export const AssessmentDefinition = z.strictObject({
  assessmentId: text,
  assessmentType: text,
  modules: z.array(ModuleDefinition).min(1),
  scoring: ScoringRule,
  /** Tags of RFC 5646; the first is the default. */
  languages: z.array(text).min(1),
  recommendations: z.array(RecommendationDefinition),
})
export type AssessmentDefinition = z.infer<typeof AssessmentDefinition>

type Path = (string | number)[]
type Report = (path: Path, message: string) => void

interface PlacedQuestion {
  readonly question: QuestionDefinition
  readonly path: Path
}

/**
 * Reports contradictions beyond the schema: duplicate or unknown ids, pages out of order, facts without a data type, and answers that clear
 * required ones, so that a page could never be left.
 */
function checkContradictions(definition: AssessmentDefinition, report: Report): void {
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
  for (const answerId of Object.keys(definition.scoring.months))
    if (!owners.has(answerId)) report(['scoring', 'months', answerId], 'there is no such answer')
  checkRecommendations(definition, owners, report)
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
      if (!isAfter(number, before))
        report([...path, 'pageNumber'], 'must be greater than the number of the page before')
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
  const named: (readonly [fact: string, ...place: Path])[] = [
    ...Object.keys(factDataType).map((fact) => [fact, 'factDataType', fact] as const),
    ...Object.keys(displayLabel).map((fact) => [fact, 'displayLabel', fact] as const),
    ...displayLabelOrder.map((fact, index) => [fact, 'displayLabelOrder', index] as const),
  ]
  for (const [fact, ...place] of named)
    if (!answered.has(fact)) report([...path, ...place], 'no answer is of this fact')
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
        report(place, 'must not clear an answer of a required question')
      }
    }
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

/** Reports every repeated id. */
function createOnce(report: Report) {
  const seen = new Set<string>()
  return (id: string, path: Path): void => {
    if (seen.has(id)) report(path, 'occurs twice')
    seen.add(id)
  }
}

const FILE = fileURLToPath(new URL('definitions/assessment.yaml', import.meta.url))

/** Page of the test. */
export interface Page {
  /** major.minor; unique in the test. */
  readonly pageNumber: string
  readonly moduleId: string
  readonly questionGroupId: string
  readonly questions: readonly QuestionDefinition[]
}

/** Test as served: its definition, with the pages in order. */
export interface Assessment extends Omit<AssessmentDefinition, 'modules'> {
  readonly pages: readonly Page[]
}

const Definition = AssessmentDefinition.superRefine((definition, context) =>
  checkContradictions(definition, (path, message) => context.addIssue({ code: 'custom', path, message })),
)

/**
 * Reads the test to serve, from a file in the form of `definitions/assessment.yaml` (the default).
 *
 * @throws WaybillError `usage-wrong` with file, line and key of every problem
 */
export function readAssessment(file?: string): Promise<Assessment> {
  if (file !== undefined) return assessmentOf(file)
  shipped ??= assessmentOf(FILE)
  return shipped
}

/** Read once, as a process may start hundreds of gateways. */
let shipped: Promise<Assessment> | undefined

async function assessmentOf(file: string): Promise<Assessment> {
  const { modules, ...rest } = parseYaml(await textOf(file), file, Definition, 'usage-wrong').value
  const pages = modules.flatMap(({ moduleId, pages }) => pages.map((page) => ({ moduleId, ...page })))
  return { ...rest, pages }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'
    throw new WaybillError('usage-wrong', `the definition of the age assessment cannot be read: ${reason}`, {
      place: { file },
      remedy: 'Name a readable file with --assessment.',
      cause,
    })
  }
}

/** Returns the chosen answers of a question. @param chosen id of the chosen answer, by fact id */
export function chosenOf(question: QuestionDefinition, chosen: ReadonlyMap<string, AnswerId>) {
  return question.answers.filter(({ factId, answerId }) => chosen.get(factId) === answerId)
}
