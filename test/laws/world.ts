/** A home and a gateway for one drawn export, in this process: its runs can be stopped at any call of the ledger, as a killed process is. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { z } from 'zod'
import { Random } from '../../samples/random.ts'
import type { CommandContext } from '../../src/cli/command-form.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { runCommandLine } from '../../src/main.ts'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { PROJECT } from '../cli/command-line.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from '../cli/reference-store.ts'
import { answer, type Fault, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { csvOf, type DrawnExport, type Fate, fatesOf, MAPPING } from './drawn-exports.ts'

const TIMES = Number(process.env['WAYBILL_LAWS'] ?? 1)

/** Drawn by a fixed seed; with `WAYBILL_LAWS=N` by one of the day, N times as often and of more rows. fast-check prints the seed of what failed. */
export const LAWS = {
  rows: TIMES > 1 ? 200 : 24,
  check: (numRuns: number) => ({
    numRuns: numRuns * TIMES,
    seed: TIMES > 1 ? Math.floor(Date.now() / 86_400_000) : 20_261_127,
    endOnFailure: true,
    // The first draws would be of a row or two.
    unbiased: true,
  }),
  timed: { timeout: 180_000 * TIMES },
}

/** Where a process is stopped for good. */
export interface Stop {
  /** Call of the ledger, or request, from 1. */
  readonly nth: number
  readonly at: 'before-call' | 'after-call' | 'before-request' | 'after-request'
}

export interface Way {
  /** Rows of a chunk; default: that of the program. */
  readonly chunkRows?: number
  /** Seed of the order in which the gateway answers requests that are in flight together; undefined: as they come. */
  readonly order?: number
  readonly stop?: Stop
  /** In place of the ledger that is opened. */
  readonly withLedger?: (ledger: Ledger) => Ledger
}

export interface Ended {
  /** Undefined of a process that was stopped. */
  readonly code: number | undefined
  readonly out: string
  readonly err: string
  /** Calls of the ledger, and requests, that it made. */
  readonly calls: number
  readonly requests: number
}

export interface World {
  readonly folder: string
  readonly home: string
  readonly store: ReferenceStore
  /** As the ledger knows it. */
  readonly gatewayUrl: string
  /** The gateway does from now on what its fates and strangers say. */
  deliver(name: string, drawn: DrawnExport): Promise<void>
  /** The gateway serves everybody. */
  heal(): void
  waybill(args: readonly string[], way?: Way): Promise<Ended>
}

/** The command writes what it is told into a file of its own, beside the job. */
const JOB = `job: drawn
notify: [{ command: "cat > ../notice.json", on: always }]
exports: { from: ../inbox, match: "*.csv", mapping: drawn }
accounts: { register: missing }
submit: { concurrency: 4, batch: { records: 12 }, readLag: 100ms, patience: 5m }
`
/** The same everywhere, so that the same export has the same ids. */
const KEY = 'a key of the drawn exports, the same in every home'

/** @param settings further lines of the job @param more settings of the environment */
export async function openWorld(settings = '', more: Readonly<Record<string, string>> = {}): Promise<World> {
  const store = await startReferenceStore()
  const folder = await temporaryFolder()
  const at = (...path: string[]): string => join(folder, ...path)
  await Promise.all(['inbox', 'jobs', 'mappings'].map((name) => mkdir(at(name))))
  await cp(join(PROJECT, 'mappings/catalog'), at('mappings/catalog'), { recursive: true })
  await writeFile(at('mappings/drawn.yaml'), MAPPING)
  await writeFile(at('jobs/drawn.yaml'), JOB + settings)
  let faultOf: (request: Passing) => Fault | Promise<Fault> = () => PASS
  const proxy = await startFaultProxy(store.url, (request) => faultOf(request))
  const environment = {
    ...gatewaySettings(proxy.url),
    WAYBILL_HOME: at('home'),
    WAYBILL_JOBS: at('jobs'),
    WAYBILL_MAPPINGS: at('mappings'),
    WAYBILL_KEY: KEY,
    WAYBILL_METRICS_FILE: at('metrics.prom'),
    ...more,
  }
  const fates = new Map<string, Fate>()
  const strangers = new Set<string>()
  let clock = Date.parse('2026-03-20T00:00:00Z')
  let processes = 0
  const dead = new Set<string>()
  return {
    folder,
    home: at('home'),
    store,
    gatewayUrl: proxy.url,
    async deliver(name, drawn) {
      await writeFile(at('inbox', name), csvOf(drawn))
      fates.clear()
      for (const [place, fate] of fatesOf(drawn)) fates.set(place, fate)
      for (const person of drawn.strangers) strangers.add(person)
    },
    heal() {
      fates.clear()
      strangers.clear()
    },
    async waybill(args, { chunkRows, order, stop, withLedger = (ledger: Ledger) => ledger } = {}) {
      const life = createLife(stop)
      const sluice = order === undefined ? undefined : createSluice(order)
      faultOf = async (request) => {
        if (sluice !== undefined) await sluice()
        const fault = fateOf(request, fates, strangers)
        const end = life.request()
        if (end === undefined) return fault
        const isStored = end === 'after-request' && fault.do.startsWith('pass')
        return { do: isStored ? 'pass-then-hang' : 'hang' }
      }
      const owner = `drawn:${++processes}`
      const compose = (context: CommandContext): CommandContext => ({
        ...context,
        owner,
        isDead: (one) => dead.has(one),
        now: () => clock,
        async sleep(ms, signal) {
          const until = clock + ms
          // What looks every second would turn in circles.
          if (ms === 1_000) return context.sleep(20, signal)
          await turnOfTheLoop()
          signal.throwIfAborted()
          clock = Math.max(clock, until)
          await life.goesOn()
        },
        openLedger: async (...given) => life.bound(withLedger(await context.openLedger(...given))),
        async connectGateway(...given) {
          const connection = await context.connectGateway(...given)
          return { ...connection, gateway: boundTo(connection.gateway, life.perform) }
        },
      })
      let out = ''
      let err = ''
      const surroundings = {
        ...{ environment, folder, terminal: false as const, columns: undefined },
        interrupt: new AbortController().signal,
        out: (text: string) => {
          out += text
        },
        err: (text: string) => {
          err += text
        },
      }
      const usual = { ...CHUNK_SIZE }
      CHUNK_SIZE.rows = chunkRows ?? usual.rows
      const ended = runCommandLine(args, surroundings, compose)
      const code = await Promise.race([ended, life.over]).finally(() => {
        CHUNK_SIZE.rows = usual.rows
      })
      // As behind a restart of the process.
      clock += 1_000
      if (code === undefined) dead.add(owner)
      faultOf = (request) => fateOf(request, fates, strangers)
      return { code, out, err, ...life.counted() }
    },
  }
}

