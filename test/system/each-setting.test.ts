/** Each variable with values that it takes, at their edges, and with values that it does not (docs/settings.md). */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { examineSettings, readSettings, type Settings, VARIABLES } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type Variables = Readonly<Record<string, string>>

const examined = (variables: Variables) => examineSettings(variables, '/srv', 'ignored')
const told = (variables: Variables): string[] =>
  examined(variables).findings.map(({ place, message }) => `${place.key} ${message}`)
const CREDENTIALS = { WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't' }
const MIB = 1024 * 1024
const DAY_MS = 86_400_000

it.each<[Variables, keyof Settings, unknown]>([
  [{}, 'gatewayUrl', undefined],
  [{ WAYBILL_GATEWAY_URL: ' built-in ' }, 'gatewayUrl', 'built-in'],
  [{ ...CREDENTIALS, WAYBILL_GATEWAY_URL: 'https://g.example/api//' }, 'gatewayUrl', 'https://g.example/api'],
  [{ ...CREDENTIALS, WAYBILL_GATEWAY_URL: 'http://[::1]:80' }, 'gatewayUrl', 'http://[::1]:80'],
  [{ ...CREDENTIALS, WAYBILL_GATEWAY_URL: 'http://localhost' }, 'gatewayUrl', 'http://localhost'],
  [{ WAYBILL_API_KEY: ' k ' }, 'apiKey', 'k'],
  [{ WAYBILL_API_KEY: ' ' }, 'apiKey', undefined],
  [{ WAYBILL_REQUESTER_API_KEY: 'r' }, 'requesterApiKey', 'r'],
  [{ WAYBILL_ACCESS_TOKEN: 't' }, 'accessToken', 't'],
  [{ WAYBILL_ACCESS_TOKEN_COMMAND: 'c' }, 'accessTokenCommand', 'c'],
  [{ WAYBILL_USER_TOKEN_COMMAND: 'c' }, 'userTokenCommand', 'c'],
  [{ WAYBILL_KEY: '0123456789abcdef' }, 'key', '0123456789abcdef'],
  [{}, 'home', '/srv/.waybill'],
  [{ WAYBILL_HOME: '../h' }, 'home', '/h'],
  [{ WAYBILL_LEDGER: 'postgres://w@db.example/w' }, 'ledger', 'postgres://w@db.example/w'],
  [{ WAYBILL_LEDGER: 'postgresql://db.example' }, 'ledger', 'postgresql://db.example'],
  [
    { WAYBILL_LEDGER: 'postgres://localhost/w?sslmode=disable' },
    'ledger',
    'postgres://localhost/w?sslmode=disable',
  ],
  [
    { WAYBILL_LEDGER: 'postgres://db.example/w?sslmode=disable', WAYBILL_LEDGER_UNENCRYPTED: 'true' },
    'ledgerUnencrypted',
    true,
  ],
  [{ WAYBILL_LEDGER_UNENCRYPTED: 'false' }, 'ledgerUnencrypted', false],
  [{}, 'runBy', 'this-process'],
  [{ WAYBILL_RUN_BY: 'workers', WAYBILL_LEDGER: 'postgres://db.example/w' }, 'runBy', 'workers'],
  [{ WAYBILL_LEDGER_PASSWORD: 'p' }, 'ledgerPassword', 'p'],
  [{ WAYBILL_LEDGER_PASSWORD_COMMAND: 'c' }, 'ledgerPasswordCommand', 'c'],
  [{}, 'jobs', '/srv/jobs'],
  [{ WAYBILL_JOBS: '/j' }, 'jobs', '/j'],
  [{}, 'mappings', '/srv/mappings'],
  [{ WAYBILL_MAPPINGS: 'm' }, 'mappings', '/srv/m'],
  [{}, 'logLevel', 'info'],
  [{ WAYBILL_LOG_LEVEL: 'debug' }, 'logLevel', 'debug'],
  [{}, 'logFormat', 'text'],
  [{ WAYBILL_LOG_FORMAT: 'json' }, 'logFormat', 'json'],
  [{}, 'minFree', 64 * MIB],
  [{ WAYBILL_MIN_FREE: '1KiB' }, 'minFree', 1024],
  [{ WAYBILL_MIN_FREE: '9999GiB' }, 'minFree', 9999 * 1024 * MIB],
  [{}, 'auditKeep', 6 * 366 * DAY_MS],
  [{ WAYBILL_AUDIT_KEEP: '1y' }, 'auditKeep', 366 * DAY_MS],
  [{ WAYBILL_AUDIT_KEEP: '99999d' }, 'auditKeep', 99_999 * DAY_MS],
  [{ WAYBILL_METRICS: '65535' }, 'metrics', { host: '127.0.0.1', port: 65_535 }],
  [{ WAYBILL_METRICS_FILE: 'm.prom' }, 'metricsFile', '/srv/m.prom'],
  [{ WAYBILL_OTLP_ENDPOINT: 'http://collector.example' }, 'otlpEndpoint', 'http://collector.example'],
  [{ WAYBILL_OTLP_HEADERS: 'a=b' }, 'otlpHeaders', 'a=b'],
  [
    { WAYBILL_OTLP_HEADERS: 'a=b', WAYBILL_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
    'otlpEndpoint',
    'http://127.0.0.1:4318',
  ],
  [{ WAYBILL_CARE_TEAMS_PATH: '/c' }, 'careTeamsPath', '/c'],
  [{}, 'bearerOnConditionsBulk', true],
  [{ WAYBILL_BEARER_ON_CONDITIONS_BULK: 'true' }, 'bearerOnConditionsBulk', true],
  [{ WAYBILL_BEARER_ON_CONDITIONS_BULK: 'false' }, 'bearerOnConditionsBulk', false],
  [{}, 'datesOfService', 'datesOfService'],
  [{ WAYBILL_DATES_OF_SERVICE: 'dateOfService' }, 'datesOfService', 'dateOfService'],
  [{}, 'requestSubType', 'requestSubType'],
  [{ WAYBILL_REQUEST_SUB_TYPE: 'requestSubtype' }, 'requestSubType', 'requestSubtype'],
  [{}, 'searchSubType', 'subTyp'],
  [{ WAYBILL_SEARCH_SUB_TYPE: 'subType' }, 'searchSubType', 'subType'],
  [{ WAYBILL_SFTP_PASSWORD: 'p' }, 'sftpPassword', 'p'],
  [{ WAYBILL_PGP_KEY_FILE: 'k' }, 'pgpKeyFile', '/srv/k'],
  [{ WAYBILL_PGP_PASSPHRASE_FILE: 'k' }, 'pgpPassphraseFile', '/srv/k'],
  [{ WAYBILL_PGP_VERIFY_KEY_FILE: 'k' }, 'pgpVerifyKeyFile', '/srv/k'],
  [
    { WAYBILL_SMTP_URL: 'smtps://m.example', WAYBILL_SMTP_FROM: 'a@b.example' },
    'smtpUrl',
    'smtps://m.example',
  ],
  [{ WAYBILL_SMTP_FROM: 'W <a@b.example>' }, 'smtpFrom', 'W <a@b.example>'],
  [{ WAYBILL_CONSOLE_URL: 'https://w.example/c//' }, 'consoleUrl', 'https://w.example/c'],
  [{ WAYBILL_CONSOLE_TLS_CERT: 'c', WAYBILL_CONSOLE_TLS_KEY: 'k' }, 'consoleTlsKey', '/srv/k'],
  [{ WAYBILL_CONSOLE_PROXY_SECRET: '0123456789abcdef' }, 'consoleProxySecret', '0123456789abcdef'],
  [
    {
      WAYBILL_CONSOLE_ISSUER: 'https://l.example',
      WAYBILL_CONSOLE_CLIENT_ID: 'c',
      WAYBILL_CONSOLE_CLIENT_SECRET: 's',
    },
    'consoleClientSecret',
    's',
  ],
  [{}, 'consoleViewers', []],
  [{ WAYBILL_CONSOLE_VIEWERS: ' ann, ,bob,' }, 'consoleViewers', ['ann', 'bob']],
  [{ WAYBILL_CONSOLE_OPERATORS: '*' }, 'consoleOperators', ['*']],
  [{ WAYBILL_CONSOLE_HEALTH_DATA: 'x' }, 'consoleHealthData', ['x']],
])('%j gives %s: %j', (variables, name, value) => {
  expect(examined(variables).settings[name]).toEqual(value)
  expect(told(variables)).toEqual([])
})

it.each<[Variables, string]>([
  [{ ...CREDENTIALS, WAYBILL_GATEWAY_URL: 'gateway' }, 'WAYBILL_GATEWAY_URL is not an address'],
  [{ ...CREDENTIALS, WAYBILL_GATEWAY_URL: 'http://g.example' }, 'WAYBILL_GATEWAY_URL must be https'],
  [{ ...CREDENTIALS, WAYBILL_GATEWAY_URL: 'ftp://localhost' }, 'WAYBILL_GATEWAY_URL must be https'],
  [{ WAYBILL_GATEWAY_URL: 'https://g.example', WAYBILL_API_KEY: 'k' }, 'WAYBILL_ACCESS_TOKEN is needed'],
  [
    { WAYBILL_GATEWAY_URL: 'https://g.example', WAYBILL_ACCESS_TOKEN_COMMAND: 'c' },
    'WAYBILL_API_KEY is needed',
  ],
  [{ WAYBILL_KEY: '0123456789abcde' }, 'WAYBILL_KEY is shorter than 16'],
  [{ WAYBILL_LEDGER: 'mysql://db.example/w' }, 'WAYBILL_LEDGER is no address of PostgreSQL'],
  [{ WAYBILL_LEDGER: 'postgres:///w' }, 'WAYBILL_LEDGER is no address of PostgreSQL'],
  [{ WAYBILL_LEDGER: 'postgres://w:p@db.example/w' }, 'WAYBILL_LEDGER has a password'],
  [{ WAYBILL_LEDGER: 'postgres://db.example/w?password=p' }, 'WAYBILL_LEDGER has a password'],
  [
    { WAYBILL_LEDGER: 'postgres://db.example/w?sslmode=disable' },
    'WAYBILL_LEDGER reaches another machine without TLS (sslmode=disable)',
  ],
  [{ WAYBILL_LEDGER: 'postgres://db.example/w?sslmode=require' }, 'WAYBILL_LEDGER has the sslmode require'],
  [{ WAYBILL_LEDGER: 'postgres://db.example/w?user=x' }, 'WAYBILL_LEDGER has user; the parameters are'],
  [{ WAYBILL_RUN_BY: 'workers' }, 'WAYBILL_RUN_BY is workers, which needs WAYBILL_LEDGER'],
  [{ WAYBILL_RUN_BY: 'x' }, 'WAYBILL_RUN_BY is "x"'],
  [{ WAYBILL_LOG_LEVEL: 'loud' }, 'WAYBILL_LOG_LEVEL is "loud"; it must be one of error, warn, info, debug'],
  [{ WAYBILL_LOG_FORMAT: 'xml' }, 'WAYBILL_LOG_FORMAT is "xml"; it must be one of text, json'],
  [{ WAYBILL_MIN_FREE: '0KiB' }, 'WAYBILL_MIN_FREE is "0KiB"'],
  [{ WAYBILL_MIN_FREE: '10000GiB' }, 'WAYBILL_MIN_FREE is "10000GiB"'],
  [{ WAYBILL_AUDIT_KEEP: '0d' }, 'WAYBILL_AUDIT_KEEP is "0d"'],
  [{ WAYBILL_AUDIT_KEEP: '100000d' }, 'WAYBILL_AUDIT_KEEP is "100000d"'],
  [{ WAYBILL_AUDIT_KEEP: '6' }, 'WAYBILL_AUDIT_KEEP is "6"'],
  [{ WAYBILL_OTLP_ENDPOINT: 'http://c.example?x' }, 'WAYBILL_OTLP_ENDPOINT is "'],
  [{ WAYBILL_OTLP_ENDPOINT: 'http://c.example#x' }, 'WAYBILL_OTLP_ENDPOINT is "'],
  [{ WAYBILL_OTLP_ENDPOINT: 'http://u@c.example' }, 'WAYBILL_OTLP_ENDPOINT is "'],
  [{ WAYBILL_OTLP_ENDPOINT: 'c.example' }, 'WAYBILL_OTLP_ENDPOINT is "'],
  [
    { WAYBILL_OTLP_ENDPOINT: 'http://c.example', WAYBILL_OTLP_HEADERS: 'a=b' },
    'WAYBILL_OTLP_ENDPOINT must be https',
  ],
  [
    { WAYBILL_OTLP_ENDPOINT: 'http://c.example', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' },
    'WAYBILL_OTLP_ENDPOINT must be https',
  ],
  [
    { WAYBILL_OTLP_ENDPOINT: 'http://c.example', OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=b' },
    'WAYBILL_OTLP_ENDPOINT must be https',
  ],
  [{ WAYBILL_BEARER_ON_CONDITIONS_BULK: 'no' }, 'WAYBILL_BEARER_ON_CONDITIONS_BULK is "no"'],
  [
    { WAYBILL_SMTP_URL: 'http://m.example', WAYBILL_SMTP_FROM: 'a@b.example' },
    'WAYBILL_SMTP_URL is not a mail server',
  ],
  [{ WAYBILL_SMTP_URL: 'smtp:', WAYBILL_SMTP_FROM: 'a@b.example' }, 'WAYBILL_SMTP_URL is not a mail server'],
  [
    { WAYBILL_SMTP_URL: 'smtp://m.example?x', WAYBILL_SMTP_FROM: 'a@b.example' },
    'WAYBILL_SMTP_URL has a query',
  ],
  [{ WAYBILL_SMTP_URL: 'smtp://m.example' }, 'WAYBILL_SMTP_FROM is needed'],
  [{ WAYBILL_SMTP_FROM: 'Waybill' }, 'WAYBILL_SMTP_FROM has no mail address'],
  [{ WAYBILL_WEBHOOK_SECRET: `whsec_${'!'.repeat(40)}` }, 'WAYBILL_WEBHOOK_SECRET must be whsec_'],
  [{ WAYBILL_CONSOLE_URL: 'http://w.example' }, 'WAYBILL_CONSOLE_URL is "'],
  [{ WAYBILL_CONSOLE_TLS_CERT: 'c' }, 'WAYBILL_CONSOLE_TLS_CERT needs'],
  [{ WAYBILL_CONSOLE_TLS_KEY: 'k' }, 'WAYBILL_CONSOLE_TLS_CERT needs'],
  [{ WAYBILL_CONSOLE_ISSUER: 'https://l.example' }, 'WAYBILL_CONSOLE_ISSUER needs'],
  [{ WAYBILL_CONSOLE_CLIENT_ID: 'c' }, 'WAYBILL_CONSOLE_ISSUER needs'],
  [
    {
      ...{ WAYBILL_CONSOLE_ISSUER: 'https://l.example', WAYBILL_CONSOLE_CLIENT_ID: 'c' },
      WAYBILL_CONSOLE_PROXY_SECRET: '0123456789abcdef',
    },
    'WAYBILL_CONSOLE_ISSUER does not go with',
  ],
  [{ WAYBILL_CONSOLE_PROXY_SECRET: '0123456789abcde' }, 'WAYBILL_CONSOLE_PROXY_SECRET is shorter than 16'],
  [{ AWS_ENDPOINT_URL: 'http://s.example' }, 'AWS_ENDPOINT_URL must be https'],
  [{ AWS_ENDPOINT_URL_S3: 'http://s.example' }, 'AWS_ENDPOINT_URL_S3 must be https'],
  [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'NODE_TLS_REJECT_UNAUTHORIZED is 0'],
  [{ WAYBILL_API_KEY_FILE: 'none' }, 'WAYBILL_API_KEY_FILE cannot be read'],
])('%j is refused: %s', (variables, finding) => {
  expect(told(variables)).toEqual([expect.stringContaining(finding)])
})

it.each<Variables>([
  { AWS_ENDPOINT_URL: '' },
  { AWS_ENDPOINT_URL: 'http://127.0.0.1:9000' },
  { AWS_ENDPOINT_URLS: 'http://s.example' },
  { NODE_TLS_REJECT_UNAUTHORIZED: '1' },
  { WAYBILL_CORPUS: '/x' },
  { WAYBILL_NOTICE_TITLE: 'x' },
  { OTEL_EXPORTER_OTLP_HEADERS: 'a=b' },
])('%j is no problem', (variables) => {
  expect(told(variables)).toEqual([])
})

it('counts the wrong settings, and gives each', () => {
  const wrong = { WAYBILL_LOG_LEVEL: 'x', WAYBILL_LOG_FORMAT: 'y' }
  expect(() => readSettings(wrong, '/srv', 'ignored')).toThrow(
    expect.objectContaining({ message: '2 settings are wrong', findings: examined(wrong).findings }),
  )
  expect(() => readSettings({ WAYBILL_LOG_LEVEL: 'x' }, '/srv', 'ignored')).toThrow('a setting is wrong')
})

it('a secret comes from its file, if not also from its variable', async () => {
  const folder = await temporaryFolder()
  writeFileSync(join(folder, 'secret'), ' s3cret\n', { mode: 0o600 })
  const secrets = VARIABLES.filter((name) => VARIABLES.includes(`${name}_FILE`))
  expect(secrets.length).toBeGreaterThan(8)
  for (const name of secrets.filter((one) => one.endsWith('_KEY'))) {
    const one = examineSettings({ [`${name}_FILE`]: 'secret' }, folder, 'ignored')
    expect(Object.values(one.settings), name).toContain('s3cret')
    const both = examineSettings({ [name]: 'other', [`${name}_FILE`]: 'secret' }, folder, 'ignored')
    expect(both.findings.map(({ message }) => message)).toContain(
      `is given twice, also as ${name}_FILE: choose one`,
    )
  }
})

it('commands of notices get what every program needs, and where Waybill is; no secrets', () => {
  const needed = Object.fromEntries(
    ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ', 'LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE']
      .concat('LC_MESSAGES', 'LC_TIME')
      .map((name) => [name, `of ${name}`]),
  )
  const { commandEnvironment } = examined({ ...needed, ...CREDENTIALS, OTHER: 'x' }).settings
  expect(commandEnvironment).toEqual({
    ...needed,
    ...{ WAYBILL_HOME: '/srv/.waybill', WAYBILL_JOBS: '/srv/jobs', WAYBILL_MAPPINGS: '/srv/mappings' },
  })
})
