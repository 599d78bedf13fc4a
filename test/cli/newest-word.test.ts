/** What stands at the gateway in the end is what the newest export says, once, whatever befell ledger, mapping and order of exports. */
import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../extract/sources/sftp-server.ts'
import { answer, PASS, type startFaultProxy } from '../faults/fault-proxy.ts'
import { openClinic, REGISTERED_ROW } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { type ReferenceStore, startReferenceStore } from './reference-store.ts'

const mappingOf = (rule = 'pulse') => `mapping: clinic
${REGISTERED_ROW}biometrics:
  ${rule}: { when: { pulse: present }, catalog: heart-rate, from: pulse }
`
const JOB = 'exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }\n'
const HEADER = 'id,day,first,last,born,gender,zip,pulse\n'
const rowOf = (day: string, value: number): string =>
  `ann,${day},Testina,Beispielfrau,1970-02-28,FEMALE,00000,${value}\n`

const FIRST = '2026-03-02'
const SECOND = '2026-03-04'

async function open(mapping = mappingOf(), faultOf?: Parameters<typeof startFaultProxy>[1]) {
  const store = await startReferenceStore()
  const job = faultOf === undefined ? JOB : `${JOB}submit: { readLag: 100ms, patience: 1s }\n`
  const environment = { WAYBILL_SFTP_PASSWORD: PASSWORD }
  const clinic = await openClinic({ store, mapping, job, environment, ...(faultOf && { faultOf }) })
  const { workplace } = clinic
  const copy = join(workplace.folder, 'copy.sqlite')
  const lose = async (): Promise<void> => {
    for (const name of ['ledger.sqlite', 'ledger.sqlite-wal', 'ledger.sqlite-shm'])
      await rm(join(workplace.home, name), { force: true })
  }
  return {
    ...clinic,
    values: () => valuesOf(store),
    deliverDay: (day: string, ...rows: string[]) => clinic.deliver(`day_${day}.csv`, HEADER + rows.join('')),
    counts: async () => summaryOf(await clinic.run()).records.biometric,
    backUp: () => workplace.waybill('backup', 'copy.sqlite'),
    lose,
    async restore() {
      await lose()
      await cp(copy, join(workplace.home, 'ledger.sqlite'))
    },
    writeMapping: (text: string) => writeFile(join(workplace.folder, 'mappings/clinic.yaml'), text),
  }
}

type Clinic = Awaited<ReturnType<typeof open>>

/** A night has brought 70. */
async function openWithFirst() {
  const clinic = await open()
  const first = await clinic.deliverDay('20260302', rowOf(FIRST, 70))
  await clinic.run()
  return { ...clinic, first }
}

const valuesOf = async (store: ReferenceStore): Promise<unknown[]> =>
  (await store.records('biometric')).map((record) => record['value'])

test('a restored ledger sends nothing again, though a whole night did not meet what it has lost', async () => {
  const clinic = await openWithFirst()
  await clinic.backUp()
  const lost = await clinic.deliverDay('20260304', rowOf(SECOND, 72))
  await clinic.run()
  await rm(lost)
  await clinic.restore()
  await clinic.run()
  await clinic.deliverDay('20260306', rowOf(FIRST, 70), rowOf(SECOND, 72))
  await clinic.run()
  expect(await clinic.values()).toEqual([70, 72])
})

test('a restored ledger does not believe that what it knows stands still', async () => {
  const clinic = await openWithFirst()
  await clinic.backUp()
  await rm(clinic.first)
  const lost = await clinic.deliverDay('20260304', rowOf(FIRST, 75))
  await clinic.run()
  await rm(lost)
  await clinic.restore()
  await clinic.deliverDay('20260306', rowOf(FIRST, 70))
  await clinic.run()
  expect(await clinic.values()).toEqual([70, 75, 70])
})

test('a restored ledger does not send what is older once more, where the lost night has corrected it', async () => {
  const clinic = await openWithFirst()
  await clinic.backUp()
  await clinic.deliverDay('20260304', rowOf(FIRST, 75))
  await clinic.run()
  await clinic.restore()
  // Both lie there still, and the older one is read first.
  await clinic.run()
  expect(await clinic.values()).toEqual([70, 75])
})

/** Nights bring the values one by one; the ledger comes back as it was after the first, or is new; a run reads all nights again. */
async function readAgain(clinic: Clinic, how: 'restored' | 'lost', values: readonly number[]) {
  for (const [at, value] of values.entries()) {
    if (at === 1) await clinic.backUp()
    await clinic.deliverDay(
      `2026030${at + 2}`,
      rowOf(FIRST, value),
      rowOf(FIRST, 60 + at).replace('ann', `bob${at}`),
    )
    await clinic.run()
  }
  const before = await clinic.values()
  if (how === 'restored') await clinic.restore()
  else await clinic.lose()
  const again = summaryOf(await clinic.run(...(how === 'lost' ? ['--look-first'] : [])))
  const made = 2 * values.length
  expect(again.records.biometric).toMatchObject({ made, unchanged: made })
  await clinic.deliverDay('20260309', rowOf(FIRST, values.at(-1) ?? 0))
  expect(await clinic.counts()).toMatchObject({ unchanged: made + 1 })
  expect(await clinic.values()).toEqual(before)
}

