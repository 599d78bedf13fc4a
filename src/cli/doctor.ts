/** `waybill doctor`: looks the installation over and says what to do about each finding. Changes nothing. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definitionsIn } from '../definitions/definition-files.ts'
import { gatewayNameOf, NO_GATEWAY, readGatewayName, readTargets } from '../definitions/jobs.ts'
import { keyOf, type Target } from '../definitions/notify-definition.ts'
import { createGateway } from '../gateway/gateway.ts'
import { inspectLedger, type LedgerFacts, type UndeliveredNotifications } from '../ledger/sqlite/inspect.ts'
import { describePlace, type Finding, WaybillError } from '../model/errors.ts'
import { checkJobs, checkMappings } from '../operate/check-definitions.ts'
import { checkGateway, type GatewayLook, LOOK_TIMEOUTS } from '../operate/check-gateway.ts'
import { checkLedger } from '../operate/check-ledger.ts'
import { checkClock, checkHome, checkLogFile } from '../operate/check-machine.ts'
import { type CheckFinding, exitOf } from '../operate/finding.ts'
import { gatewaySetting } from '../run/next-steps.ts'
import { printedToken, sourceSettings } from '../runs/connect-gateway.ts'
import { BUILT_IN, type Settings } from '../settings.ts'
import type { Action, CommandContext } from './context.ts'
import { countCases } from './mapping-test.ts'
import { sizeText } from './summary-text.ts'

export interface DoctorOptions {
  readonly sources?: true
  readonly json?: true
}

export const doctor: Action<DoctorOptions> = async (context, options) => {
  const { settings, settingsFindings, now } = context
  const gatewayOf = await readGatewayNames(settings)
  const [ledger, facts] = await lookAtLedger(context, gatewayOf, join(settings.home, 'ledger.sqlite'))
  const gateway = await lookAtGateways(context, gatewayOf)
  const findings: CheckFinding[] = [
    ...checkSettings(settingsFindings),
    ...(await checkLogFile(settings.logFile?.path)),
    ...(await checkHome(settings.home, sizeText)),
    ...ledger,
    checkClock(now(), facts?.latestRunAt, gateway.clock),
    ...gateway.findings,
    ...(await lookAtJobs(context, options.sources === true)),
    ...(await checkMappings(settings, (name) => countCases(settings, name))),
  ]
  const exit = exitOf(findings)
  context.out(options.json ? JSON.stringify({ exit, findings }) : doctorText(findings))
  return exit
}

function checkSettings(findings: readonly Finding[]): CheckFinding[] {
  if (findings.length === 0)
    return [{ check: 'settings', level: 'ok', found: 'all that are needed are there' }]
  return findings.map(({ place, message }) => ({
    check: 'settings',
    level: 'problem',
    subject: describePlace(place),
    found: message,
    remedy: 'Correct it in the environment or the .env file: docs/settings.md.',
  }))
}

/** By job. */
async function readGatewayNames(settings: Settings): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const job of await definitionsIn(settings.jobs)) names.set(job, await readGatewayName(settings, job))
  return names
}

async function lookAtLedger(
  { settings, now, isDead }: CommandContext,
  gateways: ReadonlyMap<string, string>,
  file: string,
): Promise<[CheckFinding[], LedgerFacts | undefined]> {
  try {
    const facts = inspectLedger(file, now())
    const targets = new Map<string, readonly Target[] | undefined>()
    for (const { job } of facts?.undelivered ?? []) targets.set(job, await readTargets(settings, job))
    const isTold = ({ job, key }: UndeliveredNotifications): boolean | undefined =>
      targets.get(job)?.some((target) => keyOf(target) === key)
    const gatewayOf = (job: string): string => gateways.get(job) ?? gatewayNameOf(settings)
    return [checkLedger(facts, { sizeText, isDead, gatewayOf, settingOf: gatewaySetting, isTold }), facts]
  } catch (error) {
    const found = `${file} cannot be opened: ${error instanceof Error ? error.message : String(error)}`
    const remedy =
      'Check who owns it. Where it is damaged, keep it and restore the latest backup: docs/runbook.md.'
    return [[{ check: 'ledger', level: 'problem', found, remedy }], undefined]
  }
}

