/** The gateway: that it answers, and takes key and token. Two reads that ask for no person's data; nothing is stored. */
import { AssertionError } from 'node:assert'
import { type Answer, createClient, NoConnection } from '../conformance/client.ts'
import { queryOf } from '../conformance/profile.ts'
import { WaybillError } from '../errors.ts'
import type { CheckFinding } from './finding.ts'

/** For each call, its answer's body included. */
const TIME_LIMIT_MS = 10_000

export interface GatewayAccess {
  readonly url: string
  readonly apiKey: string
  /** @throws Error that says why there is none, without holding it */
  readonly accessToken: () => Promise<string>
  readonly now: () => number
  readonly makeId: () => string
  readonly signal: AbortSignal
}

export interface GatewayLook {
  readonly findings: readonly CheckFinding[]
  /** Its Date header, and when that came. */
  readonly clock: { readonly date: string; readonly cameAt: number } | undefined
}

export async function checkGateway(access: GatewayAccess): Promise<GatewayLook> {
  const { url, apiKey, now, makeId, signal } = access
  const token = await access.accessToken().then(
    (text) => ({ text }),
    (error: unknown) => ({ refusal: error instanceof Error ? error.message : 'unknown' }),
  )
  const accessToken = 'text' in token ? token.text : ''
  const client = createClient({
    baseUrl: url,
    apiKey,
    accessToken,
    timeLimitMs: TIME_LIMIT_MS,
    signal,
    makeId,
  })
  const attempt = (path: string, query = {}): Promise<Answer | AssertionError> =>
    client.send('GET', path, { query }).catch((error: unknown) => {
      if (error instanceof AssertionError) return error
      if (!signal.aborted) throw error
      throw new WaybillError('interrupted', 'the look at the gateway was interrupted', {
        remedy: 'Run `waybill doctor` again.',
      })
    })

  const keyed = await attempt('/content/distribution/article')
  const cameAt = now()
  if (keyed instanceof AssertionError) {
    const found: CheckFinding = unreachable(url, keyed)
    const unproved: CheckFinding = {
      check: 'token',
      level: 'warning',
      found: 'not tried, as the gateway cannot be had',
      remedy: 'Look again when the gateway answers.',
    }
    return {
      findings: [found, ...('text' in token ? [unproved] : [noToken(token.refusal)])],
      clock: undefined,
    }
  }
  const date = keyed.headers.get('date')
  const clock = date === null ? undefined : { date, cameAt }
  const answered = judgeAnswer(url, keyed.status)
  if (!('text' in token)) return { findings: [answered, noToken(token.refusal)], clock }
  const nobody = queryOf({ reference: client.unique('nobody'), type: 'partnerAccountId' })
  const bearing = await attempt('/health-profile/biometrics', nobody)
  return {
    findings: [answered, judgeToken(bearing instanceof AssertionError ? undefined : bearing.status)],
    clock,
  }
}

const TLS = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|ALTNAME/

function unreachable(url: string, error: AssertionError): CheckFinding {
  const found = `${url} ${error instanceof NoConnection ? 'cannot be reached' : 'does not answer as it should'}: ${error.message}`
  const remedy = TLS.test(error.message)
    ? 'Its certificate is not trusted here. Ask who runs it; where a private authority signs it, set NODE_EXTRA_CA_CERTS.'
    : 'Check WAYBILL_GATEWAY_URL, name server, proxy and firewall. Runs wait as long as `submit.patience` says, then go on with the next start.'
  return { check: 'gateway', level: 'problem', found, remedy }
}

/** Of a call that carries the key alone. */
function judgeAnswer(url: string, status: number): CheckFinding {
  const problem = (found: string, remedy: string): CheckFinding => ({
    check: 'gateway',
    level: 'problem',
    found: `${url} ${found}`,
    remedy,
  })
  if (status === 401 || status === 403)
    return problem(
      `refuses the API key (HTTP ${status})`,
      'Ask the gateway for a new key, and set WAYBILL_API_KEY.',
    )
  if (status >= 300 && status < 400)
    return problem(
      `redirects (HTTP ${status}), which is never followed`,
      'Set WAYBILL_GATEWAY_URL to the address that the gateway itself answers on.',
    )
  if (status >= 500)
    return problem(
      `is not well (HTTP ${status})`,
      'Ask who runs the gateway. An interrupted run goes on with the next start.',
    )
  const secure = url.startsWith('https:') ? 'over TLS' : 'without TLS, on this machine'
  return { check: 'gateway', level: 'ok', found: `${url} answers ${secure} and takes the key` }
}

/** Of a call that names nobody: there, 403 may mean the account and not the token. */
function judgeToken(status: number | undefined): CheckFinding {
  if (status === 401)
    return {
      check: 'token',
      level: 'problem',
      found: 'the gateway refuses it (HTTP 401)',
      remedy: 'Get a new one; with WAYBILL_ACCESS_TOKEN_COMMAND Waybill gets it itself.',
    }
  if (status === undefined || status >= 500)
    return {
      check: 'token',
      level: 'warning',
      found: 'the gateway did not say whether it takes it',
      remedy: 'Look again when the gateway is well.',
    }
  return { check: 'token', level: 'ok', found: 'the gateway takes it' }
}

const noToken = (found: string): CheckFinding => ({
  check: 'token',
  level: 'problem',
  found,
  remedy: 'Run the command by hand, as the user of Waybill: it must print a token and nothing else.',
})
