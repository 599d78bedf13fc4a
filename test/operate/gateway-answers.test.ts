/** Findings of `doctor` by what the gateway answers to its two calls: with the key alone, and with the token. */
import { expect, it } from 'vitest'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { checkGateway } from '../../src/operate/check-gateway.ts'

type Class = GatewayError['class']

const refusal = (status: number | undefined, answer: Class, message = 'words'): GatewayError =>
  new GatewayError(message, {
    ...{ class: answer, requestId: 'r', status, retryAfterMs: undefined, envelopeCode: undefined },
    ...{ carried: undefined, gatewayMessage: undefined, refusal: undefined },
  })

interface Answers {
  readonly key?: Error
  readonly token?: Error
  readonly noToken?: WaybillError
  readonly url?: string
  /** Called with each call, before its answer. */
  readonly onCall?: () => void
}

const DATES = ['Mon, 02 Mar 2026 07:15:00 GMT', 'Mon, 02 Mar 2026 07:16:00 GMT'] as const

async function lookAt(
  { key, token, noToken, url = 'https://g.example', onCall = () => {} }: Answers,
  signal = new AbortController().signal,
) {
  let closed = 0
  let clockAt = 0
  const answer = (error: Error | undefined) => async () => {
    onCall()
    if (error !== undefined) throw error
    return [] as never
  }
  const { findings, clock } = await checkGateway({
    ...{ url, nobody: 'nobody', now: () => ++clockAt, signal },
    accessToken: answer(noToken),
    open: (onRequest) => {
      // The last answer has no date.
      for (const date of [...DATES, undefined]) onRequest({ date } as Parameters<typeof onRequest>[0])
      return {
        content: { listArticles: answer(key) },
        biometrics: { read: answer(token) },
        close: () => {
          closed++
        },
      } as unknown as ReturnType<Parameters<typeof checkGateway>[0]['open']>
    },
  })
  expect(closed).toBe(1)
  expect(clock).toEqual({ date: DATES[1], cameAt: 2 })
  return findings.map((one) => Object.values(one).join(' | '))
}

const GOOD = expect.stringMatching(/gateway \| ok|ok.*answers over TLS and accepts the key/)
const TOKEN_GOOD = expect.stringContaining('the gateway accepts it')

it.each<[string, Answers, readonly unknown[]]>([
  ['all is well', {}, [GOOD, TOKEN_GOOD]],
  [
    'without TLS',
    { url: 'http://localhost' },
    [expect.stringContaining('without TLS, on this machine'), TOKEN_GOOD],
  ],
  ['a refusal of the call is none of the key', { key: refusal(404, 'refused') }, [GOOD, TOKEN_GOOD]],
  ['an unknown account is none of the token', { token: refusal(404, 'refused') }, [GOOD, TOKEN_GOOD]],
  ['a forbidden account may be about the account', { token: refusal(403, 'refused') }, [GOOD, TOKEN_GOOD]],
  [
    'the token is refused',
    { token: refusal(401, 'stale-token') },
    [GOOD, expect.stringContaining('the gateway refuses it (HTTP 401)')],
  ],
  [
    'nothing is said of the token',
    { token: refusal(500, 'perhaps-taken' as Class) },
    [GOOD, expect.stringContaining('did not answer about the token (HTTP 500)')],
  ],
  [
    'no answer about the token',
    { token: refusal(undefined, 'not-sent') },
    [GOOD, expect.stringMatching(/did not answer about the token(?! \(HTTP)/)],
  ],
  [
    'there is no token',
    { noToken: new WaybillError('settings-invalid', 'the command failed', { remedy: 'Mend it.' }) },
    [GOOD, expect.stringContaining('the command failed')],
  ],
  [
    'the address is wrong',
    { key: new WaybillError('settings-invalid', 'no address', { place: { key: 'WAYBILL_GATEWAY_URL' } }) },
    [
      expect.stringContaining('was not asked: WAYBILL_GATEWAY_URL: no address'),
      expect.stringContaining('not checked: gateway unavailable'),
    ],
  ],
  [
    'it cannot be reached',
    { key: refusal(undefined, 'not-sent', 'ECONNREFUSED') },
    [
      expect.stringMatching(/cannot be reached: ECONNREFUSED.*name server/),
      expect.stringContaining('not checked: gateway unavailable'),
    ],
  ],
  [
    'its certificate is not trusted',
    { key: refusal(undefined, 'not-sent', 'SELF_SIGNED_CERT_IN_CHAIN') },
    [expect.stringContaining('NODE_EXTRA_CA_CERTS'), expect.stringContaining('not checked')],
  ],
  [
    'its answer ends early',
    { key: refusal(undefined, 'perhaps-taken' as Class) },
    [expect.stringContaining('does not answer correctly'), expect.stringContaining('not checked')],
  ],
  ...[401, 403].map((status): [string, Answers, readonly unknown[]] => [
    `the key is refused with ${status}`,
    { key: refusal(status, 'refused') },
    [
      expect.stringContaining(`refuses the API key (HTTP ${status})`),
      expect.stringContaining('not checked: key refused'),
    ],
  ]),
  ...[300, 399].map((status): [string, Answers, readonly unknown[]] => [
    `it redirects with ${status}`,
    { key: refusal(status, 'refused') },
    [expect.stringContaining(`redirects (HTTP ${status})`), TOKEN_GOOD],
  ]),
  ...[500, 503].map((status): [string, Answers, readonly unknown[]] => [
    `it fails with ${status}`,
    { key: refusal(status, 'not-taken') },
    [expect.stringContaining(`fails (HTTP ${status})`), TOKEN_GOOD],
  ]),
  [
    'it takes no calls now',
    { key: refusal(429, 'not-taken') },
    [expect.stringContaining('accepts no calls now (HTTP 429)'), TOKEN_GOOD],
  ],
  [
    'it is no gateway',
    { key: refusal(299, 'refused') },
    [expect.stringContaining('does not answer as a gateway (HTTP 299)'), TOKEN_GOOD],
  ],
])('%s', async (_, answers, findings) => {
  expect(await lookAt(answers)).toEqual(findings)
})

it('throws what is neither of the gateway nor of the settings', async () => {
  await expect(lookAt({ key: new TypeError('a defect') })).rejects.toThrow('a defect')
})

it('ends as interrupted, whatever the gateway answered until then', async () => {
  const interrupt = new AbortController()
  const onCall = () => interrupt.abort()
  await expect(lookAt({ onCall }, interrupt.signal)).rejects.toMatchObject({ code: 'interrupted' })
  await expect(lookAt({ onCall, key: refusal(500, 'not-taken') }, interrupt.signal)).rejects.toMatchObject({
    code: 'interrupted',
  })
})
