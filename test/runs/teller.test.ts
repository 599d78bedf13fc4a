import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { storedTargets, type Target } from '../../src/definitions/notify-definition.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { createTeller } from '../../src/runs/teller.ts'
import { readSettings } from '../../src/system/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { serve } from '../gateway/loopback.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { UNSENT } from '../notify/sample-notice.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function install() {
  const folder = await temporaryFolder()
  const ids = createAccountIdCipher(() => 'key')
  const ledger = await openLedger(join(folder, 'ledger.sqlite'), undefined, undefined, ids)
  const lines: string[] = []
  const print = (line: string): void => {
    lines.push(line.replace(/^\S+ /, '').trimEnd())
  }
  const context = {
    settings: readSettings({ WAYBILL_WEBHOOK_SECRET: SECRET, WAYBILL_JOBS: join(folder, 'jobs') }, folder),
    logger: createLogger({ level: 'info', form: 'text', print }, undefined, Date.now),
    now: Date.now,
    sleep: async () => {},
    randomHex: () => '00',
    owner: 'here:1#b1.500',
    isDead: () => false,
    version: '0.0.0',
  }
  return { folder, ledger, lines, context }
}

test('who delivers at the end of a run waits for what was begun before it, too', async () => {
  const { folder, ledger, context } = await install()
  onTestFinished(() => ledger.close())
  const answer = Promise.withResolvers<void>()
  const hook = await serve(async () => {
    await answer.promise
    return { status: 200 }
  })
  const target = { webhook: `${hook.url}/`, on: 'failure' as const, folder }
  const teller = createTeller(context, ledger, new Map([[UNSENT.job, [target]]]))
  await teller.tell(UNSENT, [target])
  const over: string[] = []
  const first = teller.deliver().then(() => over.push('first'))
  await vi.waitUntil(() => hook.seen.length === 1, { interval: 1, timeout: 60_000 })
  const second = teller.deliver().then(() => over.push('second'))
  // Nothing is due any more: alone, the second would be over.
  await ledger.notifications.claim(Date.now(), Date.now())
  await ledger.runs.list(1)
  expect(over).toEqual([])
  answer.resolve()
  await Promise.all([first, second])
  expect(over).toEqual(['first', 'second'])
})

test('where the ledger cannot be used, what is told is delivered at once, and nobody is disturbed', async () => {
  const { folder, ledger, lines, context } = await install()
  await ledger.close()
  const [hook, never] = [await startHookServer(), await startHookServer(500)]
  const teller = createTeller(context, ledger)
  const on = 'failure'
  await teller.tell(UNSENT, [
    { webhook: `${hook.url}/`, on, folder },
    { webhook: `${never.url}/`, on, folder },
  ])
  // Good news, which one of two wants.
  await teller.tell({ ...UNSENT, failure: false }, [
    { webhook: `${hook.url}/`, on, folder },
    { webhook: `${hook.url}/all`, on: 'always', folder },
  ])
  await teller.deliver()
  expect(hook.received().map(({ data }) => data.title)).toEqual([UNSENT.title, UNSENT.title])
  expect(hook.seen.map(({ url }) => url)).toEqual(['/', '/all'])
  expect(never.seen).toHaveLength(1)
  const job = 'job=nightly-screenings'
  expect(lines).toEqual([
    `warn  the notification run-ended cannot be stored: it is delivered now or never ${job}`,
    `warn  the notification run-ended to webhook ${new URL(never.url).host} was not delivered: the webhook answered 500; it is given up ${job}`,
    `warn  the notification run-ended cannot be stored: it is delivered now or never ${job}`,
    expect.stringMatching(/^warn {2}notifications cannot be delivered: the ledger cannot be used/),
  ])
})

test.each<
  [
    string,
    { here?: string; known?: readonly [place: 'jobs' | 'elsewhere', name: string]; last?: string },
    string[],
  ]
>([
  ['the file of the jobs folder', { here: 'here' }, ['here']],
  ['the file of the jobs folder, which has changed', { here: 'here', known: ['jobs', 'before'] }, ['here']],
  ['a file elsewhere, and one of its name', { here: 'here', known: ['elsewhere', 'away'] }, ['away', 'here']],
  ['a file elsewhere alone', { known: ['elsewhere', 'away'] }, ['away']],
  ['a file that was read, and is unreadable', { known: ['jobs', 'before'], last: 'last' }, ['before']],
  ['a file that nobody has read since the last run', { last: 'last' }, ['last']],
  ['no file', {}, []],
])('a stored notice goes to the targets of %s', async (_, { here, known, last }, expected) => {
  const { folder, ledger, lines, context } = await install()
  onTestFinished(() => ledger.close())
  const hook = await startHookServer()
  const at = (name: string, place: string): Target => ({
    ...{ webhook: `${hook.url}/${name}`, on: 'failure', folder: join(folder, place) },
  })
  await mkdir(join(folder, 'jobs'))
  if (here !== undefined)
    await writeFile(
      join(folder, 'jobs', `${UNSENT.job}.yaml`),
      `notify: { webhook: "${hook.url}/${here}" }\n`,
    )
  if (last !== undefined) await ledger.lastTargets.keep(UNSENT.job, storedTargets([at(last, 'jobs')]))
  const read = known === undefined ? [] : [[UNSENT.job, [at(known[1], known[0])]] as const]
  const all = ['here', 'before', 'away', 'last'].map((name) => at(name, 'jobs'))
  const teller = createTeller(context, ledger, new Map(read))
  await teller.tell(UNSENT, all)
  await teller.deliver()
  expect(hook.seen.map(({ url }) => url.slice(1)).sort()).toEqual(expected)
  // Each of the others is given up, or waits for a file that can be read.
  expect(lines).toHaveLength(all.length - expected.length)
})
