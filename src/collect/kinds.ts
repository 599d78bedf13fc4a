/**
 * Kinds of data to collect of a person: for each the call, and the columns in CSV. Every call is a read, safe to repeat. A kind returns
 * items, even where the interface returns one object. A person without items, an unknown account and a refused person have different
 * outcomes. As text, a person is a line of NDJSON, or rows of CSV in a file for each kind.
 */

import type { Account } from '../gateway/contract/account.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { Fault } from '../model/record.ts'
import { csvCells } from '../system/csv-text.ts'

/** Reads under the run's pace, breaker and patience. @throws GatewayError, WaybillError */
export type Read = <Item>(operation: string, call: () => Promise<readonly Item[]>) => Promise<readonly Item[]>

interface AskedPerson {
  /** Account as the caller names it: a request for medical records names its patient this way. */
  readonly named: Account
  readonly account: Account
  /** Undefined if missing in the crosswalk. */
  readonly accountId: string | undefined
}

interface AskingContext {
  readonly gateway: Pick<
    Gateway,
    'ageAssessment' | 'biometrics' | 'conditions' | 'careTeams' | 'medicalRecords' | 'content'
  >
  readonly read: Read
  readonly language: string | undefined
  /** True to use the deprecated forms, which accept account ids alone (interface, "Versioning"). */
  readonly deprecated: boolean
  /** Types of medical-records requests to search (interface, "Search body fields"). */
  readonly requests: readonly { readonly type: string; readonly subType: string }[]
}

interface Kind {
  /** True for a kind that belongs to nobody: an item of the content service. */
  readonly isOfNobody?: true
  /** True if a 404 may also mean that the account has nothing of the kind. */
  readonly mayBeNotFound: boolean
  /** Paths of an item; a value that is no scalar becomes JSON. */
  readonly columns: readonly string[]
  readonly ask: (context: AskingContext, person: AskedPerson) => Promise<readonly object[]>
}

const SOURCE = ['source.name', 'source.type']
const AGE = ['bioAge', 'calendarAge', 'bioAgeDelta'].flatMap((age) => [`${age}.year`, `${age}.month`])

/** Kinds by their names in jobs. */
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

type CollectedKind = keyof typeof KINDS

export const kindOf = (name: CollectedKind): Kind => KINDS[name]

/** Thrown where a deprecated form needs an account id, and none is known. */
class NoAccountId extends Error {
  override readonly name = 'NoAccountId'
}

function idOf({ account, accountId }: AskedPerson): string {
  const id = account.type === 'accountId' ? account.reference : accountId
  if (id !== undefined) return id
  throw new NoAccountId('the crosswalk has no account id of the person')
}

type CollectionFormat = 'ndjson' | 'csv'

/** Text by the name of the file. */
export type CollectedText = ReadonlyMap<string, string>

const NDJSON = 'people.ndjson'
/** Items of the content service, a line each. */
export const ARTICLES = 'articles.ndjson'
/** Articles that are no longer listed. */
export const GONE = 'gone.ndjson'

/** Files of a collection, each with its header. */
export const filesOf = (format: CollectionFormat, kinds: readonly CollectedKind[]): CollectedText => {
  const areArticles = kinds.some((kind) => kindOf(kind).isOfNobody === true)
  const gone: readonly (readonly [string, string])[] = areArticles ? [[GONE, '']] : []
  if (format === 'ndjson') return new Map([[areArticles ? ARTICLES : NDJSON, ''], ...gone])
  const headOf = (kind: CollectedKind): string => csvLine([...whoOf(kind), ...kindOf(kind).columns])
  return new Map([...kinds.map((kind) => [`${kind}.csv`, headOf(kind)] as const), ...gone])
}

const PERSON = ['reference', 'type', 'accountId']
const whoOf = (kind: CollectedKind): readonly string[] => (kindOf(kind).isOfNobody === true ? [] : PERSON)

/** Items as JSON text, by kind: made once, for the line and for the hash. */
type ItemTexts = readonly (readonly [kind: string, items: readonly string[]])[]

export const itemTexts = (parts: Parts): ItemTexts =>
  Object.entries(parts).map(([kind, items]) => [kind, items.map((item) => JSON.stringify(item))])

