/** Account ids that hold no longer: the gateway forgets its accounts, or gives their ids to other people. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { showOf } from './left-behind.ts'
import { startReferenceStore } from './reference-store.ts'

const HEAD = 'id,day,first,last,born,gender,zip,pulse,npi\n'
const NPI = '1234567893'
const row = (id: string, day = '02', npi = NPI): string =>
  `${id},2026-03-${day},A,B,1980-02-03,FEMALE,04884,61,${npi}\n`
const csv = (...rows: readonly string[]): string => HEAD + rows.join('')

const HEADERS = {
  'x-api-key': 'test-key',
  authorization: 'Bearer test-token',
  'content-type': 'application/json',
}

interface Wiped extends Clinic {
  /** The gateway loses these accounts, with all that they had. */
  wipe(...people: readonly string[]): Promise<void>
  /** Somebody else registers the person there. @param id that the gateway gives; undefined: a new one */
  register(person: string, id?: string): Promise<string>
  /** That the gateway has of the person. */
  idOf(person: string): Promise<string>
  /** Past all faults. */
  call(method: string, path: string, body?: object): Promise<Response>
  strike(faultOf: (request: Passing) => Fault): void
  /** `person what day` of all that the gateway holds, sorted. */
  held(): Promise<string[]>
  /** In the order in which they were stored. */
  pulses(): Promise<unknown[]>
}

interface Options {
  readonly registeredAgain?: 'same' | 'conflict'
  readonly job?: string
}

