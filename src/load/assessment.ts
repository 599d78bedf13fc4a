/**
 * Loads a chunk of answered tests: fetches and answers each person's pages in turn, as the person (interface, "Age assessment"). The gateway keeps
 * the progress of a test: a begun test is continued, and a finished test is not taken again. After a lost answer the current page shows whether the
 * gateway took the answers. The ledger holds an intent before the first answer of a test leaves: a test found complete counts as accepted only where
 * answers were sent. A pure function puts answers onto a page (interface, "Assessment page", "Answer submission").
 */
import pLimit from 'p-limit'
import type { Assessment } from '../gateway/age-assessment.ts'
import type {
  AnswerOption,
  AnswerSubmission,
  AssessmentPage,
  CompletedQuestion,
} from '../gateway/contract/age-assessment.ts'
import { GatewayError, orRefusal } from '../gateway/gateway-error.ts'
import { type ChunkKey, type Ledger, NO_SUSPICION } from '../ledger/ledger.ts'
import { AnswersEntry, type Entry, rowKeysOf } from '../model/entry.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import { type EntryOutcome, Outcomes } from '../model/outcome.ts'
import { type Fault, fault, type TestAnswer } from '../model/record.ts'
import { type AccountsContext, type LoadedRoster, resolveAccounts } from './accounts.ts'
import { type Delivery, planned, settle } from './delivery.ts'
import { refusalWords, rejection, type Words } from './gateway-words.ts'
import { causeOf } from './outage.ts'
import { recallChunk } from './recall.ts'
import { ofCredentials } from './retry-policy.ts'
import { ChunkSlots, type LearnedSlots, type Speaks } from './slots.ts'

interface AssessmentContext extends Pick<Delivery, 'gateway' | 'sending' | 'ledger' | 'identity' | 'now'> {
  readonly accounts: AccountsContext
  readonly memory: Pick<Ledger, 'slots' | 'chunks'>
  readonly jobId: number
  readonly testsAtOnce: number
}

/** A test in the ledger. `wasSent`: an earlier process may have sent an answer. */
interface Intent {
  readonly row: number
  readonly batchId: string
  readonly wasSent?: true
}

interface AnsweredTests extends LoadedRoster {
  readonly learned: LearnedSlots
}

/** @throws WaybillError where the run must stop */
export async function loadAssessments(
  context: AssessmentContext,
  {
    entries,
    resumed,
    ...speaks
  }: ChunkKey &
    Speaks & {
      readonly exportId: string
      readonly entries: readonly Entry[]
      /** True where an earlier process may have answered part of the chunk. */
      readonly resumed: boolean
    },
): Promise<AnsweredTests> {
  const { memory, jobId } = context
  const { exportRow, chunk, exportId } = speaks
  const key = { exportRow, chunk }
  const known = { delivered: await memory.slots.delivered(jobId, rowKeysOf(entries)), held: NOTHING_HELD }
  const slots = new ChunkSlots(known, entries, speaks, NO_SUSPICION)
  slots.hear(entries, [])
  const outcomes = new Outcomes()
  outcomes.note(
    entries.filter((one) => slots.isSettled(one)).map((entry) => ({ entry, outcome: 'unchanged' })),
  )
  const fresh = outcomes.without(entries)
  const earlier = await recallChunk(memory, { ...key, resumed }, fresh, NOTHING_HELD)
  outcomes.note(earlier.outcomes)
  const open = outcomes.without(fresh)
  const settled = resumed ? earlier.outcomes : undefined
  const accounts = await resolveAccounts(context.accounts, open, 'await', settled)
  const tests = earlier.unsent.map((entry) => ({
    ...key,
    exportId,
    kind: 'assessment' as const,
    entries: [entry],
    accountIds: accounts.accountIds,
    bytes: 0,
    hidesOlder: false,
  }))
  const rows = await planned(context, tests)
  const intents = new Map<Entry, Intent | undefined>(earlier.unsent.map((entry, at) => [entry, rows[at]]))
  for (const { batch, entries: sent } of earlier.unanswered)
    for (const entry of sent) intents.set(entry, { row: batch.id, batchId: batch.batch_id, wasSent: true })
  const limit = pLimit(context.testsAtOnce)
  const take = async (entry: Entry): Promise<void> => {
    const reason = accounts.refusalOf(entry)
    const outcome: EntryOutcome =
      reason === undefined
        ? await takeTest(context, entry, key, intents.get(entry))
        : { entry, outcome: 'rejected', batchId: null, reason }
    outcomes.note([outcome])
  }
  const byPerson = Map.groupBy(open, (entry) => entry.account.reference)
  await allDone([
    ...[...byPerson.values()].map((own) =>
      limit(async () => {
        for (const entry of own) await take(entry)
      }),
    ),
    ...earlier.outcomes.map((one) => limit(async () => outcomes.note([await withResult(context, one)]))),
  ])
  slots.learnOutcomes(outcomes.all(), () => false)
  const { counts, names } = accounts
  return { outcomes: outcomes.all(), accounts: counts, names, learned: slots.toKeep() }
}

