/** Sources that nobody can look at, exports that are not complete, several sources; and who asks by `waybill expect`. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { jobOf, local, STEP, watchInbox, ZONE } from './watched-inbox.ts'

test('a source that nobody can look at is told as such, once for each time; when it is back, what is there is', async () => {
  const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv').replace('../inbox', '../mounted'))
  const stop = inbox.start()
  await inbox.moveTo(local('2026-03-03', '03:10'))
  const nobody = (at: string) =>
    `${at} export-late Waybill: nightly: exports at ${join(inbox.folder, 'mounted')}/*.csv could not be checked (export-unreadable)`
  const nights = ['2026-03-02', '2026-03-03'].map((date) => nobody(local(date, '01:30')))
  expect(inbox.told).toEqual([nobody('2026-03-01T17:15Z'), ...nights])
  expect(inbox.messages[0]?.notice.text).toContain('    waybill doctor --sources')
  await mkdir(join(inbox.folder, 'mounted'))
  await inbox.moveTo(local('2026-03-04', '12:00'))
  await stop()
  // Nothing was seen of it before, so what was missing then is not known as missing.
  expect(inbox.told.slice(3)).toEqual([
    `${local('2026-03-04', '01:30')} export-late Waybill: nightly: 0 of 1 export by Wed 2026-03-04 01:30 -05:00, 1 missing`,
  ])
})

test('a source that is back is judged for the time over which it was away', async () => {
  const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
  const stop = inbox.start()
  await inbox.moveTo(local('2026-03-02', '01:00'))
  await rename(join(inbox.folder, 'inbox'), join(inbox.folder, 'away'))
  await inbox.moveTo(local('2026-03-02', '05:10'))
  await rename(join(inbox.folder, 'away'), join(inbox.folder, 'inbox'))
  await inbox.moveTo(local('2026-03-02', '12:00'))
  await stop()
  expect(inbox.told.map((line) => `${line.split(' ')[0]} ${line.split('nightly: ')[1]}`)).toEqual([
    `${local('2026-03-02', '01:30')} exports at ${join(inbox.folder, 'inbox')}/*.csv could not be checked (export-unreadable)`,
    `${local('2026-03-02', '05:15')} 0 of 1 export by Mon 2026-03-02 01:30 -05:00, 1 missing`,
  ])
})

describe('an export that is there and not complete', () => {
  it('is told with what it lacks, and counts once it has it', async () => {
    const marked = jobOf('a_{date:yyyyMMdd}.csv', '    complete: { marker: "{name}.done" }\n')
    const inbox = await watchInbox('2026-03-01T17:00Z', marked)
    const stop = inbox.start()
    await inbox.moveTo(local('2026-03-01', '22:00'))
    await inbox.deliver('a_20260301.csv')
    await inbox.moveTo(local('2026-03-02', '02:00'))
    const [first] = inbox.messages
    expect(first?.notice.text).toEqual([
      `Expected at least 1 export since Sun 2026-03-01 01:30 -05:00, at ${join(inbox.folder, 'inbox')}/a_{date:yyyyMMdd}.csv`,
      'Due      2026-03-02 06:30 UTC (Mon 2026-03-02 01:30 -05:00)',
      'Arrived  none',
      'Waiting  a_20260301.csv: marker a_20260301.csv.done is missing',
      'Sent by  night-host, home /home',
      'Next',
      '  To check whether it has arrived since',
      '    waybill expect nightly',
      '  When it has arrived, unless the schedule runs it',
      '    waybill run nightly',
    ])
    expect(first?.notice.data).toMatchObject({
      state: 'missing',
      due: '2026-03-02T06:30:00.000Z',
      arrived: [],
      incomplete: [{ name: 'a_20260301.csv', lacks: ['marker'] }],
    })
    await inbox.deliver('a_20260301.csv.done', 0)
    await inbox.moveTo(local('2026-03-02', '05:00'))
    await stop()
    expect(inbox.told.map((line) => line.split('nightly: ')[1])).toEqual([
      '0 of 1 export by Mon 2026-03-02 01:30 -05:00, 1 missing',
      '1 of 1 export by Mon 2026-03-02 01:30 -05:00, late',
    ])
    expect(inbox.messages[1]?.notice.text).toContain('Dates    latest: 2026-03-01')
  })

  it('because it has changed a moment before the time is judged when it has been at rest', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv', '    complete: { stableFor: 30m }\n'))
    const stop = inbox.start('here:1', STEP)
    await inbox.moveTo(local('2026-03-02', '01:15'))
    await inbox.deliver('a.csv', 1000, local('2026-03-02', '01:29'))
    await inbox.moveTo(local('2026-03-02', '23:00'))
    expect(inbox.told).toEqual([])
    await inbox.moveTo(local('2026-03-03', '01:15'))
    await inbox.deliver('b.csv', 1000, local('2026-03-03', '01:31'))
    await inbox.moveTo(local('2026-03-03', '12:00'))
    await stop()
    expect(inbox.told.map((line) => line.split('nightly: ')[1])).toEqual([
      '0 of 1 export by Tue 2026-03-03 01:30 -05:00, 1 missing',
      '1 of 1 export by Tue 2026-03-03 01:30 -05:00, late',
    ])
  })
})

test('on workdays, as many as are expected, whatever comes beside them', async () => {
  const job = `exports:
  - { from: ../inbox, match: "a_*.csv", expect: { by: "30 1 * * 1-5", zone: ${ZONE}, count: 2 } }
  - { from: ../inbox, match: "b_*.csv" }
`
  const inbox = await watchInbox('2026-03-05T17:00Z', job)
  const stop = inbox.start()
  await inbox.moveTo(local('2026-03-05', '22:00'))
  await inbox.deliver('a_1.csv')
  await inbox.deliver('b_1.csv')
  await inbox.moveTo(local('2026-03-06', '12:00'))
  await inbox.deliver('a_2.csv')
  await inbox.moveTo(local('2026-03-08', '12:00'))
  await inbox.deliver('a_3.csv')
  await inbox.moveTo(local('2026-03-09', '12:00'))
  await stop()
  // The second of Friday has come by noon, nearer to Friday's time than to Monday's.
  expect(inbox.told.map((line) => line.split('nightly: ')[1])).toEqual([
    '1 of 2 exports by Fri 2026-03-06 01:30 -05:00, 1 missing',
    '2 of 2 exports by Fri 2026-03-06 01:30 -05:00, late',
    '1 of 2 exports by Mon 2026-03-09 01:30 -04:00, 1 missing',
  ])
})

describe('who asks', () => {
  it('is told of the latest time, also where it was never watched; each once', async () => {
    const inbox = await watchInbox('2026-03-02T17:00Z', jobOf('*.csv'))
    expect(await inbox.ask()).toEqual(['missing'])
    expect(await inbox.ask()).toEqual(['missing'])
    expect(inbox.told).toHaveLength(1)
    await inbox.deliver('a.csv')
    expect(await inbox.ask()).toEqual(['late'])
    expect(await inbox.ask()).toEqual(['late'])
    expect(inbox.told).toHaveLength(2)
  })

  it('and a schedule beside it tell once', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
    const stop = inbox.start()
    await inbox.moveTo(local('2026-03-02', '01:30'))
    expect(await inbox.ask()).toEqual(['missing'])
    await inbox.moveTo(local('2026-03-02', '12:00'))
    await stop()
    expect(inbox.told).toHaveLength(1)
  })

  it('gets the export that a manifest names', async () => {
    const inbox = await watchInbox(
      '2026-03-02T04:00Z',
      jobOf('a_*.csv', '    complete: { manifest: "manifest_{date:yyyyMMdd}.csv" }\n'),
    )
    await inbox.deliver('a_1.csv')
    await inbox.moveTo('2026-03-02T07:00Z')
    expect(await inbox.ask()).toEqual(['missing'])
    expect(inbox.messages[0]?.notice.text).toContain('Waiting  a_1.csv: no manifest names it')
    await writeFile(join(inbox.folder, 'inbox', 'manifest_20260301.csv'), 'name\na_1.csv\n')
    expect(await inbox.ask()).toEqual(['late'])
  })
})

test('an export that is replaced by a small one before it is run is told, though as many are there as before', async () => {
  const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('a_{date:yyyyMMdd}.csv'))
  const stop = inbox.start()
  for (const day of ['02', '03', '04', '05']) {
    await inbox.moveTo(local(`2026-03-${day}`, '01:00'))
    await inbox.deliver(`a_202603${day}.csv`)
  }
  await inbox.moveTo(local('2026-03-05', '01:45'))
  await stop()
  expect(inbox.said).toEqual([])
  await inbox.deliver('a_20260305.csv', 100, local('2026-03-05', '01:20'))
  expect(await inbox.ask()).toEqual(['arrived'])
  expect(inbox.said).toEqual(['Waybill: nightly: a_20260305.csv has 10 % of the usual size'])
})
