/** Made-up records in the document's forms, every field filled. */
import type { Account } from './case.ts'

/** 2024-03-01T14:05:00.000Z */
export const OBSERVED = Date.UTC(2024, 2, 1, 14, 5)
export const DAY = 86_400_000

export const registration = (partnerAccountId: string) => ({
  dateOfBirth: '1970-02-28',
  firstName: 'Conformance',
  gender: 'FEMALE',
  lastName: 'Suite',
  partnerAccountId,
  postalCode: '00000',
})

export const source = (type = 'screening') => ({
  name: 'Conformance suite',
  type,
  notes: 'made up',
  meta: {
    dataQuality: 'normalized',
    batchId: 'conformance-batch',
    resourceKey: 'conformance-resource',
    sendingSystem: 'conformance',
    persistentRecordId: 'conformance-record',
  },
})

const LOINC = { codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }
const ICD = { codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM' }
export const SYSTOLIC = { ...LOINC, code: '8480-6', name: 'Systolic blood pressure' }
export const DIASTOLIC = { ...LOINC, code: '8462-4', name: 'Diastolic blood pressure' }
export const DIABETES = { ...ICD, code: 'E11', name: 'Type 2 diabetes mellitus' }
export const HYPERTENSION = { ...ICD, code: 'I10', name: 'Essential hypertension' }

export const biometric = (account: Account, transactionId: string, code = SYSTOLIC) => ({
  transactionId,
  account: { ...account, sponsor: 'conformance-sponsor' },
  name: code.name,
  observationDate: new Date(OBSERVED).toISOString(),
  codeSystem: code.codeSystem,
  codeSystemName: code.codeSystemName,
  code: code.code,
  codes: [code],
  refHigh: 120,
  refLow: 90,
  refRange: '90-120',
  type: 'Observation',
  value: 118.5,
  unit: 'mm[Hg]',
  source: source(),
})

export const condition = (account: Account, transactionId: string, code = DIABETES) => ({
  transactionId,
  account,
  name: code.name,
  status: 'active',
  source: source(),
  observationDate: OBSERVED,
  medication: [
    { code: '860975', codeSystem: '2.16.840.1.113883.6.88', codeSystemName: 'RxNorm', name: 'metformin' },
  ],
  family: { history: 'yes', member: ['mother'] },
  codes: [code],
})

export const careTeam = (account: Account, npi = '1234567893') => ({
  account,
  name: 'Conformance practice',
  profile: 'https://practice.example/1',
  phoneNumber: '555-0100',
  type: 'PCP',
  location: 'Main',
  address: '1 Example Street',
  city: 'Exampleville',
  zip: '00000',
  npi,
  observationDate: String(OBSERVED),
  source: source(),
})
