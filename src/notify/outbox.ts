/**
 * Notices are written down first, for each target that wants them, and then delivered; what cannot be delivered stays, and is tried
 * again by whichever process delivers next. Each is told once, however many processes find that it is to be told.
 */
import pRetry, { AbortError } from 'p-retry'
import { keyOf, nameOf, type Target } from '../definitions/notify-definition.ts'
import type { Ledger, NotificationRecord } from '../ledger/ledger.ts'
import { type Channel, type Message, NotDelivered, type Notice, readNotice } from './notice.ts'

/** Delivered beside each other at most. */
const AT_ONCE = 4

export interface OutboxParts {
  readonly ledger: Pick<Ledger, 'jobId' | 'notifications'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** An id that no message had before. */
  readonly newId: () => string
  /** The targets of a job as its file names them now; undefined where that cannot be read. */
  readonly targetsOf: (job: string) => Promise<readonly Target[] | undefined>
  /** @param withinMs what a try may take at most, where the channel's own limit is longer @throws NotDelivered */
  readonly open: (target: Target, withinMs: number) => Promise<Channel>
  readonly report: (event: DeliveryEvent) => void
}

/** What became of a notification. No secret. */
export interface DeliveryEvent {
  readonly job: string
  readonly kind: string
  /** Names the target for people. */
  readonly target: string
  /** Why it was not delivered; undefined: it was. */
  readonly reason?: string
  /** When it is tried again; undefined where it is not. */
  readonly nextAt?: number
}

/** Whether a target wants to be told. */
export const wants = (
  { on }: Pick<Target, 'on'>,
  { failure, known }: Pick<Notice, 'failure' | 'known'>,
): boolean => on === 'always' || (failure && (on === 'failure' || known !== true))

export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox(parts: OutboxParts) {
  const { ledger, now } = parts
  return {
    /** Writes the notice down for those of the targets that want it and were not told of its subject before. */
    async tell(notice: Notice, targets: readonly Target[]): Promise<void> {
      const failures = targets.filter((target) => wants(target, { ...notice, known: undefined }))
      if (failures.length === 0) return
      const jobId = await ledger.jobId(notice.job, notice.gateway)
      const wanted: Target[] = []
      // What nobody has told a target is news to it.
      for (const target of failures)
        if (wants(target, notice) || !(await ledger.notifications.isTold(jobId, keyOf(target))))
          wanted.push(target)
      const { kind, subject } = notice
      const written = JSON.stringify(notice)
      const rows = wanted.map((target) => ({
        messageId: parts.newId(),
        kind,
        subject,
        target: keyOf(target),
        address: nameOf(target),
        notice: written,
      }))
      await ledger.notifications.add(jobId, rows, now())
    },
    /** Tries what is due, of all jobs, for ten seconds at most; what is left is tried by whoever delivers next. What fails is reported; rejects only where the ledger cannot be used. */
    async deliver(): Promise<void> {
      const until = now() + PASS_MS
      const work = async (): Promise<void> => {
        while (until - now() >= LEAST_MS) {
          const claimed = await ledger.notifications.claim(now(), now() + CLAIM_MS)
          if (claimed === undefined) return
          await deliverClaimed(parts, claimed, until)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    },
  }
}

async function deliverClaimed(parts: OutboxParts, claimed: NotificationRecord, until: number): Promise<void> {
  const { ledger, now, report } = parts
  const { job, kind, address: target } = claimed
  const targets = await parts.targetsOf(job)
  const wanted = targets?.find((one) => keyOf(one) === claimed.target)
  const reason =
    wanted === undefined
      ? targets === undefined
        ? 'the job file cannot be read'
        : 'the job names it no more'
      : await reasonOf(() => tryQuickly(parts, claimed, wanted, until))
  if (reason === undefined) {
    await ledger.notifications.move(claimed, 'deliver', { at: now() })
    report({ job, kind, target })
    return
  }
  const isGone = targets !== undefined && wanted === undefined
  const nextAt = isGone ? undefined : nextTry(claimed.attempts, claimed.created_at, now())
  const change = { at: now(), error: reason, ...(nextAt === undefined ? {} : { nextAt }) }
  if (await ledger.notifications.move(claimed, nextAt === undefined ? 'give-up' : 'fail', change))
    report({ job, kind, target, reason, ...(nextAt === undefined ? {} : { nextAt }) })
}

/** What is new is tried a few times, as long as that may help and there is time; later, one try has to do. */
async function tryQuickly(
  { open, sleep, now }: OutboxParts,
  claimed: NotificationRecord,
  target: Target,
  until: number,
): Promise<void> {
  const message: Message = { id: claimed.message_id, notice: readNotice(claimed.notice) }
  const waits = claimed.attempts === 1 ? QUICK_WAITS_MS : []
  await pRetry(
    async (attempt) => {
      try {
        // Also where a clock has jumped meanwhile.
        const channel = await open(target, Math.max(LEAST_MS, until - now()))
        await channel.deliver(message)
      } catch (error) {
        const wait = waits[attempt - 1]
        const passing = error instanceof NotDelivered && error.passing
        if (!passing || wait === undefined || until - now() - wait < LEAST_MS)
          throw new AbortError(error instanceof Error ? error : String(error))
        await sleep(wait, NEVER)
        throw error
      }
    },
    // The waits are made above, by the clock that was handed in.
    { retries: QUICK_WAITS_MS.length, minTimeout: 0 },
  )
}

/** Also a run that was interrupted is told of. */
const NEVER = new AbortController().signal

/** Why something was not delivered; undefined where it was. Of what no channel foresees its name alone: its words may hold a secret. */
export async function reasonOf(deliver: () => Promise<void>): Promise<string | undefined> {
  try {
    await deliver()
    return undefined
  } catch (error) {
    if (error instanceof NotDelivered) return error.message
    return `unexpected (${error instanceof Error ? error.name : typeof error})`
  }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Waits between the tries of a notification that is new. */
export const QUICK_WAITS_MS = [SECOND, 3 * SECOND] as const

/** A pass is over after so long, whatever receivers do: a run that cron has started must come to its end. */
export const PASS_MS = 10 * SECOND

/** With less than that until then no try is begun. */
export const LEAST_MS = 2 * SECOND

/** A process that has claimed a notification and not said what became of it for so long is dead. */
export const CLAIM_MS = 2 * MINUTE

/** A night and a half: a job that cron runs once a night tries again the next night. */
export const GIVE_UP_AFTER_MS = 36 * HOUR

const INTERVALS_MS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR] as const
const LONGEST_INTERVAL_MS = 6 * HOUR

/**
 * @param attempts those that were made, the last one included
 * @returns undefined where it is given up
 */
export function nextTry(attempts: number, createdAt: number, now: number): number | undefined {
  const next = now + (INTERVALS_MS[attempts - 1] ?? LONGEST_INTERVAL_MS)
  return now - createdAt >= GIVE_UP_AFTER_MS ? undefined : next
}
