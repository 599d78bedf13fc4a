import { z } from 'zod'
import {
  type Answer,
  type CreateAnswer,
  checkAccount,
  checkOne,
  checkSuccess,
  type Echo,
  readCreateAnswer,
  readItems,
  UnreadableAnswer,
} from './answer.ts'
import { type Account, accountIdOfEntity, accountQuery, type EntityQuery } from './contract/account.ts'
import type { EndpointName } from './contract/endpoints.ts'
import {
  BiometricEcho,
  BiometricRead,
  type BiometricSent,
  CareTeamDeletionQuery,
  CareTeamReturned,
  type CareTeamSent,
  ConditionReturned,
  type ConditionSent,
  PrimaryCareRequest,
  PrimaryCareReturned,
} from './contract/health-profile.ts'
import { CodeAsRead, Envelope, InstantAsRead, NestedEnvelope, tolerated } from './contract/shared-objects.ts'
import { codeOfErrorBody, saysNotFound } from './gateway-error.ts'
import type { BodyContent, Transport } from './transport.ts'

/** Echoes as received. An echo without the fields for matching is still an echo; the caller decides. */
const BiometricEchoed = BiometricEcho.extend({ transactionId: tolerated(z.string()) })
export type BiometricEchoed = z.infer<typeof BiometricEchoed>
const ConditionEchoed = ConditionReturned.extend({
  codes: tolerated(z.array(CodeAsRead)),
  observationDate: tolerated(InstantAsRead),
})
export type ConditionEchoed = z.infer<typeof ConditionEchoed>
const CareTeamEchoed = CareTeamReturned.extend({ id: tolerated(z.string()) })
export type CareTeamEchoed = z.infer<typeof CareTeamEchoed>

/** Creates records of any kind. @param echo accepts any object */
function creates<Sent, Echoed extends Echo>(
  transport: Transport,
  one: EndpointName,
  bulk: EndpointName,
  echo: z.ZodType<Echoed>,
) {
  const post = (endpoint: EndpointName, records: readonly Sent[]): Promise<CreateAnswer<Echoed>> =>
    transport.send({ endpoint, body: JSON.stringify(records) }, (answer) => {
      const read = readCreateAnswer(answer, records.length)
      return { ...read, echoes: read.echoes.map((one) => echo.parse(one)) }
    })
  return {
    /** Sends records of any number of accounts. @throws GatewayError */
    createBulk: (records: readonly Sent[]) => post(bulk, records),
    /**
     * Sends a JSON array of `count` records, of any number of accounts, unchanged.
     *
     * @param recognise examines the answer first; if it returns undefined, the answer is read as a whole
     * @throws GatewayError
     */
    sendBulk: <Recognised = never>(
      body: BodyContent,
      count: number,
      recognise?: (answer: Answer) => Recognised | undefined,
    ): Promise<CreateAnswer | Recognised> =>
      transport.send(
        { endpoint: bulk, body },
        (answer) => recognise?.(answer) ?? readCreateAnswer(answer, count),
      ),
    /** Sends records. Biometrics and conditions must belong to a single account. @throws GatewayError */
    create: (records: readonly Sent[]) => post(one, records),
  }
}

const BiometricsEnvelope = Envelope(BiometricRead)

/** Biometric records (section "Biometrics"). */
export type Biometrics = ReturnType<typeof createBiometrics>

export function createBiometrics(transport: Transport) {
  return {
    ...creates<BiometricSent, BiometricEchoed>(
      transport,
      'createBiometrics',
      'createBiometricsBulk',
      BiometricEchoed,
    ),
    /**
     * Reads the account's latest record by observation date per code and source type. `entity`, the URL form, may replace the account
     * reference.
     *
     * @throws GatewayError; `ambiguous` also if the answer has records of another account
     */
    read(account: Account | z.infer<typeof EntityQuery>): Promise<readonly z.infer<typeof BiometricRead>[]> {
      const [query, asked] =
        'entity' in account
          ? [new URLSearchParams(account), accountOfEntity(account)]
          : [accountQuery(account), account]
      return transport.send({ endpoint: 'readBiometrics', query }, (answer) => {
        const records = readItems(answer, BiometricsEnvelope)
        const named = records.map(({ accountReference }) => accountReference)
        checkAccount(asked, named)
        return records
      })
    },
  }
}

