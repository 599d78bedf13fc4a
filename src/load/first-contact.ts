/**
 * Reads the profiles of a few people of the export before a ledger first sends to a gateway. An id made by this key for a record of the export shows
 * that another ledger has delivered it: the whole export would be sent again.
 */
import type { Ledger } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { WaybillError } from '../model/errors.ts'
import { recordOfId } from '../model/ids.ts'
import type { ShownRecord } from '../model/outcome.ts'

interface FirstContactParts {
  readonly installation: Pick<Ledger['installation'], 'hasMet' | 'meet'>
  readonly gatewayName: string
  /** Reads the profile of one person, for the kind of these records; undefined where the profile is unreadable. */
  readonly shown: (entries: readonly Entry[]) => Promise<readonly ShownRecord[] | undefined>
  /** Receives the number of sampled people with records under ids of another key. */
  readonly onOthers: (people: number, of: number) => void
  readonly now: () => number
}

/** @throws WaybillError `ledger-missing` before anything is sent */
type FirstContact = (entries: readonly Entry[]) => Promise<void>

/** Number of people whose profiles are read. */
const PEOPLE = 5

/** Creates the check called before each chunk. Later chunks of the run use the result of the first. */
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
  // Another job of the home may have met the gateway meanwhile, and the shown records may come from that job.
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

/** Sample from first to last, evenly spaced. */
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
    `this ledger has sent nothing to ${gateway}, but the gateway has records of the export under ids of this key`,
  )