async function openWiped({ registeredAgain = 'same', job = '' }: Options = {}): Promise<Wiped> {
  const next: string[] = []
  const store = await startReferenceStore({ registeredAgain, makeId: () => next.shift() ?? randomUUID() })
  let strike: (request: Passing) => Fault = () => PASS
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\ncareTeams: { doctor: { npi: npi, name: last, primary: true } }\n`,
    job: `exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\nsubmit: { readLag: 0s }\n${job}`,
    store,
    faultOf: (request) => strike(request),
  })
  const call = async (method: string, path: string, body?: object): Promise<Response> => {
    const { 'content-type': type, ...headers } = HEADERS
    const sent = body && { body: JSON.stringify(body) }
    const answered = await fetch(store.url + path, {
      ...{ method, headers: { ...headers, ...(sent && { 'content-type': type }) } },
      ...sent,
    })
    expect(answered.ok, await answered.clone().text()).toBe(true)
    return answered
  }
  const post = async (person: string): Promise<string> => {
    const made = {
      dateOfBirth: '1980-02-03',
      firstName: 'A',
      gender: 'FEMALE',
      lastName: 'B',
      postalCode: '0',
    }
    const answered = await call('POST', '/account/register', { ...made, partnerAccountId: person })
    return String(Object(await answered.json())['accountId'])
  }
  return {
    ...clinic,
    call,
    strike(faultOf) {
      strike = faultOf
    },
    async wipe(...people) {
      for (const person of people)
        await call('DELETE', `/account?accountReference=${person}&accountReferenceType=partnerAccountId`)
    },
    register(person, id) {
      if (id !== undefined) next.push(id)
      return post(person)
    },
    idOf: async (person) => {
      await clinic.workplace.waybill('accounts', 'export', 'clinic', '--out', `ids-${randomUUID()}.csv`)
      const list = await call(
        'GET',
        `/health-profile/care-teams?accountReference=${person}&accountReferenceType=partnerAccountId`,
      )
      return String(Object(await list.json())['data'][0]['userId'])
    },
    held: async () =>
      (await store.allRecords())
        .map((one) => {
          const at = new Date(Number(one['observationDate']) || String(one['observationDate']))
          return `${one._account} ${one['npi'] === undefined ? 'pulse' : 'doctor'} ${at.getUTCDate()}`
        })
        .sort(),
    pulses: async () => (await store.allRecords()).flatMap(({ value }) => value ?? []),
  }
}

const reasonsIn = async (clinic: Clinic, run: string) =>
  (await showOf(clinic, run)).reasons.map(({ code, outcome, count }) => `${outcome} ${code} ${count}`).sort()

const rerun = ({ workplace }: Clinic, run: string) => workplace.waybill('rerun', run, '--json')

it.each(['same', 'conflict'] as const)(
  'ids given to others: nothing is doubled or put on them, and a rerun brings what is missing (%s)',
  async (registeredAgain) => {
    const clinic = await openWiped({ registeredAgain })
    await clinic.deliver('a.csv', csv(row('ann'), row('ben')))
    expect((await clinic.run()).code).toBe(0)
    const idOfAnn = await clinic.idOf('ann')
    await clinic.wipe('ann', 'ben')
    // Zoe has the doctor whom Ann is about to get, by the same name.
    await clinic.register('zoe', idOfAnn)
    const careTeam = {
      account: { reference: 'zoe', type: 'partnerAccountId' },
      ...{ name: 'B', npi: '1003000126', type: 'PCP', observationDate: String(Date.UTC(2026, 2, 2)) },
      source: { name: 'Other', type: 'screening', meta: { persistentRecordId: 'other', batchId: 'other' } },
    }
    await clinic.call('POST', '/health-profile/care-teams', [careTeam])
    await clinic.register('ann')
    await clinic.deliver('b.csv', csv(row('ann', '03', '1003000126'), row('dan', '03')))
    const night = await clinic.run()
    expect(night.code).toBe(1)
    const { run } = summaryOf(night)
    for (const reason of await reasonsIn(clinic, run)) expect(reason).toContain('account-stale')

    const again = await rerun(clinic, run)
    expect(again.code).toBe(0)
    const day3 = ['ann doctor 3', 'ann pulse 3', 'dan doctor 3', 'dan pulse 3']
    expect(await clinic.held()).toEqual([...day3, 'zoe doctor 2'])
    // An export that brings what was delivered to the former account delivers it.
    await clinic.deliver('c.csv', csv(row('ann'), row('ann', '03', '1003000126')))
    await clinic.run()
    const held = await clinic.held()
    expect(held.filter((one) => one.startsWith('ann doctor 3'))).toHaveLength(1)
    expect(held.filter((one) => one.startsWith('ann pulse 3'))).toHaveLength(1)
    expect(held.filter((one) => one.startsWith('ann doctor 2'))).toHaveLength(1)
  },
)

it('a gateway that forgot its accounts: all are registered anew, and all of theirs goes out again', async () => {
  const clinic = await openWiped()
  await clinic.deliver('a.csv', csv(row('ann'), row('ben')))
  expect((await clinic.run()).code).toBe(0)
  await clinic.wipe('ann', 'ben')
  await clinic.deliver('b.csv', csv(row('ann'), row('ann', '03'), row('ben', '03'), row('dan', '03')))
  // Another export of the same night: nothing more of theirs is sent.
  await clinic.deliver('c.csv', csv(row('ann', '04')))
  const night = await clinic.run()
  expect(night.code).toBe(1)
  const { run } = summaryOf(night)
  for (const reason of await reasonsIn(clinic, run)) expect(reason).toContain('rejected account-stale')
  expect(await clinic.held()).toEqual(['dan doctor 3', 'dan pulse 3'])
  expect((await rerun(clinic, run)).code).toBe(0)
  const own = ['ann pulse 2', 'ann pulse 3', 'ann pulse 4', 'ben pulse 3']
  expect(await clinic.held()).toEqual(expect.arrayContaining(own))
  // Both exports once more: of Ben what the former account had is not there yet.
  expect((await clinic.run()).code).toBe(0)
  const all = await clinic.held()
  // A doctor stands once, whatever the date.
  expect(all.filter((one) => one.includes('pulse'))).toEqual([...own, 'ben pulse 2', 'dan pulse 3'].sort())
  expect(all.filter((one) => one.includes('doctor')).map((one) => one.split(' ')[0])).toEqual([
    'ann',
    'ben',
    'dan',
  ])
  expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
})

it('what an export has taken back stands as it says, also where it is read again with those before it', async () => {
  const clinic = await openWiped()
  const said = (pulse: number): string => row('a').replace(',61,', `,${pulse},`)
  // Rows of which nothing is made, as many as a chunk has.
  const between = Array.from({ length: CHUNK_SIZE.rows }, () => row('nobody').replace(',61,', ',,'))
  // The second export takes back what the first one says last.
  await clinic.deliver('1.csv', csv(said(85), ...between, said(63)))
  expect((await clinic.run()).code).toBe(0)
  await clinic.deliver('2.csv', csv(said(85)))
  expect((await clinic.run()).code).toBe(0)
  await clinic.wipe('a')
  await clinic.deliver('3.csv', csv(row('a', '05')))
  const left = summaryOf(await clinic.run())
  expect((await clinic.workplace.waybill('rerun', left.run)).code).toBe(0)
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.pulses()).toEqual([61, 85, 63, 85])
  const { requests } = summaryOf(await clinic.run())
  expect(requests.sent).toBe(0)
})

it('a 404 alone is no sign: where the registration says nothing else, the record is rejected, and the account kept', async () => {
  const clinic = await openWiped({ registeredAgain: 'conflict' })
  await clinic.deliver('a.csv', csv(row('ann')))
  expect((await clinic.run()).code).toBe(0)
  const id = await clinic.idOf('ann')
  clinic.strike(({ method, path, body }) =>
    method === 'POST' && path.startsWith('/health-profile') && body.includes('"ann"')
      ? answer(404, {}, 'no such thing')
      : PASS,
  )
  await clinic.deliver('b.csv', csv(row('ann', '03')))
  const night = await clinic.run()
  const { run } = summaryOf(night)
  expect(await reasonsIn(clinic, run)).toEqual(['rejected refused 1'])
  clinic.strike(() => PASS)
  expect((await rerun(clinic, run)).code).toBe(0)
  expect(await clinic.idOf('ann')).toBe(id)
  expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
  expect((await clinic.held()).filter((one) => one.endsWith('pulse 2'))).toEqual(['ann pulse 2'])
})

it('an answer that names another id is not believed where the registration gives the known one', async () => {
  const clinic = await openWiped()
  await clinic.deliver('a.csv', csv(row('ann')))
  expect((await clinic.run()).code).toBe(0)
  clinic.strike(({ method, path }) =>
    method === 'POST' && path === '/health-profile/care-teams'
      ? {
          do: 'pass-then-edit',
          edit: (envelope) => ({
            ...envelope,
            data: envelope.data.map((one) => ({ ...one, userId: 'of-somebody' })),
          }),
        }
      : PASS,
  )
  await clinic.deliver('b.csv', csv(row('ann', '03', '1003000126')))
  const night = await clinic.run()
  expect([night.code, summaryOf(night).records.careTeam]).toMatchObject([0, { accepted: 1 }])
  clinic.strike(() => PASS)
  expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
})

it('deleted and registered again elsewhere, after a batch without an answer: not in doubt for ever', async () => {
  const clinic = await openWiped()
  await clinic.deliver('a.csv', csv(row('ann')))
  expect((await clinic.run()).code).toBe(0)
  await clinic.wipe('ann')
  await clinic.register('ann')
  // The care team tells the new id; the pulse is stored, and its answer lost.
  clinic.strike(({ method, path, earlier }) =>
    method === 'POST' && path.endsWith('/biometrics/bulk') && earlier === 1
      ? { do: 'pass-then-reset' }
      : PASS,
  )
  await clinic.deliver('b.csv', csv(row('ann', '03', '1003000126')))
  const night = await clinic.run()
  clinic.strike(() => PASS)
  if (night.code !== 0) expect((await rerun(clinic, summaryOf(night).run)).code).toBe(0)
  const held = await clinic.held()
  expect(held.filter((one) => one.endsWith(' 3'))).toEqual(['ann doctor 3', 'ann pulse 3'])
})

it('is forgotten by hand: registered anew, and what is not there is sent again', async () => {
  const clinic = await openWiped()
  await clinic.deliver('a.csv', csv(row('ann'), row('ben')))
  expect((await clinic.run()).code).toBe(0)
  await clinic.wipe('ann')
  await writeFile(join(clinic.workplace.folder, 'ids.csv'), 'partnerAccountId\nann\nben\nnobody\n')
  const { waybill } = clinic.workplace
  const done = await waybill('accounts', 'forget', '--file', 'ids.csv', '--json')
  expect([done.code, JSON.parse(done.out)]).toMatchObject([0, { people: 3, forgotten: 2 }])
  // Ben's account was well: what it has is looked for, and not sent twice.
  const night = summaryOf(await clinic.run())
  expect(night.records.biometric).toMatchObject({ accepted: 1, unchanged: 1, inDoubt: 0 })
  expect(await clinic.held()).toEqual(['ann doctor 2', 'ann pulse 2', 'ben doctor 2', 'ben pulse 2'])
  expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
})

it('erased, a person who comes again is new; of the account ids nothing is left in the ledger’s files', async () => {
  const clinic = await openWiped()
  const people = Array.from({ length: 400 }, (_, at) => `person-${at}`)
  await clinic.deliver('a.csv', csv(...people.map((id) => row(id))))
  expect((await clinic.run()).code).toBe(0)
  const { waybill, folder, home } = clinic.workplace
  await waybill('accounts', 'export', 'clinic', '--out', 'crosswalk.csv')
  const ids = readFileSync(join(folder, 'crosswalk.csv'), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',')[1] ?? '')
  expect(ids).toHaveLength(400)
  const { seal } = createAccountIdCipher(() => readFileSync(join(home, 'key'), 'utf8').trim())
  const gone = people.filter((_, at) => at % 40 === 0)
  const idsGone = ids.filter((_, at) => at % 40 === 0)
  await writeFile(join(folder, 'ids.csv'), `partnerAccountId\n${gone.join('\n')}\n`)
  const erased = await waybill('accounts', 'erase', '--file', 'ids.csv', '--yes', '--json')
  expect(JSON.parse(erased.out)).toMatchObject({ erased: 10, scrubbed: true })
  const bytes = ['', '-wal']
    .map((end) => {
      try {
        return readFileSync(join(home, `ledger.sqlite${end}`), 'latin1')
      } catch {
        return ''
      }
    })
    .join('')
  expect(ids.filter((id) => bytes.includes(id))).toEqual([])
  expect(idsGone.filter((id) => bytes.includes(String(seal(id))))).toEqual([])
  expect(ids.filter((id) => bytes.includes(String(seal(id))))).toHaveLength(390)

  const night = summaryOf(await clinic.run())
  expect(night.records.biometric).toMatchObject({ made: 400, accepted: 10, unchanged: 390 })
  expect((await clinic.held()).length).toBe(800)
  expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
})
