/** `waybill gateway`: serves the reference gateway, or checks another one by the safe part of the conformance suite. */
import { AssertionError } from 'node:assert'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { dirname } from 'node:path'
import type { Account } from '../../packages/conformance/src/case.ts'
import { type Client, createClient, NoConnection } from '../../packages/conformance/src/client.ts'
import { type MadeUp, notingClient, queryOf } from '../../packages/conformance/src/made-up.ts'
import { type CaseResult, checkSafely, SUITE } from '../../packages/conformance/src/suite.ts'
import { readFaultPlan } from '../../packages/reference-gateway/src/fault-plan.ts'
import { startReferenceGateway } from '../../packages/reference-gateway/src/server.ts'
import { DURATION } from '../definitions/quantity.ts'
import { parseBaseUrl } from '../gateway/connection-settings.ts'
import { createGateway } from '../gateway/gateway.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { knownAccount } from '../runs/accounts.ts'
import { attach, printedToken } from '../runs/connect-gateway.ts'
import { readPeople, type Seeded, seedGateway } from '../runs/seed-gateway.ts'
import { assertWithin } from '../system/own-files.ts'
import type { Settings } from '../system/settings.ts'
import { counted, shellWord } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import type { CommandContext } from './command-form.ts'
import type { Action, Options } from './commands.ts'

export const gateway: Action<'gateway'> = async (context, options) => {
  if (options.check !== undefined) return gatewayCheck(context, options.check, options)
  const given = [
    ...(options.account === undefined ? [] : ['--account']),
    ...(options.knownAccount ? ['--known-account'] : []),
    ...(options.madeUpUsers ? ['--made-up-users'] : []),
  ][0]
  if (given !== undefined) throw new WaybillError('usage-wrong', `${given} is given without --check`)
  const people = options.seed === undefined ? [] : readPeople(options.seed)
  const faults = options.faults === undefined ? undefined : await readFaultPlan(options.faults)
  const tie = options.attached ? await attach(context.input?.()) : undefined
  if (options.data !== undefined) assertWithin(dirname(options.data), options.data)
  const served = await startReferenceGateway({
    port: options.port,
    version: context.version,
    clock: context.now,
    makeId: randomUUID,
    open: options.open ?? false,
    uploadLifetimeMs: durationOf(options.uploadLifetime),
    dataFile: options.data,
    apiKeys: options.apiKey,
    tokens: options.token,
    tokenOwners: options.bind,
    assessmentFile: options.assessment,
    faults: options.seed === undefined ? faults : undefined,
    ...tie?.credentials,
  })
  let seeded: Seeded | undefined
  try {
    if (options.seed !== undefined) seeded = await seed(served.url, people, options, context.now)
    // Faults start after the invented records, which are stored without failures.
    if (seeded !== undefined && faults !== undefined) await control(served.url, 'PUT', 'faults', faults)
  } catch (error) {
    await served.close()
    throw error
  }
  if (options.json) context.out(JSON.stringify({ url: served.url, ...(seeded && { seeded }) }))
  else {
    const key = options.apiKey?.[0] ?? 'any-key'
    const token = options.token?.[0] ?? 'any-token'
    context.out([
      `The reference gateway listens on ${served.url} (${options.data ?? 'in memory'}). Ctrl-C ends it.`,
      ...(seeded === undefined ? [] : [madeUp(seeded)]),
      '',
      'To run a job against it, in another terminal:',
      `  export WAYBILL_GATEWAY_URL=${served.url} WAYBILL_API_KEY=${shellWord(key)} WAYBILL_ACCESS_TOKEN=${shellWord(token)}`,
      '  waybill run JOB   # a job without a gateway of its own',
      '',
      `Counts of its records: ${served.url}/_reference/counts. Its interface: ${served.url}/openapi.json`,
    ])
  }
  await Promise.race([once(context.interrupt, 'abort'), ...(tie === undefined ? [] : [tie.ended])])
  await served.close()
  return EXIT.ok
}

const madeUp = ({
  people,
  biometrics,
  conditions,
  careTeams,
  tests,
  requests,
  authorizations,
}: Seeded): string =>
  `Invented for ${people} people: ${biometrics} biometrics, ${conditions} conditions, ${careTeams} care-team entries, ${tests} completed tests, ${requests} requests for medical records, ${authorizations} of them authorized.`

