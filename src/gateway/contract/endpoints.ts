import { z } from 'zod'
import { AccountQuery, EntityQuery, RegistrationAnswer, RegistrationRequest } from './account.ts'
import {
  AgeResult,
  AnswerSubmission,
  AssessmentPage,
  CompletedAssessments,
  Recommendations,
} from './age-assessment.ts'
import { ContentDetail, ContentListItem } from './content.ts'
import {
  BiometricEcho,
  BiometricRead,
  BiometricSent,
  CareTeamDeletionQuery,
  CareTeamReturned,
  CareTeamSent,
  ConditionReturned,
  ConditionSent,
  PrimaryCareRequest,
  PrimaryCareReturned,
} from './health-profile.ts'
import {
  MedicalRecordsDeletion,
  MedicalRecordsFound,
  MedicalRecordsRequestDeleted,
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestTypes,
  MedicalRecordsSearch,
  MedicalRecordsUpsert,
} from './medical-records.ts'
import { Envelope, NestedEnvelope } from './shared-objects.ts'

/** Call of the interface: address, headers, body and answer. */
export interface Endpoint {
  /** Heading in section "Endpoints" of the document. */
  readonly section: string
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Path below the base URL; `{name}` is a parameter. For the upload, which has its own address, a placeholder. */
  readonly path: string
  /** Section "Authentication": true for every endpoint except the upload, which is "called without the integrator's key". */
  readonly apiKey: boolean
  /** Section "Authentication": the bearer token; `not-shown` if the sample has none and the document does not settle it. */
  readonly bearer: 'required' | 'not-shown' | 'none'
  /** Section "Versioning": value of X-API-Version; undefined for no header. */
  readonly version?: '1.0' | '1.0.0'
  /** Type of the request's body; section "Authentication" adds the charset on the health profile. */
  readonly contentType?: 'application/json' | 'application/json;charset=UTF-8' | 'application/pdf'
  /** Accepts the header Accept-Language. */
  readonly localised?: true
  /** Section "Versioning": available, but superseded. */
  readonly deprecated?: true
  readonly parameters?: z.ZodObject
  readonly query?: z.ZodType
  readonly request?: z.ZodType
  /** Status of success, and its body if documented. */
  readonly success: { readonly status: number; readonly body?: z.ZodType }
}

/** Records of a user need the caller's token. */
const PROFILE = { apiKey: true, bearer: 'required' } as const
const KEY_ALONE = { apiKey: true, bearer: 'none' } as const

const json = <Body extends z.ZodType>(request: Body) =>
  ({ contentType: 'application/json', request }) as const
const profileJson = <Body extends z.ZodType>(request: Body) =>
  ({ contentType: 'application/json;charset=UTF-8', request }) as const
const ok = <Body extends z.ZodType>(body: Body) => ({ status: 200, body })

/** Defines the calls under a heading, with their common parts. */
const under =
  <const Common>(section: string, common: Common) =>
  <const More>(method: Endpoint['method'], path: string, summary: string, more: More) => ({
    section,
    summary,
    method,
    path,
    ...common,
    ...more,
  })
const account = under('Accounts', KEY_ALONE)
const biometrics = under('Biometrics', PROFILE)
const conditions = under('Conditions', PROFILE)
const careTeams = under('Care teams', PROFILE)
const ageResult = under('Age assessment', KEY_ALONE)
const pagedTest = under('Age assessment', { ...PROFILE, version: '1.0' })
const content = under('Content', { ...KEY_ALONE, version: '1.0.0' })
/** These calls use the requester's API key alone, and no token. */
const requester = under('Medical-records requester', { ...KEY_ALONE, version: '1.0.0' })

const BY_ACCOUNT_ID = z.object({ accountId: z.string().min(1) })
const OF_ASSESSMENT = z.object({ assessmentId: z.string().min(1) })

const createsBiometrics = {
  ...profileJson(z.array(BiometricSent).min(1)),
  success: { status: 201, body: Envelope(BiometricEcho) },
}
const createsConditions = {
  ...profileJson(z.array(ConditionSent).min(1)),
  success: ok(Envelope(ConditionReturned)),
}
const movesPrimaryCare = { ...profileJson(PrimaryCareRequest), success: ok(Envelope(PrimaryCareReturned)) }

/**
 * Section "Endpoints", complete, with the headers of the sections "Authentication" and "Versioning". Undocumented statuses of success are
 * assumed as 200, and 204 for the deletion of an account.
 */
