import { describe, expect, it } from 'vitest'
import { loadRoster, perhapsSent, renamedPeople, resolveAccounts } from '../../src/load/accounts.ts'
import type { Entry } from '../../src/model/entry.ts'
import { createIdentity } from '../../src/model/ids.ts'
import type { EntryOutcome, Reason, ShownRecord } from '../../src/model/outcome.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { BIOMETRICS, CARE_TEAMS, failureOf, startLoading, startOther, tally } from './loading.ts'
import { biometric, DAY_MS, entryOf, IDENTITY, people, SOURCE_TYPE } from './made-up-entries.ts'

type Loading = Awaited<ReturnType<typeof startLoading>>

const REGISTER = '/account/register'
const hashed = (reference: string) => IDENTITY.account({ reference, type: 'partnerAccountId' })

const issue = {
  stage: 'transform',
  code: 'registration-incomplete',
  message: 'registration needs lastName',
} as const

describe('accounts', () => {
  it('are registered once, and their ids kept', async () => {
    const loading = await startLoading()
    await loading.load([1, 2].map((row) => entryOf(biometric, { row, key: `${row}`, code: `code-${row}` })))
    await loading.load([entryOf(biometric, { row: 3 })], false, 2)
    expect(loading.posts(REGISTER)).toBe(1)
    const kept = await loading.ledger.people.accounts(loading.reference.url, [hashed('person-1')])
    expect(kept.get(hashed('person-1'))?.accountId).toMatch(/^id-/)
  })

  it('are in the ledger before a later registration takes the place of theirs', async () => {
    const everybody = people(9)
    const references = everybody.map(({ account }) => IDENTITY.account(account))
    const atOnce = 3
    const kept: number[] = []
    const loading: Loading = await startLoading({
      concurrency: atOnce,
      faultOf: async ({ path }) => {
        if (path !== REGISTER) return PASS
        const { ledger, reference } = loading
        kept.push((await ledger.people.accounts(reference.url, references)).size)
        return PASS
      },
    })
    await loading.load(everybody)
    expect(kept).toHaveLength(everybody.length)
    for (const [earlier, size] of kept.entries()) expect(size).toBeGreaterThan(earlier - atOnce)
  })

  it('counts whom the gateway knew in a chunk that is gone on with, though all of theirs was accepted before', async () => {
    const loading = await startLoading({ gateway: { registeredAgain: 'conflict' } })
    const [first, second] = people(2)
    if (first === undefined || second === undefined) throw new Error('two people were made up')
    const registration = first.row.register()
    if (registration?.ok !== true) throw new Error('the person can be registered')
    await loading.gateway.accounts.register({ ...registration.registration })
    const whole = await loading.load([first, second])
    expect(whole.accounts).toEqual({ known: 1, refused: 0 })
    // The process was killed before the chunk was settled.
    expect((await loading.load([first, second], true)).accounts).toEqual({ known: 1, refused: 0 })
  })

  it.each(['same', 'conflict'] as const)(
    'that the gateway knows already are no failure (%s)',
    async (registeredAgain) => {
      const loading = await startLoading({ gateway: { registeredAgain } })
      const body = JSON.stringify({
        dateOfBirth: '1970-02-28',
        firstName: 'A',
        gender: 'FEMALE',
        lastName: 'B',
        partnerAccountId: 'person-1',
        postalCode: '0',
      })
      await fetch(loading.reference.url + REGISTER, {
        method: 'POST',
        headers: { 'x-api-key': 'k', 'content-type': 'application/json' },
        body,
      })
      expect(tally((await loading.load([entryOf(biometric)])).outcomes)).toEqual({ accepted: 1 })
      expect((await loading.ledger.people.accounts(loading.reference.url, [hashed('person-1')])).size).toBe(1)
    },
  )

  it.each([
    ['no answer', { do: 'pass-then-reset' }],
    ['500', { do: 'pass-then-answer', status: 500 }],
    ['garbage', { do: 'pass-then-garble', garble: () => '{' }],
  ] as const)('are asked for again after %s', async (_name, fault) => {
    const loading = await startLoading({
      faultOf: (request) => (request.path === REGISTER && request.earlier === 0 ? fault : PASS),
    })
    expect(tally((await loading.load([entryOf(biometric)])).outcomes)).toEqual({ accepted: 1 })
    expect(loading.posts(REGISTER)).toBe(2)
  })

  it('that are refused reject their records alone, without the person’s data in the ledger’s words', async () => {
    const loading = await startLoading({
      faultOf: (request) =>
        request.path === REGISTER && request.body.includes('person-2')
          ? answer(400, {}, 'Beispielfrau, born 1970-02-28: no')
          : PASS,
    })
    const { outcomes } = await loading.load(people(3))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'rejected', 'accepted'])
    expect(outcomes[1]).toMatchObject({
      batchId: null,
      reason: { stage: 'register', code: 'registration-refused' },
    })
    const scrubbed = outcomes[1]?.outcome === 'rejected' ? outcomes[1].reason.scrubbed : ''
    expect(scrubbed).not.toMatch(/Beispielfrau|1970/)
    expect(loading.tallies.accounts).toEqual({ registered: 2, known: 0, refused: 1 })
  })

  it('that cannot be registered from the row reject their records', async () => {
    const loading = await startLoading()
    const { outcomes } = await loading.load([
      entryOf(biometric, { row: 1, person: 'a', register: () => undefined }),
      entryOf(biometric, { row: 2, person: 'b', register: () => ({ ok: false, issue }) }),
    ])
    expect(outcomes).toMatchObject([
      { outcome: 'rejected', reason: { code: 'account-unknown' } },
      { outcome: 'rejected', reason: { code: 'registration-incomplete' } },
    ])
    expect(loading.proxy.seen).toEqual([])
  })

  it('are registered by the first row that says enough of them: one that does not rejects no other', async () => {
    const loading = await startLoading()
    const { outcomes } = await loading.load([
      entryOf(biometric, { row: 1, person: 'a', register: () => ({ ok: false, issue }) }),
      entryOf(biometric, { row: 2, person: 'a', key: 'second' }),
    ])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
    expect(loading.posts(REGISTER)).toBe(1)
  })

  it('are left alone where the job says so', async () => {
    const loading = await startLoading({ register: 'never' })
    expect((await loading.load(people(2))).outcomes).toMatchObject([
      { outcome: 'rejected' },
      { outcome: 'rejected' },
    ])
    expect(loading.posts(REGISTER)).toBe(0)
  })

  it('that a lost ledger knew may have had what was observed up to the day on which this one met them', async () => {
    const { context, clock, reference, runLedger } = await startLoading()
    const met = clock.now
    const known = { reference: hashed('person-1'), accountId: 'id-9', isNew: false, sentBefore: met }
    await runLedger.saveAccounts(reference.url, [known], met)
    const at = (observedAt: number) => entryOf(biometric, { observedAt })
    // A day without a time is its first instant in a zone, up to a day behind that of another one.
    const entries = [at(met - 1), at(met + DAY_MS), at(met + DAY_MS + 1)]
    const { isPerhapsSent } = await resolveAccounts(context.accounts, entries)
    expect(entries.map(isPerhapsSent)).toEqual([true, true, false])
  })

  it.each([
    ['can be read, and is empty', 'none', null],
    ['has biometrics that cannot be read', '/health-profile/biometrics', 'now'],
    ['has conditions that cannot be read', '/health-profile/conditions', 'now'],
    ['has care teams that cannot be read', CARE_TEAMS, 'now'],
  ])('that the gateway knows may have had all, unless their profile %s', async (_, unread, expected) => {
    const loading = await startLoading({
      gateway: { registeredAgain: 'conflict' },
      faultOf: ({ method, path }) => (method === 'GET' && path === unread ? answer(400) : PASS),
    })
    const entry = entryOf(biometric, { observedAt: loading.clock.now })
    const registration = entry.row.register()
    if (registration?.ok !== true) throw new Error('the person can be registered')
    await loading.gateway.accounts.register({ ...registration.registration })
    const { outcomes } = await loading.load([entry])
    const kept = await loading.ledger.people.accounts(loading.reference.url, [hashed('person-1')])
    expect(kept.get(hashed('person-1'))?.sentBefore).toBe(expected === 'now' ? loading.clock.now : null)
    // Sent only where the profile shows that it is not there.
    const isUnread = unread === '/health-profile/biometrics'
    expect(outcomes).toMatchObject([
      isUnread ? { outcome: 'in-doubt', reason: { code: 'perhaps-sent' } } : { outcome: 'accepted' },
    ])
    expect(loading.posts(BIOMETRICS)).toBe(isUnread ? 0 : 1)
  })

  it('that were registered are kept, also where the run must stop', async () => {
    const loading = await startLoading({
      concurrency: 1,
      faultOf: (request) =>
        request.path === REGISTER && request.body.includes('person-2') ? answer(403) : PASS,
    })
    expect(await failureOf(loading.load(people(2)))).toMatchObject({ code: 'gateway-refused-credentials' })
    expect((await loading.ledger.people.accounts(loading.reference.url, [hashed('person-1')])).size).toBe(1)
    expect(loading.posts(BIOMETRICS)).toBe(0)
  })
})

