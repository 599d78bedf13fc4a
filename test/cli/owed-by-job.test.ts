/** Marks and deletions that cannot be done at once: the job owes them that has said so, and does them without an export. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answer, PASS, type Passing } from '../faults/fault-proxy.ts'
import { REGISTERED_ROW } from './clinic.ts'
import { type Ended, summaryOf } from './command-line.ts'
import { type FaultyClinic, openFaultyClinic } from './left-behind.ts'

const MAPPING = `mapping: clinic
${REGISTERED_ROW}careTeams:
  doctor: { npi: npi, name: practice, type: PCP, primary: { is_pcp: Y } }
`
const JOB = 'match: "day_{date:yyyyMMdd}.csv", mapping: clinic }\ncareTeams: { changed: replace }\n'
const HEADER = 'id,day,first,last,born,gender,zip,npi,practice,is_pcp\n'
const [NPI, OTHER_NPI] = ['1234567893', '1003000126']
const of = (id: string, day: number, practice: string, marked: string, npi = NPI): string =>
  `${HEADER}${id},2026-03-0${day},Testina,Beispielfrau,1970-02-28,FEMALE,00000,${npi},${practice},${marked}\n`

interface TwoJobs extends FaultyClinic {
  other(file: string, content: string): Promise<Ended>
  empty(): Promise<void>
}

/** Two jobs of one home at one gateway, each with its inbox. */
async function openTwoJobs(): Promise<TwoJobs> {
  const clinic = await openFaultyClinic({ mapping: MAPPING, job: `exports: { from: ../inbox, ${JOB}` })
  const at = (...path: string[]): string => join(clinic.workplace.folder, ...path)
  await mkdir(at('others'))
  await clinic.workplace.job('other', `exports: { from: ../others, ${JOB}submit: { readLag: 100ms }\n`)
  return {
    ...clinic,
    async other(file, content) {
      await writeFile(at('others', file), content)
      return clinic.workplace.waybill('run', 'other', '--json')
    },
    async empty() {
      await rm(at('inbox'), { recursive: true })
      await mkdir(at('inbox'))
    },
  }
}

const isMark = ({ path, method }: Passing): boolean => method === 'POST' && path.endsWith('/pcp')
const isDeletion = ({ method, path }: Passing): boolean => method === 'DELETE' && path.endsWith('/care-teams')
const told = (ended: Ended) => {
  const { primaryCare, careTeams, exports } = JSON.parse(ended.out)
  return { code: ended.code, owed: careTeams.owed, marks: primaryCare.owed, exports: exports.length }
}
const Listed = z.object({ data: z.array(z.object({ name: z.string(), pcp: z.boolean() })) })
async function teamsOf({ store }: FaultyClinic): Promise<string[]> {
  const query = 'accountReference=ann&accountReferenceType=partnerAccountId'
  const headers = { 'x-api-key': 'test-key', authorization: 'Bearer test-token' }
  const listed = await fetch(`${store.url}/health-profile/care-teams?${query}`, { headers })
  const { data } = Listed.parse(await listed.json())
  return data.map(({ name, pcp }) => `${name}${pcp ? ' *' : ''}`).sort()
}

