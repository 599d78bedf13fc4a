import { type Account, accountQuery } from './account-query.ts'
import { ConditionReturned, type ConditionSent } from './contract/condition.ts'
import { NestedEnvelope } from './contract/envelope.ts'
import { type CreateAnswer, readCreateAnswer } from './create-answer.ts'
import { checkAccount, checkSuccess } from './read-envelope.ts'
import type { BodyContent, Transport } from './transport.ts'

const ReadEnvelope = NestedEnvelope(ConditionReturned)

/** Condition records (section "Conditions"). */
export interface Conditions {
  /** Sends a JSON array of `count` records, of any number of accounts, as it stands. @throws GatewayError */
  createBulk(body: BodyContent, count: number): Promise<CreateAnswer>
  /** Sends records of one account. @throws GatewayError */
  create(records: readonly ConditionSent[]): Promise<CreateAnswer>
  /** The account's latest record by observation date for each code and source type. @throws GatewayError as that of biometrics */
  read(account: Account): Promise<readonly ConditionReturned[]>
}

export function createConditions(transport: Transport): Conditions {
  return {
    createBulk: (body, count) =>
      transport.send({ endpoint: 'createConditionsBulk', body }, (answer) => readCreateAnswer(answer, count)),
    create: (records) =>
      transport.send({ endpoint: 'createConditions', body: JSON.stringify(records) }, (answer) =>
        readCreateAnswer(answer, records.length),
      ),
    read: (account) =>
      transport.send({ endpoint: 'readConditions', query: accountQuery(account) }, (answer) => {
        const outer = answer.read(ReadEnvelope)
        checkSuccess(outer, answer)
        checkSuccess(outer.data, answer)
        checkAccount(
          account,
          outer.data.data.map((record) => record.account),
        )
        return outer.data.data
      }),
  }
}
