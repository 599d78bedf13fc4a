/** Marked rows, against a gateway that quotes all that it is sent: whatever befalls them, nobody is told any of it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { gatewaySettings, startReferenceStore } from '../cli/reference-store.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { startMailServer } from '../notify/mail-server.ts'
import { answer, type Fault, PASS, startFaultProxy } from './fault-proxy.ts'

const MARKS = [
  'ZQ-77140-REF',
  '5.8173',
  '81.7391',
  '1961-07-13',
  '1.2345678e',
  'Borvaine',
  'mark-remark',
  'Quixotine',
]

const ROWS = [
  'ZQ-77140-REF1,2026-03-02,61,5.8173,81.7391,kg,mark-remark',
  'ZQ-77140-REF2,2026-03-02,61,1.2345678e99,81.7391,kg,mark-remark',
  'ZQ-77140-REF3,2026-03-02,Quixotine,5.8173,81.7391,Borvaine,mark-remark',
  'ZQ-77140-REF4,1961-07-13T,61,5.8173,81.7391,kg,mark-remark',
  'ZQ-77140-REF5,2026-03-02,61,5.8173,81.7391,kg,mark-remark,Quixotine',
  '"ZQ-77140-REF6,2026-03-02,61,5.8173',
].join('\n')

const QUOTING: Readonly<Record<string, (body: string) => Fault>> = {
  'refuses all': (body) => answer(400, {}, body),
  'refuses the credentials': (body) => answer(403, {}, body),
  'stores it and lists it among its errors': (body) => ({
    do: 'pass-then-edit',
    edit: (envelope) => ({ ...envelope, data: [], errors: [{ message: body }, body] }),
  }),
}

const contentsOf = (mail: Email | undefined): string =>
  (mail?.attachments ?? [])
    .map(({ content }) => (typeof content === 'string' ? content : new TextDecoder().decode(content)))
    .join()

describe('no content of a row is told', () => {
  it.each([
    ...Object.keys(QUOTING).map((way) => [way, '']),
    ['stores it and lists it among its errors', 'stopWhen: { rejectedRows: 1%, after: 1 }\n'],
  ])('where the gateway %s; %s', async (way, more) => {
    const store = await startReferenceStore({ open: true })
    const proxy = await startFaultProxy(store.url, ({ method, body }) =>
      method === 'POST' ? (QUOTING[way]?.(body) ?? PASS) : PASS,
    )
    const hook = await startHookServer()
    const { port, mails } = await startMailServer()
    const { workplace, deliver, run } = await openClinic({
      store,
      environment: {
        ...gatewaySettings(proxy.url),
        WAYBILL_WEBHOOK_SECRET: SECRET,
        WAYBILL_SMTP_URL: `smtp://127.0.0.1:${port}`,
        WAYBILL_SMTP_FROM: 'waybill@hospital.example',
      },
      job: `${JOB}${more}submit: { readLag: 10ms }
notify:
  - { webhook: "${hook.url}/" }
  - { email: oncall@hospital.example }
  - { command: "cat > told; env >> told" }
`,
    })
    const path = await deliver('marked.csv', `${HEADER}${ROWS}\n`)
    const { code } = await run()
    expect(code).toBeGreaterThan(0)
    const ledger = new DatabaseSync(join(workplace.home, 'ledger.sqlite'), { readOnly: true })
    const outbox = JSON.stringify(ledger.prepare('select * from notification').all())
    ledger.close()
    const [mail] = await Promise.all(mails.map(({ source }) => PostalMime.parse(source)))
    const told = {
      outbox,
      webhook: hook.seen.map(({ body }) => body).join('\n'),
      mail: `${mail?.subject}\n${mail?.text}`,
      'what goes with the mail': `${mail?.subject}\n${contentsOf(mail)}`,
      command: await readFile(join(workplace.folder, 'jobs/told'), 'utf8'),
    }
    for (const [where, text] of Object.entries(told)) {
      // Something was told, and it says what was wrong.
      expect(text).toContain('Waybill: clinic ')
      for (const mark of MARKS) expect(text.includes(mark), `${mark} in ${where}`).toBe(false)
    }
    const source = await readFile(path, 'utf8')
    for (const mark of MARKS) expect(source).toContain(mark)
  })
})
