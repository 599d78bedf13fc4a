import { PgBoss } from 'pg-boss'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTickets } from '../../src/ledger/postgres/tickets.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { emptySchema } from '../postgres/server.ts'

async function opened(url: string, version?: number, key = 'of-all-machines-0123') {
  const cipher = createAccountIdCipher(() => key)
  const tickets = await openTickets({ url }, { supervises: false, cipher, version })
  onTestFinished(() => tickets.close())
  return tickets
}

const NIGHTLY = { what: 'run', job: 'nightly', files: ['/exports/ann.csv'], limit: 5 } as const
const TICKET = { lane: 'run', sentAt: expect.any(Number), request: NIGHTLY }

test('of many who ask for a job, one gets a ticket, until its end', async () => {
  const url = await emptySchema()
  const all = [await opened(url), await opened(url), await opened(url)]
  const ids = await Promise.all(all.map((tickets) => tickets.send('nightly gateway', NIGHTLY)))
  const [id = expect.fail('none'), ...others] = ids.filter((one) => one !== undefined)
  expect(others).toEqual([])
  const [one, other] = [all[0] ?? expect.fail(''), all[1] ?? expect.fail('')]
  expect(await one.stateOf(id)).toBe('queued')
  const ticket = (await one.take('run')) ?? expect.fail('no ticket')
  expect(ticket).toEqual({ ...id, ...TICKET, attempt: 0 })
  expect([await other.take('run'), await other.stateOf(id)]).toEqual([undefined, 'taken'])
  expect(await other.send('nightly gateway', NIGHTLY)).toBeUndefined()
  const end = {
    run: 'run-1',
    exit: 2,
    code: 'columns-missing',
    words: { message: 'no pulse', remedy: 'Ask', findings: [] },
  } as const
  await one.complete(ticket, end)
  expect(await other.stateOf(id)).toEqual(end)
  expect(await other.send('nightly gateway', NIGHTLY)).toEqual({ id: expect.any(String), lane: 'run' })
})

test('a ticket handed back goes to another worker, and the former one completes nothing', async () => {
  const url = await emptySchema()
  const [one, other] = [await opened(url), await opened(url)]
  const id = (await one.send('nightly gateway', NIGHTLY)) ?? expect.fail('none')
  const first = (await one.take('run')) ?? expect.fail('none')
  await one.giveBack(first)
  expect(await other.take('run')).toEqual({ ...id, ...TICKET, attempt: 1 })
  await one.complete(first, { exit: 0 })
  expect(await one.stateOf(id)).toBe('taken')
})

test('a worker takes no ticket of a newer version, which waits for a newer worker', async () => {
  const url = await emptySchema()
  const [older, newer] = [await opened(url, 1), await opened(url, 2)]
  const id = (await newer.send('nightly gateway', NIGHTLY)) ?? expect.fail('none')
  expect(await older.take('run')).toBeUndefined()
  expect((await newer.take('run'))?.id).toBe(id.id)
})

const backfill = {
  what: 'backfill',
  job: 'nightly',
  range: { from: '2026-01-01', to: '2026-01-31' },
} as const

test('a ticket that nobody has taken can be withdrawn, in each lane', async () => {
  const tickets = await opened(await emptySchema())
  for (const request of [NIGHTLY, backfill]) {
    const sent = (await tickets.send('nightly gateway', request)) ?? expect.fail('none')
    await tickets.withdraw(sent)
    expect([await tickets.stateOf(sent), await tickets.take(sent.lane)]).toEqual(['gone', undefined])
  }
})

test('the findings of a reconciliation come back with the end of its ticket', async () => {
  const tickets = await opened(await emptySchema())
  const request = { what: 'reconcile', job: 'nightly', run: 'run-1' } as const
  const sent = (await tickets.send('nightly gateway', request)) ?? expect.fail('none')
  const end = { run: 'run-1', exit: 0, report: { found: 3, missed: ['a'] } }
  await tickets.complete((await tickets.take('run')) ?? expect.fail('none'), end)
  expect(await tickets.stateOf(sent)).toEqual(end)
})

test('a backfill has a ticket beside that of a run', async () => {
  const tickets = await opened(await emptySchema())
  await tickets.send('nightly gateway', NIGHTLY)
  expect(await tickets.send('nightly gateway', backfill)).toMatchObject({ lane: 'backfill' })
  expect((await tickets.take('backfill'))?.request).toEqual(backfill)
  expect((await tickets.take('run'))?.request).toEqual(NIGHTLY)
})

test('a ticket is found by its request, open or over, and read with the key of its sender alone', async () => {
  const url = await emptySchema()
  const tickets = await opened(url)
  const ofFire = { what: 'run', job: 'nightly', files: [], fire: 1 } as const
  const sent = (await tickets.send('nightly gateway', ofFire)) ?? expect.fail('none')
  const found = async (fire: number) => tickets.find('nightly gateway', { ...ofFire, fire })
  expect([await found(1), await found(2)]).toEqual([sent, undefined])
  const foreign =
    (await (await opened(url, undefined, 'of-another-home-0123')).take('run')) ?? expect.fail('none')
  expect(foreign.request).toBeUndefined()
  await tickets.complete(foreign, { exit: 2 })
  expect(await found(1)).toEqual(sent)
  // Of several with one request the newest counts.
  const again = await tickets.send('nightly gateway', ofFire)
  expect(again).not.toEqual(sent)
  expect(await found(1)).toEqual(again)
})

test('upkeep of the queue that fails between two calls ends no process', async () => {
  const start = vi.spyOn(PgBoss.prototype, 'start')
  onTestFinished(() => start.mockRestore())
  await opened(await emptySchema())
  const [queue] = start.mock.contexts
  if (!(queue instanceof PgBoss)) expect.fail('the queue was not started')
  // An event of this name without a listener is thrown.
  expect(() => queue.emit('error', new Error('the database is away'))).not.toThrow()
})
