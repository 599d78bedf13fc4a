/** Names the refused credential. A refused call may carry key and token: a second call, with the key alone, tells them apart. */
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import { WaybillError } from '../model/errors.ts'

const NAMES = {
  key: 'the API key (WAYBILL_API_KEY)',
  'requester-key': 'the key of the requester (WAYBILL_REQUESTER_API_KEY, else WAYBILL_API_KEY)',
  token: 'the access token (WAYBILL_ACCESS_TOKEN)',
} as const

/** @returns the error, with the refused credential in the message of `gateway-refused-credentials` */
export async function namingCredential(
  error: unknown,
  { ageAssessment }: Pick<Gateway, 'ageAssessment'>,
): Promise<unknown> {
  if (!(error instanceof WaybillError && error.cause instanceof GatewayError)) return error
  const { carried } = error.cause
  if (error.code !== 'gateway-refused-credentials' || carried === undefined) return error
  const isKeyRefused = async (): Promise<boolean> => {
    try {
      await ageAssessment.result({ reference: 'nobody', type: 'partnerAccountId' })
      return false
    } catch (failure) {
      if (!(failure instanceof GatewayError)) throw failure
      return failure.status === 401 || failure.status === 403
    }
  }
  const refused = carried === 'token' && (await isKeyRefused()) ? 'key' : carried
  return new WaybillError(error.code, `${error.message}: it refuses ${NAMES[refused]}`, { cause: error })
}
