import type { MedicalRecordsSearch, MedicalRecordsUpsert } from './contract/medical-records-request.ts'

/**
 * How three fields of the medical-records requester are sent. The document spells each in two ways and does not say which
 * is authoritative on input; the defaults are those of its samples. Answers are read in either spelling.
 */
export interface Spelling {
  /** Of a request (default `datesOfService`). */
  readonly datesOfService?: 'datesOfService' | 'dateOfService'
  /** Of a request (default `requestSubType`). */
  readonly requestSubType?: 'requestSubType' | 'requestSubtype'
  /** Of a search (default `subTyp`). */
  readonly subType?: 'subType' | 'subTyp'
}

/** The keys of fields on the wire, by the contract's names for them. */
type Spelled = Readonly<Record<keyof Spelling, string>>

export function resolveSpelling(spelling: Spelling): Spelled {
  const {
    datesOfService = 'datesOfService',
    requestSubType = 'requestSubType',
    subType = 'subTyp',
  } = spelling
  return { datesOfService, requestSubType, subType }
}

/** The body of an upsert as it is sent. */
export function spellUpsert(upsert: MedicalRecordsUpsert, spelled: Spelled): readonly object[] {
  const { datesOfService, requestSubType } = spelled
  return upsert.map((one) =>
    one.request === undefined
      ? one
      : { ...one, request: renamed(one.request, { datesOfService, requestSubType }) },
  )
}

/** The body of a search as it is sent. */
export function spellSearch(search: MedicalRecordsSearch, { subType }: Spelled): object {
  return {
    ...search,
    filter: search.filter.map((one) => ({ ...one, request: renamed(one.request, { subType }) })),
  }
}

function renamed(block: object, names: Readonly<Record<string, string>>): object {
  const wanted = (name: string): string => names[name] ?? name
  return Object.fromEntries(
    // Where the caller gives both spellings, both are sent as they are.
    Object.entries(block).map(([name, value]) => [wanted(name) in block ? name : wanted(name), value]),
  )
}
