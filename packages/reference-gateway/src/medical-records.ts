import type { IncomingMessage } from 'node:http'
import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS } from '../../../src/gateway/contract/endpoints.ts'
import { DateReturned, MedicalRecordsRequestSent } from '../../../src/gateway/contract/medical-records.ts'
import type { Parts } from './accounts.ts'
import {
  changedRequests,
  fitsFilter,
  pageOf,
  type RequestTypes,
  readSearch,
  readUpsert,
} from './medical-records-rules.ts'
import {
  answerRequesterError,
  Refusal,
  RequesterRefusal,
  readBody,
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
