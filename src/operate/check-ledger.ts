/** The ledger: that it is whole, of a shape that can be used, and what stands open in it. Pure. */

import { backfillCommand, rangeOf } from '../job/backfill-range.ts'
import { shellWord } from '../job/shell-words.ts'
import type { LedgerFacts, UnfinishedRun } from '../ledger/inspect.ts'
import type { CheckFinding, Level } from './finding.ts'

/** @param isDead tells of a holder on this machine whether its process is gone: then the next run takes over */
export function checkLedger(
  facts: LedgerFacts | undefined,
  sizeText: (bytes: number) => string,
  isDead: (owner: string) => boolean,
): CheckFinding[] {
  const told = (level: Level, found: string, remedy?: string): CheckFinding => ({
    check: 'ledger',
    level,
    found,
    ...(remedy === undefined ? {} : { remedy }),
  })
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
            `a copy of ${instant(facts.copiedAt)}: until a run of a job was begun and finished on it, profiles are read before that job sends`,
          ),
        ]),
    ...leases.map(({ job, run, owner, since }) =>
      told('ok', `${job} is being run by ${owner} (run ${run}, since ${instant(since)})`),
    ),
    ...facts.unfinished
      .filter(({ run }) => !leases.some((lease) => lease.run === run))
      .map((one) =>
        told('warning', `run ${one.run} of ${one.job} is not finished (${one.state})`, commandOf(one)),
      ),
    ...facts.inDoubt.map(({ run, job, records }) =>
      told(
        'warning',
        `${records.toLocaleString('en-US')} of run ${run} of ${job} ${records === 1 ? 'is' : 'are'} in doubt`,
        `waybill reconcile ${run}`,
      ),
    ),
    ...facts.undelivered.map(({ job, target, state, count, error }) => {
      const what = `${count.toLocaleString('en-US')} ${count === 1 ? 'notification' : 'notifications'} of ${job}`
      const then = state === 'pending' ? 'tried again by the next run and the schedule' : 'given up'
      const why = error === null ? '' : `: ${error}`
      return told('warning', `${what} to ${target} not delivered${why}; ${then}`, `waybill notify ${job}`)
    }),
  ]
}

/** What goes on with it. */
function commandOf({ job, backfill, folder }: UnfinishedRun): string {
  const range = rangeOf({ backfill: backfill ?? null, backfill_folder: folder ?? null })
  return range === undefined ? `waybill run ${shellWord(job)}` : backfillCommand(job, range)
}

const instant = (epochMs: number): string => new Date(epochMs).toISOString()
