import type { ChildProcess } from 'node:child_process'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answer, PASS, type Passing } from '../faults/fault-proxy.ts'
import { type Clinic, meetGateway, openClinic, REGISTERED_ROW } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'
import { openFaultyClinic } from './left-behind.ts'
import { type ReferenceStore, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
${REGISTERED_ROW}careTeams:
  pcp: { npi: npi, name: practice, type: PCP, primary: true, phoneNumber: phone }
`
const job = (
  changed: string,
): string => `exports: { from: ../inbox, match: "day_{date:yyyyMMdd}*.csv", mapping: clinic }
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
  await meetGateway(first.workplace)
  const before = summaryOf(await first.run())
  expect(before.records.careTeam).toMatchObject({ made: 2, accepted: 2 })
  expect(before.requests.readBack).toBe(0)
  expect(await careTeamsOf(store, 'ann')).toEqual([`${FIRST_NPI} North Practice *`])

  const clinic = await newHome(store)
  await clinic.deliver('day_20260302.csv', march)
  const again = summaryOf(await clinic.run('--new-ledger'))
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
  expect(JSON.parse(changed.out)).toMatchObject({ careTeams: { replaced: 1, owed: 0 } })
  const shown = await clinic.workplace.waybill('show', summaryOf(changed).run)
  expect(shown.out).toContain('2 primary care physicians marked; 1 care team replaced\n')
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

test('what is owed under a key that is changed is not owed for ever: the entry is looked for, and marked', async () => {
  const clinic = await openFaultyClinic({ mapping: MAPPING, job: job('add') })
  await clinic.deliver(
    'day_20260302.csv',
    `${HEADER}${row('ann', '2026-03-02', FIRST_NPI, 'North Practice')}`,
  )
  clinic.strike(({ path }) => (path.endsWith('/pcp') ? answer(404) : PASS))
  expect(summaryOf(await clinic.run()).primaryCare.owed).toBe(1)
  clinic.strike(() => PASS)
  clinic.workplace.environment['WAYBILL_KEY'] = 'the key that came after it'
  const ran = await clinic.run('--new-key')
  expect([ran.code, summaryOf(ran).primaryCare.owed]).toEqual([0, 0])
  expect(await careTeamsOf(clinic.store, 'ann')).toEqual([`${FIRST_NPI} North Practice *`])
  expect((await clinic.run()).code).toBe(0)
})

test('the mark goes with the last word of the export, whichever of two rules has it', async () => {
  const rules = ['PCP', 'SEEN'].map(
    (role) =>
      `  ${role.toLowerCase()}: { when: { phone: ${role} }, npi: npi, name: practice, type: PCP${role === 'PCP' ? ', primary: true' : ''} }\n`,
  )
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}careTeams:\n${rules.join('')}`,
    job: job('add'),
    store: await startReferenceStore(),
  })
  const night = (day: string, role: string): string =>
    HEADER + row('ann', `2026-${day}`, FIRST_NPI, 'North Practice').replace('555-0100', role)
  for (const [day, role, star] of [
    ['03-02', 'PCP', ' *'],
    ['04-01', 'SEEN', ''],
    ['05-01', 'PCP', ' *'],
    ['05-01', 'SEEN', ''],
  ] as const) {
    await clinic.deliver(`day_2026${day.replace('-', '')}_${role}.csv`, night(day, role))
    expect((await clinic.run()).code).toBe(0)
    expect([day, role, await careTeamsOf(clinic.store, 'ann')]).toEqual([
      ...[day, role, [`${FIRST_NPI} North Practice${star}`]],
    ])
  }
})

const isDeletion = ({ method, path }: Passing): boolean => method === 'DELETE' && path.endsWith('/care-teams')
const of = (day: string, practice: string): string => `${HEADER}${row('ann', day, FIRST_NPI, practice)}`

test('a replaced entry whose deletion is refused is owed, and deleted by a later run whose export is empty', async () => {
  const clinic = await openFaultyClinic({ mapping: MAPPING, job: job('replace') })
  await clinic.deliver('day_20260302.csv', of('2026-03-02', 'North Practice'))
  expect((await clinic.run()).code).toBe(0)
  clinic.strike((request) => (isDeletion(request) ? answer(409) : PASS))
  await clinic.deliver('day_20260401.csv', of('2026-04-01', 'South Practice'))
  const both = [`${FIRST_NPI} North Practice`, `${FIRST_NPI} South Practice *`]
  // However often it is refused, it is shown.
  for (const night of [1, 2]) {
    const refused = await clinic.run()
    expect({ night, code: refused.code, ...JSON.parse(refused.out).careTeams }).toEqual({
      ...{ night, code: 1, replaced: 0, removed: 0, owed: 1, unjudged: 0 },
    })
    const shown = await clinic.workplace.waybill('show', summaryOf(refused).run)
    expect(shown.out).toContain('Owed     1 deletion of a care-team entry: the next run does it')
    expect(shown.out).toMatch(
      /Owed at the gateway: 1 deletion .* The next run does it.*\n {4}waybill run clinic\n/,
    )
    expect(await careTeamsOf(clinic.store, 'ann')).toEqual(both)
    if (night > 1) continue
    const verified = await clinic.workplace.waybill('reconcile', summaryOf(refused).run, '--verify', '--json')
    expect(verified.code).toBe(1)
    expect(JSON.parse(verified.out)).toMatchObject({ verified: { fields: { replaced: 1 } } })
  }
  clinic.strike(() => PASS)
  await clinic.deliver('day_20260402.csv', HEADER)
  const done = await clinic.run()
  expect(JSON.parse(done.out)).toMatchObject({ careTeams: { replaced: 1, owed: 0 } })
  expect(await careTeamsOf(clinic.store, 'ann')).toEqual([`${FIRST_NPI} South Practice *`])
})

test('an entry that is wanted again before it was deleted stays, and the one that had replaced it goes', async () => {
  const clinic = await openFaultyClinic({ mapping: MAPPING, job: job('replace') })
  clinic.strike((request) => (isDeletion(request) ? answer(400) : PASS))
  await clinic.deliver('day_20260302.csv', of('2026-03-02', 'North Practice'))
  await clinic.run()
  await clinic.deliver('day_20260401.csv', of('2026-04-01', 'South Practice'))
  expect(JSON.parse((await clinic.run()).out)).toMatchObject({ careTeams: { replaced: 0, owed: 1 } })
  await clinic.deliver('day_20260501.csv', of('2026-05-01', 'North Practice'))
  expect(JSON.parse((await clinic.run()).out)).toMatchObject({ careTeams: { replaced: 0, owed: 1 } })
  clinic.strike(() => PASS)
  expect(JSON.parse((await clinic.run()).out)).toMatchObject({ careTeams: { replaced: 1, owed: 0 } })
  expect(await careTeamsOf(clinic.store, 'ann')).toEqual([`${FIRST_NPI} North Practice *`])
})

test('a process that is killed between the new entry and the deletion of the old one leaves it to the next run', async () => {
  const clinic = await openFaultyClinic({ mapping: MAPPING, job: job('replace') })
  await clinic.deliver('day_20260302.csv', of('2026-03-02', 'North Practice'))
  await clinic.run()
  await clinic.deliver('day_20260401.csv', of('2026-04-01', 'South Practice'))
  let running: ChildProcess | undefined
  clinic.strike((request) => {
    if (!isDeletion(request)) return PASS
    running?.kill('SIGKILL')
    return { do: 'hang' }
  })
  running = clinic.workplace.start('run', 'clinic')
  await ended(running)
  expect(await careTeamsOf(clinic.store, 'ann')).toHaveLength(2)
  clinic.strike(() => PASS)
  const next = await clinic.run()
  expect(next.code).toBe(0)
  expect(JSON.parse(next.out)).toMatchObject({ careTeams: { replaced: 1, owed: 0 } })
  expect(await careTeamsOf(clinic.store, 'ann')).toEqual([`${FIRST_NPI} South Practice *`])
})