const accountOfEntity = ({ entity }: z.infer<typeof EntityQuery>): Account => ({
  reference: accountIdOfEntity(entity),
  type: 'accountId',
})

const ConditionsEnvelope = NestedEnvelope(ConditionReturned)

/** Condition records (section "Conditions"). */
export type Conditions = ReturnType<typeof createConditions>

export function createConditions(transport: Transport) {
  return {
    ...creates<ConditionSent, ConditionEchoed>(
      transport,
      'createConditions',
      'createConditionsBulk',
      ConditionEchoed,
    ),
    /** Reads the account's latest record by observation date per code and source type. @throws GatewayError like the read of biometrics */
    read: (asked: Account): Promise<readonly z.infer<typeof ConditionReturned>[]> =>
      transport.send({ endpoint: 'readConditions', query: accountQuery(asked) }, (answer) => {
        const outer = answer.read(ConditionsEnvelope)
        checkSuccess(outer, answer)
        checkSuccess(outer.data, answer)
        const named = outer.data.data.map(({ account }) => account)
        checkAccount(asked, named)
        return outer.data.data
      }),
  }
}

/** Entries to delete, at least one. */
export type CareTeamSelection = Pick<z.infer<typeof CareTeamDeletionQuery>, 'id' | 'npi'>

const CareTeamsEnvelope = Envelope(CareTeamReturned)
const MarkEnvelope = Envelope(PrimaryCareReturned)

/** Care team records and the mark of the primary care physician (section "Care teams"). */
export type CareTeams = ReturnType<typeof createCareTeams>

export function createCareTeams(transport: Transport) {
  const mark = (endpoint: EndpointName) => async (request: z.infer<typeof PrimaryCareRequest>) =>
    transport.send({ endpoint, body: JSON.stringify(PrimaryCareRequest.parse(request)) }, (answer) => {
      readItems(answer, MarkEnvelope)
    })
  return {
    ...creates<CareTeamSent, CareTeamEchoed>(transport, 'createCareTeams', 'createCareTeams', CareTeamEchoed),
    /** Lists the entries of an account. @throws GatewayError; `ambiguous` also if the answer has entries of several users */
    list: (account: Account): Promise<readonly CareTeamReturned[]> =>
      transport.send({ endpoint: 'listCareTeams', query: accountQuery(account) }, (answer) => {
        const entries = readItems(answer, CareTeamsEnvelope)
        checkOne(entries.map(({ userId }) => userId))
        return entries
      }),
    /**
     * Deletes entries. True if at least one was deleted (204), false if none (404 in an envelope; any other 404 may come from a proxy).
     *
     * @throws GatewayError
     */
    delete: async (account: Account, entries: CareTeamSelection): Promise<boolean> =>
      transport.send(
        { endpoint: 'deleteCareTeams', query: deletionQuery(account, entries), alsoAnswers: [404] },
        (answer) => {
          if (answer.status !== 404) return true
          const { status, json } = answer
          if (saysNotFound({ status, envelopeCode: codeOfErrorBody(json()) })) return false
          throw new UnreadableAnswer('a 404 without an envelope does not say that the entry is gone')
        },
      ),
    /** Marks an entry, by id or npi, as the primary care physician; all other entries of the user lose the mark. @throws GatewayError */
    setPrimary: mark('setPrimaryCare'),
    /** Removes the mark of an entry. @throws GatewayError */
    unsetPrimary: mark('unsetPrimaryCare'),
  }
}

function deletionQuery(account: Account, entries: CareTeamSelection): URLSearchParams {
  const query = accountQuery(account)
  const { id = [], npi = [] } = CareTeamDeletionQuery.parse({ ...Object.fromEntries(query), ...entries })
  for (const one of id) query.append('id', one)
  for (const one of npi) query.append('npi', one)
  return query
}
