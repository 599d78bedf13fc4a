/** Keeps the schedule of a workplace within this process, on a clock that goes on to the next moment that is waited for; all else is real. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { createIdleClock } from '../load/idle-clock.ts'
import type { HookServer } from '../notify/hook-server.ts'
import type { Ended, Workplace } from './command-line.ts'

/** Requests of this process that have no answer yet. */
function watchRequests(): () => number {
  let open = 0
  const begin = (): void => void open++
  const end = (): void => void open--
  subscribe('http.client.request.start', begin)
  const ends = ['http.client.response.finish', 'http.client.request.error']
  for (const name of ends) subscribe(name, end)
  onTestFinished(() => {
    unsubscribe('http.client.request.start', begin)
    for (const name of ends) unsubscribe(name, end)
  })
  return () => open
}

const Posted = z.object({ type: z.string(), data: z.object({ title: z.string() }) })

/** `type title` of what was posted. Signatures of another time than the receiver's do not hold. */
export const titlesOf = ({ seen }: Pick<HookServer, 'seen'>): string[] =>
  seen.map(({ body }) => {
    const { type, data } = Posted.parse(JSON.parse(body))
    return `${type} ${data.title}`
  })

export interface Scheduled {
  /** Runs `waybill schedule` from an instant to another. @param during called with the time whenever the schedule wakes */
  keep(from: string, to: string, during?: (now: string) => void): Promise<Ended>
}

export function scheduledNights(workplace: Workplace): Scheduled {
  const open = watchRequests()
  const isReading = (): boolean => process.getActiveResourcesInfo().some((one) => one.startsWith('FSReq'))
  return {
    async keep(from, to, during = () => {}) {
      const clock = createIdleClock(Date.parse(from), () => open() === 0 && !isReading())
      const interrupt = new AbortController()
      const isOver = (): boolean => clock.now >= Date.parse(to)
      return workplace.waybillWith(
        (context) => ({
          ...context,
          interrupt: interrupt.signal,
          now: () => clock.now,
          async sleep(ms, signal) {
            await clock.sleep(Math.min(ms, Math.max(0, Date.parse(to) - clock.now)), signal)
            during(new Date(clock.now).toISOString())
            if (isOver()) interrupt.abort()
          },
        }),
        'schedule',
      )
    },
  }
}
