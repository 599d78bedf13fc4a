import { type Account, accountQuery } from './account-query.ts'
import { UnreadableAnswer } from './answer.ts'
import { saysNotFound } from './answer-class.ts'
import {
  CareTeamDeletionQuery,
  CareTeamReturned,
  type CareTeamSent,
  PrimaryCareRequest,
  PrimaryCareReturned,
} from './contract/care-team.ts'
import { Envelope } from './contract/envelope.ts'
import { type CreateAnswer, readCreateAnswer } from './create-answer.ts'
import { codeOfErrorBody } from './gateway-error.ts'
import { checkOne, readItems } from './read-envelope.ts'
import type { BodyContent, Transport } from './transport.ts'

const ListEnvelope = Envelope(CareTeamReturned)
const MarkEnvelope = Envelope(PrimaryCareReturned)

/** Which entries to delete; at least one in all. */
export type CareTeamSelection = Pick<CareTeamDeletionQuery, 'id' | 'npi'>

/** Care team records and the mark of the primary care physician (section "Care teams"). */
export interface CareTeams {
  /** Sends a JSON array of `count` records as it stands. @throws GatewayError */
  createBulk(body: BodyContent, count: number): Promise<CreateAnswer>
  /** @throws GatewayError */
  create(records: readonly CareTeamSent[]): Promise<CreateAnswer>
  /** @throws GatewayError; `ambiguous` also where the answer has entries of several users */
  list(account: Account): Promise<readonly CareTeamReturned[]>
  /**
   * True where at least one entry was deleted (204), false where none was (404 in an envelope: any other may be a proxy's word).
   * @throws GatewayError
   */
  delete(account: Account, entries: CareTeamSelection): Promise<boolean>
  /** Marks an entry, by id or npi, as the primary care physician; every other entry of the user loses the mark. @throws GatewayError */
  setPrimary(request: PrimaryCareRequest): Promise<void>
  /** @throws GatewayError */
  unsetPrimary(request: PrimaryCareRequest): Promise<void>
}

export function createCareTeams(transport: Transport): CareTeams {
  const post = (body: BodyContent, count: number): Promise<CreateAnswer> =>
    transport.send({ endpoint: 'createCareTeams', body }, (answer) => readCreateAnswer(answer, count))
  const mark = async (
    endpoint: 'setPrimaryCare' | 'unsetPrimaryCare',
    request: PrimaryCareRequest,
  ): Promise<void> =>
    transport.send({ endpoint, body: JSON.stringify(PrimaryCareRequest.parse(request)) }, (answer) => {
      readItems(answer, MarkEnvelope)
    })
  return {
    createBulk: post,
    create: (records) => post(JSON.stringify(records), records.length),
    list: (account) =>
      transport.send({ endpoint: 'listCareTeams', query: accountQuery(account) }, (answer) => {
        const entries = readItems(answer, ListEnvelope)
        checkOne(entries.map(({ userId }) => userId))
        return entries
      }),
    delete: async (account, entries) =>
      transport.send(
        { endpoint: 'deleteCareTeams', query: deletionQuery(account, entries), alsoAnswers: [404] },
        (answer) => {
          if (answer.status !== 404) return true
          const { status, json } = answer
          if (saysNotFound({ status, envelopeCode: codeOfErrorBody(json()) })) return false
          throw new UnreadableAnswer('a 404 without an envelope does not say that the entry is gone')
        },
      ),
    setPrimary: (request) => mark('setPrimaryCare', request),
    unsetPrimary: (request) => mark('unsetPrimaryCare', request),
  }
}

function deletionQuery(account: Account, entries: CareTeamSelection): URLSearchParams {
  const query = accountQuery(account)
  const { id = [], npi = [] } = CareTeamDeletionQuery.parse({ ...Object.fromEntries(query), ...entries })
  for (const one of id) query.append('id', one)
  for (const one of npi) query.append('npi', one)
  return query
}
