/**
 * The gateway: that it answers, and takes key and token. Two reads by the client that runs use, with its checks and its classes of
 * answers; they ask for no person's data, and nothing is stored.
 */

import type { Timeouts } from '../gateway/exchange.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { RequestEvent } from '../gateway/transport.ts'
import { describePlace, WaybillError } from '../model/errors.ts'
import { type CheckFinding, finding, type Level } from './finding.ts'

/** In milliseconds, for each call, its answer's body included. */
export const LOOK_TIMEOUTS: Partial<Timeouts> = { request: 10_000 }

export interface GatewayAccess {
  readonly url: string
  /** @throws WaybillError where an address or a key cannot be used */
  readonly open: (
    onRequest: (event: RequestEvent) => void,
  ) => Pick<Gateway, 'content' | 'biometrics' | 'close'>
  /** Whether there is a token to send. @throws WaybillError that says why there is none, without holding it */
  readonly accessToken: () => Promise<unknown>
  /** A partner account id of nobody. */
  readonly nobody: string
  readonly now: () => number
  readonly signal: AbortSignal
}

export interface GatewayLook {
  readonly findings: readonly CheckFinding[]
  /** Its Date header, and when that came. */
  readonly clock: { readonly date: string; readonly cameAt: number } | undefined
}

/** @throws WaybillError `interrupted` */
export async function checkGateway(access: GatewayAccess): Promise<GatewayLook> {
  const { url, now, nobody, signal } = access
  let clock: GatewayLook['clock']
  let gateway: ReturnType<GatewayAccess['open']> | undefined
  const end = (): void => gateway?.close()
  const look = async (): Promise<CheckFinding[]> => {
    const noToken = await refusalOf(access.accessToken)
    const keyed = await failureOf(async () => {
      gateway = access.open(({ date }) => {
        if (date !== undefined) clock = { date, cameAt: now() }
      })
      await gateway.content.listArticles()
    })
    const answered = judgeKey(url, keyed)
    if (noToken !== undefined) return [answered, tokenProblem(noToken)]
    const isThere = keyed === undefined || (keyed instanceof GatewayError && keyed.status !== undefined)
    if (!isThere) return [answered, untried('the gateway cannot be had', 'the gateway answers')]
    if (refusesCredentials(keyed)) return [answered, untried('the key is refused', 'the key is taken')]
    const account = { reference: nobody, type: 'partnerAccountId' } as const
    return [answered, judgeToken(await failureOf(async () => gateway?.biometrics.read(account)))]
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    const findings = await look()
    if (!signal.aborted) return { findings, clock }
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
  throw new WaybillError('interrupted', 'the look at the gateway was interrupted', {
    remedy: 'Run `waybill doctor` again.',
  })
}

type Failure = GatewayError | WaybillError

/** @returns undefined where it has gone well. @throws what is no failure of the gateway, or of what it is entered with */
async function failureOf(act: () => Promise<unknown>): Promise<Failure | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError || error instanceof WaybillError) return error
    throw error
  }
}

async function refusalOf(act: () => Promise<unknown>): Promise<WaybillError | undefined> {
  const failure = await failureOf(act)
  if (failure instanceof GatewayError) throw failure
  return failure
}

const TLS = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|ALTNAME/
const ADDRESS = 'Set WAYBILL_GATEWAY_URL to the address that the gateway itself answers on.'

/** Of a call that carries the key alone. */
function judgeKey(url: string, failure: Failure | undefined): CheckFinding {
  const told = (level: Level, found: string, remedy?: string): CheckFinding =>
    finding('gateway', level, `${url} ${found}`, remedy)
  const takesKey = `answers ${url.startsWith('https:') ? 'over TLS' : 'without TLS, on this machine'} and takes the key`
  if (failure === undefined) return told('ok', takesKey)
  if (failure instanceof WaybillError)
    return told('problem', `is not asked: ${wordsOf(failure)}`, failure.remedy)
  const { status, message } = failure
  if (status === undefined) {
    const how = failure.class === 'not-sent' ? 'cannot be reached' : 'does not answer as it should'
    const remedy = TLS.test(message)
      ? 'Its certificate is not trusted here. Ask who runs it; where a private authority signs it, set NODE_EXTRA_CA_CERTS.'
      : 'Check WAYBILL_GATEWAY_URL, name server, proxy and firewall. Runs wait as long as `submit.patience` says, then go on with the next start.'
    return told('problem', `${how}: ${message}`, remedy)
  }
  if (refusesCredentials(failure))
    return told(
      'problem',
      `refuses the API key (HTTP ${status})`,
      'Ask the gateway for a new key, and set WAYBILL_API_KEY.',
    )
  if (status >= 300 && status < 400)
    return told('problem', `redirects (HTTP ${status}), which is never followed`, ADDRESS)
  if (status >= 500)
    return told(
      'problem',
      `is not well (HTTP ${status})`,
      'Ask who runs the gateway. An interrupted run goes on with the next start.',
    )
  // What is refused was understood, and the key with it.
  if (failure.class === 'refused' && status >= 400) return told('ok', takesKey)
  if (failure.class === 'not-taken')
    return told('warning', `takes no calls now (HTTP ${status})`, 'Look again later. Runs wait as it asks.')
  return told('problem', `does not answer as a gateway (HTTP ${status})`, ADDRESS)
}

/** Of a call that names nobody: there, 403 may mean the account and not the token. */
function judgeToken(failure: Failure | undefined): CheckFinding {
  if (failure === undefined) return TAKEN
  if (failure instanceof WaybillError) return tokenProblem(failure)
  const { status } = failure
  if (failure.class === 'stale-token')
    return finding(
      'token',
      'problem',
      `the gateway refuses it (HTTP ${status})`,
      'Get a new one; with WAYBILL_ACCESS_TOKEN_COMMAND Waybill gets it itself.',
    )
  if (failure.class === 'refused' && (status ?? 0) >= 400) return TAKEN
  const found = `the gateway did not say whether it takes it${status === undefined ? '' : ` (HTTP ${status})`}`
  return finding('token', 'warning', found, 'Look again when the gateway is well.')
}

const TAKEN = finding('token', 'ok', 'the gateway takes it')

const untried = (why: string, until: string): CheckFinding =>
  finding('token', 'warning', `not tried, as ${why}`, `Look again when ${until}.`)

const refusesCredentials = (failure: Failure | undefined): boolean =>
  failure instanceof GatewayError && (failure.status === 401 || failure.status === 403)

const tokenProblem = (error: WaybillError): CheckFinding =>
  finding('token', 'problem', wordsOf(error), error.remedy)

const wordsOf = ({ place, message }: WaybillError): string =>
  place === undefined ? message : `${describePlace(place)}: ${message}`
