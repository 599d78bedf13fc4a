/** `waybill notify`: sends a test notification to all targets of a job. */
import { readJob } from '../definitions/definition-files.ts'
import { assertTellable, gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import { nameOf } from '../definitions/notify-definition.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import { deliverNow } from '../runs/teller.ts'
import type { Action } from './commands.ts'
import { say } from './context.ts'

export const notify: Action<'notify'> = async (context, options) => {
  const { settings, now } = context
  const job = await readJob(settings, options.job)
  assertTellable(settings, job)
  const targets = targetsOf(job)
  const { job: name } = job.definition
  if (targets.length === 0)
    throw new WaybillError('usage-wrong', `the job ${name} tells nobody: it has no notify`, {
      remedy: 'Name a target in the job file: docs/notifications.md.',
    })
  const notice = testNotice(name, gatewayNameOf(settings, job.definition), now())
  const told = await Promise.all(
    targets.map(async (target) => ({
      target: nameOf(target),
      error: await deliverNow(context, notice, target),
    })),
  )
  say(context, options.json, { job: name, targets: told }, () =>
    told.map(({ target, error }) =>
      error === undefined ? `delivered  ${target}` : `failed     ${target}: ${error}`,
    ),
  )
  return told.every(({ error }) => error === undefined) ? EXIT.ok : EXIT.recordsLeftBehind
}

const testNotice = (job: string, gateway: string, at: number): UnsentNotice => ({
  kind: 'test',
  job,
  gateway,
  subject: new Date(at).toISOString(),
  failure: false,
  at,
  title: `Waybill: a test for ${job}`,
  text: [`Somebody has typed \`waybill notify ${job}\`. Nothing is to be done.`],
  next: [],
  data: {},
})
