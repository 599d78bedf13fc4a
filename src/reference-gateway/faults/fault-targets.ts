import { z } from 'zod'
import { ENDPOINTS, type Endpoint, type EndpointName } from '../../gateway/contract/endpoints.ts'

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
const sendsArray = ({ request }: Endpoint): boolean => request instanceof z.ZodArray

/** Reads of profiles: the gateway keeps their records with the time at which they were stored. */
const PROFILES: readonly EndpointName[] = ['readBiometrics', 'readConditions', 'listCareTeams']

/** Whether a kind of fault has a meaning for a call. */
export function suits(kind: string, name: EndpointName): boolean {
  const endpoint: Endpoint = ENDPOINTS[name]
  switch (kind) {
    case 'store-part':
    case 'poison':
    case 'echo':
      return sendsArray(endpoint)
    case 'garble':
      return endpoint.success.body !== undefined
    case 'expire-token':
      return endpoint.bearer === 'required'
    case 'lag':
    case 'profile':
      return PROFILES.includes(name)
    default:
      return true
  }
}

/** The endpoints that `on` names and that the kind of fault has a meaning for. */
export function targetsOf(kind: string, on: readonly (EndpointName | Group)[]): ReadonlySet<EndpointName> {
  const named = ENDPOINT_NAMES.filter((endpoint) =>
    on.some((name) => (isGroup(name) ? within[name](endpoint) : name === endpoint)),
  )
  return new Set(named.filter((endpoint) => suits(kind, endpoint)))
}