test('a mark that one job owes is no affair of another, and is set by its own job without an export', async () => {
  const jobs = await openTwoJobs()
  jobs.strike((request) => (isMark(request) ? answer(404) : PASS))
  await jobs.deliver('day_20260302.csv', of('ann', 2, 'Elm', 'Y'))
  const refused = await jobs.run()
  expect(told(refused)).toEqual({ code: 1, owed: 1, marks: 1, exports: 1 })
  // Of others, and of the same person.
  expect(told(await jobs.other('day_20260302.csv', of('ben', 2, 'Oak', 'N')))).toMatchObject({
    code: 0,
    owed: 0,
  })
  expect(told(await jobs.other('day_20260303.csv', of('ann', 3, 'Oak', 'N', OTHER_NPI)))).toMatchObject({
    ...{ code: 0, owed: 0 },
  })

  await jobs.empty()
  const shown = await jobs.workplace.waybill('show', summaryOf(refused).run)
  expect(shown.out).toMatch(/The next run does it, even without an export\n {4}waybill run clinic\n/)
  expect(told(await jobs.run())).toEqual({ code: 1, owed: 1, marks: 1, exports: 0 })
  jobs.strike(() => PASS)
  const done = await jobs.run()
  expect(told(done)).toEqual({ code: 0, owed: 0, marks: 0, exports: 0 })
  expect(JSON.parse(done.out)).toMatchObject({
    state: 'finished',
    balanced: true,
    primaryCare: { marked: 1 },
  })
  expect(await teamsOf(jobs)).toContain('Elm *')
  const none = await jobs.run()
  expect([none.code, JSON.parse(none.out)]).toMatchObject([2, { error: { code: 'exports-none' } }])
})

test('a mark is owed by the job that has said it last', async () => {
  const jobs = await openTwoJobs()
  jobs.strike((request) => (isMark(request) ? answer(404) : PASS))
  await jobs.deliver('day_20260302.csv', of('ann', 2, 'Elm', 'Y'))
  expect(told(await jobs.run())).toMatchObject({ code: 1, marks: 1 })
  expect(told(await jobs.other('day_20260303.csv', of('ann', 3, 'Elm', 'Y')))).toMatchObject({
    code: 1,
    marks: 1,
  })
  await jobs.empty()
  expect((await jobs.run()).code).toBe(2)
  await rm(join(jobs.workplace.folder, 'others', 'day_20260303.csv'))
  jobs.strike(() => PASS)
  expect(told(await jobs.workplace.waybill('run', 'other', '--json'))).toMatchObject({ code: 0, exports: 0 })
  expect(await teamsOf(jobs)).toEqual(['Elm *'])
})

test('a deletion that one job owes is no affair of another, and is done by its own job without an export', async () => {
  const jobs = await openTwoJobs()
  jobs.strike((request) => (isDeletion(request) ? answer(409) : PASS))
  await jobs.deliver('day_20260302.csv', of('ann', 2, 'Elm', 'N'))
  await jobs.run()
  await jobs.deliver('day_20260303.csv', of('ann', 3, 'Oak', 'N'))
  expect(told(await jobs.run())).toMatchObject({ code: 1, owed: 1, marks: 0 })
  expect(told(await jobs.other('day_20260302.csv', of('ann', 3, 'Ash', 'N', OTHER_NPI)))).toMatchObject({
    ...{ code: 0, owed: 0 },
  })
  await jobs.empty()
  expect(told(await jobs.run())).toEqual({ code: 1, owed: 1, marks: 0, exports: 0 })
  jobs.strike(() => PASS)
  expect(told(await jobs.run())).toEqual({ code: 0, owed: 0, marks: 0, exports: 0 })
  expect(await teamsOf(jobs)).toEqual(['Ash', 'Oak'])
  expect((await jobs.run()).code).toBe(2)
})

test('a run without an export finishes nothing that another run has left', async () => {
  const jobs = await openTwoJobs()
  jobs.strike((request) => (isMark(request) ? answer(404) : PASS))
  await jobs.deliver('day_20260302.csv', of('ann', 2, 'Elm', 'Y'))
  await jobs.run()
  await jobs.deliver('day_20260303.csv', 'nothing,that,fits\n1,2,3\n')
  const failed = summaryOf(await jobs.run()).run
  await jobs.empty()
  jobs.strike(() => PASS)
  expect((await jobs.run()).code).toBe(0)
  const listed = await jobs.workplace.waybill('runs', '--failed', '--json')
  expect(JSON.parse(listed.out).runs.map(({ run }: { run: string }) => run)).toContain(failed)
})
