/** Fault plan: reads and checks it, and chooses the faults that strike a request. The plan can be replaced while the gateway runs. */

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS, type EndpointName } from '../../../src/gateway/contract/endpoints.ts'
import { WaybillError } from '../../../src/model/errors.ts'
import { parseYaml } from '../../../src/system/yaml-file.ts'
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

/** True if a kind of fault makes sense for a call. */
export const suits = (kind: FaultKind, name: EndpointName): boolean =>
  KINDS[kind].behaviour.suits?.(ENDPOINTS[name], name) ?? true

/** Returns the endpoints in `on` for which the kind of fault makes sense. */
export const targetsOf = (
  kind: FaultKind,
  on: readonly (EndpointName | Group)[],
): ReadonlySet<EndpointName> => new Set(endpointsOf(on).filter((endpoint) => suits(kind, endpoint)))

type Problem = readonly [key: string, message: string]

/** Checks a fault beyond its schema: keys that exclude each other, and calls that the kind cannot strike. */
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

/** Fault plan. Faults are tried in order. */
export const FaultPlan = z
  .strictObject({ seed: z.int().default(0), faults: z.array(Fault).min(1) })
  .superRefine(({ faults }, context) => {
    for (const [index, fault] of faults.entries())
      for (const [key, message] of problemsOf(fault))
        context.addIssue({ code: 'custom', path: ['faults', index, key], message })
  })
export type FaultPlan = z.infer<typeof FaultPlan>

/**
 * Reads a fault plan in YAML or JSON (a subset of YAML).
 *
 * @throws WaybillError `usage-wrong` if the file cannot be read, or with a finding per problem: line, column and key
 */
export async function readFaultPlan(file: string): Promise<FaultPlan> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new WaybillError('usage-wrong', 'the fault plan cannot be read', {
      place: { file },
      remedy: 'Name a readable file with --faults.',
      cause,
    })
  }
  return parseYaml(text, file, FaultPlan, 'usage-wrong').value
}

/** Facts that decide whether a request is struck. */
interface RequestFacts {
  readonly endpoint: EndpointName
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Parsed body; undefined if there is none. */
  readonly body: unknown
  /** Epoch milliseconds of the gateway's clock. */
  readonly nowMs: number
}

/** Fault that strikes a request. */
export interface Strike {
  readonly fault: Fault
  /** Key for random choices of the strike: seed, place of the fault in the plan, number of the matching request, from 1. */
  readonly key: StrikeKey
}

/** Plan with its counters. Only the counters change; everything else follows from the plan and the sequence of requests. */
export interface LoadedPlan {
  readonly plan: FaultPlan
  readonly loadedMs: number
  readonly faults: readonly Counted[]
}

/** Maximum number of ordinals kept per fault. */
const MOST_ORDINALS = 1000

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
 * Chooses the faults that strike a request, in plan order, and counts them. Kinds that let the request go on may combine; the first other
 * kind ends the search, and later faults do not see the request.
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

/**
 * True if the request matches the fault and gets a number: by the values in `having`, and by the kind (a poisoned record, time within an
 * outage, a request over the limit).
 */
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
  // The same body at another method or path is another request.
  const name = `${method} ${url} ${hash('sha256', content)}`
  const before = struckByBody.get(name) ?? 0
  if (before >= perBody) return false
  struckByBody.set(name, before + 1)
  return true
}

/** Fault plan of a gateway, replaceable at run time. */
export type FaultBook = ReturnType<typeof createFaultBook>

export function createFaultBook(given: FaultPlan | undefined, clock: () => number) {
  let loaded: LoadedPlan | undefined
  /** Loads another plan, or none, and resets all counters. */
  const load = (plan: FaultPlan | undefined): void => {
    loaded = plan === undefined ? undefined : loadPlan(plan, clock())
  }
  load(given)
  return {
    /** True if a plan is loaded. */
    isLoaded: () => loaded !== undefined,
    load,
    /** Chooses and counts the faults that strike the request, with the loading time of the plan. */
    choose: (facts: RequestFacts) => ({
      strikes: loaded === undefined ? [] : chooseFaults(loaded, facts),
      loadedMs: loaded?.loadedMs ?? 0,
    }),
    /**
     * Report for the control endpoint: the plan with defaults, and per fault in plan order the number of matching requests, the number of
     * strikes, and their ordinals, from 1.
     */
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
 * Serves the control of the fault plan at run time. The paths are not part of the interface, need no credentials and are never struck:
 * - `PUT /_reference/faults`: loads another plan (JSON) and resets the counters. 400 with all problems of an invalid plan;
 * - `GET /_reference/faults`: returns the plan, and the matches and strikes per fault;
 * - `DELETE /_reference/faults`: removes the plan.
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
