/** Two jobs of one home, in processes of their own, at the same time, that bring the same people and the same physicians. */
import type { ChildProcess } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'
import { type ReferenceStore, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
${REGISTERED_ROW}careTeams:
  pcp: { npi: npi, name: practice, type: PCP, primary: true }
`
const JOBS = ['clinic', 'laboratory']
const exportsOf = (inbox: string): string =>
  `exports: { from: ../${inbox}, match: "*.csv", mapping: clinic }\n`
const HEADER = 'id,day,first,last,born,gender,zip,npi,practice\n'
const NPI = '1234567893'
const row = (id: string, practice = 'North Practice'): string =>
  `${id},2026-03-02,Testina,Beispielfrau,1970-02-28,FEMALE,00000,${NPI},${practice}\n`

interface TwoJobs extends Clinic {
  /** Into the inboxes of both. */
  bring(name: string, people: readonly string[]): Promise<void>
  /** What befalls requests from now on. */
  strike(faultOf: (request: Passing) => Fault | Promise<Fault>): void
}

async function openTwoJobs(settings = ''): Promise<TwoJobs> {
  const store = await startReferenceStore({ registeredAgain: 'conflict' })
  let faultOf: (request: Passing) => Fault | Promise<Fault> = () => PASS
  const clinic = await openClinic({
    ...{ store, mapping: MAPPING, job: `${exportsOf('inbox')}${settings}` },
    faultOf: (request) => faultOf(request),
  })
  await mkdir(join(clinic.workplace.folder, 'laboratory'))
  await clinic.workplace.job('laboratory', `${exportsOf('laboratory')}${settings}`)
  return {
    ...clinic,
    async bring(name, people) {
      const content = HEADER + people.map((id) => row(id)).join('')
      await clinic.deliver(name, content)
      await writeFile(join(clinic.workplace.folder, 'laboratory', name), content)
    },
    strike(next) {
      faultOf = next
    },
  }
}

/** Each of the people has one entry, however often it was brought. */
async function expectOnce(store: ReferenceStore, people: readonly string[]): Promise<void> {
  const stored = (await store.records('careTeam')).map(({ _account }) => _account)
  expect(stored.toSorted()).toEqual(people.toSorted())
}

const isCreation = ({ method, path }: Passing): boolean => method === 'POST' && path.endsWith('/care-teams')
const late = (ms: number): Promise<Fault> => new Promise((resolve) => setTimeout(resolve, ms, PASS))

test('what both bring of new people is stored once', async () => {
  const clinic = await openTwoJobs()
  clinic.strike((request) => (isCreation(request) ? late(1_200) : PASS))
  const people: string[] = []
  for (const night of [1, 2]) {
    const own = ['ann', 'ben', 'cleo'].map((name) => `${name}${night}`)
    people.push(...own)
    await clinic.bring(`night_${night}.csv`, own)
    const runs = await Promise.all(JOBS.map((job) => ended(clinic.workplace.start('run', job, '--json'))))
    expect(runs.map(({ code, err }) => ({ code, err: code === 0 ? '' : err }))).toEqual([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ])
    const counted = runs.map((run) => summaryOf(run).records.careTeam)
    expect(counted.map(({ made }) => made)).toEqual([3, 3].map((each) => each * night))
    await expectOnce(clinic.store, people)
  }
})

/** Runs the first job up to the request that is asked for, which then waits for as long as the process. */
async function runUpTo(
  clinic: TwoJobs,
  isIt: (request: Passing) => boolean,
  then: Fault,
): Promise<ChildProcess> {
  const running = clinic.workplace.start('run', 'clinic', '--json')
  await new Promise<void>((resolve) => {
    let isMet = false
    clinic.strike((request) => {
      if (isMet || !isIt(request)) return PASS
      isMet = true
      resolve()
      return then
    })
  })
  return running
}

test('one that is killed between registration and entry holds nobody up', async () => {
  const clinic = await openTwoJobs()
  const people = ['ann', 'ben']
  await clinic.bring('night.csv', people)
  const first = await runUpTo(clinic, isCreation, { do: 'hang' })
  // A lease that nobody renews lasts for a minute: by a clock that stands still, for ever.
  const stoodAt = Date.now()
  const isOver = clinic.workplace.waybillWith(
    (context) => ({ ...context, now: () => stoodAt }),
    ...['run', 'laboratory', '--json'],
  )
  first.kill('SIGKILL')
  const { code, err } = await isOver
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
  expect((await clinic.run()).code).toBe(0)
  await expectOnce(clinic.store, people)
})

test('one that stood still, and whose people another has taken over, writes nothing more', async () => {
  const clinic = await openTwoJobs()
  await clinic.bring('night.csv', ['ann'])
  const isRegistration = ({ method, path }: Passing): boolean => method === 'POST' && path.includes('account')
  const first = await runUpTo(clinic, isRegistration, await late(0))
  first.kill('SIGSTOP')
  const firstOver = ended(first)
  const inTwoHours = new Date(Date.now() + 7_200_000).toISOString()
  const second = await clinic.workplace.waybillAt(inTwoHours, 'run', 'laboratory', '--json')
  expect({ code: second.code, err: second.code === 0 ? '' : second.err }).toEqual({ code: 0, err: '' })
  first.kill('SIGCONT')
  expect(await firstOver).toMatchObject({ out: expect.stringContaining('lease-lost') })
  await expectOnce(clinic.store, ['ann'])
  expect((await clinic.run()).code).toBe(0)
  await expectOnce(clinic.store, ['ann'])
})
