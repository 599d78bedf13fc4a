import { ACCOUNT_CASES } from './accounts.ts'
import { AGE_ASSESSMENT_CASES } from './age-assessment.ts'
import { ASSESSMENT_PAGE_CASES } from './assessment-pages.ts'
import { AUTHENTICATION_CASES } from './authentication.ts'
import { BIOMETRIC_FIELD_CASES } from './biometric-fields.ts'
import { BIOMETRIC_CASES } from './biometrics.ts'
import { CARE_TEAM_FIELD_CASES } from './care-team-fields.ts'
import { CARE_TEAM_CASES } from './care-teams.ts'
import type { ConformanceCase } from './case.ts'
import { CONDITION_CASES } from './conditions.ts'
import { CONTENT_CASES } from './content.ts'
import { ENVELOPE_CASES } from './envelope.ts'
import { MEDICAL_RECORDS_CASES } from './medical-records.ts'
import { MEDICAL_RECORDS_FIELD_CASES } from './medical-records-fields.ts'
import { MEDICAL_RECORDS_SEARCH_CASES } from './medical-records-search.ts'
import { REQUESTER_REFUSAL_CASES } from './requester-refusals.ts'
import { SHARED_OBJECT_CASES } from './shared-objects.ts'
import { VERSIONING_CASES } from './versioning.ts'

/** Every case, roughly in the order of the document. */
export const SUITE: readonly ConformanceCase[] = [
  ...ENVELOPE_CASES,
  ...SHARED_OBJECT_CASES,
  ...BIOMETRIC_FIELD_CASES,
  ...CONDITION_CASES,
  ...CARE_TEAM_FIELD_CASES,
  ...ACCOUNT_CASES,
  ...AGE_ASSESSMENT_CASES,
  ...ASSESSMENT_PAGE_CASES,
  ...CONTENT_CASES,
  ...MEDICAL_RECORDS_FIELD_CASES,
  ...MEDICAL_RECORDS_CASES,
  ...MEDICAL_RECORDS_SEARCH_CASES,
  ...BIOMETRIC_CASES,
  ...CARE_TEAM_CASES,
  ...AUTHENTICATION_CASES,
  ...REQUESTER_REFUSAL_CASES,
  ...VERSIONING_CASES,
]
