import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import {
  MedicalRecordsFilter,
  MedicalRecordsRequestChange,
  MedicalRecordsRequestSent,
  MedicalRecordsSearch,
} from '../../../src/gateway/contract/medical-records.ts'
import { parseYaml } from '../../../src/system/yaml-file.ts'
import {
  fieldFault,
  filterFault,
  type ItemFault,
  itemFault,
  placeOf,
  RequesterRefusal,
  readItems,
  refuseAny,
  searchFault,
} from './refusal.ts'

const FILE = fileURLToPath(new URL('definitions/request-types.yaml', import.meta.url))

const text = z.string().min(1)
const unique = <Item extends { readonly id: string; readonly name: string }>(items: readonly Item[]) =>
  new Set(items.flatMap(({ id, name }) => [id, name])).size === 2 * items.length

const Subtype = z.strictObject({ id: text, name: text, disabled: z.boolean().nullable() })
const RequestType = z.strictObject({
  id: text,
  name: text,
  requestSubType: z.array(Subtype).min(1).refine(unique, 'an id or a name occurs twice'),
})
/** Section "Request type item". */
export type RequestType = z.infer<typeof RequestType>

const RequestTypesFile = z.strictObject({
  requestTypes: z.array(RequestType).min(1).refine(unique, 'an id or a name occurs twice'),
})

/** Request types of the requester: "a value from the request types list", by id or by name. */
export interface RequestTypes {
  readonly items: readonly RequestType[]
  /** Returns the id of the type with this id or name; undefined if unknown. */
  typeIdOf(type: string): string | undefined
  /** Returns the id of the type's subtype with this id or name, disabled or not; undefined if the type has no such subtype. */
  subtypeIdOf(type: string, subtype: string): string | undefined
  /** True if requests may not name the subtype. A null `disabled` means false. */
  isDisabled(type: string, subtype: string): boolean
}

/** Checks the text of a definition file. @throws WaybillError `usage-wrong` with the lines of all problems */
export function parseRequestTypes(definition: string): RequestTypes {
  const items = parseYaml(definition, FILE, RequestTypesFile, 'usage-wrong').value.requestTypes
  const named = <Item extends { id: string; name: string }>(list: readonly Item[], wanted: string) =>
    list.find(({ id, name }) => id === wanted || name === wanted)
  const subtypeOf = (type: string, subtype: string) =>
    named(named(items, type)?.requestSubType ?? [], subtype)
  return {
    items,
    typeIdOf: (type) => named(items, type)?.id,
    subtypeIdOf: (type, subtype) => subtypeOf(type, subtype)?.id,
    isDisabled: (type, subtype) => subtypeOf(type, subtype)?.disabled === true,
  }
}

/** Reads the request types of the reference gateway. */
export async function readRequestTypes(): Promise<RequestTypes> {
  return parseRequestTypes(await readFile(FILE, 'utf8'))
}

type Fields = Readonly<Record<string, unknown>>

/** Blocks of a request, with nested blocks. Blocks are merged; everything else is replaced whole. */
interface Blocks {
  readonly [name: string]: Blocks
}
const BLOCKS: Blocks = { patient: {}, provider: {}, request: { datesOfService: {} }, webhook: {} }

/**
 * Section "States and transitions", an existing request: a value replaces, null clears, an omitted field keeps its value, per block and
 * field. A cleared field is absent. A new request keeps nothing.
 */
export function applyChange(kept: Fields | undefined, change: MedicalRecordsRequestChange): Fields {
  return merge(kept ?? {}, change, BLOCKS)
}

function merge(kept: Fields, sent: Fields, blocks: Blocks): Fields {
  const fields = new Map(Object.entries(kept))
  for (const [name, value] of Object.entries(sent)) {
    if (value === undefined) continue
    const inner = Object.hasOwn(blocks, name) ? blocks[name] : undefined
    if (value === null) fields.delete(name)
    else if (inner === undefined) fields.set(name, value)
    else fields.set(name, merge(fieldsOf(fields.get(name)), fieldsOf(value), inner))
  }
  return Object.fromEntries(fields)
}

const fieldsOf = (block: unknown): Fields => ({ ...Object(block) })

const NAMES: readonly string[] = ['firstName', 'lastName']

/**
 * True if a request fits a filter. Every field of the filter that is not empty must match: equal text, ignoring case for names. Its `type`
 * and `subType` match the request's type and subtype, each by id or name.
 */
export function fitsFilter(
  fields: MedicalRecordsRequestSent,
  filters: readonly MedicalRecordsFilter[],
  types: RequestTypes,
): boolean {
  return filters.some(({ patient, request }) => {
    const { requestType, requestSubType } = fields.request
    const held = new Map<string, unknown>(Object.entries(fields.patient))
    return (
      Object.entries(patient).every(([name, wanted]) => equal(name, wanted, held.get(name))) &&
      (request.type === '' || types.typeIdOf(request.type) === types.typeIdOf(requestType)) &&
      (request.subType === '' ||
        types.subtypeIdOf(requestType, request.subType) === types.subtypeIdOf(requestType, requestSubType))
    )
  })
}

function equal(name: string, wanted: unknown, held: unknown): boolean {
  if (wanted === undefined || wanted === '') return true
  if (typeof wanted !== 'string') return held === wanted
  const folded = (value: string) => (NAMES.includes(name) ? value.normalize('NFC').toLowerCase() : value)
  return typeof held === 'string' && folded(held) === folded(wanted)
}

/** Returns the items of a page, counted from 1. Reads no further than the page. */
export function pageOf<Item>(items: Iterator<Item, unknown, undefined>, page: number, limit: number): Item[] {
  const first = (page - 1) * limit
  return Number.isSafeInteger(first + limit) ? Iterator.from(items).drop(first).take(limit).toArray() : []
}

const UPSERT_FAILED = 'Failed to create or update the requests'
const SEARCH_FAILED = 'Failed to search the requests'

/** Parses the body of an upsert. 400 if it is invalid or repeats a reference number. */
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
 * Returns the full requests after their changes. 400 with the missing fields of a new request, and the types that are not "proper data".
 *
 * @param keptOf fields of the stored request with a reference number
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

/** "Must be proper data; use a value from the request types list": the subtype belongs to the type and is not disabled. */
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
  /** Pages count from 1 here; the interface leaves it open. */
  page: z.int().positive(),
  filter: z.array(z.unknown()).min(1),
})

/** Parses the body of a search. 400 if it is invalid or a filter has no patient field. */
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
