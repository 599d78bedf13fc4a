/**
 * What becomes of a batch that is refused. At a gateway that stores a batch whole or not at all, what is said of one record says something of the
 * others, too.
 *
 * The parts in which it goes out again: most gateways say which record is to blame, so that one goes alone, and the others together. What a
 * refusal says is a hint and no more, as each part is judged by its own answer; where it was wrong once, the rest is halved.
 *
 * Whether a request fails by itself, while the gateway takes others of its kind, or the gateway is at fault: what gets through and what fails is
 * counted here for one run; what follows from it is decided by `src/load/retry-policy.ts`.
 */

import type { CreateAnswer } from '../gateway/answer.ts'
import { placesIn } from '../gateway/contract/shared-objects.ts'
import { type AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import type { Verdict } from '../model/outcome.ts'
import type { RecordKind } from '../model/record.ts'
import { type Failure, type Purpose, TRIES_OF_A_BATCH, TRIES_OF_ONE } from './retry-policy.ts'

/** A batch as it was sent. */
export interface BatchSent {
  readonly batchId: string
  readonly kind: RecordKind
  readonly records: number
  readonly bytes: number
  /** From 1. */
  readonly attempt: number
}

/** What became of the request. Codes and counts; no health data. */
export interface BatchAnswer extends BatchSent {
  readonly class: AnswerClass
  /** Undefined where no status line came. */
  readonly status: number | undefined
  readonly requestId: string
  readonly durationMs: number
}

export interface BatchWatch {
  readonly now: () => number
  readonly onBatch?: ((answer: BatchAnswer) => void) | undefined
}

/** @throws what `call` throws */
export async function watchBatch<Told extends Pick<CreateAnswer, 'class' | 'status' | 'requestId'>>(
  { now, onBatch }: BatchWatch,
  sent: BatchSent,
  call: () => Promise<Told>,
): Promise<Told> {
  if (onBatch === undefined) return call()
  const startedAt = now()
  const tell = (answer: Pick<BatchAnswer, 'class' | 'status' | 'requestId'>): void => {
    const { class: outcome, status, requestId } = answer
    onBatch({ ...sent, class: outcome, status, requestId, durationMs: Math.max(0, now() - startedAt) })
  }
  try {
    const answer = await call()
    tell(answer)
    return answer
  } catch (error) {
    if (error instanceof GatewayError) tell(error)
    throw error
  }
}

/**
 * @param batch all records of one request, and no others
 * @param verdicts those that contradict each other speak for themselves alone: then the gateway is not what it was taken for
 */
export function speakForBatch(
  batch: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): Map<Entry, Verdict> {
  const own = batch.map((entry) => [entry, verdicts.get(entry) ?? 'hidden'] as const)
  const known = new Set(
    own.map(([, verdict]) => verdict).filter((one) => one === 'stored' || one === 'absent'),
  )
  const [only] = known
  if (known.size !== 1 || only === undefined) return new Map(own)
  return new Map(batch.map((entry) => [entry, only]))
}

/** @param job whether its gateway is known to be such */
export const spokenFor = (
  job: { readonly batchesAreAtomic: boolean },
  entries: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): ReadonlyMap<Entry, Verdict> => (job.batchesAreAtomic ? speakForBatch(entries, verdicts) : verdicts)

/** The two halves, in their order. */
export function halve<Item>(items: readonly Item[]): [Item[], Item[]] {
  const middle = Math.ceil(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)]
}

/** Whom a refusal names, and all others. */
export interface RefusedParts<Item> {
  readonly named: readonly Item[]
  readonly others: Item[]
}

/**
 * @param items of the batch, in the order in which they were sent
 * @param refusal the body of the answer, as JSON gives it; undefined where it was none
 * @param idOf what the gateway may call the item by
 * @returns undefined where the refusal names none, or so many that halving is as quick
 */
export function partsOfRefused<Item>(
  items: readonly Item[],
  refusal: unknown,
  idOf: (item: Item) => string,
): RefusedParts<Item> | undefined {
  const named = namedBy(items, refusal, idOf)
  if (named.size === 0 || named.size > items.length / 2) return undefined
  return { named: [...named], others: items.filter((item) => !named.has(item)) }
}

/** How the parts of a refused batch go out. */
interface Resending<Item, Outcome> {
  /** The body of the refusal; undefined where it names nobody. */
  readonly refusal: unknown
  readonly idOf: (item: Item) => string
  /** Whether those whom an earlier refusal named were refused alone, too: else it is halved. */
  readonly namesHold: Promise<boolean> | undefined
  readonly send: (items: Item[], namesHold: Promise<boolean> | undefined) => Promise<Outcome[]>
  readonly isRefused: (outcome: Outcome) => boolean
}

/** @throws what `send` throws, once all parts are done */
export async function sendInParts<Item, Outcome>(
  items: readonly Item[],
  { refusal, idOf, namesHold, send, isRefused }: Resending<Item, Outcome>,
): Promise<Outcome[]> {
  const isBelieved = (await namesHold) !== false
  const parts = isBelieved ? partsOfRefused(items, refusal, idOf) : undefined
  if (parts === undefined) return allOf(halve(items).map((half) => send(half, namesHold)))
  const alone = allOf(parts.named.map((item) => send([item], undefined)))
  const hold = alone.then(
    (outcomes) => outcomes.some(isRefused),
    () => false,
  )
  return allOf([alone, send(parts.others, hold)])
}

