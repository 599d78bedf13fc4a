import type { BiometricSent } from '../../src/gateway/contract/health-profile.ts'
import type { MedicalRecordsRequestSent } from '../../src/gateway/contract/medical-records.ts'

/** An account whose reference must be encoded in a query. */
export const ACCOUNT = { reference: 'participant 4711&x', type: 'partnerAccountId' } as const

export const REGISTRATION = {
  dateOfBirth: '1970-01-31',
  firstName: 'Test',
  gender: 'FEMALE',
  lastName: 'Person',
  partnerAccountId: 'p-1',
  postalCode: '00000',
}

export const BIOMETRIC: BiometricSent = {
  transactionId: 't-1',
  account: ACCOUNT,
  name: 'Body weight',
  observationDate: '2024-03-01T14:05:00.000Z',
  codes: [
    { code: '29463-7', codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC', name: 'Body weight' },
  ],
  value: 81.5,
  unit: 'kg',
  source: { name: 'Screening', type: 'screening' },
}

/** Its keys stand in the order in which the contract has them, in which they are sent. */
export const RECORDS_REQUEST: MedicalRecordsRequestSent = {
  referenceNumber: 'ref-1',
  patient: { firstName: 'Test', lastName: 'Person', dob: '1970-02-28' },
  provider: { groupName: 'Test Practice', npi: '1234567893' },
  request: {
    type: '',
    requestType: 't-1',
    requestSubType: 's-1',
    datesOfService: { type: 'startEnd', start: '2020-01-31', end: '2021-12-01' },
    disclosures: ['abstract'],
  },
  webhook: { sendStatusChange: false, url: '' },
}
