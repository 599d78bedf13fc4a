/** Runs that were killed in the middle of a chunk and given up: what they sent is known by its slot, and later words stand above it. */
import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { answer, PASS, type Passing } from '../faults/fault-proxy.ts'
import { ANN, BEN, HEADER, JOB, REGISTERED_ROW } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { expectReceipts, type FaultyClinic, openFaultyClinic } from './left-behind.ts'

const annWith = (pulse: number): string => ANN.replace(',61,', `,${pulse},`)

/** Pulses of Ann in the order in which the gateway took them. */
const pulses = async ({ store }: FaultyClinic): Promise<unknown[]> =>
  (await store.records('biometric'))
    .filter((one) => one['_account'] === 'ann' && one['code'] === '8867-4')
    .map((one) => one['value'])

const isBatch = ({ method }: Passing): boolean => method === 'POST'

interface Struck {
  /** The batch with whose bytes the process is killed: Ann's goes first. */
  readonly at: 1 | 2
  readonly what: 'pass-then-hang' | 'hang'
}

async function open(
  options: Pick<NonNullable<Parameters<typeof openFaultyClinic>[0]>, 'job' | 'mapping'> = {},
) {
  const clinic = await openFaultyClinic({
    job: JOB,
    ...options,
    submit: 'concurrency: 1, batch: { records: 3 }',
    environment: { WAYBILL_KEY: 'a key that stays the same' },
  })
  const { waybill, start } = clinic.workplace
  const latest = async (): Promise<string> => JSON.parse((await waybill('show', '--json')).out).run
  return {
    ...clinic,
    latest,
    /** A night with this export alone. */
    async night(name: string, row: string) {
      const path = await clinic.deliver(name, HEADER + row)
      const summary = summaryOf(await clinic.run())
      await rm(path)
      return summary
    },
    /** @returns the run that was killed */
    async kill({ at, what }: Struck, args: readonly string[], isCounted = isBatch): Promise<string> {
      let posts = 0
      let arrived = (): void => {}
      const underWay = new Promise<void>((resolve) => {
        arrived = resolve
      })
      clinic.strike((request) => {
        if (!isCounted(request) || ++posts < at) return PASS
        arrived()
        return { do: what }
      })
      const child = start(...args)
      await underWay
      // What the gateway takes it has taken before the process is gone.
      if (what === 'pass-then-hang') while ((await clinic.store.allRecords()).length < at * 3) await gone()
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.kill('SIGKILL')
      await ended
      clinic.strike(() => PASS)
      return latest()
    },
  }
}

/** Lets the servers of the test have their turn. */
const gone = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test.each<[string, Struck, readonly number[]]>([
  ['taken', { at: 2, what: 'hang' }, [70, 75, 70]],
  ['taken, and never answered', { at: 1, what: 'pass-then-hang' }, [70, 75, 70]],
  ['lost on its way', { at: 1, what: 'hang' }, [75, 70]],
])('what it sent was %s: corrected, and taken back, it is sent again', async (_what, struck, expected) => {
  const clinic = await open()
  const path = await clinic.deliver('day.csv', `${HEADER}${annWith(70)}${BEN}`)
  const run = await clinic.kill(struck, ['run', 'clinic'])
  await rm(path)
  expect((await clinic.workplace.waybill('resolve', run, '--give-up')).code).toBe(0)
  await clinic.night('second.csv', annWith(75) + BEN)
  const third = await clinic.night('third.csv', annWith(70))
  expect(await pulses(clinic)).toEqual(expected)
  expect(third.records.biometric).toMatchObject({ accepted: 1, inDoubt: 0 })
  // Nothing is asked about any more.
  expect((await clinic.workplace.waybill('doctor')).out).not.toContain('was given up')
})

