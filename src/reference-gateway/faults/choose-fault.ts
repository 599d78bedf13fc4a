import { hash } from 'node:crypto'
import type { EndpointName } from '../../gateway/contract/endpoints.ts'
import { textOf } from '../json-body.ts'
import type { Fault, FaultKind, FaultOf, FaultPlan, When } from './fault-plan.ts'
import { targetsOf } from './fault-targets.ts'
import { drawnBy } from './keyed-chance.ts'
import { isAbout, poisonedPositions } from './poisoned-records.ts'

/** What decides whether a request is struck. */
export interface RequestFacts {
  readonly endpoint: EndpointName
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** As it was parsed; undefined where there is none. */
  readonly body: unknown
  /** Epoch milliseconds of the gateway's clock. */
  readonly nowMs: number
}

/** A fault that strikes a request. */
export interface Strike<Kind extends FaultKind = FaultKind> {
  readonly fault: FaultOf<Kind>
  /** Place of the fault in the plan, from 0. */
  readonly index: number
  /** Which of the requests that match the fault this is, from 1. */
  readonly ordinal: number
  /** Key of what the strike leaves to chance. */
  readonly key: readonly [seed: number, index: number, ordinal: number]
}

/** A fault with what it has seen. */
interface Counted {
  readonly fault: Fault
  readonly targets: ReadonlySet<EndpointName>
  matched: number
  struck: number
  /** Ordinals of the latest strikes. */
  readonly ordinals: number[]
  readonly struckByBody: Map<string, number>
  /** Of a rate limit: number of the window, and requests let pass in it. */
  window: { readonly number: number; passed: number }
}

/** A plan with its counters. They are all that changes: the rest follows from the plan and the sequence of requests. */
export interface LoadedPlan {
  readonly plan: FaultPlan
  readonly loadedMs: number
  readonly faults: readonly Counted[]
}

/** Ordinals that are kept of one fault. */
export const MOST_ORDINALS = 1000

export function loadPlan(plan: FaultPlan, loadedMs: number): LoadedPlan {
  const faults = plan.faults.map((fault) => ({
    fault,
    targets: targetsOf(fault.do, fault.on),
    matched: 0,
    struck: 0,
    ordinals: [],
    struckByBody: new Map<string, number>(),
    window: { number: -1, passed: 0 },
  }))
  return { plan, loadedMs, faults }
}

/** Kinds that let the request go on to the faults behind them. */
export const goesOn = (kind: FaultKind): kind is 'slow' | 'lag' => kind === 'slow' || kind === 'lag'

/**
 * The faults that strike a request, in the order of the plan, and counts them. `slow` and `lag` go on; the first other
 * one ends the walk, and the faults behind it do not see the request.
 */
export function chooseFaults(loaded: LoadedPlan, facts: RequestFacts): Strike[] {
  const strikes: Strike[] = []
  for (const [index, counted] of loaded.faults.entries()) {
    if (!counted.targets.has(facts.endpoint) || !isConcerned(loaded, index, counted, facts)) continue
    counted.matched++
    const ordinal = counted.matched
    const key = [loaded.plan.seed, index, ordinal] as const
    if (!isDue(counted, key, facts)) continue
    counted.struck++
    counted.ordinals.push(ordinal)
    if (counted.ordinals.length > MOST_ORDINALS) counted.ordinals.shift()
    strikes.push({ fault: counted.fault, index, ordinal, key })
    if (!goesOn(counted.fault.do)) break
  }
  return strikes
}

/** What a request must be to be numbered at all: about whom the fault is, and what its kind asks: a poisoned record, an hour of outage, one request too many. */
function isConcerned(
  { plan, loadedMs }: LoadedPlan,
  index: number,
  counted: Counted,
  facts: RequestFacts,
): boolean {
  const { fault } = counted
  const { having } = fault.when
  if (having !== undefined && !isAbout(having, facts.body, facts.url)) return false
  const batch: readonly unknown[] = Array.isArray(facts.body) ? facts.body : []
  switch (fault.do) {
    case 'poison':
      return poisonedPositions(fault, plan.seed, index, batch).length > 0
    case 'store-part':
      return batch.length > 1
    case 'outage': {
      const sinceMs = facts.nowMs - loadedMs - fault.fromMs
      return sinceMs >= 0 && sinceMs < fault.forMs
    }
    case 'rate-limit': {
      const number = windowOf(fault, loadedMs, facts.nowMs)
      if (counted.window.number !== number) counted.window = { number, passed: 0 }
      if (counted.window.passed >= fault.requests) return true
      counted.window.passed++
      return false
    }
    default:
      return true
  }
}

const windowOf = ({ perMs }: FaultOf<'rate-limit'>, loadedMs: number, nowMs: number): number =>
  Math.floor((nowMs - loadedMs) / perMs)

/** Whole seconds until the window of the rate limit ends, at least 1. */
export function secondsToNextWindow(fault: FaultOf<'rate-limit'>, loadedMs: number, nowMs: number): number {
  const endMs = loadedMs + (windowOf(fault, loadedMs, nowMs) + 1) * fault.perMs
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000))
}

function isDue(counted: Counted, key: Strike['key'], facts: RequestFacts): boolean {
  const { when } = counted.fault
  const [seed, index, ordinal] = key
  const { nth, every = 1, after = 0, first = ordinal, chance = 1, times = counted.struck + 1 } = when
  const due =
    (nth === undefined || [nth].flat().includes(ordinal)) &&
    ordinal % every === 0 &&
    ordinal > after &&
    ordinal <= first &&
    counted.struck < times &&
    (chance === 1 || drawnBy(seed, index, ordinal) < chance)
  return due && isDueForBody(counted, when, facts)
}

function isDueForBody({ struckByBody }: Counted, { perBody }: When, facts: RequestFacts): boolean {
  if (perBody === undefined) return true
  const { body, method, url } = facts
  const content = body === undefined ? '' : body instanceof Uint8Array ? body : textOf(body)
  // Of a body, the method and path count too: what is sent elsewhere is something else.
  const name = `${method} ${url} ${hash('sha256', content)}`
  const before = struckByBody.get(name) ?? 0
  if (before >= perBody) return false
  struckByBody.set(name, before + 1)
  return true
}
