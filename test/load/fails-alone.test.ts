/** One person on whom the gateway fails, again and again, does not keep the others waiting. */
import { describe, expect, it } from 'vitest'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { client } from '../gateway/loopback.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { BIOMETRICS, failureOf, idsOf, startLoading, tally } from './loading.ts'
import { biometric, careTeam, entriesOf, entryOf, people } from './made-up-entries.ts'

const REGISTER = '/account/register'
const MARK = '/health-profile/care-teams/pcp'
const PATIENCE_MS = 30 * 60_000
const FAILING: Fault = { do: 'answer', status: 500, body: { code: 500, message: 'no', data: [], errors: [] } }

const NOTHING = { followUpFailures: [], rowsCorrected: 0, accounts: { known: 0, refused: 0 } }

/** Requests of the path that name the person fail as given. */
const failingFor =
  (path: string, person: string, fault: Fault = FAILING) =>
  ({ path: asked, body, query }: Passing): Fault =>
    asked === path && (body.includes(`"${person}"`) || query.includes(`=${person}&`)) ? fault : PASS

const reasonOf = ({ outcomes }: Awaited<ReturnType<Awaited<ReturnType<typeof startLoading>>['load']>>) =>
  outcomes.flatMap((one) => (one.outcome === 'rejected' || one.outcome === 'in-doubt' ? [one.reason] : []))

