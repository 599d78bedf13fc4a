/** A database server that vanishes without a word, as behind a pulled cable: a proxy that passes nothing on. */
import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ALONE } from '../../src/ledger/postgres/database.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { SHARE_MS } from '../../src/load/share.ts'
import { openShare } from '../../src/runs/gateway-share.ts'
import { emptySchema, rowsOf } from '../postgres/server.ts'

const SILENCE_MS = 500

/** A ledger behind a proxy, which takes bytes also while it is silent, and drops connections that begin then, as a router without a route. */
async function behindProxy() {
  const url = new URL(await emptySchema())
  const open = new Set<Socket>()
  let isSilent = false
  const server = createServer((socket) => {
    if (isSilent) return void socket.destroy()
    const upstream = connect(Number(url.port), '127.0.0.1')
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      open.add(from)
      from.on('data', (bytes) => isSilent || to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => isSilent || to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const proxied = url.href.replace(`:${url.port}`, `:${port}`)
  const ledger = await openPostgresLedger({ url: proxied, silenceMs: SILENCE_MS })
  onTestFinished(() => ledger.close())
  return {
    url: url.href,
    ledger,
    beSilent(silent: boolean) {
      isSilent = silent
    },
  }
}

test('a statement to a server that has vanished ends, and the next one finds the server that is back', async () => {
  const { ledger, beSilent } = await behindProxy()
  const jobId = await ledger.jobs.id('clinic', 'gateway')
  beSilent(true)
  await expect(ledger.jobs.id('clinic', 'gateway')).rejects.toMatchObject({ code: 'ledger-unusable' })
  const note = { by: 'ann', note: null, at: 1, action: 'stop', job: null, run: null, subject: null } as const
  await expect(ledger.audit.note(note)).rejects.toMatchObject({ code: 'ledger-unusable' })
  beSilent(false)
  expect(await ledger.jobs.id('clinic', 'gateway')).toBe(jobId)
})

test('a statement that waits for a lock for long goes on', async () => {
  const { url, ledger } = await behindProxy()
  const released = rowsOf(url, `begin; ${ALONE}; select pg_sleep(${(3 * SILENCE_MS) / 1_000}); commit`)
  await expect
    .poll(() => rowsOf(url, `select 1 from pg_locks where locktype = 'advisory'`), { interval: 5 })
    .not.toEqual([])
  const note = { by: 'ann', note: null, at: 1, action: 'stop', job: null, run: null, subject: null } as const
  await ledger.audit.note(note)
  await released
  expect(await ledger.audit.read({})).toHaveLength(1)
})

test('a process that has lost the database sends nothing once its share has ended, and goes on with the database', async () => {
  const { ledger, beSilent } = await behindProxy()
  const paces = ledger.paces ?? expect.fail('no paces')
  let now = 0
  let renewals: PromiseWithResolvers<void>[] = []
  const sleep = () => {
    const nap = Promise.withResolvers<void>()
    renewals.push(nap)
    return nap.promise
  }
  const wake = async () => {
    await expect.poll(() => renewals.length, { interval: 5 }).toBeGreaterThan(0)
    for (const nap of renewals) nap.resolve()
    renewals = []
  }
  const machine = { owner: 'here:1#a.1', isDead: () => false, randomHex: () => 'abc' }
  const share = openShare({ ...machine, sleep }, paces, 'gateway')
  const dispatcher = createDispatcher({ now: () => now, random: () => 0.5, sleep: async () => {}, share })
  const lane = dispatcher.lane(4, new AbortController().signal)
  const sent: string[] = []
  const send = (name: string) => lane.run('new', async () => void sent.push(name))
  await send('first')
  beSilent(true)
  now += SHARE_MS
  const second = send('second')
  for (let looks = 0; looks < 3; looks++) await wake()
  expect(sent).toEqual(['first'])
  beSilent(false)
  await wake()
  await second
  expect(sent).toEqual(['first', 'second'])
  const closed = share.close()
  await wake()
  await closed
})
