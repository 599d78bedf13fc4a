import {
  CareTeamDeletionQuery,
  CareTeamReturned,
  type CareTeamSent,
  PrimaryCareRequest,
} from './contract/care-team.ts'
import { Envelope } from './contract/envelope.ts'
import { type CreateAnswer, readCreateAnswer } from './create-answer.ts'
import { type Account, accountQuery, healthProfileBody } from './health-profile.ts'
import type { BodyContent, Transport } from './transport.ts'

const PATH = '/health-profile/care-teams'
const ListEnvelope = Envelope(CareTeamReturned)

export interface CareTeamsOptions {
  /** Path of the list call, which is not documented; by default that of the create call. */
  readonly careTeamsPath?: string
}

/** Which entries to delete; at least one in all. */
export type CareTeamSelection = Pick<CareTeamDeletionQuery, 'id' | 'npi'>

export interface CareTeams {
  /** Sends a JSON array of `count` records as it stands. @throws GatewayError */
  createBulk(body: BodyContent, count: number): Promise<CreateAnswer>
  /** @throws GatewayError */
  create(records: readonly CareTeamSent[]): Promise<CreateAnswer>
  /** @throws GatewayError */
  list(account: Account): Promise<readonly CareTeamReturned[]>
  /** True where at least one entry was deleted (204), false where none was (404). @throws GatewayError */
  delete(account: Account, entries: CareTeamSelection): Promise<boolean>
  /** Marks an entry, by id or npi, as the primary care physician; every other entry of the user loses the mark. @throws GatewayError */
  setPrimary(request: PrimaryCareRequest): Promise<void>
  /** @throws GatewayError */
  unsetPrimary(request: PrimaryCareRequest): Promise<void>
}

export function createCareTeams(transport: Transport, options: CareTeamsOptions): CareTeams {
  const post = (content: BodyContent, count: number): Promise<CreateAnswer> =>
    transport.send(
      {
        operation: 'create care teams',
        method: 'POST',
        path: PATH,
        body: healthProfileBody(content),
        bearer: true,
      },
      (answer) => readCreateAnswer(answer, count),
    )
  const mark = async (
    method: 'POST' | 'DELETE',
    operation: string,
    request: PrimaryCareRequest,
  ): Promise<void> => {
    const text = JSON.stringify(PrimaryCareRequest.parse(request))
    return transport.send(
      { operation, method, path: `${PATH}/pcp`, body: healthProfileBody(text), bearer: true },
      () => undefined,
    )
  }
  return {
    createBulk: post,
    create: (records) => post(JSON.stringify(records), records.length),
    list: (account) =>
      transport.send(
        {
          operation: 'list care teams',
          method: 'GET',
          path: options.careTeamsPath ?? PATH,
          query: accountQuery(account),
          bearer: true,
        },
        (answer) => answer.read(ListEnvelope).data,
      ),
    delete: async (account, entries) =>
      transport.send(
        {
          operation: 'delete care teams',
          method: 'DELETE',
          path: PATH,
          query: deletionQuery(account, entries),
          bearer: true,
          alsoAnswers: [404],
        },
        (answer) => answer.status !== 404,
      ),
    setPrimary: (request) => mark('POST', 'set primary care', request),
    unsetPrimary: (request) => mark('DELETE', 'unset primary care', request),
  }
}

function deletionQuery(account: Account, entries: CareTeamSelection): URLSearchParams {
  const query = accountQuery(account)
  const { id = [], npi = [] } = CareTeamDeletionQuery.parse({ ...Object.fromEntries(query), ...entries })
  for (const one of id) query.append('id', one)
  for (const one of npi) query.append('npi', one)
  return query
}
