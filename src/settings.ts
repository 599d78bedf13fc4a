/**
 * The environment, read once into one frozen object (docs/settings.md). The only place that knows the names of variables.
 * Every secret may also be given as a file, by the same name with `_FILE`.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { type Finding, WaybillError } from './errors.ts'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
export const LOG_FORMATS = ['text', 'json'] as const

export interface Settings {
  /** Undefined: the built-in reference gateway, on loopback. */
  readonly gatewayUrl: string | undefined
  readonly apiKey: string | undefined
  readonly accessToken: string | undefined
  /** Prints an access token; run again when one is refused. */
  readonly accessTokenCommand: string | undefined
  /** Secret for hashes and ids. Undefined: made once and kept in the home. */
  readonly key: string | undefined
  readonly home: string
  readonly jobs: string
  readonly mappings: string
  readonly logLevel: (typeof LOG_LEVELS)[number]
  readonly logFormat: (typeof LOG_FORMATS)[number]
  /** Path of the get-care-teams call, which the interface leaves open. */
  readonly careTeamsPath: string | undefined
  readonly bearerOnConditionsBulk: boolean
  /** For jobs that read from an SFTP server without a key file. */
  readonly sftpPassword: string | undefined
  /** Files with the OpenPGP keys that exports are decrypted and verified with. */
  readonly pgpKeyFile: string | undefined
  readonly pgpPassphraseFile: string | undefined
  readonly pgpVerifyKeyFile: string | undefined
}

/** Every variable, for docs and tests. */
export const VARIABLES = [
  'WAYBILL_GATEWAY_URL',
  'WAYBILL_API_KEY',
  'WAYBILL_API_KEY_FILE',
  'WAYBILL_ACCESS_TOKEN',
  'WAYBILL_ACCESS_TOKEN_FILE',
  'WAYBILL_ACCESS_TOKEN_COMMAND',
  'WAYBILL_KEY',
  'WAYBILL_KEY_FILE',
  'WAYBILL_HOME',
  'WAYBILL_JOBS',
  'WAYBILL_MAPPINGS',
  'WAYBILL_LOG_LEVEL',
  'WAYBILL_LOG_FORMAT',
  'WAYBILL_CARE_TEAMS_PATH',
  'WAYBILL_BEARER_ON_CONDITIONS_BULK',
  'WAYBILL_SFTP_PASSWORD',
  'WAYBILL_SFTP_PASSWORD_FILE',
  'WAYBILL_PGP_KEY_FILE',
  'WAYBILL_PGP_PASSPHRASE_FILE',
  'WAYBILL_PGP_VERIFY_KEY_FILE',
] as const
type Variable = (typeof VARIABLES)[number]
type Secret = 'WAYBILL_API_KEY' | 'WAYBILL_ACCESS_TOKEN' | 'WAYBILL_KEY' | 'WAYBILL_SFTP_PASSWORD'

/** @throws WaybillError `settings-invalid` with every problem */
export function readSettings(...given: Parameters<typeof examineSettings>): Settings {
  const { settings, findings } = examineSettings(...given)
  if (findings.length === 0) return settings
  throw new WaybillError(
    'settings-invalid',
    findings.length === 1 ? 'a setting is wrong' : `${findings.length} settings are wrong`,
    { findings },
  )
}

/**
 * The settings as far as they can be read: what is wrong has its default, and is told among the findings.
 * @param environment variables as given; they win over those of a `.env` file in `folder`
 */
