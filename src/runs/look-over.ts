/** Checks an installation, and changes nothing: settings, home, ledger, clock, gateways, jobs and mappings. */
import { randomUUID } from 'node:crypto'
import { definitionsIn } from '../definitions/definition-files.ts'
import { gatewayNameOf, NO_GATEWAY, readGatewayName } from '../definitions/jobs.ts'
import type { Timeouts } from '../gateway/exchange.ts'
import { createGateway } from '../gateway/gateway.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { shownAddress } from '../ledger/postgres/address.ts'
import { inspectLedger, type LedgerFacts } from '../ledger/sqlite/inspect.ts'
import { keyDiffers } from '../ledger/sqlite/installation.ts'
import { describePlace, type Finding, reasonOf, WaybillError } from '../model/errors.ts'
import { createIdentity } from '../model/ids.ts'
import { checkJobs, checkMappings } from '../operate/check-definitions.ts'
import { checkGateway, type GatewayLook } from '../operate/check-gateway.ts'
import { checkLedger } from '../operate/check-ledger.ts'
import { checkClock, checkHome, checkLogFile, checkTrust } from '../operate/check-machine.ts'
import { type CheckFinding, finding } from '../operate/finding.ts'
import { lookAt } from '../system/own-files.ts'
import { BUILT_IN, type Settings } from '../system/settings.ts'
import { type Application, ledgerFile } from './application.ts'
import { printedToken, sourceSettings } from './connect-gateway.ts'
import { readNeeds } from './needs.ts'
import { assertOwnHome } from './shared-home.ts'
import { assertNothingLost, ownKey } from './which-installation.ts'

export interface Looking {
  /** Problems of the settings. The other checks still run, as far as possible. */
  readonly settingsFindings: readonly Finding[]
  readonly servers: boolean
  /** Counts the cases of a mapping, and the failing cases; undefined without cases. */
  readonly countCases: Parameters<typeof checkMappings>[1]
}

export async function lookOver(application: Application, looking: Looking): Promise<CheckFinding[]> {
  const { settings, now } = application
  const gatewayOf = await readGatewayNames(settings)
  const {
    findings: ledger,
    facts,
    fingerprint,
    lastRead = new Map(),
  } = settings.ledger === undefined
    ? await lookAtLedger(application, gatewayOf, ledgerFile(application))
    : await lookAtDatabase(application, settings.ledger)
  const gateway = await lookAtGateways(application, looking, gatewayOf)
  const asked = { sources: sourceSettings(application), servers: looking.servers, settings }
  return [
    ...checkSettings(looking.settingsFindings),
    ...(await checkLogFile(settings.logFile?.path)),
    ...(await checkHome(settings.home)),
    ...checkTrust([
      ['home', settings.home],
      ['job', settings.jobs],
      ['mapping', settings.mappings],
    ]),
    ...ledger,
    ...(await checkNeeds(application, facts)),
    ...checkKey(settings, fingerprint),
    checkClock(now(), facts?.latestRunAt, gateway.clock),
    ...gateway.findings,
    ...(await checkJobs(settings, { ...asked, now: now(), lastRead })),
    ...(await checkMappings(settings, looking.countCases)),
  ]
}

function checkSettings(findings: readonly Finding[]): CheckFinding[] {
  if (findings.length === 0) return [finding('settings', 'ok', 'all required settings are set')]
  const remedy = 'Correct it in the environment or the .env file: docs/settings.md.'
  return findings.map(({ place, message }) =>
    finding('settings', 'problem', message, remedy, { subject: describePlace(place) }),
  )
}

/** Leaves a ledger alone that the next command upgrades, or closes to other users: doctor changes nothing. */
async function checkNeeds(application: Application, facts: LedgerFacts | undefined): Promise<CheckFinding[]> {
  const mode = lookAt(ledgerFile(application))?.mode ?? 0
  if (facts?.older === true || (mode & 0o077) !== 0) return []
  const all = await readNeeds(application)
  if (all.length === 0) return [finding('needs', 'ok', 'nothing needs somebody')]
  // The check of the ledger reports its own need.
  const needs = all.filter(({ cause }) => cause !== 'ledger')
  const remedy = 'See `waybill needs`.'
  return needs.map(({ what }, at) =>
    finding('needs', 'warning', what, at === needs.length - 1 ? remedy : undefined),
  )
}

function checkKey(settings: Settings, fingerprint: string | undefined): CheckFinding[] {
  const problem = (error: WaybillError): CheckFinding[] => [
    finding('key', 'problem', error.message, error.remedy),
  ]
  try {
    const key = ownKey(settings, fingerprint !== undefined)
    if (key === undefined) return [finding('key', 'ok', 'none yet; the first run creates it')]
    if (fingerprint === undefined) return [finding('key', 'ok', 'set; nothing to compare with')]
    const isOther = createIdentity(key).fingerprint !== fingerprint
    return isOther ? problem(keyDiffers()) : [finding('key', 'ok', 'matches the ledger')]
  } catch (error) {
    if (error instanceof WaybillError) return problem(error)
    throw error
  }
}

/** Name of the gateway, by job. */
export async function readGatewayNames(settings: Settings): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const job of await definitionsIn(settings.jobs)) names.set(job, await readGatewayName(settings, job))
  return names
}

