/** The checks of the drill with workers see what they are to see. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { watchGateway } from '../../drill/gateway-watch.ts'
import { watchTakeovers } from '../../drill/takeovers.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { emptySchema } from '../postgres/server.ts'

afterEach(() => void vi.useRealTimers())

test('requests at once are counted, and those within a wait, from the second in which all have heard of it', async () => {
  const arrived = Promise.withResolvers<void>()
  let underWay = 0
  const server = createServer((request, response) => {
    if (request.url === '/busy') response.writeHead(429, { 'retry-after': '3' })
    if (request.url !== '/slow') response.end()
    else if (++underWay === 3) arrived.resolve()
    if (request.url === '/slow') void arrived.promise.then(() => response.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const watch = watchGateway(port)
  const ask = async (path: string): Promise<unknown> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).text()
  await Promise.all([ask('/slow'), ask('/slow'), ask('/slow')])
  expect(watch.most()).toBe(3)

  vi.useFakeTimers({ toFake: ['Date'] })
  const refusedAt = Date.now()
  await ask('/busy')
  expect(watch.holds()).toBe(1)
  const early: number[] = []
  for (const after of [100, 1_600, 1_800, 2_900, 3_100]) {
    vi.setSystemTime(refusedAt + after)
    await ask('/fast')
    early.push(watch.early())
  }
  expect(early).toEqual([0, 0, 1, 2, 2])
  vi.setSystemTime(refusedAt + 1_900)
  watch.woke()
  await ask('/fast')
  expect(watch.early()).toBe(2)
})

test('a takeover is timed from the lease of one machine to that of another', async () => {
  const url = await emptySchema()
  const ledger = await openPostgresLedger({ url })
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('drill', 'gateway')
  const take = (owner: string) =>
    ledger.leases.acquire({ jobId, runId: owner, owner, now: 0, ttlMs: 60_000 }, () => true)
  await take('machine-1:1#a')
  const takeovers = watchTakeovers(url)
  const held = await takeovers.held()
  expect(held).toEqual([{ machine: 'machine-1', job: jobId, token: 1 }])
  const timed = takeovers.untilTaken(held)
  let isTaken = false
  void timed.then(() => {
    isTaken = true
  })
  await expect.poll(() => takeovers.held()).toEqual(held)
  expect(isTaken).toBe(false)
  await take('machine-2:1#b')
  expect(await timed).toBeGreaterThan(0)
})
