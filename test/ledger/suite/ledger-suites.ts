/** Suites that each driver of the ledger passes, one for each concern. */
import { describe } from 'vitest'
import { batchesSuite } from './batches.ts'
import { careTeamsSuite } from './care-teams.ts'
import { exportsSuite } from './exports.ts'
import { firesSuite } from './fires.ts'
import { installationSuite } from './installation.ts'
import { leasesSuite } from './leases.ts'
import { leftBehindSuite } from './left-behind.ts'
import { neighboursSuite } from './neighbours.ts'
import { peopleSuite } from './people.ts'
import { runsSuite } from './runs.ts'
import type { OpenLedger } from './scene.ts'
import { slotsSuite } from './slots.ts'

/** @param open an empty ledger, for the running test */
export function ledgerSuites(driver: string, open: OpenLedger): void {
  describe(`${driver} as a ledger`, () => {
    for (const suite of [
      leasesSuite,
      runsSuite,
      exportsSuite,
      batchesSuite,
      leftBehindSuite,
      slotsSuite,
      peopleSuite,
      careTeamsSuite,
      firesSuite,
      installationSuite,
      neighboursSuite,
    ])
      suite(open)
  })
}