export function examineSettings(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): { readonly settings: Settings; readonly findings: readonly Finding[] } {
  const findings: Finding[] = []
  const report = (key: string, message: string): void => {
    findings.push({ place: { key }, message })
  }
  const values = { ...readDotEnv(join(folder, '.env'), report), ...environment }
  for (const name of Object.keys(values)) {
    if (
      name.startsWith('WAYBILL_') &&
      name !== 'WAYBILL_CORPUS' &&
      !VARIABLES.some((known) => known === name)
    ) {
      report(name, `is no setting of Waybill; known are: ${VARIABLES.join(', ')}`)
    }
  }
  const text = (name: Variable): string | undefined => values[name]?.trim() || undefined
  const secret = (name: Secret): string | undefined => {
    const file = text(`${name}_FILE`)
    if (file === undefined) return text(name)
    if (text(name) !== undefined) report(name, `is given twice, also as ${name}_FILE: choose one`)
    try {
      return readFileSync(resolve(folder, file), 'utf8').trim() || undefined
    } catch (error) {
      report(`${name}_FILE`, `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const path = (name: Variable): string | undefined => {
    const given = text(name)
    return given === undefined ? undefined : resolve(folder, given)
  }
  const choice = <T extends string>(name: Variable, choices: readonly T[], otherwise: T): T => {
    const given = text(name)
    const chosen = choices.find((one) => one === given)
    if (given !== undefined && chosen === undefined)
      report(name, `is "${given}"; it must be one of ${choices.join(', ')}`)
    return chosen ?? otherwise
  }

  // The ledger knows a gateway by this text: a slash at its end must not make it another one.
  const gatewayUrl = text('WAYBILL_GATEWAY_URL')?.replace(/\/+$/, '')
  if (gatewayUrl !== undefined) checkGatewayUrl(gatewayUrl, report)
  const settings: Settings = Object.freeze({
    gatewayUrl,
    apiKey: secret('WAYBILL_API_KEY'),
    accessToken: secret('WAYBILL_ACCESS_TOKEN'),
    accessTokenCommand: text('WAYBILL_ACCESS_TOKEN_COMMAND'),
    key: secret('WAYBILL_KEY'),
    home: resolve(folder, text('WAYBILL_HOME') ?? '.waybill'),
    jobs: resolve(folder, text('WAYBILL_JOBS') ?? 'jobs'),
    mappings: resolve(folder, text('WAYBILL_MAPPINGS') ?? 'mappings'),
    logLevel: choice('WAYBILL_LOG_LEVEL', LOG_LEVELS, 'info'),
    logFormat: choice('WAYBILL_LOG_FORMAT', LOG_FORMATS, 'text'),
    careTeamsPath: text('WAYBILL_CARE_TEAMS_PATH'),
    bearerOnConditionsBulk: choice('WAYBILL_BEARER_ON_CONDITIONS_BULK', ['true', 'false'], 'true') === 'true',
    sftpPassword: secret('WAYBILL_SFTP_PASSWORD'),
    pgpKeyFile: path('WAYBILL_PGP_KEY_FILE'),
    pgpPassphraseFile: path('WAYBILL_PGP_PASSPHRASE_FILE'),
    pgpVerifyKeyFile: path('WAYBILL_PGP_VERIFY_KEY_FILE'),
  })
  if (gatewayUrl !== undefined) {
    if (settings.apiKey === undefined)
      report('WAYBILL_API_KEY', 'is needed with WAYBILL_GATEWAY_URL (or WAYBILL_API_KEY_FILE)')
    if (settings.accessToken === undefined && settings.accessTokenCommand === undefined) {
      report(
        'WAYBILL_ACCESS_TOKEN',
        'is needed with WAYBILL_GATEWAY_URL (or WAYBILL_ACCESS_TOKEN_FILE, or WAYBILL_ACCESS_TOKEN_COMMAND)',
      )
    }
  }
  if (settings.key !== undefined && settings.key.length < 16)
    report('WAYBILL_KEY', 'is shorter than 16 characters: too easy to guess')
  return { settings, findings }
}

function checkGatewayUrl(url: string, report: (key: string, message: string) => void): void {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    report('WAYBILL_GATEWAY_URL', 'is no address; write it like https://gateway.example/api')
    return
  }
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].includes(parsed.hostname)
  if (parsed.protocol !== 'https:' && !(parsed.protocol === 'http:' && loopback)) {
    report('WAYBILL_GATEWAY_URL', 'must be https; plain http is for loopback addresses only')
  }
}

function readDotEnv(
  file: string,
  report: (key: string, message: string) => void,
): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    report('.env', `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    return {}
  }
}
