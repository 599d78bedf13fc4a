/**
 * Parts of a refused batch to send again. Most gateways name the faulty record: it goes alone, and the rest together. The words of a refusal are only
 * a hint, as each part is judged by its own answer; after one wrong hint the rest is halved.
 */
import { placesIn } from '../gateway/contract/shared-objects.ts'
import { allDone } from '../model/errors.ts'

/** Two halves of the items, in order. */
export function halve<Item>(items: readonly Item[]): [Item[], Item[]] {
  const middle = Math.ceil(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)]
}

/**
 * @param items of the batch, in the order sent
 * @param refusal body of the answer, as parsed JSON; undefined without one
 * @param idOf name that the gateway may use for the item
 * @returns items named in the refusal, and all others; undefined where none is named, or so many that halving is as quick
 */
export function partsOfRefused<Item>(items: readonly Item[], refusal: unknown, idOf: (item: Item) => string) {
  const named = namedBy(items, refusal, idOf)
  if (named.size === 0 || named.size > items.length / 2) return undefined
  return { named: [...named], others: items.filter((item) => !named.has(item)) }
}

/** Rules for sending the parts of a refused batch. */
interface Resending<Item, Outcome> {
  /** Body of the refusal; undefined where nobody is named. */
  readonly refusal: unknown
  readonly idOf: (item: Item) => string
  /** False where no record named in an earlier refusal was refused alone: then the batch is halved. */
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
  // The interface leaves open whether positions start at 0 or 1: without a position 0, both are tried.
  const fromZero = places.includes(0)
  return new Set(places.flatMap((place) => [...at(place), ...(fromZero || place === 0 ? [] : at(place - 1))]))
}

/** `records[3].value`, `/3/value`, `body/3/value`: paths count from 0. */
const PATHS = /[a-z$"]?\[(\d{1,6})\]|[a-z"\s][./](\d{1,6})[./][a-z]/gi
/** `record 3 of 500`, `the patient block of request 3` (interface, "Errors"). */
const COUNTED = /\b(?:record|request|item|element|entry|object|position|index)\s*#?(\d{1,6})\b/gi
