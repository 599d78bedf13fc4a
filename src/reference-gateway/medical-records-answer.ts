import { z } from 'zod'
import { DateReturned } from '../gateway/contract/medical-records.ts'
import type { StoredRequest } from './medical-records-store.ts'

const dateReturned = (date: string) => z.encode(DateReturned, date)

/** `status.updated`: MM/DD/YYYY HH:mm:ss, here in UTC. @param ms epoch milliseconds */
export function timeReturned(ms: number): string {
  const iso = new Date(ms).toISOString()
  return `${dateReturned(iso.slice(0, 10))} ${iso.slice(11, 19)}`
}

/**
 * Section "Medical-records request (ROI)", "added in responses", but for the upload address. The status stays `Received`,
 * the only one that is documented, and `processed` null: nothing here processes requests. `authorizationName`, documented
 * as a string, is empty until the document is there.
 */
export function requestReturned({ fields, updatedMs, authorizationName }: StoredRequest) {
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
