/**
 * Collects what a job asks for of one person, and tells what became of that: who has nothing is told apart from an account that is not there
 * and from one of whom the gateway says nothing.
 */
import { saysNotFound } from '../gateway/answer-class.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Fault } from '../model/record.ts'
import { type AskedPerson, type AskingContext, type CollectedKind, kindOf, NoAccountId } from './kinds.ts'

/** What was collected of a person, by kind, each with its items. */
export type Parts = Readonly<Partial<Record<CollectedKind, readonly object[]>>>

export type CollectedPerson =
  | { readonly outcome: 'collected'; readonly parts: Parts }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'refused'; readonly fault: Fault }

/** @throws WaybillError where the run must stop */
export async function collectPerson(
  context: AskingContext,
  kinds: readonly CollectedKind[],
  person: AskedPerson,
): Promise<CollectedPerson> {
  try {
    let isThere = false
    const entries: [CollectedKind, readonly object[]][] = []
    for (const kind of kinds) {
      const { mayBeNotFound } = kindOf(kind)
      const items = await ask(context, kind, person)
      // An answer of success to a read of a profile says that the account is there, empty as it may be.
      isThere ||= items.length > 0 || !mayBeNotFound
      entries.push([kind, items])
    }
    const isEmpty = entries.every(([, items]) => items.length === 0)
    if (!isEmpty) return { outcome: 'collected', parts: Object.fromEntries(entries) }
    if (!isThere && kinds.every((kind) => kindOf(kind).isOfNobody !== true))
      await kindOf('biometrics').ask(context, person)
    return { outcome: 'none' }
  } catch (error) {
    const fault = faultOf(error)
    if (fault === undefined) throw error
    return { outcome: 'refused', fault }
  }
}

async function ask(
  context: AskingContext,
  kind: CollectedKind,
  person: AskedPerson,
): Promise<readonly object[]> {
  const { mayBeNotFound, ask: call } = kindOf(kind)
  try {
    return await call(context, person)
  } catch (error) {
    if (mayBeNotFound && error instanceof GatewayError && saysNotFound(error)) return []
    throw error
  }
}

/** None of the gateway's own words: they may hold health data. */
function faultOf(error: unknown): Fault | undefined {
  if (error instanceof NoAccountId)
    return {
      code: 'account-id-unknown',
      message: 'the deprecated forms need an account id, and none is known',
    }
  if (!(error instanceof GatewayError)) return undefined
  if (saysNotFound(error))
    return { code: 'account-not-there', message: 'the gateway does not know the account' }
  const answer = error.status === undefined ? 'no answer' : `HTTP ${error.status}`
  return error.class === 'refused'
    ? { code: 'collect-refused', message: `the gateway refused to answer: ${answer}` }
    : { code: 'collect-fails', message: `${answer}, again and again, while the gateway answers others` }
}
