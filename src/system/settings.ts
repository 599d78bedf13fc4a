/**
 * The environment, read once into one frozen object (docs/settings.md). Only this file knows the names of variables. Every secret may also come
 * from a file, by the name of the variable with `_FILE`.
 */
import { closeSync, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { type Finding, reasonOf, WaybillError } from '../model/errors.ts'
import { doubtsOf, doubtText } from './obeyed-files.ts'
import { didYouMean } from './schema-problems.ts'

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
const LOG_FORMATS = ['text', 'json'] as const

/** Selects the built-in reference gateway in place of an address. */
export const BUILT_IN = 'built-in'

/** Variables that every program needs. All others in the environment may be secrets. */
export const HANDED_ON = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ'],
  ...['LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'LC_MESSAGES', 'LC_TIME'],
] as const

/** Variables that a program with Waybill inside passes on from its own environment: no settings. */
export const handedOn = (): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(HANDED_ON.map((name) => [name, process.env[name]]))

/** The whole environment, for commands that fetch tokens: they may need secrets of their own. */
export const wholeEnvironment = (): Readonly<Record<string, string | undefined>> => process.env

const LOG_FILE_BYTES = 10 * 1024 ** 2
/** Default of free space: a night of 100,000 rows takes some 60 MB of ledger and receipts. */
const MIN_FREE_BYTES = 64 * 1024 * 1024
const LOG_FILES = 5

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

type Report = (key: string, message: string) => void

interface Given {
  /** Value without white space around; undefined for an empty one. */
  text(name: string): string | undefined
  /** Value of the variable, or content of the file in `<name>_FILE`. */
  secret(name: string): string | undefined
  /** Resolves a path relative to the folder. */
  readonly at: (path: string) => string
  readonly report: Report
}

interface Setting<Value> {
  readonly variables: readonly string[]
  readonly read: (given: Given) => Value
}

const setting = <Value>(variable: string, read: (given: Given) => Value): Setting<Value> => ({
  variables: [variable],
  read,
})
const plain = (name: string): Setting<string | undefined> => setting(name, ({ text }) => text(name))
const secret = (name: string): Setting<string | undefined> => ({
  variables: [name, `${name}_FILE`],
  read: (given) => given.secret(name),
})
const path = (name: string): Setting<string | undefined> =>
  setting(name, ({ text, at }) => {
    const given = text(name)
    return given === undefined ? undefined : at(given)
  })
const folder = (name: string, otherwise: string): Setting<string> =>
  setting(name, ({ text, at }) => at(text(name) ?? otherwise))
const choice = <const T extends string>(name: string, choices: readonly T[], otherwise: T): Setting<T> =>
  setting(name, ({ text, report }) => {
    const given = text(name)
    const chosen = choices.find((one) => one === given)
    if (given !== undefined && chosen === undefined)
      report(name, `is "${given}"; it must be one of ${choices.join(', ')}`)
    return chosen ?? otherwise
  })
/** @param form an example for the message */
const parsed = <T>(
  name: string,
  parse: (text: string) => T | undefined,
  form: string,
): Setting<T | undefined> =>
  setting(name, ({ text, report }) => {
    const given = text(name)
    const value = given === undefined ? undefined : parse(given)
    if (given !== undefined && value === undefined) report(name, `is "${given}"; write it like ${form}`)
    return value
  })

/** Names between commas. */
const names = (name: string): Setting<readonly string[]> =>
  setting(name, ({ text }) =>
    (text(name) ?? '')
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  )

const logPath = path('WAYBILL_LOG_FILE')
const logBytes = parsed('WAYBILL_LOG_FILE_SIZE', byteCount, '10MiB')
const logFiles = parsed('WAYBILL_LOG_FILES', fileCount, '5, from 1 to 999')

const auditKeep = parsed('WAYBILL_AUDIT_KEEP', yearsOrDays, '6y or 2200d')
/** Six years: 45 CFR 164.316(b)(2)(i) asks for as long of records of actions on health data. */
const AUDIT_KEEP_MS = 6 * 366 * 86_400_000

const minFree = parsed('WAYBILL_MIN_FREE', byteCount, '64MiB')

/** Every setting (docs/settings.md). */
const SETTINGS = {
  /**
   * An address, or `built-in`. Undefined: each job names its own. The ledger identifies a gateway by this text, so that slashes at the end are
   * removed.
   */
  gatewayUrl: setting('WAYBILL_GATEWAY_URL', ({ text, report }) =>
    withoutSecrets(text('WAYBILL_GATEWAY_URL'), report)?.replace(/\/+$/, ''),
  ),
  apiKey: secret('WAYBILL_API_KEY'),
  /** Key of the medical-records requester. Undefined: the key of the other calls. */
  requesterApiKey: secret('WAYBILL_REQUESTER_API_KEY'),
  accessToken: secret('WAYBILL_ACCESS_TOKEN'),
  accessTokenCommand: plain('WAYBILL_ACCESS_TOKEN_COMMAND'),
  userTokenCommand: plain('WAYBILL_USER_TOKEN_COMMAND'),
  /** Secret for hashes and ids. Undefined: made once and kept in the home. */
  key: secret('WAYBILL_KEY'),
  home: folder('WAYBILL_HOME', '.waybill'),
  /** Address of a PostgreSQL database for the ledger, without a password. Undefined: a file in the home. */
  ledger: plain('WAYBILL_LEDGER'),
  /** Permits a ledger on another machine without TLS. */
  ledgerUnencrypted: setting(
    'WAYBILL_LEDGER_UNENCRYPTED',
    (given) => choice('WAYBILL_LEDGER_UNENCRYPTED', ['true', 'false'], 'false').read(given) === 'true',
  ),
  ledgerPassword: secret('WAYBILL_LEDGER_PASSWORD'),
  ledgerPasswordCommand: plain('WAYBILL_LEDGER_PASSWORD_COMMAND'),
  runBy: choice('WAYBILL_RUN_BY', ['this-process', 'workers'], 'this-process'),
  jobs: folder('WAYBILL_JOBS', 'jobs'),
  mappings: folder('WAYBILL_MAPPINGS', 'mappings'),
  logLevel: choice('WAYBILL_LOG_LEVEL', LOG_LEVELS, 'info'),
  logFormat: choice('WAYBILL_LOG_FORMAT', LOG_FORMATS, 'text'),
  /** Undefined: the log goes to standard error alone. */
  logFile: {
    variables: [logPath, logBytes, logFiles].flatMap(({ variables }) => variables),
    read(given: Given) {
      const file = logPath.read(given)
      const [maxBytes = LOG_FILE_BYTES, files = LOG_FILES] = [logBytes.read(given), logFiles.read(given)]
      return file === undefined ? undefined : { path: file, maxBytes, files }
    },
  },
  minFree: {
    variables: minFree.variables,
    read: (given: Given) => minFree.read(given) ?? MIN_FREE_BYTES,
  },
  /** Time for which pruning spares records of the audit, in milliseconds. */
  auditKeep: {
    variables: auditKeep.variables,
    read: (given: Given) => auditKeep.read(given) ?? AUDIT_KEEP_MS,
  },
  metrics: parsed('WAYBILL_METRICS', listenAddress, '9464 or 0.0.0.0:9464'),
  metricsFile: path('WAYBILL_METRICS_FILE'),
  /** Collector for traces of runs (OTLP over HTTP), and headers to send with them, like a key. */
  otlpEndpoint: parsed('WAYBILL_OTLP_ENDPOINT', collectorAddress, 'http://127.0.0.1:4318'),
  otlpHeaders: secret('WAYBILL_OTLP_HEADERS'),
  /** Path of the get-care-teams call, which the interface leaves open. */
  careTeamsPath: plain('WAYBILL_CARE_TEAMS_PATH'),
  bearerOnConditionsBulk: setting(
    'WAYBILL_BEARER_ON_CONDITIONS_BULK',
    (given) => choice('WAYBILL_BEARER_ON_CONDITIONS_BULK', ['true', 'false'], 'true').read(given) === 'true',
  ),
  /** Names of fields of the medical-records requester with two spellings in the interface. */
  datesOfService: choice('WAYBILL_DATES_OF_SERVICE', ['datesOfService', 'dateOfService'], 'datesOfService'),
  requestSubType: choice('WAYBILL_REQUEST_SUB_TYPE', ['requestSubType', 'requestSubtype'], 'requestSubType'),
  searchSubType: choice('WAYBILL_SEARCH_SUB_TYPE', ['subTyp', 'subType'], 'subTyp'),
  /** For jobs that read from an SFTP server without a key file. */
  sftpPassword: secret('WAYBILL_SFTP_PASSWORD'),
  pgpKeyFile: path('WAYBILL_PGP_KEY_FILE'),
  pgpPassphraseFile: path('WAYBILL_PGP_PASSPHRASE_FILE'),
  pgpVerifyKeyFile: path('WAYBILL_PGP_VERIFY_KEY_FILE'),
  /** Signs the webhooks of notifications: `whsec_` and base64, or base64 alone. */
  webhookSecret: secret('WAYBILL_WEBHOOK_SECRET'),
  /** Mail server for notifications, `smtp://` or `smtps://`, mostly with a password; and the sender. */
  smtpUrl: secret('WAYBILL_SMTP_URL'),
  smtpFrom: plain('WAYBILL_SMTP_FROM'),
  /** Address by which people reach the console, without a slash at the end: for links in notices, and behind a proxy. */
  consoleUrl: parsed('WAYBILL_CONSOLE_URL', pageAddress, 'https://waybill.hospital.example/console'),
  consoleTlsCert: path('WAYBILL_CONSOLE_TLS_CERT'),
  consoleTlsKey: path('WAYBILL_CONSOLE_TLS_KEY'),
  /** Secret of a proxy that names the person in a header. */
  consoleProxySecret: secret('WAYBILL_CONSOLE_PROXY_SECRET'),
  /** OpenID Connect: issuer, and the console as its client. */
  consoleIssuer: parsed('WAYBILL_CONSOLE_ISSUER', pageAddress, 'https://login.hospital.example/realms/staff'),
  consoleClientId: plain('WAYBILL_CONSOLE_CLIENT_ID'),
  consoleClientSecret: secret('WAYBILL_CONSOLE_CLIENT_SECRET'),
  /** Names and groups by role; `*`: everybody with a login. */
  consoleViewers: names('WAYBILL_CONSOLE_VIEWERS'),
  consoleOperators: names('WAYBILL_CONSOLE_OPERATORS'),
  consoleHealthData: names('WAYBILL_CONSOLE_HEALTH_DATA'),
} as const satisfies Readonly<Record<string, Setting<unknown>>>

/** Every variable, for docs and tests. */
export const VARIABLES: readonly string[] = Object.values(SETTINGS).flatMap(({ variables }) => variables)

type Read = { readonly [Name in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Name]['read']> }

export interface Settings extends Read {
  /** Variables for the commands of notifications: no secrets. */
  readonly commandEnvironment: Readonly<Record<string, string>>
}

/** @throws `settings-invalid` with every problem */
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
 * Reads the settings as far as possible. A wrong setting gets its default and a finding.
 * @param environment variables; they win over the `.env` file in `folder`
 * @param dotEnv `read` to read that file
 */
export function examineSettings(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  dotEnv: 'read' | 'ignored' = 'read',
): { readonly settings: Settings; readonly findings: readonly Finding[] } {
  const findings: Finding[] = []
  const report: Report = (key, message) => {
    findings.push({ place: { key }, message })
  }
  const values = { ...(dotEnv === 'read' ? readDotEnv(join(folder, '.env'), report) : {}), ...environment }
  checkNames(values, report)
  const at = (given: string): string => resolve(folder, given)
  const text = (name: string): string | undefined => values[name]?.trim() || undefined
  const given: Given = {
    text,
    at,
    report,
    secret(name) {
      const file = text(`${name}_FILE`)
      if (file === undefined) return text(name)
      if (text(name) !== undefined) report(name, `is given twice, also as ${name}_FILE: choose one`)
      try {
        return readGuarded(at(file), `${name}_FILE`, report).trim() || undefined
      } catch (error) {
        report(`${name}_FILE`, `cannot be read: ${reasonOf(error)}`)
        return undefined
      }
    },
  }
  // The cast is sound: each value comes from its own setting.
  const read = Object.fromEntries(
    Object.entries(SETTINGS).map(([name, one]) => [name, one.read(given)]),
  ) as Read
  const { gatewayUrl } = read
  const hasAddress = gatewayUrl !== undefined && gatewayUrl !== BUILT_IN
  if (hasAddress) checkGatewayUrl(gatewayUrl, report)
  const headers = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].map(text)
  const ofLedger =
    read.ledger === undefined ? undefined : problemOfLedgerUrl(read.ledger, read.ledgerUnencrypted)
  if (ofLedger !== undefined) report('WAYBILL_LEDGER', ofLedger)
  if (read.runBy === 'workers' && read.ledger === undefined)
    report('WAYBILL_RUN_BY', 'is workers, which needs WAYBILL_LEDGER')
  const settings: Settings = Object.freeze({
    ...read,
    // The later of two headers with one name is sent.
    otlpHeaders: [...headers, read.otlpHeaders].filter((one) => one !== undefined).join(',') || undefined,
    commandEnvironment: {
      ...Object.fromEntries(
        HANDED_ON.map((name) => [name, environment[name] ?? ''] as const).filter(([, value]) => value !== ''),
      ),
      WAYBILL_HOME: read.home,
      WAYBILL_JOBS: read.jobs,
      WAYBILL_MAPPINGS: read.mappings,
    },
  })
  if (hasAddress) findings.push(...missingCredentials(settings, 'WAYBILL_GATEWAY_URL'))
  if (settings.key !== undefined && settings.key.length < 16)
    report('WAYBILL_KEY', 'is shorter than 16 characters: too easy to guess')
  checkNotifications(settings, report)
  checkConsole(settings, report)
  const { otlpEndpoint, otlpHeaders } = settings
  if (otlpEndpoint !== undefined && otlpHeaders !== undefined && !isPrivate(otlpEndpoint))
    report('WAYBILL_OTLP_ENDPOINT', `${MUST_BE_HTTPS} where headers are set`)
  return { settings, findings }
}