interface LedgerLook {
  readonly findings: CheckFinding[]
  readonly facts?: LedgerFacts | undefined
  readonly fingerprint?: string | undefined
  /** Path of an export of the latest run, by job. */
  readonly lastRead?: ReadonlyMap<string, string>
}

async function lookAtDatabase(application: Application, url: string): Promise<LedgerLook> {
  try {
    const ledger = await application.openLedger()
    try {
      const key = await ledger.installation.key()
      return {
        findings: [
          finding('ledger', 'ok', `${shownAddress(url)} answers, and has the tables of this version`),
          ...(await checkSharedHome(application, ledger)),
        ],
        fingerprint: key?.fingerprint,
        lastRead: await lastReadOf(ledger, await definitionsIn(application.settings.jobs)),
      }
    } finally {
      await ledger.close()
    }
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    return { findings: [finding('ledger', 'problem', error.message, error.remedy)] }
  }
}

async function lastReadOf(
  { runs, exports }: Ledger,
  jobs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>()
  for (const job of jobs) {
    const [run] = await runs.list(1, { job })
    const [read] = run === undefined ? [] : await exports.ofRun(run.id)
    // A folder whose exports are archived is empty.
    if (read?.archived === null) paths.set(job, read.path)
  }
  return paths
}

async function checkSharedHome(application: Application, ledger: Ledger): Promise<CheckFinding[]> {
  try {
    if (await assertOwnHome(application, ledger))
      return [finding('home', 'ok', 'the folder that all machines share')]
    if (application.settings.runBy !== 'workers') return []
    return [finding('home', 'ok', 'not marked yet: the first worker makes it the home of all machines')]
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    return [finding('home', 'problem', error.message, error.remedy)]
  }
}

async function lookAtLedger(
  { settings, now, isDead }: Application,
  gateways: ReadonlyMap<string, string>,
  file: string,
): Promise<LedgerLook> {
  try {
    const facts = lookAt(file) === undefined ? undefined : inspectLedger(file, now())
    if (facts === undefined || (facts.shape === 'none' && facts.damage.length === 0))
      assertNothingLost(settings.home)
    const gatewayOf = (job: string): string => gateways.get(job) ?? gatewayNameOf(settings)
    return { findings: checkLedger(facts, { isDead, gatewayOf }), facts, fingerprint: facts?.fingerprint }
  } catch (error) {
    if (error instanceof WaybillError && error.code === 'ledger-missing')
      return { findings: [finding('ledger', 'problem', error.message, error.remedy)] }
    const found = `${file} cannot be opened: ${reasonOf(error)}`
    const remedy =
      'Check its owner. If it is damaged, keep it and restore the latest backup: docs/runbook.md.'
    return { findings: [finding('ledger', 'problem', found, remedy)] }
  }
}

const OF_GATEWAY = /^WAYBILL_(GATEWAY_URL|API_KEY|ACCESS_TOKEN)/

async function lookAtGateways(
  application: Application,
  { settingsFindings }: Pick<Looking, 'settingsFindings'>,
  gateways: ReadonlyMap<string, string>,
): Promise<GatewayLook> {
  const { settings } = application
  const notAsked = (...found: Parameters<typeof finding>): GatewayLook => ({
    findings: [finding(...found)],
    clock: undefined,
  })
  if (settingsFindings.some(({ place }) => OF_GATEWAY.test(place.key ?? '')))
    return notAsked(
      'gateway',
      'warning',
      'not checked: its settings are wrong',
      'Correct the settings named above.',
    )
  const named = new Set([
    ...(settings.gatewayUrl === undefined ? [] : [settings.gatewayUrl]),
    ...gateways.values(),
  ])
  named.delete(NO_GATEWAY)
  const looks: GatewayLook[] = []
  for (const name of named)
    looks.push(
      name === BUILT_IN
        ? notAsked('gateway', 'ok', 'built-in, a stand-in on this machine; runs start it')
        : await lookAtGateway(application, name),
    )
  if (looks.length === 0) {
    const found = 'none is set: neither WAYBILL_GATEWAY_URL nor a job names one'
    return notAsked('settings', 'problem', found, new WaybillError('gateway-not-set', found).remedy)
  }
  return {
    findings: looks.flatMap(({ findings }) => findings),
    clock: looks.find(({ clock }) => clock !== undefined)?.clock,
  }
}

function lookAtGateway({ settings, now, interrupt }: Application, url: string): Promise<GatewayLook> {
  const { apiKey = '', accessToken, accessTokenCommand } = settings
  // Runs the command even if a token is given: a run falls back to the command when the gateway refuses the token.
  const printed = accessTokenCommand === undefined ? undefined : printedToken(accessTokenCommand)
  const token = async (): Promise<string> => accessToken ?? (await printed) ?? ''
  return checkGateway({
    url,
    open: (onRequest) =>
      createGateway({
        baseUrl: url,
        apiKey,
        accessToken: token,
        timeouts: LOOK_TIMEOUTS,
        now,
        nextRequestId: randomUUID,
        onRequest,
      }),
    accessToken: () => Promise.all([printed, token()]),
    nobody: `waybill-${randomUUID()}`,
    now,
    signal: interrupt,
  })
}

/** Timeout of each call in milliseconds, including the body of the answer. */
const LOOK_TIMEOUTS: Partial<Timeouts> = { request: 10_000 }
