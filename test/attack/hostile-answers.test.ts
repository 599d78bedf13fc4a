/** Answers that no gateway should give, and what is asked for with them: the process ends all the same, and no credential is shown or given away. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ANN, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { createWorkplace, ended } from '../cli/command-line.ts'
import { gatewaySettings } from '../cli/reference-store.ts'
import { client, failureOf, json, serve, serveTcp } from '../gateway/loopback.ts'
import { selfSignedCertificate } from '../gateway/self-signed-certificate.ts'

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\n'
const UPGRADE = 'Connection: upgrade\r\nUpgrade: h2c\r\n'

/** Answers each request with that, and keeps the connection. */
const answering = (head: string) =>
  serveTcp((socket: Socket) => {
    socket.on('data', () => socket.write(`${head}\r\n`))
  })

test.each([
  ['to another protocol', SWITCH + UPGRADE],
  ['to none', SWITCH],
])('101 %s is an answer and no success, and its connection is ended', async (_, head) => {
  const closed = Promise.withResolvers<void>()
  const server = await serveTcp((socket) => {
    socket.on('close', () => closed.resolve())
    socket.on('data', () => socket.write(`${head}\r\n`))
  })
  const gateway = client(server.url)
  const failure = await failureOf(gateway.biometrics.sendBulk('[{}]', 1))
  expect(failure).toMatchObject({ class: 'ambiguous', status: 101 })
  expect(gateway.events).toMatchObject([{ class: 'ambiguous', status: 101 }])
  await closed.promise
})

test('a run whose gateway switches protocols ends, and so does its process', async () => {
  const server = await answering(SWITCH + UPGRADE)
  const clinic = await openClinic({
    job: `${JOB}submit: { patience: 1s, readLag: 0s }\n`,
    environment: gatewaySettings(server.url),
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const { code, err } = await ended(clinic.workplace.start('run', 'clinic'))
  expect(code).toBe(3)
  expect(err).toContain('gateway-failing')
})

test('what is left open holds no process whose command is done, and what it said is whole', async () => {
  const { environment, folder, start } = await createWorkplace()
  const held = join(folder, 'held.mjs')
  const said = 3_000_000
  await writeFile(
    held,
    `import { createServer } from 'node:net'
createServer().listen(0, '127.0.0.1')
setInterval(() => {}, 1000)
process.stdout.write('x'.repeat(${said}))
`,
  )
  environment['NODE_OPTIONS'] = `--import=${pathToFileURL(held)}`
  const child = start('doctor')
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let length = 0
  child.stdout.on('data', (text: Buffer) => {
    length += text.toString().match(/x/g)?.length ?? 0
  })
  const [code] = await once(child, 'close')
  expect(code).not.toBeNull()
  expect(length).toBeGreaterThanOrEqual(said)
})

const SECRETS = ['first-secret', 'second-secret', 'test-token', 'test-key']

test.each([
  ['two lines', 'first-secret\\nsecond-secret'],
  ['nothing', ''],
  ['a control character', 'first-secret\\033[2Jsecond-secret'],
])('a token command that prints %s: no look shows it, nor sends it', async (_, printed) => {
  const server = await serve(() => json(200, { data: [] }))
  const { WAYBILL_ACCESS_TOKEN: _none, ...settings } = gatewaySettings(server.url)
  const { waybill } = await createWorkplace({
    ...settings,
    WAYBILL_MAPPINGS: 'none',
    WAYBILL_ACCESS_TOKEN_COMMAND: `printf '${printed}'`,
  })
  for (const args of [['doctor'], ['doctor', '--json'], ['gateway', '--check', server.url]]) {
    const { code, out, err } = await waybill(...args)
    expect({ args, code }).not.toEqual({ args, code: 0 })
    expect(out + err).toContain('WAYBILL_ACCESS_TOKEN_COMMAND')
    for (const secret of SECRETS) expect(out + err).not.toContain(secret)
  }
  expect(server.seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([])
})

test.each([307, 200, 204, 101, 500, 403] as const)(
  'the doctor does not take %i for a token that passes',
  async (status) => {
    const server =
      status === 101
        ? await answering(SWITCH + UPGRADE)
        : await serve(({ url }) =>
            url.startsWith('/content')
              ? json(200, { data: [] })
              : {
                  status,
                  headers: { location: 'https://elsewhere.example/', 'content-type': 'text/html' },
                  body: status === 204 ? '' : '<h1>Sign in</h1>',
                },
          )
    const { waybill } = await createWorkplace({ ...gatewaySettings(server.url), WAYBILL_MAPPINGS: 'none' })
    const { out } = await waybill('doctor')
    expect(out).not.toMatch(/^ok +token/m)
    expect(out).toMatch(/^(warning|problem) +token/m)
  },
)

test('certificates that are not checked (NODE_TLS_REJECT_UNAUTHORIZED=0): nothing is sent, by any command', async () => {
  let requests = 0
  const server = createServer(selfSignedCertificate(), (_, response) => {
    requests += 1
    response.end('{"data":[]}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clinic = await openClinic({
    environment: { ...gatewaySettings(url), NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  for (const args of [['doctor'], ['gateway', '--check', url], ['run', 'clinic']]) {
    const { code, out, err } = await ended(clinic.workplace.start(...args))
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(out + err).toContain('NODE_TLS_REJECT_UNAUTHORIZED')
    expect(out).not.toMatch(/^ok +(gateway|token)/m)
  }
  expect(requests).toBe(0)
})