/** Compares without the common beginning: any two names would be near each other with it. */
const meantSetting = (name: string): string =>
  didYouMean(
    name.slice('WAYBILL_'.length),
    VARIABLES.map((one) => one.slice('WAYBILL_'.length)),
  ).replace('"', '"WAYBILL_')

/** Reports variables that make runs unsafe, or are misspelled. */
function checkNames(values: Readonly<Record<string, string | undefined>>, report: Report): void {
  for (const [name, value = ''] of Object.entries(values)) {
    if (
      name.startsWith('WAYBILL_') &&
      name !== 'WAYBILL_CORPUS' &&
      // Variables for the command of a notification, which may start Waybill.
      !name.startsWith('WAYBILL_NOTICE_') &&
      !VARIABLES.includes(name)
    )
      report(
        name,
        `is not a setting of Waybill${meantSetting(name) || `; the settings are: ${VARIABLES.join(', ')}`}`,
      )
    // The AWS SDK sends the token for its credentials to this address.
    if (/^AWS_ENDPOINT_URL(_|$)/.test(name) && value !== '' && !isPrivate(value)) report(name, MUST_BE_HTTPS)
  }
  // Variable of Node itself, also for the programs that Waybill starts: any server could take the credentials.
  if (values['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    report(
      'NODE_TLS_REJECT_UNAUTHORIZED',
      'is 0, which turns off the check of certificates: remove it. To trust a private authority, set NODE_EXTRA_CA_CERTS',
    )
}

/** @param needed reason to need credentials: a gateway with an address */
export function missingCredentials(
  {
    apiKey,
    accessToken,
    accessTokenCommand,
  }: Pick<Settings, 'apiKey' | 'accessToken' | 'accessTokenCommand'>,
  needed: string,
): Finding[] {
  const missing = (key: string, others: string): Finding => ({
    place: { key },
    message: `is needed with ${needed} (or ${others})`,
  })
  return [
    ...(apiKey === undefined ? [missing('WAYBILL_API_KEY', 'WAYBILL_API_KEY_FILE')] : []),
    ...(accessToken === undefined && accessTokenCommand === undefined
      ? [missing('WAYBILL_ACCESS_TOKEN', 'WAYBILL_ACCESS_TOKEN_FILE, or WAYBILL_ACCESS_TOKEN_COMMAND')]
      : []),
  ]
}

/** `10MiB`; from 1 KiB to 1 TiB. */
function byteCount(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d{1,4})([KMG]iB)$/.exec(text) ?? []
  return Number(number) >= 1 ? Number(number) * 1024 ** ('KMG'.indexOf(unit.charAt(0)) + 1) : undefined
}

