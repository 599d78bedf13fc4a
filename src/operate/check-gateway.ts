/**
 * Checks the gateway: it must answer, and accept key and token. Two reads by the client of runs, with its checks and its classes of answers; they
 * ask for no person's data and store nothing.
 */
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { RequestEvent } from '../gateway/transport.ts'
import { describePlace, WaybillError } from '../model/errors.ts'
import { type CheckFinding, finding, type Level } from './finding.ts'

interface GatewayAccess {
  readonly url: string
  /** @throws WaybillError for an unusable address or key */
  readonly open: (
    onRequest: (event: RequestEvent) => void,
  ) => Pick<Gateway, 'content' | 'biometrics' | 'close'>
  /** Gets the token to send. @throws WaybillError with the reason for a missing token, without the token */
  readonly accessToken: () => Promise<unknown>
  /** A partner account id that belongs to nobody. */
  readonly nobody: string
  readonly now: () => number
  readonly signal: AbortSignal
}

export interface GatewayLook {
  readonly findings: readonly CheckFinding[]
  /** Date header of the gateway, and the time of its arrival. */
  readonly clock: { readonly date: string; readonly cameAt: number } | undefined
}

/** @throws `interrupted` */
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
    if (!isThere) return [answered, untried('gateway unavailable', 'the gateway answers')]
    if (refusesCredentials(keyed)) return [answered, untried('key refused', 'the key is accepted')]
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
  throw new WaybillError('interrupted', 'the check of the gateway was interrupted', {
    remedy: 'Run `waybill doctor` again.',
  })
}

type Failure = GatewayError | WaybillError

/** @returns undefined for a success. @throws an error that is no failure of the gateway, of an address or of credentials */
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
const ADDRESS = 'Set WAYBILL_GATEWAY_URL to the address of the gateway itself.'

/** Judges a call with the key alone. */
function judgeKey(url: string, failure: Failure | undefined): CheckFinding {
  const result = (level: Level, found: string, remedy?: string): CheckFinding =>
    finding('gateway', level, `${url} ${found}`, remedy)
  const takesKey = `answers ${url.startsWith('https:') ? 'over TLS' : 'without TLS, on this machine'} and accepts the key`
  if (failure === undefined) return result('ok', takesKey)
  if (failure instanceof WaybillError)
    return result('problem', `was not asked: ${wordsOf(failure)}`, failure.remedy)
  const { status, message } = failure
  if (status === undefined) {
    const how = failure.class === 'not-sent' ? 'cannot be reached' : 'does not answer correctly'
    const remedy = TLS.test(message)
      ? 'Its certificate is not trusted here. Ask the operator of the gateway; for a private authority, set NODE_EXTRA_CA_CERTS.'
      : 'Check WAYBILL_GATEWAY_URL, name server, proxy and firewall. Runs wait for `submit.patience`, then continue with the next start.'
    return result('problem', `${how}: ${message}`, remedy)
  }
  if (refusesCredentials(failure))
    return result(
      'problem',
      `refuses the API key (HTTP ${status})`,
      'Ask the operator of the gateway for a new key, and set WAYBILL_API_KEY.',
    )
  if (status >= 300 && status < 400)
    return result('problem', `redirects (HTTP ${status}), which is never followed`, ADDRESS)
  if (status >= 500)
    return result(
      'problem',
      `fails (HTTP ${status})`,
      'Ask the operator of the gateway. An interrupted run continues with the next start.',
    )
  // The gateway understood the refused call, and therefore the key.
  if (failure.class === 'refused' && status >= 400) return result('ok', takesKey)
  if (failure.class === 'not-taken')
    return result(
      'warning',
      `accepts no calls now (HTTP ${status})`,
      'Check again later. Runs wait as long as the gateway asks.',
    )
  return result('problem', `does not answer as a gateway (HTTP ${status})`, ADDRESS)
}

/** Judges a call for an unknown account: for an account, 403 may be about the account and not about the token. */
function judgeToken(failure: Failure | undefined): CheckFinding {
  if (failure === undefined) return TAKEN
  if (failure instanceof WaybillError) return tokenProblem(failure)
  const { status } = failure
  if (failure.class === 'stale-token')
    return finding(
      'token',
      'problem',
      `the gateway refuses it (HTTP ${status})`,
      'Get a new token; with WAYBILL_ACCESS_TOKEN_COMMAND, Waybill gets it itself.',
    )
  if (failure.class === 'refused' && (status ?? 0) >= 400) return TAKEN
  const found = `the gateway did not answer about the token${status === undefined ? '' : ` (HTTP ${status})`}`
  return finding('token', 'warning', found, 'Check again when the gateway works.')
}

const TAKEN = finding('token', 'ok', 'the gateway accepts it')

const untried = (why: string, until: string): CheckFinding =>
  finding('token', 'warning', `not checked: ${why}`, `Check again when ${until}.`)

const refusesCredentials = (failure: Failure | undefined): boolean =>
  failure instanceof GatewayError && (failure.status === 401 || failure.status === 403)

const tokenProblem = (error: WaybillError): CheckFinding =>
  finding('token', 'problem', wordsOf(error), error.remedy)

const wordsOf = ({ place, message }: WaybillError): string =>
  place === undefined ? message : `${describePlace(place)}: ${message}`
