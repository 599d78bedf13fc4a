/** Situations of the gateway. */
import { connect, type Socket } from 'node:net'
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished } from 'vitest'
import { ANN, HEADER, REGISTERED_ROW } from '../../cli/clinic.ts'
import { answer, PASS } from '../../faults/fault-proxy.ts'
import { listen } from '../../gateway/loopback.ts'
import { selfSignedCertificate } from '../../gateway/self-signed-certificate.ts'
import { people, type Situation } from '../scene.ts'

const peopleOf = (day: string): string =>
  `id,day,first,last,born,gender,zip,pulse,npi\n${['ann', 'ben']
    .map((id) => `${id},2026-03-${day},A,B,1980-02-03,FEMALE,04884,61,1234567893\n`)
    .join('')}`

const trusted = getCACertificates('default')

/** A gateway behind TLS, whose certificate was trusted, and has expired. */
function expiredCertificate(): Situation {
  let renew = (): void => {}
  return {
    row: 41,
    name: 'the certificate of the gateway has run out',
    options: { job: 'submit: { readLag: 100ms, patience: 1s }\n' },
    night: async (scene) => {
      const [expired, renewed] = ['20210101000000Z', '21200101000000Z'].map((until) =>
        selfSignedCertificate(undefined, until),
      )
      setDefaultCACertificates([...trusted, expired?.cert ?? '', renewed?.cert ?? ''])
      onTestFinished(() => setDefaultCACertificates(trusted))
      const { port } = new URL(scene.gateway)
      const sockets = new Set<Socket>()
      const server = createServer({ ...expired }, (socket) => {
        sockets.add(socket)
        const behind = connect(Number(port), '127.0.0.1')
        for (const [one, other] of [[socket, behind] as const, [behind, socket] as const])
          one.on('error', () => other.destroy()).pipe(other)
      })
      const { url } = await listen(server, () => {
        for (const socket of sockets) socket.destroy()
      })
      renew = () => server.setSecureContext({ ...renewed })
      scene.workplace.environment['WAYBILL_GATEWAY_URL'] = url.replace('http:', 'https:')
      await scene.deliver('a.csv', HEADER + ANN)
      return scene.run()
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-unreachable' },
    async end(scene) {
      renew()
      expect((await scene.type('run')).code).toBe(0)
    },
  }
}

export const GATEWAY: readonly Situation[] = [
  {
    row: 37,
    name: 'the gateway is away beyond the patience',
    options: { job: 'submit: { readLag: 100ms, patience: 1s }\n' },
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'reset' }))
      return scene.run()
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-unreachable' },
    async end(scene) {
      scene.strike(() => PASS)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 39,
    name: 'the gateway refuses the credentials',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'answer', status: 403 }))
      return scene.run()
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-refused-credentials' },
    async end(scene) {
      scene.strike(() => PASS)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 36,
    name: 'the gateway is away for ten minutes',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      const since = scene.now()
      scene.strike(() => (scene.now() - since < 10 * 60_000 ? answer(503) : PASS))
      return scene.quickly('run', 'clinic')
    },
    exit: 0,
    end: async (scene) => expect(await scene.stored()).toHaveLength(3),
  },
  {
    row: 38,
    name: 'the gateway answers 429 to half of all requests',
    options: { job: 'submit: { readLag: 100ms, patience: 5s, batch: { records: 6 } }\n' },
    night: async (scene) => {
      await scene.deliver('a.csv', people('a', 24))
      let asked = 0
      scene.strike(() => (asked++ % 2 === 0 ? answer(429, { 'retry-after': '1' }) : PASS))
      return scene.quickly('run', 'clinic')
    },
    exit: 0,
    end: async (scene) => expect(await scene.stored()).toHaveLength(72),
  },
  {
    row: 40,
    name: 'the gateway is wiped, and its account ids are given to others',
    options: {
      mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\ncareTeams: { doctor: { npi: npi, name: last, type: PCP } }\n`,
      job: '',
      whole:
        'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\ndrift: { fit: off }\nsubmit: { readLag: 0s }\n',
    },
    night: async (scene) => {
      await scene.deliver('a.csv', peopleOf('02'))
      await scene.run()
      await fetch(`${scene.store.url}/account?accountReference=ann&accountReferenceType=partnerAccountId`, {
        method: 'DELETE',
        headers: { 'x-api-key': 'test-key', authorization: 'Bearer test-token' },
      })
      await scene.deliver('b.csv', peopleOf('03'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-in-doubt', code: 'account-stale', people: 1 },
    async end(scene) {
      expect((await scene.type('rerun')).code).toBe(0)
    },
  },
  expiredCertificate(),
]
