/** `waybill doctor`: looks the installation over and says what to do about each finding. Changes nothing. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describePlace, type Finding } from '../errors.ts'
import { readTargets } from '../job/notify-targets.ts'
import { inspectLedger, type LedgerFacts, type UndeliveredNotifications } from '../ledger/inspect.ts'
import { keyOf, type Target } from '../notify/target.ts'
import { checkClock } from '../operate/check-clock.ts'
import { checkJobs, checkMappings } from '../operate/check-definitions.ts'
import { checkGateway, type GatewayLook } from '../operate/check-gateway.ts'
import { checkHome } from '../operate/check-home.ts'
import { checkLedger } from '../operate/check-ledger.ts'
import { checkLogFile } from '../operate/check-log-file.ts'
import { type CheckFinding, exitOf } from '../operate/finding.ts'
import { printedToken } from './access-token-command.ts'
import type { Action, CommandContext } from './context.ts'
import { countCases } from './mapping-test.ts'
import { sourceSettings } from './run-environment.ts'
import { gatewaySetting } from './shell-command.ts'
import { sizeText } from './sizes.ts'

export interface DoctorOptions {
  readonly sources?: true
  readonly json?: true
}

export const doctor: Action<DoctorOptions> = async (context, options) => {
  const { settings, settingsFindings, now } = context
  const [ledger, facts] = await lookAtLedger(context, join(settings.home, 'ledger.sqlite'))
  const gateway = await lookAtGateway(context)
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

async function lookAtLedger(
  { settings, now, isDead }: CommandContext,
  file: string,
): Promise<[CheckFinding[], LedgerFacts | undefined]> {
  try {
    const facts = inspectLedger(file, now())
    const targets = new Map<string, readonly Target[] | undefined>()
    for (const { job } of facts?.undelivered ?? []) targets.set(job, await readTargets(settings, job))
    const isTold = ({ job, key }: UndeliveredNotifications): boolean | undefined =>
      targets.get(job)?.some((target) => keyOf(target) === key)
    const gateway = settings.gatewayUrl ?? 'built-in'
    return [checkLedger(facts, { sizeText, isDead, gateway, settingOf: gatewaySetting, isTold }), facts]
  } catch (error) {
    const found = `${file} cannot be opened: ${error instanceof Error ? error.message : String(error)}`
    const remedy =
      'Check who owns it. Where it is damaged, keep it and restore the latest backup: docs/runbook.md.'
    return [[{ check: 'ledger', level: 'problem', found, remedy }], undefined]
  }
}

/** Settings without which the gateway cannot be asked. */
const OF_GATEWAY = /^WAYBILL_(GATEWAY_URL|API_KEY|ACCESS_TOKEN)/

async function lookAtGateway(context: CommandContext): Promise<GatewayLook> {
  const { gatewayUrl: url, apiKey = '', accessToken, accessTokenCommand } = context.settings
  const without = (level: 'ok' | 'warning', found: string): GatewayLook => ({
    findings: [
      {
        check: 'gateway',
        level,
        found,
        ...(level === 'ok' ? {} : { remedy: 'Correct the settings named above.' }),
      },
    ],
    clock: undefined,
  })
  if (context.settingsFindings.some(({ place }) => OF_GATEWAY.test(place.key ?? '')))
    return without('warning', 'not asked, as its settings are wrong')
  if (url === undefined)
    return without('ok', 'the built-in one, as WAYBILL_GATEWAY_URL is not set; runs start it themselves')
  return checkGateway({
    url,
    apiKey,
    accessToken: async () => {
      // Run even where a token is given: it is what a run falls back on when that one is refused.
      const printed = accessTokenCommand === undefined ? '' : await printedToken(accessTokenCommand)
      return accessToken ?? printed
    },
    now: context.now,
    makeId: randomUUID,
    signal: context.interrupt,
  })
}

async function lookAtJobs({ settings, now }: CommandContext, servers: boolean): Promise<CheckFinding[]> {
  const spool = await mkdtemp(join(tmpdir(), 'waybill-doctor-'))
  try {
    const look = { settings: sourceSettings(settings), servers, spool, now: now(), notify: settings }
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
