/**
 * The entry of the package: the gateway's interface as a typed client.
 *
 *     import { createGateway } from 'waybill'
 *
 *     const gateway = createGateway({
 *       baseUrl: 'https://gateway.example',
 *       apiKey, // from where the program keeps its secrets
 *       accessToken: async () => token,
 *       now: Date.now,
 *       nextRequestId: () => crypto.randomUUID(),
 *     })
 *     const latest = await gateway.biometrics.read({ reference: 'p-1', type: 'partnerAccountId' })
 */

export type { AccessTokenSource } from './gateway/access-token.ts'
export type { Account } from './gateway/account-query.ts'
export type { Accounts, Registration } from './gateway/accounts.ts'
export type { AgeAssessment } from './gateway/age-assessment.ts'
export type { AnswerClass } from './gateway/answer-class.ts'
export type { Assessment } from './gateway/assessment.ts'
export type { Biometrics } from './gateway/biometrics.ts'
export type { CareTeamSelection, CareTeams } from './gateway/care-teams.ts'
export type { Conditions } from './gateway/conditions.ts'
export type { Content, ContentQuery } from './gateway/content.ts'
export * from './gateway/contract/account-reference.ts'
export * from './gateway/contract/age-result.ts'
export * from './gateway/contract/assessment-page.ts'
export * from './gateway/contract/biometric.ts'
export * from './gateway/contract/care-team.ts'
export * from './gateway/contract/code.ts'
export * from './gateway/contract/condition.ts'
export * from './gateway/contract/content.ts'
export * from './gateway/contract/endpoint.ts'
export * from './gateway/contract/endpoints.ts'
export * from './gateway/contract/envelope.ts'
export * from './gateway/contract/medical-records-request.ts'
export * from './gateway/contract/observation-date.ts'
export * from './gateway/contract/registration.ts'
export * from './gateway/contract/source.ts'
export { documented, type Lenient, type Undocumented } from './gateway/contract/tolerated.ts'
export type { CreateAnswer, Echo } from './gateway/create-answer.ts'
export { createGateway, type Gateway, type GatewayOptions } from './gateway/gateway.ts'
export { GatewayError, type GatewayErrorDetails } from './gateway/gateway-error.ts'
export type { MedicalRecords, UpsertAnswer } from './gateway/medical-records.ts'
export type { Spelling } from './gateway/spelling.ts'
export type { BodyContent, RequestEvent, Timeouts, TransportOptions } from './gateway/transport.ts'
export { type ErrorCode, WaybillError } from './model/errors.ts'
