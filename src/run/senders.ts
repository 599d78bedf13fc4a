/** Senders at a gateway: of a run, under its lease; and of a command outside of a run. */
import type { Job } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { noTallies, type RunLedger } from '../ledger/ledger.ts'
import { createSending, type Sending, type SendingOptions } from '../load/sending.ts'
import { type RunDependencies, watchOutages } from './events.ts'

/** Account of nobody: an answer to a read shows that the gateway is up, and reveals nothing about any person. */
const NOBODY = { reference: 'nobody', type: 'partnerAccountId' } as const

interface SenderOfRun {
  readonly sending: Sending
  /** Called with the change in the number of records in hand. */
  readonly inHand: (more: number) => void
}

/** Sends under the lease of a run. Outages are noted in the lease. @param signal aborted when the run is to stop */
export function senderOfRun(
  deps: Pick<RunDependencies, 'gateway' | 'dispatcher' | 'now' | 'random' | 'sleep' | 'events'>,
  { definition: { submit, reads } }: Job,
  runLedger: RunLedger,
  signal: AbortSignal,
): SenderOfRun {
  const { gateway, dispatcher, now, random, sleep, events } = deps
  const outages = watchOutages(runLedger, (outage) => events.emit({ type: 'outage', ...outage }))
  const sending = createSending({
    dispatcher,
    concurrency: submit.concurrency,
    patienceMs: submit.patience,
    notFound: reads.notFound,
    tallies: runLedger.tallies,
    now,
    random,
    sleep,
    renewToken: () => gateway.renewToken(),
    askAboutNobody: () => gateway.biometrics.read(NOBODY),
    assertHeld: runLedger.assertHeld,
    signal,
    onWait: (wait) => events.emit({ type: 'waiting', ...wait }),
    onOutage: outages.changed,
  })
  return { sending, inHand: outages.inHand }
}

/** Longest outage endured, in milliseconds. */
const PATIENCE_MS = 10 * 60_000

/** Sends outside of a run, with the pace and breaker of a run. @param concurrency requests in flight at once */
export const plainSending = (
  {
    now,
    random,
    sleep,
    interrupt,
    dispatcher,
  }: Pick<RunDependencies, 'now' | 'random' | 'sleep' | 'interrupt' | 'dispatcher'>,
  gateway: Pick<Gateway, 'renewToken' | 'biometrics'>,
  concurrency: number,
  onWait: SendingOptions['onWait'] = () => {},
): Pick<Sending, 'idempotent' | 'read'> =>
  createSending({
    concurrency,
    patienceMs: PATIENCE_MS,
    notFound: 'unknown',
    tallies: noTallies(),
    dispatcher,
    now,
    random,
    sleep,
    onWait,
    renewToken: () => gateway.renewToken(),
    assertHeld: async () => {},
    signal: interrupt,
    askAboutNobody: () => gateway.biometrics.read(NOBODY),
    onOutage: () => {},
  })