test.each<[string, Struck]>([
  ['taken', { at: 2, what: 'hang' }],
  ['taken, and never answered', { at: 1, what: 'pass-then-hang' }],
])('what it sent was %s: an older export that lies there still does not undo it', async (_what, struck) => {
  const clinic = await open()
  await clinic.deliver('a.csv', `${HEADER}${annWith(60)}`)
  await clinic.run()
  await clinic.deliver('b.csv', `${HEADER}${annWith(70)}${BEN}`)
  const run = await clinic.kill(struck, ['run', 'clinic'])
  await clinic.workplace.waybill('resolve', run, '--give-up')
  const after = summaryOf(await clinic.run())
  expect(await pulses(clinic)).toEqual([60, 70])
  expect(after.records.biometric).toMatchObject({ inDoubt: 0 })
  expect((await clinic.store.allRecords()).length).toBe(3 + 1 + 3)
})

test('what a later night has found is receipted, and told, once: reconcile and accept have nothing left of it', async () => {
  const clinic = await open()
  const { waybill } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const run = await clinic.kill({ at: 1, what: 'pass-then-hang' }, ['run', 'clinic'])
  await waybill('resolve', run, '--give-up')
  expect((await waybill('doctor')).out).toContain('was given up: 3 of its records')
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 3, unchanged: 3 })
  expect((await waybill('doctor')).out).not.toContain('was given up')
  const again = await waybill('reconcile', run, '--json')
  expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { found: 0, batches: 0, inDoubt: 0 }])
  const accepted = await waybill('resolve', run, '--accept')
  expect([accepted.code, accepted.err]).toEqual([2, expect.stringContaining('error nothing-left')])
  await expectReceipts(clinic, { answer: 3, 'read-back': 3 })
})

test('what nobody could tell a later night is one doubt, which reconcile of either run ends', async () => {
  const clinic = await open()
  const { waybill } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const run = await clinic.kill({ at: 1, what: 'pass-then-hang' }, ['run', 'clinic'])
  await waybill('resolve', run, '--give-up')
  clinic.strike(({ method }) => (method === 'GET' ? answer(400) : PASS))
  const later = summaryOf(await clinic.run())
  expect(later.records.biometric).toMatchObject({ accepted: 0, inDoubt: 3 })
  const told = (await waybill('doctor')).out.split('\n').filter((line) => /in doubt|given up/.test(line))
  expect(told).toHaveLength(1)
  clinic.strike(() => PASS)
  const { code, out } = await waybill('reconcile', run, '--json')
  expect([code, JSON.parse(out)]).toMatchObject([0, { batches: 1, inDoubt: 0 }])
  expect((await waybill('doctor')).out).not.toContain('in doubt')
  expect((await clinic.night('next.csv', annWith(75))).records.biometric).toMatchObject({ accepted: 1 })
  await clinic.night('last.csv', ANN)
  expect(await pulses(clinic)).toEqual([61, 75, 61])
  await expectReceipts(clinic, { answer: 2, 'read-back': 3 })
})

test('a care-team entry that was taken has its mark set by the next run, also where the list cannot be read at first', async () => {
  const careTeams = '  pcp: { npi: npi, name: practice, type: PCP, primary: true }\n'
  const clinic = await open({
    job: 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\n',
    mapping: `mapping: clinic\n${REGISTERED_ROW}careTeams:\n${careTeams}`,
  })
  const row = 'ann,2026-03-02,Testina,Beispielfrau,1970-02-28,FEMALE,00000,1234567893,North Practice\n'
  await clinic.deliver('day.csv', `id,day,first,last,born,gender,zip,npi,practice\n${row}`)
  const isMark = ({ path }: Passing): boolean => path.endsWith('/pcp')
  const run = await clinic.kill({ at: 1, what: 'hang' }, ['run', 'clinic'], isMark)
  expect(await clinic.store.records('careTeam')).toHaveLength(1)
  await clinic.workplace.waybill('resolve', run, '--give-up')
  const isList = ({ method, path }: Passing): boolean => method === 'GET' && path.endsWith('/care-teams')
  clinic.strike((request) => (isList(request) ? answer(400) : PASS))
  expect(summaryOf(await clinic.run())).toMatchObject({
    records: { careTeam: { accepted: 0, unchanged: 1, inDoubt: 0 } },
  })
  clinic.strike(() => PASS)
  expect(summaryOf(await clinic.run()).primaryCare).toMatchObject({ marked: 1, owed: 0 })
  await expectReceipts(clinic, { answer: 1 })
})
