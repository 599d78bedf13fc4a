/** The part of the endpoints that is called by requesters of medical records; `endpoints.ts` has all of them. */
import type { Endpoint } from './endpoint.ts'
import { Envelope } from './envelope.ts'
import {
  MedicalRecordsDeletion,
  MedicalRecordsFound,
  MedicalRecordsRequestDeleted,
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestTypes,
  MedicalRecordsSearch,
  MedicalRecordsUpsert,
} from './medical-records-request.ts'

/** These calls take the requester's API key alone, and no token. */
const REQUESTER = { apiKey: true, bearer: 'none' } as const
const JSON_BODY = { contentType: 'application/json' } as const

/** Section "Medical-records requester". */
export const MEDICAL_RECORDS_ENDPOINTS = {
  upsertMedicalRecords: {
    section: 'Medical-records requester',
    summary: 'Creates or updates requests for medical records, by reference number',
    method: 'PATCH',
    path: '/medical-records/requester',
    ...REQUESTER,
    version: '1.0.0',
    ...JSON_BODY,
    request: MedicalRecordsUpsert,
    success: { status: 200, body: Envelope(MedicalRecordsRequestReturned) },
  },
  searchMedicalRecords: {
    section: 'Medical-records requester',
    summary: 'Searches requests for medical records',
    method: 'POST',
    path: '/medical-records/requester',
    ...REQUESTER,
    version: '1.0.0',
    ...JSON_BODY,
    request: MedicalRecordsSearch,
    success: { status: 200, body: Envelope(MedicalRecordsFound) },
  },
  deleteMedicalRecords: {
    section: 'Medical-records requester',
    summary: 'Deletes a request that is not processed yet',
    method: 'DELETE',
    path: '/medical-records/requester/{referenceNumber}',
    ...REQUESTER,
    version: '1.0.0',
    parameters: MedicalRecordsDeletion,
    success: { status: 200, body: Envelope(MedicalRecordsRequestDeleted) },
  },
  listRequestTypes: {
    section: 'Medical-records requester',
    summary: 'Lists the request types of the requester',
    method: 'GET',
    path: '/medical-records/requester/requestTypes',
    ...REQUESTER,
    version: '1.0.0',
    success: { status: 200, body: Envelope(MedicalRecordsRequestTypes) },
  },
  uploadAuthorization: {
    section: 'Medical-records requester',
    summary: 'Uploads the authorization as PDF to the address that the upsert answered',
    method: 'PUT',
    path: '/authorizationUploadUrl',
    apiKey: false,
    bearer: 'none',
    contentType: 'application/pdf',
    success: { status: 200 },
  },
} as const satisfies Record<string, Endpoint>