/** `6y` or `2200d`, in milliseconds. A year counts 366 days: never less than a year. */
function yearsOrDays(text: string): number | undefined {
  const [, number, unit] = /^([1-9]\d{0,4})([yd])$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (unit === 'y' ? 366 : 1) * 86_400_000
}

function fileCount(text: string): number | undefined {
  return /^[1-9]\d{0,2}$/.test(text) ? Number(text) : undefined
}

/** Address without a query, as a path is appended. */
function collectorAddress(text: string): string | undefined {
  const url = URL.parse(text)
  const isAddress =
    url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash + url.username === ''
  return isAddress ? text : undefined
}

/** An address with `https:`, or on this machine, without a slash at the end. */
function pageAddress(text: string): string | undefined {
  const address = collectorAddress(text)
  return address !== undefined && isPrivate(address) ? address.replace(/\/+$/, '') : undefined
}

/** A port of loopback (`9464`), or an address and a port (`0.0.0.0:9464`, `[::]:9464`); undefined for anything else. */
export function listenAddress(text: string): ListenAddress | undefined {
  const [, ip6, name, digits] = /^(?:(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+)):)?(\d{1,5})$/i.exec(text) ?? []
  const port = Number(digits)
  return port <= 65_535 ? { host: ip6 ?? name ?? '127.0.0.1', port } : undefined
}

