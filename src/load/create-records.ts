import type { CreateAnswer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { RecordKind } from '../model/record.ts'

/** The bulk call of the kind. @throws GatewayError */
export function createRecords(
  gateway: Gateway,
  kind: RecordKind,
  body: Buffer,
  count: number,
): Promise<CreateAnswer> {
  switch (kind) {
    case 'biometric':
      return gateway.biometrics.createBulk(body, count)
    case 'condition':
      return gateway.conditions.createBulk(body, count)
    case 'careTeam':
      return gateway.careTeams.createBulk(body, count)
  }
}
