import { type Accounts, createAccounts } from './accounts.ts'
import { type Biometrics, createBiometrics } from './biometrics.ts'
import { type CareTeams, createCareTeams } from './care-teams.ts'
import { type Conditions, createConditions } from './conditions.ts'
import { createTransport, type TransportOptions } from './transport.ts'

export type GatewayOptions = TransportOptions

/** The gateway's interface as a typed client. Every call sends one request and retries nothing. */
export interface Gateway {
  readonly accounts: Accounts
  readonly biometrics: Biometrics
  readonly conditions: Conditions
  readonly careTeams: CareTeams
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
    renewToken: transport.renewToken,
    close: transport.close,
  }
}
