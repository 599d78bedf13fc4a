/** What a gateway allows, found over real HTTP: a rate, a size, a token, no more at all. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { FaultPlan } from '../../packages/reference-gateway/src/fault-plan.ts'
import { startReferenceGateway } from '../../packages/reference-gateway/src/server.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { createSending, type Sending } from '../../src/load/sending.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { client, echoing, json, serve } from '../gateway/loopback.ts'
import { createIdleClock } from './idle-clock.ts'
import { BIOMETRICS, failureOf, idsOf, startLoading, tally } from './loading.ts'
import { biometric, entryOf, people } from './made-up-entries.ts'

/** Sending by a clock that goes on while nothing is under way. */
function send(
  renewToken: () => Promise<void>,
  clock = createIdleClock(0),
): { sending: Sending; tallies: ReturnType<typeof noTallies> } {
  const tallies = noTallies()
  const world = { now: () => clock.now, random: () => 0.5, sleep: clock.sleep }
  const sending = createSending({
    ...world,
    dispatcher: createDispatcher(world),
    concurrency: 8,
    patienceMs: 60_000,
    notFound: 'unknown',
    tallies,
    renewToken,
    askAboutNobody: async () => [],
    assertHeld: async () => undefined,
    signal: new AbortController().signal,
    onWait: () => undefined,
    onOutage: () => undefined,
  })
  return { sending, tallies }
}

const times = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => make(place))

describe('a gateway that permits 100 requests a second', () => {
  it('is given about as many, and refuses few', async () => {
    const clock = createIdleClock(0)
    const reference = await startReferenceGateway({
      open: true,
      clock: () => clock.now,
      makeId: () => crypto.randomUUID(),
      faults: FaultPlan.parse({ faults: [{ do: 'rate-limit', on: 'all', requests: 100, perMs: 1000 }] }),
    })
    onTestFinished(() => reference.close())
    const gateway = client(reference.url)
    const { sending, tallies } = send(() => gateway.renewToken(), clock)
    const account = { reference: 'ann', type: 'partnerAccountId' } as const
    await Promise.all(
      times(160, () => sending.read('read biometrics', () => gateway.biometrics.read(account))),
    )
    // A second at least.
    expect(clock.now).toBeGreaterThanOrEqual(1_000)
    expect(clock.now).toBeLessThan(5_000)
    // Those that were under way when the first was refused, and what the search costs.
    expect(tallies.requests.readBack - 160).toBeLessThanOrEqual(16)
  })
})

describe('a token that is refused', () => {
  it('is renewed once for eight requests under way', async () => {
    const waiting: (() => void)[] = []
    const server = await serve(async ({ headers }) => {
      if (headers.authorization === 'Bearer fresh') return echoing('a')
      // None is answered before all eight are here.
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 8) for (const go of waiting.splice(0)) go()
      })
      return json(401, { message: 'Expired.' })
    })
    let renewals = 0
    const gateway = client(server.url, {
      accessToken: async () => 'stale',
      renewAccessToken: async () => {
        renewals++
        return 'fresh'
      },
    })
    const { sending } = send(() => gateway.renewToken())
    const sent = times(8, () =>
      sending.once(
        'create',
        () => true,
        () => gateway.biometrics.sendBulk('[]', 1),
      ),
    )
    expect((await Promise.all(sent)).map((created) => created.class)).toEqual(times(8, () => 'accepted'))
    expect([renewals, server.seen.length]).toEqual([1, 16])
  })
})

describe('a batch that is too large', () => {
  it('teaches the size to those that wait, and to later ones', async () => {
    const sizes: number[] = []
    const loading = await startLoading({
      gateway: { open: true },
      register: 'never',
      limits: { records: 40 },
      concurrency: 2,
      faultOf: (request) => {
        if (request.path !== BIOMETRICS || request.method !== 'POST') return PASS
        const records = (JSON.parse(request.body) as unknown[]).length
        sizes.push(records)
        return records > 12 ? answer(413) : PASS
      },
    })
    const entries = people(400)
    expect(tally((await loading.load(entries)).outcomes)).toEqual({ accepted: 400 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
    // Of ten batches of 40: two are under way when it is learned, then 20 is tried by as many.
    expect(sizes.filter((records) => records > 12).length).toBeLessThanOrEqual(8)
    sizes.length = 0
    const later = Array.from({ length: 40 }, (_, at) =>
      entryOf(biometric, { row: 1001 + at, person: `later-${at}` }),
    )
    expect(tally((await loading.load(later, false, 2)).outcomes)).toEqual({ accepted: 40 })
    // By halves from 40: 10, or one less, as the bytes of what was refused were halved too.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
    expect(sizes.length).toBeLessThanOrEqual(5)
  })
})

describe('a gateway that no longer lets this client in', () => {
  it('stops the run, and the next one goes on where it stopped', async () => {
    let refuses = true
    const loading = await startLoading({
      gateway: { open: true },
      register: 'never',
      limits: { records: 5 },
      faultOf: (request) =>
        refuses && request.path === BIOMETRICS && request.method === 'POST' && request.earlier >= 2
          ? answer(403)
          : PASS,
    })
    const entries = people(50)
    expect(await failureOf(loading.load(entries))).toMatchObject({ code: 'gateway-refused-credentials' })
    expect(loading.posts(BIOMETRICS)).toBeLessThanOrEqual(2 + 4)
    refuses = false
    const { outcomes } = await loading.load(entries, true)
    expect(tally(outcomes)).toEqual({ accepted: 50 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
  })
})