function checkConsole(settings: Settings, report: Report): void {
  const { consoleProxySecret, consoleIssuer, consoleClientId, consoleTlsCert, consoleTlsKey } = settings
  if ((consoleTlsCert === undefined) !== (consoleTlsKey === undefined))
    report('WAYBILL_CONSOLE_TLS_CERT', 'needs WAYBILL_CONSOLE_TLS_KEY, and the other way round')
  if ((consoleIssuer === undefined) !== (consoleClientId === undefined))
    report('WAYBILL_CONSOLE_ISSUER', 'needs WAYBILL_CONSOLE_CLIENT_ID, and the other way round')
  if (consoleIssuer !== undefined && consoleProxySecret !== undefined)
    report('WAYBILL_CONSOLE_ISSUER', 'does not go with WAYBILL_CONSOLE_PROXY_SECRET: choose one login')
  if (consoleProxySecret !== undefined && consoleProxySecret.length < 16)
    report('WAYBILL_CONSOLE_PROXY_SECRET', 'is shorter than 16 characters: too easy to guess')
}

/** Never shows a value: each is a secret, or holds one. */
function checkNotifications({ webhookSecret, smtpUrl, smtpFrom }: Settings, report: Report): void {
  // Standard Webhooks 1.0.0, section "Signature scheme": 24 to 64 bytes.
  const base64 = webhookSecret?.replace(/^whsec_/, '')
  const bytes = Buffer.from(base64 ?? '', 'base64')
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === base64?.replace(/=+$/, '')
  if (base64 !== undefined && !(isBase64 && bytes.length >= 24 && bytes.length <= 64))
    report(
      'WAYBILL_WEBHOOK_SECRET',
      'must be whsec_ and 24 to 64 bytes in base64; make one with: echo "whsec_$(openssl rand -base64 32)"',
    )
  const smtp = smtpUrl === undefined || !URL.canParse(smtpUrl) ? undefined : new URL(smtpUrl)
  const isSmtp = (smtp?.protocol === 'smtp:' || smtp?.protocol === 'smtps:') && smtp.hostname !== ''
  if (smtpUrl !== undefined && !isSmtp)
    report(
      'WAYBILL_SMTP_URL',
      'is not a mail server; write it like smtps://user:password@mail.hospital.example',
    )
  if (isSmtp && `${smtp.search}${smtp.hash}` !== '')
    report('WAYBILL_SMTP_URL', 'has a query or fragment, which sets no option: remove it')
  if (smtpUrl !== undefined && smtpFrom === undefined)
    report('WAYBILL_SMTP_FROM', 'is needed with WAYBILL_SMTP_URL: the sender of mails')
  if (smtpFrom !== undefined && !/[^\s@<>]+@[^\s@<>]+/.test(smtpFrom))
    report('WAYBILL_SMTP_FROM', 'has no mail address; write it like Waybill <waybill@hospital.example>')
}