test.each([
  ['restored', [70, 70, 80]],
  ['restored', [70, 75, 80]],
  ['restored', [70, 75, 70]],
  ['restored', [70, 75, 70, 75]],
  ['lost', [70, 75, 80]],
  ['lost', [70, 75, 70, 75]],
] as const)(
  'a %s ledger meets the later exports at the gateway first, and sends nothing again: %j',
  async (how, values) => readAgain(await open(), how, values),
)

test.each(['restored', 'lost'] as const)(
  'a %s ledger sends nothing again that a remote place still has',
  async (how) => {
    const clinic = await open()
    const server = await startSftpServer(join(clinic.workplace.folder, 'inbox'))
    onTestFinished(() => server.stop())
    const place = `{ host: 127.0.0.1, port: ${server.port}, user: ${USER}, folder: ".", hostKey: "${hostKeyFingerprint(server.hostKey)}" }`
    await clinic.workplace.job('clinic', JOB.replace('../inbox', `{ sftp: ${place} }`))
    await readAgain(clinic, how, [70, 75, 70, 75])
  },
)

test('a restored ledger replaces what an export has brought that is read before, not after', async () => {
  const clinic = await openWithFirst()
  await clinic.backUp()
  await clinic.deliverDay('20260304', rowOf(FIRST, 75))
  await clinic.run()
  await clinic.restore()
  const newer = await clinic.deliverDay('20260305', rowOf(FIRST, 70))
  await clinic.run('--file', newer)
  expect(await clinic.values()).toEqual([70, 75, 70])
})

test('a restored ledger takes an export for later than the one, and for earlier than the other', async () => {
  const clinic = await openWithFirst()
  await clinic.backUp()
  await clinic.deliverDay('20260304', rowOf(FIRST, 75))
  await clinic.run()
  await clinic.restore()
  const before = await clinic.deliverDay('20260303', rowOf(FIRST, 71))
  const behind = await clinic.deliverDay('20260305', rowOf(FIRST, 70))
  await clinic.run('--file', before, behind)
  expect(await clinic.values()).toEqual([70, 75, 70])
})

test('a backfill does not undo what is newer', async () => {
  const clinic = await open()
  await clinic.deliverDay('20260310', rowOf(FIRST, 75))
  await clinic.run()
  await clinic.deliverDay('20260303', rowOf(FIRST, 70))
  await clinic.workplace.waybill('backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-05')
  expect(await clinic.values()).toEqual([75])
  await clinic.run()
  expect(await clinic.values()).toEqual([75])
})

test('days that are backfilled after a pause are newer than the night before it, in whatever order', async () => {
  const clinic = await open()
  await clinic.deliverDay('20260310', rowOf(FIRST, 70))
  await clinic.run()
  await clinic.deliverDay('20260311', rowOf(FIRST, 71))
  await clinic.deliverDay('20260312', rowOf(FIRST, 72))
  await clinic.workplace.waybill('backfill', 'clinic', '--from', '2026-03-11', '--to', '2026-03-12')
  await clinic.deliverDay('20260309', rowOf(FIRST, 69))
  await clinic.workplace.waybill('backfill', 'clinic', '--from', '2026-03-09', '--to', '2026-03-09')
  expect(await clinic.values()).toEqual([70, 71, 72])
})

test('what a night reads behind a backfill speaks as it did, and makes no later backfill newer', async () => {
  const clinic = await open()
  await clinic.deliverDay('20260310', rowOf(FIRST, 75))
  await clinic.run()
  await clinic.deliverDay('20260308', rowOf(FIRST, 70))
  await clinic.workplace.waybill('backfill', 'clinic', '--from', '2026-03-08', '--to', '2026-03-08')
  await clinic.run()
  await clinic.deliverDay('20260309', rowOf(FIRST, 69))
  await clinic.workplace.waybill('backfill', 'clinic', '--from', '2026-03-09', '--to', '2026-03-09')
  expect(await clinic.values()).toEqual([75])
})

test('a rule that has another name corrects, and takes back', async () => {
  const clinic = await openWithFirst()
  await clinic.writeMapping(mappingOf('heart'))
  await clinic.deliverDay('20260303', rowOf(FIRST, 75))
  await clinic.run()
  await clinic.deliverDay('20260304', rowOf(FIRST, 70))
  await clinic.run()
  expect(await clinic.values()).toEqual([70, 75, 70])
})

