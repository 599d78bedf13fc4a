import { describe, expect, it } from 'vitest'
import { JobDefinition } from '../../src/job/job-definition.ts'

const JOB = { job: 'nightly', exports: { from: 'inbox', match: '*.csv' }, mapping: 'm' }

describe('a job', () => {
  it('needs little, and has the defaults of the design', () => {
    expect(JobDefinition.parse(JOB)).toEqual({
      job: 'nightly',
      exports: [{ from: 'inbox', match: '*.csv' }],
      mapping: 'm',
      accounts: { register: 'missing' },
      submit: {
        concurrency: 8,
        batch: { records: 500, bytes: 1_048_576 },
        inDoubt: 'hold',
        patience: 1_800_000,
      },
    })
  })

  it('keeps what it says', () => {
    const job = JobDefinition.parse({
      ...JOB,
      exports: [{ from: 'a', match: '*', complete: { stableFor: '60s' }, mapping: 'n' }],
      schedule: { cron: '15 2 * * *', zone: 'America/New_York' },
      submit: { batch: { bytes: '64KiB' } },
      stopWhen: { rejectedRows: '5%' },
    })
    expect(job.exports[0]?.complete?.stableFor).toBe(60_000)
    expect(job.schedule?.missed).toBe('once')
    expect(job.submit).toMatchObject({ concurrency: 8, batch: { records: 500, bytes: 65_536 } })
    expect(job.stopWhen).toEqual({ rejectedRows: 0.05, after: 200 })
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
    [{ ...JOB, retries: 3 }, ''],
  ])('%j is refused at %s', (job, path) => {
    expect(JobDefinition.safeParse(job).error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })
})
