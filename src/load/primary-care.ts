/**
 * Marks the primary care physician, after the entry is known to exist (interface, "Care team PCP flag": the mark moves, so one
 * call an account is enough, and doing it again changes nothing).
 */
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Tallies } from '../ledger/ledger.ts'
import { allDone } from './deliver.ts'
import type { Entry, EntryOutcome, Reason } from './entry.ts'
import { scrubWords, secretsOf } from './gateway-words.ts'
import type { Sending } from './sending.ts'

export interface PrimaryCareContext {
  readonly gateway: Gateway
  readonly sending: Sending
  readonly tallies: Tallies
}

/** The entry is stored; its mark could not be set. */
export interface MarkFailure {
  readonly entry: Entry
  readonly reason: Reason
}

/** Of several entries of one account the one observed last is marked. @throws WaybillError where the run must stop */
export async function markPrimaryCare(
  context: PrimaryCareContext,
  outcomes: readonly EntryOutcome[],
): Promise<MarkFailure[]> {
  const newest = new Map<string, EntryOutcome & { outcome: 'accepted' }>()
  for (const outcome of outcomes) {
    if (outcome.outcome !== 'accepted' || !outcome.entry.record.primary) continue
    const { account, observedAt } = outcome.entry.record
    const before = newest.get(account.reference)
    if (before === undefined || before.entry.record.observedAt <= observedAt)
      newest.set(account.reference, outcome)
  }
  const failures: MarkFailure[] = []
  await allDone(
    [...newest.values()].map(async ({ entry }) => {
      const { account, evidence } = entry.record
      // By NPI, not by the id that the gateway has given the entry: what is sent must come from the export alone.
      const request = { account: { reference: account.reference, type: account.type }, npi: evidence.npi }
      try {
        await context.sending.idempotent('mark primary care physician', () =>
          context.gateway.careTeams.setPrimary(request),
        )
        context.tallies.primaryCare.marked++
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        context.tallies.primaryCare.refused++
        const words = `HTTP ${error.status}: ${error.gatewayMessage ?? 'no reason given'}`
        const secrets = [...secretsOf(request), evidence.name]
        const reason: Reason = {
          stage: 'primary-care',
          code: 'mark-refused',
          message: words,
          scrubbed: scrubWords(words, secrets),
        }
        failures.push({ entry, reason })
      }
    }),
  )
  return failures
}
