/**
 * Reads the profiles of a few people of the export before a ledger sends to a gateway for the first time. An id that this key makes for the same
 * record shows that another ledger has delivered it: all of the export would be sent again.
 */
import type { Installation } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { WaybillError } from '../model/errors.ts'
import { recordOfId } from '../model/ids.ts'
import type { ShownRecord } from '../model/outcome.ts'

export interface FirstContactParts {
  readonly installation: Pick<Installation, 'hasMet' | 'meet'>
  readonly gatewayName: string
  /** Reads the profile of one person, for the kind of these records; undefined where it cannot be read. */
  readonly shown: (entries: readonly Entry[]) => Promise<readonly ShownRecord[] | undefined>
  /** Receives how many of the people have records under ids of another key. */
  readonly onOthers: (people: number, of: number) => void
  readonly now: () => number
}

/** @throws WaybillError `ledger-missing` before anything is sent */
export type FirstContact = (entries: readonly Entry[]) => Promise<void>

/** People whose profiles are read. */
const PEOPLE = 5

/** Asked before each chunk; all but the first of the run go by what that one has found. */
export function createFirstContact(parts: FirstContactParts): FirstContact {
  let met: Promise<void> | undefined
  return async (entries) => {
    if (entries.length === 0) return
    met ??= meet(parts, entries)
    await met
  }
}

async function meet(
  { installation, gatewayName, shown, onOthers, now }: FirstContactParts,
  entries: readonly Entry[],
): Promise<void> {
  if (await installation.hasMet(gatewayName)) return
  const people = sampleOf([...Map.groupBy(entries, ({ account }) => account.reference).values()])
  const profiles = await Promise.all(
    people.map(async (own) => {
      const kinds = [...Map.groupBy(own, ({ kind }) => kind).values()]
      return { own, ids: (await Promise.all(kinds.map(shown))).flatMap(idsOf) }
    }),
  )
  // Another job of the home may have met it meanwhile, and what is shown may be of that one.
  if (await installation.hasMet(gatewayName)) return
  let others = 0
  for (const { own, ids } of profiles) {
    const records = new Set(own.map(({ transactionId }) => recordOfId(transactionId)))
    if (ids.some((id) => records.has(id))) throw deliveredBefore(gatewayName)
    if (ids.length > 0) others++
  }
  if (others > 0) onOthers(others, people.length)
  await installation.meet(gatewayName, now())
}

/** From the first to the last, evenly. */
const sampleOf = (people: readonly (readonly Entry[])[]): readonly (readonly Entry[])[] =>
  people.length <= PEOPLE
    ? people
    : Array.from({ length: PEOPLE }, (_, at) => {
        return people[Math.round((at * (people.length - 1)) / (PEOPLE - 1))] ?? []
      })

const idsOf = (profile: readonly ShownRecord[] | undefined): readonly string[] =>
  (profile ?? []).flatMap(({ persistentId = '' }) => recordOfId(persistentId) ?? [])

const deliveredBefore = (gateway: string): WaybillError =>
  new WaybillError(
    'ledger-missing',
    `this ledger has sent nothing to ${gateway}, which has records of the export already, under the ids that this key makes for them`,
  )
