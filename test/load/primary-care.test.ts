import { expect, it } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { CARE_TEAMS, startLoading, tally } from './loading.ts'
import { careTeam, DAY_MS, entryOf, OBSERVED_AT } from './made-up-entries.ts'

const PCP = `${CARE_TEAMS}/pcp`
const [older, newer, other] = [
  entryOf(careTeam, { row: 1, npi: '1234567893', observedAt: OBSERVED_AT }),
  entryOf(careTeam, { row: 2, npi: '1003000126', observedAt: OBSERVED_AT + DAY_MS }),
  entryOf(careTeam, { row: 3, npi: '1013000124', person: 'person-2', primary: false }),
]

/** NPIs of the marked entries of person-1. */
async function markedOf({ reference }: Awaited<ReturnType<typeof startLoading>>): Promise<string[]> {
  const query = 'accountReference=person-1&accountReferenceType=partnerAccountId'
  const answered = await fetch(`${reference.url}${CARE_TEAMS}?${query}`, {
    headers: { 'x-api-key': 'k', authorization: 'Bearer t' },
  })
  const { data } = (await answered.json()) as { data: { npi: string; pcp: boolean }[] }
  return data.filter((entry) => entry.pcp).map((entry) => entry.npi)
}

it('marks the entry observed last, once an account, and no entry that is not to be', async () => {
  const loading = await startLoading()
  await loading.load([newer, older, other])
  expect(await markedOf(loading)).toEqual(['1003000126'])
  expect(loading.posts(PCP)).toBe(1)
  expect(loading.tallies.primaryCare).toEqual({ marked: 1, unmarked: 0, owed: 0 })
})

it('leaves the mark where it is when an older entry comes later', async () => {
  const loading = await startLoading()
  await loading.settle(await loading.load([newer]))
  const { outcomes, followUpFailures } = await loading.load([older], false, 2)
  expect({ ...tally(outcomes), followUpFailures }).toEqual({ accepted: 1, followUpFailures: [] })
  expect(await markedOf(loading)).toEqual([newer.evidence.npi])
})

it('moves the mark to a newer entry that comes later, and sets it where the list cannot be read', async () => {
  const loading = await startLoading({
    faultOf: (request) =>
      request.method === 'GET' && request.path === CARE_TEAMS && request.earlier === 0 ? answer(404) : PASS,
  })
  await loading.load([older])
  await loading.load([newer], false, 2)
  expect(await markedOf(loading)).toEqual([newer.evidence.npi])
})

it('tries again what may be done twice', async () => {
  const loading = await startLoading({
    faultOf: (request) => (request.path === PCP && request.earlier === 0 ? { do: 'pass-then-reset' } : PASS),
  })
  expect((await loading.load([older])).followUpFailures).toEqual([])
  expect(loading.posts(PCP)).toBe(2)
})

it('marks by NPI what was found by reading back', async () => {
  const loading = await startLoading({
    faultOf: (request) =>
      request.method === 'POST' && request.path === CARE_TEAMS && request.earlier === 0
        ? { do: 'pass-then-reset' }
        : PASS,
  })
  await loading.load([older])
  expect(JSON.parse(loading.proxy.seen.find((one) => one.path === PCP)?.body ?? '')).toMatchObject({
    npi: '1234567893',
  })
})

it('tells of a mark that was refused; the entry stays accepted', async () => {
  const loading = await startLoading({
    faultOf: (request) => (request.path === PCP ? answer(404, {}, 'no entry Test Practice') : PASS),
  })
  const { outcomes, followUpFailures } = await loading.load([older])
  expect(tally(outcomes)).toEqual({ accepted: 1 })
  expect(followUpFailures).toMatchObject([
    { entry: older, reason: { stage: 'primary-care', code: 'mark-refused' } },
  ])
  expect(followUpFailures[0]?.reason.scrubbed).not.toContain('Practice')
  expect(loading.tallies.primaryCare).toEqual({ marked: 0, unmarked: 0, owed: 1 })
})
