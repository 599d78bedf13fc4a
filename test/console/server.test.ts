import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { createWorkplace } from '../cli/command-line.ts'
import { type Answer, ask, deliver, EXPORT, enter, openInstallation, serve } from './console-under-test.ts'

/** Longest pause and length of a session (docs/console.md). */
const IDLE_MS = 30 * 60_000
const LENGTH_MS = 12 * 3_600_000

const titleOf = ({ text }: Answer): string | undefined => /<title>(.*) · Waybill/.exec(text)?.[1]
const commandOf = ({ text }: Answer): string | undefined => /<pre>(waybill .*)<\/pre>/.exec(text)?.[1]

test('an address opens one session, and whoever has none sees nothing', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace)
  const [address = ''] = served.addresses
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/enter\/[0-9a-f]{32}$/)
  for (const path of [
    '/',
    `/runs/${run}`,
    '/schedule',
    '/system',
    '/trace',
    '/events',
    '/?json',
    '/nowhere',
  ]) {
    const answer = await ask(served.base + path)
    expect({ path, status: answer.status }).toEqual({ path, status: 401 })
    expect(answer.text).not.toContain('nightly')
  }
  expect((await ask(`${served.base}/enter/${'0'.repeat(32)}`)).status).toBe(403)

  const entered = await ask(address)
  expect(entered.headers['set-cookie']).toEqual([
    expect.stringMatching(/^waybill-\d+=[0-9a-f]{32}; Path=\/; HttpOnly; SameSite=Lax$/),
  ])
  expect((await ask(address)).status).toBe(403)
  // Another browser comes in by the next address, and the first one stays.
  expect(served.addresses).toHaveLength(2)
  const second = await enter(served)
  expect((await second.get('/')).status).toBe(200)
  const cookie = entered.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  expect((await ask(`${served.base}/`, { headers: { cookie } })).status).toBe(200)
  // A cookie that somebody else has chosen opens nothing (session fixation).
  const planted = cookie.replace(/=.*/, `=${'a'.repeat(32)}`)
  expect((await ask(`${served.base}/`, { headers: { cookie: planted } })).status).toBe(401)

  expect((await second.post('/leave', { csrf: second.csrf })).status).toBe(200)
  expect((await second.get('/')).status).toBe(401)
  expect(await served.end()).toBe(0)
})

test('a session ends when nobody uses it, and after its length; requests of the page itself do not keep it', async () => {
  const { workplace } = await openInstallation()
  let at = Date.now()
  const served = await serve(workplace, [], { now: () => at })
  const idle = await enter(served)
  at += IDLE_MS - 1
  expect((await idle.get('/trace', { 'waybill-live': '1' })).status).toBe(200)
  at += 1
  expect((await idle.get('/trace')).status).toBe(401)

  const busy = await enter(served)
  const since = at
  while (at + IDLE_MS / 2 < since + LENGTH_MS) {
    at += IDLE_MS / 2
    expect((await busy.get('/page.css')).status).toBe(200)
    expect((await busy.get('/trace')).status).toBe(200)
  }
  at = since + LENGTH_MS - 1
  expect((await busy.get('/trace')).status).toBe(200)
  at += 1
  expect((await busy.get('/trace')).status).toBe(401)
})

