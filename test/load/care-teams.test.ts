import { describe, expect, it } from 'vitest'
import type { CareTeamReturned } from '../../src/gateway/contract/health-profile.ts'
import { settleOwed } from '../../src/load/care-team-owed.ts'
import { shareFate } from '../../src/load/chunk-decisions.ts'
import type { Entry } from '../../src/model/entry.ts'
import { receiptsOf } from '../../src/run/receipts.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { CARE_TEAMS, failureOf, type LoadingOptions, startLoading, tally } from './loading.ts'
import { careTeam, DAY_MS, entryOf, IDENTITY, type Made, OBSERVED_AT } from './made-up-entries.ts'

const NPI = '1234567893'
const PCP = `${CARE_TEAMS}/pcp`
/** Of a later export: another row key than that of the same entry before. */
const made = (fields: Made & { day?: number } = {}): Entry =>
  entryOf(careTeam, {
    npi: NPI,
    observedAt: OBSERVED_AT + (fields.day ?? 0) * DAY_MS,
    key: `person-1|${fields.day ?? 0}|${fields.name ?? ''}`,
    ...fields,
  })
const isList = ({ method, path }: Passing): boolean => method === 'GET' && path === CARE_TEAMS

/** As at the end of a run. */
const settle = ({ context }: Awaited<ReturnType<typeof startLoading>>): Promise<void> =>
  settleOwed(context.careTeams)

const owedOf = ({ context: { careTeams }, ledger }: Awaited<ReturnType<typeof startLoading>>) =>
  ledger.careTeams.owed(careTeams.gatewayName, careTeams.jobId, '', 9)

async function listOf(
  { reference }: { readonly reference: { readonly url: string } },
  person: string,
): Promise<readonly CareTeamReturned[]> {
  const query = `accountReference=${person}&accountReferenceType=partnerAccountId`
  const headers = { 'x-api-key': 'k', authorization: 'Bearer t' }
  const listed = await fetch(`${reference.url}${CARE_TEAMS}?${query}`, { headers })
  return ((await listed.json()) as { data: CareTeamReturned[] }).data
}

/** A gateway that has the entries already, and a ledger that knows nothing of them. */
async function startWith(has: readonly Entry[], options: LoadingOptions = {}) {
  const loading = await startLoading({ register: 'never', gateway: { open: true }, ...options })
  for (const entry of has) {
    const text = `[{${entry.text}an earlier batch","persistentRecordId":"${entry.transactionId}"}}}]`
    await loading.gateway.careTeams.sendBulk(Buffer.from(text), 1)
  }
  const before = loading.posts(CARE_TEAMS)
  return {
    ...loading,
    names: async () => (await listOf(loading, 'person-1')).map(({ name }) => name).sort(),
    marked: async () => (await listOf(loading, 'person-1')).filter(({ pcp }) => pcp).map(({ name }) => name),
    added: () => loading.posts(CARE_TEAMS) - before,
    deletions: () => loading.proxy.seen.filter(({ method }) => method === 'DELETE').length,
  }
}