/** Settings without which the gateway cannot be asked. */
const OF_GATEWAY = /^WAYBILL_(GATEWAY_URL|API_KEY|ACCESS_TOKEN)/

/** Those that jobs go to, and that of the settings. */
async function lookAtGateways(
  context: CommandContext,
  gateways: ReadonlyMap<string, string>,
): Promise<GatewayLook> {
  const { settings, settingsFindings } = context
  const of = (finding: Omit<CheckFinding, 'check'>): GatewayLook => ({
    findings: [{ check: 'gateway', ...finding }],
    clock: undefined,
  })
  if (settingsFindings.some(({ place }) => OF_GATEWAY.test(place.key ?? '')))
    return of({
      level: 'warning',
      found: 'not asked, as its settings are wrong',
      remedy: 'Correct the settings named above.',
    })
  const named = new Set([
    ...(settings.gatewayUrl === undefined ? [] : [settings.gatewayUrl]),
    ...gateways.values(),
  ])
  named.delete(NO_GATEWAY)
  const looks: GatewayLook[] = []
  for (const name of named)
    looks.push(
      name === BUILT_IN
        ? of({ level: 'ok', found: 'the built-in one, a stand-in on this machine; runs start it themselves' })
        : await lookAtGateway(context, name),
    )
  if (looks.length === 0) {
    const found = 'none is set: neither WAYBILL_GATEWAY_URL nor a job names one'
    const { remedy } = new WaybillError('gateway-not-set', found)
    return { findings: [{ check: 'settings', level: 'problem', found, remedy }], clock: undefined }
  }
  return {
    findings: looks.flatMap(({ findings }) => findings),
    clock: looks.find(({ clock }) => clock !== undefined)?.clock,
  }
}

function lookAtGateway({ settings, now, interrupt }: CommandContext, url: string): Promise<GatewayLook> {
  const { apiKey = '', accessToken, accessTokenCommand } = settings
  // Run even where a token is given: it is what a run falls back on when that one is refused.
  const printed = accessTokenCommand === undefined ? undefined : printedToken(accessTokenCommand)
  const token = async (): Promise<string> => accessToken ?? (await printed) ?? ''
  return checkGateway({
    url,
    open: (onRequest) =>
      createGateway({
        ...{ baseUrl: url, apiKey, accessToken: token, timeouts: LOOK_TIMEOUTS },
        ...{ now, nextRequestId: randomUUID, onRequest },
      }),
    accessToken: () => Promise.all([printed, token()]),
    nobody: `waybill-${randomUUID()}`,
    now,
    signal: interrupt,
  })
}

async function lookAtJobs({ settings, now }: CommandContext, servers: boolean): Promise<CheckFinding[]> {
  const spool = await mkdtemp(join(tmpdir(), 'waybill-doctor-'))
  try {
    const look = { sources: sourceSettings(settings), servers, spool, now: now(), settings }
    return await checkJobs(settings, look)
  } finally {
    await rm(spool, { recursive: true, force: true })
  }
}

function doctorText(findings: readonly CheckFinding[]): string[] {
  const lines = findings.flatMap(({ check, level, subject, found, details = [], remedy }) => [
    `${level.padEnd(8)} ${check.padEnd(9)} ${subject === undefined ? '' : `${subject}: `}${found}`,
    ...details.map((detail) => `                   ${detail}`),
    ...(remedy === undefined || level === 'ok' ? [] : [`                   What to do: ${remedy}`]),
  ])
  const count = (wanted: CheckFinding['level']): number =>
    findings.filter(({ level }) => level === wanted).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const told = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
  const end =
    problems + warnings === 0 ? 'All is well.' : `${told(problems, 'problem')}, ${told(warnings, 'warning')}.`
  return [...lines, '', end]
}
