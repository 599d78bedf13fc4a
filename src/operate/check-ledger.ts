/** The ledger: that it is whole, of a shape that can be used, and what stands open in it. Pure. */

import { processName } from '../ledger/ledger.ts'
import type {
  GivenUpRun,
  LedgerFacts,
  UndeliveredNotifications,
  UnfinishedRun,
} from '../ledger/sqlite/inspect.ts'
import { counted, n, sizeText } from '../shown-text.ts'
import { type CheckFinding, finding, type Level } from './finding.ts'
import { commandOf } from './prune.ts'

export interface LedgerSurroundings {
  /** Whether the process of a holder is known to be gone: then the next run takes over. */
  readonly isDead: (owner: string) => boolean
  /** The gateway that the settings, or the job, name. */
  readonly gatewayOf: (job: string) => string
  /** What stands before a command that is to go to another one. */
  readonly settingOf: (gateway: string) => string
  /** Whether the job file names that target still; undefined where it cannot be read. */
  readonly isTold: (undelivered: UndeliveredNotifications) => boolean | undefined
}

export function checkLedger(
  facts: LedgerFacts | undefined,
  { isDead, gatewayOf, settingOf, isTold }: LedgerSurroundings,
): CheckFinding[] {
  const told = (level: Level, found: string, remedy?: string): CheckFinding =>
    finding('ledger', level, found, remedy)
  if (facts === undefined) return [told('ok', 'there is none yet; the first run makes it')]
  if (facts.damage.length > 0)
    return [
      told(
        'problem',
        `it is damaged: ${facts.damage.join('; ')}`,
        'Run nothing. Keep the file, and restore the latest backup: docs/runbook.md.',
      ),
    ]
  if (facts.newer.length > 0)
    return [
      told(
        'problem',
        `a newer Waybill wrote it (${facts.newer.join(', ')})`,
        'Install the version of Waybill that wrote this ledger, or a newer one.',
      ),
    ]
  const leases = facts.leases.filter(({ owner }) => !isDead(owner))
  const shape = facts.older ? `${facts.shape}; the next command brings it to that of today` : facts.shape
  return [
    told('ok', `whole, ${sizeText(facts.bytes)}, shape ${shape}`),
    ...(facts.copiedAt === undefined
      ? []
      : [
          told(
            'ok',
            `a copy of ${instant(facts.copiedAt)}: a record observed before the first use of the copy is looked for in its profile once, before it is sent`,
          ),
        ]),
    ...leases.map(({ job, run, owner, since }) =>
      told('ok', `${job} is being run by ${processName(owner)} (run ${run}, since ${instant(since)})`),
    ),
    ...facts.unfinished
      .filter(({ run }) => !leases.some((lease) => lease.run === run))
      .map((one) =>
        told(
          'warning',
          `run ${one.run} of ${one.job} is not finished (${stateOf(one)})${elsewhere(one, gatewayOf(one.job))}`,
          one.gateway === gatewayOf(one.job)
            ? commandOf(one)
            : `${settingOf(one.gateway)} ${commandOf(one)} (or, to end it as it is: waybill resolve ${one.run} --give-up)`,
        ),
      ),
    ...facts.givenUp.map((one) => told('ok', givenUpText(one, gatewayOf(one.job)))),
    ...facts.inDoubt.map(({ run, job, records }) =>
      told(
        'warning',
        `${n(records)} of run ${run} of ${job} ${records === 1 ? 'is' : 'are'} in doubt`,
        `waybill reconcile ${run}`,
      ),
    ),
    ...facts.undelivered.map((one) => {
      const { job, target, state, count, error } = one
      const what = `${counted(count, 'notification')} of ${job}`
      if (state === 'given-up' && isTold(one) === false)
        return told(
          'ok',
          `${what} to ${target} not delivered; given up, and the job names that target no more`,
        )
      const then = state === 'pending' ? 'tried again by the next run and the schedule' : 'given up'
      const why = error === null ? '' : `: ${error}`
      return told('warning', `${what} to ${target} not delivered${why}; ${then}`, `waybill notify ${job}`)
    }),
  ]
}

/** What its ledger calls running, and nobody is at work on, was killed: as `waybill runs` says it. */
const stateOf = ({ state }: UnfinishedRun): string => (state === 'running' ? 'stopped' : state)

const elsewhere = (one: { readonly gateway: string }, gateway: string): string =>
  one.gateway === gateway ? '' : `; it went to ${one.gateway}, and the settings name ${gateway}`

function givenUpText(one: GivenUpRun, gateway: string): string {
  const { run, job, records } = one
  const many = records !== 1
  return `run ${run} of ${job} was given up${elsewhere(one, gateway)}: whether ${n(records)} of its records ${many ? 'are' : 'is'} stored was never answered; profiles are read before that job sends ${many ? 'any of them' : 'it'}. To look now: waybill reconcile ${run}`
}

const instant = (epochMs: number): string => new Date(epochMs).toISOString()
