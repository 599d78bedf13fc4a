/** People who are another job's for a while: nothing of them is read and then written before that one lets them go. */
import { describe, expect, test, vi } from 'vitest'
import { plan } from '../../packages/reference-gateway/test/struck-gateway.ts'
import type { RunLedger } from '../../src/ledger/ledger.ts'
import { settleOwed } from '../../src/load/care-team-owed.ts'
import { receiptsOf } from '../../src/run/receipts.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { CARE_TEAMS, failureOf, type LoadingOptions, startLoading, startOther } from './loading.ts'
import { made } from './made-up-care-teams.ts'
import { biometric, DAY_MS, entryOf, IDENTITY, OBSERVED_AT, registrationOf } from './made-up-entries.ts'

const REGISTER = '/account/register'
type Loading = Awaited<ReturnType<typeof startLoading>>

const hashed = (person: string): string => IDENTITY.account({ reference: person, type: 'partnerAccountId' })

async function claim({ reference }: Loading, other: RunLedger, ...people: string[]): Promise<void> {
  const accounts = people.map(hashed)
  const claimed = await other.claimAccounts({ gateway: reference.url, accounts, now: 0 }, () => false)
  expect(claimed.accounts).toEqual(new Set(accounts))
}

const letGo = ({ reference }: Loading, other: RunLedger, ...people: string[]): Promise<void> =>
  other.saveCareTeams(reference.url, [], people.map(hashed))

test('the others do not wait for them; what the other job has done by then is not done again', async () => {
  const loading = await startLoading({ gateway: { registeredAgain: 'conflict' } })
  const other = await startOther(loading)
  await claim(loading, other, 'busy', 'measured')
  const [free, busy] = [made({ person: 'free', row: 1 }), made({ person: 'busy', row: 2 })]
  const measured = entryOf(biometric, { person: 'measured', row: 3 })
  const loaded = loading.load([busy, free, measured])
  await vi.waitFor(() => expect(loading.proxy.seen.map(({ path }) => path)).toContain(`${CARE_TEAMS}/pcp`), {
    timeout: 60_000,
  })
  // They are all registered, and given what they lack, by the one alone that has them.
  expect(loading.posts(REGISTER)).toBe(1)
  expect(loading.posts(CARE_TEAMS)).toBe(1)

  for (const person of ['busy', 'measured']) {
    const draft = registrationOf(person)
    if (!draft.ok) throw new Error('the person can be registered')
    const { accountId = null } = await loading.gateway.accounts.register({ ...draft.registration })
    const account = { reference: hashed(person), accountId, isNew: true, sentBefore: null }
    await other.saveAccounts(loading.reference.url, [account], 0)
  }
  const text = `[{${busy.text}a batch","persistentRecordId":"${busy.transactionId}"}}}]`
  await loading.gateway.careTeams.sendBulk(Buffer.from(text), 1)
  const registered = loading.posts(REGISTER)
  await letGo(loading, other, 'busy', 'measured')
  const { outcomes, accounts } = await loaded
  expect(outcomes).toMatchObject([
    { outcome: 'unchanged', found: true },
    { outcome: 'accepted' },
    { outcome: 'accepted' },
  ])
  expect(accounts).toEqual({ known: 2, refused: 0 })
  expect(loading.posts(REGISTER)).toBe(registered)
  expect(await loading.stored('careTeam')).toHaveLength(2)
  // What is done is let go.
  await claim(loading, other, 'busy', 'free', 'measured')
})

test("a chunk of two jobs that want each other's people comes to its end in both", async () => {
  const loading = await startLoading()
  const other = await startOther(loading)
  await claim(loading, other, 'b')
  const loaded = loading.load([made({ person: 'a', row: 1 }), made({ person: 'b', row: 2 })])
  // Not before the first is through: nobody waits while it holds somebody.
  await vi.waitFor(() => claim(loading, other, 'a'), { timeout: 60_000 })
  await letGo(loading, other, 'a', 'b')
  expect((await loaded).outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
})

test('a run that is stopped waits no longer', async () => {
  const loading = await startLoading()
  await claim(loading, await startOther(loading), 'person-1')
  const loaded = failureOf(loading.load([made()]))
  const reason = new Error('interrupted')
  await new Promise(setImmediate)
  loading.stop.abort(reason)
  expect(await loaded).toBe(reason)
  expect(loading.posts(REGISTER)).toBe(0)
})

test("what is known and unchanged is nobody's to claim", async () => {
  const loading = await startLoading()
  const entries = () => [made(), entryOf(biometric, { row: 2 })]
  await loading.settle(await loading.load(entries()))
  await claim(loading, await startOther(loading), 'person-1')
  const { outcomes } = await loading.load(entries(), false, 2)
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged'])
  // A known person's measurement needs no claim either.
  const more = await loading.load([entryOf(biometric, { row: 3, value: '120' })], false, 3)
  expect(more.outcomes).toMatchObject([{ outcome: 'accepted' }])
})

test('what is owed of them is done once they are free', async () => {
  let isRefused = true
  const loading = await startLoading({
    faultOf: ({ path }) =>
      isRefused && path.endsWith('/pcp') ? { do: 'answer', status: 404 } : { do: 'pass' },
  })
  await loading.settle(await loading.load([made()]))
  expect(loading.tallies.primaryCare).toMatchObject({ marked: 0, owed: 1 })
  isRefused = false
  const other = await startOther(loading)
  await claim(loading, other, 'person-1')
  const marks = (): number => loading.posts(`${CARE_TEAMS}/pcp`)
  const before = marks()
  const { now } = loading.clock
  const settled = settleOwed(loading.context.careTeams)
  await vi.waitFor(() => expect(loading.clock.now).toBeGreaterThan(now + 1_000), { timeout: 60_000 })
  expect(marks()).toBe(before)
  await letGo(loading, other, 'person-1')
  await settled
  expect(marks()).toBe(before + 1)
  expect(loading.tallies.primaryCare).toMatchObject({ marked: 1, owed: 0 })
})

test('a batch that an earlier process sent is settled for all of its people, also for those who are claimed now', async () => {
  let isCut = true
  const loading = await startLoading({
    faultOf: ({ method, path, query }) => {
      if (isCut && method === 'POST' && path !== REGISTER) return { do: 'pass-then-answer', status: 403 }
      // As if it were not there: it is sent once more, and the batch holds what is left of it.
      return path.endsWith('/biometrics') && query.includes('free')
        ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: [] }) }
        : PASS
    },
  })
  const people = ['free', 'busy']
  const measured = people.map((person, at) => entryOf(biometric, { person, row: at + 1 }))
  const entries = [...measured, ...people.map((person, at) => made({ person, row: at + 3 }))]
  expect(await failureOf(loading.load(measured))).toMatchObject({ code: 'gateway-refused-credentials' })
  expect(await loading.stored('biometric')).toHaveLength(2)
  isCut = false
  const other = await startOther(loading)
  await claim(loading, other, 'busy')
  const loaded = loading.load(entries, true)
  await vi.waitFor(async () => expect(await loading.stored('careTeam')).toHaveLength(1), { timeout: 60_000 })
  await letGo(loading, other, 'busy')
  const { outcomes } = await loaded
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted', 'accepted'])
  const ids = await loading.storedIds('biometric')
  expect(ids.filter((id) => id === measured[1]?.transactionId)).toHaveLength(1)
})

