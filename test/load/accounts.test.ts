import { describe, expect, it } from 'vitest'
import { resolveAccounts } from '../../src/load/accounts.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { BIOMETRICS, CARE_TEAMS, failureOf, startLoading, tally } from './loading.ts'
import { biometric, DAY_MS, entryOf, IDENTITY, people } from './made-up-entries.ts'

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
    const kept = await loading.ledger.accounts(loading.reference.url, [hashed('person-1')])
    expect(kept.get(hashed('person-1'))?.accountId).toMatch(/^id-/)
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
      expect((await loading.ledger.accounts(loading.reference.url, [hashed('person-1')])).size).toBe(1)
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
    const kept = await loading.ledger.accounts(loading.reference.url, [hashed('person-1')])
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
    expect((await loading.ledger.accounts(loading.reference.url, [hashed('person-1')])).size).toBe(1)
    expect(loading.posts(BIOMETRICS)).toBe(0)
  })
})
