import { readFile } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DateTime } from 'luxon'
import { z } from 'zod'
import {
  type Age,
  AnswerId,
  AnswerSubmission,
  BenefitCost,
  PageNumber,
  type Recommendation,
} from '../../../src/gateway/contract/age-assessment.ts'
import { ENDPOINTS } from '../../../src/gateway/contract/endpoints.ts'
import { WaybillError } from '../../../src/model/errors.ts'
import { parseYaml } from '../../../src/system/yaml-file.ts'
import { type Account, type AccountStore, accountInQuery, type Parts, registered } from './accounts.ts'
import { bearerOf, type TokenBook } from './credentials.ts'
import {
  checked,
  type Fault,
  faultAt,
  faultsOf,
  MOST_FAULTS,
  Refusal,
  serveEndpoint,
  success,
} from './refusal.ts'
import { inTransaction } from './store.ts'

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
type QuestionDefinition = z.infer<typeof QuestionDefinition>

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
type ScoringRule = z.infer<typeof ScoringRule>

const RecommendationDefinition = z.strictObject({
  /** Answers, any of which leads to this recommendation. */
  when: z.array(AnswerId).min(1),
  benefitCost: BenefitCost,
  /** Texts by language tag. */
  texts: z.record(text, z.strictObject({ teaser: text, body: text })),
})
type RecommendationDefinition = z.infer<typeof RecommendationDefinition>

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
type AssessmentDefinition = z.infer<typeof AssessmentDefinition>

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

interface Page {
  /** major.minor; unique in the test. */
  readonly pageNumber: string
  readonly moduleId: string
  readonly questionGroupId: string
  readonly questions: readonly QuestionDefinition[]
}

