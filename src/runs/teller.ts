/** Notifies the targets of jobs, with the settings, clock and log of a command. A failed notification never reaches the caller. */
import { z } from 'zod'
import { type Job, readJob } from '../definitions/definition-files.ts'
import { assertTellable, gatewayNameOf, readTargets, targetsOf } from '../definitions/jobs.ts'
import { nameOf, readStoredTargets, storedTargets, type Target } from '../definitions/notify-definition.ts'
import { type Ledger, processName } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import {
  type Attach,
  type Installation,
  type Message,
  sentFrom,
  type UnsentNotice,
} from '../notify/notice.ts'
import { openChannel } from '../notify/open-channel.ts'
import { createOutbox, type DeliveryEvent, reasonOf, wants } from '../notify/outbox.ts'
import { iso } from '../system/shown-text.ts'
import { type Application, withLedgerIfAny } from './application.ts'

/** Targets that the job named when its file was last valid; undefined if the ledger knows none. */
export async function lastTargets(
  { lastTargets }: Pick<Ledger, 'lastTargets'>,
  job: string,
): Promise<readonly Target[] | undefined> {
  const text = await lastTargets.of(job)
  return text === undefined ? undefined : readStoredTargets(text)
}

/** Keeps the targets of a valid job file, for a time when it is valid no more. A ledger that cannot be written fails the run by itself. */
export const keepTargets = ({ lastTargets }: Pick<Ledger, 'lastTargets'>, job: Job): Promise<void> =>
  lastTargets.keep(job.definition.job, storedTargets(targetsOf(job))).catch(() => undefined)

export type TellerContext = Pick<
  Application,
  'settings' | 'logger' | 'now' | 'sleep' | 'randomHex' | 'owner' | 'isDead' | 'version'
>

export type Teller = ReturnType<typeof createTeller>

/** @param known targets from job files that were read: a file may lie outside the jobs folder, or be unreadable by now */
export function createTeller(
  context: TellerContext,
  ledger: Ledger,
  known: ReadonlyMap<string, readonly Target[]> = new Map(),
) {
  const { settings, logger, now, sleep } = context
  const attach = mailedReport(context, ledger)
  const outbox = createOutbox({
    ledger,
    now,
    sleep,
    newId: () => newMessageId(context),
    async targetsOf(job) {
      const named = known.get(job)
      const here = await readTargets(settings, job)
      // A job file elsewhere may share its name with a file in the jobs folder, which does not list these targets.
      const elsewhere = named?.filter(({ folder }) => folder !== settings.jobs) ?? []
      if (elsewhere.length > 0) return [...elsewhere, ...(here ?? [])]
      return here ?? named ?? (await lastTargets(ledger, job))
    },
    open: (target, withinMs) => openChannel(target, settings, now, { withinMs, attach }),
    report: (event) => report(context, event),
  })
  const deliverDue = (): Promise<void> =>
    outbox
      .deliver()
      .catch((error: unknown) =>
        logger.warn(`notifications cannot be delivered: the ledger cannot be used (${nameOfError(error)})`),
      )
  let underWay: Promise<void> = Promise.resolve()
  return {
    tell: (notice: UnsentNotice, targets: readonly Target[]): Promise<void> =>
      outbox.tell(sentFrom(notice, installation(context)), targets).catch(async () => {
        logger.warn(`the notification ${notice.kind} cannot be stored: it is delivered now or never`, {
          job: notice.job,
        })
        await tellAtOnce(context, notice, targets)
      }),
    /** Delivers due notifications of all jobs, for ten seconds at most, and the rest later. Resolves after all earlier calls, too. */
    deliver(): Promise<void> {
      const [before, pass] = [underWay, deliverDue()]
      underWay = before.then(() => pass)
      return underWay
    },
  }
}

const OfRun = z.object({ run: z.string() })

