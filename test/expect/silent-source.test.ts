/** A source that takes a question and never answers: what is asked comes to its end, and so does the schedule. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readJob } from '../../src/definitions/definition-files.ts'
import { judgeJob } from '../../src/expect/expectation-watch.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { serveRaw } from '../gateway/loopback.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function silence(): Promise<string> {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  onTestFinished(() => void vi.unstubAllEnvs())
  return (await serveRaw(() => {})).url
}

async function ask(patience: AbortSignal) {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'jobs'))
  const source = `{ s3: { bucket: b, prefix: in, region: us-east-1, endpoint: "${await silence()}" } }`
  await writeFile(
    join(folder, 'jobs/nightly.yaml'),
    `job: nightly
mapping: m
exports: { from: ${source}, match: "*.csv", expect: { by: "30 1 * * *", zone: America/New_York } }
`,
  )
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const titles: string[] = []
  const parts = {
    ...{ ledger, gatewayOf: () => 'gateway', sources: {}, now: Date.now, patience: () => patience },
    tell: async (_: unknown, { title }: { readonly title: string }) => void titles.push(title),
  }
  const jobs = join(folder, 'jobs')
  const found = await judgeJob(parts, await readJob({ jobs, mappings: jobs }, 'nightly'))
  return { found, titles }
}

test('a look is given up after a while, and told as one that nobody could make', async () => {
  const { found, titles } = await ask(AbortSignal.timeout(300))
  expect(found.map(({ state }) => state)).toEqual(['unreachable'])
  expect(titles).toEqual([
    'Waybill: nightly: nobody could look whether exports have arrived at s3://b/in/*.csv (source-unreachable)',
  ])
})

test('who is interrupted does not wait, and has judged nothing', async () => {
  const interrupt = new AbortController()
  setTimeout(() => interrupt.abort(), 300)
  await expect(ask(interrupt.signal)).rejects.toMatchObject({ code: 'interrupted' })
})