describe('people whom a dead process of another job had claimed', () => {
  const UNREADABLE: LoadingOptions = {
    gateway: { faults: plan({ on: 'listCareTeams', do: 'refuse', status: 404 }) },
  }

  async function register({ runLedger, reference, gateway }: Loading, ...people: string[]): Promise<void> {
    for (const person of people) {
      const draft = registrationOf(person)
      if (!draft.ok) throw new Error('the person can be registered')
      const { accountId = null } = await gateway.accounts.register({ ...draft.registration })
      const account = { reference: hashed(person), accountId, isNew: true, sentBefore: null }
      await runLedger.saveAccounts(reference.url, [account], 0)
    }
  }

  /** Lets a process of another job claim the people, send each an entry, and die. */
  async function diesWith(loading: Loading, ...people: string[]): Promise<void> {
    await register(loading, ...people)
    const other = await startOther(loading)
    await claim(loading, other, ...people)
    for (const person of people) {
      const { text } = made({ person, observedAt: OBSERVED_AT + DAY_MS })
      const body = `[{${text}a batch","persistentRecordId":"of another job ${person}"}}}]`
      await loading.gateway.careTeams.sendBulk(Buffer.from(body), 1)
    }
    await loading.ledger.leases.release(other.lease)
  }

  test('are in doubt behind an unreadable list, and nobody beside them in the request', async () => {
    const loading = await startLoading(UNREADABLE)
    await diesWith(loading, 'claimed')
    await register(loading, 'free')
    const { outcomes } = await loading.load([made({ person: 'claimed' }), made({ person: 'free', row: 2 })])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['in-doubt', 'accepted'])
  })

  test('are in doubt in whatever chunk they come, also once somebody else has had them', async () => {
    const loading = await startLoading(UNREADABLE)
    await diesWith(loading, 'claimed', 'later')
    const loaded = await loading.load([made({ person: 'claimed' })])
    await loading.settle(loaded)
    const { outcomes } = await loading.load([made({ person: 'later', row: 2 })], false, 2)
    expect(outcomes).toMatchObject([{ outcome: 'in-doubt' }])
    expect(await loading.stored('careTeam')).toHaveLength(2)
  })

  test('are read once their list cannot be late, whoever took them over in between and died', async () => {
    const loading = await startLoading({
      faultOf: ({ method, path }) =>
        method === 'GET' && path === CARE_TEAMS && loading.clock.now < shownFrom
          ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: [] }) }
          : PASS,
    })
    const shownFrom = loading.clock.now + 5_000
    await diesWith(loading, 'claimed')
    const request = { gateway: loading.reference.url, accounts: [hashed('claimed')], now: loading.clock.now }
    await loading.runLedger.claimAccounts(request, () => false)
    const { outcomes } = await loading.load([made({ person: 'claimed' })])
    expect(outcomes).toMatchObject([{ outcome: 'unchanged', found: true }])
    expect(await loading.stored('careTeam')).toHaveLength(1)
  })

  test('have no second receipt of what this job has sent before', async () => {
    const loading = await startLoading()
    const receipts: unknown[] = []
    for (const [at, name] of ['Test Practice', 'New Practice', 'Test Practice'].entries()) {
      if (at === 2) {
        const other = await startOther(loading)
        await claim(loading, other, 'person-1')
        await loading.ledger.leases.release(other.lease)
      }
      const loaded = await loading.load([made({ name })], false, at + 1, at + 1)
      receipts.push(...receiptsOf(loaded.outcomes, new Map()))
      await loading.settle(loaded, at + 1)
    }
    expect(receipts).toHaveLength(2)
    expect(await loading.stored('careTeam')).toHaveLength(2)
  })
})
