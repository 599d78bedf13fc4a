import { ConditionReturned, type ConditionSent } from './contract/condition.ts'
import { NestedEnvelope } from './contract/envelope.ts'
import { type CreateAnswer, readCreateAnswer } from './create-answer.ts'
import { type Account, accountQuery, healthProfileBody } from './health-profile.ts'
import type { BodyContent, Transport } from './transport.ts'

const PATH = '/health-profile/conditions'
const ReadEnvelope = NestedEnvelope(ConditionReturned)

export interface ConditionsOptions {
  /** Whether the bulk call carries the bearer token; its sample omits it, and nothing says if it is required. */
  readonly bearerOnConditionsBulk: boolean
}

export interface Conditions {
  /** Sends a JSON array of `count` records, of any number of accounts, as it stands. @throws GatewayError */
  createBulk(body: BodyContent, count: number): Promise<CreateAnswer>
  /** Sends records of one account. @throws GatewayError */
  create(records: readonly ConditionSent[]): Promise<CreateAnswer>
  /** The account's latest record by observation date for each code and source type. @throws GatewayError */
  read(account: Account): Promise<readonly ConditionReturned[]>
}

export function createConditions(transport: Transport, options: ConditionsOptions): Conditions {
  const post = (path: string, content: BodyContent, count: number, bearer: boolean): Promise<CreateAnswer> =>
    transport.send(
      { operation: 'create conditions', method: 'POST', path, body: healthProfileBody(content), bearer },
      (answer) => readCreateAnswer(answer, count),
    )
  return {
    createBulk: (body, count) => post(`${PATH}/bulk`, body, count, options.bearerOnConditionsBulk),
    create: (records) => post(PATH, JSON.stringify(records), records.length, true),
    read: (account) =>
      transport.send(
        {
          operation: 'read conditions',
          method: 'GET',
          path: PATH,
          query: accountQuery(account),
          bearer: true,
        },
        (answer) => answer.read(ReadEnvelope).data.data,
      ),
  }
}
