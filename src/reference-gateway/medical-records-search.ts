import type { MedicalRecordsFilter, MedicalRecordsRequestSent } from '../gateway/contract/medical-records.ts'
import type { RequestTypes } from './request-types.ts'

const NAMES: readonly string[] = ['firstName', 'lastName']

/**
 * Whether a request fits one of the filters. In a filter every field that is not empty counts: equal text, of names
 * whatever the case. Its `type` and `subType` are the request's type and subtype, each by id or name.
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

/** The items of a page; pages count from 1. Reads no further than the page. */
export function pageOf<Item>(items: Iterator<Item, unknown, undefined>, page: number, limit: number): Item[] {
  const first = (page - 1) * limit
  return Number.isSafeInteger(first + limit) ? Iterator.from(items).drop(first).take(limit).toArray() : []
}
