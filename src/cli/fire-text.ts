/** Fires in words: when they were due, what their runs came to, and why they did not run. */
import type { FireRecord } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import { utcTime } from '../schedule/local-time.ts'

const REASONS: Readonly<Record<string, string>> = {
  'not-scheduled': 'no schedule was running',
  'job-held': 'the job was being run',
  'job-invalid': 'the job file or a mapping was wrong',
  'earlier-first': 'an earlier fire goes first',
  unscheduled: 'the job is on no schedule any more',
}

/** Why it did not run at its time. */
export const whyNot = ({ reason, detail }: Pick<FireRecord, 'reason' | 'detail'>): string => {
  if (reason === null) return ''
  const words = REASONS[reason] ?? reason
  if (detail === null) return words
  return reason === 'job-held' ? `${words} by ${detail}` : `${words}: ${detail}`
}

/** Of one that is made up for, why it did not run at its time. */
export const lateWords = (fire: FireRecord): string =>
  fire.made_up_by === fire.due ? `made up for (${whyNot(fire)})` : ''

/** What became of it, in a line. */
export function fireWords(fire: FireRecord): string {
  const run = fire.run_id === null ? '' : `run ${fire.run_id}`
  const why = whyNot(fire)
  const late = lateWords(fire)
  const words = (...parts: string[]): string => parts.filter((part) => part !== '').join(', ')
  switch (fire.state) {
    case 'due':
      return 'about to begin'
    case 'missed':
      return words(why, 'to be made up for')
    case 'running':
      return words(`begun at ${utcTime(fire.begun_at ?? fire.due)}`, run, late)
    case 'interrupted':
      return words(run, 'goes on when the schedule is started', late)
    case 'skipped':
      return words(why, fire.made_up_by === null ? '' : `made up for by that of ${utcTime(fire.made_up_by)}`)
    case 'ended':
      return words(outcome(fire), run, late)
  }
}

function outcome({ exit, error }: FireRecord): string {
  if (error === 'exports-none') return 'found no exports'
  if (error !== null) return `${error} (exit ${exit})`
  return exit === EXIT.ok ? 'all accounted for' : `something was left behind (exit ${exit})`
}
