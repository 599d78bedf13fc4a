/** When a source is looked at again, and what a second look finds: beside the schedule, by one clock. */
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readJob } from '../../src/definitions/definition-files.ts'
import {
  type ExpectationParts,
  judgeJob,
  planLooks,
  watchedSources,
} from '../../src/expect/expectation-watch.ts'
import type { DeadlineState } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { at, MONDAY } from './nightly-questions.ts'

/** Exports by half past one UTC each night, at rest for a minute, half as large as usual at least. */
async function watch() {
  const folder = await temporaryFolder()
  const [jobs, inbox] = [join(folder, 'jobs'), join(folder, 'inbox')]
  await Promise.all([jobs, inbox].map((one) => mkdir(one)))
  const source =
    '{ from: ../inbox, match: "*.csv", complete: { stableFor: 60s }, expect: { by: "30 1 * * *", zone: Etc/UTC, size: 50% } }'
  await writeFile(join(jobs, 'nightly.yaml'), `job: nightly\nmapping: m\nexports: [${source}]\n`)
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const titles: string[] = []
  let time = 0
  const parts: ExpectationParts = {
    ...{ ledger, gatewayOf: () => 'gateway', now: () => time, patience: () => new AbortController().signal },
    sources: { keyFile: undefined, passphraseFile: undefined, verifyKeyFile: undefined },
    tell: async (_, { title }) => void titles.push(title),
  }
  const job = await readJob({ jobs, mappings: jobs }, 'nightly')
  return {
    titles,
    moveTo(text: string) {
      time = at(text)
    },
    async deliver(name: string, bytes: number, modified: string) {
      const file = join(inbox, name)
      await writeFile(file, 'x'.repeat(bytes))
      await utimes(file, at(modified) / 1000, at(modified) / 1000)
    },
    look: async () => (await judgeJob(parts, job)).map(({ state, small }) => `${state} ${small.length}`),
    async judged(state: DeadlineState, when: string) {
      const [watched] = watchedSources(job)
      if (watched === undefined) return expect.fail('nothing is expected')
      await ledger.expectations.judge({
        ...watched.key,
        ...{ due: MONDAY.due, judged_at: at(when), state, expected: 1, arrived: 0, small: 0, known: '[]' },
      })
    },
    plan: () => planLooks(parts, job),
  }
}

// The next deadline is judged when what came by then has been at rest for a minute.
const NEXT = '03T01:31'
test.each<[DeadlineState, judged: string, now: string, next: string]>([
  ['missing', '02T03:00', '02T03:01', '02T03:15'],
  // Half way to the next deadline: what is found from then on counts for that.
  ['missing', '02T13:20', '02T13:21', '02T13:30'],
  ['missing', '02T13:30', '02T13:31', NEXT],
  ['unreachable', '02T13:30', '02T13:31', '02T13:45'],
  ['late', '02T03:00', '02T03:01', NEXT],
  ['arrived', '02T03:00', '02T03:01', NEXT],
])('%s at %s is looked at next, from %s on, at %s', async (state, judged, now, next) => {
  const source = await watch()
  source.moveTo(now)
  await source.judged(state, judged)
  expect(await source.plan()).toEqual({ next: at(next), look: undefined })
})

test('missing is looked at again once a quarter of an hour has passed', async () => {
  const source = await watch()
  await source.judged('missing', '02T03:00')
  source.moveTo('02T03:14:59.999')
  expect((await source.plan()).look).toBeUndefined()
  source.moveTo('02T03:15')
  expect((await source.plan()).look).toBeDefined()
})

test('what was late stays late, however often it is looked at', async () => {
  const source = await watch()
  source.moveTo('02T01:40')
  expect(await source.look()).toEqual(['missing 0'])
  // Of the time before the deadline, and seen only now.
  await source.deliver('a.csv', 1000, '02T01:00')
  source.moveTo('02T02:00')
  expect(await source.look()).toEqual(['late 0'])
  expect(await source.look()).toEqual(['late 0'])
})
