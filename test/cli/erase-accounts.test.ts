/** `waybill accounts erase`: accounts that go for good, at the gateway and in the ledger. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { startReferenceStore } from './reference-store.ts'

const HEAD = 'id,day,first,last,born,gender,zip,pulse,npi\n'
const row = (id: string, day = '02'): string =>
  `${id},2026-03-${day},A,B,1980-02-03,FEMALE,04884,61,1234567893\n`

async function openWithPeople(faultOf: (request: Passing) => Fault = () => PASS): Promise<Clinic> {
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\ncareTeams: { doctor: { npi: npi, name: last } }\n`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    ...{ store: await startReferenceStore(), faultOf },
  })
  await clinic.deliver('a.csv', HEAD + ['ann', 'ben', 'cat'].map((id) => row(id)).join(''))
  expect((await clinic.run()).code).toBe(0)
  return clinic
}

const erase = async ({ workplace }: Clinic, text: string, ...args: string[]) => {
  await writeFile(join(workplace.folder, 'ids.csv'), text)
  return workplace.waybill('accounts', 'erase', '--file', 'ids.csv', ...args)
}

function peopleOf({ workplace }: Clinic): Record<string, number> {
  const database = new DatabaseSync(join(workplace.home, 'ledger.sqlite'), { readOnly: true })
  try {
    const count = (table: string): number =>
      Number(database.prepare(`select count(*) as count from ${table}`).get()?.['count'])
    return { account: count('account'), care_team: count('care_team'), collected: count('collected') }
  } finally {
    database.close()
  }
}

it('erases at the gateway and in the ledger, with receipts, and may be repeated', async () => {
  const clinic = await openWithPeople()
  await clinic.workplace.waybill('accounts', 'export', 'clinic', '--out', 'crosswalk.csv')
  const crosswalk = readFileSync(join(clinic.workplace.folder, 'crosswalk.csv'), 'utf8')
  const idOfBen = /ben,(.+)/.exec(crosswalk)?.[1] ?? ''
  // By partner id, by account id, one twice, and one whom nobody knows.
  const ids = `partnerAccountId,accountId\nann,\n,${idOfBen}\nann,x\nnobody,\n`
  const dry = await erase(clinic, ids, '--dry-run')
  expect([dry.code, dry.out]).toEqual([0, expect.stringContaining('Would erase 3 accounts at http')])
  expect(peopleOf(clinic)).toMatchObject({ account: 3, care_team: 3 })
  await clinic.workplace.job(
    'known',
    'people: known\ncollect: { what: [biometrics] }\nto: { folder: ../out }\n',
  )
  expect((await clinic.workplace.waybill('run', 'known')).code).toBe(0)
  expect(peopleOf(clinic)).toMatchObject({ collected: 3 })

  const done = await erase(clinic, ids, '--yes', '--json')
  expect([done.code, JSON.parse(done.out)]).toMatchObject([
    0,
    { people: 3, known: 1, erased: 2, notThere: 1, refused: 0, dryRun: false },
  ])
  expect(peopleOf(clinic)).toEqual({ account: 1, care_team: 1, collected: 1 })
  expect((await clinic.stored()).map((line) => line.split(' ')[0])).toEqual(['cat'])
  const { receipts } = JSON.parse(done.out)
  expect(statSync(receipts).mode & 0o777).toBe(0o600)
  const text = readFileSync(receipts, 'utf8')
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ line, outcome }) => [line, outcome]).sort()).toEqual([
    [2, 'erased'],
    [3, 'erased'],
    [5, 'not-there'],
  ])
  expect(text).not.toMatch(/ann|nobody/)

  const again = await erase(clinic, ids, '--yes')
  expect(again.out).toContain('3 accounts at http')
  expect(again.out).toContain('erased 0, not found 3, refused 0')
  expect(again.out).toContain('have the vendor leave them out, or add them to skipWhen.')
  expect(again.out).toContain('Files may still hold them: exports')
  expect(readdirSync(join(clinic.workplace.home, 'erasures'))).toHaveLength(2)
  // Who comes again is new.
  const same = JSON.parse((await clinic.run()).out)
  expect(same).toMatchObject({
    accounts: { registered: 2 },
    records: { biometric: { made: 3, accepted: 2, unchanged: 1 } },
  })
  expect(peopleOf(clinic)).toMatchObject({ account: 3, care_team: 3 })
  await clinic.deliver('b.csv', HEAD + row('ann', '03'))
  expect(JSON.parse((await clinic.run()).out)).toMatchObject({ accounts: { registered: 0 } })
})

it('tells a refusal, and keeps such a person; a 404 that is not the word of the gateway is one', async () => {
  const clinic = await openWithPeople(({ method, query }) =>
    method !== 'DELETE'
      ? PASS
      : query.includes('=ann')
        ? answer(400)
        : query.includes('=ben')
          ? { do: 'answer', status: 404, body: '<html>' }
          : PASS,
  )
  const { code, out } = await erase(clinic, 'partnerAccountId\nann\nben\ncat\n', '--yes')
  expect([code, out]).toEqual([1, expect.stringContaining('erased 1, not found 0, refused 2')])
  expect(peopleOf(clinic)).toMatchObject({ account: 2, care_team: 2 })
})

it('goes on after answers that were lost', async () => {
  const clinic = await openWithPeople(({ method, earlier }) =>
    method === 'DELETE' && earlier < 2 ? { do: 'pass-then-reset' } : PASS,
  )
  const { code, out } = await erase(clinic, 'partnerAccountId\nann\n', '--yes')
  expect([code, out]).toEqual([0, expect.stringContaining('erased 0, not found 1, refused 0')])
  expect(peopleOf(clinic)).toMatchObject({ account: 2, care_team: 2 })
})

it.each([
  ['yes\n', 'erased 1'],
  ['no\n', 'Nothing was erased.'],
  ['yikes, no\n', 'Nothing was erased.'],
  ['', 'Nothing was erased.'],
])('asks on a terminal: %j', async (typed, told) => {
  const clinic = await openWithPeople()
  await writeFile(join(clinic.workplace.folder, 'ids.csv'), 'accountId,partnerAccountId\n,ann\n')
  let asked = ''
  const { code, out } = await clinic.workplace.waybillWith(
    (context) => ({
      ...context,
      terminal: () => 80,
      input: () => Readable.from([typed]),
      writeError: (text) => {
        asked += text
      },
    }),
    ...['accounts', 'erase', '--file', 'ids.csv'],
  )
  expect([code, out]).toEqual([0, expect.stringContaining(told)])
  expect(asked).toContain('Erase 1 account at http')
})

it.each([
  ['id\nann\n', 'has no column partnerAccountId or accountId'],
  ['partnerAccountId\n', 'names nobody'],
  ['partnerAccountId,accountId\nann,\n,\n', 'names nobody on line 3'],
  ['partnerAccountId\n"ann\n', 'is not a CSV'],
])('refuses a file that is wrong: %j', async (text, told) => {
  const clinic = await openClinic()
  const { code, err } = await erase(clinic, text, '--yes')
  expect([code, err]).toEqual([2, expect.stringContaining(told)])
})

it('asks nobody where nobody is there, and says what to do', async () => {
  const clinic = await openClinic()
  const { code, err } = await erase(clinic, 'partnerAccountId\nann\n')
  expect([code, err]).toEqual([2, expect.stringContaining('add --yes')])
})
