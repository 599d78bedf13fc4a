import { expect, onTestFinished, test } from 'vitest'
import { openTickets } from '../../src/ledger/postgres/tickets.ts'
import { emptySchema } from '../postgres/server.ts'

async function opened(url: string, version?: number) {
  const tickets = await openTickets({ url }, { supervises: false, version })
  onTestFinished(() => tickets.close())
  return tickets
}

const NIGHTLY = { job: 'nightly', limit: 5 }

test('of many who ask for a job, one gets a ticket, until its end', async () => {
  const url = await emptySchema()
  const all = [await opened(url), await opened(url), await opened(url)]
  const ids = await Promise.all(all.map((tickets) => tickets.send('nightly gateway', NIGHTLY)))
  const [id = expect.fail('none'), ...others] = ids.filter((one) => one !== undefined)
  expect(others).toEqual([])
  const [one, other] = [all[0] ?? expect.fail(''), all[1] ?? expect.fail('')]
  expect(await one.stateOf(id)).toBe('queued')
  const ticket = (await one.take()) ?? expect.fail('no ticket')
  expect(ticket).toEqual({ id, attempt: 0, request: NIGHTLY })
  expect([await other.take(), await other.stateOf(id)]).toEqual([undefined, 'taken'])
  expect(await other.send('nightly gateway', NIGHTLY)).toBeUndefined()
  await one.complete(ticket, { run: 'run-1', exit: 0 })
  expect(await other.stateOf(id)).toEqual({ run: 'run-1', exit: 0 })
  expect(await other.send('nightly gateway', NIGHTLY)).toEqual(expect.any(String))
})

test('a ticket handed back goes to another worker, and the former one completes nothing', async () => {
  const url = await emptySchema()
  const [one, other] = [await opened(url), await opened(url)]
  const id = (await one.send('nightly gateway', NIGHTLY)) ?? expect.fail('none')
  const first = (await one.take()) ?? expect.fail('none')
  await one.giveBack(first)
  expect(await other.take()).toEqual({ id, attempt: 1, request: NIGHTLY })
  await one.complete(first, { exit: 0 })
  expect(await one.stateOf(id)).toBe('taken')
})

test('a worker takes no ticket of a newer version, which waits for a newer worker', async () => {
  const url = await emptySchema()
  const [older, newer] = [await opened(url, 1), await opened(url, 2)]
  const id = (await newer.send('nightly gateway', NIGHTLY)) ?? expect.fail('none')
  expect(await older.take()).toBeUndefined()
  expect((await newer.take())?.id).toBe(id)
})

test('a ticket that nobody has taken can be withdrawn', async () => {
  const tickets = await opened(await emptySchema())
  const id = (await tickets.send('nightly gateway', NIGHTLY)) ?? expect.fail('none')
  await tickets.withdraw(id)
  expect([await tickets.stateOf(id), await tickets.take()]).toEqual(['gone', undefined])
})
