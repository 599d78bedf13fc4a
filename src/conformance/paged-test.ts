/** Taking the paged test as a person would, knowing nothing of its questions. */
import assert from 'node:assert/strict'
import type { Control } from './case.ts'
import type { Answer, Client } from './client.ts'
import { queryOf, register, type User } from './profile.ts'
import { assertStatus, at, jsonOf, listAt, textAt } from './values.ts'

/** Pages after which a test that never ends is given up. */
const MOST_PAGES = 200

/** A registered user and a token that stands for them. */
export interface Taker extends User {
  readonly token: string
}

export async function createTaker(client: Client, control: Control): Promise<Taker> {
  const user = await register(client)
  return { ...user, token: await control.tokenOf(user.account) }
}

/** The page in an answer's `data[]`; undefined where there is none any more. */
export function pageIn(answer: Answer): unknown {
  assertStatus(answer, 200)
  return listAt(jsonOf(answer), 'data')[0]
}

export async function currentPage(client: Client, { token }: Taker): Promise<unknown> {
  return pageIn(await client.send('GET', '/assessments/bioage', { token }))
}

/** Section "Answer submission": of every fact the first answer that no other one clears. */
export function submissionFor(page: unknown) {
  const cleared = new Set<unknown>()
  const answers: Record<string, Record<string, unknown>[]> = {}
  for (const question of listAt(page, 'questions')) {
    const chosen = new Map<string, unknown>()
    for (const answer of listAt(question, 'answers')) {
      const factId = textAt(answer, 'factId')
      const answerId = at(answer, 'answerId')
      if (chosen.has(factId) || cleared.has(answerId)) continue
      chosen.set(factId, answerId)
      for (const other of listAt(answer, 'answersToClear')) cleared.add(other)
    }
    if (chosen.size > 0) answers[textAt(question, 'id')] = [...chosen].map(([fact, id]) => ({ [fact]: id }))
  }
  return { moduleId: at(page, 'moduleId'), questionGroupId: at(page, 'questionGroupId'), answers }
}

export function submit(client: Client, { token }: Taker, json: unknown): Promise<Answer> {
  return client.send('POST', '/assessments/bioage', { token, json })
}

/** Answers every page; gives the pages seen. What follows the last one is left open: nothing, or a page that was answered. */
export async function takeTest(client: Client, taker: Taker): Promise<readonly unknown[]> {
  const pages: unknown[] = []
  const seen = new Set<unknown>()
  let page = await currentPage(client, taker)
  while (page !== undefined && !seen.has(at(page, 'pageNumber'))) {
    pages.push(page)
    seen.add(at(page, 'pageNumber'))
    assert.ok(pages.length < MOST_PAGES, `the paged test has not ended after ${MOST_PAGES} pages`)
    page = pageIn(await submit(client, taker, submissionFor(page)))
  }
  return pages
}

/** A user who has completed the test. */
export async function createCompleted(client: Client, control: Control): Promise<Taker> {
  const taker = await createTaker(client, control)
  await takeTest(client, taker)
  return taker
}

export const readResult = (client: Client, { account }: Pick<User, 'account'>) =>
  client.send('GET', '/bioage/result', { query: queryOf(account) })
