/** Assembles a ledger from the database of a driver. */
import type { Ledger } from '../ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import { careTeamsOf } from './account-writes.ts'
import { auditOf } from './audit.ts'
import type { DeliveredStore } from './delivered-store.ts'
import { createExclusive, type Exclusive, type LedgerDatabase } from './exclusive.ts'
import { readingsOf } from './exports.ts'
import { installationOf } from './installation.ts'
import { leasesOf } from './leases.ts'
import { leftBehind } from './left-behind.ts'
import { peopleOf, slotsOf } from './lookups.ts'
import { overviewOf } from './open-work.ts'
import { pruning } from './pruning.ts'
import { putAsideOf } from './put-aside.ts'
import { reasonsOf } from './reasons.ts'
import { createRunLedger } from './run-ledger.ts'
import { runsOf } from './runs.ts'
import { scheduleOf } from './schedule.ts'

interface LedgerParts {
  readonly delivered: DeliveredStore
  readonly ids: AccountIdCipher
  /** Boot and PID namespace of this process, or start of the database: what a batch that is only planned was surely not sent before. */
  readonly place: string | undefined
  readonly scrub: (turns: Exclusive) => Promise<boolean>
  readonly close: () => Promise<void>
}

export function assembleLedger(
  database: LedgerDatabase,
  { delivered, ids, place, scrub, close }: LedgerParts,
): Ledger {
  const turns = createExclusive(database)
  const { installation, assertKey } = installationOf(turns)
  return {
    ...readingsOf(turns, place),
    ...leasesOf(turns),
    ...runsOf(turns, assertKey, (lease, tallies) =>
      createRunLedger({ ...database, delivered, ids }, lease, place, tallies),
    ),
    reasons: reasonsOf(turns),
    slots: slotsOf(turns, delivered),
    left: leftBehind(turns, place),
    people: { ...peopleOf(turns, ids), scrub: () => scrub(turns) },
    careTeams: careTeamsOf(turns, ids),
    putAside: putAsideOf(turns),
    audit: auditOf(turns),
    ...scheduleOf(turns, ids),
    overview: overviewOf(turns),
    pruning: pruning(turns),
    installation,
    close,
  }
}
