/** Attacks on the console beyond those of `server.test.ts` and `logins.test.ts`: floods, large and slow requests, a viewer who acts, words of a gateway. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { ACTION_COMMANDS } from '../../src/console/typed-commands.ts'
import { ANN, BEN, HEADER, openClinic } from '../cli/clinic.ts'
import { createWorkplace } from '../cli/command-line.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ask, enter, openInstallation, serve } from './console-under-test.ts'

test('a person gets 600 answers a minute, and a stranger who floods takes none of them', async () => {
  const workplace = await createWorkplace()
  const served = await serve(workplace)
  const visitor = await enter(served)
  for (let at = 0; at < 30; at++) expect((await ask(`${served.base}/`)).status).toBe(401)
  // `enter` has asked for one page.
  for (let at = 1; at < 600; at++) expect((await visitor.get('/trace')).status).toBe(200)
  const refused = await visitor.get('/trace')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(refused.text).toContain('The request cannot be served.')
})

test('addresses are guessed twenty times a minute, and a wrong guess leaves the right one open', async () => {
  const served = await serve(await createWorkplace())
  for (let at = 0; at < 19; at++)
    expect((await ask(`${served.base}/enter/${String(at).padStart(32, '0')}`)).status).toBe(403)
  expect((await ask(served.addresses[0] ?? '')).status).toBe(303)
  // The next address is right, too, and comes too late within this minute.
  expect((await ask(served.addresses[1] ?? '')).status).toBe(429)
})

test('a large form is refused, a long address leads nowhere, and a slow stranger is not waited for', async () => {
  const { workplace } = await openInstallation()
  const served = await serve(workplace)
  const { get, post, csrf } = await enter(served)
  const kib = 1024
  const formOf = (bytes: number) => ({ csrf, person: 'p'.repeat(bytes - `csrf=${csrf}&person=`.length) })
  expect((await post('/trace', formOf(16 * kib))).status).toBe(200)
  expect((await post('/trace', formOf(16 * kib + 1))).status).toBe(413)
  expect((await get(`/runs/${'r'.repeat(400)}`)).status).toBe(404)
  expect((await get(`/runs/${'r'.repeat(401)}`)).status).toBe(414)

  // A body is announced, and does not come.
  const { hostname, port, host } = new URL(served.base)
  const socket = connect(Number(port), hostname)
  socket.write(`POST /do/run HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100000000\r\n\r\n`)
  const [first] = await new Promise<Buffer[]>((resolve) => socket.once('data', (part) => resolve([part])))
  expect(String(first)).toMatch(/^HTTP\/1\.1 401 /)
  socket.destroy()
})

test('a viewer acts by no way, whatever the page shows', async () => {
  const { workplace, run } = await openInstallation({
    WAYBILL_CONSOLE_PROXY_SECRET: 'a secret of the proxy',
    WAYBILL_CONSOLE_VIEWERS: 'vera',
  })
  const { base } = await serve(workplace)
  const headers = { 'x-forwarded-user': 'vera', 'x-waybill-secret': 'a secret of the proxy' }
  const page = await ask(`${base}/trace`, { headers })
  const cookie = page.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const csrf = /name="csrf" value="(\w+)"/.exec(page.text)?.[1] ?? ''
  const form = {
    ...{ csrf, run, job: 'nightly', export: 'x', why: 'y', from: '2026-03-01', to: '2026-03-02' },
  }
  const own = { ...headers, cookie }
  // The token is good: a look by form is answered.
  expect((await ask(`${base}/trace`, { headers: own, form: { csrf, person: 'P-2' } })).status).toBe(200)
  for (const action of Object.keys(ACTION_COMMANDS)) {
    const posted = await ask(`${base}/do/${action}`, { headers: own, form })
    expect({ action, status: posted.status }).toEqual({ action, status: 403 })
    expect((await ask(`${base}/do/${action}?run=${run}`, { headers: own })).status).toBe(403)
  }
  for (const path of ['/', `/runs/${run}`, '/schedule', '/system', '/in-doubt', '/backfill'])
    expect((await ask(base + path, { headers: own })).text).not.toContain('/do/')
  expect(JSON.parse((await workplace.waybill('audit', '--json')).out).audit).toEqual([])
  expect(JSON.parse((await workplace.waybill('runs', '--json')).out).runs).toHaveLength(1)
})

test('after the sign-out, cookie and token of the session are worth nothing', async () => {
  const { workplace, run } = await openInstallation()
  const { get, post, csrf } = await enter(await serve(workplace))
  expect((await post('/leave', { csrf })).status).toBe(200)
  for (const path of ['/', '/?json', '/events', `/runs/${run}/report`])
    expect((await get(path)).status).toBe(401)
  expect((await post('/do/acknowledge', { csrf, run })).status).toBe(401)
  expect(JSON.parse((await workplace.waybill('needs', '--json')).out).needs).toHaveLength(1)
})

test('markup in words of the gateway stays text', async () => {
  const words = 'invalid <img src=x onerror=alert(1)> value'
  const clinic = await openClinic({
    faultOf: ({ method, path }) =>
      method === 'POST' && path.includes('biometric') ? answer(422, {}, words) : PASS,
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const { run } = JSON.parse((await clinic.run()).out)
  const { get } = await enter(await serve(clinic.workplace))
  // The words are known ones alone, and pages escape all texts: JSON shows the first by itself.
  const { text: json } = await get(`/runs/${run}?json`)
  expect(JSON.parse(json).reasons).not.toEqual([])
  for (const text of [json, (await get('/')).text, (await get(`/runs/${run}`)).text])
    expect(text).not.toContain('<img')
})
