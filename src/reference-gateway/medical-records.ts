import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { ENDPOINTS } from '../gateway/contract/endpoints.ts'
import { requestReturned } from './medical-records-answer.ts'
import { changedRequests, readSearch, readUpsert } from './medical-records-body.ts'
import { fitsFilter, pageOf } from './medical-records-search.ts'
import type { MedicalRecordsStore, StoredRequest } from './medical-records-store.ts'
import type { RequestTypes } from './request-types.ts'
import { RequesterRefusal } from './requester-refusal.ts'
import { serveEndpoint } from './serve-endpoint.ts'
import { inTransaction } from './store.ts'
import { uploadPath } from './upload.ts'

const DELETE_FAILED = 'Failed to delete the request'

export interface MedicalRecordsOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number
  readonly makeId: () => string
  /** How long an upload address takes documents, in milliseconds. */
  readonly uploadLifetimeMs: number
  /** The address that the gateway listens on; asked for once it does. */
  readonly url: () => string
}

/**
 * Section "Medical-records requester", but for the upload. Every API key sees the same requests. An upsert is stored whole
 * or not at all, and answers in the order of what was sent.
 */
export function serveMedicalRecords(
  app: FastifyInstance,
  store: DatabaseSync,
  requests: MedicalRecordsStore,
  types: RequestTypes,
  { clock, makeId, uploadLifetimeMs, url }: MedicalRecordsOptions,
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

/** Section "Envelope": `code` is an integer here, and `errors` is present in health-profile answers alone. */
const success = <Item>(data: Item[]) => ({ code: 200, message: '200 OK', data })
