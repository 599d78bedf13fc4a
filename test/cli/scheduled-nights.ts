/** Keeps the schedule of a workplace within this process, on a clock that goes on to the next moment that is waited for; all else is real. */
import { z } from 'zod'
import { WaybillError } from '../../src/model/errors.ts'
import { createIdleClock } from '../load/idle-clock.ts'
import type { HookServer } from '../notify/hook-server.ts'
import { type Ended, ended, type Workplace } from './command-line.ts'

const Posted = z.object({ type: z.string(), data: z.object({ title: z.string() }) })

/** `type title` of what was posted. Signatures of another time than the receiver's do not hold. */
export const titlesOf = ({ seen }: Pick<HookServer, 'seen'>): string[] =>
  seen.map(({ body }) => {
    const { type, data } = Posted.parse(JSON.parse(body))
    return `${type} ${data.title}`
  })

type During = (now: string) => void | Promise<void>

export interface Scheduled {
  /**
   * Runs `waybill schedule` from an instant to another.
   * @param during called with the time whenever something wakes; the clock stands meanwhile
   */
  keep(from: string, to: string, during?: During): Promise<Ended>
  /** A command that begins at an instant, to its end. */
  command(from: string, ...args: string[]): Promise<Ended>
  /** The same. @param during as of `keep` */
  commandWhile(from: string, during: During, ...args: string[]): Promise<Ended>
  /** A command of another process at an instant, also while the schedule is kept. */
  beside(instant: string, ...args: string[]): Promise<Ended>
}

export function scheduledNights(workplace: Workplace): Scheduled {
  const on = (from: string, to: number, during: During, ...args: string[]): Promise<Ended> => {
    let looking = 0
    const clock = createIdleClock(Date.parse(from), () => looking === 0)
    const interrupt = new AbortController()
    return workplace.waybillWith(
      (context) => ({
        ...context,
        interrupt: interrupt.signal,
        now: () => clock.now,
        async sleep(ms, signal) {
          await clock.sleep(Math.min(ms, Math.max(0, to - clock.now)), signal)
          looking++
          await during(new Date(clock.now).toISOString())
          looking--
          // With the reason that a signal gives: any other is a defect.
          if (clock.now >= to) interrupt.abort(new WaybillError('interrupted', 'the command was interrupted'))
        },
      }),
      ...args,
    )
  }
  return {
    beside: (instant, ...args) => ended(workplace.startFast(instant, 1, ...args)),
    keep: (from, to, during = () => {}) => on(from, Date.parse(to), during, 'schedule'),
    command: (from, ...args) => on(from, Number.POSITIVE_INFINITY, () => {}, ...args),
    commandWhile: (from, during, ...args) => on(from, Number.POSITIVE_INFINITY, during, ...args),
  }
}
