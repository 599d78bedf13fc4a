/** What is said of a profile by anything but a well-formed answer of the gateway is no evidence: nothing is sent again on it. */
import { describe, expect, it } from 'vitest'
import { type FaultGiven, plan } from '../../packages/reference-gateway/test/struck-gateway.ts'
import { idsOf, type LoadingOptions, startLoading, tally } from './loading.ts'
import { biometric, careTeam, condition, entryOf } from './made-up-entries.ts'

const KINDS = [
  { kind: 'biometric', make: biometric, create: 'createBiometricsBulk' },
  { kind: 'condition', make: condition, create: 'createConditionsBulk' },
  { kind: 'careTeam', make: careTeam, create: 'createCareTeams' },
] as const

type ReadFault = FaultGiven extends infer One ? (One extends unknown ? Omit<One, 'on'> : never) : never

const UNTOLD: Record<string, ReadFault> = {
  'a 404 of the gateway': { do: 'refuse', status: 404 },
  'a 404 that is a page of a proxy': { do: 'refuse', status: 404, body: 'html' },
  'a 404 without a body': { do: 'refuse', status: 404, body: 'empty' },
}

/** The first create request is answered with 500, after storing or before; reads, once something was sent, as given. */
const struck = (
  create: (typeof KINDS)[number]['create'],
  stored: boolean,
  read?: ReadFault,
  job: LoadingOptions = {},
) =>
  startLoading({
    ...job,
    gateway: {
      faults: plan(
        { on: create, do: stored ? 'store-then-answer' : 'refuse', status: 500, when: { first: 1 } },
        ...(read === undefined ? [] : [{ ...read, on: 'reads' } as FaultGiven]),
      ),
    },
  })

describe.each(KINDS)('a $kind record of which a read tells nothing', ({ kind, make, create }) => {
  const entry = entryOf(make, { primary: false })

  it.each(Object.entries(UNTOLD))('is in doubt, and not sent again: %s', async (_name, read) => {
    const loading = await struck(create, true, read)
    expect(tally((await loading.load([entry])).outcomes)).toEqual({ 'in-doubt': 1 })
    expect(await loading.storedIds(kind)).toEqual(idsOf([entry]))
  })

  it.each([
    ['sent again', 'the gateway says that there is nothing', { do: 'profile', as: 'not-found' }, 'accepted'],
    ['in doubt', 'a proxy does', UNTOLD['a 404 that is a page of a proxy'], 'in-doubt'],
    ['in doubt', 'an empty body does', UNTOLD['a 404 without a body'], 'in-doubt'],
  ] as const)(
    'where the job takes a 404 for an empty profile it is %s: %s',
    async (_what, _who, read, outcome) => {
      const loading = await struck(create, false, read, { notFound: 'empty' })
      expect(tally((await loading.load([entry])).outcomes)).toEqual({ [outcome]: 1 })
      expect(await loading.storedIds(kind)).toEqual(outcome === 'accepted' ? idsOf([entry]) : [])
    },
  )

  it('is sent again where the gateway shows an empty profile, and not where it answers that with 404', async () => {
    const shown = await struck(create, false)
    expect(tally((await shown.load([entry])).outcomes)).toEqual({ accepted: 1 })
    const hidden = await struck(create, false, { do: 'profile', as: 'not-found' })
    expect(tally((await hidden.load([entry])).outcomes)).toEqual({ 'in-doubt': 1 })
    expect(await hidden.storedIds(kind)).toEqual([])
  })
})