/** Empty: the gateway itself keeps the progress of a test. */
const NOTHING_HELD = new Map<string, never>()

/** Thrown where the person's own token is refused, or belongs to nobody. */
class PersonRefused extends Error {
  override readonly name = 'PersonRefused'
  readonly words: Words

  constructor(words: Words) {
    super(words.ours)
    this.words = words
  }
}

async function takeTest(
  context: AssessmentContext,
  entry: Entry,
  key: ChunkKey,
  intent: Intent | undefined,
): Promise<EntryOutcome> {
  if (!(entry instanceof AnswersEntry) || intent === undefined)
    throw new TypeError('the entry answers no test')
  const { row, batchId, wasSent = false } = intent
  let sent: Promise<void> | undefined
  const begin = (): Promise<void> => {
    sent ??= context.ledger.sendBatch(row, context.now(), false)
    return sent
  }
  const outcome = await outcomeOf(context, entry, wasSent, begin)
  if (!wasSent && sent === undefined) return outcome
  const own = 'batchId' in outcome ? { ...outcome, batchId } : outcome
  const answer = outcome.outcome === 'rejected' ? 'refused' : sent === undefined ? 'ambiguous' : 'accepted'
  await settle(context, { batch: { ...key, entries: [entry] }, row, attempts: 1 }, answer, null, [own])
  return own
}

/** @param begin must be called before an answer leaves */
async function outcomeOf(
  context: AssessmentContext,
  entry: AnswersEntry,
  wasSent: boolean,
  begin: () => Promise<void>,
): Promise<EntryOutcome> {
  const refuse = (code: string, words: Words): EntryOutcome => rejection(entry, null, code, words)
  try {
    const asPerson = await personOf(context, entry)
    const done = await answerPages(context, entry, asPerson, begin)
    if ('fault' in done) return refuse(done.fault, done.words)
    const isFound = done.submitted === 0
    if (!(await isOurs(context, entry, wasSent, done))) return { entry, outcome: 'unchanged', found: true }
    return await withResult(context, {
      entry,
      outcome: 'accepted',
      batchId: null,
      status: null,
      ...(isFound ? { readBack: true } : {}),
    })
  } catch (error) {
    if (error instanceof PersonRefused) return refuse('user-token-refused', error.words)
    if (error instanceof GatewayError) return refuse('refused', refusalWords(error))
    throw error
  }
}

/** Checks that a complete test has the answers of the row: all were sent now, or some earlier and the test shows no different answers. */
async function isOurs(
  context: AssessmentContext,
  entry: AnswersEntry,
  wasSent: boolean,
  { submitted, confirmed }: Submitted,
): Promise<boolean> {
  if (submitted === 0 && !wasSent) return false
  return entry.answers.every(({ question }) => confirmed.has(question)) || (await mayBeOurs(context, entry))
}

/**
 * Compares a complete test, partly answered from here, with the answers of the row: the person may have given some in the app (interface, "Completed
 * questions record"). Where no completed question is shown, the sent answers count.
 */
async function mayBeOurs(context: AssessmentContext, { account, answers }: AnswersEntry): Promise<boolean> {
  const completed = await shownOf(context, 'list completed questions', () =>
    context.gateway.ageAssessment.completedQuestions(account),
  )
  const isOther = ({ id, answers: shown }: CompletedQuestion): boolean => {
    const own = answers.filter(({ question }) => question === id)
    if (own.length === 0 || !Array.isArray(shown)) return false
    const isShown = ({ option }: TestAnswer): boolean =>
      shown.some(({ id: chosen, value, description }) => [chosen, value, description].includes(option))
    return shown.length !== own.length || !own.every(isShown)
  }
  return completed.length === 0 || completed.some(({ questions }) => !questions.some(isOther))
}

type AsPerson = <T>(act: (test: Assessment) => Promise<T>) => Promise<T>

/** Requests a new token once after one has expired: an expired token is no sign against the credentials of the run. */
async function personOf({ gateway }: AssessmentContext, { account }: Entry): Promise<AsPerson> {
  const open = (): Promise<Assessment> =>
    gateway.assessmentAs(account).catch((error: unknown) => {
      if (error instanceof WaybillError && error.code === 'gateway-refused-credentials')
        throw new PersonRefused({ ours: error.message })
      throw error
    })
  let test = await open()
  let isRenewed = false
  const asPerson: AsPerson = async (act) => {
    try {
      return await act(test)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const step = ofCredentials(error.class, isRenewed ? 0 : Number.POSITIVE_INFINITY)
      if (step === undefined) throw error
      if (step.kind === 'stop') throw new PersonRefused(refusalWords(error))
      isRenewed = true
      test = await open()
      return asPerson(act)
    }
  }
  return asPerson
}

interface Submitted {
  /** Number of pages answered here. */
  readonly submitted: number
  /** Questions whose answers were sent here and confirmed. */
  readonly confirmed: ReadonlySet<string>
}

