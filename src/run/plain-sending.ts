/** Sending outside of a run: the pace, breaker and patience of a run, without a lease. */
import type { Gateway } from '../gateway/gateway.ts'
import { noTallies } from '../ledger/ledger.ts'
import { createSending, type Sending, type SendingOptions } from '../load/sending.ts'
import type { RunDependencies } from './events.ts'

/** Longest outage endured, in milliseconds. */
const PATIENCE_MS = 10 * 60_000

/** @param concurrency requests in flight at once */
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
    askAboutNobody: () => gateway.biometrics.read({ reference: 'nobody', type: 'partnerAccountId' }),
    onOutage: () => {},
  })
