/** Each key of a job file with a value that it takes, at its edge, and with one that it does not (docs/jobs.md). */
import { expect, it } from 'vitest'
import { targetPlace } from '../../src/definitions/collect-definition.ts'
import { comparesDrift, JobDefinition } from '../../src/definitions/job-definition.ts'

type Keys = Readonly<Record<string, unknown>>

const EXPORTS = { from: 'inbox', match: '*.csv' }
const SENDS: Keys = { job: 'nightly', exports: EXPORTS, mapping: 'm' }
const COLLECTS: Keys = {
  job: 'nightly',
  people: 'known',
  collect: { what: ['biometrics'] },
  to: { folder: 'out' },
}
const ARTICLES: Keys = { job: 'nightly', collect: { what: ['articles'] }, to: { folder: 'out' } }
const SCHEDULE = { cron: '15 2 * * *', zone: 'Etc/UTC' }
const SFTP = { host: 'h', user: 'u', hostKey: `SHA256:${'A'.repeat(43)}` }
const S3 = { bucket: 'b', region: 'r' }

const ofExport = (keys: Keys): Keys => ({ ...SENDS, exports: { ...EXPORTS, ...keys } })
const ofExports = (keys: Keys): Keys => ({ ...SENDS, exports: [{ ...EXPORTS, ...keys }] })
const scheduled = (keys: Keys): Keys => ({ ...SENDS, schedule: { ...SCHEDULE, ...keys } })
const submitting = (submit: Keys): Keys => ({ ...SENDS, submit })
const collecting = (collect: Keys): Keys => ({ ...COLLECTS, collect: { what: ['biometrics'], ...collect } })