describe('what the account has', () => {
  it.each([
    ['newer', 1, { outcome: 'unchanged', passedOver: 'care-team-outdated' }, ['Second Street']],
    ['older', -1, { outcome: 'accepted' }, ['Test Practice']],
  ])('and is %s by its list alone, counts by its date', async (_what, day, expected, names) => {
    const loading = await startWith([made({ day, name: 'Second Street' })], { changed: 'replace' })
    const { outcomes } = await loading.load([made()])
    expect(outcomes).toMatchObject([expected])
    expect(await loading.names()).toEqual(names)
  })

  it('is not added again, whatever its date, with one read an account', async () => {
    const loading = await startWith([made(), made({ npi: '1003000126' })])
    const again = [made({ row: 1, day: 1 }), made({ row: 2, npi: '1003000126', primary: false })]
    const { outcomes } = await loading.load(again)
    // The entry that is there bears the id of the record that came before.
    expect(outcomes).toMatchObject([
      { outcome: 'unchanged', found: true, isOthers: true },
      { outcome: 'unchanged', found: true, isOthers: true },
    ])
    expect(loading.added()).toBe(0)
    expect(loading.tallies.requests.readBack).toBe(1)
    expect(await loading.marked()).toEqual(['Test Practice'])
  })

  it.each([
    { day: 0, isOthers: undefined },
    { day: 1, isOthers: true },
  ])('is said to be of others by its date where the gateway keeps no ids: $day days', async (row) => {
    const loading = await startWith([])
    const text = `[{${made().text}an earlier batch"}}}]`
    await loading.gateway.careTeams.sendBulk(Buffer.from(text), 1)
    const { outcomes } = await loading.load([made({ day: row.day })])
    expect(outcomes).toMatchObject([{ outcome: 'unchanged', found: true }])
    expect({ isOthers: undefined, ...outcomes[0] }).toHaveProperty('isOthers', row.isOthers)
  })

  it('is not asked for where the person was registered just now; the same twice in a chunk is sent once', async () => {
    const loading = await startLoading()
    const { outcomes } = await loading.load([made({ row: 1 }), made({ row: 2, day: 1 })])
    // The gateway has the newer record: the older one has no receipt of its own.
    expect(outcomes).toMatchObject([
      { outcome: 'unchanged', found: true, isOthers: true },
      { outcome: 'accepted' },
    ])
    expect(loading.tallies.requests.readBack).toBe(0)
    expect(await loading.stored('careTeam')).toHaveLength(1)
  })

  it.each(['add', 'replace', 'keep'] as const)(
    'has one of a row that stands twice, and both rows have an outcome: %s',
    async (changed) => {
      const loading = await startLoading({ changed })
      const { outcomes } = await loading.load([made({ row: 1 }), made({ row: 2 })])
      // The later word counts, and is the one that is sent.
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['unchanged', 'accepted'])
      expect(await loading.stored('careTeam')).toHaveLength(1)
    },
  )

  it('is added to where the list cannot be read, but for what the ledger knows to be there', async () => {
    const loading = await startWith([], {
      faultOf: (request) => (isList(request) ? answer(404) : PASS),
    })
    await loading.settle(await loading.load([made()]))
    const [again, other] = [made({ day: 1 }), made({ row: 2, npi: '1003000126' })]
    const { outcomes } = await loading.load([again, other], false, 2)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['in-doubt', 'accepted'])
    expect(loading.added()).toBe(2)
  })

  it('is in doubt where the list cannot be read, and a dead process of another job may have sent it', async () => {
    const loading = await startWith([], { faultOf: (request) => (isList(request) ? answer(404) : PASS) })
    const { ledger, reference, clock } = loading
    const jobId = await ledger.jobs.id('other-job', reference.url)
    const asked = { jobId, runId: 'run-9', owner: 'gone:1', now: clock.now, ttlMs: 1 }
    const answered = await ledger.leases.acquire(asked, () => false)
    if (!answered.ok) expect.fail('the lease is held')
    const dead = await ledger.runs.start(answered.lease, {
      ...{ id: 'run-9', jobId, startedAt: clock.now, rejectsPath: 'r', receiptsPath: 'r' },
    })
    const person = IDENTITY.account({ reference: 'person-1', type: 'partnerAccountId' })
    const claim = { gateway: reference.url, accounts: [person ?? expect.fail('')], now: clock.now }
    expect((await dead.claimAccounts(claim, () => false)).accounts.size).toBe(1)
    expect(tally((await loading.load([made()])).outcomes)).toEqual({ 'in-doubt': 1 })
    expect(loading.added()).toBe(0)
  })

  it('is waited for where an earlier chunk has delivered it and the list is late', async () => {
    const loading = await startWith([], {
      faultOf: (request) =>
        // The one before it is for the answer alone, whose account id nobody knows.
        isList(request) && request.earlier === 2
          ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: [] }) }
          : PASS,
    })
    await loading.settle(await loading.load([made()]))
    const began = loading.clock.now
    const { outcomes } = await loading.load([made({ day: 1 })], false, 2)
    expect(outcomes).toMatchObject([{ outcome: 'unchanged', found: true }])
    expect([loading.added(), loading.clock.now - began]).toEqual([1, loading.context.readLagMs])
  })

  it('is not added to by an earlier process and its successor, whatever was answered', async () => {
    const visits = [1, 2, 3].map((row) => made({ row, day: row }))
    const loading = await startLoading({
      faultOf: ({ method, path, earlier }) =>
        method === 'POST' && path === CARE_TEAMS && earlier === 0
          ? { do: 'pass-then-answer', status: 403 }
          : PASS,
    })
    expect(await failureOf(loading.load(visits))).toMatchObject({ code: 'gateway-refused-credentials' })
    const { outcomes } = await loading.load(visits, true)
    expect(tally(outcomes)).toEqual({ accepted: 1, unchanged: 2 })
    expect(await loading.stored('careTeam')).toHaveLength(1)
  })
})

