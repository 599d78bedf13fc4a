/** The fault plan: read and checked, and asked of each request which of its faults strike; it can be replaced while the gateway runs. */

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS, type EndpointName } from '../gateway/contract/endpoints.ts'
import { WaybillError } from '../model/errors.ts'
import { parseYaml } from '../yaml-file.ts'
import { KINDS, type StrikeKey } from './fault-kinds.ts'
import { drawnBy, endpointsOf, type Group, isAbout, isGroup } from './fault-targets.ts'
import { checked, textOf } from './refusal.ts'

export type FaultKind = keyof typeof KINDS
type Schema = (typeof KINDS)[FaultKind]['schema']

export const Fault = z.discriminatedUnion(
  'do',
  Object.values(KINDS).map(({ schema }) => schema) as [Schema, ...Schema[]],
  { error: 'expected a kind of fault in `do` (docs/faults.md lists them)' },
)
export type Fault = z.infer<typeof Fault>

/** Whether a kind of fault has a meaning for a call. */
export const suits = (kind: FaultKind, name: EndpointName): boolean =>
  KINDS[kind].behaviour.suits?.(ENDPOINTS[name], name) ?? true

/** The endpoints that `on` names and that the kind of fault has a meaning for. */
export const targetsOf = (
  kind: FaultKind,
  on: readonly (EndpointName | Group)[],
): ReadonlySet<EndpointName> => new Set(endpointsOf(on).filter((endpoint) => suits(kind, endpoint)))

type Problem = readonly [key: string, message: string]

/** What a schema of one fault does not see: keys that exclude each other, and calls that the kind says nothing about. */
function problemsOf(fault: Fault): Problem[] {
  const problems = fault.on.flatMap((name): Problem[] =>
    isGroup(name) || suits(fault.do, name) ? [] : [['on', `\`${fault.do}\` has no meaning for ${name}`]],
  )
  const named = fault.on.length > 0 && problems.length === 0
  if (named && targetsOf(fault.do, fault.on).size === 0)
    problems.push(['on', `\`${fault.do}\` has no meaning for any of these calls`])
  const both = 'share' in fault && fault.share !== undefined && 'count' in fault && fault.count !== undefined
  if (both) problems.push(['count', 'give `share` or `count`, not both'])
  const own = KINDS[fault.do].behaviour.problem?.(fault)
  return own === undefined ? problems : [...problems, own]
}

/** A fault plan: the faults in the order in which they are asked whether they strike. */
export const FaultPlan = z
  .strictObject({ seed: z.int().default(0), faults: z.array(Fault).min(1) })
  .superRefine(({ faults }, context) => {
    for (const [index, fault] of faults.entries())
      for (const [key, message] of problemsOf(fault))
        context.addIssue({ code: 'custom', path: ['faults', index, key], message })
  })
export type FaultPlan = z.infer<typeof FaultPlan>

/**
 * Reads a fault plan, YAML or JSON (which is YAML too). Throws `usage-wrong` where the file cannot be read, or with a
 * finding for each thing that is wrong with it: line, column and key.
 */
export async function readFaultPlan(file: string): Promise<FaultPlan> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new WaybillError('usage-wrong', 'the fault plan cannot be read', {
      place: { file },
      remedy: 'Name a file that exists and may be read with --faults.',
      cause,
    })
  }
  return parseYaml(text, file, FaultPlan, 'usage-wrong').value
}

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
export interface Strike {
  readonly fault: Fault
  /** Of what the strike leaves to chance: with the place of the fault in the plan, and which of the requests that match it this is, from 1. */
  readonly key: StrikeKey
}

/** A plan with its counters. They are all that changes: the rest follows from the plan and the sequence of requests. */
export interface LoadedPlan {
  readonly plan: FaultPlan
  readonly loadedMs: number
  readonly faults: readonly Counted[]
}

/** Ordinals that are kept of one fault. */
const MOST_ORDINALS = 1000

/** A fault with what it has seen. */
const counted = (fault: Fault) => ({
  fault,
  targets: targetsOf(fault.do, fault.on),
  matched: 0,
  struck: 0,
  /** Ordinals of the latest strikes. */
  ordinals: [] as number[],
  struckByBody: new Map<string, number>(),
  window: { number: -1, passed: 0 },
})
type Counted = ReturnType<typeof counted>

export const loadPlan = (plan: FaultPlan, loadedMs: number): LoadedPlan => ({
  plan,
  loadedMs,
  faults: plan.faults.map(counted),
})

/**
 * The faults that strike a request, in the order of the plan, and counts them. Kinds that let it go on do; the first other
 * one ends the walk, and the faults behind it do not see the request.
 */
