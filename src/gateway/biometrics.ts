import { BiometricRead, type BiometricSent } from './contract/biometric.ts'
import { Envelope } from './contract/envelope.ts'
import { type CreateAnswer, readCreateAnswer } from './create-answer.ts'
import { type Account, accountQuery, healthProfileBody } from './health-profile.ts'
import type { BodyContent, Transport } from './transport.ts'

const PATH = '/health-profile/biometrics'
const ReadEnvelope = Envelope(BiometricRead)

export interface Biometrics {
  /** Sends a JSON array of `count` records, of any number of accounts, as it stands. @throws GatewayError */
  createBulk(body: BodyContent, count: number): Promise<CreateAnswer>
  /** Sends records of one account. @throws GatewayError */
  create(records: readonly BiometricSent[]): Promise<CreateAnswer>
  /** The account's latest record by observation date for each code and source type. @throws GatewayError */
  read(account: Account): Promise<readonly BiometricRead[]>
}

export function createBiometrics(transport: Transport): Biometrics {
  const post = (path: string, content: BodyContent, count: number): Promise<CreateAnswer> =>
    transport.send(
      {
        operation: 'create biometrics',
        method: 'POST',
        path,
        body: healthProfileBody(content),
        bearer: true,
      },
      (answer) => readCreateAnswer(answer, count),
    )
  return {
    createBulk: (body, count) => post(`${PATH}/bulk`, body, count),
    create: (records) => post(PATH, JSON.stringify(records), records.length),
    read: (account) =>
      transport.send(
        {
          operation: 'read biometrics',
          method: 'GET',
          path: PATH,
          query: accountQuery(account),
          bearer: true,
        },
        (answer) => answer.read(ReadEnvelope).data,
      ),
  }
}
