/** How many records of a chunk an earlier run of the job has brought to the gateway as they are: what a dry run counts, which sends nothing. */
import type { Ledger } from '../ledger/ledger.ts'
import { isKnown } from '../load/recognise.ts'
import { type Entry, RequestEntry, rowKeysOf } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'

/** @returns counts those of a chunk that are known, each kind by what remembers it */
export const countDelivered =
  (
    ledger: Pick<Ledger, 'delivered' | 'accounts' | 'medicalRequests'>,
    identity: Identity,
    { jobId, gateway }: { readonly jobId: number; readonly gateway: string },
  ) =>
  async (entries: readonly Entry[]): Promise<number> => {
    const kind = entries[0]?.kind
    if (kind === 'account') {
      const hashes = entries.map((entry) => identity.account(entry.account))
      const known = await ledger.accounts(gateway, [...new Set(hashes)])
      return hashes.filter((one) => known.has(one)).length
    }
    if (kind === 'medicalRecords') {
      const requests = entries.flatMap((entry) => (entry instanceof RequestEntry ? entry.request : []))
      const hashes = requests.map(({ reference }) => identity.request(reference))
      const known = await ledger.medicalRequests(gateway, [...new Set(hashes)])
      return requests.filter(({ body, isWithdrawn }, at) => {
        const { state, content } = known.get(hashes[at] ?? '') ?? {}
        return isWithdrawn
          ? state === 'withdrawn'
          : state === 'complete' && content === identity.requestBody(body)
      }).length
    }
    const known = await ledger.delivered(jobId, rowKeysOf(entries))
    return entries.filter((entry) => isKnown(known.get(entry.rowKey) ?? [], entry)).length
  }
