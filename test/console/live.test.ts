/** Pages that are told of changes, with each second handed in. */
import { appendFile, writeFile } from 'node:fs/promises'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLive } from '../../src/console/live.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** An open page, and seconds that pass one at a time. */
async function openPage(environment: Readonly<Record<string, string>> = {}) {
  const home = await temporaryFolder()
  const seconds: { pass: () => void; waited: number }[] = []
  const live = createLive({
    settings: readSettings({ WAYBILL_HOME: home, ...environment }, home),
    sleep: (waited, signal) =>
      new Promise((pass, end) => {
        signal?.addEventListener('abort', () => end(signal.reason))
        seconds.push({ pass, waited })
      }),
  })
  const server = createServer((_, response) => live.join(response)).listen(0, '127.0.0.1')
  await new Promise((listening) => server.on('listening', listening))
  onTestFinished(async () => {
    await live.close()
    server.closeAllConnections()
    server.close()
  })
  let text = ''
  const open = () =>
    new Promise<() => void>((opened) => {
      const { port } = server.address() as AddressInfo
      const request = get({ host: '127.0.0.1', port }, (response) => {
        response.setEncoding('utf8').on('data', (some: string) => {
          text += some
          if (text.startsWith(': open')) opened(() => request.destroy())
        })
        response.on('error', () => {})
      })
    })
  const pass = async (): Promise<number | undefined> => {
    await expect.poll(() => seconds.length).toBe(1)
    const second = seconds.shift()
    second?.pass()
    await expect.poll(() => seconds.length).toBe(1)
    return second?.waited
  }
  const told = (): number => text.split('data: changed\n\n').length - 1
  return { home, live, open, pass, told, text: () => text }
}

test.each(['ledger.sqlite', 'ledger.sqlite-wal', 'refused'])(
  'a change of %s is told at the next look, once',
  async (file) => {
    const { home, open, pass, told, text } = await openPage()
    await open()
    expect(await pass()).toBe(1_000)
    expect(text()).toBe(': open\n\n')
    await writeFile(join(home, file), 'x')
    await pass()
    await expect.poll(told).toBe(1)
    await pass()
    await appendFile(join(home, file), 'y')
    await pass()
    await expect.poll(told).toBe(2)
  },
)

test.each([
  ['thirty looks in vain', {}, 30],
  ['three, where the ledger is on a server', { WAYBILL_LEDGER: 'postgresql://db.example/waybill' }, 3],
])('after %s the page is told all the same', async (_, environment, looks) => {
  const { open, pass, told } = await openPage(environment)
  await open()
  for (let at = 1; at < looks; at++) await pass()
  expect(told()).toBe(0)
  await pass()
  await expect.poll(told).toBe(1)
  for (let at = 1; at < looks; at++) await pass()
  expect(told()).toBe(1)
  await pass()
  await expect.poll(told).toBe(2)
})

test('nobody looks while no page is open, and the first to come hears of what changed before', async () => {
  const { home, open, pass, told } = await openPage()
  for (let at = 0; at < 40; at++) await pass()
  await writeFile(join(home, 'ledger.sqlite'), 'x')
  await pass()
  await open()
  expect(told()).toBe(0)
  await pass()
  await expect.poll(told).toBe(1)
})

test('the streams end with the console', async () => {
  const { live, open, pass } = await openPage()
  await open()
  await pass()
  await live.close()
  // Nothing waits any more: a second close has nothing to wait for, either.
  await live.close()
})
