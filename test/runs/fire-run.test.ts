/** Fires whose runs a worker has: the ticket that a schedule sends, finds again and follows. */
import { expect, test } from 'vitest'
import type { RunRequest, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import { askForFire, isFireAwaited } from '../../src/runs/fire-run.ts'

type State = Awaited<ReturnType<Tickets['stateOf']>>

const DUE = 1_000
const END: TicketEnd = { run: 'run-1', exit: 0 }

/** @param former state of the ticket of an earlier process; undefined: there is none @param taken false: another ticket of the job is open */
function queue(former: State | undefined, end: TicketEnd = END, taken = true) {
  const sent: (readonly [key: string, request: RunRequest])[] = []
  const tickets = {
    find: async (key: string, request: RunRequest) =>
      former === undefined || key !== 'nightly gateway' || !('fire' in request) || request.fire !== DUE
        ? undefined
        : { id: 'former', lane: 'run' },
    async send(key: string, request: RunRequest) {
      sent.push([key, request])
      return taken ? { id: 'new', lane: 'run' } : undefined
    },
    // The former ticket ends at the second look.
    stateOf: async ({ id }: { readonly id: string }) =>
      id === 'new' || looks++ > 0 ? end : (former ?? expect.fail('no such ticket')),
  } as unknown as Tickets
  let looks = 0
  return { tickets, sent }
}

async function follow(queued: ReturnType<typeof queue>, isContinued = false) {
  const tried: (readonly [code: string | undefined, at: number | undefined])[] = []
  const application = { interrupt: new AbortController().signal, sleep: async () => {} }
  const job = { definition: { job: 'nightly' } }
  const retryAt = (code: string | undefined, at?: number) => void tried.push([code, at])
  const ended = await askForFire(application as unknown as Application, queued.tickets, 'gateway', [
    ...([job, () => {}, { due: DUE }, retryAt, isContinued] as unknown as Parameters<typeof askForFire>[3]),
  ]).catch((error: unknown) => ({
    code: error instanceof WaybillError ? error.code : undefined,
    message: error instanceof Error ? error.message : '',
  }))
  return { ended, tried, sent: queued.sent }
}

test.each<[State | undefined, boolean]>([
  ['queued', true],
  ['taken', true],
  ['gone', false],
  [END, false],
  [undefined, false],
])('a fire whose ticket is %j: a worker is to run it is %s', async (state, isAwaited) => {
  expect(await isFireAwaited(queue(state).tickets, 'gateway', { job: 'nightly', due: DUE })).toBe(isAwaited)
})

const REQUEST = ['nightly gateway', { what: 'run', job: 'nightly', files: [], fire: DUE }] as const

test.each<[string, boolean, State | undefined, boolean]>([
  ['a fire begins', false, undefined, true],
  ['a fire begins, whatever was asked before', false, 'taken', true],
  ['a fire goes on, and its ticket is open', true, 'taken', false],
  ['a fire goes on, and its ticket is over', true, END, false],
  ['a fire goes on, and its ticket was removed', true, 'gone', true],
  ['a fire goes on that has none', true, undefined, true],
])('%s: a new ticket for its worker, or the one that it has', async (_, isContinued, former, isSent) => {
  const { ended, sent } = await follow(queue(former), isContinued)
  expect(ended).toEqual({ run: 'run-1', exit: 0 })
  expect(sent).toEqual(isSent ? [REQUEST] : [])
})

const REFUSED = 'the worker refused the run of nightly; its log has the cause'

test.each<[string, TicketEnd, unknown]>([
  ['a run', { run: 'run-1', exit: 1 }, { run: 'run-1', exit: 1 }],
  [
    'a run that ended early',
    { run: 'run-1', exit: 3, code: 'gateway-failing', decidedAt: 7 },
    { run: 'run-1', exit: 3, error: 'gateway-failing' },
  ],
  ['nothing to run', { exit: 0 }, 'nothing'],
  ['a refusal', { exit: 2, code: 'job-invalid' }, { code: 'job-invalid', message: REFUSED }],
  [
    'an unforeseen error',
    { exit: 70 },
    { code: undefined, message: 'the run of nightly ended with exit code 70' },
  ],
])('the end of a ticket: %s; worker and schedule decide on another try once', async (_, end, expected) => {
  const { ended, tried } = await follow(queue(undefined, end))
  expect(ended).toEqual(expected)
  expect(tried).toEqual([[end.code, end.decidedAt]])
})

test('a job with another ticket is held', async () => {
  expect((await follow(queue(undefined, END, false))).ended).toMatchObject({ code: 'job-held' })
})
