import { z } from 'zod'
import { membersIn } from '../model/json-depth.ts'
import { type Account, AccountReferenceAsRead, accountIdOfEntity } from './contract/account.ts'
import { documented, EnvelopeCode, type EnvelopeError, EnvelopeWith } from './contract/shared-objects.ts'
import { GatewayError } from './gateway-error.ts'

/** Thrown while reading an answer that breaks the interface's promises. The transport adds the class. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
  /** Class of the call if a retry would get the same answer. */
  readonly class: 'refused' | undefined

  constructor(message: string, kind?: 'refused') {
    super(message)
    this.class = kind
  }
}

const UTF8 = new TextDecoder()

/** Complete answer. */
export interface Answer {
  readonly status: number
  /** Id of the request in logs; not sent. */
  readonly requestId: string
  readonly body: Uint8Array
  /** Parses the body as JSON; undefined for other text, and for JSON nested deeper than `DEEPEST`. */
  json(): unknown
  /** Parses the body with a schema. @throws UnreadableAnswer */
  read<Schema extends z.ZodType>(schema: Schema): z.output<Schema>
}

export function createAnswer(status: number, requestId: string, body: Uint8Array): Answer {
  const json = (): unknown => {
    try {
      const value: unknown = JSON.parse(UTF8.decode(body))
      return Number.isNaN(membersIn(value)) ? undefined : value
    } catch {
      // The parser's error quotes the text, which may be health data, so it is dropped.
      return undefined
    }
  }
  return {
    status,
    requestId,
    body,
    json,
    read: (schema) => {
      const value = json()
      if (value === undefined) throw new UnreadableAnswer('the body is not JSON, or nested too deep')
      const parsed = schema.safeParse(value)
      if (parsed.success) return parsed.data
      const issue = parsed.error.issues[0]
      throw new UnreadableAnswer(`the body is not as documented at ${pathOf(issue?.path)} (${issue?.code})`)
    },
  }
}

/** Path of positions and the contract's own keys: `data.17.transactionId`. */
function pathOf(path: readonly PropertyKey[] = []): string {
  return path.length === 0 ? 'its top' : path.map(String).join('.')
}

/** Parts of every envelope beside its data. */
interface Outcome {
  readonly code?: unknown
  readonly data?: unknown
  readonly errors?: readonly EnvelopeError[] | null | undefined
}

/**
 * Checks the envelope's code, which mirrors the HTTP status (section "Envelope"): a failure code contradicts the status line. An object
 * with neither code nor data is not an envelope.
 *
 * @throws UnreadableAnswer
 */
export function checkCode(envelope: Outcome, answer: Answer): void {
  const found = EnvelopeCode.safeParse(envelope.code).data
  if (found === undefined && (envelope.data ?? undefined) === undefined) {
    throw new UnreadableAnswer('the body is not an envelope')
  }
  const code = Number(found ?? answer.status)
  if (code >= 300) throw new UnreadableAnswer(`its envelope holds the code ${code}`)
}

/**
 * Checks the envelope's code, and refuses listed errors, which are "empty on success". An answer with errors may lack records, and a record
 * considered missing would be sent a second time.
 *
 * @throws UnreadableAnswer
 */
export function checkSuccess(envelope: Outcome, answer: Answer): void {
  checkCode(envelope, answer)
  const errors = envelope.errors?.length ?? 0
  if (errors > 0) throw new UnreadableAnswer(`its envelope lists ${errors} error${errors === 1 ? '' : 's'}`)
}

/** Reads the records in the answer to a read. @throws UnreadableAnswer */
export function readItems<Item>(
  answer: Answer,
  schema: z.ZodType<Outcome & { readonly data: readonly Item[] }>,
): readonly Item[] {
  const envelope = answer.read(schema)
  checkSuccess(envelope, answer)
  return envelope.data
}

/** Maximum number of items in an answer per record requested. */
const MOST_ITEMS = 10

/**
 * Checks the length of lists in an answer. @param asked number of records sent or requested. @throws UnreadableAnswer if a list is too long
 */
export function checkNumber(asked: number, ...lists: readonly (readonly unknown[])[]): void {
  if (lists.some(({ length }) => length > MOST_ITEMS * asked))
    throw new UnreadableAnswer(`it holds more than ${MOST_ITEMS} items for each record asked about`)
}

/**
 * Paging of articles and of medical-records requests. The interface documents neither the number of the first page (0 or 1), nor the page
 * length, nor a total. Reading therefore continues until a page is not full or holds nothing new.
 */
interface Paging<Item> {
  /** Number of the first page (default 1). */
  readonly first?: number | undefined
  /** Items on a full page, if known. A shorter page is the last. */
  readonly full?: number | undefined
  readonly keyOf: (item: Item) => string
}