export const ENDPOINTS = {
  registerAccount: account('POST', '/account/register', 'Registers a user account; keep its id', {
    ...json(RegistrationRequest),
    success: ok(RegistrationAnswer),
  }),
  deleteAccount: account('DELETE', '/account', 'Deletes an account', {
    query: AccountQuery,
    success: { status: 204 },
  }),
  createBiometrics: biometrics(
    'POST',
    '/health-profile/biometrics',
    'Creates biometric records of one user',
    createsBiometrics,
  ),
  createBiometricsBulk: biometrics(
    'POST',
    '/health-profile/biometrics/bulk',
    'Creates biometric records of several users',
    createsBiometrics,
  ),
  readBiometrics: biometrics(
    'GET',
    '/health-profile/biometrics',
    'Reads the latest biometric record by observation date per code and source type',
    { query: z.union([AccountQuery, EntityQuery]), success: ok(Envelope(BiometricRead)) },
  ),
  createConditions: conditions(
    'POST',
    '/health-profile/conditions',
    'Creates condition records of one user',
    createsConditions,
  ),
  createConditionsBulk: under('Conditions', { apiKey: true, bearer: 'not-shown' })(
    'POST',
    '/health-profile/conditions/bulk',
    'Creates condition records of several users',
    createsConditions,
  ),
  readConditions: conditions(
    'GET',
    '/health-profile/conditions',
    'Reads the latest condition record by observation date per code and source type',
    { query: AccountQuery, success: ok(NestedEnvelope(ConditionReturned)) },
  ),
  createCareTeams: careTeams('POST', '/health-profile/care-teams', 'Creates care team records', {
    ...profileJson(z.array(CareTeamSent).min(1)),
    success: ok(Envelope(CareTeamReturned)),
  }),
  listCareTeams: careTeams(
    'GET',
    '/health-profile/care-teams',
    "Lists a user's care team records; the document shows no path, so the create call's path is used",
    { query: AccountQuery, success: ok(Envelope(CareTeamReturned)) },
  ),
  deleteCareTeams: careTeams(
    'DELETE',
    '/health-profile/care-teams',
    'Deletes care team records by id or npi; 404 when none is deleted',
    { query: CareTeamDeletionQuery, success: { status: 204 } },
  ),
  setPrimaryCare: careTeams(
    'POST',
    '/health-profile/care-teams/pcp',
    'Marks a care team entry as the primary care physician',
    movesPrimaryCare,
  ),
  unsetPrimaryCare: careTeams(
    'DELETE',
    '/health-profile/care-teams/pcp',
    'Removes the mark of the primary care physician from a care team entry',
    movesPrimaryCare,
  ),
  readAgeResult: ageResult(
    'GET',
    '/bioage/result',
    'Reads the age result of a user who has completed the test',
    { query: AccountQuery, success: ok(AgeResult) },
  ),
  readAgeResultByAccountId: ageResult(
    'GET',
    '/bioage/result/{accountId}',
    'Reads the age result; account ids only',
    { deprecated: true, parameters: BY_ACCOUNT_ID, success: ok(AgeResult) },
  ),
  listRecommendations: ageResult(
    'GET',
    '/bioage/assessments/{assessmentId}/recommendations',
    'Lists the recommendations of a completed test',
    { localised: true, parameters: OF_ASSESSMENT, query: AccountQuery, success: ok(Recommendations) },
  ),
  listRecommendationsByAccountId: ageResult(
    'GET',
    '/bioage/assessments/{assessmentId}/recommendations/{accountId}',
    'Lists the recommendations; account ids only',
    {
      localised: true,
      deprecated: true,
      parameters: OF_ASSESSMENT.extend(BY_ACCOUNT_ID.shape),
      success: ok(Recommendations),
    },
  ),
  listCompletedQuestions: ageResult(
    'GET',
    '/bioage/completed/questions',
    'Lists the questions and answers of completed tests',
    { query: AccountQuery, success: ok(CompletedAssessments) },
  ),
  readAssessmentPage: pagedTest(
    'GET',
    '/assessments/bioage',
    "Reads the current page of the test of the token's user",
    { success: ok(Envelope(AssessmentPage)) },
  ),
  submitAnswers: pagedTest(
    'POST',
    '/assessments/bioage',
    'Submits the answers of a page and returns the next page',
    { ...json(AnswerSubmission), success: ok(Envelope(AssessmentPage)) },
  ),
  listArticles: content(
    'GET',
    '/content/distribution/article',
    'Lists articles; the document does not name the parameters for filters and pages',
    { success: ok(Envelope(ContentListItem)) },
  ),
  readArticle: content('GET', '/content/distribution/article/{contentId}', 'Reads an article', {
    parameters: z.object({ contentId: z.string().min(1) }),
    success: ok(Envelope(ContentDetail)),
  }),
  upsertMedicalRecords: requester(
    'PATCH',
    '/medical-records/requester',
    'Creates or updates requests for medical records, by reference number',
    { ...json(MedicalRecordsUpsert), success: ok(Envelope(MedicalRecordsRequestReturned)) },
  ),
  searchMedicalRecords: requester(
    'POST',
    '/medical-records/requester',
    'Searches requests for medical records',
    { ...json(MedicalRecordsSearch), success: ok(Envelope(MedicalRecordsFound)) },
  ),
  deleteMedicalRecords: requester(
    'DELETE',
    '/medical-records/requester/{referenceNumber}',
    'Deletes a request that is not processed yet',
    { parameters: MedicalRecordsDeletion, success: ok(Envelope(MedicalRecordsRequestDeleted)) },
  ),
  listRequestTypes: requester(
    'GET',
    '/medical-records/requester/requestTypes',
    'Lists the request types of the requester',
    { success: ok(Envelope(MedicalRecordsRequestTypes)) },
  ),
  uploadAuthorization: under('Medical-records requester', { apiKey: false, bearer: 'none' })(
    'PUT',
    '/authorizationUploadUrl',
    'Uploads the authorization as PDF to the address from the upsert',
    { contentType: 'application/pdf', success: { status: 200 } },
  ),
} as const satisfies Record<string, Endpoint>

/** Name of a call of the interface. */
export type EndpointName = keyof typeof ENDPOINTS