/** @param texts JSON texts of `parts` */
export function textOf(
  format: CollectionFormat,
  person: AskedPerson,
  parts: Parts,
  texts: ItemTexts,
): CollectedText {
  const { account, accountId } = person
  const articles = texts.find(([kind]) => kind === 'articles')
  if (format === 'ndjson' && articles !== undefined)
    return new Map([[ARTICLES, articles[1].map((article) => `${article}\n`).join('')]])
  if (format === 'ndjson') {
    const { reference, type } = account
    const who = JSON.stringify({ account: { reference, type }, accountId })
    const members = texts.map(([kind, items]) => `,${JSON.stringify(kind)}:[${items.join(',')}]`)
    return new Map([[NDJSON, `${who.slice(0, -1)}${members.join('')}}\n`]])
  }
  const who = [account.reference, account.type, accountId ?? '']
  return new Map(
    Object.entries(parts).map(([kind, items]) => {
      const { columns } = kindOf(kind as CollectedKind)
      const ofWhom = kindOf(kind as CollectedKind).isOfNobody === true ? [] : who
      const lines = items.map((item) => csvLine([...ofWhom, ...columns.map((path) => cellOf(item, path))]))
      return [`${kind}.csv`, lines.join('')]
    }),
  )
}

/** Text for comparison: equal for equal items in any order. JSON text has no line end. */
export const contentOf = (texts: ItemTexts): string =>
  texts.map(([kind, items]) => [kind, ...items.toSorted()].join('\n')).join('\n\n')

function cellOf(item: object, path: string): string {
  let value: unknown = item
  for (const key of path.split('.'))
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const csvLine = (cells: readonly string[]): string => `${csvCells(cells, true)}\n`

type Parts = Readonly<Partial<Record<CollectedKind, readonly object[]>>>

export type CollectedPerson =
  | { readonly outcome: 'collected'; readonly parts: Parts }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'refused'; readonly fault: Fault }

/** @throws WaybillError that stops the run */
export async function collectPerson(
  context: AskingContext,
  kinds: readonly CollectedKind[],
  person: AskedPerson,
): Promise<CollectedPerson> {
  try {
    let isThere = false
    const entries: [CollectedKind, readonly object[]][] = []
    for (const kind of kinds) {
      const { mayBeNotFound } = kindOf(kind)
      const items = await ask(context, kind, person)
      // A success of a profile read shows that the account exists, even with an empty answer.
      isThere ||= items.length > 0 || !mayBeNotFound
      entries.push([kind, items])
    }
    const isEmpty = entries.every(([, items]) => items.length === 0)
    if (!isEmpty) return { outcome: 'collected', parts: Object.fromEntries(entries) }
    if (!isThere && kinds.every((kind) => kindOf(kind).isOfNobody !== true))
      await kindOf('biometrics').ask(context, person)
    return { outcome: 'none' }
  } catch (error) {
    const fault = faultOf(error)
    if (fault === undefined) throw error
    return { outcome: 'refused', fault }
  }
}

async function ask(
  context: AskingContext,
  kind: CollectedKind,
  person: AskedPerson,
): Promise<readonly object[]> {
  const { mayBeNotFound, ask: call } = kindOf(kind)
  try {
    return await call(context, person)
  } catch (error) {
    if (mayBeNotFound && error instanceof GatewayError && saysNotFound(error)) return []
    throw error
  }
}

/** Fault without words of the gateway: they may hold health data. */
function faultOf(error: unknown): Fault | undefined {
  if (error instanceof NoAccountId)
    return {
      code: 'account-id-unknown',
      message: 'the deprecated forms need an account id, and none is known',
    }
  if (!(error instanceof GatewayError)) return undefined
  if (saysNotFound(error))
    return { code: 'account-not-there', message: 'the gateway does not know the account' }
  const answer = error.status === undefined ? 'no answer' : `HTTP ${error.status}`
  return error.class === 'refused'
    ? { code: 'collect-refused', message: `the gateway refused to answer: ${answer}` }
    : { code: 'collect-fails', message: `${answer} on every try; other requests succeed` }
}
