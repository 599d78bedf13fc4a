/** Weeks of deliveries to a real inbox, with a real ledger: what is told, and when. */
import { describe, expect, it, test } from 'vitest'
import { jobOf, local, STEP, short, watchInbox, ZONE } from './watched-inbox.ts'

const WAYS = [
  {
    what: 'stay in the inbox',
    match: 'a_{date:yyyyMMdd}.csv',
    more: '',
    name: (day: string) => `a_${day}.csv`,
  },
  {
    what: 'are archived',
    match: 'a_{date:yyyyMMdd}.csv',
    more: '    archive: ../done\n',
    name: (day: string) => `a_${day}.csv`,
  },
  { what: 'come under one name, anew each night', match: 'all.csv', more: '', name: () => 'all.csv' },
  {
    what: 'come under one name, and are archived',
    match: 'all.csv',
    more: '    archive: ../done\n',
    name: () => 'all.csv',
  },
]

describe.each(WAYS)('three weeks of exports that $what', ({ match, more, name }) => {
  it('tell of those nights alone in which one is missing, late or small', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf(match, more))
    const stop = inbox.start()
    // Each evening one for the night; clocks are set ahead in the night to the 8th.
    for (let day = 1; day <= 21; day++) {
      const date = `2026-03-${String(day).padStart(2, '0')}`
      const next = `2026-03-${String(day + 1).padStart(2, '0')}`
      const file = name(date.replaceAll('-', ''))
      await inbox.moveTo(local(date, '22:00'))
      if (day === 5 || day === 6 || day === 14) {
        // Never, never, and late.
        await inbox.moveTo(local(next, '04:10'))
        if (day === 14) await inbox.deliver(file)
      } else if (day === 10) await inbox.deliver(file, 300)
      else await inbox.deliver(file, 1000 + day)
    }
    await inbox.moveTo(local('2026-03-22', '12:00'))
    await stop()
    expect(inbox.troubles).toEqual([])
    const told = (date: string, time: string, words: string) => `${local(date, time)} ${words}`
    const late = 'export-late Waybill: nightly:'
    expect(inbox.told).toEqual([
      told('2026-03-06', '01:30', `${late} 0 of 1 export by Fri 2026-03-06 01:30 -05:00, 1 missing`),
      told('2026-03-07', '01:30', `${late} 0 of 1 export by Sat 2026-03-07 01:30 -05:00, 1 missing`),
      told(
        '2026-03-11',
        '01:30',
        `export-small Waybill: nightly: ${name('20260310')} has 30 % of the usual size`,
      ),
      told('2026-03-15', '01:30', `${late} 0 of 1 export by Sun 2026-03-15 01:30 -04:00, 1 missing`),
      told('2026-03-15', '04:15', `${late} 1 of 1 export by Sun 2026-03-15 01:30 -04:00, late`),
    ])
    expect(inbox.messages.map(({ notice }) => notice.failure)).toEqual([true, true, true, true, false])
  })
})

test('one that is late one night does not hide that none comes the next', async () => {
  const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
  const stop = inbox.start()
  await inbox.moveTo(local('2026-03-02', '03:10'))
  await inbox.deliver('one.csv')
  await inbox.moveTo(local('2026-03-03', '03:10'))
  await inbox.deliver('two.csv')
  await inbox.moveTo(local('2026-03-04', '12:00'))
  await stop()
  expect(inbox.told.map((line) => line.replace(/Waybill: nightly: /, ''))).toEqual([
    `${local('2026-03-02', '01:30')} export-late 0 of 1 export by Mon 2026-03-02 01:30 -05:00, 1 missing`,
    `${local('2026-03-02', '03:15')} export-late 1 of 1 export by Mon 2026-03-02 01:30 -05:00, late`,
    `${local('2026-03-03', '01:30')} export-late 0 of 1 export by Tue 2026-03-03 01:30 -05:00, 1 missing`,
    `${local('2026-03-03', '03:15')} export-late 1 of 1 export by Tue 2026-03-03 01:30 -05:00, late`,
    `${local('2026-03-04', '01:30')} export-late 0 of 1 export by Wed 2026-03-04 01:30 -05:00, 1 missing`,
  ])
})

test('one that comes when the next time is nearer is for that, also where it keeps an older time', async () => {
  const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
  const stop = inbox.start()
  await inbox.moveTo(local('2026-03-02', '20:00'))
  await inbox.deliver('a.csv', 1000, local('2026-03-01', '18:00'))
  await inbox.moveTo(local('2026-03-03', '12:00'))
  await stop()
  expect(inbox.told.map((line) => line.split('nightly: ')[1])).toEqual([
    '0 of 1 export by Mon 2026-03-02 01:30 -05:00, 1 missing',
  ])
})