describe('one reference', () => {
  const DAY = 86_400_000
  const visit = (row: number, born: number | undefined, person = 'person-1'): Entry =>
    entryOf(biometric, { row, person, ...(born === undefined ? {} : { born: born * DAY }) })

  it('is one person: another birth date is rejected, and all that comes later, whatever it says', async () => {
    const loading = await startLoading()
    const load = async (chunk: number, ...entries: Entry[]) =>
      (await loading.load(entries, false, chunk)).outcomes.map((one) =>
        'reason' in one ? `${one.outcome} ${one.reason.stage} ${one.reason.code}` : one.outcome,
      )
    // The first row does not tell it: what a later one says is kept.
    expect(await load(1, visit(1, undefined), visit(2, 7, 'person-2'))).toEqual(['accepted', 'accepted'])
    expect(await load(2, visit(3, 100))).toEqual(['accepted'])
    expect(await load(3, visit(4, 100), visit(5, undefined))).toEqual(['accepted', 'accepted'])
    const shared = 'rejected register reference-shared'
    expect(await load(4, visit(6, 101), visit(7, 7, 'person-2'))).toEqual([shared, 'accepted'])
    expect(await load(5, visit(8, 100), visit(9, undefined), visit(10, 7, 'person-2'))).toEqual([
      shared,
      shared,
      'accepted',
    ])
    expect(await loading.stored('biometric')).toHaveLength(7)
    // Somebody says that it is one person after all; the date that comes next is taken.
    const person = hashed('person-1')
    expect(await loading.ledger.people.confirm(loading.reference.url, new Map([[person, null]]))).toBe(1)
    expect(await load(6, visit(11, 101))).toEqual(['accepted'])
    expect(await load(7, visit(12, 100))).toEqual([shared])
    // Or the date itself is told.
    const born = IDENTITY.born(person, 100 * DAY)
    await loading.ledger.people.confirm(loading.reference.url, new Map([[person, born]]))
    expect(await load(8, visit(13, 101))).toEqual([shared])
    await loading.ledger.people.confirm(loading.reference.url, new Map([[person, born]]))
    expect(await load(9, visit(14, 100))).toEqual(['accepted'])
  })

  it('that a chunk has shown to be shared registers nobody in a later one', async () => {
    const loading = await startLoading()
    const account = { reference: 'person-1', type: 'partnerAccountId' } as const
    await loading.load([], false, 1, 1, [account])
    const { outcomes } = await loading.load([visit(1, 100)], false, 2)
    expect(outcomes).toMatchObject([{ outcome: 'rejected', reason: { code: 'reference-shared' } }])
    expect(loading.posts(REGISTER)).toBe(0)
    // Who is forgotten may come again.
    await loading.ledger.people.forget(loading.reference.url, [hashed('person-1')], null)
    expect(tally((await loading.load([visit(2, 100)], false, 3)).outcomes)).toEqual({ accepted: 1 })
  })

  it('with another name is told until the chunk is settled: a process that is killed before loses nothing', async () => {
    const loading = await startLoading()
    const rowsOf = async (row: number, fullName: string) => {
      const { names } = await loading.load([entryOf(biometric, { row, key: `${row}`, fullName })], false, row)
      return [...(names?.values() ?? [])].map(({ changedAt }) => changedAt?.row)
    }
    expect(await rowsOf(1, 'Ann|Lee')).toEqual([])
    expect(await rowsOf(2, 'Ann|Moor')).toEqual([2])
    expect(await rowsOf(3, 'Ann|Moor')).toEqual([3])
    expect(await rowsOf(4, ' ann|LEE')).toEqual([])
  })

  it('keeps of a birth date what tells it from another, by person', () => {
    const [a, b] = [hashed('a'), hashed('b')]
    const births = Array.from({ length: 1_000 }, (_, day) => IDENTITY.born(a, (day - 500) * DAY))
    expect(new Set(births).size).toBe(1_000)
    expect(IDENTITY.born(a, 100 * DAY + 5_000)).toBe(IDENTITY.born(a, 100 * DAY))
    expect(IDENTITY.born(a, 100 * DAY)).not.toBe(IDENTITY.born(b, 100 * DAY))
    expect(createIdentity('another key').born(a, 0)).not.toBe(IDENTITY.born(a, 0))
  })
})

