/** A source that takes a question and never answers: what is asked comes to its end, and so does the schedule. */
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Job, readJob } from '../../src/definitions/definition-files.ts'
import { type ExpectationParts, judgeJob, planLooks } from '../../src/expect/expectation-watch.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { serveRaw } from '../gateway/loopback.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** @param asked called with each question */
async function silence(asked: () => void): Promise<string> {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  onTestFinished(() => void vi.unstubAllEnvs())
  return (await serveRaw(asked)).url
}

interface Silent {
  readonly patience?: AbortSignal
  /** Called with each question to the source. */
  readonly asked?: () => void
  /** Sources of the job, beside the silent one. */
  readonly more?: string
}

async function watch({ patience = new AbortController().signal, asked = () => {}, more = '' }: Silent) {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'jobs'))
  const source = `{ s3: { bucket: b, prefix: in, region: us-east-1, endpoint: "${await silence(asked)}" } }`
  await writeFile(
    join(folder, 'jobs/nightly.yaml'),
    `job: nightly
mapping: m
exports:
  - { from: ${source}, match: "*.csv", expect: { by: "30 1 * * *", zone: America/New_York } }
${more}`,
  )
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const titles: string[] = []
  const parts = {
    ...{ ledger, gatewayOf: () => 'gateway', sources: {}, now: Date.now, patience: () => patience },
    tell: async (_: unknown, { title }: { readonly title: string }) => void titles.push(title),
  }
  const jobs = join(folder, 'jobs')
  return { parts, titles, job: await readJob({ jobs, mappings: jobs }, 'nightly') }
}

test('a look is given up after a while, and told as one that nobody could make', async () => {
  const patience = new AbortController()
  const asked = (): void => patience.abort(new DOMException('The patience is over', 'TimeoutError'))
  const { parts, job, titles } = await watch({ patience: patience.signal, asked })
  const temporary = await temporaryFolder()
  vi.stubEnv('TMPDIR', temporary)
  const found = await judgeJob(parts, job)
  expect(await readdir(temporary)).toEqual([])
  expect(found.map(({ state }) => state)).toEqual(['unreachable'])
  expect(titles).toEqual([
    'Waybill: nightly: exports at s3://b/in/*.csv could not be checked (source-unreachable)',
  ])
})

test('who is interrupted does not wait, and has judged nothing', async () => {
  const interrupt = new AbortController()
  const { parts, job } = await watch({ patience: interrupt.signal, asked: () => interrupt.abort() })
  await expect(judgeJob(parts, job)).rejects.toMatchObject({ code: 'interrupted' })
})

test.each([
  ['the schedule', async (parts: ExpectationParts, job: Job) => (await planLooks(parts, job)).look?.()],
  ['waybill expect', judgeJob],
])('a source that says nothing keeps no other one of the job waiting: %s', async (_, look) => {
  const interrupt = new AbortController()
  const gone = '  - { from: ../gone, match: "*.csv", expect: { by: "30 1 * * *", zone: America/New_York } }\n'
  const { parts, job, titles } = await watch({ patience: interrupt.signal, more: gone })
  const looked = look(parts, job)
  await vi.waitFor(
    () =>
      expect(titles).toEqual([
        expect.stringContaining('gone/*.csv could not be checked (export-unreadable)'),
      ]),
    { timeout: 60_000 },
  )
  interrupt.abort()
  await expect(looked).rejects.toMatchObject({ code: 'interrupted' })
})

test('of the dates in the names of exports, the latest three are named, whatever came last', async () => {
  const folder = await temporaryFolder()
  const inbox = join(folder, 'in')
  await mkdir(inbox)
  const expected = 'expect: { by: "30 1 * * *", zone: Etc/UTC }'
  await writeFile(
    join(folder, 'nightly.yaml'),
    `job: nightly\nmapping: m\nexports: { from: in, match: "a_{date:yyyyMMdd}.csv", ${expected} }\n`,
  )
  const now = Date.parse('2026-03-09T12:00:00Z')
  for (const [at, day] of ['06', '08', '02', '07', '05'].entries()) {
    const file = join(inbox, `a_202603${day}.csv`)
    await writeFile(file, 'x')
    const written = new Date(now - (12 + at) * 3_600_000)
    await utimes(file, written, written)
  }
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const parts = {
    ...{ ledger, gatewayOf: () => 'gateway', sources: {}, now: () => now },
    ...{ patience: () => new AbortController().signal, tell: async () => {} },
  }
  const job = await readJob({ jobs: folder, mappings: folder }, 'nightly')
  const [found] = await judgeJob(parts, job)
  expect(found?.latestDates).toEqual(['2026-03-06', '2026-03-07', '2026-03-08'])
})
