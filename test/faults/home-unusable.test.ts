/** The home on a disk that is full, may not be written, or holds a ledger that is damaged or locked: told, and nothing lost. */
import { appendFileSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from '../cli/clinic.ts'
import { type Ended, summaryOf } from '../cli/command-line.ts'
import { mountDisk, NEEDS_MOUNTS } from './mounted-disk.ts'

/** Errors are told in the summary, if there is one. */
const told = ({ out, err }: Ended): string => out + err

const PEOPLE = 6_000
const person = (n: number): string => `p${n},2026-03-02,${50 + (n % 50)},5.1,70.5,kg,fine\n`
const MANY = `${HEADER}${Array.from({ length: PEOPLE }, (_, n) => person(n)).join('')}`
const RECORDS = PEOPLE * 3

async function expectOnceEach(clinic: Clinic): Promise<void> {
  const stored = await clinic.stored()
  expect(new Set(stored).size).toBe(RECORDS)
  expect(stored).toHaveLength(RECORDS)
}

describe('a disk', NEEDS_MOUNTS, () => {
  test('that fills up in the middle: exit 2, told; with room again the run goes on, each record there once', async () => {
    const disk = mountDisk('700k')
    const environment = { WAYBILL_HOME: join(disk?.folder ?? '', 'home'), WAYBILL_MIN_FREE: '1KiB' }
    const clinic = await openClinic({ environment })
    await clinic.deliver('many.csv', MANY)
    const first = await clinic.run()
    expect(first).toMatchObject({ code: 2 })
    expect(told(first)).toMatch(/disk-full.*(disk is full|no space left).*Make room/s)
    const some = await clinic.stored()
    expect(some.length).toBeLessThan(RECORDS)
    disk?.resize('50m', 'rw')
    const second = await clinic.run()
    expect(second).toMatchObject({ code: 0 })
    expect(summaryOf(second)).toMatchObject({ balanced: true, state: 'finished', rows: { read: PEOPLE } })
    await expectOnceEach(clinic)
  })

  test('that may only be read: exit 2 before anything is sent', async () => {
    const disk = mountDisk('10m')
    const home = join(disk?.folder ?? '', 'home')
    const clinic = await openClinic({ environment: { WAYBILL_HOME: home, WAYBILL_MIN_FREE: '1KiB' } })
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    disk?.resize('10m', 'ro')
    const none = await clinic.run()
    expect(none).toMatchObject({ code: 2 })
    expect(none.err).toMatch(/error ledger-unusable: the home .* cannot be made/)
    disk?.resize('10m', 'rw')
    expect(await clinic.run()).toMatchObject({ code: 0 })
    await clinic.deliver('b.csv', `${HEADER}${BEN}`)
    disk?.resize('10m', 'ro')
    const sent = await clinic.run()
    expect(sent).toMatchObject({ code: 2 })
    expect(sent.err).toContain('error ledger-unusable')
    expect(await clinic.stored()).toEqual(GOOD.slice(0, 3))
    disk?.resize('10m', 'rw')
    expect(await clinic.run()).toMatchObject({ code: 0 })
    expect(await clinic.stored()).toEqual(GOOD)
  })
})

describe('a home', () => {
  test('that cannot be made, as a file is in its way: exit 2', async () => {
    const clinic = await openClinic({ environment: { WAYBILL_HOME: 'file/home' } })
    await writeFile(join(clinic.workplace.folder, 'file'), '')
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    const ended = await clinic.run()
    expect(ended).toMatchObject({ code: 2 })
    expect(ended.err).toMatch(/error ledger-unusable: the home .*file\/home cannot be made/)
    expect(await clinic.stored()).toEqual([])
  })

  test('whose receipts cannot be written: exit 2, told; once they can be, the run goes on and sends nothing twice', async () => {
    const clinic = await openClinic()
    await mkdir(clinic.workplace.home, { mode: 0o700 })
    await writeFile(join(clinic.workplace.home, 'receipts'), 'a file where the folder should be')
    await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
    const ended = await clinic.run()
    expect(ended).toMatchObject({ code: 2 })
    expect(told(ended)).toMatch(/home-unusable.*receipts.* cannot be written/s)
    await rm(join(clinic.workplace.home, 'receipts'))
    const next = await clinic.run()
    expect(next).toMatchObject({ code: 0 })
    expect(summaryOf(next).records.biometric).toMatchObject({ made: 6, accepted: 6, pending: 0 })
    expect(await clinic.stored()).toEqual(GOOD)
  })
})

test('a key that is gone: exit 2, nothing is sent; put back, nothing was delivered anew', async () => {
  const clinic = await openClinic()
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  await clinic.workplace.waybill('runs')
  expect(await clinic.run()).toMatchObject({ code: 0 })
  const key = join(clinic.workplace.home, 'key')
  await rename(key, `${key}.away`)
  const preview = await clinic.workplace.waybill('mapping', 'preview', 'clinic', 'inbox/a.csv')
  for (const { code, err } of [await clinic.run(), preview]) {
    expect(code).toBe(2)
    expect(err).toMatch(/error settings-invalid: the key .* is gone/)
  }
  await rename(`${key}.away`, key)
  const again = await clinic.run()
  expect(again).toMatchObject({ code: 0 })
  expect(summaryOf(again).requests.sent).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD.slice(0, 3))
})

