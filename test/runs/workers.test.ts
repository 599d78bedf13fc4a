/** A worker and its tickets: what it hands back, what it completes, and what its log says. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RunRequest, Ticket, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import { keepWorking } from '../../src/runs/workers.ts'
import { readSettings } from '../../src/system/settings.ts'
import { passingLedger } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const REQUEST: RunRequest = { what: 'run', job: 'missing', files: [] }
/** Looks into the ledger first. */
const RERUN: RunRequest = { what: 'rerun', job: 'nightly', run: 'run-1', only: 'left-behind' }

interface Given {
  readonly request?: RunRequest | undefined
  /** Thrown when the ticket is worked on. */
  readonly thrown?: unknown
  /** Looks for a ticket that fail first. */
  readonly failing?: number
}

/** Works until one ticket is completed or handed back. */
async function work({ request, thrown, failing = 0 }: Given) {
  const home = await temporaryFolder()
  await mkdir(join(home, 'jobs'))
  const ledger = await passingLedger()
  const close = ledger.close
  ledger.close = async () => {}
  const interrupt = new AbortController()
  const ticket = { id: 't', lane: 'run', request, attempt: 0, sentAt: 0 } as unknown as Ticket
  const ends: (TicketEnd | 'given back')[] = []
  const log: string[] = []
  let looks = 0
  let isTaken = false
  const end = async (one: TicketEnd | 'given back') => {
    ends.push(one)
    interrupt.abort()
  }
  const tickets = {
    async take(lane: string) {
      if (looks++ < failing) throw new WaybillError('ledger-unusable', 'the queue is away')
      if (lane !== 'run' || isTaken) return undefined
      isTaken = true
      return ticket
    },
    beat: async () => {},
    complete: (_: Ticket, one: TicketEnd) => end(one),
    giveBack: () => end('given back'),
    close: async () => {},
  } as unknown as Tickets
  const variables = { WAYBILL_HOME: home, WAYBILL_LEDGER: 'postgres://db/waybill' }
  const settings = readSettings({ ...variables, WAYBILL_KEY: 'k'.repeat(64) }, home)
  const openLedger = async () => {
    if (isTaken && thrown !== undefined) throw thrown
    return ledger
  }
  const logged =
    (level: string) =>
    (words: string, facts: { readonly code?: string | undefined } = {}): void =>
      void log.push([level, words, ...(facts.code === undefined ? [] : [facts.code])].join(' '))
  const application = {
    ...{ settings, openLedger, openTickets: async () => tickets },
    ...{ interrupt: interrupt.signal, owner: 'there:7#boot.1', now: () => 0, randomHex: () => 'f' },
    logger: { info: logged('info'), warn: logged('warn'), error: logged('error') },
    sleep: (_: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => (signal.aborted ? resolve() : setImmediate(resolve))),
  } as unknown as Application
  await keepWorking(application, () => ({ listener: {} }), 1).finally(() => {
    ledger.close = close
  })
  const [first, ...others] = ends
  expect(others).toEqual([])
  const told = log.filter((line) => !/worker has (started|ended)/.test(line))
  return { end: first, log: told }
}

test('a job that is not there is refused, and the words name the worker', async () => {
  const { end, log } = await work({ request: REQUEST })
  expect(end).toMatchObject({ exit: 2, code: 'job-not-found' })
  const { words } = end as TicketEnd
  expect(words?.message).toMatch(/ \(on the worker there:7.*\)$/)
  // The log of the worker itself has message and remedy.
  expect(log).toEqual([expect.stringMatching(/^error .*missing.*\. .+ job-not-found$/)])
})

test('a ticket of another key is completed as refused', async () => {
  const { end } = await work({ request: undefined })
  expect(end).toMatchObject({ code: 'key-differs' })
})

test.each([
  ['ledger-unusable', 'given back'],
  ['home-differs', 'given back'],
  ['disk-full', { code: 'disk-full' }],
] as const)('of a worker that meets %s the ticket is %j', async (code, expected) => {
  const { end } = await work({ request: RERUN, thrown: new WaybillError(code, 'here') })
  if (expected === 'given back') expect(end).toBe(expected)
  else expect(end).toMatchObject(expected)
})

test('an unforeseen error is told by its kind: its message may hold anything', async () => {
  const { end, log } = await work({ request: RERUN, thrown: new TypeError('health data') })
  expect(end).toEqual({ exit: 70 })
  expect(log).toHaveLength(1)
  expect(log[0]).not.toContain('health data')
})

test('a queue that is away for a while is told once, and once more when it is back', async () => {
  const { log } = await work({ request: undefined, failing: 3 })
  expect(log.slice(0, 2)).toEqual([
    'warn no ticket can be taken: the queue is away',
    'info tickets can be taken again',
  ])
  expect(log.filter((line) => !line.startsWith('error'))).toHaveLength(2)
})
