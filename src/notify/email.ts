/** Sends notices as mail, in plain text, with attachments. */
import { createTransport } from 'nodemailer'
import { z } from 'zod'
import { type Attach, type Channel, NotDelivered, secondsOf } from './notice.ts'

interface EmailOptions {
  /** `smtp://` or `smtps://`, with user and password if the server needs them. */
  readonly smtpUrl: string
  readonly from: string
  readonly to: string
  readonly timeoutMs: number
  readonly attach?: Attach
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

export function createEmail({ smtpUrl, from, to, timeoutMs, attach }: EmailOptions): Channel {
  const address = new URL(smtpUrl)
  const { hostname, password } = address
  // The mail library takes options from the query, even one to turn off the check of certificates.
  address.search = ''
  const transport = createTransport({
    url: address.href,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // Sends a password only over TLS, except to this machine.
    requireTLS: password !== '' && !LOOPBACK.includes(hostname),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async deliver({ id, notice }) {
      const attachments = (await attach?.(notice)) ?? []
      const signal = AbortSignal.timeout(timeoutMs)
      const mail = {
        from,
        to,
        subject: notice.title,
        text: `${notice.text.join('\n')}\n`,
        date: new Date(notice.at),
        messageId: `<${id}@waybill>`,
        // Keeps holiday notes away (RFC 3834, section 5).
        headers: { 'Auto-Submitted': 'auto-generated' },
        attachments: attachments.map(({ name, type, content }) => ({
          filename: name,
          contentType: type,
          content,
        })),
        signal,
      }
      await transport.sendMail(mail).catch((error: unknown) => {
        if (signal.aborted)
          throw new NotDelivered(`the mail server took longer than ${secondsOf(timeoutMs)}`, true)
        throw failureOf(error)
      })
    },
  }
}

const SmtpFailure = z.object({ code: z.string(), responseCode: z.int().optional() })

/** Failure by codes alone: the server's message may quote the login and the mail. */
function failureOf(error: unknown): unknown {
  const { data } = SmtpFailure.safeParse(error)
  if (data === undefined) return error
  const { code, responseCode } = data
  const answered = responseCode === undefined ? '' : `, ${responseCode}`
  // RFC 5321, section 4.2.1: 4yz is transient, 5yz is not.
  const passing = responseCode === undefined ? code !== 'EAUTH' : responseCode < 500
  return new NotDelivered(`the mail server did not accept the mail (${code}${answered})`, passing)
}
