/** Checks the ledger: intact, of a known shape; and lists the runs in progress. Pure. */

import { processName } from '../ledger/ledger.ts'
import type { GivenUpRun, LedgerFacts } from '../ledger/sqlite/inspect.ts'
import { MOVED, movedTo } from '../ledger/sqlite/migrate.ts'
import { ERROR_CODES } from '../model/errors.ts'
import { iso, n, sizeText } from '../system/shown-text.ts'
import { type CheckFinding, finding, type Level } from './finding.ts'

interface LedgerSurroundings {
  /** True if the process of a holder is known to have ended: the next run takes over. */
  readonly isDead: (owner: string) => boolean
  /** Gateway of a job: its own, or the one in the settings. */
  readonly gatewayOf: (job: string) => string
}

export function checkLedger(
  facts: LedgerFacts | undefined,
  { isDead, gatewayOf }: LedgerSurroundings,
): CheckFinding[] {
  const result = (level: Level, found: string, remedy?: string): CheckFinding =>
    finding('ledger', level, found, remedy)
  if (facts === undefined) return [result('ok', 'no ledger yet; the first run makes it')]
  if (facts.damage.length > 0)
    return [
      result(
        'problem',
        `damaged: ${facts.damage.join('; ')}`,
        'Run nothing. Keep the file, and restore the latest backup: docs/runbook.md.',
      ),
    ]
  const moved = facts.newer.find((name) => name.startsWith(MOVED))
  if (moved !== undefined)
    return [
      result('problem', `the ledger was moved to ${movedTo(moved)}`, ERROR_CODES['ledger-moved'].remedy),
    ]
  if (facts.newer.length > 0)
    return [
      result(
        'problem',
        `a newer Waybill wrote it (${facts.newer.join(', ')})`,
        'Install the version of Waybill that wrote this ledger, or a newer one.',
      ),
    ]
  const leases = facts.leases.filter(({ owner }) => !isDead(owner))
  const shape = facts.older ? `${facts.shape}; the next command upgrades it` : facts.shape
  return [
    result('ok', `intact, ${sizeText(facts.bytes)}, shape ${shape}`),
    ...(facts.copiedAt === undefined
      ? []
      : [
          result(
            'ok',
            `a copy of ${iso(facts.copiedAt)}: records observed before its first use are looked up in their profile once before they are sent`,
          ),
        ]),
    ...leases.map(({ job, run, owner, since }) =>
      result('ok', `${job} is running in process ${processName(owner)} (run ${run}, since ${iso(since)})`),
    ),
    ...facts.givenUp.map((one) => result('ok', givenUpText(one, gatewayOf(one.job)))),
  ]
}

const elsewhere = (one: { readonly gateway: string }, gateway: string): string =>
  one.gateway === gateway ? '' : `; it was sent to ${one.gateway}, but the settings name ${gateway}`

function givenUpText(one: GivenUpRun, gateway: string): string {
  const { run, job, records } = one
  return `run ${run} of ${job} was given up${elsewhere(one, gateway)}: ${n(records)} of its records ${records === 1 ? 'is' : 'are'} unanswered; the job reads profiles before it sends ${records === 1 ? 'it' : 'them'}. To look now: waybill reconcile ${run}`
}
