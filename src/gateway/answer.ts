import { z } from 'zod'
import { membersIn } from '../model/json-depth.ts'
import { type Account, AccountReferenceAsRead, accountIdOfEntity } from './contract/account.ts'
import { documented, EnvelopeCode, type EnvelopeError, EnvelopeWith } from './contract/shared-objects.ts'
import { GatewayError } from './gateway-error.ts'

/** The answer does not say what the interface promises. Thrown while reading; the transport gives it its class. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
  /** Class of the call if a retry would get the same answer. */
  readonly class: 'refused' | undefined

  constructor(message: string, kind?: 'refused') {
    super(message)
    this.class = kind
  }
}

/** Strips a byte order mark, which JSON.parse refuses and RFC 8259 section 8.1 lets a reader ignore. */
const UTF8 = new TextDecoder()

/** A complete answer. */
export interface Answer {
  readonly status: number
  /** Names the request in logs; it is not sent. */
  readonly requestId: string
  /** As it came, decompressed. */
  readonly body: Uint8Array
  /** The body as JSON; undefined for other text, and for JSON nested deeper than `DEEPEST`. */
  json(): unknown
  /** The body as the schema describes it. @throws UnreadableAnswer */
  read<Schema extends z.ZodType>(schema: Schema): z.output<Schema>
}

export function createAnswer(status: number, requestId: string, body: Uint8Array): Answer {
  const json = (): unknown => {
    try {
      const value: unknown = JSON.parse(UTF8.decode(body))
      return Number.isNaN(membersIn(value)) ? undefined : value
    } catch {
      // The parser's error quotes the text, which may be health data: it is dropped.
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

/** Positions and the contract's own keys: `data.17.transactionId`. */
function pathOf(path: readonly PropertyKey[] = []): string {
  return path.length === 0 ? 'its top' : path.map(String).join('.')
}

/** What every envelope says beside its data. */
interface Outcome {
  readonly code?: unknown
  readonly data?: unknown
  readonly errors?: readonly EnvelopeError[] | null | undefined
}

/**
 * The code mirrors the HTTP status (section "Envelope"): one that tells of failure contradicts the status line. An object
 * with neither code nor data is no envelope, whatever else it holds.
 * @throws UnreadableAnswer
 */
export function checkCode(envelope: Outcome, answer: Answer): void {
  const told = EnvelopeCode.safeParse(envelope.code).data
  if (told === undefined && (envelope.data ?? undefined) === undefined) {
    throw new UnreadableAnswer('the body is no envelope')
  }
  const code = Number(told ?? answer.status)
  if (code >= 300) throw new UnreadableAnswer(`its envelope holds the code ${code}`)
}

/**
 * As `checkCode`, and refuses listed errors, which are "empty on success": an answer with them may lack records, and a
 * record that is taken for missing would be sent a second time. @throws UnreadableAnswer
 */
export function checkSuccess(envelope: Outcome, answer: Answer): void {
  checkCode(envelope, answer)
  const errors = envelope.errors?.length ?? 0
  if (errors > 0) throw new UnreadableAnswer(`its envelope lists ${errors} error${errors === 1 ? '' : 's'}`)
}

/** The records of an answer to a read. @throws UnreadableAnswer */
export function readItems<Item>(
  answer: Answer,
  schema: z.ZodType<Outcome & { readonly data: readonly Item[] }>,
): readonly Item[] {
  const envelope = answer.read(schema)
  checkSuccess(envelope, answer)
  return envelope.data
}

/** Most items of an answer for each record asked about. */
const MOST_ITEMS = 10

/** @param asked number of records sent, or asked about. @throws UnreadableAnswer for a list with more items than the bound */
export function checkNumber(asked: number, ...lists: readonly (readonly unknown[])[]): void {
  if (lists.some(({ length }) => length > MOST_ITEMS * asked))
    throw new UnreadableAnswer(`it holds more than ${MOST_ITEMS} items for each record asked about`)
}

/**
 * The pages of a list, one after the other. Not documented, of articles and of requests for medical records alike: whether the first page is 0
 * or 1, how long a page is, and whether a total is told. So pages are asked for until one is not full, or says nothing new.
 */
interface Paging<Item> {
  /** Number of the first page (default 1). */
  readonly first?: number | undefined
  /** Items of a full page, where that is known: behind a page with fewer there is none. */
  readonly full?: number | undefined
  /** What tells one item from another. */
  readonly keyOf: (item: Item) => string
}

/** Bounds of a list: a gateway may list without end. */
const MOST_PAGES = 1_000
const MOST_LISTED = 100_000

/** Gives each item once. @param pageOf asks for one page. @throws errors of `pageOf`; GatewayError `refused` beyond the bounds */
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
        `the list was given up: it has more than ${MOST_PAGES} pages or ${MOST_LISTED} items`,
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

/** Makes a call, again where it is to be made again after a failure. */
export type Asking = <Item>(ask: () => Promise<readonly Item[]>) => Promise<readonly Item[]>

/**
 * Refuses records of another account than the one that was asked about, or of several: what they show, or lack, says nothing
 * of that one. Records that name no account, or not in the way in which it was asked about, are borne.
 * @param named the account that each record names
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

/** Mostly all name the same account: what is the same is looked at once. */
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

/** @param ids what should be the same account. @throws UnreadableAnswer */
export function checkOne(ids: readonly unknown[]): void {
  if (new Set(ids.filter((id) => typeof id === 'string')).size > 1)
    throw new UnreadableAnswer('it holds records of another account')
}

/**
 * A record as a create call echoes it. Nothing of it is looked at here, to keep a large answer cheap; whoever matches a record by its
 * contents reads it with its contract (`BiometricEcho`, `ConditionReturned`, `CareTeamReturned`).
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

/** A readable 2xx answer to a create call. */
export interface CreateAnswer<Echoed extends Echo = Echo> {
  readonly status: number
  /** Names the request in logs; it is not sent. */
  readonly requestId: string
  /** `accepted` where as many records came back as were sent and no error is listed. */
  readonly class: 'accepted' | 'accepted-in-part'
  /** In the order of the answer, which need not be that of the request. */
  readonly echoes: readonly Echoed[]
  /** Errors listed in an answer of success. They may repeat health data. */
  readonly errors: readonly EnvelopeError[]
}

/** Reads the answer to a create call that sent `count` records. @throws UnreadableAnswer */
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
