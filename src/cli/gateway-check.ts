/** `waybill gateway --check URL`: the safe part of the conformance suite, against any gateway. */
import { AssertionError } from 'node:assert'
import { randomUUID } from 'node:crypto'
import type { Account } from '../conformance/case.ts'
import { type Client, createClient, NoConnection } from '../conformance/client.ts'
import { type MadeUp, notingClient } from '../conformance/made-up.ts'
import { queryOf } from '../conformance/profile.ts'
import { type CaseResult, checkSafely, SUITE } from '../conformance/suite.ts'
import { parseBaseUrl } from '../gateway/connection-settings.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { printedToken } from '../runs/connect-gateway.ts'
import { knownAccount } from '../runs/crosswalk.ts'
import type { Settings } from '../settings.ts'
import { counted } from '../shown-text.ts'
import type { Options } from './commands.ts'
import type { CommandContext } from './context.ts'
import { plainTable } from './plain-table.ts'

/** For each call, its answer's body included. */
const TIME_LIMIT_MS = 10_000

/** Characters of a row's name that the table shows; some are whole sentences. */
const LONGEST_ROW = 60

export async function gatewayCheck(
  context: CommandContext,
  address: string,
  options: Options<'gateway'>,
): Promise<number> {
  const baseUrl = addressOf(address)
  const direct = createClient({
    baseUrl,
    ...(await credentialsOf(context.settings)),
    timeLimitMs: TIME_LIMIT_MS,
    signal: context.interrupt,
    makeId: randomUUID,
    careTeamsPath: context.settings.careTeamsPath,
    requesterApiKey: context.settings.requesterApiKey,
  })
  const stores = options.madeUpUsers === true
  const client = notingClient(direct)
  try {
    const account =
      options.account !== undefined
        ? accountOf(options.account)
        : options.knownAccount
          ? await knownAccount(context, baseUrl)
          : undefined
    await greet(client, baseUrl, account)
    const results = await checkSafely(SUITE, client, account, stores)
    const madeUp = stores ? await client.takeAway() : undefined
    context.out(
      options.json
        ? checkJson(baseUrl, results, madeUp)
        : [...checkText(baseUrl, results), ...madeUpLines(madeUp)],
    )
    return results.some(({ result }) => result === 'differs') ? EXIT.recordsLeftBehind : EXIT.ok
  } catch (cause) {
    if (!context.interrupt.aborted) throw cause
    const remedy = stores
      ? 'Run the check again. The users that it had made up, conformance-user-…, may still be there.'
      : 'Run the check again.'
    throw new WaybillError('interrupted', 'the check was interrupted', { remedy })
  }
}

function addressOf(text: string): string {
  try {
    return parseBaseUrl(text).href
  } catch (cause) {
    if (!(cause instanceof WaybillError)) throw cause
    throw new WaybillError('usage-wrong', `--check: ${cause.message}`, { cause })
  }
}

async function credentialsOf(settings: Settings): Promise<{ apiKey: string; accessToken: string }> {
  const { apiKey, accessTokenCommand } = settings
  const accessToken =
    settings.accessToken ??
    (accessTokenCommand === undefined ? undefined : await printedToken(accessTokenCommand))
  if (apiKey !== undefined && accessToken !== undefined) return { apiKey, accessToken }
  const lacking = { WAYBILL_API_KEY: apiKey, WAYBILL_ACCESS_TOKEN: accessToken }
  const findings = Object.entries(lacking)
    .filter(([, value]) => value === undefined)
    .map(([key]) => ({ place: { key }, message: `is needed with --check (or ${key}_FILE)` }))
  throw new WaybillError('settings-invalid', 'the check needs credentials', { findings })
}

/** `accountId:ID`, else a partner account id. */
function accountOf(text: string): Account {
  const reference = /^accountId:(.+)$/s.exec(text)?.[1]
  if (reference !== undefined) return { reference, type: 'accountId' }
  return { reference: text, type: 'partnerAccountId' }
}

/**
 * Whether there is anything to check. Unlike the key, the token is proved by a call that names nobody: there, 403 may
 * mean the account and not the token.
 * @throws WaybillError `gateway-unreachable`, `gateway-refused-credentials`, `usage-wrong` for an account that is unknown
 */
async function greet(client: Client, baseUrl: string, account: Account | undefined): Promise<void> {
  const refused = (what: string) =>
    new WaybillError('gateway-refused-credentials', `the gateway refused the ${what}`, {
      remedy: 'Check WAYBILL_API_KEY and WAYBILL_ACCESS_TOKEN.',
    })
  const nobody = queryOf({ reference: client.unique('nobody'), type: 'partnerAccountId' })
  try {
    const keyed = await client.send('GET', '/content/distribution/article')
    if (keyed.status === 401 || keyed.status === 403) throw refused('API key')
    const bearing = await client.send('GET', '/health-profile/biometrics', { query: nobody })
    if (bearing.status === 401) throw refused('access token')
    if (account === undefined) return
    const { status } = await client.send('GET', '/health-profile/biometrics', { query: queryOf(account) })
    if (status !== 404) return
    throw new WaybillError('usage-wrong', 'the gateway does not know the account of --account', {
      remedy: 'Name an account that is registered: a partnerAccountId, or accountId:ID.',
    })
  } catch (cause) {
    if (cause instanceof NoConnection) {
      throw new WaybillError(
        'gateway-unreachable',
        `the gateway ${baseUrl} cannot be reached: ${cause.message}`,
        {
          remedy: 'Check the address and the network.',
          cause,
        },
      )
    }
    // An answer that hangs or never ends is for the cases to name.
    if (!(cause instanceof AssertionError)) throw cause
  }
}

const count = (results: readonly CaseResult[], wanted: CaseResult['result']): number =>
  results.filter(({ result }) => result === wanted).length

function madeUpLines(madeUp: MadeUp | undefined): string[] {
  if (madeUp === undefined) return []
  const { users, requests, left } = madeUp
  return [
    `Made up: ${counted(users, 'user')} and ${counted(requests, 'request')} for medical records; ${left.length === 0 ? 'all were deleted' : `not deleted: ${left.join(', ')}`}.`,
  ]
}

function checkJson(gateway: string, results: readonly CaseResult[], madeUp: MadeUp | undefined): string {
  const [passed, differs, notRun] = [
    count(results, 'passed'),
    count(results, 'differs'),
    count(results, 'not run'),
  ]
  return JSON.stringify({ gateway, passed, differs, notRun, results, ...(madeUp && { madeUp }) })
}

function checkText(gateway: string, results: readonly CaseResult[]): string[] {
  const differing = results
    .filter(({ result }) => result === 'differs')
    .map(({ section, row, result, words }) => {
      const short = row.length > LONGEST_ROW ? `${row.slice(0, LONGEST_ROW - 1)}…` : row
      return [section, short, result, words]
    })
  const skipped = Map.groupBy(
    results.filter(({ result }) => result === 'not run'),
    ({ words }) => words,
  )
  const reasons = [...skipped].map(([words, { length }]) => `${length} as ${words}`)
  return [
    ...(differing.length === 0
      ? []
      : [...plainTable(['section', 'row', 'result', 'words'], differing, 'none'), '']),
    `${gateway}: ${count(results, 'passed')} cases passed, ${count(results, 'differs')} differ, ` +
      `${count(results, 'not run')} were not run${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}.`,
  ]
}
