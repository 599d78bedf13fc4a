import { expect, it } from 'vitest'
import { signIn } from '../../src/load/delivery.ts'
import { isStale } from '../../src/load/stale-accounts.ts'
import { answer, PASS, type Passing } from '../faults/fault-proxy.ts'
import { BIOMETRICS, CARE_TEAMS, idsOf, startLoading, tally } from './loading.ts'
import { biometric, careTeam, DAY_MS, entryOf, IDENTITY, OBSERVED_AT, people } from './made-up-entries.ts'

const hashed = (reference: string) => IDENTITY.account({ reference, type: 'partnerAccountId' })

it.each([
  // Sign, id before, registration: id, 409, empty profile → stale.
  ['not-found', 'a', undefined, false],
  ['other-id', 'a', undefined, true],
  ['no-account', 'a', undefined, true],
  ['not-found', 'a', ['b', false, false], true],
  ['not-found', 'a', ['b', true, false], true],
  ['not-found', 'a', ['a', false, true], true],
  ['not-found', 'a', ['a', false, false], false],
  ['not-found', 'a', ['a', true, true], false],
  ['not-found', 'a', [null, true, true], false],
  ['not-found', null, ['b', true, false], false],
  ['other-id', 'a', ['a', true, false], false],
  ['other-id', 'a', ['a', false, true], false],
  ['other-id', 'a', [null, true, false], true],
  ['other-id', 'a', ['b', true, false], true],
  ['no-account', 'a', ['a', false, false], true],
  ['no-account', 'a', [null, true, false], true],
] as const)('%s, known as %s, registered anew as %j: stale %s', (sign, before, registered, stale) => {
  const [accountId, isKnown, isEmpty] = registered ?? []
  const renewed =
    accountId === undefined || isKnown === undefined || isEmpty === undefined
      ? undefined
      : { accountId, isKnown, isEmpty }
  expect(isStale(sign, before, renewed)).toBe(stale)
})

it.each([
  ['account not found', true, 'no-account'],
  ['records[0].account: the account is not registered', true, 'no-account'],
  ['Unknown account', false, 'no-account'],
  ['records[0].account.type: unknown', false, undefined],
  ['unknown account type', false, undefined],
  ['the account type is not known', true, 'not-found'],
  ['Not Found', true, 'not-found'],
  ['the unit is unknown', false, undefined],
  [undefined, true, 'not-found'],
  [undefined, false, undefined],
] as const)('the words %j, 404 %s, are the sign %s', (words, isNotFound, sign) => {
  expect(signIn(words, isNotFound)).toBe(sign)
})

/** An answer of success whose errors name each record of these people by its transaction id; the gateway takes nothing. */
const namesAsUnknown = ({ path, body }: Passing, ...unknown: readonly string[]) => {
  if (path !== BIOMETRICS) return PASS
  const records = JSON.parse(body) as { transactionId: string; account: { reference: string } }[]
  const isUnknown = ({ account }: (typeof records)[number]): boolean => unknown.includes(account.reference)
  const errors = records.filter(isUnknown).map(({ transactionId }) => ({
    ...{ code: 404, message: 'account not found', transactionId },
  }))
  return { do: 'answer', status: 201, body: { code: 201, message: 'created', data: [], errors } } as const
}

it('a record that an answer names as of an unknown account is rejected with its code, though the profile is a 404, too', async () => {
  const loading = await startLoading({
    register: 'never',
    faultOf: (request) => namesAsUnknown(request, 'person-1', 'person-2'),
  })
  const { outcomes } = await loading.load(people(2))
  const reason = { code: 'listed-as-error', message: '404: account not found' }
  expect(outcomes).toMatchObject([
    { outcome: 'rejected', reason },
    { outcome: 'rejected', reason },
  ])
  expect(loading.posts(BIOMETRICS)).toBe(1)
})