describe('a ledger', () => {
  const ledgerOf = (clinic: Clinic): string => join(clinic.workplace.home, 'ledger.sqlite')

  test('that another program holds locked: exit 2, told; nothing is sent', async () => {
    const clinic = await openClinic()
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    expect(await clinic.run()).toMatchObject({ code: 0 })
    await clinic.deliver('b.csv', `${HEADER}${BEN}`)
    const holder = new DatabaseSync(ledgerOf(clinic))
    holder.exec('begin exclusive')
    const ended = await clinic.run()
    holder.exec('rollback')
    holder.close()
    expect(ended).toMatchObject({ code: 2 })
    expect(ended.err).toMatch(/error ledger-unusable: .*locked/)
    expect(await clinic.stored()).toEqual(GOOD.slice(0, 3))
    expect(await clinic.run()).toMatchObject({ code: 0 })
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test.each([
    { what: 'whose pages are overwritten', from: 4096, error: /malformed|not a database|corrupt/ },
    { what: 'whose head is overwritten', from: 0, error: /not a database/ },
  ])('$what: exit 2, told; nothing is sent, and it stays as it is for rescue', async ({ from, error }) => {
    const clinic = await openClinic()
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    expect(await clinic.run()).toMatchObject({ code: 0 })
    const file = await open(ledgerOf(clinic), 'r+')
    const { size } = await file.stat()
    await file.write(Buffer.alloc(size - from, 0x5a), 0, size - from, from)
    await file.close()
    await clinic.deliver('b.csv', `${HEADER}${BEN}`)
    const ended = await clinic.run()
    expect(ended).toMatchObject({ code: 2 })
    expect(ended.err).toMatch(new RegExp(`error ledger-unusable: .*(${error.source})`))
    expect(await clinic.stored()).toEqual(GOOD.slice(0, 3))
  })

  test('that is cut off at its end is not taken for a good one', async () => {
    const clinic = await openClinic()
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    expect(await clinic.run()).toMatchObject({ code: 0 })
    for (const rest of await readdir(clinic.workplace.home)) {
      if (/-(wal|shm)$/.test(rest)) await rm(join(clinic.workplace.home, rest))
    }
    const file = await open(ledgerOf(clinic), 'r+')
    const { size } = await file.stat()
    await file.truncate(Math.floor(size / 2))
    await file.close()
    appendFileSync(join(clinic.workplace.folder, 'inbox/b.csv'), `${HEADER}${BEN}`)
    const ended = await clinic.run()
    expect(ended).toMatchObject({ code: 2 })
    expect(ended.err).toContain('error ledger-unusable')
    expect(await clinic.stored()).toEqual(GOOD.slice(0, 3))
  })
})