/** Test as served: its definition, with the pages in order. */
interface Assessment extends Omit<AssessmentDefinition, 'modules'> {
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
function chosenOf(question: QuestionDefinition, chosen: ReadonlyMap<string, AnswerId>) {
  return question.answers.filter(({ factId, answerId }) => chosen.get(factId) === answerId)
}

/** Ages of section "Age result". */
export interface Ages {
  readonly bioAge: Age
  readonly calendarAge: Age
  /** bioAge minus calendarAge: negative if the biological age is lower. */
  readonly bioAgeDelta: Age
}

/**
 * Scores a complete test by the rule of its file: the calendar age plus the months of every chosen answer, within the bounds; never below
 * 0. Illustrative, without medical meaning.
 *
 * @param chosen ids of the chosen answers
 * @param dateOfBirth YYYY-MM-DD; if unknown, the rule's own age applies
 * @param onMs epoch milliseconds of the day of completion, in UTC
 */
export function score(
  rule: ScoringRule,
  chosen: readonly AnswerId[],
  dateOfBirth: string | undefined,
  onMs: number,
): Ages {
  const { year, month } = rule.ageWithoutDateOfBirth
  const calendar = dateOfBirth === undefined ? year * 12 + month : monthsSince(dateOfBirth, onMs)
  const sum = chosen.reduce<number>((months, id) => months + (rule.months[String(id)] ?? 0), 0)
  const bounded = Math.min(Math.max(sum, -rule.bounds.younger), rule.bounds.older)
  const biological = Math.max(calendar + bounded, 0)
  return {
    bioAge: ageOf(biological),
    calendarAge: ageOf(calendar),
    bioAgeDelta: ageOf(biological - calendar),
  }
}

/** Whole months from a date to the day of an instant, in UTC. */
function monthsSince(date: string, toMs: number): number {
  const utc = { zone: 'utc' }
  const to = DateTime.fromMillis(toMs, utc)
  return Math.max(Math.floor(to.diff(DateTime.fromISO(date, utc), 'months').months), 0)
}

/** Splits months into years and months. Both parts of a negative number are negative or 0: -14 is -1 year and -2 months. */
function ageOf(months: number): Age {
  return { year: Math.trunc(months / 12) + 0, month: (months % 12) + 0 }
}

/** Returns the recommendations for the chosen answers, in the order of the file, in the given language. */
export function recommend(
  definitions: readonly RecommendationDefinition[],
  chosen: readonly AnswerId[],
  language: string,
): Recommendation[] {
  return definitions
    .filter(({ when }) => when.some((id) => chosen.includes(id)))
    .map(({ benefitCost, texts }) => ({ ...texts[language], benefitCost }))
}

/**
 * Chooses the language for a header Accept-Language (RFC 9110 section 12.5.4), by the lookup of RFC 4647 section 3.4: `es-MX` gets `es`.
 * Returns the first of `available` if the header is missing or unreadable, or nothing matches.
 */
export function languageFor(header: string | undefined, available: readonly string[]): string {
  const ranges = (header ?? '')
    .split(',')
    .flatMap((part) => {
      const [, range, weight = '1'] = WEIGHTED_RANGE.exec(part) ?? []
      return range === undefined ? [] : [{ range: range.toLowerCase(), weight: Number(weight) }]
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  for (const { range } of ranges) {
    const found = available.find((tag) => truncations(range).includes(tag.toLowerCase()))
    if (found !== undefined) return found
  }
  return available[0] ?? ''
}

const WEIGHTED_RANGE =
  /^[ \t]*([a-z]{1,8}(?:-[a-z0-9]{1,8})*)[ \t]*(?:;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*)?$/i

/** Lists a range and its truncations: `zh-hant-cn`, `zh-hant`, `zh`. */
function truncations(range: string): string[] {
  const subtags = range.split('-')
  return subtags.map((_, at) => subtags.slice(0, subtags.length - at).join('-'))
}

/**
 * Serves the results of section "Age assessment", without an envelope. Without a complete test, result and recommendations are 404 ("An age
 * result exists only for a user who has completed the test"), and the list of answered questions is empty. `completed` and `created` are
 * the time of the last answer. Forms with the account in the path accept account ids only.
 */
export function serveAgeAssessment(
  { app, accounts }: Parts,
  assessment: Assessment,
  assessments: AssessmentStore,
): void {
  const findCompleted = (account: Account): StoredAssessment | undefined => {
    const found = assessments.find(account.seq, assessment.assessmentId)
    const isComplete = found !== undefined && currentPage(assessment, found.progress) === undefined
    return isComplete ? found : undefined
  }
  const completedOf = (account: Account): StoredAssessment => {
    const completed = findCompleted(account)
    if (completed === undefined) throw new Refusal(404, [faultAt('assessment', 'not completed')])
    return completed
  }
  const byAccountId = (reference: string) =>
    registered(accounts.resolve({ type: 'accountId', reference }), 'accountId')

  const resultOf = (account: Account) => {
    const { progress, answeredMs } = completedOf(account)
    const chosen = progress.chosen.map(([, answerId]) => answerId)
    return {
      status: 'COMPLETE',
      ...score(assessment.scoring, chosen, accounts.dateOfBirthOf(account), answeredMs),
      completed: new Date(answeredMs).toISOString(),
    }
  }
  serveEndpoint(app, 'readAgeResult', async (request) => resultOf(accountInQuery(request.query, accounts)))
  serveEndpoint(app, 'readAgeResultByAccountId', async (request) => {
    const { accountId } = checked(ENDPOINTS.readAgeResultByAccountId.parameters, request.params, 'path')
    return resultOf(byAccountId(accountId))
  })

  const recommendationsOf = (
    account: Account,
    assessmentId: string,
    { headers }: FastifyRequest,
    reply: FastifyReply,
  ) => {
    if (assessmentId !== assessment.assessmentId) {
      throw new Refusal(404, [faultAt('assessmentId', 'no such assessment')])
    }
    const chosen = completedOf(account).progress.chosen.map(([, answerId]) => answerId)
    const language = languageFor(headers['accept-language'], assessment.languages)
    reply.header('content-language', language).header('vary', 'Accept-Language')
    return recommend(assessment.recommendations, chosen, language)
  }
  serveEndpoint(app, 'listRecommendations', async (request, reply) => {
    const { assessmentId } = checked(ENDPOINTS.listRecommendations.parameters, request.params, 'path')
    return recommendationsOf(accountInQuery(request.query, accounts), assessmentId, request, reply)
  })
  serveEndpoint(app, 'listRecommendationsByAccountId', async (request, reply) => {
    const { parameters } = ENDPOINTS.listRecommendationsByAccountId
    const { assessmentId, accountId } = checked(parameters, request.params, 'path')
    return recommendationsOf(byAccountId(accountId), assessmentId, request, reply)
  })

  serveEndpoint(app, 'listCompletedQuestions', async (request) => {
    const account = accountInQuery(request.query, accounts)
    const completed = findCompleted(account)
    return completed === undefined ? [] : [completedQuestions(assessment, completed, account)]
  })
}

/** Section "Completed questions record": the answered questions, in the order of the pages. */
function completedQuestions(
  assessment: Assessment,
  { id, progress, answeredMs }: StoredAssessment,
  account: Account,
) {
  const chosen = new Map(progress.chosen)
  const questions = assessment.pages.flatMap((page) => page.questions)
  return {
    id,
    assessmentId: assessment.assessmentId,
    account: { type: 'accountId', reference: account.accountId },
    created: new Date(answeredMs).toISOString(),
    assessmentType: assessment.assessmentType,
    questions: questions.flatMap((question) => {
      const answers = chosenOf(question, chosen).map(({ answerId, factId, text, value }) => ({
        id: String(answerId),
        description: text,
        label: question.displayLabel[factId] ?? '',
        value,
      }))
      return answers.length === 0 ? [] : [{ id: question.id, text: question.questionText, answers }]
    }),
  }
}

/** Progress of a user in a test, as stored. */
export const Progress = z.object({
  pages: z.array(z.string()),
  /** Pairs of fact id and id of the chosen answer. */
  chosen: z.array(z.tuple([z.string(), AnswerId])),
})
type Progress = z.infer<typeof Progress>

const NOTHING_ANSWERED: Progress = { pages: [], chosen: [] }

/** Returns the first unanswered page; undefined once the test is complete. */
function currentPage({ pages }: Assessment, progress: Progress): Page | undefined {
  const chosen = new Map(progress.chosen)
  return pages.find(
    ({ pageNumber, questions }) =>
      !progress.pages.includes(pageNumber) ||
      questions.some((question) => question.required && missingIn(question, chosen).length > 0),
  )
}

/**
 * Takes the answers of the current page, or replaces all answers of an earlier page. If answers clear each other within the submission, the
 * first one sent stays. Cleared answers on other pages are removed too.
 *
 * @returns the new progress and the page after the answered one; no page after the last
 * @throws Refusal 400 for an unknown page, question, fact or answer and for a missing required answer; 409 for a page ahead of the current
 * one
 */
function answerPage(
  assessment: Assessment,
  progress: Progress,
  submission: AnswerSubmission,
): { readonly progress: Progress; readonly next: Page | undefined } {
  const { pages } = assessment
  const index = pages.findIndex(
    ({ moduleId, questionGroupId }) =>
      moduleId === submission.moduleId && questionGroupId === submission.questionGroupId,
  )
  const page = pages[index]
  if (page === undefined) {
    throw new Refusal(400, [
      faultAt('submission', 'moduleId and questionGroupId name no page', undefined, 'questionGroupId'),
    ])
  }
  const current = currentPage(assessment, progress)
  if (current !== undefined && index > pages.indexOf(current)) {
    throw new Refusal(409, [
      faultAt('submission', 'a page before this one is not answered', undefined, 'questionGroupId'),
    ])
  }
  const answers = readAnswers(page, submission.answers)
  const cleared = new Set(answers.flatMap(({ answersToClear }) => answersToClear))
  const ofPage = new Set(page.questions.flatMap(({ factDataType }) => Object.keys(factDataType)))
  const elsewhere = progress.chosen.filter(([factId, id]) => !ofPage.has(factId) && !cleared.has(id))
  return {
    progress: {
      pages: [...new Set([...progress.pages, page.pageNumber])],
      chosen: [
        ...elsewhere,
        ...answers.map(({ factId, answerId }): [string, AnswerId] => [factId, answerId]),
      ],
    },
    next: pages[index + 1],
  }
}

type Chosen = QuestionDefinition['answers'][number]

/** Returns the answers of a submission that stay, in the order sent. */
function readAnswers({ questions }: Page, sent: AnswerSubmission['answers']): Chosen[] {
  const faults: Fault[] = []
  const fault = (message: string, ...place: (string | number)[]) => {
    if (faults.length === MOST_FAULTS) return
    faults.push(faultAt('submission', message, undefined, ['answers', ...place.map(shortened)].join('.')))
  }
  const chosen = new Map<string, Chosen>()
  for (const [questionId, choices] of Object.entries(sent)) {
    const question = questions.find(({ id }) => id === questionId)
    if (question === undefined) fault('no such question on this page', questionId)
    else readChoices(question, choices, chosen, fault)
  }
  const ids = new Map([...chosen].map(([factId, { answerId }]) => [factId, answerId]))
  for (const question of questions.filter(({ required }) => required)) {
    for (const place of missingIn(question, ids)) fault('an answer is required', ...place)
  }
  if (faults.length > 0) throw new Refusal(400, faults)
  return withoutCleared([...chosen.values()])
}

function readChoices(
  question: QuestionDefinition,
  choices: AnswerSubmission['answers'][string],
  chosen: Map<string, Chosen>,
  fault: (message: string, ...place: (string | number)[]) => void,
): void {
  for (const [index, choice] of choices.entries()) {
    for (const [factId, answerId] of Object.entries(choice)) {
      const place = [question.id, index, factId]
      const options = question.answers.filter((option) => option.factId === factId)
      const option = options.find((candidate) => candidate.answerId === answerId)
      if (options.length === 0) fault('no such fact in this question', ...place)
      else if (option === undefined) fault('no such answer to this fact', ...place)
      else if (chosen.has(factId)) fault('this fact is answered twice', ...place)
      else chosen.set(factId, option)
    }
  }
}

/** Returns the places missing in a required question: facts, or the question itself if a single answer is enough. */
function missingIn(question: QuestionDefinition, chosen: ReadonlyMap<string, AnswerId>): string[][] {
  const answered = new Set(chosenOf(question, chosen).map(({ factId }) => factId))
  if (question.type === 'checkbox') return answered.size === 0 ? [[question.id]] : []
  return Object.keys(question.factDataType).flatMap((factId) =>
    answered.has(factId) ? [] : [[question.id, factId]],
  )
}

/** Removes cleared answers. A cleared answer clears nothing, so of two answers that clear each other, one stays. */
function withoutCleared(chosen: readonly Chosen[]): Chosen[] {
  const cleared = new Set<AnswerId>()
  for (const { answerId, answersToClear } of chosen) {
    if (!cleared.has(answerId)) for (const id of answersToClear) cleared.add(id)
  }
  return chosen.filter(({ answerId }) => !cleared.has(answerId))
}

/** Shortens an id for an error: a client may send ids of any length. */
function shortened(part: string | number): string {
  const text = String(part)
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`
}

/** Stored state of a user's test. */
interface StoredAssessment {
  readonly id: string
  readonly progress: Progress
  /** Epoch milliseconds of the last answer. */
  readonly answeredMs: number
}

/** Table of tests in progress or complete: a row per user and test. */
export function createAssessmentStore(store: DatabaseSync, makeId: () => string) {
  const select = store.prepare(
    'SELECT id, progress, answered_ms FROM assessments WHERE account = ? AND assessment_id = ?',
  )
  const upsert = store.prepare(
    `INSERT INTO assessments (id, account, assessment_id, progress, answered_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (account, assessment_id) DO UPDATE SET progress = excluded.progress, answered_ms = excluded.answered_ms`,
  )

  return {
    find(account: number, assessmentId: string): StoredAssessment | undefined {
      const row = select.get(account, assessmentId)
      if (row === undefined) return undefined
      return {
        id: String(row['id']),
        progress: Progress.parse(JSON.parse(String(row['progress']))),
        answeredMs: Number(row['answered_ms']),
      }
    },

    save(account: number, assessmentId: string, progress: Progress, answeredMs: number): void {
      upsert.run(makeId(), account, assessmentId, JSON.stringify(progress), answeredMs)
    },
  }
}

type AssessmentStore = ReturnType<typeof createAssessmentStore>

/**
 * Serves the paged test of section "Age assessment". GET returns the first unanswered page, POST the page after the answered one; `data` is
 * empty after the last. The token identifies the user: 403 if the token is bound to nobody, 404 if its account is not registered. A page
 * may be answered again at any time; a complete test is then complete anew.
 */
export function serveAssessmentPages(
  { app, store, accounts, clock }: Parts,
  assessment: Assessment,
  assessments: AssessmentStore,
  tokens: TokenBook,
): void {
  const { assessmentId } = assessment
  const progressOf = (user: Account) => assessments.find(user.seq, assessmentId)?.progress ?? NOTHING_ANSWERED

  serveEndpoint(app, 'readAssessmentPage', async (request) => {
    const progress = progressOf(userOf(request, tokens, accounts))
    return answered(currentPage(assessment, progress), progress)
  })

  serveEndpoint(app, 'submitAnswers', async (request) => {
    const user = userOf(request, tokens, accounts)
    const submission = readSubmission(request.body)
    return inTransaction(store, () => {
      const { progress, next } = answerPage(assessment, progressOf(user), submission)
      assessments.save(user.seq, assessmentId, progress, clock())
      return answered(next, progress)
    })
  })
}

/** Returns the user of the request's token. */
function userOf(request: FastifyRequest, tokens: TokenBook, accounts: AccountStore): Account {
  const owner = tokens.ownerOf(bearerOf(request))
  if (owner === undefined) {
    const how = 'bind it with `waybill gateway --bind TOKEN=REFERENCE` or POST /_reference/tokens'
    throw new Refusal(403, [{ message: `Authorization: the token is bound to no user; ${how}` }])
  }
  const account = accounts.resolve(owner)
  if (account === undefined) {
    throw new Refusal(404, [faultAt('account', 'the account of the token is not registered')])
  }
  return account
}

/** Parses a submission. Its keys come from the client, so places of faults shorten them. */
function readSubmission(body: unknown): AnswerSubmission {
  const result = AnswerSubmission.safeParse(body)
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((part) => (typeof part === 'string' ? shortened(part) : part)),
  }))
  throw new Refusal(400, faultsOf(new z.ZodError(issues), 'submission'))
}

const answered = (page: Page | undefined, progress: Progress) =>
  success(page === undefined ? [] : [withPreviousValues(page, progress)])

/** Builds the page on the wire; `previousValues` holds the values, not the ids, of earlier answers. */
function withPreviousValues({ moduleId, questionGroupId, pageNumber, questions }: Page, progress: Progress) {
  const chosen = new Map(progress.chosen)
  return {
    moduleId,
    questionGroupId,
    pageNumber,
    questions: questions.map((question) => ({
      ...question,
      previousValues: Object.fromEntries(
        chosenOf(question, chosen).map(({ factId, value }) => [factId, value]),
      ),
    })),
  }
}
