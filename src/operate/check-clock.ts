/** The clock, against what the ledger has seen and what the gateway says. Pure. */
import { n } from '../shown-text.ts'
import type { CheckFinding } from './finding.ts'

const MOST_OFF_MS = 2 * 60_000

/**
 * @param latestRunAt when the latest run began
 * @param gatewayAt of the gateway's Date header (RFC 9110, section 6.6.1), with the time at which it came
 */
export function checkClock(
  now: number,
  latestRunAt: number | undefined,
  gatewayAt: { readonly date: string; readonly cameAt: number } | undefined,
): CheckFinding {
  if (latestRunAt !== undefined && now < latestRunAt)
    return {
      check: 'clock',
      level: 'problem',
      found: `it says ${instant(now)}, which is before the latest run began (${instant(latestRunAt)})`,
      remedy: 'Set the clock before anything is run: leases and the order of runs hang on it.',
    }
  const date = gatewayAt === undefined ? Number.NaN : Date.parse(gatewayAt.date)
  if (gatewayAt === undefined || Number.isNaN(date))
    return { check: 'clock', level: 'ok', found: `${instant(now)}; there is no other to compare it with` }
  const off = gatewayAt.cameAt - date
  const seconds = Math.round(Math.abs(off) / 1000)
  if (Math.abs(off) <= MOST_OFF_MS)
    return { check: 'clock', level: 'ok', found: `${instant(now)}, within 2 minutes of the gateway's` }
  return {
    check: 'clock',
    level: 'warning',
    found: `${n(seconds)} s ${off > 0 ? 'ahead of' : 'behind'} the gateway's`,
    remedy: 'Let the machine keep its clock by NTP. Schedules and leases hang on it.',
  }
}

const instant = (epochMs: number): string => new Date(epochMs).toISOString()
