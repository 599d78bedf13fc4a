import type { IncomingMessage } from 'node:http'
import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS } from '../gateway/contract/endpoints.ts'
import { DateReturned, MedicalRecordsRequestSent } from '../gateway/contract/medical-records.ts'
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

/** A request in the store. */
export interface StoredRequest {
  /** All its fields, with dates as they were sent, YYYY-MM-DD. */
  readonly fields: MedicalRecordsRequestSent
  /** Epoch milliseconds of the last upsert or upload. */
  readonly updatedMs: number
  /** Of the address that the last upsert gave. */
  readonly uploadId: string
  /** Undefined until the authorization document is submitted. */
  readonly authorizationName: string | undefined
}

/**
 * Requests and the addresses for their documents. An address goes with its request, not with a later address: each is
 * valid for its own lifetime.
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

    /** All requests in the order in which their reference numbers were created; nothing may be written meanwhile. */
    *list(): Generator<StoredRequest> {
      for (const row of all.iterate()) yield toRequest(row)
    },

    /** Stores the fields under their reference number, with a further upload address; the caller holds the transaction. */
    put(
      fields: MedicalRecordsRequestSent,
      upload: { readonly id: string; readonly expiresMs: number },
      nowMs: number,
    ): StoredRequest {
      const row = upsert.get(fields.referenceNumber, JSON.stringify(fields), nowMs) ?? {}
      insertUpload.run(upload.id, Number(row['seq']), upload.expiresMs)
      return toRequest({ ...row, upload_id: upload.id })
    },

    /** Removes a request with its upload addresses; the caller holds the transaction. */
    remove(referenceNumber: string): void {
      const row = remove.get(referenceNumber)
      if (row !== undefined) removeUploads.run(Number(row['seq']))
    },

    /** An address that takes the document of a request, by the `seq` of that, until it expires (epoch milliseconds). */
    findUpload(id: string) {
      const row = selectUpload.get(id)
      return row === undefined
        ? undefined
        : { request: Number(row['request']), expiresMs: Number(row['expires_ms']) }
    },

    /** Keeps the authorization document of a request, in the place of an earlier one. */
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
 * Section "Medical-records request (ROI)", "added in responses", but for the upload address. The status stays `Received`,
 * the only one that is documented, and `processed` null: nothing here processes requests. `authorizationName`, documented
 * as a string, is empty until the document is there.
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

/** "Authorization PDF as binary body": its registered type (RFC 8118), and the one for bytes of no stated kind. */
const TYPES = ['application/pdf', 'application/octet-stream']
/** RFC 8118 section 8: a PDF file begins with this. */
const SIGNATURE = '%PDF-'

const Parameters = z.object({ id: z.string() })

/** Path of an upload address; the interface leaves it to the gateway. */
const uploadPath = (id: string) => `/uploads/${encodeURIComponent(id)}`

/**
 * The upload of the authorization PDF: 200 with an envelope without data, since whoever has the address need not be
 * allowed to see the request. 404 for an address that was never given or whose request is deleted, 410 from the end of
 * its lifetime on. Until then a further document takes the place of the one before it.
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
  /** How long an upload address takes documents, in milliseconds. */
  readonly uploadLifetimeMs: number
  /** Longest document, in bytes. */
  readonly bodyLimit: number
  /** The address that the gateway listens on; asked for once it does. */
  readonly url: () => string
}

/**
 * Section "Medical-records requester", but for the upload. Every API key sees the same requests. An upsert is stored whole
 * or not at all, and answers in the order of what was sent.
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

/** Levels of a body, more than any request needs: what is taken in can be written out again, and copied. */
const MOST_LEVELS = 64
/** Items of an array inside a body; the array that an upsert is may be longer. Bounds what checking it takes. */
const MOST_ITEMS = 1000

/** The medical-records requester and its uploads, each with its own bodies: JSON here, PDF there. */
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

/** What a JSON value has too much of; undefined where nothing. Does not recurse, so any depth can be asked about. */
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
