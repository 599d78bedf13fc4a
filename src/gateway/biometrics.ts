import { type Account, accountQuery } from './account-query.ts'
import { accountIdOfEntity, type EntityQuery } from './contract/account-reference.ts'
import { BiometricRead, type BiometricSent } from './contract/biometric.ts'
import { Envelope } from './contract/envelope.ts'
import { type CreateAnswer, readCreateAnswer } from './create-answer.ts'
import { checkAccount, readItems } from './read-envelope.ts'
import type { BodyContent, Transport } from './transport.ts'

const ReadEnvelope = Envelope(BiometricRead)

/** Biometric records (section "Biometrics"). */
export interface Biometrics {
  /** Sends a JSON array of `count` records, of any number of accounts, as it stands. @throws GatewayError */
  createBulk(body: BodyContent, count: number): Promise<CreateAnswer>
  /** Sends records of one account. @throws GatewayError */
  create(records: readonly BiometricSent[]): Promise<CreateAnswer>
  /**
   * The account's latest record by observation date for each code and source type. The account may also be named by its
   * URL form, `entity`. @throws GatewayError; `ambiguous` also where the answer has records of another account
   */
  read(account: Account | EntityQuery): Promise<readonly BiometricRead[]>
}

export function createBiometrics(transport: Transport): Biometrics {
  return {
    createBulk: (body, count) =>
      transport.send({ endpoint: 'createBiometricsBulk', body }, (answer) => readCreateAnswer(answer, count)),
    create: (records) =>
      transport.send({ endpoint: 'createBiometrics', body: JSON.stringify(records) }, (answer) =>
        readCreateAnswer(answer, records.length),
      ),
    read: (account) => {
      const query = 'entity' in account ? new URLSearchParams(account) : accountQuery(account)
      const asked =
        'entity' in account
          ? { reference: accountIdOfEntity(account.entity), type: 'accountId' as const }
          : account
      return transport.send({ endpoint: 'readBiometrics', query }, (answer) => {
        const records = readItems(answer, ReadEnvelope)
        checkAccount(
          asked,
          records.map(({ accountReference }) => accountReference),
        )
        return records
      })
    },
  }
}
