import { z } from 'zod'
import { AccountQuery, EntityQuery } from './account-reference.ts'
import { AgeResult, CompletedAssessments, Recommendations } from './age-result.ts'
import { AnswerSubmission, AssessmentPage } from './assessment-page.ts'
import { BiometricEcho, BiometricRead, BiometricSent } from './biometric.ts'
import {
  CareTeamDeletionQuery,
  CareTeamReturned,
  CareTeamSent,
  PrimaryCareRequest,
  PrimaryCareReturned,
} from './care-team.ts'
import { ConditionReturned, ConditionSent } from './condition.ts'
import { ContentDetail, ContentListItem } from './content.ts'
import type { Endpoint } from './endpoint.ts'
import { Envelope, NestedEnvelope } from './envelope.ts'
import { MEDICAL_RECORDS_ENDPOINTS } from './medical-records-endpoints.ts'
import { RegistrationAnswer, RegistrationRequest } from './registration.ts'

const PROFILE = { apiKey: true, bearer: 'required' } as const
const KEY_ALONE = { apiKey: true, bearer: 'none' } as const
const JSON_BODY = { contentType: 'application/json' } as const
const PROFILE_BODY = { contentType: 'application/json;charset=UTF-8' } as const

const BY_ACCOUNT_ID = z.object({ accountId: z.string().min(1) })
const OF_ASSESSMENT = z.object({ assessmentId: z.string().min(1) })

const BIOMETRICS_CREATED = { status: 201, body: Envelope(BiometricEcho) }
const CONDITIONS_CREATED = { status: 200, body: Envelope(ConditionReturned) }
const PRIMARY_CARE_MOVED = { status: 200, body: Envelope(PrimaryCareReturned) }

/**
 * Section "Endpoints", all of it, with the headers of the sections "Authentication" and "Versioning". Statuses of success
 * that the document does not show are the plain ones: 200, and 204 for the deletion of an account.
 */
