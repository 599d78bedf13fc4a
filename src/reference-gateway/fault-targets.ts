import { hash } from 'node:crypto'
import { z } from 'zod'
import { ENDPOINTS, type Endpoint, type EndpointName } from '../gateway/contract/endpoints.ts'
import { textOf } from './refusal.ts'

/**
 * A number in [0, 1) that the key alone decides (48 bits of its SHA-256), evenly spread over keys. There is no state, so
 * what one fault draws never moves what another draws.
 */
export function drawnBy(...key: readonly (string | number)[]): number {
  return Number.parseInt(hash('sha256', JSON.stringify(key)).slice(0, 12), 16) / 2 ** 48
}

/** The numbers 0 … length - 1 in an order that the key decides. */
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

/** What stays of a record when it is sent again in another batch: its own id, else all of it. */
function identityOf(record: unknown): string {
  const { data } = Named.safeParse(record)
  const { transactionId, referenceNumber, source } = data ?? {}
  return transactionId ?? referenceNumber ?? source?.meta.persistentRecordId ?? textOf(record)
}

/** The value at a dotted path: `source.meta.batchId`, `codes.0.code`. */
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

/** Whether a request is about it: its body, a record of its body, or its query holds the values. */
export function isAbout(fields: Fields, body: unknown, url: string): boolean {
  const query = Object.fromEntries(new URLSearchParams(url.split('?')[1]))
  return [body, query].flat().some((record) => holds(record, fields))
}

/** Positions of the records of a batch that the fault holds for poisoned. `index` is the fault's place in the plan. */
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

/** Names for several endpoints at once. */
export const GROUPS = ['writes', 'reads', 'all'] as const
export type Group = (typeof GROUPS)[number]

export const isGroup = (name: EndpointName | Group): name is Group => GROUPS.some((group) => group === name)

const isEndpointName = (name: string): name is EndpointName => name in ENDPOINTS
export const ENDPOINT_NAMES: readonly EndpointName[] = Object.keys(ENDPOINTS).filter(isEndpointName)

/** Whether the call changes what the gateway holds: all but GET and the search, which is a POST. */
const writes = (name: EndpointName): boolean =>
  ENDPOINTS[name].method !== 'GET' && name !== 'searchMedicalRecords'

const within: Record<Group, (name: EndpointName) => boolean> = {
  writes,
  reads: (name) => !writes(name),
  all: () => true,
}

/** Whether the call sends an array of records: what can be stored in part, be poisoned, be echoed wrongly. */
export const sendsArray = ({ request }: Endpoint): boolean => request instanceof z.ZodArray

/** Reads of profiles: the gateway keeps their records with the time at which they were stored. */
const PROFILES: readonly EndpointName[] = ['readBiometrics', 'readConditions', 'listCareTeams']

export const readsProfile = (_: Endpoint, name: EndpointName): boolean => PROFILES.includes(name)

/** The endpoints that the names stand for. */
export const endpointsOf = (on: readonly (EndpointName | Group)[]): EndpointName[] =>
  ENDPOINT_NAMES.filter((endpoint) =>
    on.some((name) => (isGroup(name) ? within[name](endpoint) : name === endpoint)),
  )

const count = z.int().min(1)
const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** Dotted path in a record to the value it holds; all must hold. */
export const FieldValues = z
  .record(z.string().min(1), Scalar)
  .refine((fields) => Object.keys(fields).length > 0, 'names no field')

/** Which of the matching requests a fault strikes; they are numbered from 1. All that is given must hold. */
export const When = z.strictObject({
  nth: z.union([count, z.array(count).min(1)]).optional(),
  every: count.optional(),
  /** So many are let pass before. */
  after: z.int().min(0).optional(),
  /** None behind this one. */
  first: count.optional(),
  /** Probability, 0 to 1. */
  chance: z.number().min(0).max(1).optional(),
  /** At most so many strikes. */
  times: count.optional(),
  /** At most so many strikes for one body; of a request without body, for one method and URL. */
  perBody: count.optional(),
  /** Only requests whose body, a record of it, or query holds these values; others do not match. */
  having: FieldValues.optional(),
})
export type When = z.infer<typeof When>

/** Names of endpoints or groups. One message for every wrong form, since what zod says of unions says nothing. */
export const Target = z.enum([...GROUPS, ...ENDPOINT_NAMES], {
  error: 'expected `writes`, `reads`, `all` or the name of an endpoint (docs/faults.md lists them)',
})