describe('a changed entry', () => {
  const changed = made({ name: 'New Practice', day: 1 })
  it.each([
    ['add', ['New Practice', 'Test Practice'], { accepted: 1 }, ['New Practice']],
    ['replace', ['New Practice'], { accepted: 1 }, ['New Practice']],
    ['keep', ['Test Practice'], { unchanged: 1 }, ['Test Practice']],
  ] as const)('%s', async (how, names, outcomes, marked) => {
    const loading = await startWith([made()], { changed: how })
    expect(tally((await loading.load([changed])).outcomes)).toEqual(outcomes)
    expect(await loading.names()).toEqual(names)
    expect(await loading.marked()).toEqual(marked)
    expect(loading.tallies.careTeams).toMatchObject({ replaced: how === 'replace' ? 1 : 0, owed: 0 })
  })

  it('is created before the old one is deleted, which is by id alone', async () => {
    const loading = await startWith([made()], { changed: 'replace' })
    await loading.load([changed])
    const calls = loading.proxy.seen.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)
    expect(calls.slice(1)).toEqual([
      'GET care-teams',
      'POST care-teams',
      // One for the answer, whose account id nobody knows; one for what is to be deleted.
      ...['GET care-teams', 'GET care-teams'],
      'DELETE care-teams',
      'POST pcp',
    ])
  })

  it('does not replace a newer one, nor take its mark', async () => {
    const loading = await startWith([made()], { changed: 'replace' })
    await loading.load([changed])
    const late = made({ name: 'Old Practice', day: -1 })
    const { outcomes } = await loading.load([late], false, 2)
    expect(outcomes).toMatchObject([{ outcome: 'unchanged', passedOver: 'care-team-outdated' }])
    expect(await loading.names()).toEqual(['New Practice'])
    expect(await loading.marked()).toEqual(['New Practice'])
  })

  it('deletes nothing where the gateway has updated in place', async () => {
    const inPlace = (data: readonly Record<string, unknown>[]) => {
      const [first, second] = data
      return second === undefined ? data : [{ ...second, id: first?.['id'] }]
    }
    const loading = await startWith([made()], {
      changed: 'replace',
      faultOf: (request) =>
        isList(request)
          ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: inPlace(envelope.data) }) }
          : PASS,
    })
    expect((await loading.load([changed])).followUpFailures).toEqual([])
    expect(loading.deletions()).toBe(0)
  })

  it.each([
    [
      'the deletion is refused',
      (request: Passing): Fault => (request.method === 'DELETE' ? answer(400, {}, 'Test Practice') : PASS),
      'replaced-not-deleted',
    ],
    [
      'the list cannot be read afterwards',
      (request: Passing): Fault => (isList(request) && request.earlier > 0 ? answer(404) : PASS),
      'replacement-not-listed',
    ],
  ])('stays beside the old one where %s, which is told', async (_name, faultOf, code) => {
    const loading = await startWith([made()], { changed: 'replace', faultOf })
    const { outcomes, followUpFailures } = await loading.load([changed])
    expect(tally(outcomes)).toEqual({ accepted: 1 })
    expect(followUpFailures).toMatchObject([{ entry: changed, reason: { stage: 'replace', code } }])
    expect(followUpFailures[0]?.reason.scrubbed).not.toContain('Practice')
    expect(loading.tallies.careTeams).toMatchObject({ replaced: 0, owed: 1 })
    expect(await loading.names()).toEqual(['New Practice', 'Test Practice'])
  })

  it.each([
    ['refused', answer(400), 1],
    ['failed', answer(500), 1],
    ['never answered', { do: 'reset' }, 1],
    ['answered by a proxy that knows no such page', { do: 'answer', status: 404, body: '<html>' }, 1],
    ['done, and never answered', { do: 'pass-then-reset' }, 0],
  ] as [string, Fault, number][])(
    'leaves the deletion owed where it is %s, and the end of a run does it',
    async (_name, fault, still) => {
      let deletion = fault
      const loading = await startWith([], {
        changed: 'replace',
        register: 'missing',
        faultOf: ({ method }) => (method === 'DELETE' ? deletion : PASS),
      })
      await loading.settle(await loading.load([made()]))
      await loading.settle(await loading.load([changed], false, 2), 2)
      await settle(loading)
      expect(loading.tallies.careTeams).toMatchObject({ replaced: 1 - still, owed: still })
      expect(await loading.names()).toHaveLength(1 + still)
      deletion = PASS
      await settle(loading)
      await settle(loading)
      expect(loading.tallies.careTeams).toMatchObject({ replaced: 1, owed: 0 })
      expect(await loading.names()).toEqual(['New Practice'])
      expect(await loading.marked()).toEqual(['New Practice'])
      expect(await owedOf(loading)).toEqual([])
    },
  )

  it('leaves the deletion owed, and the person’s next row does it where no account id is known', async () => {
    let deletion = answer(400)
    const loading = await startWith([], {
      changed: 'replace',
      faultOf: ({ method }) => (method === 'DELETE' ? deletion : PASS),
    })
    await loading.settle(await loading.load([made()]))
    await loading.settle(await loading.load([changed], false, 2), 2)
    deletion = PASS
    await settle(loading)
    expect(await loading.names()).toHaveLength(2)
    const { outcomes } = await loading.load([changed], false, 3)
    expect(outcomes).toEqual([{ entry: changed, outcome: 'unchanged' }])
    expect(await loading.names()).toEqual(['New Practice'])
    expect(loading.tallies.careTeams).toMatchObject({ replaced: 1, owed: 0 })
  })

  it('is owed, and the mark too, while the gateway has given the account id to somebody else', async () => {
    let isRefused = true
    const loading = await startWith([], {
      changed: 'replace',
      register: 'missing',
      faultOf: ({ method, path }) =>
        isRefused && (method === 'DELETE' || path === PCP) ? answer(400) : PASS,
    })
    const { ledger, reference, runLedger, clock } = loading
    const [person, other] = ['person-1', 'person-2'].map((one) =>
      IDENTITY.account({ reference: one, type: 'partnerAccountId' }),
    )
    if (person === undefined || other === undefined) throw new Error('two people are made up')
    await loading.settle(await loading.load([made()]))
    await loading.settle(await loading.load([changed], false, 2), 2)
    const known = (await ledger.people.accounts(reference.url, [person])).get(person)
    await runLedger.saveAccounts(
      reference.url,
      [{ reference: other, accountId: known?.accountId ?? null, sentBefore: null }],
      clock.now,
    )
    isRefused = false
    await settle(loading)
    expect(await loading.names()).toHaveLength(2)
    expect(await loading.marked()).toEqual([])
    expect(await owedOf(loading)).toEqual([person])
    // The person's next rows name them as the export does: first the mark, then the deletion.
    for (const chunk of [3, 4]) await loading.load([changed], false, chunk)
    expect(await loading.names()).toEqual(['New Practice'])
    expect(await loading.marked()).toEqual(['New Practice'])
  })

  it('in doubt replaces nothing until it is found, and then takes the mark along', async () => {
    let lists = PASS
    const loading = await startWith([], {
      changed: 'replace',
      register: 'missing',
      faultOf: (request) => {
        if (isList(request)) return lists
        if (!request.body.includes('New Practice')) return PASS
        lists = answer(404)
        return { do: 'pass-then-reset' }
      },
    })
    await loading.settle(await loading.load([made()]))
    const loaded = await loading.load([changed], false, 2)
    expect(tally(loaded.outcomes)).toEqual({ 'in-doubt': 1 })
    expect(loaded.followUpFailures).toMatchObject([{ reason: { code: 'replacement-not-listed' } }])
    await loading.settle(loaded, 2)
    await settle(loading)
    expect(loading.tallies.careTeams.owed).toBe(1)
    expect(await loading.names()).toHaveLength(2)
    lists = PASS
    await settle(loading)
    expect(loading.tallies.careTeams).toMatchObject({ replaced: 1, owed: 0 })
    expect(await loading.names()).toEqual(['New Practice'])
    expect(await loading.marked()).toEqual(['New Practice'])
  })

  it('is waited for where the list shows it late', async () => {
    const loading = await startWith([made()], {
      changed: 'replace',
      faultOf: (request) =>
        isList(request) && request.earlier === 1
          ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: envelope.data.slice(0, 1) }) }
          : PASS,
    })
    const began = loading.clock.now
    expect((await loading.load([changed])).followUpFailures).toEqual([])
    expect(loading.clock.now - began).toBe(loading.context.readLagMs)
    expect(await loading.names()).toEqual(['New Practice'])
  })

  it('still replaces the old one after a stop between the two', async () => {
    const loading = await startWith([made()], {
      changed: 'replace',
      faultOf: ({ method, earlier }) => (method === 'DELETE' && earlier === 0 ? answer(403) : PASS),
    })
    expect(await failureOf(loading.load([changed]))).toMatchObject({ code: 'gateway-refused-credentials' })
    expect(await loading.names()).toHaveLength(2)
    expect(tally((await loading.load([changed], true)).outcomes)).toEqual({ accepted: 1 })
    expect(await loading.names()).toEqual(['New Practice'])
    expect(loading.added()).toBe(1)
  })
})

