import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTeller } from '../../src/cli/teller.ts'
import { openLedger } from '../../src/ledger/open-ledger.ts'
import { readSettings } from '../../src/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { NOTICE } from '../notify/sample-notice.ts'

test('where the ledger cannot be used, what is told is delivered at once, and nobody is disturbed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-teller-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  await ledger.close()
  const [hook, never] = [await startHookServer(), await startHookServer(500)]
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
    owner: 'here:1',
  }
  const teller = createTeller(context, ledger)
  const on = 'failure'
  await teller.tell(NOTICE, [
    { webhook: `${hook.url}/`, on, folder },
    { webhook: `${never.url}/`, on, folder },
  ])
  await teller.deliver()
  expect(hook.received().map(({ data }) => data.title)).toEqual([NOTICE.title])
  expect(never.seen).toHaveLength(1)
  const job = 'job=nightly-screenings'
  expect(lines).toEqual([
    `warn  the notification run-ended cannot be kept: it is delivered now or not at all ${job}`,
    `warn  the notification run-ended to webhook ${new URL(never.url).host} was not delivered: it answered 500; it is given up ${job}`,
    expect.stringMatching(/^warn {2}notifications cannot be delivered: the ledger cannot be used/),
  ])
})
