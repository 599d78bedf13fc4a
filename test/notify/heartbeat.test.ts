/** Heartbeats over real HTTP: the outcome in path or query, a bounded time, and no secret in what is said of a failure. */
import { expect, it } from 'vitest'
import { HeartbeatDefinition } from '../../src/definitions/notify-definition.ts'
import { beatUrl, sendBeat } from '../../src/notify/heartbeat.ts'
import { closedPort } from '../closed-port.ts'
import { serve, serveRaw } from '../gateway/loopback.ts'

type Beat = Parameters<typeof beatUrl>[1]

const PATH = '/ping/path-that-is-a-secret'
const START: Beat = { kind: 'start' }
const DONE: Beat = { kind: 'end', exit: 0 }
const LEFT: Beat = { kind: 'end', exit: 1 }
const STOPPED: Beat = { kind: 'end', exit: 130 }
const WELL: Beat = { kind: 'alive', isWell: true }
const ILL: Beat = { kind: 'alive', isWell: false }

// healthchecks.io/docs/http_api and cronitor.io/docs/telemetry-api.
it.each([
  ['https://hc-ping.com/uuid', START, 'https://hc-ping.com/uuid/start'],
  ['https://hc-ping.com/uuid', DONE, 'https://hc-ping.com/uuid/0'],
  ['https://hc-ping.com/uuid', LEFT, 'https://hc-ping.com/uuid/1'],
  ['https://hc-ping.com/uuid', STOPPED, 'https://hc-ping.com/uuid/130'],
  ['https://hc-ping.com/uuid', WELL, 'https://hc-ping.com/uuid'],
  ['https://hc-ping.com/uuid', ILL, 'https://hc-ping.com/uuid/fail'],
  [
    'https://hc.hospital.example/ping/key/nightly/?create=1',
    LEFT,
    'https://hc.hospital.example/ping/key/nightly/1?create=1',
  ],
  ['https://cronitor.link/p/key/nightly', START, 'https://cronitor.link/p/key/nightly?state=run'],
  [
    'https://cronitor.link/p/key/nightly',
    DONE,
    'https://cronitor.link/p/key/nightly?state=complete&status_code=0',
  ],
  [
    'https://cronitor.link/p/key/nightly',
    LEFT,
    'https://cronitor.link/p/key/nightly?state=fail&status_code=1',
  ],
  [
    'https://cronitor.link/p/key/nightly?env=prod',
    WELL,
    'https://cronitor.link/p/key/nightly?env=prod&state=complete',
  ],
  ['https://cronitor.link/p/key/nightly', ILL, 'https://cronitor.link/p/key/nightly?state=fail'],
] as const)('%s, %j: %s', (url, beat, expected) => {
  expect(beatUrl(HeartbeatDefinition.parse(url), beat)).toBe(expected)
})

it('the form of the outcome can be named where the host does not tell it', () => {
  const url = 'https://monitor.hospital.example/nightly'
  expect(HeartbeatDefinition.parse({ url, service: 'cronitor' })).toEqual({ url, service: 'cronitor' })
  expect(HeartbeatDefinition.parse({ url })).toEqual({ url, service: 'healthchecks' })
})

it.each(['http://monitor.example/secret', 'ftp://monitor.example/secret', 'secret'])(
  '%s is refused, and not shown',
  (url) => {
    const { error } = HeartbeatDefinition.safeParse(url)
    expect(error?.message).not.toContain('secret')
    expect(error).toBeDefined()
  },
)

it('is a GET without a body', async () => {
  const server = await serve(() => ({ status: 200, body: 'OK' }))
  expect(await sendBeat({ url: `${server.url}${PATH}`, service: 'healthchecks' }, LEFT)).toBeUndefined()
  expect(server.seen).toMatchObject([{ method: 'GET', url: `${PATH}/1`, body: '' }])
})

it.each<[string, () => Promise<string>, string, number?]>([
  [
    'answers an error',
    async () => (await serve(() => ({ status: 404, body: PATH }))).url,
    'the monitor answered 404',
  ],
  [
    'leads elsewhere',
    async () => (await serve(() => ({ status: 302, headers: { location: PATH } }))).url,
    'the monitor answered 302; redirects are not followed',
  ],
  ['hangs', async () => (await serveRaw(() => {})).url, 'the monitor did not answer within 0.2 s', 200],
  [
    'is away',
    async () => `http://127.0.0.1:${await closedPort()}`,
    'the monitor cannot be reached (ECONNREFUSED)',
  ],
])('of a monitor that %s, the failure is said without its address', async (_, urlOf, reason, limitMs) => {
  const heartbeat = { url: `${await urlOf()}${PATH}`, service: 'healthchecks' } as const
  expect(await sendBeat(heartbeat, START, limitMs)).toBe(reason)
})
