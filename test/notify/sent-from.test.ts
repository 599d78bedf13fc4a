import { expect, it } from 'vitest'
import { sentFrom } from '../../src/notify/notice.ts'
import { UNSENT } from './sample-notice.ts'

const from = { host: 'night-host', home: '/var/lib/waybill', console: undefined }
const { console: _, ...sender } = from

it('a notice says of which host and home it is, before what to type next', () => {
  const { text, data, subject } = sentFrom(
    { ...UNSENT, text: ['one', 'two'], next: ['  waybill show'] },
    from,
  )
  expect(text).toEqual(['one', 'two', 'Sent by  night-host, home /var/lib/waybill', 'Next', '  waybill show'])
  expect(data).toEqual({ ...UNSENT.data, ...sender })
  // What was told before is not told again for it.
  expect(subject).toBe(UNSENT.subject)
})

it('with nothing to type next ends with it, whatever words its lines are', () => {
  const told = 'Sent by  night-host, home /var/lib/waybill'
  expect(sentFrom({ ...UNSENT, text: ['one', 'Next', 'two'], next: [] }, from).text).toEqual([
    ...['one', 'Next', 'two'],
    told,
  ])
})

it('with a console, leads to the page of its run, or to the page of the morning', () => {
  const console = 'https://waybill.example/console'
  const ofRun = { ...UNSENT, data: { run: '20260302T071500Z-4f2a9c' }, next: [] }
  const page = `${console}/runs/20260302T071500Z-4f2a9c`
  const { text, data } = sentFrom(ofRun, { ...from, console })
  expect(text).toContain(`Page     ${page}`)
  expect(data).toMatchObject({ page })
  expect(sentFrom({ ...UNSENT, data: {}, next: [] }, { ...from, console }).data['page']).toBe(`${console}/`)
})
