/** A test notification to all targets of a job; then the notices that wait, or were given up. */
import { readJob } from '../definitions/definition-files.ts'
import { assertTellable, gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import { nameOf } from '../definitions/notify-definition.ts'
import { WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import { iso } from '../system/shown-text.ts'
import type { Application } from './application.ts'
import { deliverNow, deliverWaiting } from './teller.ts'

interface TestedTargets {
  readonly job: string
  /** `error`: why the target did not accept the notice. */
  readonly targets: readonly { readonly target: string; readonly error: string | undefined }[]
  /** Numbers of notices of before. */
  readonly waiting: { readonly delivered: number; readonly left: number }
}

/** @throws WaybillError `usage-wrong` for a job without targets; `job-not-found` */
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