/** Bounds of a list, against a gateway that lists without end. */
const MOST_PAGES = 1_000
const MOST_LISTED = 100_000

/** Yields each item once. @param pageOf reads a page. @throws errors of `pageOf`; GatewayError `refused` beyond the bounds */
export async function* pages<Item>(
  pageOf: (page: number) => Promise<readonly Item[]>,
  { first = 1, full = 1, keyOf }: Paging<Item>,
): AsyncGenerator<Item> {
  const seen = new Set<string>()
  for (let page = first; ; page++) {
    const items = await pageOf(page)
    const before = seen.size
    if (page - first >= MOST_PAGES || before + items.length > MOST_LISTED)
      throw new GatewayError(
        `reading of the list stopped: it has more than ${MOST_PAGES} pages or ${MOST_LISTED} items`,
        {
          class: 'refused',
          requestId: '',
        },
      )
    for (const item of items) {
      const key = keyOf(item)
      if (seen.has(key)) continue
      seen.add(key)
      yield item
    }
    if (items.length < full || seen.size === before) return
  }
}

/** Makes a call, and retries it if its failure allows. */
export type Asking = <Item>(ask: () => Promise<readonly Item[]>) => Promise<readonly Item[]>

/**
 * Refuses records of another account than requested, or of several accounts: they prove nothing about the requested one. Accepts records
 * without an account, or with an account of another reference type.
 *
 * @param named account of each record
 * @throws UnreadableAnswer
 */
export function checkAccount(asked: Pick<Account, 'reference' | 'type'>, named: readonly unknown[]): void {
  const found = distinct(named).flatMap((account) => documented(AccountReferenceAsRead, account) ?? [])
  const of = (...types: readonly string[]) => found.filter(({ type }) => types.includes(type))
  const references = of('partnerAccountId').map(({ reference }) => reference)
  checkOne(asked.type === 'partnerAccountId' ? [asked.reference, ...references] : references)
  const ids = of('accountId', 'entity').map(({ reference }) => accountIdOfEntity(reference))
  checkOne(asked.type === 'accountId' ? [asked.reference, ...ids] : ids)
}

function distinct(named: readonly unknown[]): unknown[] {
  const seen = new Map<unknown, Set<unknown>>()
  return named.filter((account) => {
    if (typeof account !== 'object' || account === null) return false
    const type = 'type' in account ? account.type : undefined
    const reference = 'reference' in account ? account.reference : undefined
    const references = seen.get(type) ?? new Set()
    seen.set(type, references)
    return references.size < references.add(reference).size
  })
}

/** Checks that all ids are equal. @param ids ids of the account. @throws UnreadableAnswer */
export function checkOne(ids: readonly unknown[]): void {
  if (new Set(ids.filter((id) => typeof id === 'string')).size > 1)
    throw new UnreadableAnswer('it holds records of another account')
}

/**
 * Record as echoed by a create call. Its fields are not checked here, to keep large answers cheap. Matching by content reads the record
 * with its contract (`BiometricEcho`, `ConditionReturned`, `CareTeamReturned`).
 */
export interface Echo {
  readonly [field: string]: unknown
  readonly transactionId?: unknown
  readonly id?: unknown
}
const isEcho = (item: unknown): item is Echo =>
  typeof item === 'object' && item !== null && !Array.isArray(item)
const CreateEnvelope = EnvelopeWith(
  z.custom<readonly Echo[]>((data) => Array.isArray(data) && data.every(isEcho)),
)

/** Readable 2xx answer to a create call. */
export interface CreateAnswer<Echoed extends Echo = Echo> {
  readonly status: number
  readonly requestId: string
  /** `accepted` if the answer has as many records as the request, and no errors. */
  readonly class: 'accepted' | 'accepted-in-part'
  /** Echoes in the order of the answer, which may differ from the request. */
  readonly echoes: readonly Echoed[]
  /** Errors in an answer of success. They may contain health data. */
  readonly errors: readonly EnvelopeError[]
}

/** Reads the answer to a create call with `count` records. @throws UnreadableAnswer */
export function readCreateAnswer(answer: Answer, count: number): CreateAnswer {
  const envelope = answer.read(CreateEnvelope)
  checkCode(envelope, answer)
  const echoes = envelope.data
  const errors = envelope.errors ?? []
  checkNumber(count, echoes, errors)
  const complete = echoes.length === count && errors.length === 0
  const { status, requestId } = answer
  return { status, requestId, class: complete ? 'accepted' : 'accepted-in-part', echoes, errors }
}