test('requests of other pages and by other names are refused', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace)
  const { get, post, csrf } = await enter(served)
  const port = new URL(served.base).port
  // DNS rebinding: a foreign name that leads to loopback.
  for (const host of [
    `evil.example:${port}`,
    'evil.example',
    `127.0.0.1.evil.example:${port}`,
    '127.0.0.1',
    `127.0.0.1:1`,
  ])
    expect({ host, status: (await get('/', { host })).status }).toEqual({ host, status: 421 })
  expect((await get('/', { host: `localhost:${port}` })).status).toBe(200)
  expect((await get('/', { 'x-forwarded-host': 'evil.example' })).status).toBe(200)

  const acknowledge = { run }
  expect((await post('/do/acknowledge', acknowledge)).status).toBe(400)
  expect((await post('/do/acknowledge', { ...acknowledge, csrf: '0'.repeat(32) })).status).toBe(400)
  const foreign = { origin: 'http://evil.example' }
  expect((await post('/do/acknowledge', { ...acknowledge, csrf }, foreign)).status).toBe(403)
  expect((await post('/do/acknowledge', { ...acknowledge, csrf }, { origin: 'null' })).status).toBe(403)
  // The token of another session.
  const other = await enter(served)
  expect((await post('/do/acknowledge', { ...acknowledge, csrf: other.csrf })).status).toBe(400)
  expect((await get('/do/acknowledge?run=x', { 'content-type': 'application/json' })).status).toBe(404)
  expect(JSON.parse((await get('/?json')).text).needs).toHaveLength(1)
})

test('every answer has the headers of a strict policy', async () => {
  const { workplace } = await openInstallation()
  const served = await serve(workplace)
  const { get } = await enter(served)
  for (const path of ['/', '/page.js', '/nowhere']) {
    const { headers } = await get(path)
    expect(headers['content-security-policy']).toBe(
      "default-src 'none';script-src 'self';style-src 'self';img-src data:;connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  }
})

test('markup in names of files stays text, and no path leads to a file', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace)
  const { get } = await enter(served)
  for (const path of ['/', `/runs/${run}`, `/trace?row=${encodeURIComponent(`${EXPORT}:2`)}`]) {
    const { status, text } = await get(path)
    expect({ path, status }).toEqual({ path, status: 200 })
    expect(text).toContain('&lt;img')
    expect(text).not.toContain('<img')
    expect(text).not.toMatch(/ (?:style|on\w+)="/)
  }
  const attacks = [
    '/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E',
    '/runs/..%2F..%2Fetc%2Fpasswd',
    '/runs/..%2Fkey/log',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/trace?transaction=%3Cscript%3E',
    `/do/acknowledge?run=${encodeURIComponent('"><script>')}`,
    '/do/__proto__?run=x',
  ]
  for (const path of attacks) {
    const { status, text } = await get(path)
    expect({ path, isRefused: status === 404 || status === 400 }).toEqual({ path, isRefused: true })
    expect(text).not.toMatch(/<script>|root:/)
  }
  // A bidirectional control in a reason is shown, not obeyed.
  expect((await get(`/runs/${run}/reasons/a%E2%80%AEb`)).text).toContain('a\\u202eb')
})

test('the JSON of a page is that of the command', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace)
  const { get } = await enter(served)
  const of = async (path: string): Promise<unknown> => JSON.parse((await get(path)).text)
  const said = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await workplace.waybill(...args, '--json')).out)
  expect(await of('/?json')).toEqual(await said('needs'))
  expect(await of(`/runs/${run}?json`)).toEqual(await said('show', run))
  expect(await of('/schedule?json')).toEqual(await said('schedule', '--explain'))
  const row = `${EXPORT}:2`
  const traced = z
    .object({ records: z.array(z.object({ transactionId: z.string().optional() })) })
    .parse(await said('trace', '--row', row))
  expect(await of(`/trace?json&row=${encodeURIComponent(row)}`)).toEqual(await said('trace', '--row', row))
  const id = traced.records.find(({ transactionId }) => transactionId !== undefined)?.transactionId ?? ''
  expect(await of(`/trace?json&transaction=${id}`)).toEqual(await said('trace', id))
})

