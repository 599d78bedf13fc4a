/**
 * Connects the chosen gateway: an address, or the built-in reference gateway in a process of its own. Builds the dependencies of commands that send or
 * read back.
 */

import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { type AccessTokenSource, checkCredential } from '../gateway/connection-settings.ts'
import { createGateway, type UserToken } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import { createSizeLimits } from '../load/batches.ts'
import { createDispatcher, type GatewayShare } from '../load/dispatcher.ts'
import { WaybillError } from '../model/errors.ts'
import type { SourceSettings } from '../run/arrival.ts'
import { createRunEvents, type RunDependencies, type RunListener } from '../run/events.ts'
import { connectLists } from '../run/listed-ids.ts'
import { BUILT_IN, type Settings, wholeEnvironment } from '../system/settings.ts'
import { runShell } from '../system/shell-command.ts'
import { shipped } from '../system/shipped.ts'
import type { Application, GatewayConnection } from './application.ts'
import { openShare } from './gateway-share.ts'
import { assertOwnHome } from './shared-home.ts'
import { identityToSend, type WithoutOld } from './which-installation.ts'

/** Concurrency limit of any job; the job's own limit is lower. */
const MOST_CONNECTIONS = 64

const CREDENTIAL_BYTES = 32

interface ConnectionParts extends Pick<TransportOptions, 'now' | 'nextRequestId' | 'onRequest'> {
  readonly randomHex: (bytes: number) => string
}

/** @param name of the gateway: an address, or `built-in` */
export async function connectGateway(
  name: string,
  settings: Settings,
  { randomHex, ...watch }: ConnectionParts,
): Promise<GatewayConnection> {
  const { careTeamsPath, bearerOnConditionsBulk, requesterApiKey } = settings
  const { datesOfService, requestSubType, searchSubType: subType, userTokenCommand } = settings
  const options = {
    ...watch,
    bearerOnConditionsBulk,
    maxSockets: MOST_CONNECTIONS,
    paths: careTeamsPath === undefined ? {} : { listCareTeams: careTeamsPath },
    spelling: { datesOfService, requestSubType, subType },
    userToken: userTokenCommand === undefined ? undefined : userTokenOf(userTokenCommand),
  }
  if (name === BUILT_IN) {
    const dataFile = join(settings.home, 'reference-gateway.sqlite')
    const [apiKey = '', token = '', controlSecret = ''] = [1, 2, 3].map(() => randomHex(CREDENTIAL_BYTES))
    const served = await startAttached(['--data', dataFile], {
      apiKeys: [apiKey],
      tokens: [token],
      controlSecret,
    })
    const gateway = createGateway({
      ...options,
      baseUrl: served.url,
      apiKey,
      accessToken: async () => token,
    })
    return {
      gateway,
      name,
      describe: `the built-in gateway, a stand-in on this machine (${dataFile}): no export is archived`,
      async close() {
        gateway.close()
        await served.stop()
      },
    }
  }
  const gateway = createGateway({
    ...options,
    baseUrl: name,
    apiKey: settings.apiKey ?? '',
    ...(requesterApiKey === undefined ? {} : { requesterApiKey }),
    ...accessTokenOf(settings),
  })
  return { gateway, name, describe: name, close: async () => gateway.close() }
}

/** Credentials of the reference gateway (`ReferenceGatewayOptions`); an absent credential accepts any value. */
const Credentials = z.object({
  apiKeys: z.array(z.string().min(1)).min(1).optional(),
  tokens: z.array(z.string().min(1)).min(1).optional(),
  controlSecret: z.string().min(1).optional(),
})
type Credentials = z.infer<typeof Credentials>

const Listening = z.union([
  z.object({ url: z.string() }),
  z.object({ error: z.object({ message: z.string() }) }),
])

const END_MS = 5_000

/**
 * Starts the reference gateway on a free port.
 * @param options of `waybill gateway`
 * @throws `gateway-unreachable` if the gateway does not start listening
 */