describe('people of a chunk', () => {
  const two = (): Entry[] => people(2)
  const save = async (
    { runLedger, reference, clock }: Loading,
    who: string,
    more: { sentBefore?: number; born?: number; named?: number } = {},
  ) => {
    const known = {
      reference: hashed(who),
      accountId: `id-of-${who}`,
      isNew: false,
      sentBefore: null,
      ...more,
    }
    await runLedger.saveAccounts(reference.url, [known], clock.now)
  }

  it.each<[string, (loading: Loading) => Promise<void>, boolean]>([
    ['are new', async () => {}, true],
    ['are known', (loading) => save(loading, 'person-2'), true],
    ['may have records from before', (loading) => save(loading, 'person-2', { sentBefore: 1 }), false],
    ['are refused', async () => {}, false],
  ])('are usual or not: one of two who %s', async (what, prepare, areUsual) => {
    const refused = what === 'are refused'
    const loading = await startLoading({
      faultOf: ({ body }) => (refused && body.includes('person-2') ? answer(400) : PASS),
    })
    await prepare(loading)
    expect((await resolveAccounts(loading.context.accounts, two())).areUsual).toBe(areUsual)
  })

  it('are neither looked up nor registered where the export names them by the id of their account', async () => {
    const loading = await startLoading()
    const account = { reference: 'id-7', type: 'accountId' as const }
    const entry: Entry = Object.create(entryOf(biometric), { account: { value: account } })
    const resolved = await resolveAccounts(loading.context.accounts, [entry])
    expect(resolved.accountIds(account)).toBe('id-7')
    expect(resolved.counts).toEqual({ known: 0, refused: 0 })
    expect(loading.posts(REGISTER)).toBe(0)
    expect((await loadRoster(loading.context.accounts, [entry], false)).outcomes).toMatchObject([
      { outcome: 'unchanged' },
    ])
  })

  it('whose registration fails again and again are late: the others do not wait, and they are refused at last', async () => {
    const loading = await startLoading({
      faultOf: ({ path, body }) => (path === REGISTER && body.includes('person-2') ? answer(500) : PASS),
    })
    const [, second = expect.fail('nobody')] = two()
    const first = await resolveAccounts(loading.context.accounts, two(), 'leave')
    expect([...first.late]).toEqual([hashed('person-2')])
    expect([first.isLate(second.account), first.refusalOf(second)]).toEqual([true, undefined])
    expect([...first.registered]).toEqual([hashed('person-1')])
    const tries = (await resolveAccounts(loading.context.accounts, [second])).refusalOf(second)
    expect(tries).toMatchObject({ code: 'registration-fails', message: expect.stringContaining('HTTP 500') })
    const posts = loading.posts(REGISTER)
    expect((await resolveAccounts(loading.context.accounts, [second])).refusalOf(second)).toEqual(tries)
    expect(loading.posts(REGISTER)).toBe(posts)
  })

  it('that an earlier chunk still registers are joined, and not waited for where others can go on', async () => {
    const loading = await startLoading()
    const [, second = expect.fail('nobody')] = two()
    const pending = Promise.withResolvers<Reason>()
    loading.context.accounts.late.set(hashed('person-2'), pending.promise)
    const left = await resolveAccounts(loading.context.accounts, [second], 'leave')
    expect([...left.late]).toEqual([hashed('person-2')])
    const reason: Reason = { stage: 'register', code: 'registration-fails', message: 'm', scrubbed: 'm' }
    const joined = resolveAccounts(loading.context.accounts, [second])
    pending.resolve(reason)
    expect((await joined).refusalOf(second)).toEqual(reason)
    expect(loading.posts(REGISTER)).toBe(0)
  })

  it.each<[string, Parameters<typeof save>[2], boolean]>([
    ['with the birth date of before', { born: IDENTITY.born(hashed('person-1'), DAY_MS) }, true],
    ['with another birth date', { born: IDENTITY.born(hashed('person-1'), 2 * DAY_MS) }, false],
    ['without a birth date before', {}, true],
    ['with the name of before', { named: IDENTITY.named(hashed('person-1'), 'lee') }, false],
  ])('have a new name, or are another person: %s', async (_what, before, isRenamed) => {
    const loading = await startLoading()
    const named = { named: IDENTITY.named(hashed('person-1'), 'moor'), ...before }
    await save(loading, 'person-1', named)
    const entry = entryOf(biometric, { fullName: ' L\u00c9e ', born: DAY_MS })
    const renamed = await renamedPeople(loading.ledger, loading.reference.url, IDENTITY, [entry])
    expect(renamed).toEqual(isRenamed ? [hashed('person-1')] : [])
  })

  // Of each row the last name; the number of the row with another name than before, or none.
  it.each<[string, 'unknown' | 'unnamed' | 'lee', string[], string | undefined, number | undefined]>([
    ['nobody knows, in one row', 'unknown', ['lee'], undefined, undefined],
    ['nobody knows, in two rows', 'unknown', ['lee', 'lee'], 'lee', undefined],
    ['nobody knows, with two names', 'unknown', ['lee', 'moor'], 'moor', 2],
    ['nobody knows, without a name', 'unknown', ['', ''], undefined, undefined],
    ['had no name', 'unnamed', ['lee'], 'lee', undefined],
    ['have the name of before', 'lee', ['lee'], undefined, undefined],
    ['have no name now', 'lee', [''], undefined, undefined],
    ['have another name', 'lee', ['moor'], 'moor', 1],
    ['have two other names', 'lee', ['lee', 'moor', 'hill'], 'hill', 2],
    ['have another name for one row', 'lee', ['moor', 'lee'], 'lee', 1],
  ])('have names: those who %s', async (_, before, names, named, changedAt) => {
    const loading = await startLoading({ register: 'never' })
    const hash = (name: string): number => IDENTITY.named(hashed('person-1'), name)
    if (before !== 'unknown')
      await save(loading, 'person-1', before === 'unnamed' ? {} : { named: hash('lee') })
    const entries = names.map((fullName, at) => entryOf(biometric, { row: at + 1, fullName }))
    const found = (await resolveAccounts(loading.context.accounts, entries)).names.get(hashed('person-1'))
    expect(found?.named).toBe(named === undefined ? undefined : hash(named))
    expect(found?.changedAt?.row).toBe(changedAt)
  })

  it('are let go once they are registered: others may have them, but for those still worked on, or late', async () => {
    const loading = await startLoading({
      faultOf: ({ path, body }) => (path === REGISTER && body.includes('person-3') ? answer(500) : PASS),
    })
    const other = await startOther(loading)
    const claimedBy = async (run: Loading['runLedger'], ...persons: string[]) => {
      const asked = { gateway: loading.reference.url, accounts: persons.map(hashed), now: 0 }
      return (await run.claimAccounts(asked, () => false)).accounts
    }
    await claimedBy(other, 'person-4')
    const toClaim = new Set([hashed('person-2')])
    const context = loading.context.accounts
    const resolved = await resolveAccounts(context, people(4), 'leave', undefined, toClaim)
    expect(resolved.registered).toEqual(new Set(['person-1', 'person-2'].map(hashed)))
    expect(resolved.late).toEqual(new Set(['person-3', 'person-4'].map(hashed)))
    expect([resolved.isBusy, resolved.claimed]).toEqual([true, toClaim])
    const free = await claimedBy(other, 'person-1', 'person-2', 'person-3')
    expect(free).toEqual(new Set([hashed('person-1')]))
  })

  const ours = { persistentId: entryOf(biometric).transactionId, sourceType: 'another' }
  it.each<[string, readonly ShownRecord[] | undefined, boolean]>([
    ['cannot be read', undefined, true],
    ['is empty', [], false],
    ['shows a record of ours', [ours], true],
    ['shows a record of somebody else', [{ persistentId: 'x', sourceType: SOURCE_TYPE }], false],
    ['shows one of each', [{ persistentId: 'x', sourceType: undefined }, ours], true],
    [
      'shows a record without an id, of our type',
      [{ persistentId: undefined, sourceType: SOURCE_TYPE }],
      true,
    ],
    ['shows a record without an id, of another type', [{ persistentId: undefined, sourceType: 'x' }], false],
    ['shows a record without id and type', [{ persistentId: undefined, sourceType: undefined }], true],
  ])('may have what was sent before, if their profile %s', async (_, shown, isPerhaps) => {
    const context = { reconciler: { profile: async () => shown }, now: () => 7 }
    expect(await perhapsSent(context, entryOf(biometric))).toEqual({ until: isPerhaps ? 7 : null, shown })
  })

  it('of a chunk that is gone on with count as refused once each, by the outcomes of before alone', async () => {
    const loading = await startLoading()
    const rejected = (person: string, stage: Reason['stage']): EntryOutcome => ({
      entry: entryOf(biometric, { person }),
      outcome: 'rejected',
      batchId: null,
      reason: { stage, code: 'refused', message: 'm', scrubbed: 'm' },
    })
    const byId: Entry = Object.create(entryOf(biometric), {
      account: { value: { reference: 'id-7', type: 'accountId' } },
    })
    const settled: EntryOutcome[] = [
      rejected('refused', 'register'),
      rejected('refused', 'register'),
      rejected('sent', 'submit'),
      rejected('sent too', 'submit'),
      { ...rejected('', 'register'), entry: byId },
      { entry: entryOf(biometric, { person: 'unchanged' }), outcome: 'unchanged' },
    ]
    const { counts } = await resolveAccounts(loading.context.accounts, [], 'await', settled)
    expect(counts).toEqual({ known: 0, refused: 1 })
  })

  it('of a roster are accepted with their first row, and unchanged with the next, and as known ones', async () => {
    const loading = await startLoading()
    await save(loading, 'known')
    const incomplete = { ok: false as const, issue: { ...issue, field: 'Last' } }
    const entries = ['new', 'known', 'new', 'poor'].map((person, at) =>
      entryOf(biometric, {
        row: at + 1,
        person,
        ...(person === 'poor' ? { register: () => incomplete } : {}),
      }),
    )
    const { outcomes, accounts } = await loadRoster(loading.context.accounts, entries, false)
    expect(outcomes).toMatchObject([
      { outcome: 'accepted', batchId: null, status: null, gatewayId: expect.stringMatching(/^id-/) },
      { outcome: 'unchanged' },
      { outcome: 'unchanged' },
      { outcome: 'rejected', reason: { code: 'registration-incomplete', field: 'Last' } },
    ])
    expect(accounts).toEqual({ known: 1, refused: 1 })
  })

  it('of a roster that registers nobody are rejected where nobody knows them', async () => {
    const loading = await startLoading({ register: 'never' })
    await save(loading, 'known')
    const entries = ['new', 'known'].map((person, at) => entryOf(biometric, { row: at + 1, person }))
    const { outcomes } = await loadRoster(loading.context.accounts, entries, false)
    expect(outcomes).toMatchObject([
      { outcome: 'rejected', reason: { code: 'account-unknown' } },
      { outcome: 'unchanged' },
    ])
  })
})