const allOf = async <Outcome>(sent: readonly Promise<Outcome[]>[]): Promise<Outcome[]> =>
  (await allDone(sent)).flat()

function namedBy<Item>(
  items: readonly Item[],
  refusal: unknown,
  idOf: (item: Item) => string,
): ReadonlySet<Item> {
  if (refusal === undefined || refusal === null) return new Set()
  const text = JSON.stringify(refusal)
  const byId = items.filter((item) => text.includes(idOf(item)))
  if (byId.length > 0) return new Set(byId)
  const at = (place: number): readonly Item[] => items.slice(place, place + 1)
  const inPaths = [...text.matchAll(PATHS)].flatMap(([, index, step]) => at(Number(index ?? step)))
  if (inPaths.length > 0) return new Set(inPaths)
  const counted = [...text.matchAll(COUNTED)].map(([, count]) => Number(count))
  const places = [...placesIn(refusal), ...counted]
  // Whether the first is 0 or 1 is not documented: where no place tells, it may be either.
  const fromZero = places.includes(0)
  return new Set(places.flatMap((place) => [...at(place), ...(fromZero || place === 0 ? [] : at(place - 1))]))
}

/** `records[3].value`, `/3/value`, `body/3/value`: paths count from 0. */
const PATHS = /[a-z$"]?\[(\d{1,6})\]|[a-z"\s][./](\d{1,6})[./][a-z]/gi
/** `record 3 of 500`, `the patient block of request 3` (interface, "Errors"). */
const COUNTED = /\b(?:record|request|item|element|entry|object|position|index)\s*#?(\d{1,6})\b/gi

/** On so many people the gateway may fail where no other write gets through; where it fails on more, the gateway is at fault. */
const A_FEW = 3
/** So many batches of several people, and halves of them, may fail, once the patience is at its end, before one gets through. */
const MOST_HALVES = 32

export interface Others {
  gotThrough(purpose: Purpose, operation: string): void
  /**
   * Whether a batch may be given up at the end of the patience. Of several records halves are tried, which may get through.
   * @param people those whose records it holds
   */
  mayGiveUpBatch(people: ReadonlySet<string>): boolean
  /** Whether one of this person alone was given up, and no write has got through since: what fails for the next is known. */
  hasGivenUp(people: ReadonlySet<string>): boolean
  /** A request that is about to be sent. */
  request(purpose: Purpose, operation: string): Alone
}

/** One request, over all of its tries. */
export interface Alone {
  /** Tries that may have been taken, or were. */
  readonly ambiguous: number
  /** When the first of them failed, milliseconds since the epoch. */
  readonly since: number | undefined
  /** Counts such a try. */
  failed(at: number): Pick<Failure, 'ambiguous' | 'othersSinceFirst' | 'othersSinceLast'>
  /** Whether it may be given up at the end of the patience: `ask` where the gateway then answers a question about nobody. */
  atEnd(): 'give-up' | 'ask' | 'stop'
}

export function countOthers(): Others {
  const through = { read: 0, write: 0 }
  /** Writes that failed since one got through: each registration, and batches as one. */
  const failing = new Set<unknown>()
  /** How often follow-ups failed since one of their operation got through: where all of them do, each is tried half as often. */
  const followUps = new Map<string, number>()

  /** Since a write got through: batches of several people, and people who were alone in theirs. */
  const noneGivenUp = () => ({ batches: 0, people: new Set<string>() })
  let givenUp = noneGivenUp()

  return {
    gotThrough(purpose, operation) {
      through[sideOf(purpose)]++
      if (purpose !== 'read') {
        failing.clear()
        givenUp = noneGivenUp()
      }
      followUps.delete(operation)
    },
    mayGiveUpBatch(people) {
      const [person, ...more] = people
      if (person !== undefined && more.length === 0) givenUp.people.add(person)
      else givenUp.batches++
      return givenUp.batches <= MOST_HALVES && givenUp.people.size <= A_FEW
    },
    hasGivenUp: (people) => people.size === 1 && people.isSubsetOf(givenUp.people),
    request(purpose, operation) {
      const side = sideOf(purpose)
      let first: { readonly at: number; readonly through: typeof through } | undefined
      let last = 0
      let ambiguous = 0
      const alone: Alone = {
        get ambiguous() {
          return ambiguous
        },
        get since() {
          return first?.at
        },
        failed(at) {
          const othersSinceFirst = first !== undefined && through[side] > first.through[side]
          const othersSinceLast = first !== undefined && through[side] > last
          first ??= { at, through: { ...through } }
          last = through[side]
          ambiguous++
          if (purpose === 'registration') failing.add(alone)
          if (purpose === 'batch') failing.add(purpose)
          if (purpose === 'follow-up') followUps.set(operation, (followUps.get(operation) ?? 0) + 1)
          const isEnough = ambiguous >= TRIES_OF_A_BATCH && (followUps.get(operation) ?? 0) >= TRIES_OF_ONE
          return {
            ambiguous: isEnough ? Math.max(ambiguous, TRIES_OF_ONE) : ambiguous,
            othersSinceFirst,
            othersSinceLast,
          }
        },
        atEnd() {
          if (first === undefined || purpose === 'batch') return 'stop'
          if (purpose === 'registration') return failing.size <= A_FEW ? 'ask' : 'stop'
          const { read, write } = first.through
          return through.read > read || through.write > write ? 'give-up' : 'ask'
        },
      }
      return alone
    },
  }
}

const sideOf = (purpose: Purpose): 'read' | 'write' => (purpose === 'read' ? 'read' : 'write')