export const ENDPOINTS = {
  registerAccount: {
    section: 'Accounts',
    summary: 'Registers a user account; its id is to be kept',
    method: 'POST',
    path: '/account/register',
    ...KEY_ALONE,
    ...JSON_BODY,
    request: RegistrationRequest,
    success: { status: 200, body: RegistrationAnswer },
  },
  deleteAccount: {
    section: 'Accounts',
    summary: 'Deletes an account',
    method: 'DELETE',
    path: '/account',
    ...KEY_ALONE,
    query: AccountQuery,
    success: { status: 204 },
  },
  createBiometrics: {
    section: 'Biometrics',
    summary: 'Creates biometric records of one user',
    method: 'POST',
    path: '/health-profile/biometrics',
    ...PROFILE,
    ...PROFILE_BODY,
    request: z.array(BiometricSent).min(1),
    success: BIOMETRICS_CREATED,
  },
  createBiometricsBulk: {
    section: 'Biometrics',
    summary: 'Creates biometric records of several users',
    method: 'POST',
    path: '/health-profile/biometrics/bulk',
    ...PROFILE,
    ...PROFILE_BODY,
    request: z.array(BiometricSent).min(1),
    success: BIOMETRICS_CREATED,
  },
  readBiometrics: {
    section: 'Biometrics',
    summary: 'Reads the latest biometric record by observation date per code and source type',
    method: 'GET',
    path: '/health-profile/biometrics',
    ...PROFILE,
    query: z.union([AccountQuery, EntityQuery]),
    success: { status: 200, body: Envelope(BiometricRead) },
  },
  createConditions: {
    section: 'Conditions',
    summary: 'Creates condition records of one user',
    method: 'POST',
    path: '/health-profile/conditions',
    ...PROFILE,
    ...PROFILE_BODY,
    request: z.array(ConditionSent).min(1),
    success: CONDITIONS_CREATED,
  },
  createConditionsBulk: {
    section: 'Conditions',
    summary: 'Creates condition records of several users',
    method: 'POST',
    path: '/health-profile/conditions/bulk',
    ...PROFILE,
    bearer: 'not-shown',
    ...PROFILE_BODY,
    request: z.array(ConditionSent).min(1),
    success: CONDITIONS_CREATED,
  },
  readConditions: {
    section: 'Conditions',
    summary: 'Reads the latest condition record by observation date per code and source type',
    method: 'GET',
    path: '/health-profile/conditions',
    ...PROFILE,
    query: AccountQuery,
    success: { status: 200, body: NestedEnvelope(ConditionReturned) },
  },
  createCareTeams: {
    section: 'Care teams',
    summary: 'Creates care team records',
    method: 'POST',
    path: '/health-profile/care-teams',
    ...PROFILE,
    ...PROFILE_BODY,
    request: z.array(CareTeamSent).min(1),
    success: { status: 200, body: Envelope(CareTeamReturned) },
  },
  listCareTeams: {
    section: 'Care teams',
    summary: "Lists a user's care team records; its path is not shown, this is that of the create call",
    method: 'GET',
    path: '/health-profile/care-teams',
    ...PROFILE,
    query: AccountQuery,
    success: { status: 200, body: Envelope(CareTeamReturned) },
  },
  deleteCareTeams: {
    section: 'Care teams',
    summary: 'Deletes care team records by id or npi; 404 when none is deleted',
    method: 'DELETE',
    path: '/health-profile/care-teams',
    ...PROFILE,
    query: CareTeamDeletionQuery,
    success: { status: 204 },
  },
  setPrimaryCare: {
    section: 'Care teams',
    summary: 'Marks a care team entry as the primary care physician',
    method: 'POST',
    path: '/health-profile/care-teams/pcp',
    ...PROFILE,
    ...PROFILE_BODY,
    request: PrimaryCareRequest,
    success: PRIMARY_CARE_MOVED,
  },
  unsetPrimaryCare: {
    section: 'Care teams',
    summary: 'Takes the mark of the primary care physician off a care team entry',
    method: 'DELETE',
    path: '/health-profile/care-teams/pcp',
    ...PROFILE,
    ...PROFILE_BODY,
    request: PrimaryCareRequest,
    success: PRIMARY_CARE_MOVED,
  },
  readAgeResult: {
    section: 'Age assessment',
    summary: 'Reads the age result of a user who has completed the test',
    method: 'GET',
    path: '/bioage/result',
    ...KEY_ALONE,
    query: AccountQuery,
    success: { status: 200, body: AgeResult },
  },
  readAgeResultByAccountId: {
    section: 'Age assessment',
    summary: 'Reads the age result; account ids only',
    method: 'GET',
    path: '/bioage/result/{accountId}',
    ...KEY_ALONE,
    deprecated: true,
    parameters: BY_ACCOUNT_ID,
    success: { status: 200, body: AgeResult },
  },
  listRecommendations: {
    section: 'Age assessment',
    summary: 'Lists the recommendations that follow from a completed test',
    method: 'GET',
    path: '/bioage/assessments/{assessmentId}/recommendations',
    ...KEY_ALONE,
    localised: true,
    parameters: OF_ASSESSMENT,
    query: AccountQuery,
    success: { status: 200, body: Recommendations },
  },
  listRecommendationsByAccountId: {
    section: 'Age assessment',
    summary: 'Lists the recommendations; account ids only',
    method: 'GET',
    path: '/bioage/assessments/{assessmentId}/recommendations/{accountId}',
    ...KEY_ALONE,
    localised: true,
    deprecated: true,
    parameters: OF_ASSESSMENT.extend(BY_ACCOUNT_ID.shape),
    success: { status: 200, body: Recommendations },
  },
  listCompletedQuestions: {
    section: 'Age assessment',
    summary: 'Lists the questions and answers of completed tests',
    method: 'GET',
    path: '/bioage/completed/questions',
    ...KEY_ALONE,
    query: AccountQuery,
    success: { status: 200, body: CompletedAssessments },
  },
  readAssessmentPage: {
    section: 'Age assessment',
    summary: "Reads the current page of the test of the token's user",
    method: 'GET',
    path: '/assessments/bioage',
    ...PROFILE,
    version: '1.0',
    success: { status: 200, body: Envelope(AssessmentPage) },
  },
  submitAnswers: {
    section: 'Age assessment',
    summary: 'Submits the answers of a page and gives the next page',
    method: 'POST',
    path: '/assessments/bioage',
    ...PROFILE,
    version: '1.0',
    ...JSON_BODY,
    request: AnswerSubmission,
    success: { status: 200, body: Envelope(AssessmentPage) },
  },
  listArticles: {
    section: 'Content',
    summary: 'Lists articles; how filters and pages are asked for is not shown',
    method: 'GET',
    path: '/content/distribution/article',
    ...KEY_ALONE,
    version: '1.0.0',
    success: { status: 200, body: Envelope(ContentListItem) },
  },
  readArticle: {
    section: 'Content',
    summary: 'Reads an article',
    method: 'GET',
    path: '/content/distribution/article/{contentId}',
    ...KEY_ALONE,
    version: '1.0.0',
    parameters: z.object({ contentId: z.string().min(1) }),
    success: { status: 200, body: Envelope(ContentDetail) },
  },
  ...MEDICAL_RECORDS_ENDPOINTS,
} as const satisfies Record<string, Endpoint>

/** Names a call of the interface. */
export type EndpointName = keyof typeof ENDPOINTS
