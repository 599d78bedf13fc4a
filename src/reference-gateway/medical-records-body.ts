import { z } from 'zod'
import {
  MedicalRecordsFilter,
  MedicalRecordsRequestChange,
  MedicalRecordsRequestSent,
  MedicalRecordsSearch,
} from '../gateway/contract/medical-records.ts'
import { applyChange } from './medical-records-change.ts'
import type { RequestTypes } from './request-types.ts'
import {
  fieldFault,
  filterFault,
  type ItemFault,
  itemFault,
  placeOf,
  readItems,
  refuseAny,
  searchFault,
} from './requester-faults.ts'
import { RequesterRefusal } from './requester-refusal.ts'

const UPSERT_FAILED = 'Failed to create or update the requests'
const SEARCH_FAILED = 'Failed to search the requests'

/** The body of an upsert. 400 where it cannot be read, and where a reference number stands in it twice. */
export function readUpsert(body: unknown): MedicalRecordsRequestChange[] {
  if (!Array.isArray(body) || body.length === 0) {
    throw new RequesterRefusal(undefined, [{ code: 1, message: 'the body is not an array of requests' }])
  }
  const place = (index: number) => placeOf('request', index, body.length)
  const changes = readItems(body, MedicalRecordsRequestChange, UPSERT_FAILED, (issue, index) =>
    itemFault(issue, place(index)),
  )
  const firsts = new Map<string, number>()
  const repeated: ItemFault[] = []
  for (const [index, { referenceNumber }] of changes.entries()) {
    const first = firsts.get(referenceNumber)
    if (first === undefined) firsts.set(referenceNumber, index)
    else {
      const message = `the referenceNumber of ${place(index)} is that of ${place(first)}`
      repeated.push({ code: 1, message })
    }
  }
  refuseAny(UPSERT_FAILED, repeated)
  return changes
}

/**
 * The requests as they are after their changes, in full. 400 naming the fields that a request which is new lacks, and the
 * types that are not "proper data".
 * @param keptOf fields of the request that is stored under a reference number
 */
export function changedRequests(
  changes: readonly MedicalRecordsRequestChange[],
  keptOf: (referenceNumber: string) => MedicalRecordsRequestSent | undefined,
  types: RequestTypes,
): MedicalRecordsRequestSent[] {
  const merged = changes.map((change) => applyChange(keptOf(change.referenceNumber), change))
  const place = (index: number) => placeOf('request', index, changes.length)
  const requests = readItems(merged, MedicalRecordsRequestSent, UPSERT_FAILED, (issue, index) =>
    itemFault(issue, place(index)),
  )
  refuseAny(
    UPSERT_FAILED,
    requests.flatMap((request, index) => typeFaults(request, place(index), types)),
  )
  return requests
}

/** "Must be proper data; use a value from the request types list": the subtype is one of its type, and not disabled. */
function typeFaults({ request }: MedicalRecordsRequestSent, place: string, types: RequestTypes): ItemFault[] {
  const { requestType, requestSubType } = request
  if (types.typeIdOf(requestType) === undefined)
    return [fieldFault('request', 'requestType', place, 'not in the request types')]
  if (types.subtypeIdOf(requestType, requestSubType) === undefined)
    return [fieldFault('request', 'requestSubType', place, 'not a subtype of the request type')]
  if (types.isDisabled(requestType, requestSubType))
    return [fieldFault('request', 'requestSubType', place, 'disabled')]
  return []
}

const SearchFrame = MedicalRecordsSearch.extend({
  /** Pages count from 1 here; the interface does not say. */
  page: z.int().positive(),
  filter: z.array(z.unknown()).min(1),
})

/** The body of a search. 400 where it cannot be read, or a filter has no patient field. */
export function readSearch(body: unknown): MedicalRecordsSearch {
  const frame = SearchFrame.safeParse(body, { reportInput: true })
  if (!frame.success) throw refusal(frame.error)
  const { filter, ...search } = frame.data
  const filters = readItems(filter, MedicalRecordsFilter, SEARCH_FAILED, (issue, index) =>
    filterFault(issue, placeOf('filter', index, filter.length)),
  )
  return { ...search, filter: filters }
}

const refusal = (error: z.ZodError) => new RequesterRefusal(SEARCH_FAILED, error.issues.map(searchFault))