/** Attaches the report of the run to a mail. The mail goes without the report if the run was pruned, or if the report fails. */
const mailedReport =
  ({ settings, logger, now, isDead, version }: TellerContext, ledger: Ledger): Attach =>
  async ({ kind, job, data }) => {
    const { data: of } = OfRun.safeParse(data)
    if (kind !== 'run-ended' || of === undefined) return []
    const { run } = of
    try {
      const record = await ledger.runs.find(run)
      if (record === undefined || record.pruned_at !== null) return []
      const { runReport } = await import('../story/report/report-page.ts')
      const parts = { ledger, home: settings.home, now: now(), isDead, version }
      return [{ name: `${run}.html`, type: 'text/html; charset=utf-8', content: await runReport(parts, run) }]
    } catch {
      logger.warn('the report of the run failed: the mail goes without it', { job, run })
      return []
    }
  }

/** Notifies without a ledger to store the notice: tries each target once. */
export async function tellAtOnce(
  context: TellerContext,
  notice: UnsentNotice,
  targets: readonly Target[],
): Promise<void> {
  const wanted = targets.filter((target) => wants(target, notice))
  await Promise.all(
    wanted.map(async (target) => {
      const reason = await deliverNow(context, notice, target)
      const { job, kind } = notice
      report(context, { job, kind, target: nameOf(target), ...(reason === undefined ? {} : { reason }) })
    }),
  )
}

/** Tries once. @returns the reason of the failure; undefined if delivered */
function deliverNow(
  context: TellerContext,
  notice: UnsentNotice,
  target: Target,
): Promise<string | undefined> {
  const message: Message = {
    id: newMessageId(context),
    notice: sentFrom(notice, installation(context)),
  }
  return reasonOf(async () => (await openChannel(target, context.settings, context.now)).deliver(message))
}

/** Delivers what waits for the targets of a job, and what was given up. @returns numbers of notifications */
const deliverWaiting = (
  application: Application,
  job: string,
): Promise<{ readonly delivered: number; readonly left: number }> =>
  withLedgerIfAny(application, async (ledger) => {
    if (ledger === undefined || (await ledger.notifications.revive(job, application.now())) === 0)
      return { delivered: 0, left: 0 }
    const before = await ledger.notifications.countOpen(job)
    await createTeller(application, ledger).deliver()
    const left = await ledger.notifications.countOpen(job)
    return { delivered: before - left, left }
  })

const installation = ({ owner, settings }: TellerContext): Installation => ({
  host: processName(owner).replace(/:\d+$/, ''),
  home: settings.home,
  console: settings.consoleUrl,
})

const newMessageId = ({ randomHex }: TellerContext): string => `msg_${randomHex(16)}`

function report({ logger }: TellerContext, { job, kind, target, reason, nextAt }: DeliveryEvent): void {
  if (reason === undefined) logger.debug(`notified: ${kind} to ${target}`, { job })
  else {
    const then = nextAt === undefined ? 'it is given up' : `tried again from ${iso(nextAt)}`
    logger.warn(`the notification ${kind} to ${target} was not delivered: ${reason}; ${then}`, { job })
  }
}

const nameOfError = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

interface TestedTargets {
  readonly job: string
  /** `error`: why the target did not accept the notice. */
  readonly targets: readonly { readonly target: string; readonly error: string | undefined }[]
  /** Numbers of notices of before. */
  readonly waiting: { readonly delivered: number; readonly left: number }
}

/** @throws `usage-wrong` for a job without targets; `job-not-found` */
export async function testTargets(application: Application, name: string): Promise<TestedTargets> {
  const { settings, now } = application
  const found = await readJob(settings, name)
  assertTellable(settings, found)
  const targets = targetsOf(found)
  const { job } = found.definition
  if (targets.length === 0)
    throw new WaybillError('usage-wrong', `the job ${job} has no target for notifications (notify)`, {
      remedy: 'Add a target to the job file: docs/notifications.md.',
    })
  const notice = testNotice(job, gatewayNameOf(settings, found.definition), now())
  const ends = await Promise.all(
    targets.map(async (target) => ({
      target: nameOf(target),
      error: await deliverNow(application, notice, target),
    })),
  )
  return { job, targets: ends, waiting: await deliverWaiting(application, job) }
}

const testNotice = (job: string, gateway: string, at: number): UnsentNotice => ({
  kind: 'test',
  job,
  gateway,
  subject: iso(at),
  failure: false,
  at,
  title: `Waybill: test notification of ${job}`,
  text: [`Sent by \`waybill notify ${job}\`. No action is needed.`],
  next: [],
  data: {},
})