export async function startAttached(
  options: readonly string[],
  credentials: Credentials,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const entry = shipped('bin/waybill.js')
  const args = ['gateway', '--attached', '--port', '0', '--json', ...options]
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn(process.execPath, [...process.execArgv, entry, ...args], {
    // The environment is meant for this process; the gateway gets its configuration from arguments and standard input.
    env: {},
    // A Ctrl-C in the terminal is meant for this process, which still needs the gateway for the requests in flight.
    detached: true,
  })
  let errors = ''
  child.stderr.on('data', (text: Buffer) => {
    errors += text.toString()
  })
  // If writing fails, the end of the process gives the reason.
  child.stdin.on('error', () => {})
  child.stdin.write(`${JSON.stringify(credentials)}\n`)
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve()).once('error', () => resolve())
  })
  const failed = (why = errors.trim()): never => {
    throw new WaybillError('gateway-unreachable', `the built-in gateway could not be started: ${why}`)
  }
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => failed()),
  ])
  const listening = Listening.parse(JSON.parse(String(line)))
  if ('error' in listening) return failed(listening.error.message)
  return {
    url: listening.url,
    async stop() {
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
      child.stdin.end()
      await ended
      clearTimeout(late)
    },
  }
}

/**
 * Gateway's side of `startAttached`.
 * @param input standard input, if any
 * @throws `usage-wrong` if the first line has no credentials
 */
