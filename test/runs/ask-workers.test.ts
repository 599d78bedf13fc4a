/** A command that follows its ticket, by a clock that counts waits. */
import { expect, test } from 'vitest'
import type { SentTicket, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { awaitEnd } from '../../src/runs/ask-workers.ts'

type State = Awaited<ReturnType<Tickets['stateOf']>>

const TICKET: SentTicket = { id: 't', lane: 'run' }
const END: TicketEnd = { run: 'run-1', exit: 0 }
const away = new WaybillError('ledger-unusable', 'it is away')

/** Follows a ticket. @param looks results of the looks, one after the other; an error is thrown */
async function follow(
  looks: readonly (State | WaybillError)[],
  { interruptedAt = Number.POSITIVE_INFINITY }: { readonly interruptedAt?: number } = {},
) {
  const interrupt = new AbortController()
  const waits: number[] = []
  const seen: boolean[] = []
  let withdrawn = 0
  let at = 0
  const tickets = {
    async stateOf() {
      if (at === interruptedAt) interrupt.abort()
      const look = looks[at++] ?? END
      if (look instanceof WaybillError) throw look
      return look
    },
    withdraw: async () => void withdrawn++,
  } as unknown as Tickets
  const sleep = async (ms: number) => void waits.push(ms)
  const ended = await awaitEnd({ interrupt: interrupt.signal, sleep }, tickets, TICKET, {
    name: 'nightly',
    onLook: async (isTaken) => void seen.push(isTaken),
  }).catch((error: WaybillError) => ({ code: error.code, remedy: error.remedy }))
  return { ended, waits, seen, withdrawn }
}

test('looks become rarer, up to one a second, and each says whether a worker has begun', async () => {
  const { ended, waits, seen } = await follow(['queued', 'queued', 'taken', 'taken', 'taken', 'taken'])
  expect(ended).toEqual(END)
  expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000])
  expect(seen).toEqual([false, false, true, true, true, true])
})

test.each([
  ['in a row, 60 of them', [...Array<WaybillError>(60).fill(away)], END],
  ['in a row, 61 of them', [...Array<WaybillError>(61).fill(away)], { code: 'ledger-unusable' }],
  [
    'in two rows of 60',
    [...Array<WaybillError>(60).fill(away), 'taken' as const, ...Array<WaybillError>(60).fill(away)],
    END,
  ],
  ['of another kind', [new WaybillError('key-differs', 'another key')], { code: 'key-differs' }],
])('failed looks %s', async (_, looks, ended) => {
  expect((await follow(looks)).ended).toMatchObject(ended)
})

test.each([
  ['queued', 1, 'Nothing has begun. Start a worker (`waybill worker`), and repeat the command.'],
  ['taken', 0, 'It continues on its worker: `waybill watch`.'],
] as const)('an interruption while the ticket is %s withdraws %i', async (state, withdrawals, remedy) => {
  const { ended, withdrawn } = await follow([state, state], { interruptedAt: 1 })
  expect(ended).toEqual({ code: 'interrupted', remedy })
  expect(withdrawn).toBe(withdrawals)
})

test('a ticket that somebody removed ends the wait', async () => {
  expect((await follow(['queued', 'gone'])).ended).toMatchObject({ code: 'interrupted' })
})
