import PostalMime from 'postal-mime'
import { expect, it } from 'vitest'
import { createEmail } from '../../src/notify/email.ts'
import { NotDelivered, secondsOf } from '../../src/notify/notice.ts'
import { openChannel } from '../../src/notify/open-channel.ts'
import { closedPort } from '../closed-port.ts'
import { describeChannel, limitOf } from '../conformance/notify-channel.ts'
import { serveTcp } from '../gateway/loopback.ts'
import { selfSignedCertificate } from '../gateway/self-signed-certificate.ts'
import { startMailServer } from './mail-server.ts'
import { MESSAGE, NOTICE } from './sample-notice.ts'

const FROM = 'Waybill <waybill@hospital.example>'
const TO = 'oncall@hospital.example'
const PASSWORD = 'a-password-of-the-mail-server'

const open = (port: number, login = '', timeoutMs = limitOf('takes')) =>
  createEmail({ smtpUrl: `smtp://${login}127.0.0.1:${port}`, from: FROM, to: TO, timeoutMs })

const failure = (port: number, login?: string): Promise<unknown> =>
  open(port, login)
    .deliver(MESSAGE)
    .then(
      () => 'delivered',
      (error: unknown) => error,
    )

describeChannel('a mail', async (receiver) => {
  const never = receiver === 'hangs'
  const refuse = { responseCode: 550, message: `no mail with ${PASSWORD}` }
  const { port, mails } = await startMailServer({
    onAuth: (_auth, _session, done) => done(null, { user: 'waybill' }),
    ...(receiver === 'refuses'
      ? { onRcptTo: (_to, _session, done) => done(Object.assign(new Error(), refuse)) }
      : {}),
    ...(never ? { onData: (stream) => stream.resume() } : {}),
  })
  return {
    channel: open(port, `waybill:${PASSWORD}@`, limitOf(receiver)),
    async received() {
      const parsed = await Promise.all(mails.map(({ source }) => PostalMime.parse(source)))
      return parsed.map(({ subject, text, messageId }) => `${messageId}\n${subject}\n${text}`)
    },
    secrets: [PASSWORD],
  }
})

it('is plain text from the sender to the one recipient, says that no person wrote it, and when it was so', async () => {
  const { port, mails } = await startMailServer()
  await open(port).deliver(MESSAGE)
  const [mail] = mails
  expect(mail?.to).toEqual([TO])
  const parsed = await PostalMime.parse(mail?.source ?? '')
  expect(parsed).toMatchObject({
    from: { address: 'waybill@hospital.example', name: 'Waybill' },
    to: [{ address: TO }],
    subject: NOTICE.title,
    messageId: `<${MESSAGE.id}@waybill>`,
    date: new Date(NOTICE.at).toISOString(),
    attachments: [],
  })
  expect(parsed.html).toBeUndefined()
  expect(parsed.text?.trimEnd().split('\n')).toEqual(NOTICE.text)
  expect(parsed.headers).toContainEqual(
    expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
  )
})

it('a password that is wrong is not tried again at once; one that is right opens the door', async () => {
  const { port, mails } = await startMailServer({
    authOptional: false,
    onAuth: ({ password }, _session, done) =>
      password === PASSWORD ? done(null, { user: 'waybill' }) : done(new Error(`not ${PASSWORD}`)),
  })
  const refused = await failure(port, 'waybill:wrong@')
  expect(refused).toMatchObject({
    message: 'the mail server did not accept the mail (EAUTH, 535)',
    passing: false,
  })
  await open(port, `waybill:${PASSWORD}@`).deliver(MESSAGE)
  expect(mails).toHaveLength(1)
})

it('over a network a password goes through TLS or not at all; loopback is no network', async () => {
  const seen: string[] = []
  const { port } = await startMailServer({
    onAuth(_auth, _session, done) {
      seen.push('login')
      done(null, {})
    },
  })
  const smtpUrl = `smtp://waybill:${PASSWORD}@0.0.0.0:${port}`
  const channel = createEmail({ smtpUrl, from: FROM, to: TO, timeoutMs: limitOf('takes') })
  await expect(channel.deliver(MESSAGE)).rejects.toThrow('the mail server did not accept the mail (ETLS')
  expect(seen).toEqual([])
})

it.each([
  ['nobody listens', closedPort, 'ESOCKET'],
  [
    'it hangs up',
    async () => Number(new URL((await serveTcp((socket) => socket.destroy())).url).port),
    'ECONN',
  ],
])('where %s it may be tried again', async (_, start, code) => {
  const error = await failure(await start())
  expect(error).toBeInstanceOf(NotDelivered)
  expect(error).toMatchObject({ passing: true, message: expect.stringContaining(code) })
})

