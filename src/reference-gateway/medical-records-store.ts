import type { DatabaseSync } from 'node:sqlite'
import { MedicalRecordsRequestSent } from '../gateway/contract/medical-records.ts'

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

/** An address that takes the authorization document of a request. */
export interface UploadAddress {
  /** The `seq` of the request. */
  readonly request: number
  /** Epoch milliseconds from which it takes nothing more. */
  readonly expiresMs: number
}

/**
 * Requests and the addresses for their documents. An address goes with its request, not with a later address: each is
 * valid for its own lifetime.
 */
export function createMedicalRecordsStore(store: DatabaseSync) {
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

    findUpload(id: string): UploadAddress | undefined {
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
