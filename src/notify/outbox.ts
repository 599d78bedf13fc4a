/**
 * Outbox: a notice is stored first, for each interested target, and then delivered. A failed delivery stays, and the next delivering process
 * tries again. Each notice is stored once, also if several processes make it.
 */
import pRetry, { AbortError } from 'p-retry'
import { keyOf, nameOf, type Target } from '../definitions/notify-definition.ts'
import type { Ledger, NotificationRecord } from '../ledger/ledger.ts'
import { type Channel, type Message, NotDelivered, type Notice, readNotice } from './notice.ts'

const AT_ONCE = 4

interface OutboxParts {
  readonly ledger: Pick<Ledger, 'jobs' | 'notifications'>
  readonly now: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly newId: () => string
  /** Targets in the current job file; undefined for an unreadable file. */
  readonly targetsOf: (job: string) => Promise<readonly Target[] | undefined>
  /** @param withinMs upper bound for the timeout of a try @throws NotDelivered */
  readonly open: (target: Target, withinMs: number) => Promise<Channel>
  readonly report: (event: DeliveryEvent) => void
}

/** Result of a delivery. No secrets. */
export interface DeliveryEvent {
  readonly job: string
  readonly kind: string
  readonly target: string
  readonly reason?: string
  readonly nextAt?: number
}

const RECOVERED: Notice['kind'] = 'job-recovered'

/** True if the target wants the notice. */
export const wants = (
  { on }: Pick<Target, 'on'>,
  { kind, failure, known }: Pick<Notice, 'kind' | 'failure' | 'known'>,
): boolean => on === 'always' || kind === RECOVERED || (failure && (on === 'failure' || known !== true))

export function createOutbox(parts: OutboxParts) {
  const { ledger, now } = parts
  return {
    /** Stores the notice for each interested target without a notice of this subject. */
    async tell(notice: Notice, targets: readonly Target[]): Promise<void> {
      const failures = targets.filter((target) => wants(target, { ...notice, known: undefined }))
      if (failures.length === 0) return
      const jobId = await ledger.jobs.id(notice.job, notice.gateway)
      const wanted: Target[] = []
      // A known failure is new to a target that was never notified.
      for (const target of failures) if (await isWanted(parts, jobId, target, notice)) wanted.push(target)
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
    /**
     * Tries the due notifications of all jobs, for ten seconds at most; the next process that delivers tries the rest. Reports failures; rejects
     * only for an unusable ledger.
     */
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

async function isWanted(
  { ledger: { notifications } }: OutboxParts,
  jobId: number,
  target: Target,
  notice: Notice,
): Promise<boolean> {
  // Without bad news, no good news.
  if (notice.kind === RECOVERED) return notifications.heardFailure(jobId, keyOf(target))
  return wants(target, notice) || !(await notifications.isNotified(jobId, keyOf(target)))
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
        : 'the job no longer lists this target'
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

/** Tries a new notification a few times while this may help and time is left; an old one once. */
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
        // At least the least time, also after a jump of the clock.
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
    // The waits above use the clock of the parts.
    { retries: QUICK_WAITS_MS.length, minTimeout: 0 },
  )
}

/** Never aborts: an interrupted run sends its notices, too. */
const NEVER = new AbortController().signal

/** Reason of a failed delivery; undefined for a success. An unexpected error gives its name alone, as its message may hold a secret. */
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

/** Waits between the tries of a new notification. */
const QUICK_WAITS_MS = [SECOND, 3 * SECOND] as const

/** Longest time of a pass, whatever the receivers do: a run started by cron must end. */
const PASS_MS = 10 * SECOND

/** Least time left in a pass to start a try. */
const LEAST_MS = 2 * SECOND

/** A process that has claimed a notification for this long without a result is dead. */
const CLAIM_MS = 2 * MINUTE

/** Age to give up: a night and a half, as a job of cron tries once a night. */
const GIVE_UP_AFTER_MS = 36 * HOUR

const INTERVALS_MS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR] as const
const LONGEST_INTERVAL_MS = 6 * HOUR

/**
 * @param attempts tries so far, including the last
 * @returns time of the next try; undefined to give up
 */
export function nextTry(attempts: number, createdAt: number, now: number): number | undefined {
  const next = now + (INTERVALS_MS[attempts - 1] ?? LONGEST_INTERVAL_MS)
  return now - createdAt >= GIVE_UP_AFTER_MS ? undefined : next
}
