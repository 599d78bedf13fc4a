import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { generateSamples } from '../../samples/generate.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER, openClinic } from './clinic.ts'
import { createWorkplace, ended, summaryOf } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const BIOMETRICS = 'POST /health-profile/biometrics/bulk'

test('taken while a run writes, restored into a new home: the run goes on, and nothing is stored twice', async () => {
  const store = await startReferenceStore()
  const atThird = Promise.withResolvers<void>()
  let seen = 0
  const proxy = await startFaultProxy(store.url, ({ method, path }) => {
    if (`${method} ${path}` === BIOMETRICS && ++seen === 3) atThird.resolve()
    return PASS
  })
  const workplace = await createWorkplace({
    ...gatewaySettings(proxy.url),
    WAYBILL_KEY: 'the same key in every home',
  })
  await generateSamples({ out: workplace.folder, participants: 200, messages: 0 })
  await workplace.job(
    'screening',
    'exports: { from: .., match: "acme_*.csv", mapping: acme-onsite }\nsubmit: { concurrency: 4, batch: { records: 50 }, readLag: 100ms }\n',
  )
  const running = ended(workplace.start('run', 'screening', '--json'))
  await atThird.promise
  const copy = join(workplace.folder, 'copy.sqlite')
  const seenBefore = seen
  const backedUp = await workplace.waybill('backup', 'copy.sqlite', '--json')
  expect(backedUp).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(backedUp.out)).toMatchObject({ copy, key: 'WAYBILL_KEY' })
  expect((await stat(copy)).mode & 0o777).toBe(0o600)
  const first = summaryOf(await running)
  expect(first).toMatchObject({ state: 'finished', balanced: true })
  // The run wrote into the ledger while it was copied, and long after.
  expect(seen).toBeGreaterThan(seenBefore + 10)
  const stored = await store.allRecords()
  expect(stored.length).toBeGreaterThan(2_500)

  const home = join(workplace.folder, 'new-home')
  await mkdir(home, { mode: 0o700 })
  await copyFile(copy, join(home, 'ledger.sqlite'))
  workplace.environment['WAYBILL_HOME'] = home
  const { runs } = JSON.parse((await workplace.waybill('runs', '--json')).out)
  expect(runs).toMatchObject([{ run: first.run, state: 'running' }])
  expect(runs[0].rows.read).toBeLessThan(first.rows.read)

  const resumed = summaryOf(await workplace.waybill('run', 'screening', '--json'))
  expect(resumed).toMatchObject({ run: first.run, state: 'finished', balanced: true, rows: first.rows })
  expect(resumed.requests.readBack).toBeGreaterThan(0)
  expect(await store.allRecords()).toHaveLength(stored.length)
  for (const kind of ['biometric', 'condition', 'careTeam'] as const)
    expect(resumed.records[kind].made).toBe(first.records[kind].made)

  // The next run of the job looks once more, as it may have delivered other exports since; the one after trusts the ledger.
  expect(summaryOf(await workplace.waybill('run', 'screening', '--json')).requests.sent).toBe(0)
  const trusting = summaryOf(await workplace.waybill('run', 'screening', '--json'))
  expect(trusting.requests).toMatchObject({ sent: 0, readBack: 0 })
  expect(await store.allRecords()).toHaveLength(stored.length)
})

test('a copy from before an export was delivered: the export is looked for, not sent again; a new one is sent', async () => {
  const clinic = await openClinic()
  const { workplace, store } = clinic
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}`)
  await clinic.run()
  expect((await workplace.waybill('backup', 'copy.sqlite')).code).toBe(0)
  await clinic.deliver('day-2.csv', `${HEADER}${BEN}`)
  await clinic.run()
  const stored = await clinic.stored()
  expect(stored).toEqual(GOOD)

  await copyFile(join(workplace.folder, 'copy.sqlite'), join(workplace.home, 'ledger.sqlite'))
  await clinic.deliver('day-3.csv', `${HEADER}${BEN.replaceAll('ben', 'cid')}`)
  const { records } = summaryOf(await clinic.run())
  expect(records.biometric).toMatchObject({ made: 9, accepted: 3, unchanged: 6, inDoubt: 0 })
  expect(await store.allRecords()).toHaveLength(9)
})

test('it names what is not in it, and the copy opens', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const { code, out } = await clinic.workplace.waybill('backup', 'copy.sqlite')
  expect(code).toBe(0)
  expect(out).toContain('Ledger home/ledger.sqlite copied to copy.sqlite: ')
  expect(out).toContain('Not included: the key (home/key), receipts and rejects.')
  const database = new DatabaseSync(join(clinic.workplace.folder, 'copy.sqlite'), { readOnly: true })
  expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.prepare('select count(*) as runs from run').get()).toEqual({ runs: 1 })
  database.close()
  expect((await readdir(clinic.workplace.folder)).filter((name) => name.startsWith('copy'))).toEqual([
    'copy.sqlite',
  ])
})

test('it overwrites nothing, and makes nothing where there is no ledger', async () => {
  const { folder, home, waybill } = await createWorkplace()
  const none = await waybill('backup', 'copy.sqlite')
  expect(none).toMatchObject({ code: 2, out: '' })
  expect(none.err).toContain('error ledger-not-found: there is no ledger in')
  expect(await readdir(folder)).not.toContain('home')
  await mkdir(home)
  await (await openLedger(join(home, 'ledger.sqlite'))).close()
  const file = join(folder, 'copy.sqlite')
  await writeFile(file, 'something else')
  const taken = await waybill('backup', file)
  expect(taken).toMatchObject({ code: 2, out: '' })
  expect(taken.err).toContain('is not overwritten')
  expect(await readFile(file, 'utf8')).toBe('something else')
  expect((await waybill('backup', join(folder, 'nowhere', 'copy.sqlite'))).err).toContain('cannot be made')
})
