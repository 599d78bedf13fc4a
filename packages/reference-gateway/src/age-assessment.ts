import type { FastifyReply, FastifyRequest } from 'fastify'
import { DateTime } from 'luxon'
import type { Age, AnswerId, Recommendation } from '../../../src/gateway/contract/age-assessment.ts'
import { ENDPOINTS } from '../../../src/gateway/contract/endpoints.ts'
import { type Account, accountInQuery, type Parts, registered } from './accounts.ts'
import {
  type Assessment,
  chosenOf,
  type RecommendationDefinition,
  type ScoringRule,
} from './assessment-definition.ts'
import { type AssessmentStore, currentPage, type StoredAssessment } from './assessment-pages.ts'
import { checked, faultAt, Refusal, serveEndpoint } from './refusal.ts'

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