it.each([
  [451, true],
  [499, true],
  [500, false],
  [550, false],
])(
  'a server that is busy (4yz) may take it within seconds, one that refuses (5yz) not: %i',
  async (responseCode, passing) => {
    const { port } = await startMailServer({
      onRcptTo: (_to, _session, done) => done(Object.assign(new Error('later'), { responseCode })),
    })
    expect(await failure(port)).toMatchObject({ passing })
  },
)

it.each(['', '?tls.rejectUnauthorized=false'])(
  'a certificate that is nobody’s is not trusted, whatever the address asks for: %j',
  async (query) => {
    const { port, mails } = await startMailServer({ secure: true, ...selfSignedCertificate() })
    const smtpUrl = `smtps://waybill:${PASSWORD}@127.0.0.1:${port}${query}`
    await expect(
      createEmail({ smtpUrl, from: FROM, to: TO, timeoutMs: limitOf('takes') }).deliver(MESSAGE),
    ).rejects.toMatchObject({ message: 'the mail server did not accept the mail (ESOCKET)', passing: true })
    expect(mails).toEqual([])
  },
)

it('what goes with it is made when it is sent', async () => {
  const { port, mails } = await startMailServer()
  const page = '<!doctype html><title>Résumé</title>'
  const made: string[] = []
  const channel = createEmail({
    smtpUrl: `smtp://127.0.0.1:${port}`,
    ...{ from: FROM, to: TO, timeoutMs: limitOf('takes') },
    async attach({ title }) {
      made.push(title)
      return [{ name: 'run-1.html', type: 'text/html; charset=utf-8', content: page }]
    },
  })
  expect(made).toEqual([])
  await channel.deliver(MESSAGE)
  const { text, attachments } = await PostalMime.parse(mails[0]?.source ?? '')
  expect(text?.trimEnd().split('\n')).toEqual(NOTICE.text)
  expect(attachments).toMatchObject([
    { filename: 'run-1.html', mimeType: 'text/html', disposition: 'attachment' },
  ])
  const [{ content } = expect.fail('none')] = attachments
  expect(typeof content === 'string' ? content : new TextDecoder().decode(content)).toBe(page)
})

it('a title with the end of a line in it, as a vendor may name a file, adds no header and no recipient', async () => {
  const { port, mails } = await startMailServer()
  const title = 'Waybill: nightly: a\r\nBcc: other@elsewhere.example\r\n\r\n.csv has 3 % of the usual size'
  await open(port).deliver({ ...MESSAGE, notice: { ...NOTICE, title } })
  expect(mails.map(({ to }) => to)).toEqual([[TO]])
  const { headers, bcc, text } = await PostalMime.parse(mails[0]?.source ?? '')
  expect(bcc ?? []).toEqual([])
  expect(headers.map(({ key }) => key)).not.toContain('bcc')
  expect(text?.trimEnd().split('\n')).toEqual(NOTICE.text)
})

it('what acts on a screen, as a vendor may name a file, is shown as what it is', async () => {
  const { port, mails } = await startMailServer()
  const settings = {
    ...{ webhookSecret: undefined, commandEnvironment: {} },
    ...{ smtpUrl: `smtp://127.0.0.1:${port}`, smtpFrom: FROM },
  }
  const notice = { ...NOTICE, title: 'a\u0007.csv is late', text: ['b\u001b[2K.csv', 'c.csv'] }
  const channel = await openChannel({ email: TO, on: 'always', folder: '/jobs' }, settings, () => 0)
  await channel.deliver({ ...MESSAGE, notice })
  const { subject, text } = await PostalMime.parse(mails[0]?.source ?? '')
  expect(subject).toBe('a\\u0007.csv is late')
  expect(text?.trimEnd().split('\n')).toEqual(['b\\u001b[2K.csv', 'c.csv'])
  for (const missing of [{ smtpUrl: undefined }, { smtpFrom: undefined }])
    await expect(
      openChannel({ email: TO, on: 'always', folder: '/jobs' }, { ...settings, ...missing }, () => 0),
    ).rejects.toMatchObject({ passing: false })
})

it.each([
  [0, '0 s'],
  [49, '0 s'],
  [50, '0.1 s'],
  [300, '0.3 s'],
  [15_000, '15 s'],
  [120_049, '120 s'],
])('a time limit of %i ms is %s', (ms, text) => {
  expect(secondsOf(ms)).toBe(text)
})
