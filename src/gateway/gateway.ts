import { type Accounts, createAccounts } from './accounts.ts'
import {
  type AgeAssessment,
  type Assessment,
  createAgeAssessment,
  createAssessment,
} from './age-assessment.ts'
import { type Content, createContent } from './content.ts'
import {
  type Biometrics,
  type CareTeams,
  type Conditions,
  createBiometrics,
  createCareTeams,
  createConditions,
} from './health-profile.ts'
import { createMedicalRecords, type MedicalRecords, type Spelling } from './medical-records.ts'
import { createTransport, type TransportOptions } from './transport.ts'

export interface GatewayOptions extends TransportOptions {
  /** How fields with two spellings are sent. */
  readonly spelling?: Spelling
}

/** The gateway's interface as a typed client. Every call sends one request and retries nothing. */
export interface Gateway {
  readonly accounts: Accounts
  readonly biometrics: Biometrics
  readonly conditions: Conditions
  readonly careTeams: CareTeams
  readonly ageAssessment: AgeAssessment
  readonly assessment: Assessment
  readonly content: Content
  readonly medicalRecords: MedicalRecords
  /** Fetches the access token anew, after a call failed with the class `stale-token`. */
  renewToken(): Promise<void>
  /** Closes the connections; what is under way fails as ambiguous. */
  close(): void
}

/** @throws WaybillError `settings-invalid`: an address or a credential that cannot be used */
export function createGateway(options: GatewayOptions): Gateway {
  const transport = createTransport(options)
  return {
    accounts: createAccounts(transport),
    biometrics: createBiometrics(transport),
    conditions: createConditions(transport),
    careTeams: createCareTeams(transport),
    ageAssessment: createAgeAssessment(transport),
    assessment: createAssessment(transport),
    content: createContent(transport),
    medicalRecords: createMedicalRecords(transport, options.spelling),
    renewToken: transport.renewToken,
    close: transport.close,
  }
}
