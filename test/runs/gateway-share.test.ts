/** Shares of a gateway over a real PostgreSQL; the clock of the sending process is handed in. */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { type Asked, Pot, RENEW_MS, SHARE_MS, SHORT_MS } from '../../src/load/share.ts'
import { openShare } from '../../src/runs/gateway-share.ts'
import { identify } from '../../src/system/process-identity.ts'
import { emptySchema } from '../postgres/server.ts'

const GATEWAY = 'https://gateway.example'
let shares = 0

/** A process with its own connections to the database, or another run of that process. */
async function sender(url: string, host: string) {
  const ledger = await openPostgresLedger({ url })
  const clock = { now: 1_000, renewals: 0 }
  const sleep = async (_ms: number, signal: AbortSignal): Promise<void> => {
    clock.renewals += 1
    await delay(5, undefined, { signal })
  }
  const paces = ledger.paces ?? expect.fail('a ledger of one machine')
  const table = { place: undefined, isThere: () => true, begunAt: () => undefined }
  const parts = { ...identify(host, 1, 'one', table), sleep, randomHex: () => String(++shares) }
  const share = openShare(parts, paces, GATEWAY)
  onTestFinished(async () => {
    await share.close()
    await ledger.close()
  })
  const never = () => new Promise<never>(() => {})
  const dispatcher = createDispatcher({ now: () => clock.now, random: () => 0, sleep: never, share })
  const lane = dispatcher.lane(4, new AbortController().signal)
  return { ledger, clock, share, lane }
}

test('a process whose connection to the database is cut sends nothing once its share has run out', async () => {
  const { ledger, clock, lane } = await sender(await emptySchema(), 'a')
  let sent = 0
  const request = async (): Promise<void> => void ++sent
  await lane.run('new', request)
  await ledger.close()
  clock.now += SHARE_MS - 1
  await lane.run('new', request)
  clock.now += 1
  void lane.run('new', request)
  const tried = clock.renewals
  await expect.poll(() => clock.renewals).toBeGreaterThan(tried + 3)
  expect(sent).toBe(2)
})

test('a process that ends gives its slots to the next one at once', async () => {
  const url = await emptySchema()
  const [first, second] = [await sender(url, 'a'), await sender(url, 'b')]
  await first.lane.run('new', async () => {})
  let sent = 0
  const asked = second.lane.run('new', async () => void ++sent)
  await first.share.close()
  await asked
  expect(sent).toBe(1)
})

test('two runs of one worker share the ceiling: the second waits for the slots of the first', async () => {
  const url = await emptySchema()
  const [first, second] = [await sender(url, 'a'), await sender(url, 'a')]
  const answers = Promise.withResolvers<void>()
  let underWay = 0
  const request = async (): Promise<void> => {
    underWay += 1
    await answers.promise
  }
  const all = Array.from({ length: 6 }, () => first.lane.run('new', request))
  await expect.poll(() => underWay).toBe(4)
  const behind = second.lane.run('new', request)
  const { renewals } = second.clock
  await expect.poll(() => second.clock.renewals).toBeGreaterThan(renewals + 3)
  expect(underWay).toBe(4)
  answers.resolve()
  await Promise.all([...all, behind])
})

test.each([
  ['no state', undefined],
  ['a state of another version', '{"rate":"fast"}'],
])(
  'two shares over %s: the one that has too little looks again sooner, and each goes with its process',
  async (_, before) => {
    let stored = before
    const paces: NonNullable<Ledger['paces']> = {
      async change(_gateway, work) {
        const { state, result } = work(stored, 1_000)
        stored = state
        return result
      },
    }
    const owners = () => Object.keys(Pot.parse(JSON.parse(stored ?? '')).owners)
    const asked: Asked = {
      ...{ ceiling: 4, underWay: 0, busy: true },
      ...{ rate: undefined, grantedRate: undefined, hold: undefined },
    }
    const open = async (owner: string) => {
      const waits: number[] = []
      const granted: number[] = []
      const waited = Promise.withResolvers<void>()
      const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
        waits.push(ms)
        waited.resolve()
        await once(signal, 'abort')
      }
      const share = openShare({ owner, isDead: () => false, sleep, randomHex: () => 'f' }, paces, GATEWAY)
      share.begin(
        () => asked,
        ({ slots }) => void granted.push(slots),
      )
      await waited.promise
      return { share, waits, granted }
    }
    const [first, second] = [await open('here:1'), await open('here:2')]
    expect(owners()).toEqual(['here:1 f', 'here:2 f'])
    expect([first.granted, second.granted]).toEqual([[4], [0]])
    expect([first.waits, second.waits]).toEqual([[RENEW_MS], [SHORT_MS]])
    await first.share.close()
    expect(owners()).toEqual(['here:2 f'])
    await second.share.close()
    expect(owners()).toEqual([])
  },
)