describe('the mark', () => {
  const marks = (loading: { posts(path: string): number }): number => loading.posts(PCP)

  it('is not set again on the entry that bears it', async () => {
    const loading = await startWith([])
    await loading.load([made()])
    await loading.load([made({ day: 1 })], false, 2)
    expect(marks(loading)).toBe(1)
  })

  it.each([
    ['NPI', [], { npi: NPI }],
    [
      'id, where the account has several of the NPI',
      [made({ name: 'Former Practice', day: -1 })],
      { id: 'id-3' },
    ],
  ] as const)('is set by %s', async (_name, has, named) => {
    const loading = await startWith(has)
    await loading.load([made()])
    const { account: _, ...request } = JSON.parse(
      loading.proxy.seen.find(({ path }) => path === PCP)?.body ?? '{}',
    )
    expect(request).toEqual(named)
    expect(await loading.marked()).toEqual(['Test Practice'])
  })

  it('is tried again by later runs until it is set, and then no more', async () => {
    const loading = await startWith([], {
      faultOf: (request) => (request.path === PCP && request.earlier < 2 ? answer(400) : PASS),
    })
    const entry = made()
    for (const chunk of [1, 2, 3, 4]) await loading.settle(await loading.load([entry], false, chunk), chunk)
    expect(marks(loading)).toBe(3)
    expect(await loading.marked()).toEqual(['Test Practice'])
    expect(loading.tallies.primaryCare).toEqual({ marked: 1, unmarked: 0, owed: 0 })
    expect(loading.added()).toBe(1)
  })

  it('is taken from a doctor who is no longer the primary one', async () => {
    const loading = await startWith([])
    await loading.settle(await loading.load([made()]))
    await loading.load([made({ day: 1, primary: false })], false, 2)
    expect(await loading.marked()).toEqual([])
    expect(loading.tallies.primaryCare).toEqual({ marked: 1, unmarked: 1, owed: 0 })
    expect(loading.added()).toBe(1)
  })

  it('of an entry in doubt is owed, and set once the list shows it, without the export', async () => {
    let lists: Fault = answer(404)
    const loading = await startLoading({
      faultOf: (request) => {
        if (isList(request)) return lists
        const isCreate = request.method === 'POST' && request.path === CARE_TEAMS
        return isCreate ? { do: 'pass-then-reset' } : PASS
      },
    })
    const loaded = await loading.load([made()])
    expect(tally(loaded.outcomes)).toEqual({ 'in-doubt': 1 })
    expect(loaded.followUpFailures).toMatchObject([{ reason: { code: 'mark-waits' } }])
    expect(loading.tallies.primaryCare).toEqual({ marked: 0, unmarked: 0, owed: 1 })
    await loading.settle(loaded)
    await settle(loading)
    expect(marks(loading)).toBe(0)
    lists = PASS
    await settle(loading)
    await settle(loading)
    expect(marks(loading)).toBe(1)
    expect(loading.tallies.primaryCare).toEqual({ marked: 1, unmarked: 0, owed: 0 })
    expect(await owedOf(loading)).toEqual([])
  })

  it('is not set by an older word that comes again, where a newer one in doubt has taken it away', async () => {
    let lists: Fault = answer(404)
    const loading = await startWith([], {
      faultOf: (request) => {
        if (isList(request)) return lists
        const isCreate = request.method === 'POST' && request.path === CARE_TEAMS
        return isCreate ? { do: 'pass-then-reset' } : PASS
      },
    })
    await loading.settle(await loading.load([made({ day: 1, primary: false })]))
    lists = PASS
    await loading.load([made()], false, 2)
    expect(await loading.marked()).toEqual([])
  })

  it('is not given to a provider of whom a newer chunk has said no, while another bore it', async () => {
    const loading = await startWith([])
    const other = { npi: '1003000126', name: 'Other Practice' }
    await loading.settle(await loading.load([made({ day: 5 }), made({ ...other, day: 1 })]))
    await loading.settle(await loading.load([made({ ...other, day: 9, primary: false })], false, 2), 2)
    await loading.load([made({ ...other, day: 8, key: 'again' })], false, 3)
    // From day 8 on it was no longer the first one, and from day 9 on it is the other one no longer.
    expect(await loading.marked()).toEqual([])
  })

  it('is not taken by what is older than the last delivery of the one that bears it', async () => {
    const loading = await startWith([])
    await loading.settle(await loading.load([made()]))
    await loading.settle(await loading.load([made({ day: 5 })], false, 2), 2)
    await loading.load([made({ npi: '1003000126', name: 'Other Practice', day: 3 })], false, 3)
    expect(await loading.marked()).toEqual(['Test Practice'])
    await loading.load([made({ npi: '1003000126', name: 'Newer Practice', day: 6 })], false, 4)
    expect(await loading.marked()).toEqual(['Newer Practice'])
  })

  it('is not moved to an older entry where the list cannot be read, and the ledger tells', async () => {
    const loading = await startWith([], { faultOf: (request) => (isList(request) ? answer(404) : PASS) })
    await loading.settle(await loading.load([made({ day: 2 })]))
    await loading.load([made({ npi: '1003000126', name: 'Other Practice', day: 1 })], false, 2)
    expect(await loading.marked()).toEqual(['Test Practice'])
  })
})