/** A job, the path of a key in what is read, and what stands there. */
it.each<[Keys, string, unknown]>([
  [{ ...SENDS, job: 'a1-b2-3' }, 'job', 'a1-b2-3'],
  [{ ...SENDS, gateway: ' https://g.example/api// ' }, 'gateway', 'https://g.example/api'],
  [{ ...SENDS, gateway: 'built-in/' }, 'gateway', 'built-in'],
  [scheduled({}), 'schedule.missed', 'once'],
  [scheduled({ missed: 'all' }), 'schedule.missed', 'all'],
  [scheduled({ missed: 'skip' }), 'schedule.missed', 'skip'],
  [scheduled({ done: '00:00' }), 'schedule.done', '00:00'],
  [scheduled({ digest: '23:59' }), 'schedule.digest', '23:59'],
  [scheduled({ retry: { every: '60s' } }), 'schedule.retry.every', 60_000],
  [SENDS, 'exports.length', 1],
  [{ ...SENDS, exports: [EXPORTS, { ...EXPORTS, mapping: 'n' }] }, 'exports.1.mapping', 'n'],
  [ofExport({ from: { sftp: { ...SFTP, port: 1 } } }), 'exports.0.from.sftp.port', 1],
  [ofExport({ from: { sftp: { ...SFTP, port: 65_535 } } }), 'exports.0.from.sftp.port', 65_535],
  [ofExport({ from: { sftp: { ...SFTP, keyFile: 'k' } } }), 'exports.0.from.sftp.keyFile', 'k'],
  [ofExport({ from: { s3: { ...S3, prefix: 'p/' } } }), 'exports.0.from.s3.prefix', 'p/'],
  [ofExport({ match: 'x' }), 'exports.0.match', 'x'],
  [ofExport({ complete: { marker: '{name}' } }), 'exports.0.complete.marker', '{name}'],
  [ofExport({ complete: { manifest: 'm' } }), 'exports.0.complete.manifest', 'm'],
  [ofExport({ verify: { checksum: 'c' } }), 'exports.0.verify.checksum', 'c'],
  [ofExport({ members: 'm' }), 'exports.0.members', 'm'],
  [ofExport({ encrypted: 'pgp' }), 'exports.0.encrypted', 'pgp'],
  [ofExport({ limits: { ratio: 1 } }), 'exports.0.limits.ratio', 1],
  [ofExport({ limits: { bytes: '1B' } }), 'exports.0.limits', { bytes: 1, ratio: 200 }],
  [ofExport({ archive: 'a' }), 'exports.0.archive', 'a'],
  [ofExport({ expect: { by: '1 2 * * *', zone: 'Etc/UTC' } }), 'exports.0.expect.count', 1],
  [ofExport({ expect: { by: '1 2 * * *', zone: 'Etc/UTC', count: 1 } }), 'exports.0.expect.count', 1],
  [{ ...SENDS, mapping: 'x' }, 'mapping', 'x'],
  [{ ...SENDS, catalog: 'x' }, 'catalog', 'x'],
  [{ ...SENDS, accounts: { register: 'never' } }, 'accounts.register', 'never'],
  [{ ...SENDS, careTeams: { changed: 'replace' } }, 'careTeams.changed', 'replace'],
  [{ ...SENDS, careTeams: { changed: 'keep' } }, 'careTeams.changed', 'keep'],
  [{ ...SENDS, careTeams: { missing: 'delete' } }, 'careTeams.missing', 'delete'],
  [{ ...SENDS, careTeams: { acrossAccounts: true } }, 'careTeams.acrossAccounts', true],
  [
    { ...SENDS, medicalRecords: { authorizations: 'f' } },
    'medicalRecords',
    { authorizations: 'f', uploadHosts: [] },
  ],
  [
    { ...SENDS, medicalRecords: { authorizations: 'f', uploadHosts: ['a.b', 'store-1.example'] } },
    'medicalRecords.uploadHosts',
    ['a.b', 'store-1.example'],
  ],
  [submitting({ concurrency: 1 }), 'submit.concurrency', 1],
  [submitting({ concurrency: 64 }), 'submit.concurrency', 64],
  [submitting({ batch: { records: 1 } }), 'submit.batch', { records: 1, bytes: 1_048_576 }],
  [submitting({ batch: { records: 10_000 } }), 'submit.batch.records', 10_000],
  [submitting({ batch: { bytes: '2KiB' } }), 'submit.batch', { records: 500, bytes: 2048 }],
  [submitting({ inDoubt: 'resend' }), 'submit.inDoubt', 'resend'],
  [submitting({ batchesAreAtomic: true }), 'submit.batchesAreAtomic', true],
  [submitting({ readLag: '0s' }), 'submit.readLag', 0],
  [submitting({ patience: '1m' }), 'submit.patience', 60_000],
  [{ ...SENDS, reads: { notFound: 'empty' } }, 'reads.notFound', 'empty'],
  [{ ...SENDS, drift: { after: 1 } }, 'drift.after', 1],
  [{ ...SENDS, drift: { after: 20 } }, 'drift.after', 20],
  [
    { ...SENDS, drift: { rows: 'off' } },
    'drift.rows',
    { warn: Number.POSITIVE_INFINITY, stop: Number.POSITIVE_INFINITY },
  ],
  [{ ...SENDS, drift: { rows: { stop: '0%' } } }, 'drift.rows', { warn: 0.5, stop: 0 }],
  [{ ...SENDS, drift: { values: { warn: '100%' } } }, 'drift.values', { warn: 1, stop: 0.5 }],
  [
    { ...SENDS, drift: { values: { stop: 'off' } } },
    'drift.values',
    { warn: 0.2, stop: Number.POSITIVE_INFINITY },
  ],
  [{ ...SENDS, stopWhen: { skippedRows: '5%' } }, 'stopWhen', { skippedRows: 0.05, after: 200 }],
  [{ ...SENDS, stopWhen: { rejectedRows: '5%', after: 0 } }, 'stopWhen', { rejectedRows: 0.05, after: 0 }],
  [
    { ...SENDS, heartbeat: 'https://hc-ping.com/x' },
    'heartbeat',
    { url: 'https://hc-ping.com/x', service: 'healthchecks' },
  ],
  [{ ...SENDS, heartbeat: 'https://cronitor.link/x' }, 'heartbeat.service', 'cronitor'],
  [
    { ...SENDS, heartbeat: { url: 'https://x.example', service: 'cronitor' } },
    'heartbeat.service',
    'cronitor',
  ],
  [{ ...SENDS, notify: { email: 'a@b.example' } }, 'notify', [{ email: 'a@b.example', on: 'failure' }]],
  [COLLECTS, 'exports', []],
  [COLLECTS, 'to', { folder: 'out', format: 'ndjson', only: 'all' }],
  [{ ...COLLECTS, to: { folder: 'o' } }, 'to.folder', 'o'],
  [{ ...COLLECTS, to: { folder: 'out', format: 'csv', only: 'changed' } }, 'to.format', 'csv'],
  [
    { ...COLLECTS, to: { sftp: SFTP } },
    'to',
    { sftp: { ...SFTP, port: 22, folder: '.' }, format: 'ndjson', only: 'all' },
  ],
  [
    { ...COLLECTS, to: { s3: S3, only: 'changed' } },
    'to',
    { s3: { ...S3, prefix: '' }, format: 'ndjson', only: 'changed' },
  ],
  [
    { ...COLLECTS, people: { exports: EXPORTS, mapping: 'p' } },
    'people',
    { exports: [EXPORTS], mapping: 'p' },
  ],
  [{ ...COLLECTS, mapping: 'm', people: { exports: [EXPORTS, EXPORTS] } }, 'people.exports.length', 2],
  [collecting({ language: 'en' }), 'collect.language', 'en'],
  [collecting({ language: 'zh-Hant-TW' }), 'collect.language', 'zh-Hant-TW'],
  [collecting({}), 'collect.deprecated', false],
  [collecting({ deprecated: true }), 'collect.deprecated', true],
  [collecting({ what: ['ageResult', 'careTeams'] }), 'collect.what', ['ageResult', 'careTeams']],
  [
    collecting({ what: ['requestStatus'], requests: [{ type: 'a', subType: '' }] }),
    'collect.requests',
    [{ type: 'a', subType: '' }],
  ],
  [
    { ...ARTICLES, collect: { what: ['articles'], articles: { page: { parameter: 'p' } } } },
    'collect.articles.page',
    { parameter: 'p', first: 1 },
  ],
  [
    { ...ARTICLES, collect: { what: ['articles'], articles: { page: { parameter: 'p', first: 0 } } } },
    'collect.articles.page.first',
    0,
  ],
  [
    { ...ARTICLES, collect: { what: ['articles'], articles: { filter: { a: 'b', c: 1 } } } },
    'collect.articles.filter',
    { a: 'b', c: 1 },
  ],
])('%j has %s: %j', (job, path, value) => {
  const read = JobDefinition.parse(job)
  expect(path.split('.').reduce<unknown>((within, key) => Reflect.get(Object(within), key), read)).toEqual(
    value,
  )
})