test('an action shows its effect and its command, then does it', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace)
  const { get, post, csrf } = await enter(served)
  const shown = await get(`/do/acknowledge?run=${run}`)
  expect(titleOf(shown)).toBe(`Acknowledge ${run}`)
  expect(commandOf(shown)).toBe(`waybill acknowledge ${run}`)
  expect(shown.text).toContain('1 record rejected): rejects and failures become final')
  expect(JSON.parse((await get('/?json')).text).needs).toHaveLength(1)

  const done = await post('/do/acknowledge', { csrf, run, note: 'the vendor cannot correct it' })
  expect(done).toMatchObject({ status: 303, headers: { location: '/' } })
  expect(titleOf(await get('/'))).toBe('Nothing needs you: 1 job')
  const { decided } = JSON.parse((await get(`/runs/${run}?json`)).text)
  expect(decided).toMatchObject([{ decision: 'acknowledge', note: 'the vendor cannot correct it' }])
  expect((await get(`/runs/${run}`)).text).toMatch(/acknowledge, by \S+: the vendor cannot correct it/)

  expect(commandOf(await get('/do/pause?job=nightly'))).toBe('waybill pause nightly')
  expect((await post('/do/pause', { csrf, job: 'nightly' })).headers.location).toBe('/schedule')
  expect((await get('/schedule')).text).toContain('Paused by')
  await post('/do/unpause', { csrf, job: 'nightly' })
  expect((await get('/schedule')).text).not.toContain('Paused by')
  expect((await post('/do/stop', { csrf, run })).status).toBe(409)
})

test('a run of the console goes on after the answer, and is over before the console ends', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace)
  const { get, post, csrf } = await enter(served)
  const finished = (at: string): Promise<void> =>
    vi.waitFor(async () => expect(JSON.parse((await get(`${at}?json`)).text).state).toBe('finished'), 60_000)
  const rerun = await post('/do/rerun', { csrf, run, only: 'rejected' })
  expect(rerun.status).toBe(303)
  expect(rerun.headers.location).toMatch(/^\/runs\//)
  // Each of the two runs leads to the other.
  const again = rerun.headers.location ?? ''
  // A run of a job is refused while another one of the job is under way.
  await finished(again)
  expect((await get(again)).text).toMatch(new RegExp(`Retries what run <a href="/runs/${run}"`))
  await deliver(workplace, 'acme_20260205.csv', 'Q')
  const begun = await post('/do/run', { csrf, job: 'nightly' })
  const { location = '' } = begun.headers
  expect(location).toMatch(/^\/runs\//)
  expect(location).not.toBe(again)
  await finished(location)
  expect((await get('/')).text).toContain('<code>waybill run nightly</code>')
  await deliver(workplace, 'acme_20260206.csv', 'R')
  await post('/do/run', { csrf, job: 'nightly' })
  expect(await served.end()).toBe(0)
  const { runs } = JSON.parse((await workplace.waybill('runs', '--json')).out)
  // The last one was interrupted, or was faster: no run is left to a process that is gone.
  const [last, ...earlier] = runs.map(({ state }: { state: string }) => state)
  expect(earlier).toEqual(['finished', 'finished', 'finished'])
  expect(['interrupted', 'finished']).toContain(last)
})

test('read only, there is no action', async () => {
  const { workplace, run } = await openInstallation()
  const served = await serve(workplace, ['--read-only'])
  const { get, post, csrf } = await enter(served)
  for (const path of ['/', `/runs/${run}`, '/schedule']) expect((await get(path)).text).not.toContain('/do/')
  expect((await get(`/do/acknowledge?run=${run}`)).status).toBe(403)
  expect((await post('/do/acknowledge', { csrf, run })).status).toBe(403)
  expect(JSON.parse((await get('/?json')).text).needs).toHaveLength(1)
  // A look is none: the person is asked for in a form, so that no address has the reference.
  const traced = await post('/trace', { csrf, person: 'P-2' })
  expect(traced.text).toContain('diastolic-bp')
  expect(traced.text).not.toContain('P-2')
})

