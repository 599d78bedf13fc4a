import { expect, test } from 'vitest'
import { z } from 'zod'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { openFaultyClinic } from './left-behind.ts'
import { type ReferenceStore, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account:
    reference: id
    type: partnerAccountId
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: born, format: yyyy-MM-dd }
      gender: { from: gender }
      postalCode: zip
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
careTeams:
  pcp: { npi: npi, name: practice, type: PCP, primary: true, phoneNumber: phone }
`
const job = (
  changed: string,
): string => `exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }
careTeams: { changed: ${changed} }
`
const HEADER = 'id,day,first,last,born,gender,zip,npi,practice,phone\n'
const row = (id: string, day: string, npi: string, practice: string): string =>
  `${id},${day},Testina,Beispielfrau,1970-02-28,FEMALE,00000,${npi},${practice},555-0100\n`
const [FIRST_NPI, OTHER_NPI] = ['1234567893', '1003000126']

/** A home, ledger and inbox of its own, at the same gateway. */
const newHome = (store: ReferenceStore, changed = 'replace'): Promise<Clinic> =>
  openClinic({ store, mapping: MAPPING, job: job(changed) })

const Listed = z.object({ data: z.array(z.object({ npi: z.string(), name: z.string(), pcp: z.boolean() })) })
/** `npi name` of what the account has, the primary care physician with a star. */
async function careTeamsOf({ url }: ReferenceStore, person: string): Promise<string[]> {
  const query = `accountReference=${person}&accountReferenceType=partnerAccountId`
  const headers = { 'x-api-key': 'test-key', authorization: 'Bearer test-token' }
  const answered = await fetch(`${url}/health-profile/care-teams?${query}`, { headers })
  const { data } = Listed.parse(await answered.json())
  return data.map(({ npi, name, pcp }) => `${npi} ${name}${pcp ? ' *' : ''}`).sort()
}

test('delivered again with the ledger lost, nothing is added again; what changed is replaced; what is older does not win', async () => {
  const store = await startReferenceStore({ registeredAgain: 'conflict' })
  const march = `${HEADER}${row('ann', '2026-03-02', FIRST_NPI, 'North Practice')}${row('ben', '2026-03-02', FIRST_NPI, 'North Practice')}`
  const first = await newHome(store)
  await first.deliver('day_20260302.csv', march)
  const before = summaryOf(await first.run())
  expect(before.records.careTeam).toMatchObject({ made: 2, accepted: 2 })
  expect(before.requests.readBack).toBe(0)
  expect(await careTeamsOf(store, 'ann')).toEqual([`${FIRST_NPI} North Practice *`])

  const clinic = await newHome(store)
  await clinic.deliver('day_20260302.csv', march)
  const again = summaryOf(await clinic.run())
  expect(again.records.careTeam).toMatchObject({ made: 2, accepted: 0, unchanged: 2 })
  // Of each of the two the profile, kind by kind, when they are met; then the list.
  expect(again.requests.readBack).toBe(8)
  expect(await store.records('careTeam')).toHaveLength(2)
  // What is known as delivered is not asked for any more.
  expect(summaryOf(await clinic.run()).requests).toMatchObject({ sent: 0, readBack: 0 })

  // Ann's practice has another name; Ben has another physician.
  await clinic.deliver(
    'day_20260401.csv',
    `${HEADER}${row('ann', '2026-04-01', FIRST_NPI, 'South Practice')}${row('ben', '2026-04-01', OTHER_NPI, 'West Practice')}`,
  )
  const changed = await clinic.run()
  expect(changed.code).toBe(0)
  expect(JSON.parse(changed.out)).toMatchObject({ careTeams: { replaced: 1, notReplaced: 0 } })
  const shown = await clinic.workplace.waybill('show', summaryOf(changed).run)
  expect(shown.out).toContain('marked 2; care teams replaced 1\n')
  const now = {
    ann: [`${FIRST_NPI} South Practice *`],
    ben: [`${OTHER_NPI} West Practice *`, `${FIRST_NPI} North Practice`],
  }
  expect(await careTeamsOf(store, 'ann')).toEqual(now.ann)
  expect(await careTeamsOf(store, 'ben')).toEqual(now.ben)

  // A delivery of February comes late.
  await clinic.deliver(
    'day_20260201.csv',
    `${HEADER}${row('ann', '2026-02-01', FIRST_NPI, 'East Practice')}${row('ben', '2026-02-01', FIRST_NPI, 'North Practice')}`,
  )
  const ended = await clinic.run()
  const late = summaryOf(ended)
  expect(JSON.parse(ended.out)).toMatchObject({ warnings: [{ code: 'care-team-outdated', count: 1 }] })
  expect(late).toMatchObject({ state: 'finished', balanced: true })
  expect(late.records.careTeam).toMatchObject({ made: 6, accepted: 0, unchanged: 6 })
  expect(await careTeamsOf(store, 'ann')).toEqual(now.ann)
  expect(await careTeamsOf(store, 'ben')).toEqual(now.ben)
})

test('a mark that is refused is left behind: the run says so by its exit code, until a run has set it', async () => {
  const clinic = await openFaultyClinic({ mapping: MAPPING, job: job('add') })
  await clinic.deliver(
    'day_20260302.csv',
    `${HEADER}${row('ann', '2026-03-02', FIRST_NPI, 'North Practice')}`,
  )
  clinic.strike(({ path }) => (path.endsWith('/pcp') ? answer(404) : PASS))
  for (const marked of [0, 0, 1]) {
    if (marked === 1) clinic.strike(() => PASS)
    const ran = await clinic.run()
    const { records, rows, primaryCare } = summaryOf(ran)
    expect({ code: ran.code, ...primaryCare }).toEqual({
      ...{ code: 1 - marked, marked, unmarked: 0, owed: 1 - marked },
    })
    // Nothing else is.
    expect([rows.rejected, records.careTeam.rejected, records.careTeam.inDoubt]).toEqual([0, 0, 0])
  }
  expect(await careTeamsOf(clinic.store, 'ann')).toEqual([`${FIRST_NPI} North Practice *`])
})
