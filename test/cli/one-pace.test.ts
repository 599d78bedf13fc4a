/** Two workers, two jobs, one gateway: what it permits holds for both together. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as rest } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Pot } from '../../src/load/share.ts'
import { emptySchema, rowsOf } from '../postgres/server.ts'
import { CLINIC, HEADER, JOB, openClinic } from './clinic.ts'
import { ended } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

const CEILING = 3
const LATENCY_MS = 25
const RETRY_AFTER_S = 3

/**
 * A gateway that takes its time, counts requests under way, and refuses one.
 * @param afterwards what then comes before its next answer
 */
async function countingGateway(url: string, refuses: number, afterwards: () => Promise<void>) {
  const seen = { most: 0, posts: [] as number[], refusedAt: 0 }
  let next = Promise.resolve()
  let underWay = 0
  const server = createServer((request, response) => {
    underWay += 1
    seen.most = Math.max(seen.most, underWay)
    response.once('close', () => {
      underWay -= 1
    })
    if (request.method === 'POST') seen.posts.push(Date.now())
    if (request.method === 'POST' && seen.posts.length === refuses) {
      seen.refusedAt = Date.now()
      next = afterwards()
      request.resume()
      response.writeHead(429, { 'retry-after': String(RETRY_AFTER_S) }).end('{}')
      return
    }
    const { method, headers, url: path } = request
    const onward = send(new URL(path ?? '', url), { method, headers }, (answer: IncomingMessage) => {
      setTimeout(async () => {
        await next
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      }, LATENCY_MS)
    })
    request.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { seen, url: `http://127.0.0.1:${port}` }
}

/**
 * Ends once each process has renewed its share twice since one of them has told of a wait: it heard of that at the first time.
 * @param isOver true when the wait is
 */
async function allHaveHeard(ledger: string, isOver: () => boolean): Promise<void> {
  const renewed = new Map<string, Set<number>>()
  let isTold = false
  let left: string[] = []
  while (!isOver() && (!isTold || left.length > 0)) {
    await rest(50)
    const [pace] = await rowsOf<{ state: string }>(ledger, 'select state from pace')
    const { hold, owners } = Pot.parse(JSON.parse(pace?.state ?? ''))
    isTold ||= hold !== null
    if (!isTold) continue
    for (const [name, { until }] of Object.entries(owners))
      renewed.set(name, (renewed.get(name) ?? new Set()).add(until))
    left = Object.keys(owners).filter((name) => (renewed.get(name)?.size ?? 0) < 3)
  }
}

test('two workers send no more at once than one may, and what one is asked to wait the other waits, too', async () => {
  const store = await startReferenceStore({ open: true })
  const WAYBILL_LEDGER = await emptySchema()
  const waitEnds = (): number => gateway.seen.refusedAt + RETRY_AFTER_S * 1_000
  let heardAt = 0
  const gateway = await countingGateway(store.url, 20, async () => {
    await allHaveHeard(WAYBILL_LEDGER, () => Date.now() > waitEnds())
    heardAt = gateway.seen.posts.length
  })
  const clinic = await openClinic({
    store,
    mapping: CLINIC,
    job: JOB,
    environment: {
      WAYBILL_LEDGER,
      WAYBILL_RUN_BY: 'workers',
      WAYBILL_GATEWAY_URL: gateway.url,
    },
  })
  const { workplace } = clinic
  const submit = `submit: { concurrency: ${CEILING}, batch: { records: 3 }, readLag: 100ms }`
  for (const name of ['east', 'west']) {
    await workplace.job(
      name,
      `exports: { from: ../inbox, match: "${name}.csv", mapping: clinic }\naccounts: { register: never }\n${submit}\n`,
    )
    const rows = Array.from({ length: 26 }, (_, at) => `${name}${at},2026-03-02,61,5.1,70.5,kg,\n`)
    await clinic.deliver(`${name}.csv`, HEADER + rows.join(''))
  }
  const workers = [workplace.start('worker'), workplace.start('worker')]
  onTestFinished(async () => {
    for (const worker of workers) {
      const over = ended(worker)
      worker.kill('SIGKILL')
      await over
    }
  })
  const asked = ['east', 'west'].map((name) => ended(workplace.start('run', name, '--json')))
  for (const one of asked) expect(await one).toMatchObject({ code: 0 })
  expect((await clinic.stored()).length).toBe(156)
  const { most, posts } = gateway.seen
  // Both send at once, and together no more than one may.
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(CEILING)
  // On a machine so busy that they hear of it when it is over, none is to wait.
  expect(posts.slice(heardAt).filter((at) => at < waitEnds())).toEqual([])
  expect(posts.length).toBeGreaterThanOrEqual(52)
})
