import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
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
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  const lines: string[] = []
  const print = (line: string): void => {
    lines.push(line.replace(/^\S+ /, '').trimEnd())
  }
  const context = {
    settings: readSettings({ WAYBILL_WEBHOOK_SECRET: SECRET }, folder),
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
  await teller.deliver()
  expect(hook.received().map(({ data }) => data.title)).toEqual([UNSENT.title])
  expect(never.seen).toHaveLength(1)
  const job = 'job=nightly-screenings'
  expect(lines).toEqual([
    `warn  the notification run-ended cannot be stored: it is delivered now or never ${job}`,
    `warn  the notification run-ended to webhook ${new URL(never.url).host} was not delivered: the webhook answered 500; it is given up ${job}`,
    expect.stringMatching(/^warn {2}notifications cannot be delivered: the ledger cannot be used/),
  ])
})
