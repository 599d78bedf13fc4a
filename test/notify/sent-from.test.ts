import { expect, it } from 'vitest'
import { sentFrom } from '../../src/notify/notice.ts'
import { NOTICE } from './sample-notice.ts'

it('a notice says of which host and home it is, before what to type next', () => {
  const from = { host: 'night-host', home: '/var/lib/waybill' }
  const { text, data, subject } = sentFrom(NOTICE, from)
  const [run, ...next] = NOTICE.text
  expect(text).toEqual([run, 'Told by  night-host, home /var/lib/waybill', ...next])
  expect(data).toEqual({ ...NOTICE.data, ...from })
  // What was told before is not told again for it.
  expect(subject).toBe(NOTICE.subject)
  expect(sentFrom({ ...NOTICE, text: ['one'] }, from).text).toEqual([
    'one',
    'Told by  night-host, home /var/lib/waybill',
  ])
})
