import type { Message, Notice, UnsentNotice } from '../../src/notify/notice.ts'

export const NOTICE: Notice = {
  kind: 'run-ended',
  job: 'nightly-screenings',
  gateway: 'https://gateway.example',
  subject: '20260302T071500Z-4f2a9c finished',
  failure: true,
  at: Date.UTC(2026, 2, 2, 7, 31),
  title: 'Waybill: nightly-screenings finished with 22 rejected records',
  text: ['Run      20260302T071500Z-4f2a9c', 'Next', '  waybill show “20260302T071500Z-4f2a9c”'],
  data: { run: '20260302T071500Z-4f2a9c', exit: 1 },
}

export const UNSENT: UnsentNotice = {
  ...NOTICE,
  text: ['Run      20260302T071500Z-4f2a9c'],
  next: ['  waybill show “20260302T071500Z-4f2a9c”'],
}

export const MESSAGE: Message = { id: 'msg_0123456789abcdef', notice: NOTICE }
