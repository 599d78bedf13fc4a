/**
 * What can be collected of a person: for each kind the call, and the columns that it has as CSV. Every call is a read that may be repeated.
 * A kind gives items, also where the interface gives one thing.
 */
import type { Account } from '../gateway/contract/account.ts'
import type { Gateway } from '../gateway/gateway.ts'

/** A read under the run's pace, breaker and patience. @throws GatewayError, WaybillError */
export type Read = <Item>(operation: string, call: () => Promise<readonly Item[]>) => Promise<readonly Item[]>

export interface AskedPerson {
  /** As whoever asks names them: a request for medical records names its patient so. */
  readonly named: Account
  readonly account: Account
  /** Undefined where the crosswalk does not have it. */
  readonly accountId: string | undefined
}

export interface AskingContext {
  readonly gateway: Pick<
    Gateway,
    'ageAssessment' | 'biometrics' | 'conditions' | 'careTeams' | 'medicalRecords' | 'content'
  >
  readonly read: Read
  readonly language: string | undefined
  /** Whether the deprecated forms are used, which take account ids alone (interface, "Versioning"). */
  readonly deprecated: boolean
  /** Which medical-records requests are looked for (interface, "Search body fields"). */
  readonly requests: readonly { readonly type: string; readonly subType: string }[]
}

interface Kind {
  /** It is asked of nobody: an item of the content service. */
  readonly isOfNobody?: true
  /** A 404 to it may as well say that the account has nothing of the kind. */
  readonly mayBeNotFound: boolean
  /** Paths of an item; what stands there and is no scalar is JSON. */
  readonly columns: readonly string[]
  readonly ask: (context: AskingContext, person: AskedPerson) => Promise<readonly object[]>
}

const SOURCE = ['source.name', 'source.type']
const AGE = ['bioAge', 'calendarAge', 'bioAgeDelta'].flatMap((age) => [`${age}.year`, `${age}.month`])

/** By the names that jobs give them. */
export const KINDS = {
  biometrics: {
    mayBeNotFound: false,
    columns: ['id', 'name', 'observationDate', 'value', 'unit', ...SOURCE, 'created', 'updated', 'codes'],
    ask: ({ gateway, read }, { account }) => read('read biometrics', () => gateway.biometrics.read(account)),
  },
  conditions: {
    mayBeNotFound: false,
    columns: ['id', 'name', 'observationDate', ...SOURCE, 'createDate', 'updateDate', 'codes'],
    ask: ({ gateway, read }, { account }) => read('read conditions', () => gateway.conditions.read(account)),
  },
  careTeams: {
    mayBeNotFound: false,
    columns: [
      ...['id', 'name', 'npi', 'type', 'pcp', 'phoneNumber', 'location', 'address', 'city', 'zip'],
      ...['profile', 'observationDate', 'createDate', 'updateDate', ...SOURCE],
    ],
    ask: ({ gateway, read }, { account }) => read('list care teams', () => gateway.careTeams.list(account)),
  },
  ageResult: {
    mayBeNotFound: true,
    columns: ['status', ...AGE, 'completed'],
    ask: ({ gateway: { ageAssessment }, read, deprecated }, person) =>
      read('read age result', async () => {
        const result = deprecated
          ? await ageAssessment.resultByAccountId(idOf(person))
          : await ageAssessment.result(person.account)
        return result === undefined ? [] : [result]
      }),
  },
  completedQuestions: {
    mayBeNotFound: true,
    columns: ['id', 'assessmentId', 'assessmentType', 'created', 'questions'],
    ask: ({ gateway, read }, { account }) =>
      read('list completed questions', () => gateway.ageAssessment.completedQuestions(account)),
  },
  recommendations: {
    mayBeNotFound: true,
    columns: ['assessmentId', 'teaser', 'benefitCost', 'body'],
    ask: async ({ gateway: { ageAssessment }, read, deprecated, language }, person) => {
      const { account } = person
      const completed = await read('list completed questions', () =>
        ageAssessment.completedQuestions(account),
      )
      const assessments = new Set(completed.map(({ assessmentId }) => assessmentId))
      const found: object[] = []
      for (const id of assessments) {
        if (id === undefined) continue
        const of = await read('list recommendations', () =>
          deprecated
            ? ageAssessment.recommendationsByAccountId(id, idOf(person), language)
            : ageAssessment.recommendations(id, account, language),
        )
        for (const one of of) found.push({ assessmentId: id, ...one })
      }
      return found
    },
  },
  requestStatus: {
    mayBeNotFound: true,
    columns: [
      ...['referenceNumber', 'request.type', 'request.requestType', 'request.requestSubType'],
      ...['status.status', 'status.documentAvailable', 'status.updated', 'status.processed'],
      'status.authorizationName',
    ],
    ask: async ({ gateway, read, requests }, { named: { reference, type } }) => {
      const found: object[] = []
      for (const request of requests) {
        const filter = [{ patient: { type, reference }, request }]
        const requested = gateway.medicalRecords.requests(filter, (ask) =>
          read('search medical-records requests', ask),
        )
        for await (const { authorizationUploadUrl: _credential, ...one } of requested) found.push(one)
      }
      return found
    },
  },
  articles: {
    isOfNobody: true,
    mayBeNotFound: true,
    columns: [
      ...['id', 'resourceId', 'type', 'title', 'uri', 'primaryTag.type', 'primaryTag.id'],
      ...['attribution.byLine', 'attribution.byLineUrl', 'image.title', 'image.url', 'body'],
    ],
    ask: ({ gateway, read }, { account: { reference } }) =>
      read('read an article', async () => {
        const article = await gateway.content.article(reference)
        return article === undefined ? [] : [article]
      }),
  },
} satisfies Record<string, Kind>

export type CollectedKind = keyof typeof KINDS

export const kindOf = (name: CollectedKind): Kind => KINDS[name]

/** The deprecated forms need an account id that nobody knows. */
export class NoAccountId extends Error {
  override readonly name = 'NoAccountId'
}

function idOf({ account, accountId }: AskedPerson): string {
  const id = account.type === 'accountId' ? account.reference : accountId
  if (id !== undefined) return id
  throw new NoAccountId('the crosswalk has no account id of the person')
}
