/** What stands at the gateway is what the newest export says: by the command line, against a gateway that shows the latest alone. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer, PASS, type Passing } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { openFaultyClinic, showOf, unanswered } from './left-behind.ts'
import { type ReferenceStore, startReferenceStore } from './reference-store.ts'
import { readReceipts } from './run-outputs.ts'

const MAPPING = `mapping: clinic
${REGISTERED_ROW}biometrics:
  pulse: { when: { pulse: present }, catalog: heart-rate, from: pulse }
careTeams:
  doctor: { when: { npi: present }, npi: npi, name: practice, type: PCP, primary: { is_pcp: Y } }
`
const JOB = 'exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }\n'
const HEADER = 'id,day,first,last,born,gender,zip,pulse,npi,practice,is_pcp\n'
const row = (id: string, day: string, more: string): string =>
  `${id},${day},Testina,Beispielfrau,1970-02-28,FEMALE,00000,${more}\n`
const pulse = (value: number): string => `${HEADER}${row('ann', '2026-03-02', `${value},,,`)}`
const NPI = '1234567893'

const newHome = (store: ReferenceStore): Promise<Clinic> => openClinic({ store, mapping: MAPPING, job: JOB })
const headers = { 'x-api-key': 'test-key', authorization: 'Bearer test-token' }
const Shown = z.object({
  data: z.array(z.looseObject({ value: z.number().optional(), pcp: z.boolean().optional() })),
})
async function profile({ url }: ReferenceStore, what: string) {
  const query = 'accountReference=ann&accountReferenceType=partnerAccountId'
  const answered = await fetch(`${url}/health-profile/${what}?${query}`, { headers })
  return Shown.parse(await answered.json()).data
}

describe('a correction that is taken back', () => {
  test('is sent, though its export has the bytes of an earlier one; nothing that is read again is', async () => {
    const store = await startReferenceStore()
    const clinic = await newHome(store)
    for (const [at, value] of [70, 75, 70].entries()) {
      await clinic.deliver(`day_2026030${at + 3}.csv`, pulse(value))
      expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, unchanged: at })
    }
    expect((await profile(store, 'biometrics')).map(({ value }) => value)).toEqual([70])
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    // A cumulative export has the value and its correction: nothing of it is news, whatever its name.
    const both = `${pulse(75)}${row('ann', '2026-03-02', '70,,,')}`
    await clinic.deliver('day_20260309.csv', both)
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    expect(await store.records('biometric')).toHaveLength(3)
  })
})

describe('a correction that is taken back under the name that it had', () => {
  const NAME = 'day_20260303.csv'
  const shownOf = async (store: ReferenceStore) =>
    (await profile(store, 'biometrics')).map(({ value }) => value)

  test('is sent, night after night, in the same batches; the same file read again is not', async () => {
    const store = await startReferenceStore()
    const clinic = await newHome(store)
    const inbox = join(clinic.workplace.folder, 'inbox')
    for (const [at, value] of [70, 75, 70, 75, 70].entries()) {
      await clinic.deliver(NAME, pulse(value))
      expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, unchanged: 0 })
      expect(await shownOf(store)).toEqual([value])
      expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
      expect(await store.records('biometric')).toHaveLength(at + 1)
    }
    const ids = (await store.records('biometric')).map(({ source: { meta } }) => [
      meta.persistentRecordId,
      meta.batchId,
    ])
    expect([ids[2], ids[4], ids[3]]).toEqual([ids[0], ids[0], ids[1]])
    // Beside it the correction lies under another name, and is read again with it.
    await clinic.deliver('day_20260304.csv', pulse(75))
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, unchanged: 1 })
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    await rm(join(inbox, 'day_20260304.csv'))
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    expect(await shownOf(store)).toEqual([75])
  })

  test('takes the mark of a doctor along, and gives an entry that is there no second receipt', async () => {
    const store = await startReferenceStore()
    const clinic = await newHome(store)
    const receipted: string[] = []
    for (const marked of ['Y', 'N', 'Y']) {
      await clinic.deliver(NAME, `${HEADER}${row('ann', '2026-03-02', `,${NPI},Elm,${marked}`)}`)
      const { files } = summaryOf(await clinic.run())
      const given = files.receipts === undefined ? [] : await readReceipts(files.receipts)
      receipted.push(...given.map(({ transactionId }) => transactionId))
      expect((await profile(store, 'care-teams')).map(({ pcp }) => pcp)).toEqual([marked === 'Y'])
    }
    expect(receipted).toEqual([...new Set(receipted)])
  })

  test('is not said by a run that takes up what an earlier reading of the name left behind', async () => {
    const store = await startReferenceStore()
    let refused: string | undefined = '"value":70'
    const faultOf = ({ body }: Passing) =>
      refused !== undefined && body.includes(refused) ? answer(400) : PASS
    const clinic = await openClinic({ store, mapping: MAPPING, job: JOB, faultOf })
    const runs: string[] = []
    for (const value of [70, 75]) {
      await clinic.deliver(NAME, pulse(value))
      runs.push(summaryOf(await clinic.run()).run)
    }
    refused = undefined
    const first = await clinic.deliver('kept.csv', pulse(70))
    await rename(first, join(clinic.workplace.folder, 'inbox', NAME))
    const again = await clinic.workplace.waybill('rerun', runs[0] ?? '', '--json')
    expect(JSON.parse(again.out)).toMatchObject({ warnings: [{ code: 'outdated', count: 1 }] })
    expect(await shownOf(store)).toEqual([75])
    // The name itself shows the first value again: that is a new word.
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1 })
    expect(await shownOf(store)).toEqual([70])
  })

  test('is not said by a backfill, nor by what lies in the inbox after one', async () => {
    const store = await startReferenceStore()
    const clinic = await newHome(store)
    for (const value of [70, 75]) {
      await clinic.deliver(NAME, pulse(value))
      await clinic.run()
    }
    await clinic.deliver('day_20260304.csv', pulse(80))
    await clinic.run()
    const kept = join(clinic.workplace.folder, 'kept')
    await mkdir(kept)
    await writeFile(join(kept, NAME), pulse(70))
    const range = ['--from', '2026-03-01', '--to', '2026-03-31', '--in', kept]
    const backfilled = await clinic.workplace.waybill('backfill', 'clinic', ...range, '--json')
    expect([backfilled.code, JSON.parse(backfilled.out).records.biometric.unchanged]).toEqual([0, 1])
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    expect(await shownOf(store)).toEqual([80])
    await clinic.deliver(NAME, pulse(70))
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1 })
    expect(await shownOf(store)).toEqual([70])
  })

  test('is not said by files of one name in two folders, each read again', async () => {
    const store = await startReferenceStore()
    const job = ['one', 'two']
      .map((folder) => `  - { from: ../${folder}, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }\n`)
      .join('')
    const clinic = await openClinic({ store, mapping: MAPPING, job: `exports:\n${job}` })
    for (const [folder, value] of [
      ['one', 70],
      ['two', 75],
    ] as const) {
      await mkdir(join(clinic.workplace.folder, folder), { recursive: true })
      await writeFile(join(clinic.workplace.folder, folder, NAME), pulse(value))
    }
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 2 })
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    await writeFile(join(clinic.workplace.folder, 'one', NAME), pulse(72))
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, unchanged: 1 })
    await writeFile(join(clinic.workplace.folder, 'one', NAME), pulse(70))
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, unchanged: 1 })
    expect(await shownOf(store)).toEqual([70])
  })

  test('is said by a file from elsewhere, and stays said when the inbox is read again', async () => {
    const store = await startReferenceStore()
    const clinic = await newHome(store)
    const archived = join(clinic.workplace.folder, 'fixed')
    await mkdir(archived)
    for (const value of [70, 75]) {
      await clinic.deliver(NAME, pulse(value))
      await clinic.run()
    }
    // By hand, from elsewhere: the name shows other bytes; what lies in the inbox is read again, and is no news.
    await writeFile(join(archived, NAME), pulse(70))
    for (const accepted of [1, 0])
      expect(summaryOf(await clinic.run('--file', join(archived, NAME))).records.biometric).toMatchObject({
        accepted,
        unchanged: 1 - accepted,
      })
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    expect(await shownOf(store)).toEqual([70])
  })
})

describe('a value that the gateway refused', () => {
  test('does not undo a newer one when its export is read again and the gateway takes it', async () => {
    const store = await startReferenceStore()
    let refused: readonly string[] = ['"value":70', '"value":80']
    const faultOf = ({ body }: Passing) =>
      refused.some((value) => body.includes(value)) ? answer(400) : PASS
    const clinic = await openClinic({ store, mapping: MAPPING, job: JOB, faultOf })
    const shown = async () => (await profile(store, 'biometrics')).map(({ value }) => value)
    const nights = [70, 75, 80, 75]
    for (const [at, value] of nights.entries()) {
      await clinic.deliver(`day_2026030${at + 3}.csv`, pulse(value))
      await clinic.run()
    }
    expect(await shown()).toEqual([75])
    refused = []
    const ended = await clinic.run()
    expect(JSON.parse(ended.out)).toMatchObject({
      ...{ records: { biometric: { unchanged: 4, accepted: 0 } } },
      ...{ warnings: [{ code: 'outdated', count: 2 }], requests: { sent: 0 } },
    })
    expect([ended.code, await shown()]).toEqual([0, [75]])
    // Delivered once more under another name, the refused one is what the newest export says.
    await clinic.deliver('day_20260309.csv', pulse(80))
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1 })
    expect(await shown()).toEqual([80])
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
  })
})

describe('a value that the gateway refused, run again', () => {
  test.each([['is sent where its export says it last', [75, 70], 70, 1, 70]] as const)(
    '%s',
    async (_name, values, refusedAt, accepted, shown) => {
      const store = await startReferenceStore()
      let refused: string | undefined
      const faultOf = ({ body }: Passing) =>
        refused !== undefined && body.includes(refused) ? answer(400) : PASS
      const clinic = await openClinic({ store, mapping: MAPPING, job: JOB, faultOf })
      if (values.length > 2) {
        await clinic.deliver('day_20260302.csv', pulse(values[0]))
        await clinic.run()
      }
      refused = `"value":${refusedAt}`
      const rows = values.slice(-2).map((value) => row('ann', '2026-03-02', `${value},,,`))
      await clinic.deliver('day_20260303.csv', `${HEADER}${rows.join('')}`)
      const { run, records } = summaryOf(await clinic.run())
      expect(records.biometric).toMatchObject({ rejected: 1 })
      refused = undefined
      const again = await clinic.workplace.waybill('rerun', run, '--json')
      expect(JSON.parse(again.out).records.biometric).toMatchObject({ made: 1, accepted })
      expect((await profile(store, 'biometrics')).map(({ value }) => value)).toEqual([shown])
      expect(again.code).toBe(0)
      expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    },
  )
})

test.each([
  ['a correction', [70, 75], 1, [75]],
  ['a correction of what stands', [75, 70, 75], 0, [75]],
  ['a correction that is taken back', [70, 75, 70], 1, [70]],
])('of one chunk the last word alone is sent: %s', async (_name, [first = 0, ...more], accepted, sent) => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  if (accepted === 0) {
    await clinic.deliver('day_20260302.csv', pulse(first))
    await clinic.run()
  }
  const rows = [...(accepted === 0 ? [] : [first]), ...more]
  await clinic.deliver(
    'day_20260303.csv',
    `${HEADER}${rows.map((value) => row('ann', '2026-03-02', `${value},,,`)).join('')}`,
  )
  const { code, out } = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/day_20260303.csv'))
  expect(code).toBe(0)
  expect(JSON.parse(out).records.biometric).toMatchObject({ accepted, unchanged: rows.length - accepted })
  expect((await clinic.store.records('biometric')).map(({ value }) => Number(value))).toEqual(sent)
})

describe('a value in doubt that a later export says again', () => {
  test.each([
    ['the correction', [75, 70], [70], 70],
    ['the one that came back', [75, 70, 75], [70, 75], 75],
  ] as const)(
    'has the last word, in whatever order the runs are taken up: %s',
    async (_, first, second, shown) => {
      for (const isReversed of [false, true]) {
        const clinic = await openFaultyClinic({ submit: 'batch: { records: 10 }' })
        clinic.strike(unanswered('reset'))
        const runs: string[] = []
        for (const [at, values] of [first, second].entries()) {
          const rows = values.map((value) => `ann,2026-03-02,${value},,,,\n`)
          const file = await clinic.deliver(
            `${at}.csv`,
            `id,day,pulse,a1c,weight,unit,remark\n${rows.join('')}`,
          )
          const { run, records } = summaryOf(await clinic.run('--file', file))
          expect(records.biometric.accepted).toBe(0)
          runs.push(run)
        }
        clinic.strike(() => PASS)
        // Whoever looks through the red list, from one end or the other, until it is empty.
        for (let left = 2 * runs.length; left > 0; left--)
          for (const run of isReversed ? runs.toReversed() : runs)
            await clinic.workplace.waybill('rerun', run, '--json')
        expect((await profile(clinic.store, 'biometrics')).map(({ value }) => value)).toEqual([shown])
        // Of the earlier one a value may stay in doubt that was not sent: whether it is behind what stands nobody can tell.
        expect((await showOf(clinic, runs[1] ?? '')).records.biometric).toMatchObject({ inDoubt: 0 })
      }
    },
  )
})

test('a value that waits behind an older one in doubt is sent once that one is settled', async () => {
  const clinic = await openFaultyClinic({ submit: 'batch: { records: 10 }' })
  clinic.strike(unanswered('reset'))
  const runs: string[] = []
  for (const [at, values] of [[75, 70], [75]].entries()) {
    const rows = values.map((value) => `ann,2026-03-02,${value},,,,\n`)
    const file = await clinic.deliver(`${at}.csv`, `id,day,pulse,a1c,weight,unit,remark\n${rows.join('')}`)
    runs.push(summaryOf(await clinic.run('--file', file)).run)
  }
  clinic.strike(() => PASS)
  for (const run of runs) await clinic.workplace.waybill('rerun', run, '--json')
  expect((await profile(clinic.store, 'biometrics')).map(({ value }) => value)).toEqual([75])
  expect((await showOf(clinic, runs[1] ?? '')).records.biometric).toMatchObject({ inDoubt: 0 })
})

describe('a ledger that is lost', () => {
  test.each([
    ['conflict', ['--new-ledger']],
    ['same', ['--look-first']],
  ] as const)('doubles nothing (registered again: %s, %j)', async (registeredAgain, options) => {
    const store = await startReferenceStore({ registeredAgain })
    const clinic = await newHome(store)
    const people = ['ann', 'ben'].map((id) => row(id, '2026-03-02', `70,${NPI},Elm,Y`)).join('')
    await clinic.deliver('day_20260303.csv', `${HEADER}${people}`)
    const first = await clinic.run()
    expect(first.err).toContain('the ledger is new')
    const before = (await store.allRecords()).length
    expect(before).toBe(4)
    for (const name of ['ledger.sqlite', 'ledger.sqlite-wal', 'ledger.sqlite-shm'])
      await rm(join(clinic.workplace.home, name), { force: true })
    await clinic.deliver('day_20260304.csv', `${HEADER}${people}${row('ben', '2026-03-04', '72,,,')}`)
    const again = await clinic.run(...options)
    expect(again.err).toContain('the ledger is new')
    expect(summaryOf(again).records.biometric).toMatchObject({ accepted: 1, inDoubt: 0 })
    expect(await store.allRecords()).toHaveLength(before + 1)
  })
})

describe('a care-team entry that replaces another', () => {
  test('is not replaced in its turn when an earlier export is read again', async () => {
    const store = await startReferenceStore()
    let isRefused = true
    const faultOf = ({ method }: Passing) => (isRefused && method === 'DELETE' ? answer(409) : PASS)
    const job = `${JOB}careTeams: { changed: replace }\n`
    const clinic = await openClinic({ store, mapping: MAPPING, job, faultOf })
    const at = (day: string, practice: string) => row('ann', day, `,${NPI},${practice},`)
    const nights = [
      at('2026-03-19', 'Elm'),
      // What is older says already what the newest will say.
      at('2026-03-19', 'Elm') + at('2026-03-05', 'Oak'),
      at('2026-03-19', 'Oak'),
    ]
    for (const [night, rows] of nights.entries()) {
      await clinic.deliver(`day_2026032${night}.csv`, `${HEADER}${rows}`)
      await clinic.run()
    }
    const names = async () => (await profile(store, 'care-teams')).map((one) => one['name'])
    expect((await names()).toSorted()).toEqual(['Elm', 'Oak'])
    isRefused = false
    await clinic.run()
    expect(await names()).toEqual(['Oak'])
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
  })
})

describe('the primary care physician', () => {
  test('is marked and unmarked as a column says, and a mark that is gone is seen by --verify', async () => {
    const store = await startReferenceStore()
    const clinic = await newHome(store)
    const marks = async () => (await profile(store, 'care-teams')).map(({ pcp }) => pcp)
    await clinic.deliver('day_20260303.csv', `${HEADER}${row('ann', '2026-03-02', `,${NPI},Elm,Y`)}`)
    const { run } = summaryOf(await clinic.run())
    expect(await marks()).toEqual([true])
    expect((await clinic.workplace.waybill('reconcile', run, '--verify')).code).toBe(0)
    await fetch(`${store.url}/health-profile/care-teams/pcp`, {
      method: 'DELETE',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ account: { reference: 'ann', type: 'partnerAccountId' }, npi: NPI }),
    })
    const verified = await clinic.workplace.waybill('reconcile', run, '--verify', '--json')
    expect([verified.code, JSON.parse(verified.out)]).toMatchObject([
      1,
      { verified: { fields: { mark: 1 } } },
    ])

    await clinic.deliver('day_20260304.csv', `${HEADER}${row('ann', '2026-03-03', `,${NPI},Elm,Y`)}`)
    await clinic.run()
    expect(await marks()).toEqual([true])
    // The same row, but for the mark.
    await clinic.deliver('day_20260305.csv', `${HEADER}${row('ann', '2026-03-03', `,${NPI},Elm,N`)}`)
    expect(summaryOf(await clinic.run())).toMatchObject({ state: 'finished' })
    expect(await marks()).toEqual([false])
    expect(summaryOf(await clinic.run()).requests).toMatchObject({ sent: 0, readBack: 0 })
  })
})