it.each<[Keys, string]>([
  [{ ...SENDS, job: 'Nightly' }, 'job'],
  [{ ...SENDS, job: 'a--b' }, 'job'],
  [{ ...SENDS, gateway: 'http://g.example' }, 'gateway'],
  [{ ...SENDS, gateway: 'g.example' }, 'gateway'],
  [scheduled({ cron: '15 2 * *' }), 'schedule.cron'],
  [scheduled({ missed: 'some' }), 'schedule.missed'],
  [scheduled({ done: '24:00' }), 'schedule.done'],
  [scheduled({ digest: '23:60' }), 'schedule.digest'],
  [scheduled({ retry: { every: '59999ms' } }), 'schedule.retry.every'],
  [ofExports({ match: '' }), 'exports.0.match'],
  [ofExports({ mapping: '' }), 'exports.0.mapping'],
  [ofExports({ complete: { marker: 'done' } }), 'exports.0.complete.marker'],
  [ofExports({ complete: { manifest: '' } }), 'exports.0.complete.manifest'],
  [ofExports({ complete: {} }), 'exports.0.complete'],
  [ofExports({ verify: { checksum: 'a\\b' } }), 'exports.0.verify.checksum'],
  [ofExports({ archive: '' }), 'exports.0.archive'],
  [{ ...SENDS, mapping: '' }, 'mapping'],
  [{ ...SENDS, catalog: '' }, 'catalog'],
  [{ ...SENDS, accounts: { register: 'always' } }, 'accounts.register'],
  [{ ...SENDS, careTeams: { changed: 'drop' } }, 'careTeams.changed'],
  [{ ...SENDS, medicalRecords: { authorizations: '' } }, 'medicalRecords.authorizations'],
  [
    { ...SENDS, medicalRecords: { authorizations: 'f', uploadHosts: ['localhost'] } },
    'medicalRecords.uploadHosts.0',
  ],
  [
    { ...SENDS, medicalRecords: { authorizations: 'f', uploadHosts: ['a.b', 'A.b'] } },
    'medicalRecords.uploadHosts.1',
  ],
  [submitting({ concurrency: 65 }), 'submit.concurrency'],
  [submitting({ batch: { records: 0 } }), 'submit.batch.records'],
  [submitting({ batch: { records: 10_001 } }), 'submit.batch.records'],
  [submitting({ readLag: '5' }), 'submit.readLag'],
  [{ ...SENDS, drift: { after: 0 } }, 'drift.after'],
  [{ ...SENDS, drift: { after: 21 } }, 'drift.after'],
  [{ ...SENDS, drift: { columns: 'on' } }, 'drift.columns'],
  [{ ...SENDS, stopWhen: {} }, 'stopWhen'],
  [{ ...SENDS, stopWhen: { rejectedRows: '5%', after: -1 } }, 'stopWhen.after'],
  [{ ...SENDS, mapping: undefined, exports: [{ ...EXPORTS, mapping: 'm' }, EXPORTS] }, 'exports.1'],
  [{ ...SENDS, exports: [EXPORTS, { ...EXPORTS, expect: { by: '1 2 * * *' } }] }, 'exports.1.expect.zone'],
  [{ ...SENDS, people: 'known' }, 'people'],
  [{ ...SENDS, to: { folder: 'out' } }, 'to'],
  [{ job: 'nightly', mapping: 'm' }, 'exports'],
  [{ ...COLLECTS, exports: [{ ...EXPORTS, mapping: 'm' }] }, 'exports'],
  [{ ...COLLECTS, to: undefined }, 'to'],
  [{ ...COLLECTS, people: undefined }, 'people'],
  [{ ...ARTICLES, people: 'known' }, 'people'],
  [{ ...COLLECTS, people: { exports: [{ ...EXPORTS, mapping: 'm' }, EXPORTS] } }, 'people.exports.1'],
  [collecting({ articles: {} }), 'collect.articles'],
  [collecting({ what: ['requestStatus'] }), 'collect.requests'],
  [collecting({ what: [] }), 'collect.what'],
  [collecting({ what: ['biometrics', 'conditions', 'biometrics'] }), 'collect.what'],
  [collecting({ what: ['biometrics', 'articles'] }), 'collect.what'],
  [collecting({ language: 'english language' }), 'collect.language'],
  [collecting({ language: 'e' }), 'collect.language'],
])('%j is refused at %s', (job, path) => {
  expect(JobDefinition.safeParse(job).error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
})

it.each([
  [{ to: { folder: '' } }],
  [{ to: { folder: 'o', format: 'xml' } }],
  [{ to: { folder: 'o', s3: S3 } }],
  [{ people: { exports: [] } }],
  [{ people: 'all' }],
])('%j is refused of a job that collects', (keys) => {
  expect(JobDefinition.safeParse({ ...COLLECTS, ...keys }).success).toBe(false)
})

it.each([
  { verify: {} },
  { limits: { ratio: 0 } },
  { limits: { bytes: '1' } },
  { members: '{x}' },
  { complete: { manifest: 'a/b' } },
  { complete: { manifest: '{date:YYYY}' } },
])('%j is refused of an export', (keys) => {
  expect(JobDefinition.safeParse(ofExport(keys)).success).toBe(false)
})

it.each([
  ['port', { ...SFTP, port: 0 }],
  ['port', { ...SFTP, port: 65_536 }],
  ['host', { ...SFTP, host: '' }],
  ['folder', { ...SFTP, folder: '' }],
  ['keyFile', { ...SFTP, keyFile: '' }],
])('a server with a wrong %s is refused: %j', (_, sftp) => {
  expect(JobDefinition.safeParse(ofExport({ from: { sftp } })).success).toBe(false)
})

it('a collection goes to a folder beside the job file, or aside and from there to a server', () => {
  const to = (keys: Keys) => JobDefinition.parse({ ...COLLECTS, to: keys }).to ?? expect.fail('no target')
  expect(targetPlace(to({ folder: 'out' }), '/jobs', '/aside')).toEqual({ folder: '/jobs/out' })
  expect(targetPlace(to({ s3: S3 }), '/jobs', '/aside')).toMatchObject({
    folder: '/aside',
    remote: { shown: 's3://b/' },
  })
})

const OFF = { columns: 'off', fit: 'off', checks: 'off' }
const LIMITS = ['rows', 'empty', 'mix', 'values', 'rejects', 'skipped'] as const
const NO_LIMITS = Object.fromEntries(LIMITS.map((name) => [name, 'off']))
const comparing = (drift: Keys): boolean => comparesDrift(JobDefinition.parse({ ...SENDS, drift }).drift)

it('a job compares exports unless every comparison is off', () => {
  expect(comparing({ ...OFF, ...NO_LIMITS })).toBe(false)
  for (const name of Object.keys(OFF))
    expect(comparing({ ...OFF, ...NO_LIMITS, [name]: 'warn' }), name).toBe(true)
  for (const name of LIMITS)
    for (const only of [
      { warn: '1%', stop: 'off' },
      { warn: 'off', stop: '1%' },
    ])
      expect(comparing({ ...OFF, ...NO_LIMITS, [name]: only }), name).toBe(true)
})