test('a rule that has another name for a while brings back the value that it had before, under each name', async () => {
  const clinic = await openWithFirst()
  await rm(clinic.first)
  const words = [
    ['20260303', 'heart', 75],
    ['20260304', 'pulse', 70],
    ['20260305', 'heart', 75],
    ['20260306', 'pulse', 70],
  ] as const
  for (const [day, rule, value] of words) {
    await clinic.writeMapping(mappingOf(rule))
    const delivered = await clinic.deliverDay(day, rowOf(FIRST, value))
    expect(await clinic.counts()).toMatchObject({ accepted: 1, unchanged: 0, inDoubt: 0 })
    expect(await clinic.counts()).toMatchObject({ accepted: 0, unchanged: 1 })
    await rm(delivered)
  }
  expect(await clinic.values()).toEqual([70, 75, 70, 75, 70])
})

test('a rule that has another name sends nothing again', async () => {
  const clinic = await openWithFirst()
  await clinic.writeMapping(mappingOf('heart'))
  await clinic.deliverDay('20260303', rowOf(FIRST, 70))
  await clinic.run()
  expect(await clinic.values()).toEqual([70])
})

test('a rule that has its former name back looks for what a run that was given up has sent under the other', async () => {
  let isAway = false
  const clinic = await open(mappingOf(), ({ method, path }) => {
    if (!isAway) return PASS
    return method === 'POST' && path.includes('biometric') ? { do: 'pass-then-reset' } : answer(503)
  })
  await clinic.deliverDay('20260302', rowOf(FIRST, 70))
  await clinic.run()
  await clinic.writeMapping(mappingOf('heart'))
  await clinic.deliverDay('20260303', rowOf(FIRST, 75))
  isAway = true
  const ended = await clinic.run()
  expect(ended.code).toBe(3)
  isAway = false
  await clinic.workplace.waybill('resolve', summaryOf(ended).run, '--give-up')
  await clinic.writeMapping(mappingOf())
  // The profile shows the value under the id of the other name: a person decides.
  expect(await clinic.counts()).toMatchObject({ made: 2, accepted: 0, unchanged: 1, inDoubt: 1 })
  expect(await clinic.values()).toEqual([70, 75])
  const inDoubt = async () => (await clinic.workplace.waybill('needs')).out.includes('in doubt')
  expect(await inDoubt()).toBe(true)
  // The doubt is of the present name: what the gateway takes now ends it.
  await clinic.deliverDay('20260304', rowOf(FIRST, 80))
  expect(await clinic.counts()).toMatchObject({ accepted: 1, inDoubt: 0 })
  expect(await inDoubt()).toBe(false)
  expect(await clinic.values()).toEqual([70, 75, 80])
})

test('a mapping that was changed, and changed back, is sent each time', async () => {
  const clinic = await openWithFirst()
  const changed = mappingOf().replace('name: Clinic, type', 'name: Other, type')
  await clinic.writeMapping(changed)
  await clinic.run()
  await clinic.writeMapping(mappingOf())
  await clinic.run()
  expect(await clinic.values()).toEqual(changed === mappingOf() ? [] : [70, 70, 70])
})

const ISSUED = mappingOf().replace(
  '  source:',
  '  issuedAt: { from: zip, format: yyyyMMdd, zone: UTC }\n  skipWhen: { pulse: absent }\n  source:',
)
const issued = (at: string, value: number, day = FIRST): string => rowOf(day, value).replace('00000', at)
const SKIPPED = `zoe,${FIRST},Testina,Beispielfrau,1970-02-28,FEMALE,00000,\n`

test.each([
  ['one chunk', 0],
  ['two chunks', CHUNK_SIZE.rows],
])(
  'of two results of an export the later issued stands, though it stands above: %s',
  async (_name, between) => {
    const clinic = await open(ISSUED)
    const day = (...rows: string[]) => rows.join(SKIPPED.repeat(between))
    await clinic.deliverDay('20260302', day(issued('20260303', 75), issued('20260302', 70)))
    expect(await clinic.counts()).toMatchObject({ made: 2, accepted: 1, unchanged: 1 })
    expect(await clinic.values()).toEqual([75])
    // The next export repeats both; the one after it says the older one alone.
    await clinic.deliverDay(
      '20260303',
      day(issued('20260303', 75), issued('20260302', 70), issued('20260303', 72, SECOND)),
    )
    expect(await clinic.counts()).toMatchObject({ accepted: 1, rejected: 0 })
    expect(await clinic.values()).toEqual([75, 72])
    await clinic.deliverDay('20260304', day(issued('20260302', 70)))
    await clinic.run()
    expect(await clinic.values()).toEqual([75, 72, 70])
  },
)
