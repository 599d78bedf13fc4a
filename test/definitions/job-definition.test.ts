import { describe, expect, it, test } from 'vitest'
import { jobSource } from '../../src/definitions/export-definition.ts'
import { JobDefinition } from '../../src/definitions/job-definition.ts'

const NIGHTLY = { cron: '15 2 * * *', zone: 'America/New_York' }
const JOB = { job: 'nightly', exports: { from: 'inbox', match: '*.csv' }, mapping: 'm' }

const expecting = (expect: object) => ({ ...JOB, exports: [{ ...JOB.exports, expect }] })

const TWO_MAPPINGS = ['a', 'b'].map((mapping) => ({ from: 'in', match: `${mapping}.csv`, mapping }))

describe('a job', () => {
  it('needs little, and has the defaults of the design', () => {
    expect(JobDefinition.parse(JOB)).toEqual({
      job: 'nightly',
      exports: [{ from: 'inbox', match: '*.csv' }],
      mapping: 'm',
      accounts: { register: 'missing' },
      careTeams: { changed: 'add', missing: 'keep', acrossAccounts: false },
      submit: {
        concurrency: 8,
        batch: { records: 500, bytes: 1_048_576 },
        inDoubt: 'hold',
        batchesAreAtomic: false,
        readLag: 5_000,
        patience: 1_800_000,
      },
      parts: 1,
      reads: { notFound: 'unknown' },
      drift: {
        columns: 'warn',
        rows: { warn: 0.5, stop: Number.POSITIVE_INFINITY },
        empty: { warn: 0.2, stop: Number.POSITIVE_INFINITY },
        mix: { warn: 0.2, stop: Number.POSITIVE_INFINITY },
        values: { warn: 0.2, stop: 0.5 },
        rejects: { warn: 0.2, stop: 0.8 },
        fit: 'warn',
        skipped: { warn: 0.2, stop: Number.POSITIVE_INFINITY },
        checks: 'warn',
        after: 3,
      },
      notify: [],
    })
  })

  it('keeps what it says', () => {
    const job = JobDefinition.parse({
      ...JOB,
      exports: [{ from: 'a', match: '*', complete: { stableFor: '60s' }, mapping: 'n' }],
      schedule: { ...NIGHTLY, retry: { every: '1m', until: '06:00' } },
      submit: { batch: { bytes: '64KiB' } },
      stopWhen: { rejectedRows: '5%' },
    })
    expect(job.exports[0]?.complete?.stableFor).toBe(60_000)
    expect(job.schedule).toEqual({
      ...NIGHTLY,
      missed: 'once',
      retry: { every: 60_000, until: '06:00' },
    })
    expect(job.submit).toMatchObject({ concurrency: 8, batch: { records: 500, bytes: 65_536 } })
    expect(job.stopWhen).toEqual({ rejectedRows: 0.05, after: 200 })
  })

  it('may expect exports, in a zone of its own or that of the schedule', () => {
    const schedule = { cron: '15 2 * * *', zone: 'America/New_York' }
    const { exports } = JobDefinition.parse({ ...expecting({ by: '30 1 * * *', size: '50%' }), schedule })
    const source = exports.map((one) => jobSource(one, 'm', '/jobs', schedule.zone).expect)
    expect(source).toEqual([{ by: '30 1 * * *', zone: 'America/New_York', count: 1, size: 0.5 }])
    const [own] = JobDefinition.parse(expecting({ by: '30 1 * * *', zone: 'Etc/UTC', count: 3 })).exports
    expect(own && jobSource(own, 'm', '/jobs').expect).toEqual({
      ...{ by: '30 1 * * *', zone: 'Etc/UTC', count: 3, size: undefined },
    })
  })

  it.each([
    [{ ...JOB, mapping: undefined }, 'exports.0'],
    [{ ...JOB, job: 'Nightly Run' }, 'job'],
    [{ ...JOB, exports: [] }, 'exports'],
    [{ ...JOB, submit: { concurrency: 0 } }, 'submit.concurrency'],
    [{ ...JOB, submit: { inDoubt: 'guess' } }, 'submit.inDoubt'],
    [{ ...JOB, stopWhen: { rejectedRows: '500%' } }, 'stopWhen.rejectedRows'],
    [{ ...JOB, schedule: { cron: '15 2 * * *' } }, 'schedule.zone'],
    [{ ...JOB, schedule: { cron: '15 2 * * *', zone: 'New York' } }, 'schedule.zone'],
    [{ ...JOB, schedule: { ...NIGHTLY, retry: { every: '59s' } } }, 'schedule.retry.every'],
    [{ ...JOB, schedule: { ...NIGHTLY, retry: { every: '15m', until: '6:00' } } }, 'schedule.retry.until'],
    [{ ...JOB, schedule: { ...NIGHTLY, retry: { every: '15m', until: '24:00' } } }, 'schedule.retry.until'],
    [{ ...JOB, careTeams: { missing: 'delete' }, exports: TWO_MAPPINGS }, 'careTeams.missing'],
    [{ ...JOB, retries: 3 }, ''],
    [expecting({ by: '30 1 * * 1-5' }), 'exports.0.expect.zone'],
    [expecting({ by: '30 25 * * *', zone: 'Etc/UTC' }), 'exports.0.expect.by'],
    [expecting({ by: '30 1 * * *', zone: 'New York' }), 'exports.0.expect.zone'],
    [expecting({ by: '30 1 * * *', zone: 'Etc/UTC', count: 0 }), 'exports.0.expect.count'],
    [expecting({ by: '30 1 * * *', zone: 'Etc/UTC', size: '1MB' }), 'exports.0.expect.size'],
    [expecting({ by: '30 1 * * *', zone: 'Etc/UTC', at: 1 }), 'exports.0.expect'],
  ])('%j is refused at %s', (job, path) => {
    expect(JobDefinition.safeParse(job).error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })
})

describe('where exports arrive', () => {
  const parse = (fields: object) =>
    JobDefinition.safeParse({ ...JOB, exports: { from: 'in', match: '*.csv', ...fields } })
  const SFTP = { host: 'h', user: 'u', hostKey: `SHA256:${'A'.repeat(43)}` }
  const S3 = { bucket: 'b', region: 'r' }

  it('may be a server, with the defaults of its kind', () => {
    expect(parse({ from: { sftp: SFTP } }).data?.exports[0]?.from).toEqual({
      sftp: { ...SFTP, port: 22, folder: '.' },
    })
    expect(parse({ from: { s3: S3 } }).data?.exports[0]?.from).toEqual({ s3: { ...S3, prefix: '' } })
  })

  it('has limits, also where one is given', () => {
    expect(parse({ limits: { ratio: 50 } }).data?.exports[0]?.limits).toEqual({
      bytes: 10 * 1024 ** 3,
      ratio: 50,
    })
  })

  it.each<[string, object]>([
    ['no host key', { from: { sftp: { host: 'h', user: 'u' } } }],
    ['a fingerprint in MD5', { from: { sftp: { ...SFTP, hostKey: 'MD5:aa:bb' } } }],
    ['a fingerprint cut short', { from: { sftp: { ...SFTP, hostKey: 'SHA256:AAAA' } } }],
    ['a password in the job', { from: { sftp: { ...SFTP, password: 'p' } } }],
    ['two servers', { from: { sftp: SFTP, s3: S3 } }],
    ['plain http', { from: { s3: { ...S3, endpoint: 'http://storage.example' } } }],
    ['an address that is none', { from: { s3: { ...S3, endpoint: 'storage' } } }],
    ['nothing to be complete by', { complete: {} }],
    ['one marker for all', { complete: { marker: 'done' } }],
    ['a marker elsewhere', { complete: { marker: '../{name}.done' } }],
    ['encryption by another means', { encrypted: 'zip' }],
  ])('%s is refused', (_, fields) => {
    expect(parse(fields).success).toBe(false)
  })

  it.each(['http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000', 'https://s.example'])(
    'an endpoint may be %s',
    (endpoint) => {
      expect(parse({ from: { s3: { ...S3, endpoint } } }).success).toBe(true)
    },
  )
})

test.each([
  ['a_{date:YYYYMMDD}.csv', 'years are y'],
  ['a_{datum:yyyyMMdd}.csv', 'but the only placeholder is {date:FORMAT}'],
  ['inbox/a.csv', 'names a folder'],
])('a pattern that no name can fit is refused where it stands: %s', (match, said) => {
  const { error } = JobDefinition.safeParse({ ...JOB, exports: { from: 'inbox', match } })
  expect(JSON.stringify(error?.issues)).toContain(said)
})
