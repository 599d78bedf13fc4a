import { hash } from 'node:crypto'
import { z } from 'zod'
import { ENDPOINTS, type Endpoint, type EndpointName } from '../../../src/gateway/contract/endpoints.ts'
import { textOf } from './refusal.ts'

/**
 * Draws a number in [0, 1) from the key alone (48 bits of its SHA-256), evenly spread over keys. There is no state, so draws of different
 * faults do not influence each other.
 */
export function drawnBy(...key: readonly (string | number)[]): number {
  return Number.parseInt(hash('sha256', JSON.stringify(key)).slice(0, 12), 16) / 2 ** 48
}

/** Orders the numbers 0 … length - 1 by the key. */
export function orderedBy(length: number, ...key: readonly (string | number)[]): number[] {
  return Array.from({ length }, (_, position) => ({ position, drawn: drawnBy(...key, position) }))
    .sort((a, b) => a.drawn - b.drawn)
    .map(({ position }) => position)
}

const Named = z.looseObject({
  transactionId: z.string().optional().catch(undefined),
  referenceNumber: z.string().optional().catch(undefined),
  source: z
    .looseObject({ meta: z.looseObject({ persistentRecordId: z.string() }) })
    .optional()
    .catch(undefined),
})

/** Returns the identity of a record across batches: its own id, else its whole text. */
function identityOf(record: unknown): string {
  const { data } = Named.safeParse(record)
  const { transactionId, referenceNumber, source } = data ?? {}
  return transactionId ?? referenceNumber ?? source?.meta.persistentRecordId ?? textOf(record)
}

/** Returns the value at a dotted path: `source.meta.batchId`, `codes.0.code`. */
function valueAt(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null
      ? Object.entries(value).find(([name]) => name === key)?.[1]
      : undefined
  }, record)
}

type Fields = Readonly<Record<string, unknown>>

const holds = (record: unknown, fields: Fields): boolean =>
  Object.entries(fields).every(([path, value]) => valueAt(record, path) === value)

/** True if the body, a record of the body, or the query holds the values. */
export function isAbout(fields: Fields, body: unknown, url: string): boolean {
  const query = Object.fromEntries(new URLSearchParams(url.split('?')[1]))
  return [body, query].flat().some((record) => holds(record, fields))
}

/** Returns the positions of records that the fault considers poisoned. `index` is the fault's place in the plan. */
export function poisonedPositions(
  {
    record: fields,
    share = 0,
  }: { readonly record?: Fields | undefined; readonly share?: number | undefined },
  seed: number,
  index: number,
  batch: readonly unknown[],
): number[] {
  const isPoisoned = (record: unknown): boolean =>
    fields === undefined ? drawnBy(seed, index, identityOf(record)) < share : holds(record, fields)
  return batch.flatMap((record, position) => (isPoisoned(record) ? [position] : []))
}

/** Names for groups of endpoints. */
export const GROUPS = ['writes', 'reads', 'all'] as const
export type Group = (typeof GROUPS)[number]

export const isGroup = (name: EndpointName | Group): name is Group => GROUPS.some((group) => group === name)

const isEndpointName = (name: string): name is EndpointName => name in ENDPOINTS
export const ENDPOINT_NAMES: readonly EndpointName[] = Object.keys(ENDPOINTS).filter(isEndpointName)

/** True if the call changes stored data: all but GET and the search, which is a POST. */
const writes = (name: EndpointName): boolean =>
  ENDPOINTS[name].method !== 'GET' && name !== 'searchMedicalRecords'

const within: Record<Group, (name: EndpointName) => boolean> = {
  writes,
  reads: (name) => !writes(name),
  all: () => true,
}

/** True if the call sends an array of records. Partial storing, poison and echo faults need an array. */
export const sendsArray = ({ request }: Endpoint): boolean => request instanceof z.ZodArray

/** Reads of profiles. The gateway stores these records with a time. */
const PROFILES: readonly EndpointName[] = ['readBiometrics', 'readConditions', 'listCareTeams']

export const readsProfile = (_: Endpoint, name: EndpointName): boolean => PROFILES.includes(name)

/** Resolves names and groups to endpoints. */
export const endpointsOf = (on: readonly (EndpointName | Group)[]): EndpointName[] =>
  ENDPOINT_NAMES.filter((endpoint) =>
    on.some((name) => (isGroup(name) ? within[name](endpoint) : name === endpoint)),
  )

const count = z.int().min(1)
const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** Values by dotted path in a record; all must match. */
export const FieldValues = z
  .record(z.string().min(1), Scalar)
  .refine((fields) => Object.keys(fields).length > 0, 'needs a field')

/** Selects the requests that a fault strikes. Matching requests are numbered from 1. All given conditions must hold. */
export const When = z.strictObject({
  nth: z.union([count, z.array(count).min(1)]).optional(),
  every: count.optional(),
  /** Number of requests to let pass first. */
  after: z.int().min(0).optional(),
  /** Last request that may be struck. */
  first: count.optional(),
  /** Probability, 0 to 1. */
  chance: z.number().min(0).max(1).optional(),
  /** Maximum number of strikes. */
  times: count.optional(),
  /** Maximum number of strikes per body; for a request without body, per method and URL. */
  perBody: count.optional(),
  /** Values that the body, a record of the body, or the query must hold. Other requests do not match. */
  having: FieldValues.optional(),
})
export type When = z.infer<typeof When>

/** Name of an endpoint or group. A single message replaces zod's messages on unions, which are unclear. */
export const Target = z.enum([...GROUPS, ...ENDPOINT_NAMES], {
  error: 'expected `writes`, `reads`, `all` or the name of an endpoint (docs/faults.md lists them)',
})
