/** A command that follows its ticket, by a clock that counts waits. */
import { expect, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { SentTicket, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import {
  askForReport,
  asksWorkers,
  awaitEnd,
  errorOf,
  openSharedTickets,
  refusalOf,
} from '../../src/runs/ask-workers.ts'
import { readSettings } from '../../src/system/settings.ts'
import { beginRun, passingLedger } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

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

test('who ends the wait while the database is away is not kept waiting', async () => {
  const { ended, waits } = await follow([away, away, away, 'taken'], { interruptedAt: 1 })
  expect([ended, waits]).toMatchObject([{ code: 'ledger-unusable' }, [100]])
})

test('a ticket that somebody removed ends the wait', async () => {
  expect((await follow(['queued', 'gone'])).ended).toMatchObject({ code: 'interrupted' })
})

test('an error comes from a worker as it was thrown, without its stack', () => {
  const place = { file: '/in/a.csv', line: 7 }
  const findings = [{ message: 'unknown column', place: { line: 3 } }]
  const error = new WaybillError('mapping-invalid', 'wrong', { remedy: 'Correct it.', place, findings })
  const told = refusalOf(error)
  expect(told).toMatchObject({ code: 'mapping-invalid', exit: 2 })
  const { code, message, remedy } = error
  expect(errorOf(told, 'otherwise')).toMatchObject({ code, message, remedy, place, findings })
  expect(refusalOf(error, 1)).toMatchObject({ exit: 1 })
  // The message of an unforeseen error may hold anything.
  expect(Object.keys(refusalOf(new TypeError('health data')))).toEqual(['exit'])
  expect(errorOf({ exit: 1 }, 'otherwise')).toBeUndefined()
  expect(errorOf({ exit: 1, code: 'disk-full' }, 'otherwise')).toMatchObject({
    ...{ code: 'disk-full', message: 'otherwise' },
  })
})

/**
 * Asks a worker whose ticket has this end, about a ledger with the finished runs 1 and 2.
 * @param isSent false: the job has a ticket already
 * @param before states of the ticket before its end: run 3 begins behind the second, and has its lease alone at first
 * @param change of the ledger, or of the settings
 */
async function ask(
  end: TicketEnd,
  isSent = true,
  before: readonly State[] = [],
  change: { readonly sharedHome?: Ledger['sharedHome']; readonly key?: string; readonly file?: true } = {},
) {
  const home = await temporaryFolder()
  const ledger = await passingLedger()
  if (change.sharedHome !== undefined) Object.assign(ledger, { sharedHome: change.sharedHome })
  if (change.key !== undefined) await ledger.installation.useKey(change.key, undefined)
  for (const id of ['run-1', 'run-2']) {
    const run = await beginRun(ledger, id)
    await run.endRun({ state: 'finished', endedAt: 1, reason: null })
    await ledger.leases.release(run.lease)
  }
  const close = ledger.close
  ledger.close = async () => {}
  let closed = 0
  let seen = 0
  const keys: string[] = []
  const openings: object[] = []
  const looks: (string | undefined)[] = []
  const tickets = {
    async send(key: string) {
      keys.push(key)
      return isSent ? TICKET : undefined
    },
    async stateOf() {
      const jobId = await ledger.jobs.id('nightly', 'gateway')
      const asked = { jobId, runId: 'run-3', owner: 'there:1#boot.1', now: 0, ttlMs: 9_000, givesWay: false }
      if (seen === 1) await ledger.leases.acquire(asked, () => true)
      if (seen === 2) await beginRun(ledger, 'run-3')
      return before[seen++] ?? end
    },
    close: async () => void closed++,
  } as unknown as Tickets
  const WAYBILL_LEDGER = change.file === true ? undefined : 'postgres://db/waybill'
  const settings = readSettings({ WAYBILL_HOME: home, WAYBILL_LEDGER, WAYBILL_KEY: 'k'.repeat(64) }, '/')
  const openTickets = async (opening: object): Promise<Tickets> => {
    openings.push(opening)
    return tickets
  }
  const application = {
    ...{ settings, openLedger: async () => ledger, openTickets },
    ...{ interrupt: new AbortController().signal, sleep: async () => {}, now: () => 0, randomHex: () => 'f' },
  } as unknown as Application
  const job = { definition: { job: 'nightly' } } as never
  const ended: string[] = []
  const watch = {
    onEnd: ({ summary }: { readonly summary: { readonly run: string } }) => void ended.push(summary.run),
    onLook: (story: { readonly summary: { readonly run: string } } | undefined) =>
      void looks.push(story?.summary.run),
  }
  const asked = askForReport(application, watch as never, { job, gateway: 'gateway', request: {} as never })
  const result = await asked.then(
    ({ end: { summary, exit, error, resumed }, report }) => ({
      ...{ run: summary.run, exit, code: error?.code, message: error?.message, report },
      resumed: resumed?.summary.run,
    }),
    (error: WaybillError) => ({ thrown: error.code, message: error.message }),
  )
  const queue = await openSharedTickets(application).then(
    () => 'opened',
    (error: WaybillError) => error.code,
  )
  ledger.close = close
  return { result, ended, closed, looks, keys, openings, queue }
}

test.each<[string, TicketEnd, object, readonly string[]]>([
  [
    'ended',
    { run: 'run-1', exit: 1, report: { a: 1 } },
    { run: 'run-1', exit: 1, report: { a: 1 } },
    ['run-1'],
  ],
  [
    'ended behind the one that it finished first',
    { run: 'run-2', exit: 0, resumed: 'run-1' },
    { run: 'run-2', resumed: 'run-1' },
    ['run-2'],
  ],
  [
    'ended early, for no words',
    { run: 'run-1', exit: 3, code: 'disk-full' },
    { run: 'run-1', exit: 3, code: 'disk-full', message: 'the run ended early' },
    ['run-1'],
  ],
  [
    'was refused, for no words',
    { exit: 2, code: 'job-held' },
    { thrown: 'job-held', message: 'the worker refused the run of nightly; its log has the cause' },
    [],
  ],
  [
    'was refused by an unforeseen error',
    { exit: 70 },
    { thrown: undefined, message: 'the worker refused the run of nightly; its log has the cause' },
    [],
  ],
])('the run of a ticket %s', async (_, end, expected, told) => {
  const { result, ended, closed } = await ask(end)
  expect(result).toMatchObject(expected)
  expect([ended, closed]).toEqual([told, 1])
})

test('a job that has a ticket already is refused', async () => {
  expect(await ask({ run: 'run-1', exit: 0 }, false)).toMatchObject({
    ...{ result: { thrown: 'job-held' }, ended: [], closed: 1 },
  })
})

test.each([
  [{}, true],
  [{ lookFirst: true }, false],
  [{ newLedger: true }, false],
  [{ newKey: true }, false],
  [{ lookFirst: undefined, newLedger: undefined, newKey: undefined }, true],
] as const)('where workers run the jobs, a run with %j is theirs is %s', (options, isTheirs) => {
  for (const runBy of ['workers', 'this-process'] as const) {
    const settings = { ...readSettings({}, '/'), runBy }
    expect(asksWorkers({ settings }, options)).toBe(isTheirs && runBy === 'workers')
  }
})

test('progress is that of the run of the ticket, not of the one that held the job before', async () => {
  const { looks } = await ask(END, true, ['taken', 'taken', 'taken'])
  expect(looks).toEqual([undefined, undefined, 'run-3'])
  // A ticket that waits tells of no run, whoever else holds the job.
  expect((await ask(END, true, ['queued', 'queued', 'queued'])).looks).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

const OF_OTHERS = { mark: async () => 'of others', claim: async () => 'of others' }

test.each<[string, Parameters<typeof ask>[3], string, string, number]>([
  ['without a ledger that machines share', { file: true }, 'usage-wrong', 'usage-wrong', 0],
  [
    'in a home that is not that of the other machines',
    { sharedHome: OF_OTHERS },
    'home-differs',
    'home-differs',
    1,
  ],
  ['with another key than that of the ledger', { key: 'another' }, 'key-differs', 'opened', 2],
])('nothing is asked of workers %s', async (_, change, thrown, queue, opened) => {
  const asked = await ask(END, true, [], change)
  expect(asked).toMatchObject({ result: { thrown }, keys: [], queue })
  expect(asked.openings).toHaveLength(opened)
})

test('a command asks under the name of the job and its gateway, and supervises no queue', async () => {
  const { keys, openings } = await ask(END)
  expect(keys).toEqual(['nightly gateway'])
  expect(openings).toEqual([{ supervises: false }, { supervises: false }])
})
