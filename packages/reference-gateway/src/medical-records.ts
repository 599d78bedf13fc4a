import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS } from '../../../src/gateway/contract/endpoints.ts'
import {
  DateReturned,
  MedicalRecordsFilter,
  MedicalRecordsRequestChange,
  MedicalRecordsRequestSent,
  MedicalRecordsSearch,
} from '../../../src/gateway/contract/medical-records.ts'
import { parseYaml } from '../../../src/system/yaml-file.ts'
import type { Parts } from './accounts.ts'
import {
  answerRequesterError,
  fieldFault,
  filterFault,
  type ItemFault,
  itemFault,
  placeOf,
  Refusal,
  RequesterRefusal,
  readBody,
  readItems,
  refuseAny,
  searchFault,
  serveEndpoint,
  success,
} from './refusal.ts'
import { inTransaction } from './store.ts'

/** Stored request. */
export interface StoredRequest {
  /** All fields, with dates as sent, YYYY-MM-DD. */
  readonly fields: MedicalRecordsRequestSent
  /** Epoch milliseconds of the last upsert or upload. */
  readonly updatedMs: number
  /** Id of the address from the last upsert. */
  readonly uploadId: string
  /** Undefined until the authorization document is uploaded. */
  readonly authorizationName: string | undefined
}

/**
 * Store of requests and their upload addresses. An address belongs to its request and stays valid for its own lifetime, even after a later
 * address.
 */
function createMedicalRecordsStore(store: DatabaseSync) {
  const columns = `
    SELECT body, updated_ms, authorization_name,
      (SELECT id FROM authorization_uploads WHERE request = r.seq ORDER BY seq DESC LIMIT 1) AS upload_id
    FROM medical_records_requests r`
  const byReference = store.prepare(`${columns} WHERE reference_number = ?`)
  const all = store.prepare(`${columns} ORDER BY seq`)
  const upsert = store.prepare(
    `INSERT INTO medical_records_requests (reference_number, body, updated_ms) VALUES (?, ?, ?)
     ON CONFLICT (reference_number) DO UPDATE SET body = excluded.body, updated_ms = excluded.updated_ms
     RETURNING seq, body, updated_ms, authorization_name`,
  )
  const insertUpload = store.prepare(
    'INSERT INTO authorization_uploads (id, request, expires_ms) VALUES (?, ?, ?)',
  )
  const selectUpload = store.prepare('SELECT request, expires_ms FROM authorization_uploads WHERE id = ?')
  const submit = store.prepare(
    `UPDATE medical_records_requests SET authorization_name = ?, authorization = ?, updated_ms = ? WHERE seq = ?`,
  )
  const remove = store.prepare(
    'DELETE FROM medical_records_requests WHERE reference_number = ? RETURNING seq',
  )
  const removeUploads = store.prepare('DELETE FROM authorization_uploads WHERE request = ?')

  const toRequest = (row: Record<string, unknown>): StoredRequest => ({
    fields: MedicalRecordsRequestSent.parse(JSON.parse(String(row['body']))),
    updatedMs: Number(row['updated_ms']),
    uploadId: String(row['upload_id']),
    authorizationName: row['authorization_name'] === null ? undefined : String(row['authorization_name']),
  })

  return {
    find(referenceNumber: string): StoredRequest | undefined {
      const row = byReference.get(referenceNumber)
      return row === undefined ? undefined : toRequest(row)
    },

    /** Lists all requests in the order of creation; nothing may be written meanwhile. */
    *list(): Generator<StoredRequest> {
      for (const row of all.iterate()) yield toRequest(row)
    },

    /** Stores the fields under their reference number, with another upload address, inside the caller's transaction. */
    put(
      fields: MedicalRecordsRequestSent,
      upload: { readonly id: string; readonly expiresMs: number },
      nowMs: number,
    ): StoredRequest {
      const row = upsert.get(fields.referenceNumber, JSON.stringify(fields), nowMs) ?? {}
      insertUpload.run(upload.id, Number(row['seq']), upload.expiresMs)
      return toRequest({ ...row, upload_id: upload.id })
    },

    /** Removes a request with its upload addresses, inside the caller's transaction. */
    remove(referenceNumber: string): void {
      const row = remove.get(referenceNumber)
      if (row !== undefined) removeUploads.run(Number(row['seq']))
    },

    /** Returns the request `seq` and expiry (epoch milliseconds) of an upload address. */
    findUpload(id: string) {
      const row = selectUpload.get(id)
      return row === undefined
        ? undefined
        : { request: Number(row['request']), expiresMs: Number(row['expires_ms']) }
    },

    /** Stores the authorization document of a request, replacing an earlier one. */
    submit(request: number, name: string, document: Uint8Array, nowMs: number): void {
      submit.run(name, document, nowMs, request)
    },
  }
}

