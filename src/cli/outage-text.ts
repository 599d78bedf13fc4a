/** A gateway to which nothing gets through, in words: in the log, in progress, and for who asks what a run is doing. */

import { durationText } from '../report/figures.ts'
import type { OutageProgress } from '../run/events.ts'
import type { WaitsForGateway } from '../run/outage-watch.ts'
import { counted } from '../shown-text.ts'

const DAY_MS = 86_400_000

/** `2026-03-02T02:17:05Z` */
export const toSecond = (instant: string): string => `${instant.slice(0, 19)}Z`

const iso = (at: number): string => toSecond(new Date(at).toISOString())

/** For the log: why it waits, and until when. */
export const outageBegins = ({ since, givesUpAt, class: reason, what, pending }: OutageProgress): string =>
  `nothing gets through to the gateway since ${iso(since)} (${reason}: ${what}); waiting, gives up at ${iso(givesUpAt)}; ${pendingText(pending)}`

export const outageChanges = ({ class: reason, what }: OutageProgress): string =>
  `still nothing gets through to the gateway, now for another cause (${reason}: ${what})`

export const outageEnds = ({ since, failures, pending }: OutageProgress, now: number): string =>
  `the gateway answers again, after ${durationText(Math.max(0, now - since))} and ${counted(failures, 'request')} in vain; ${pendingText(pending)}`

/** For progress; by the clock of UTC, as everywhere. */
export function outageProgress({ since, givesUpAt }: Pick<OutageProgress, 'since' | 'givesUpAt'>): string {
  const isLong = givesUpAt - since >= DAY_MS
  const [from, to] = [since, givesUpAt].map((at) => {
    const text = new Date(at).toISOString().slice(0, 16).replace('T', ' ')
    return isLong ? text : text.slice(-5)
  })
  return `waiting for the gateway since ${from}, gives up at ${to} UTC`
}

/** In one line, of a run of another process. */
export const waitsText = ({ since, givesUpAt, class: reason, what, pending }: WaitsForGateway): string =>
  `waits for the gateway since ${toSecond(since)}, gives up at ${toSecond(givesUpAt)}: nothing gets through (${reason}: ${what}); ${pendingText(pending)}`

/** In several, with what to type. */
export const waitsLines = ({ since, givesUpAt, class: reason, what, pending }: WaitsForGateway): string[] => [
  `Waiting  for the gateway since ${toSecond(since)}: nothing gets through (${reason})`,
  `         ${what}`,
  `         gives up at ${toSecond(givesUpAt)}; ${pendingText(pending)}. To see whether the gateway can be had`,
  '    waybill doctor',
]

const pendingText = (pending: number): string =>
  `${counted(pending, 'record is pending', 'records are pending')}`