describe('a person whose registration always fails', () => {
  it.each<[string, Fault]>([
    ['with 500', FAILING],
    ['with a page', { do: 'pass-then-garble', garble: () => '<html>' }],
    ['without an answer', { do: 'reset' }],
  ])(
    '%s: the records of the others are stored, those of that one rejected, in good time',
    async (_, fault) => {
      const loading = await startLoading({ faultOf: failingFor(REGISTER, 'person-7', fault) })
      const began = loading.clock.now
      const entries = people(40)
      const loaded = await loading.load(entries)
      expect(tally(loaded.outcomes)).toEqual({ accepted: 39, rejected: 1 })
      expect(reasonOf(loaded)).toMatchObject([
        {
          stage: 'register',
          code: 'registration-fails',
          message: expect.stringMatching(/^(HTTP \d+|no answer) on every try; other requests succeed$/),
        },
      ])
      expect(await loading.storedIds('biometric')).toEqual(idsOf(entries.toSpliced(6, 1)))
      expect(loading.clock.now - began).toBeLessThan(2 * 60_000)
      expect(loading.tallies.accounts.registered).toBe(39)
      expect(loaded.accounts).toEqual({ known: 0, refused: 1 })
    },
  )

  it('is rejected at once in later chunks of the run, where the others were known before', async () => {
    const loading = await startLoading({ faultOf: failingFor(REGISTER, 'person-2') })
    await loading.settle(await loading.load([entryOf(biometric, { row: 1, person: 'person-1' })]))
    const [, failing] = people(2)
    const next = entryOf(biometric, { row: 3, person: 'person-1', code: '8462-4' })
    const second = await loading.load([failing ?? next, next], false, 2)
    expect(second.outcomes.map(({ outcome }) => outcome)).toEqual(['rejected', 'accepted'])
    // The other one has not waited for it to be given up.
    const paths = loading.proxy.seen.map(({ path }) => path)
    expect(paths.lastIndexOf(BIOMETRICS)).toBeLessThan(paths.lastIndexOf(REGISTER))
    const tries = loading.posts(REGISTER)
    const third = await loading.load([entryOf(biometric, { row: 4, person: 'person-2' })], false, 3)
    expect(reasonOf(third)).toMatchObject([{ code: 'registration-fails' }])
    expect(loading.posts(REGISTER)).toBe(tries)
    expect(third.accounts).toEqual({ known: 0, refused: 1 })
  })

  it('is taken up again where it gets through while the others are sent', async () => {
    let sent = false
    const loading = await startLoading({
      faultOf: (request) => {
        sent ||= request.path === BIOMETRICS
        return sent ? PASS : failingFor(REGISTER, 'person-3')(request)
      },
    })
    const entries = people(5)
    const loaded = await loading.load(entries)
    expect(tally(loaded.outcomes)).toEqual({ accepted: 5 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
    expect(loading.posts(BIOMETRICS)).toBe(2)
    expect(loading.tallies.accounts.registered).toBe(5)
    expect(loaded.accounts).toEqual({ known: 0, refused: 0 })
  })

  it('counts in all that is told of the chunk, as the others do, where it gets through in the end', async () => {
    let sent = false
    const loading = await startLoading({
      gateway: { registeredAgain: 'conflict' },
      faultOf: (request) => {
        sent ||= request.path === BIOMETRICS
        if (request.path === MARK) return answer(400)
        return sent ? PASS : failingFor(REGISTER, 'person-3')(request)
      },
    })
    const direct = client(loading.reference.url)
    const told = [1, 2, 3].map((row) => {
      const made = { row, person: `person-${row}` }
      const [doctor, measured] = entriesOf([careTeam(made), biometric({ ...made, value: '120' })], made)
      const before = entryOf(biometric, { ...made, value: '110' })
      const doubtful = entryOf(biometric, { ...made, rule: 'pulse', code: '8867-4' })
      if (doctor === undefined || measured === undefined) throw new Error('a row has two records')
      return { doctor, measured, before, doubtful }
    })
    // All are known to the gateway; under the key of each row another value was delivered, and something else is in doubt.
    for (const { doctor } of told) {
      const draft = doctor.row.register()
      if (draft?.ok !== true) throw new Error('the person can be registered')
      await direct.accounts.register({ ...draft.registration })
    }
    const reason = { stage: 'read-back', code: 'in-doubt', message: '', scrubbed: '' } as const
    const outcomes = told.flatMap(({ before, doubtful }): EntryOutcome[] => [
      { entry: before, outcome: 'accepted', batchId: 'b', status: 201 },
      { entry: doubtful, outcome: 'in-doubt', batchId: 'b', reason },
    ])
    const delivered = told.map(({ before }) => ({
      rowKey: before.rowKey,
      records: [keptSlot(before.ruleHash, before.content, { arrival: 0 })],
    }))
    await loading.settle({
      ...NOTHING,
      outcomes,
      learned: { delivered, ended: new Map(), renamed: [], asked: new Set(), outdated: new Set() },
    })
    const loaded = await loading.load(
      told.flatMap(({ doctor, measured }) => [doctor, measured]),
      false,
      2,
    )
    expect(loading.posts(BIOMETRICS)).toBe(2)
    expect(tally(loaded.outcomes)).toEqual({ accepted: 6 })
    expect(new Set(loaded.followUpFailures.map(({ entry }) => entry))).toEqual(
      new Set(told.map(({ doctor }) => doctor)),
    )
    expect(loaded.rowsCorrected).toBe(3)
    expect(loaded.accounts).toEqual({ known: 3, refused: 0 })
    const rowKeys = new Set(told.map(({ measured }) => measured.rowKey))
    expect(new Set(loaded.learned.delivered.map(({ rowKey }) => rowKey))).toEqual(rowKeys)
  })

  it('is waited for where there is nobody else, as long as the job is patient, and then rejected', async () => {
    const loading = await startLoading({ faultOf: failingFor(REGISTER, 'person-1') })
    const began = loading.clock.now
    const loaded = await loading.load(people(1))
    expect(reasonOf(loaded)).toMatchObject([{ code: 'registration-fails' }])
    expect(loading.clock.now - began).toBeGreaterThanOrEqual(PATIENCE_MS)
    expect(loading.tallies.requests.readBack).toBe(1)
  })

  it.each<[string, number, (request: Passing) => Fault]>([
    ['the gateway answers nobody else', 1, () => FAILING],
    ['that happens to many, and to nobody else', 5, ({ path }) => (path === REGISTER ? FAILING : PASS)],
  ])('ends the run, which can be resumed, where %s', async (_, count, faultOf) => {
    const loading = await startLoading({ faultOf })
    expect(await failureOf(loading.load(people(count)))).toMatchObject({ code: 'gateway-failing' })
    expect(await loading.exceptions()).toEqual([])
  })
})

describe('a mark that always fails', () => {
  const doctors = (count: number) => people(count, careTeam)

  it('is owed to that person alone', async () => {
    const loading = await startLoading({ faultOf: failingFor(MARK, '1003000126') })
    const began = loading.clock.now
    const other = entryOf(careTeam, { row: 4, person: 'person-4', npi: '1003000126' })
    const loaded = await loading.load(doctors(12).with(3, other))
    expect(tally(loaded.outcomes)).toEqual({ accepted: 12 })
    expect(loading.tallies.primaryCare).toMatchObject({ marked: 11, owed: 1 })
    expect(loading.clock.now - began).toBeLessThan(2 * 60_000)
  })

  it('is owed to all where the gateway answers all else, and the last are not tried as often', async () => {
    const loading = await startLoading({ faultOf: ({ path }) => (path === MARK ? FAILING : PASS) })
    const loaded = await loading.load(doctors(20))
    expect(tally(loaded.outcomes)).toEqual({ accepted: 20 })
    expect(loading.tallies.primaryCare).toMatchObject({ marked: 0, owed: 20 })
    expect(loading.posts(MARK)).toBeLessThan(20 * 4)
  })

  it('ends the run where the gateway answers nothing else either', async () => {
    let stored = false
    const loading = await startLoading({
      faultOf: ({ path }) => {
        stored ||= path === MARK
        return stored ? FAILING : PASS
      },
    })
    expect(await failureOf(loading.load(doctors(2)))).toMatchObject({ code: 'gateway-failing' })
  })
})

describe('a profile whose read always fails', () => {
  const READ = '/health-profile/biometrics'
  const lost = (request: Passing): Fault | undefined =>
    request.path === BIOMETRICS && request.earlier === 0 ? { do: 'pass-then-reset' } : undefined
  const start = (fault: Fault) =>
    startLoading({
      register: 'never',
      gateway: { open: true },
      faultOf: (request) => lost(request) ?? failingFor(READ, 'person-2', fault)(request),
    })

  it.each<[string, Fault]>([
    ['500', FAILING],
    ['a page', { do: 'pass-then-garble', garble: () => '<html>' }],
    ['an empty object', { do: 'answer', status: 200, body: {} }],
    ['an array without an envelope', { do: 'answer', status: 200, body: [] }],
    ['data that is null', { do: 'answer', status: 200, body: { code: '200', data: null } }],
    ['204', { do: 'answer', status: 204 }],
  ])('leaves that record alone in doubt: %s', async (_, fault) => {
    const loading = await start(fault)
    const entries = people(5)
    const { outcomes } = await loading.load(entries)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'accepted',
      'in-doubt',
      'accepted',
      'accepted',
      'accepted',
    ])
    expect(loading.posts(BIOMETRICS)).toBe(1)
    expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
  })

  it('keeps nobody waiting where every read is answered with no content', async () => {
    const loading = await startLoading({
      register: 'never',
      gateway: { open: true },
      faultOf: ({ path, method }) => {
        if (path !== READ && path !== BIOMETRICS) return PASS
        return method === 'GET' ? { do: 'answer', status: 204 } : { do: 'pass-then-reset' }
      },
    })
    const began = loading.clock.now
    const entries = people(30)
    expect(tally((await loading.load(entries)).outcomes)).toEqual({ 'in-doubt': 30 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
    expect(loading.clock.now - began).toBeLessThan(30_000)
  })

  it('is in doubt at the end of the patience where it is the only one, too', async () => {
    const loading = await start(FAILING)
    const alone = entryOf(biometric, { row: 2, person: 'person-2' })
    expect(tally((await loading.load([alone])).outcomes)).toEqual({ 'in-doubt': 1 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf([alone]))
  })
})