export type MedicalRecordsStore = ReturnType<typeof createMedicalRecordsStore>

const dateReturned = (date: string) => z.encode(DateReturned, date)

/** `status.updated`: MM/DD/YYYY HH:mm:ss, here in UTC. @param ms epoch milliseconds */
function timeReturned(ms: number): string {
  const iso = new Date(ms).toISOString()
  return `${dateReturned(iso.slice(0, 10))} ${iso.slice(11, 19)}`
}

/**
 * Section "Medical-records request (ROI)", "added in responses", without the upload address. The status stays `Received`, the only
 * documented one, and `processed` null, as nothing here processes requests. `authorizationName`, documented as a string, is empty without a
 * document.
 */
function requestReturned({ fields, updatedMs, authorizationName }: StoredRequest) {
  const { patient, request } = fields
  const { datesOfService } = request
  return {
    ...fields,
    patient: { ...patient, dob: dateReturned(patient.dob) },
    request: {
      ...request,
      datesOfService: {
        ...datesOfService,
        start: dateReturned(datesOfService.start),
        end: dateReturned(datesOfService.end),
      },
    },
    status: {
      documentAvailable: authorizationName !== undefined,
      status: 'Received',
      updated: timeReturned(updatedMs),
      processed: null,
      processedPlatform: null,
      authorizationName: authorizationName ?? '',
    },
  }
}

/** "Authorization PDF as binary body": its registered type (RFC 8118), and the type for bytes of unknown kind. */
const TYPES = ['application/pdf', 'application/octet-stream']
/** First bytes of a PDF file (RFC 8118 section 8). */
const SIGNATURE = '%PDF-'

const Parameters = z.object({ id: z.string() })

/** Path of an upload address; the interface leaves it to the gateway. */
const uploadPath = (id: string) => `/uploads/${encodeURIComponent(id)}`

/**
 * Serves the upload of the authorization PDF. 200 with an empty envelope, since a holder of the address need not be allowed to see the
 * request. 404 for an unknown address or a deleted request, 410 after the lifetime. Until then, another upload replaces the document.
 */
function serveUploads(
  app: FastifyInstance,
  requests: MedicalRecordsStore,
  options: { readonly clock: () => number; readonly bodyLimit: number },
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(TYPES, (request: FastifyRequest, payload: IncomingMessage) =>
    readBody(request, payload, options.bodyLimit),
  )
  app.route({
    method: 'PUT',
    url: '/uploads/:id',
    config: { endpoint: 'uploadAuthorization' },
    handler: async (request) => {
      const { id } = Parameters.parse(request.params)
      const nowMs = options.clock()
      const address = requests.findUpload(id)
      if (address === undefined) throw new Refusal(404, [{ message: 'upload address: not known' }])
      if (nowMs >= address.expiresMs) {
        throw new Refusal(410, [{ message: 'upload address: expired; a further upsert gives a new one' }])
      }
      const document = request.body
      if (!Buffer.isBuffer(document) || document.toString('latin1', 0, SIGNATURE.length) !== SIGNATURE) {
        throw new Refusal(400, [{ message: 'body: not a PDF' }])
      }
      requests.submit(address.request, `${id}.pdf`, document, nowMs)
      return success([])
    },
  })
}

const DELETE_FAILED = 'Failed to delete the request'

export interface RequesterParts extends Omit<Parts, 'accounts'> {
  /** Lifetime of an upload address, in milliseconds. */
  readonly uploadLifetimeMs: number
  /** Maximum document, in bytes. */
  readonly bodyLimit: number
  /** Returns the address of the gateway, once it listens. */
  readonly url: () => string
}

/**
 * Serves section "Medical-records requester", without the upload. Every API key sees the same requests. An upsert is stored whole or not at
 * all, and answers in the order sent.
 */