export async function attach(
  input: Readable = Readable.from([]),
): Promise<{ readonly credentials: Credentials; readonly ended: Promise<unknown> }> {
  const lines = createInterface({ input })
  const ended = once(lines, 'close')
  const [line] = await Promise.race([once(lines, 'line'), ended.then(() => [''])])
  const { data } = Credentials.safeParse(jsonOf(String(line)))
  if (data === undefined)
    throw new WaybillError('usage-wrong', 'with --attached, standard input must begin with credentials', {
      remedy: 'Leave --attached out: it is for programs that start a gateway of their own.',
    })
  return { credentials: data, ended }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const TIME_LIMIT_MS = 30_000

/** Uses a given token as is. Otherwise runs the command for the first token, and again when the gateway refuses a token. */
function accessTokenOf({
  accessToken,
  accessTokenCommand,
}: Pick<Settings, 'accessToken' | 'accessTokenCommand'>): AccessTokenSource {
  if (accessTokenCommand === undefined) return { accessToken: async () => accessToken ?? '' }
  const run = () => printedToken(accessTokenCommand)
  return { accessToken: accessToken === undefined ? run : async () => accessToken, renewAccessToken: run }
}

/** @throws `gateway-refused-credentials` if the command fails; `file-untrusted`; `settings-invalid` if the output is no token */
export async function printedToken(command: string): Promise<string> {
  const printed = await output('WAYBILL_ACCESS_TOKEN_COMMAND', command, {})
  return checkCredential(printed.trim(), 'WAYBILL_ACCESS_TOKEN_COMMAND')
}

/** Passes the person in the environment: no shell parses the reference. */
const userTokenOf =
  (command: string): UserToken =>
  async ({ reference, type }) => {
    const who = { WAYBILL_ACCOUNT_REFERENCE: reference, WAYBILL_ACCOUNT_TYPE: type }
    return (await output('WAYBILL_USER_TOKEN_COMMAND', command, who)).trim()
  }

async function output(
  name: string,
  command: string,
  more: Readonly<Record<string, string>>,
): Promise<string> {
  const environment = { ...wholeEnvironment(), ...more }
  const ended = await runShell({ command, timeoutMs: TIME_LIMIT_MS, environment, isRead: true })
  if ('out' in ended) return ended.out
  if (ended.error !== undefined) throw ended.error
  throw new WaybillError('gateway-refused-credentials', `${name} ${ended.why}`, {
    remedy: 'Run the command by hand: it must print an access token and nothing else.',
  })
}

/** Dependencies of runs at any gateway. */
export type Surroundings = Omit<RunDependencies, 'gateway' | 'gatewayName' | 'dispatcher' | 'sizes'>

/**
 * Opens ledger and gateway of a run.
 * @param gateway from `chooseGateway`
 * @throws `ledger-missing`, `key-differs`
 */
export async function openRunDependencies(
  application: Application,
  watch: RunWatch,
  gateway: string,
  without: WithoutOld = {},
  requestsPerSecond?: number,
): Promise<RunDependencies & Pick<Gateways, 'close'>> {
  const { at, close } = await openGateways(application, watch, without, requestsPerSecond)
  try {
    return { ...(await at(gateway)), close }
  } catch (error) {
    await close()
    throw error
  }
}

export interface RunWatch {
  readonly listener: RunListener
  readonly onConnected?: (words: string) => void
  readonly onRequest?: TransportOptions['onRequest'] | undefined
}

interface Gateways {
  readonly common: Surroundings
  /** Connects a gateway on first use. */
  at(gateway: string): Promise<RunDependencies>
  close(): Promise<void>
}

/** Opens the ledger for runs at several gateways. @param requestsPerSecond to each at most; default: as many as a gateway takes */
export async function openGateways(
  application: Application,
  { listener, onConnected, onRequest }: RunWatch,
  without: WithoutOld = {},
  requestsPerSecond?: number,
): Promise<Gateways> {
  const { settings, version, now, random, sleep, owner, isDead, interrupt } = application
  const ledger = await application.openLedger(without, now())
  const connections = new Map<string, Promise<GatewayConnection>>()
  const known = new Map<string, Pick<RunDependencies, 'dispatcher' | 'sizes'>>()
  const shares = new Map<string, ReturnType<typeof openShare>>()
  const shareOf = (name: string): GatewayShare | undefined => {
    const { paces } = ledger
    if (paces === undefined || name === BUILT_IN) return undefined
    const share = shares.get(name) ?? openShare(application, paces, name)
    shares.set(name, share)
    return share
  }
  const paceAt = (name: string): Pick<RunDependencies, 'dispatcher' | 'sizes'> => {
    const share = shareOf(name)
    const pace = known.get(name) ?? {
      dispatcher: createDispatcher({ now, random, sleep, requestsPerSecond, share }),
      sizes: createSizeLimits(),
    }
    known.set(name, pace)
    return pace
  }
  const close = async (): Promise<void> => {
    for (const share of shares.values()) await share.close()
    for (const connection of connections.values()) await connection.then((one) => one.close()).catch(() => {})
    await ledger.close()
  }
  const connect = async (name: string): Promise<GatewayConnection> => {
    const connection = await application.connectGateway(name, onRequest)
    onConnected?.(`Records go to ${connection.describe}.`)
    return connection
  }
  const prepared = assertOwnHome(application, ledger).then(() => identityToSend(application, ledger, without))
  const common: Surroundings = {
    ledger,
    identity: await prepared.catch(async (error: unknown) => {
      await close()
      throw error
    }),
    version,
    folders: settings,
    home: settings.home,
    sources: sourceSettings(application),
    events: createRunEvents(listener),
    now,
    random,
    sleep,
    owner,
    isDead,
    interrupt,
    sendPart: application.sendPart,
    minFree: settings.minFree,
    newRunId: () => newRunId(application),
  }
  return {
    common,
    async at(name) {
      const connecting = connections.get(name) ?? connect(name)
      connections.set(name, connecting)
      // A failed connection is tried again on next use.
      connecting.catch(() => connections.delete(name))
      const { gateway } = await connecting
      const at = { ...common, gateway, gatewayName: name, ...paceAt(name) }
      return { ...at, sources: { ...at.sources, lists: connectLists(at) } }
    },
    close,
  }
}

export const sourceSettings = ({
  settings,
  interrupt,
}: Pick<Application, 'settings' | 'interrupt'>): SourceSettings => ({
  signal: interrupt,
  minFree: settings.minFree,
  sftpPassword: settings.sftpPassword,
  keyFile: settings.pgpKeyFile,
  passphraseFile: settings.pgpPassphraseFile,
  verifyKeyFile: settings.pgpVerifyKeyFile,
})

/** `20260302T071500Z-4f2a9c`: sorts by time; the random part separates runs of one second. */
const newRunId = ({ now, randomHex }: Application): string =>
  `${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${randomHex(3)}`
