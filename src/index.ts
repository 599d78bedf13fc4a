/**
 * The entry of the package: runs, and the gateway's interface as a typed client. Examples: docs/library.md.
 */

export type { FaultPlan } from '../packages/reference-gateway/src/fault-plan.ts'
export type { ReferenceGateway } from '../packages/reference-gateway/src/server.ts'
export type { AgeAssessment, Assessment } from './gateway/age-assessment.ts'
export type { Answer, CreateAnswer, Echo } from './gateway/answer.ts'
export type { AccessTokenSource } from './gateway/connection-settings.ts'
export type { Account } from './gateway/contract/account.ts'
export * from './gateway/contract/account.ts'
export * from './gateway/contract/age-assessment.ts'
export * from './gateway/contract/content.ts'
export * from './gateway/contract/endpoints.ts'
export * from './gateway/contract/health-profile.ts'
export * from './gateway/contract/medical-records.ts'
export * from './gateway/contract/shared-objects.ts'
export { documented, type Lenient, type Undocumented } from './gateway/contract/shared-objects.ts'
export type { Timeouts } from './gateway/exchange.ts'
export type { Accounts, Content, ContentQuery, Gateway, Registration, UserToken } from './gateway/gateway.ts'
export type { AnswerClass } from './gateway/gateway-error.ts'
export { GatewayError, type GatewayErrorDetails } from './gateway/gateway-error.ts'
export type {
  BiometricEchoed,
  Biometrics,
  CareTeamEchoed,
  CareTeamSelection,
  CareTeams,
  ConditionEchoed,
  Conditions,
} from './gateway/health-profile.ts'
export type { MedicalRecords, Spelling, UpsertAnswer } from './gateway/medical-records.ts'
export type { BodyContent, RequestEvent, TransportOptions } from './gateway/transport.ts'
export { type ErrorCode, WaybillError } from './model/errors.ts'
export * from './open-waybill.ts'
export type { CheckFinding } from './operate/finding.ts'
export type { RunEvent } from './run/events.ts'
export type { DecidedOn, ReconciledRun } from './runs/actions.ts'
export type { Backup, PrunedInstallation } from './runs/installation.ts'
export type { Acknowledged, Acknowledging } from './runs/resolve.ts'
export type { Trace } from './runs/trace.ts'
export type { Running, Waybill } from './runs/waybill.ts'
export type { Step } from './story/next-steps.ts'
export type { JobEnd, ListedRun, RunStory, RunSummary } from './story/run-story.ts'
