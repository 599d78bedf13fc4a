/** What the ledger learns when records are in doubt no longer: in every run of the job that holds them. */
import type { DeliveredRow, Ledger, LeftEvent, Ruling } from '../ledger/ledger.ts'

/** Events after which the gateway has the record. */
const WITH_GATEWAY: ReadonlySet<LeftEvent> = new Set(['accept', 'find', 'deliver'])

/**
 * @param events content hash → what has befallen the record
 * @param run that has brought it about; null for what a person or a look at the profile has decided
 */
export async function releaseDoubts(
  ledger: Pick<Ledger, 'left' | 'delivered'>,
  jobId: number,
  events: ReadonlyMap<string, LeftEvent>,
  run: string | null,
): Promise<Ruling> {
  const contents = [...events.keys()]
  const left = await ledger.left.inDoubtWith(jobId, contents)
  const released = await ledger.left.heldWith(jobId, contents)
  const taken = released.filter(({ content }) => WITH_GATEWAY.has(events.get(content) ?? 'miss'))
  const byKey = Map.groupBy(taken, ({ rowKey }) => rowKey)
  const before = await ledger.delivered(jobId, [...byKey.keys()])
  const delivered: DeliveredRow[] = [...byKey].map(([rowKey, records]) => ({
    rowKey,
    records: [...(before.get(rowKey) ?? []), ...records.map(({ rule, content }) => ({ rule, content }))],
  }))
  return {
    run,
    decisions: left.flatMap(({ id, content }) => {
      const event = events.get(content ?? '')
      return event === undefined ? [] : [{ exception: id, event }]
    }),
    released,
    delivered,
  }
}
