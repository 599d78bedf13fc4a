/** Runs that were killed in the middle of a chunk and given up: what they sent is known by its slot, and later words stand above it. */
import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, HEADER, JOB } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { type FaultyClinic, openFaultyClinic } from './left-behind.ts'

const annWith = (pulse: number): string => ANN.replace(',61,', `,${pulse},`)

/** Pulses of Ann in the order in which the gateway took them. */
const pulses = async ({ store }: FaultyClinic): Promise<unknown[]> =>
  (await store.records('biometric'))
    .filter((one) => one['_account'] === 'ann' && one['code'] === '8867-4')
    .map((one) => one['value'])

interface Struck {
  /** The batch with whose bytes the process is killed: Ann's goes first. */
  readonly at: 1 | 2
  readonly what: 'pass-then-hang' | 'hang'
}

async function open() {
  const clinic = await openFaultyClinic({
    job: JOB,
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
    async kill({ at, what }: Struck, ...args: readonly string[]): Promise<string> {
      let posts = 0
      let arrived = (): void => {}
      const underWay = new Promise<void>((resolve) => {
        arrived = resolve
      })
      clinic.strike(({ method }) => {
        if (method !== 'POST' || ++posts < at) return PASS
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
  const run = await clinic.kill(struck, 'run', 'clinic')
  await rm(path)
  expect((await clinic.workplace.waybill('resolve', run, '--give-up')).code).toBe(0)
  await clinic.night('second.csv', annWith(75) + BEN)
  const third = await clinic.night('third.csv', annWith(70))
  expect(await pulses(clinic)).toEqual(expected)
  expect(third.records.biometric).toMatchObject({ accepted: 1, inDoubt: 0 })
  // Nothing is asked about any more.
  expect((await clinic.workplace.waybill('doctor')).out).not.toContain(`whether 3 of its records`)
})

test.each<[string, Struck]>([
  ['taken', { at: 2, what: 'hang' }],
  ['taken, and never answered', { at: 1, what: 'pass-then-hang' }],
])('what it sent was %s: an older export that lies there still does not undo it', async (_what, struck) => {
  const clinic = await open()
  await clinic.deliver('a.csv', `${HEADER}${annWith(60)}`)
  await clinic.run()
  await clinic.deliver('b.csv', `${HEADER}${annWith(70)}${BEN}`)
  const run = await clinic.kill(struck, 'run', 'clinic')
  await clinic.workplace.waybill('resolve', run, '--give-up')
  const after = summaryOf(await clinic.run())
  expect(await pulses(clinic)).toEqual([60, 70])
  expect(after.records.biometric).toMatchObject({ inDoubt: 0 })
  expect((await clinic.store.allRecords()).length).toBe(3 + 1 + 3)
})