describe('in the nights in which clocks change, the time to be there by', () => {
  it.each([
    // Half past two does not come: it is the first instant after the gap.
    ['2026-03-07T17:00Z', '2026-03-08T07:00Z', 'Sun 2026-03-08 03:00 -04:00'],
    // Half past one comes twice: it is the first one.
    ['2026-10-31T17:00Z', '2026-11-01T05:30Z', 'Sun 2026-11-01 01:30 -04:00'],
  ])('from %s is %s, once', async (start, due, words) => {
    const by = start.startsWith('2026-03') ? '30 2 * * *' : '30 1 * * *'
    const job = `exports: { from: ../inbox, match: "*.csv", expect: { by: "${by}", zone: ${ZONE} } }\n`
    const inbox = await watchInbox(start, job)
    const stop = inbox.start()
    await inbox.moveTo(short(Date.parse(due) + 20 * 3_600_000))
    await stop()
    expect(inbox.told).toEqual([`${due} export-late Waybill: nightly: 0 of 1 export by ${words}, 1 missing`])
  })
})

test('two schedules on one ledger tell once', async () => {
  const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
  const both = [inbox.start('here:1'), inbox.start('there:2')]
  await inbox.moveTo(local('2026-03-03', '12:00'))
  for (const stop of both) await stop()
  expect(inbox.told.map((line) => line.split(' ')[0])).toEqual([
    local('2026-03-02', '01:30'),
    local('2026-03-03', '01:30'),
  ])
})

describe('a schedule that was down over the time', () => {
  it('judges the latest one alone when it is back', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
    await inbox.start()()
    await inbox.moveTo(local('2026-03-05', '09:00'))
    const stop = inbox.start()
    await inbox.moveTo(local('2026-03-05', '10:00'))
    await stop()
    expect(inbox.told).toEqual([
      `${local('2026-03-05', '09:15')} export-late Waybill: nightly: 0 of 1 export by Thu 2026-03-05 01:30 -05:00, 1 missing`,
    ])
  })

  it('does not tell again what it had told', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
    for (const until of ['01:45', '04:00', '09:00']) {
      const stop = inbox.start()
      await inbox.moveTo(local('2026-03-02', until))
      await stop()
    }
    expect(inbox.told).toHaveLength(1)
    expect(inbox.said).toHaveLength(1)
  })

  it('tells what came after the time as late, and the export of the next one in time', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
    await inbox.start()()
    await inbox.moveTo(local('2026-03-02', '05:00'))
    await inbox.deliver('late.csv')
    await inbox.moveTo(local('2026-03-02', '20:00'))
    await inbox.deliver('next.csv')
    const stop = inbox.start()
    await inbox.moveTo(local('2026-03-03', '12:00'))
    await stop()
    expect(inbox.told.map((line) => line.split('nightly: ')[1])).toEqual([
      '1 of 1 export by Mon 2026-03-02 01:30 -05:00, late',
    ])
  })
})

describe('nothing was missed', () => {
  it('before the job was first seen', async () => {
    const inbox = await watchInbox('2026-03-02T17:00Z', jobOf('*.csv'))
    const stop = inbox.start()
    await inbox.moveTo(local('2026-03-02', '23:00'))
    await inbox.deliver('a.csv')
    await inbox.moveTo(local('2026-03-03', '12:00'))
    await stop()
    expect(inbox.told).toEqual([])
  })

  it('by a time that the job file did not name yet', async () => {
    const inbox = await watchInbox('2026-03-01T17:00Z', jobOf('*.csv'))
    const stop = inbox.start('here:1', STEP)
    await inbox.moveTo(local('2026-03-01', '22:00'))
    await inbox.deliver('a.csv')
    await inbox.moveTo(local('2026-03-02', '12:00'))
    await inbox.writeJob(jobOf('*.csv').replace('30 1 * * *', '0 11 * * *'))
    await inbox.moveTo(local('2026-03-03', '10:00'))
    expect(inbox.told).toEqual([])
    await inbox.moveTo(local('2026-03-03', '11:00'))
    await stop()
    expect(inbox.told.map((line) => line.split('nightly: ')[1])).toEqual([
      '0 of 1 export by Tue 2026-03-03 11:00 -05:00, 1 missing',
    ])
  })
})
