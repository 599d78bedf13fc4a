/**
 * Decides when a run that ended because the gateway was away is tried again: within a schedule's `retry`, before its next fire. Pure: the clock is
 * handed in.
 */
import type { ERROR_CODES } from '../model/errors.ts'
import { firesAfter, timeOfDayAfter } from './fires.ts'
import type { JobSchedule } from './schedule-parts.ts'

type Code = keyof typeof ERROR_CODES

/** Ends of a run that the gateway may heal by coming back. Refused credentials and redirects need a person. */
const AWAY: ReadonlySet<string> = new Set<Code>(['gateway-unreachable', 'gateway-failing'])

const isAway = (code: string | undefined): boolean => code !== undefined && AWAY.has(code)

/** A fire between two tries. */
interface RetryingFire {
  readonly due: number
  readonly retry_at: number | null
}

/**
 * @param due instant of the fire
 * @param now end of the last try
 * @returns instant of the next try; undefined for none
 */
export function nextTry(
  schedule: JobSchedule | undefined,
  due: number,
  code: string | undefined,
  now: number,
): number | undefined {
  if (schedule?.retry === undefined || !isAway(code)) return undefined
  const at = now + schedule.retry.every
  return mayTry(schedule, due, at) ? at : undefined
}

/** True from the fire until `until` (included), and before the next fire. */
function mayTry(schedule: JobSchedule, due: number, at: number): boolean {
  const { retry, zone } = schedule
  if (retry === undefined || at >= firesAfter(schedule, due).next().value) return false
  return retry.until === undefined || at <= timeOfDayAfter(retry.until, zone, due)
}

/**
 * @param schedule undefined for an unreadable job file: the decision waits
 * @param isHindered true if the job cannot run now
 * @returns `end`: no try is left
 */
export function stepOf(
  { due, retry_at }: RetryingFire,
  schedule: JobSchedule | undefined,
  now: number,
  isHindered: boolean,
): 'wait' | 'try' | 'end' {
  if (schedule === undefined) return 'wait'
  if (!mayTry(schedule, due, now)) return 'end'
  return isHindered || now < (retry_at ?? due) ? 'wait' : 'try'
}