type Done = Submitted | { fault: string; words: Words }

/** @throws GatewayError, PersonRefused, WaybillError */
async function answerPages(
  { sending, now }: AssessmentContext,
  record: AnswersEntry,
  asPerson: AsPerson,
  begin: () => Promise<void>,
): Promise<Done> {
  const current = (): Promise<AssessmentPage | undefined> =>
    sending.idempotent('read a page of the test', () => asPerson((test) => test.currentPage()))
  const since = now()
  const people = new Set([record.account.reference])
  const taken = new Set<string>()
  const confirmed = new Set<string>()
  let lost = 0
  for (let page = await current(); page !== undefined; ) {
    const key = pageKey(page)
    if (taken.has(key) || taken.size === MOST_PAGES) return { fault: 'page-repeated', words: PAGE_REPEATED }
    const answered = submissionOf(page, record.answers)
    if ('fault' in answered) return { fault: answered.fault.code, words: { ours: answered.fault.message } }
    const { submission } = answered
    try {
      page = await sending.once(
        'answer a page of the test',
        () => true,
        async () => {
          await begin()
          return asPerson((test) => test.submit(submission))
        },
        { isAgain: lost > 0 },
      )
      taken.add(key)
      for (const question of Object.keys(submission.answers)) confirmed.add(question)
      lost = 0
    } catch (error) {
      if (!(error instanceof GatewayError) || error.class !== 'ambiguous') throw error
      const waiting = { since, tries: ++lost, people, isPage: true }
      if (!(await sending.wait('answer a page of the test', causeOf(error), waiting))) throw error
      page = await current()
      sending.settled()
      if (page === undefined || pageKey(page) !== key) {
        taken.add(key)
        lost = 0
      }
    }
  }
  return { submitted: taken.size, confirmed }
}

const MOST_PAGES = 200
const PAGE_REPEATED: Words = {
  ours: `the gateway repeated an answered page, or gave more than ${MOST_PAGES} pages`,
}

/** Adds the age result. Without a readable result the test still counts as answered. */
async function withResult(context: AssessmentContext, one: EntryOutcome): Promise<EntryOutcome> {
  if (one.outcome !== 'accepted') return one
  const [result] = await shownOf(context, 'read the age result', async () => {
    const found = await context.gateway.ageAssessment.result(one.entry.account)
    return found === undefined ? [] : [found]
  })
  if (result === undefined) return one
  const { status, bioAge, calendarAge, bioAgeDelta, completed } = result
  return { ...one, ageResult: { status, bioAge, calendarAge, bioAgeDelta, completed } }
}

/** @returns an empty list where the gateway refuses the read */
async function shownOf<Item>(
  { sending }: AssessmentContext,
  what: string,
  read: () => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const shown = await orRefusal(sending.read(what, read))
  return shown instanceof GatewayError ? [] : shown
}

/** Names of an option, by precedence: a match by id ends the search before values and texts. */
const NAMES: readonly ((option: AnswerOption) => unknown)[] = [
  ({ answerId }) => answerId,
  ({ value }) => value,
  ({ text }) => text,
]

/** Key of a page, equal however often the page is read. */
const pageKey = ({ moduleId, questionGroupId }: AssessmentPage): string => `${moduleId}\n${questionGroupId}`

type PageAnswered = { submission: AnswerSubmission } | { fault: Fault }

/**
 * @returns a fault where the page does not offer an answer of the row, or requires an answer that the row lacks. Its message names the question,
 * never the answer
 */
export function submissionOf(page: AssessmentPage, answers: readonly TestAnswer[]): PageAnswered {
  const chosenOf: AnswerSubmission['answers'] = {}
  for (const { id, answers: options, required } of page.questions) {
    const chosen: AnswerSubmission['answers'][string] = []
    for (const { fact, option } of answers.filter(({ question }) => question === id)) {
      const offered = options.filter(({ factId }) => fact === undefined || factId === fact)
      const found = NAMES.map((nameOf) => offered.filter((one) => textOf(nameOf(one)) === option)).find(
        ({ length }) => length > 0,
      )
      const [first, second] = found ?? []
      if (first === undefined)
        return refused('answer-not-offered', `the question "${id}" does not offer the row's answer`)
      if (second !== undefined)
        return refused('answer-not-clear', `several options of "${id}" match the row's answer: name the fact`)
      chosen.push({ [first.factId]: first.answerId })
    }
    if (chosen.length > 0) chosenOf[id] = chosen
    else if (required === true) return refused('answer-missing', `the question "${id}" needs an answer`)
  }
  return { submission: { moduleId: page.moduleId, questionGroupId: page.questionGroupId, answers: chosenOf } }
}

const refused = (code: string, message: string): PageAnswered => ({ fault: fault(code, message) })

const textOf = (name: unknown): string | undefined =>
  typeof name === 'string' || typeof name === 'number' ? String(name) : undefined