it('a twin of a record that was read back has one receipt with it, by the id that the gateway has', () => {
  const [first, last] = [made({ row: 1 }), made({ row: 2 })]
  const readBack = { entry: last, outcome: 'unchanged', found: true, readBack: true } as const
  const twin = shareFate(first, readBack)
  expect(receiptsOf([twin, readBack], new Map())).toMatchObject([{ transactionId: last.transactionId }])
  const storedAs = { ...readBack, storedAs: 'of another export' }
  expect(shareFate(first, storedAs)).toMatchObject({ storedAs: 'of another export' })
})

describe('two entries of one provider', () => {
  const named = (name: string, day: number, row = day): Entry => made({ name, day, row })

  it('of one row key, the first again behind the second: the last row stands', async () => {
    const loading = await startLoading({ changed: 'replace' })
    const say = (name: string, row: number) => made({ name, row, key: 'one visit' })
    await loading.settle(await loading.load([say('Second Street', 1)]))
    const rows = [say('First Street', 1), say('Second Street', 2), say('First Street', 3)]
    const { outcomes } = await loading.load(rows, false, 2, 2)
    expect(await listOf(loading, 'person-1')).toMatchObject([{ name: 'First Street' }])
    expect((await loading.stored('careTeam')).map((one) => JSON.stringify(one))).toEqual([
      expect.stringContaining(rows[2]?.transactionId ?? ''),
    ])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged', 'accepted'])
  })

  it.each(['replace', 'keep'] as const)(
    'of which the gateway refuses the newer: the older is sent, %s',
    async (changed) => {
      let posts = 0
      const loading = await startLoading({
        changed,
        faultOf: ({ method, path }) =>
          method === 'POST' && path === CARE_TEAMS && ++posts === 1 ? answer(400) : PASS,
      })
      const { outcomes } = await loading.load([named('First Street', 1), named('Second Street', 2)])
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'rejected'])
      expect(await listOf(loading, 'person-1')).toMatchObject([{ name: 'First Street', pcp: true }])
      expect(loading.tallies.requests.readBack).toBe(0)
    },
  )

  it('of one date: a row that the gateway refused at first replaces no entry of a later export', async () => {
    let posts = 0
    const loading = await startLoading({
      changed: 'replace',
      faultOf: ({ method, path }) =>
        method === 'POST' && path === CARE_TEAMS && ++posts === 1 ? answer(400) : PASS,
    })
    const first = made({ name: 'First Street' })
    await loading.settle(await loading.load([first], false, 1, 1), 1)
    await loading.settle(await loading.load([made({ name: 'Second Street' })], false, 2, 2), 2)
    const { outcomes } = await loading.load([first], false, 3, 1)
    expect(outcomes).toMatchObject([{ outcome: 'unchanged', passedOver: 'care-team-outdated' }])
    expect(await listOf(loading, 'person-1')).toMatchObject([{ name: 'Second Street' }])
  })

  it('leave the newest alone where the job replaces, though it was there before', async () => {
    const loading = await startLoading({ changed: 'replace' })
    await loading.settle(await loading.load([named('Second Street', 2)]))
    const night = [named('Third Street', 26), named('Second Street', 35)]
    const { outcomes } = await loading.load(night, false, 2)
    expect(outcomes).toMatchObject([
      { outcome: 'unchanged', passedOver: 'care-team-outdated' },
      { outcome: 'unchanged', found: true },
    ])
    const [only, ...others] = await listOf(loading, 'person-1')
    expect([only, others]).toMatchObject([{ name: 'Second Street', pcp: true }, []])
  })
})

