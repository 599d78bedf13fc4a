/**
 * Decides the step for a medical-records request from the ledger and the export. Pure. The reference number identifies a request (interface, "States
 * and transitions"): an upsert may be repeated, and the later of two words counts.
 */
import { z } from 'zod'
import {
  MedicalRecordsRequestChange,
  MedicalRecordsRequestSent,
  type MedicalRecordsRequestType,
} from '../gateway/contract/medical-records.ts'
import type { KnownRequest } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { MedicalRequest } from '../model/record.ts'

/** Request in a row of an export. */
export interface WantedRequest {
  readonly entry: Entry
  readonly request: MedicalRequest
  /** Hashed reference number, 32 hex digits. */
  readonly reference: string
  /** Hash of the request as sent, 16 hex digits. */
  readonly content: string
  /** Place by `placeOfWord`. */
  readonly heardAt: number
}

/** Step for a request. `accepted`: done by an earlier process of the run. */
type Step = 'submit' | 'withdraw' | 'unchanged' | 'accepted' | 'outdated'

/** @param runId of the present run */
export function stepOf(known: KnownRequest | undefined, wanted: WantedRequest, runId: string): Step {
  const { isWithdrawn } = wanted.request
  const isRepeated =
    known !== undefined &&
    (isWithdrawn
      ? known.state === 'withdrawn'
      : known.state !== 'withdrawn' && known.content === wanted.content)
  if (isRepeated && known.state !== 'awaiting')
    return known.run === runId && known.heardAt === wanted.heardAt ? 'accepted' : 'unchanged'
  if (known !== undefined && known.heardAt > wanted.heardAt && !isRepeated) return 'outdated'
  return isWithdrawn ? 'withdraw' : 'submit'
}

/** Last word of each reference number, and the earlier words. */
export function lastOfEach(wanted: readonly WantedRequest[]): {
  readonly last: readonly WantedRequest[]
  readonly earlier: readonly { one: WantedRequest; isOther: boolean }[]
} {
  const byReference = new Map(wanted.map((one) => [one.reference, one]))
  const isSame = (one: WantedRequest, other: WantedRequest): boolean =>
    one.content === other.content && one.request.isWithdrawn === other.request.isWithdrawn
  return {
    last: [...byReference.values()],
    earlier: wanted.flatMap((one) => {
      const last = byReference.get(one.reference)
      return last === undefined || last === one ? [] : [{ one, isOther: !isSame(one, last) }]
    }),
  }
}

/**
 * Item of an upsert. A new request leaves out null values: the gateway has nothing to clear.
 * @param isNew true where the gateway lacks the request
 */
export function bodyOf({ request }: WantedRequest, isNew: boolean): MedicalRecordsRequestChange {
  const body: unknown = JSON.parse(request.body)
  return isNew ? MedicalRecordsRequestSent.parse(withoutNulls(body)) : MedicalRecordsRequestChange.parse(body)
}

function withoutNulls(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json
  return Object.fromEntries(
    Object.entries(json).flatMap(([key, value]) => (value === null ? [] : [[key, withoutNulls(value)]])),
  )
}

const Named = z.looseObject({ requestType: z.string(), requestSubType: z.string() })

/** Fault of the types named, by id or name, in a request; undefined where the gateway offers them. */
export function typeFault(
  { request }: MedicalRecordsRequestChange,
  types: readonly MedicalRecordsRequestType[],
): string | undefined {
  const { requestType, requestSubType } = Named.parse(request)
  const isCalled = (name: string) => (one: { id: string; name: string }) =>
    one.id === name || one.name === name
  const type = types.find(isCalled(requestType))
  const offered = (names: readonly { name: string }[]): string =>
    names.length === 0 ? 'none' : names.map(({ name }) => `"${name}"`).join(', ')
  if (type === undefined) return `the gateway has no such request type; it has ${offered(types)}`
  const subTypes = Array.isArray(type.requestSubType) ? type.requestSubType : []
  const sub = subTypes.find(isCalled(requestSubType))
  const open = subTypes.filter(({ disabled }) => disabled !== true)
  if (sub === undefined)
    return `the request type "${type.name}" has no such sub-type; it has ${offered(open)}`
  return sub.disabled === true
    ? `the sub-type "${sub.name}" is disabled; "${type.name}" has ${offered(open)}`
    : undefined
}
