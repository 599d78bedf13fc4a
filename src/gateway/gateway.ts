import { WaybillError } from '../model/errors.ts'
import { createAccounts } from './accounts.ts'
import { type Assessment, createAgeAssessment, createAssessment } from './age-assessment.ts'
import { checkCredential } from './connection-settings.ts'
import { createContent } from './content.ts'
import type { Account } from './contract/account.ts'
import { createBiometrics, createCareTeams, createConditions } from './health-profile.ts'
import { createMedicalRecords, type Spelling } from './medical-records.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

/** @throws WaybillError `gateway-refused-credentials` where there is none of this person */
export type UserToken = (account: Account) => Promise<string>

export interface GatewayOptions extends TransportOptions {
  /** How fields with two spellings are sent. */
  readonly spelling?: Spelling
  /** Gives a person's own bearer token, with which the paged test is answered (section "Age assessment"). */
  readonly userToken?: UserToken | undefined
}

/** The gateway's interface as a typed client. Every call sends one request and retries nothing. */
export interface Gateway extends Readonly<ReturnType<typeof sectionsOver>> {
  /** The same gateway and connections, whose calls end with the signal: as those without an answer do, `ambiguous` where bytes may have left. */
  during(signal: AbortSignal): Gateway
  /** Fetches the access token anew, after a call failed with the class `stale-token`. */
  renewToken(): Promise<void>
  /** Closes the connections; what is under way fails as ambiguous. */
  close(): void
}

/** @throws WaybillError `settings-invalid`: an address or a credential that cannot be used */
export function createGateway(options: GatewayOptions): Gateway {
  return gatewayOver(createTransport(options), options)
}

type OverTransport = Pick<GatewayOptions, 'userToken' | 'spelling'>

function gatewayOver(transport: Transport, options: OverTransport): Gateway {
  return {
    ...sectionsOver(transport, options),
    during: (signal) =>
      gatewayOver({ ...transport, send: (call, read) => transport.send({ ...call, signal }, read) }, options),
    renewToken: transport.renewToken,
    close: transport.close,
  }
}

function sectionsOver(transport: Transport, options: OverTransport) {
  return {
    accounts: createAccounts(transport),
    biometrics: createBiometrics(transport),
    conditions: createConditions(transport),
    careTeams: createCareTeams(transport),
    ageAssessment: createAgeAssessment(transport),
    assessment: createAssessment(transport),
    /**
     * The paged test as that person.
     * @throws WaybillError `settings-invalid` where nothing gives tokens of persons; what `userToken` throws
     */
    async assessmentAs(account: Account): Promise<Assessment> {
      if (options.userToken === undefined)
        throw new WaybillError(
          'settings-invalid',
          'the test is answered as the person, and nothing gives tokens of persons',
          {
            remedy:
              'Set WAYBILL_USER_TOKEN_COMMAND to a command that prints the token of WAYBILL_ACCOUNT_REFERENCE.',
          },
        )
      return createAssessment(
        transport,
        checkCredential(await options.userToken(account), 'WAYBILL_USER_TOKEN_COMMAND'),
      )
    },
    content: createContent(transport),
    medicalRecords: createMedicalRecords(transport, options.spelling),
  }
}