test('read only, the bytes of a copied ledger stay the same on every page', async () => {
  const { workplace, run } = await openInstallation()
  const copy = await createWorkplace()
  const ledger = join(copy.home, 'ledger.sqlite')
  await mkdir(copy.home, { recursive: true, mode: 0o700 })
  await workplace.waybill('backup', ledger)
  await copyFile(join(workplace.folder, 'jobs/nightly.yaml'), join(copy.folder, 'jobs/nightly.yaml'))
  const before = await readFile(ledger)
  const served = await serve(copy, ['--read-only'])
  const { get, post, csrf } = await enter(served)
  const pages = [
    '/',
    `/runs/${run}`,
    '/in-doubt',
    '/exports',
    '/backfill',
    '/mappings',
    '/mappings/acme-onsite',
    '/schedule',
    '/system',
  ]
  for (const path of pages) expect({ path, status: (await get(path)).status }).toEqual({ path, status: 200 })
  const actions = ['acknowledge', 'rerun', 'reconcile', 'accept', 'resend', 'give-up', 'stop']
  for (const action of actions) expect((await post(`/do/${action}`, { csrf, run })).status).toBe(403)
  for (const action of ['run', 'pause', 'unpause', 'backfill'])
    expect((await post(`/do/${action}`, { csrf, job: 'nightly' })).status).toBe(403)
  expect(await served.end()).toBe(0)
  expect((await readFile(ledger)).equals(before)).toBe(true)

  // The ledger itself refuses, whoever asks.
  const opened = await openLedger(ledger, undefined, undefined, undefined, 'read')
  onTestFinished(() => opened.close())
  await expect(opened.jobs.id('another', 'built-in')).rejects.toThrow(/readonly|query_only|read-only/i)
})

test('values of rows need a role, come from the rejects file, and are in the audit', async () => {
  const { workplace, run } = await openInstallation()
  const path = `/runs/${run}/reasons/value-not-a-number`
  const plain = await enter(await serve(workplace))
  expect((await plain.get(path)).text).not.toContain('/values')
  const refused = await plain.get(`${path}/values`)
  expect(refused.status).toBe(403)
  expect(refused.text).toContain('the role health-data is missing')
  expect(refused.text).not.toContain('Moor')
  expect((await plain.get(`${path}/values?json`)).status).toBe(403)
  expect(JSON.parse((await workplace.waybill('audit', '--json')).out).audit).toEqual([])

  const seeing = await enter(await serve(workplace, ['--health-data']))
  expect((await seeing.get(path)).text).toContain(`href="${path}/values"`)
  const { text } = await seeing.get(`${path}/values`)
  // The row of P-2, whose value is a word.
  expect(text).toContain('<dt>dbp</dt><dd>high</dd>')
  expect(text).toContain('<dt>last_name</dt><dd>Moor</dd>')
  expect(text).not.toContain('Reed')
  const { audit } = JSON.parse((await workplace.waybill('audit', '--json')).out)
  expect(audit).toMatchObject([{ action: 'see-values', job: 'nightly', run, subject: 'value-not-a-number' }])
})

test('a ledger that cannot be read, a broken job file and no ledger at all are shown', async () => {
  const empty = await createWorkplace()
  const { get } = await enter(await serve(empty))
  expect(titleOf(await get('/'))).toBe('Nothing needs you: 0 jobs')
  await mkdir(empty.home, { mode: 0o700, recursive: true })
  await writeFile(join(empty.home, 'ledger.sqlite'), 'no ledger')
  expect(titleOf(await get('/'))).toBe('1 matter of the installation needs you')

  const { workplace } = await openInstallation()
  const served = await serve(workplace)
  const broken = await enter(served)
  await writeFile(join(workplace.folder, 'jobs', 'nightly.yaml'), 'job: [')
  expect((await broken.get('/schedule')).text).toContain('cannot run: job-invalid')
  expect((await broken.get('/')).status).toBe(200)
  await writeFile(join(workplace.home, 'ledger.sqlite'), 'no ledger')
  const morning = await broken.get('/')
  expect(morning.status).toBe(200)
  expect(titleOf(morning)).toContain('of the installation')
  expect((await broken.get('/runs/latest')).status).toBe(503)
})