it('puts several people into one request where the job says so', async () => {
  const people = [1, 2, 3].map((row) => made({ row, person: `person-${row}`, key: `key-${row}` }))
  const loading = await startWith([], { careTeamsAcrossAccounts: true })
  expect(tally((await loading.load(people)).outcomes)).toEqual({ accepted: 3 })
  expect(loading.added()).toBe(1)
  expect((await loading.stored('careTeam')).map((one) => one._account).sort()).toHaveLength(3)
})

describe('exports of equal dates that are read again every night', () => {
  it('speak in the order in which they came: the last word stands, however often the first are read', async () => {
    const loading = await startWith([], { changed: 'keep' })
    const row = { row: 1, person: 'person-1' }
    // One row key, one date: the second is passed over, as the account has the provider; the third brings the first back.
    const nights = [
      made({ ...row, primary: false }),
      made({ ...row, name: 'Corrected', primary: true }),
      made({ ...row, primary: false }),
    ]
    for (let night = 1; night <= nights.length + 1; night++)
      for (const [at, entry] of nights.slice(0, night).entries()) {
        const chunk = 10 * night + at
        await loading.settle(await loading.load([entry], false, chunk, at + 1), chunk)
        if (at === night - 1) expect(await loading.marked()).toEqual(at === 1 ? ['Test Practice'] : [])
      }
    expect(await loading.marked()).toEqual([])
    const reads = loading.tallies.requests.readBack
    await loading.settle(await loading.load([nights[0] ?? made()], false, 90, 1), 90)
    expect(loading.tallies.requests.readBack).toBe(reads)
  })

  it('leave the mark of a later one alone where the record of an earlier one is delivered only now', async () => {
    const loading = await startWith([], { changed: 'add' })
    // As after a gateway was wiped: the later export was sent by a rerun, the earlier one is read again.
    await loading.settle(await loading.load([made({ name: 'Corrected', primary: true })], false, 1, 3))
    const { outcomes } = await loading.load([made({ primary: false })], false, 2, 1)
    expect(outcomes).toMatchObject([{ outcome: 'accepted' }])
    expect(await loading.marked()).toEqual(['Corrected'])
    // One that came later than both has the last word.
    await loading.load([made({ name: 'Again', primary: false })], false, 3, 4)
    expect(await loading.marked()).toEqual([])
  })
})
