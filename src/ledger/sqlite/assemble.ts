/** Assembles a ledger from the database of a driver. */
import type { Ledger } from '../ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import { auditOf } from './audit.ts'
import { careTeamsOf } from './care-team-listing.ts'
import type { DeliveredStore } from './delivered-store.ts'
import { createExclusive, type Exclusive, type LedgerDatabase } from './exclusive.ts'
import { chunksOf, exportsOf, jobsOf, profilesOf } from './exports.ts'
import { readStanding } from './inspect.ts'
import { installationOf } from './installation.ts'
import { lastTargetsOf } from './last-targets.ts'
import { leasesOf, rightOfWay } from './leases.ts'
import { leftBehind } from './left-behind.ts'
import { peopleOf, slotsOf } from './lookups.ts'
import { notificationsOf } from './notifications.ts'
import { readOpenWork } from './open-work.ts'
import { pruning } from './pruning.ts'
import { putAsideOf } from './put-aside.ts'
import { reasonsOf } from './reasons.ts'
import { createRunLedger } from './run-ledger.ts'
import { acknowledgementsOf, pausesOf, runsOf } from './runs.ts'
import { expectationsOf, firesOf } from './timetable.ts'

interface LedgerParts {
  readonly delivered: DeliveredStore
  readonly ids: AccountIdCipher
  /** Boot and PID namespace of this process, or start of the database: what a batch that is only planned was surely not sent before. */
  readonly place: string | undefined
  /** Implements `People.scrub`. */
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
    jobs: jobsOf(turns),
    leases: leasesOf(turns),
    way: rightOfWay(turns),
    runs: runsOf(turns, assertKey, (lease, tallies) =>
      createRunLedger({ ...database, delivered, ids }, lease, place, tallies),
    ),
    exports: exportsOf(turns),
    profiles: profilesOf(turns),
    chunks: chunksOf(turns, place),
    reasons: reasonsOf(turns),
    slots: slotsOf(turns, delivered),
    left: leftBehind(turns, place),
    people: { ...peopleOf(turns, ids), scrub: () => scrub(turns) },
    careTeams: careTeamsOf(turns, ids),
    acknowledgements: acknowledgementsOf(turns),
    putAside: putAsideOf(turns),
    audit: auditOf(turns),
    lastTargets: lastTargetsOf(turns, ids),
    fires: firesOf(turns),
    pauses: pausesOf(turns),
    expectations: expectationsOf(turns),
    notifications: notificationsOf(turns),
    overview: { standing: () => readStanding(turns), openWork: (now) => readOpenWork(turns, now) },
    pruning: pruning(turns),
    installation,
    close,
  }
}