/** Removes secrets from the address, which is shown, logged, reported and stored; also for a command that continues after findings. */
function withoutSecrets(given: string | undefined, report: Report): string | undefined {
  if (given === undefined || !URL.canParse(given)) return given
  const { username, password, search, hash } = new URL(given)
  if (`${username}${password}${search}${hash}` === '') return given
  report('WAYBILL_GATEWAY_URL', 'has a user name, password, query or fragment, which is not sent: remove it')
  return given.replace(/^([a-z+.-]+:\/*)[^/?#]*@/i, '$1').replace(/[?#].*$/, '')
}

/** Parameters of an address. Others could name another host, or turn the check of certificates off. */
const LEDGER_PARAMETERS = ['options', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']

/** Problem of an address of a ledger; undefined: none. @param unencrypted true to permit another machine without TLS */
export function problemOfLedgerUrl(given: string, unencrypted: boolean): string | undefined {
  const parsed = URL.parse(given)
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol) || parsed.hostname === '')
    return 'is no address of PostgreSQL; write it like postgres://waybill@db.example/waybill'
  const { password, searchParams } = parsed
  if (password !== '' || searchParams.has('password'))
    return 'has a password: give it as WAYBILL_LEDGER_PASSWORD_FILE or _COMMAND'
  const foreign = [...searchParams.keys()].filter((name) => !LEDGER_PARAMETERS.includes(name))
  if (foreign.length > 0)
    return `has ${foreign.join(', ')}; the parameters are: ${LEDGER_PARAMETERS.join(', ')}`
  const mode = searchParams.getAll('sslmode').at(-1) ?? 'verify-full'
  if (mode === 'verify-full' || isPrivate(given.replace(/^\w+:/, 'http:'))) return undefined
  if (mode !== 'disable')
    return `has the sslmode ${mode}, which need not check the certificate: use verify-full, with sslrootcert=FILE for an authority of your own`
  return unencrypted
    ? undefined
    : 'reaches another machine without TLS (sslmode=disable): remove the sslmode, or set WAYBILL_LEDGER_UNENCRYPTED=true for a network that encrypts'
}

function checkGatewayUrl(url: string, report: Report): void {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    report(
      'WAYBILL_GATEWAY_URL',
      `is not an address; write it like https://gateway.example/api, or ${BUILT_IN}`,
    )
    return
  }
  if (!isPrivate(parsed.href)) report('WAYBILL_GATEWAY_URL', MUST_BE_HTTPS)
}

const MUST_BE_HTTPS = 'must be https; plain http is for loopback addresses only'

/** True for https, and for http within this machine. */
function isPrivate(address: string): boolean {
  const { protocol = '', hostname = '' } = URL.parse(address) ?? {}
  return (
    protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
  )
}

function readDotEnv(file: string, report: Report): Record<string, string | undefined> {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return {}
    const refused = doubtsOf(file).find(({ remedy }) => remedy !== undefined)
    if (refused !== undefined) {
      report('.env', `${doubtText(refused, file)}: it is not read. ${refused.remedy}`)
      return {}
    }
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    report('.env', `cannot be read: ${reasonOf(error)}`)
    return {}
  }
}

/** Reads the file of a secret. The owner may be another user, as for a program that renews the secret; the file must not be writable by all. */
function readGuarded(file: string, key: string, report: (key: string, message: string) => void): string {
  const opened = openSync(file, 'r')
  try {
    const { mode } = fstatSync(opened)
    if ((mode & 0o002) !== 0)
      report(key, `${file} may be written by every user of this machine: chmod o-w it`)
    return readFileSync(opened, 'utf8')
  } finally {
    closeSync(opened)
  }
}