/** Counts what a process does, and stops it where it is to be: from then on nothing that it has asked for comes back. */
function createLife(stop: Stop | undefined) {
  let calls = 0
  let requests = 0
  let end = (): void => {}
  const over = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined)
  })
  let isOver = false
  const never = new Promise<never>(() => {})
  const goesOn = async (): Promise<void> => {
    if (isOver) await never
  }
  const underWay = new Set<Promise<unknown>>()
  let close = async (): Promise<void> => {}
  const die = async (): Promise<never> => {
    isOver = true
    await Promise.allSettled([...underWay])
    await close()
    end()
    return never
  }
  const call = async (perform: () => unknown): Promise<unknown> => {
    await goesOn()
    const nth = ++calls
    if (stop?.at === 'before-call' && stop.nth === nth) return die()
    const performed = Promise.resolve(perform())
    underWay.add(performed)
    const result = await performed.finally(() => underWay.delete(performed))
    if (stop?.at === 'after-call' && stop.nth === nth) return die()
    await goesOn()
    return result
  }
  return {
    over,
    goesOn,
    /** Nothing is begun any more once it is over. */
    async perform(perform: () => unknown): Promise<unknown> {
      await goesOn()
      return perform()
    },
    counted: () => ({ calls, requests }),
    request(): Stop['at'] | undefined {
      const nth = ++requests
      if (stop?.at.endsWith('-request') !== true) return undefined
      if (stop.nth === nth) void die()
      return nth >= stop.nth ? stop.at : undefined
    },
    bound(ledger: Ledger): Ledger {
      close = ledger.close
      return boundTo(ledger, call)
    },
  }
}

/** Methods go through `call`; so do those of what is in it, and of what they give. */
function boundTo<Whole extends object>(
  whole: Whole,
  call: (perform: () => unknown) => Promise<unknown>,
): Whole {
  const isParts = (value: unknown): value is object =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((one) => typeof one === 'function') &&
    !(value instanceof Map || value instanceof Set)
  const bound = Object.entries(whole).map(([name, part]) => {
    if (isParts(part)) return [name, boundTo(part, call)]
    if (typeof part !== 'function') return [name, part]
    // These give their value at once.
    if (name === 'amend' || name === 'ofPart')
      return [name, (...given: unknown[]) => boundTo(part(...given), call)]
    const perform = async (...given: unknown[]): Promise<unknown> => {
      const result = await call(() => part(...given))
      return isParts(result) ? boundTo(result, call) : result
    }
    return [name, perform]
  })
  return Object.fromEntries(bound)
}

/** Requests wait until no more come; then one of them, drawn by the seed, goes on. */
function createSluice(seed: number): () => Promise<void> {
  const random = new Random(seed, 1, 1)
  const waiting: (() => void)[] = []
  let isOpen = false
  const drain = async (): Promise<void> => {
    isOpen = true
    while (waiting.length > 0) {
      let seen = 0
      for (let quiet = 0; quiet < 4; quiet++) {
        await turnOfTheLoop()
        if (waiting.length > seen) quiet = 0
        seen = waiting.length
      }
      const [goOn] = waiting.splice(random.integer(0, waiting.length - 1), 1)
      goOn?.()
    }
    isOpen = false
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (!isOpen) void drain()
    })
}

const Sent = z.array(
  z.looseObject({ source: z.looseObject({ meta: z.looseObject({ persistentRecordId: z.string() }) }) }),
)

function fateOf({ method, path, body }: Passing, fates: Map<string, Fate>, strangers: Set<string>): Fault {
  if (method !== 'POST') return PASS
  if (path === '/account/register') {
    const { partnerAccountId } = z.looseObject({ partnerAccountId: z.string() }).parse(JSON.parse(body))
    return strangers.has(partnerAccountId) ? answer(422) : PASS
  }
  if (!/\/bulk$|\/care-teams$/.test(path)) return PASS
  const places = Sent.parse(JSON.parse(body)).map(placeOf)
  const its = (fate: Fate): string[] => places.filter((place) => fates.get(place) === fate)
  if (its('refused').length > 0) return answer(422)
  const [lost, unanswered] = [its('lost'), its('unanswered')]
  for (const place of [...lost, ...unanswered]) fates.delete(place)
  if (lost.length > 0) return { do: 'reset' }
  return unanswered.length > 0 ? { do: 'pass-then-reset' } : PASS
}

/** Row and rule. */
function placeOf({ source }: z.infer<typeof Sent>[number]): string {
  const [, row = '', rule = ''] =
    /^[0-9a-f]{16}-(\d+)-(.+)-[0-9a-f]{8}$/.exec(source.meta.persistentRecordId) ?? []
  return `${Number(row)} ${rule}`
}