export function chooseFaults(loaded: LoadedPlan, facts: RequestFacts): Strike[] {
  const strikes: Strike[] = []
  for (const [index, counted] of loaded.faults.entries()) {
    if (!counted.targets.has(facts.endpoint) || !isConcerned(loaded, index, counted, facts)) continue
    counted.matched++
    const key = [loaded.plan.seed, index, counted.matched] as const
    if (!isDue(counted, key, facts)) continue
    counted.struck++
    counted.ordinals.push(counted.matched)
    if (counted.ordinals.length > MOST_ORDINALS) counted.ordinals.shift()
    strikes.push({ fault: counted.fault, key })
    if (KINDS[counted.fault.do].behaviour.goesOn !== true) break
  }
  return strikes
}

/** What a request must be to be numbered at all: about whom the fault is, and what its kind asks: a poisoned record, an hour of outage, one request too many. */
function isConcerned(
  { plan, loadedMs }: LoadedPlan,
  index: number,
  { fault, window }: Counted,
  { body, url, nowMs }: RequestFacts,
): boolean {
  const { having } = fault.when
  if (having !== undefined && !isAbout(having, body, url)) return false
  const batch: readonly unknown[] = Array.isArray(body) ? body : []
  const asked = { batch, seed: plan.seed, index, sinceMs: nowMs - loadedMs, window }
  return KINDS[fault.do].behaviour.concerns?.(fault, asked) ?? true
}

function isDue(counted: Counted, key: StrikeKey, facts: RequestFacts): boolean {
  const { when } = counted.fault
  const ordinal = key[2]
  const { nth, every = 1, after = 0, first = ordinal, chance = 1, times = counted.struck + 1 } = when
  const due =
    (nth === undefined || [nth].flat().includes(ordinal)) &&
    ordinal % every === 0 &&
    ordinal > after &&
    ordinal <= first &&
    counted.struck < times &&
    (chance === 1 || drawnBy(...key) < chance)
  return due && isDueForBody(counted, facts)
}

function isDueForBody({ struckByBody, fault }: Counted, { body, method, url }: RequestFacts): boolean {
  const { perBody } = fault.when
  if (perBody === undefined) return true
  const content = body === undefined ? '' : body instanceof Uint8Array ? body : textOf(body)
  // Of a body, the method and path count too: what is sent elsewhere is something else.
  const name = `${method} ${url} ${hash('sha256', content)}`
  const before = struckByBody.get(name) ?? 0
  if (before >= perBody) return false
  struckByBody.set(name, before + 1)
  return true
}

/** The fault plan of a gateway, which can be replaced while it runs. */
export type FaultBook = ReturnType<typeof createFaultBook>

export function createFaultBook(given: FaultPlan | undefined, clock: () => number) {
  let loaded: LoadedPlan | undefined
  /** Takes another plan, or none; all counters begin anew. */
  const load = (plan: FaultPlan | undefined): void => {
    loaded = plan === undefined ? undefined : loadPlan(plan, clock())
  }
  load(given)
  return {
    /** Whether there is a plan. */
    isLoaded: () => loaded !== undefined,
    load,
    /** The faults that strike the request, counted; with the time at which their plan was loaded. */
    choose: (facts: RequestFacts) => ({
      strikes: loaded === undefined ? [] : chooseFaults(loaded, facts),
      loadedMs: loaded?.loadedMs ?? 0,
    }),
    /** What the control endpoint tells: the plan with its defaults, and in its order how many requests each fault was asked about, how many it struck, and which, from 1. */
    report: () => ({
      plan: loaded?.plan ?? null,
      loadedAt: loaded?.loadedMs ?? null,
      faults: (loaded?.faults ?? []).map(({ fault, matched, struck, ordinals }) => {
        return { do: fault.do, matched, struck, ordinals: [...ordinals] }
      }),
    }),
  }
}

/**
 * The fault plan at run time; not of the interface, without credentials, and never struck itself:
 * - `PUT /_reference/faults`: takes another plan (JSON); the counters begin anew. 400 naming all that is wrong with it;
 * - `GET /_reference/faults`: the plan, and how often each fault was asked and has struck;
 * - `DELETE /_reference/faults`: no faults any more.
 */
export function serveFaultControl(app: FastifyInstance, book: FaultBook): void {
  app.get('/_reference/faults', async () => book.report())

  app.put('/_reference/faults', async (request) => {
    book.load(checked(FaultPlan, request.body, 'plan'))
    return book.report()
  })

  app.delete('/_reference/faults', async (_, reply) => {
    book.load(undefined)
    return reply.code(204).send()
  })
}
