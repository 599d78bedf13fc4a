/**
 * Heartbeats of a job: a GET whose path or query has the outcome, as healthchecks.io (docs/http_api: `/start`, `/fail`, `/{exit-status}`) and
 * Cronitor (docs/telemetry-api: `state=run`, `complete`, `fail`, `status_code`) take it.
 */
import type { Heartbeat } from '../definitions/notify-definition.ts'
import { demandSuccess } from './http-status.ts'
import { reasonOf } from './outbox.ts'

type Beat =
  | { readonly kind: 'start' }
  /** @param exit exit code, 0 to 255 */
  | { readonly kind: 'end'; readonly exit: number }
  /** The schedule lives; `isWell` is false while the job needs somebody. */
  | { readonly kind: 'alive'; readonly isWell: boolean }

const BEAT_MS = 5_000

export function beatUrl({ url, service }: Heartbeat, beat: Beat): string {
  const address = new URL(url)
  if (service === 'cronitor') {
    address.searchParams.set('state', stateOf(beat))
    if (beat.kind === 'end') address.searchParams.set('status_code', String(beat.exit))
  } else address.pathname = `${address.pathname.replace(/\/+$/, '')}${suffixOf(beat)}`
  return address.href
}

function suffixOf(beat: Beat): string {
  if (beat.kind === 'start') return '/start'
  if (beat.kind === 'end') return `/${beat.exit}`
  return beat.isWell ? '' : '/fail'
}

function stateOf(beat: Beat): 'run' | 'complete' | 'fail' {
  if (beat.kind === 'start') return 'run'
  return (beat.kind === 'end' ? beat.exit === 0 : beat.isWell) ? 'complete' : 'fail'
}

/** Sends a heartbeat once. Never rejects. @returns reason of a failure; undefined for a success. The reason has no address */
export const sendBeat = (
  heartbeat: Heartbeat,
  beat: Beat,
  timeoutMs = BEAT_MS,
): Promise<string | undefined> =>
  reasonOf(() =>
    demandSuccess({
      method: 'GET',
      url: beatUrl(heartbeat, beat),
      receiver: 'the monitor',
      timeoutMs,
    }),
  )