function serveMedicalRecords(
  app: FastifyInstance,
  requests: MedicalRecordsStore,
  types: RequestTypes,
  { store, clock, makeId, uploadLifetimeMs, url }: RequesterParts,
): void {
  const returned = (request: StoredRequest) => ({
    ...requestReturned(request),
    authorizationUploadUrl: url() + uploadPath(request.uploadId),
  })

  serveEndpoint(app, 'upsertMedicalRecords', async (request) => {
    const changes = readUpsert(request.body)
    return inTransaction(store, () => {
      const nowMs = clock()
      const keptOf = (referenceNumber: string) => requests.find(referenceNumber)?.fields
      const changed = changedRequests(changes, keptOf, types)
      return success(
        changed.map((fields) =>
          returned(requests.put(fields, { id: makeId(), expiresMs: nowMs + uploadLifetimeMs }, nowMs)),
        ),
      )
    })
  })

  serveEndpoint(app, 'searchMedicalRecords', async (request) => {
    const { page, limit, filter } = readSearch(request.body)
    const found = requests.list().filter(({ fields }) => fitsFilter(fields, filter, types))
    return success([{ ...Object(request.body), results: pageOf(found, page, limit).map(returned) }])
  })

  const { parameters } = ENDPOINTS.deleteMedicalRecords
  serveEndpoint(app, 'deleteMedicalRecords', async (request) => {
    const result = parameters.safeParse(request.params)
    if (!result.success) throw refusedDeletion('the reference number is null or empty', 0)
    const { referenceNumber } = result.data
    return inTransaction(store, () => {
      const stored = requests.find(referenceNumber)
      if (stored === undefined || stored.authorizationName !== undefined) {
        throw refusedDeletion('Reference Number not found Or Request already processed', 1)
      }
      requests.remove(referenceNumber)
      return success([requestReturned(stored)])
    })
  })

  serveEndpoint(app, 'listRequestTypes', async () => success([types.items]))
}

const refusedDeletion = (message: string, code: 0 | 1) =>
  new RequesterRefusal(DELETE_FAILED, [{ code, message }])

/** Maximum depth of a body, more than any request needs. Keeps serialising and copying safe. */
const MOST_LEVELS = 64
/** Maximum length of arrays inside a body. The outer array of an upsert may be longer. Bounds the cost of checks. */
const MOST_ITEMS = 1000

/** Serves the medical-records requester and its uploads, each with its own body type: JSON and PDF. */
export function serveRequester(parts: RequesterParts, types: RequestTypes): void {
  const { app } = parts
  const requests = createMedicalRecordsStore(parts.store)
  app.register(async (scope) => {
    scope.setErrorHandler(answerRequesterError)
    scope.addHook('preHandler', async (request) => {
      const message = boundsPassed(request.body)
      if (message !== undefined) throw new Refusal(400, [{ message }])
    })
    serveMedicalRecords(scope, requests, types, parts)
  })
  app.register(async (scope) => serveUploads(scope, requests, parts))
}

/** Returns the problem of a JSON value that is too deep or too long; undefined if there is none. Does not recurse, so any depth is safe. */
function boundsPassed(body: unknown): string | undefined {
  let level: unknown[] = Array.isArray(body) ? body : [body]
  for (let depth = 0; depth <= MOST_LEVELS; depth++) {
    if (level.some((part) => Array.isArray(part) && part.length > MOST_ITEMS))
      return `body: an array of more than ${MOST_ITEMS} items`
    level = level.flatMap((part) => (typeof part === 'object' && part !== null ? Object.values(part) : []))
    if (level.length === 0) return undefined
  }
  return 'body: nested too deeply'
}

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
type RequestType = z.infer<typeof RequestType>

const RequestTypesFile = z.strictObject({
  requestTypes: z.array(RequestType).min(1).refine(unique, 'an id or a name occurs twice'),
})

/** Request types of the requester: "a value from the request types list", by id or by name. */
interface RequestTypes {
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
function fitsFilter(
  fields: MedicalRecordsRequestSent,
  filters: readonly z.infer<typeof MedicalRecordsFilter>[],
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
function pageOf<Item>(items: Iterator<Item, unknown, undefined>, page: number, limit: number): Item[] {
  const first = (page - 1) * limit
  return Number.isSafeInteger(first + limit) ? Iterator.from(items).drop(first).take(limit).toArray() : []
}

const UPSERT_FAILED = 'Failed to create or update the requests'
const SEARCH_FAILED = 'Failed to search the requests'

/** Parses the body of an upsert. 400 if it is invalid or repeats a reference number. */
function readUpsert(body: unknown): MedicalRecordsRequestChange[] {
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
function changedRequests(
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
function readSearch(body: unknown): z.infer<typeof MedicalRecordsSearch> {
  const frame = SearchFrame.safeParse(body, { reportInput: true })
  if (!frame.success) throw refusal(frame.error)
  const { filter, ...search } = frame.data
  const filters = readItems(filter, MedicalRecordsFilter, SEARCH_FAILED, (issue, index) =>
    filterFault(issue, placeOf('filter', index, filter.length)),
  )
  return { ...search, filter: filters }
}

const refusal = (error: z.ZodError) => new RequesterRefusal(SEARCH_FAILED, error.issues.map(searchFault))