it('of a known person such an answer makes the account stale: registered anew, and nothing more is sent in the run', async () => {
  let isGone = true
  const loading = await startLoading({
    faultOf: (request) => (isGone ? namesAsUnknown(request, 'person-1') : PASS),
  })
  const { reference, runLedger, ledger, clock } = loading
  const account = { reference: hashed('person-1'), accountId: 'former', isNew: false, sentBefore: null }
  await runLedger.saveAccounts(reference.url, [account], clock.now)
  const [first, second] = [1, 2].map((row) =>
    entryOf(biometric, { row, observedAt: OBSERVED_AT + row * DAY_MS }),
  )
  if (first === undefined || second === undefined) throw new Error('two entries were made up')
  const loaded = await loading.load([first])
  expect(loaded.outcomes).toMatchObject([
    { outcome: 'rejected', reason: { code: 'account-stale', message: '404: account not found' } },
  ])
  await loading.settle(loaded)
  isGone = false
  const known = (await ledger.people.accounts(reference.url, [hashed('person-1')])).get(hashed('person-1'))
  expect(known).toMatchObject({ accountId: expect.stringMatching(/^id-/), sentBefore: null })
  const after = await loading.load([second], false, 2)
  expect(after.outcomes).toMatchObject([{ outcome: 'rejected', reason: { code: 'account-stale' } }])
  expect(await loading.stored('biometric')).toEqual([])
  // A process that goes on with the run, or a rerun, sends them.
  expect(tally((await loading.load([first, second], true, 3)).outcomes)).toEqual({ accepted: 2 })
  expect(await loading.storedIds('biometric')).toEqual(idsOf([first, second]))
})

it('of a known person a list of care teams that says so does the same: no entry of the person is sent', async () => {
  const loading = await startLoading({
    faultOf: ({ method, path }) =>
      method === 'GET' && path === CARE_TEAMS ? answer(404, {}, 'account not found') : PASS,
  })
  const { reference, runLedger, clock } = loading
  const account = { reference: hashed('person-1'), accountId: 'former', isNew: false, sentBefore: null }
  await runLedger.saveAccounts(reference.url, [account], clock.now)
  const { outcomes } = await loading.load([entryOf(careTeam, { npi: '1234567893' })])
  expect(outcomes).toMatchObject([{ outcome: 'rejected', reason: { code: 'account-stale' } }])
  expect(loading.posts(CARE_TEAMS)).toBe(0)
})

it.each([
  ['is answered', PASS],
  ['has no answer, and its second try finds the account', { do: 'pass-then-reset' }],
] as const)(
  'of a wiped gateway, where the id is not known and the registration %s: registered anew',
  async (_, fault) => {
    let registrations = 0
    const loading = await startLoading({
      faultOf: ({ path }) => {
        if (path === '/account/register') return registrations++ === 0 ? fault : answer(409, {}, 'known')
        return registrations === 0 ? answer(404, {}, 'Not Found') : PASS
      },
    })
    const { reference, runLedger, ledger, clock } = loading
    const account = { reference: hashed('person-1'), accountId: null, isNew: false, sentBefore: null }
    await runLedger.saveAccounts(reference.url, [account], clock.now)
    const { outcomes } = await loading.load([entryOf(biometric, {})])
    expect(outcomes).toMatchObject([{ outcome: 'rejected', reason: { code: 'account-stale' } }])
    expect((await ledger.people.forgotten(reference.url, () => [hashed('person-1')])).size).toBe(1)
  },
)

it('an account that somebody else has renewed meanwhile is not forgotten once more', async () => {
  const { ledger, runLedger, reference, clock } = await startLoading()
  const person = hashed('person-1')
  const times = async () => (await ledger.people.forgotten(reference.url, () => [person])).get(person)
  const save = (accountId: string) =>
    runLedger.saveAccounts(reference.url, [{ reference: person, accountId, sentBefore: null }], clock.now)
  await save('new')
  await runLedger.forgetAccount(reference.url, person, 'former')
  expect(await times()).toBeUndefined()
  await runLedger.forgetAccount(reference.url, person, 'new')
  expect(await times()).toBe(1)
})
