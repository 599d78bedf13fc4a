/** People who are another job's for a while: nothing of them is read and then written before that one lets them go. */
import { expect, test, vi } from 'vitest'
import type { RunLedger } from '../../src/ledger/ledger.ts'
import { settleOwed } from '../../src/load/care-team-owed.ts'
import { createClaims } from '../../src/load/claims.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { CARE_TEAMS, failureOf, startLoading, startOther } from './loading.ts'
import { made } from './made-up-care-teams.ts'
import { biometric, entryOf, IDENTITY, registrationOf } from './made-up-entries.ts'

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

test.each([
  ['free', false, []],
  ['taken over from a dead process', true, [700]],
])(
  'accounts that are %s are read after the pauses %j, as a list may be late',
  async (_, isTakenOver, waits) => {
    const pauses: number[] = []
    const asked: unknown[] = []
    const saved: unknown[] = []
    const claims = createClaims(
      {
        claimAccounts: async (request) => {
          asked.push(request)
          return { accounts: new Set(['a', 'b']), isTakenOver }
        },
        saveCareTeams: async (...letGo) => void saved.push(letGo),
      },
      'gateway',
      () => false,
      { now: () => 5, pause: async (ms) => void pauses.push(ms), readLagMs: 700 },
    )
    expect(await claims.take([])).toEqual(new Set())
    expect(asked).toEqual([])
    expect(await claims.take(['a', 'b', 'c'])).toEqual(new Set(['a', 'b']))
    expect(asked).toEqual([{ gateway: 'gateway', accounts: ['a', 'b', 'c'], now: 5 }])
    expect(pauses).toEqual(waits)
    const takenOver = () => ['a', 'b', 'c'].map((account) => claims.wasTakenOver(account))
    expect(takenOver()).toEqual([isTakenOver, isTakenOver, false])
    await claims.letGo(['a'])
    expect(takenOver()).toEqual([false, isTakenOver, false])
    await claims.letGo([])
    expect(saved).toEqual([['gateway', [], ['a']]])
  },
)
