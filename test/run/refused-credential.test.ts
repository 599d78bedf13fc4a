/** The refused credential of a call that carried one or two: the API key alone, the requester's, or key and token. */
import { expect, test } from 'vitest'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { namingCredential } from '../../src/run/refused-credential.ts'

type Carried = 'key' | 'requester-key' | 'token'
const refusal = (status: number, carried?: Carried): GatewayError =>
  new GatewayError(`HTTP ${status}`, {
    ...{ class: 'not-allowed', requestId: 'r', status, carried },
  } as ConstructorParameters<typeof GatewayError>[1])
const refused = (
  carried?: Carried,
  code: 'gateway-refused-credentials' | 'source-unreachable' = 'gateway-refused-credentials',
) =>
  new WaybillError(code, 'The gateway refuses', {
    cause: refusal(403, carried),
  })

const KEY = 'the API key (WAYBILL_API_KEY)'
const TOKEN = 'the access token (WAYBILL_ACCESS_TOKEN)'
const REQUESTER = 'the key of the requester (WAYBILL_REQUESTER_API_KEY, else WAYBILL_API_KEY)'

/** @param withKeyAlone status of the second call; undefined where it succeeds */
async function named(error: unknown, withKeyAlone?: number) {
  let calls = 0
  const result = async (): Promise<never> => {
    calls++
    if (withKeyAlone !== undefined) throw refusal(withKeyAlone)
    return undefined as never
  }
  const ageAssessment = { result } as unknown as Parameters<typeof namingCredential>[1]['ageAssessment']
  return { error: await namingCredential(error, { ageAssessment }), calls }
}

test.each<[Carried, number | undefined, string, number]>([
  ['token', undefined, TOKEN, 1],
  ['token', 404, TOKEN, 1],
  ['token', 500, TOKEN, 1],
  ['token', 401, KEY, 1],
  ['token', 403, KEY, 1],
  ['key', 403, KEY, 0],
  ['requester-key', 401, REQUESTER, 0],
])(
  'of a call with the %s, where the key alone gets %s, the gateway refuses %s',
  async (carried, status, name, calls) => {
    const error = refused(carried)
    const found = await named(error, status)
    expect(found.error).toMatchObject({
      code: 'gateway-refused-credentials',
      message: `The gateway refuses: it refuses ${name}`,
      cause: error,
    })
    expect(found.calls).toBe(calls)
  },
)

test('other errors stay as they are, and nothing is asked', async () => {
  const others = [
    ...[
      new Error('other'),
      refusal(403, 'token'),
      refused(undefined),
      refused('token', 'source-unreachable'),
    ],
    new WaybillError('gateway-refused-credentials', 'without a cause'),
  ]
  for (const error of others) expect(await named(error, 403)).toEqual({ error, calls: 0 })
})
