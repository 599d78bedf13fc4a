/** Checks the ledger: intact, of a known shape; and lists its open work. Pure. */

import { processName } from '../ledger/ledger.ts'
import type {
  GivenUpRun,
  LedgerFacts,
  UndeliveredNotifications,
  UnfinishedRun,
} from '../ledger/sqlite/inspect.ts'
import { counted, iso, n, sizeText } from '../system/shown-text.ts'
import { type CheckFinding, finding, type Level } from './finding.ts'
import { commandOf } from './prune.ts'

export interface LedgerSurroundings {
  /** True if the process of a holder is known to have ended: the next run takes over. */
  readonly isDead: (owner: string) => boolean
  /** Gateway of a job: its own, or the one in the settings. */
  readonly gatewayOf: (job: string) => string
  /** Setting to put before a command for another gateway. */
  readonly settingOf: (gateway: string) => string
  /** True if the job file still lists the target; undefined for an unreadable file. */
  readonly isTold: (undelivered: UndeliveredNotifications) => boolean | undefined
}

export function checkLedger(
  facts: LedgerFacts | undefined,
  { isDead, gatewayOf, settingOf, isTold }: LedgerSurroundings,
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
    ...facts.unfinished
      .filter(({ run }) => !leases.some((lease) => lease.run === run))
      .map((one) =>
        result(
          'warning',
          `run ${one.run} of ${one.job} is unfinished (${stateOf(one)})${elsewhere(one, gatewayOf(one.job))}`,
          one.gateway === gatewayOf(one.job)
            ? commandOf(one)
            : `${settingOf(one.gateway)} ${commandOf(one)} (or, to give it up: waybill resolve ${one.run} --give-up)`,
        ),
      ),
    ...facts.givenUp.map((one) => result('ok', givenUpText(one, gatewayOf(one.job)))),
    ...facts.inDoubt.map(({ run, job, records }) =>
      result(
        'warning',
        `${counted(records, 'record')} of run ${run} of ${job} ${records === 1 ? 'is' : 'are'} in doubt`,
        `waybill reconcile ${run}`,
      ),
    ),
    ...facts.undelivered.map((one) => {
      const { job, target, state, count, error } = one
      const what = `${counted(count, 'notification')} of ${job}`
      if (state === 'given-up' && isTold(one) === false)
        return result(
          'ok',
          `${what} to ${target} not delivered; given up, the job no longer lists this target`,
        )
      const then = state === 'pending' ? 'retried by the next run and the schedule' : 'given up'
      const why = error === null ? '' : `: ${error}`
      return result('warning', `${what} to ${target} not delivered${why}; ${then}`, `waybill notify ${job}`)
    }),
  ]
}

/** State as `waybill runs` shows it: a run in state `running` without a process was killed. */
const stateOf = ({ state }: UnfinishedRun): string => (state === 'running' ? 'stopped' : state)

const elsewhere = (one: { readonly gateway: string }, gateway: string): string =>
  one.gateway === gateway ? '' : `; it was sent to ${one.gateway}, but the settings name ${gateway}`

function givenUpText(one: GivenUpRun, gateway: string): string {
  const { run, job, records } = one
  return `run ${run} of ${job} was given up${elsewhere(one, gateway)}: ${n(records)} of its records ${records === 1 ? 'is' : 'are'} unanswered; the job reads profiles before it sends ${records === 1 ? 'it' : 'them'}. To look now: waybill reconcile ${run}`
}
