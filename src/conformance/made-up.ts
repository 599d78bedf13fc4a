/** What a check makes up at a gateway, noted as it goes out, so that it can be taken away again. */
import { AssertionError } from 'node:assert'
import { at } from './case.ts'
import type { Answer, Client, Sent } from './client.ts'

const REGISTER = 'POST /account/register'
const UPSERT = 'PATCH /medical-records/requester'
const REQUEST = '/medical-records/requester/{referenceNumber}'
const WITHDRAW = `DELETE ${REQUEST}`

const isTaken = ({ status }: Answer): boolean => status >= 200 && status < 300

/** What was made up, and what of it is still there as the gateway would not delete it. */
export interface MadeUp {
  readonly users: number
  readonly requests: number
  /** Partner account ids, and reference numbers: a request whose authorization was uploaded is not deleted any more (section "States and transitions"). */
  readonly left: readonly string[]
}

export interface NotingClient extends Client {
  /** Deletes what was noted; what is not there any more counts as deleted. */
  takeAway(): Promise<MadeUp>
}

/** @returns a client that speaks as the given one, and remembers whom it registers and what it asks for */
export function notingClient(client: Client): NotingClient {
  const users = new Set<string>()
  const requests = new Set<string>()
  const note = (call: string, json: unknown): void => {
    if (call === REGISTER) noteText(users, at(json, 'partnerAccountId'))
    if (call === UPSERT && Array.isArray(json))
      for (const one of json) noteText(requests, at(one, 'referenceNumber'))
  }
  const isGone = async (call: Promise<Answer>): Promise<boolean> => {
    try {
      const answer = await call
      return isTaken(answer) || answer.status === 404 || answer.status === 410
    } catch (error) {
      if (error instanceof AssertionError) return false
      throw error
    }
  }
  return {
    ...client,
    async send(method, path, sent: Sent = {}) {
      const call = `${method} ${path}`
      try {
        const answer = await client.send(method, path, sent)
        if (isTaken(answer)) note(call, sent.json)
        if (isTaken(answer) && call === WITHDRAW) requests.delete(sent.path?.['referenceNumber'] ?? '')
        return answer
      } catch (error) {
        // What was never answered may have come about.
        note(call, sent.json)
        throw error
      }
    },
    async takeAway() {
      const left: string[] = []
      for (const reference of users) {
        const query = { accountReference: reference, accountReferenceType: 'partnerAccountId' }
        if (!(await isGone(client.send('DELETE', '/account', { query })))) left.push(reference)
      }
      for (const referenceNumber of requests) {
        const path = { referenceNumber }
        if (!(await isGone(client.send('DELETE', REQUEST, { path })))) left.push(referenceNumber)
      }
      return { users: users.size, requests: requests.size, left }
    },
  }
}

function noteText(into: Set<string>, value: unknown): void {
  if (typeof value === 'string' && value !== '') into.add(value)
}