async function control(baseUrl: string, method: string, what: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { ok } = await fetch(`${baseUrl}/_reference/${what}`, { method, headers, body: JSON.stringify(body) })
  if (!ok) throw new TypeError(`/_reference/${what} was refused`)
}

async function seed(
  baseUrl: string,
  people: Parameters<typeof seedGateway>[1],
  options: Options<'gateway'>,
  now: () => number,
): Promise<Seeded> {
  const gateway = createGateway({
    baseUrl,
    now,
    nextRequestId: randomUUID,
    apiKey: options.apiKey?.[0] ?? 'seed',
    accessToken: async () => options.token?.[0] ?? 'seed',
    userToken: async (account) => {
      const token = `seed-${randomUUID()}`
      await control(baseUrl, 'POST', 'tokens', { token, account })
      return token
    },
  })
  try {
    return await seedGateway(gateway, people, now())
  } finally {
    gateway.close()
  }
}

function durationOf(text: string): number {
  const ms = DURATION.read(text)
  if (ms !== undefined) return ms
  throw new WaybillError('usage-wrong', `--upload-lifetime ${DURATION.demand('30m')}`)
}

const TIME_LIMIT_MS = 10_000

/** Most characters of a row's name in the table; some names are whole sentences. */
const LONGEST_ROW = 60

async function gatewayCheck(
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
    await greet(client, baseUrl, account, context.settings.requesterApiKey !== undefined)
    const results = await checkSafely(SUITE, client, account, stores)
    const madeUp = stores ? await client.takeAway() : undefined
    context.out(
      options.json
        ? checkJson(baseUrl, results, madeUp)
        : [...checkText(baseUrl, results, context.columns), ...madeUpLines(madeUp)],
    )
    return results.some(({ result }) => result === 'differs') ? EXIT.recordsLeftBehind : EXIT.ok
  } catch (cause) {
    if (!context.interrupt.aborted) throw cause
    const remedy = stores
      ? 'Run the check again. Its invented users, conformance-user-…, may still exist.'
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
 * Checks connection and credentials before the cases run. The token is checked by a call for an unknown account: for an account, 403 may be about
 * the account and not about the token.
 * @throws `gateway-unreachable`, `gateway-refused-credentials`, `usage-wrong` for an unknown account
 */
async function greet(
  client: Client,
  baseUrl: string,
  account: Account | undefined,
  hasRequesterKey: boolean,
): Promise<void> {
  const refused = (what: string) =>
    new WaybillError('gateway-refused-credentials', `the gateway refused the ${what}`, {
      remedy: 'Check WAYBILL_API_KEY, WAYBILL_REQUESTER_API_KEY and WAYBILL_ACCESS_TOKEN.',
    })
  const nobody = queryOf({ reference: client.unique('nobody'), type: 'partnerAccountId' })
  try {
    const keyed = await client.send('GET', '/content/distribution/article')
    if (keyed.status === 401 || keyed.status === 403) throw refused('API key')
    const bearing = await client.send('GET', '/health-profile/biometrics', { query: nobody })
    if (bearing.status === 401) throw refused('access token')
    if (hasRequesterKey) {
      const asked = await client.send('GET', '/medical-records/requester/requestTypes')
      if (asked.status === 401 || asked.status === 403) throw refused('key of the requester')
    }
    if (account === undefined) return
    const { status } = await client.send('GET', '/health-profile/biometrics', { query: queryOf(account) })
    if (status !== 404) return
    throw new WaybillError('usage-wrong', 'the gateway does not know the account of --account', {
      remedy: 'Give a registered account: a partnerAccountId, or accountId:ID.',
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
    // The cases report an answer that hangs or never ends.
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

function checkText(gateway: string, results: readonly CaseResult[], columns: number | undefined): string[] {
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
      : [...fittedTable(['section', 'row', 'result', 'words'], differing, 'none', columns), '']),
    `${gateway}: ${count(results, 'passed')} cases passed, ${count(results, 'differs')} differ, ` +
      `${count(results, 'not run')} were not run${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}.`,
  ]
}
