/** Begins runs of a job, with their followers: heartbeat, metrics of the last run, notices, traces. */
import { targetsOf } from '../definitions/jobs.ts'
import type { RunDependencies } from '../run/events.ts'
import type { JobEnd, RunStory } from '../story/run-story.ts'
import type { LastRun } from '../telemetry/last-run-metrics.ts'
import type { Application } from './application.ts'
import { openRunDependencies, type RunWatch } from './connect-gateway.ts'
import type { Follower } from './follower.ts'
import { followLastRun, lastRunFile } from './last-run.ts'
import { followByNotices, type Noticed } from './run-notices.ts'
import { createTeller, keepTargets } from './teller.ts'
import type { WithoutOld } from './which-installation.ts'

/** Followers hear the end in the order given. @throws errors of `work` */
export async function followed<End>(
  followers: readonly Follower<End>[],
  work: () => Promise<End>,
): Promise<End> {
  for (const one of followers) await one.begun?.()
  let end: End
  try {
    end = await work()
  } catch (error) {
    for (const one of followers) await one.failed?.(error)
    throw error
  }
  for (const one of followers) await one.ended?.(end)
  return end
}

interface FollowedRun extends Noticed {
  readonly deps: RunDependencies
  readonly tell: readonly ((run: LastRun) => void | Promise<void>)[]
  /** True if an error that refused the run counts as a run. */
  readonly counts: (error: unknown) => boolean
  readonly onEnd?: ((end: JobEnd) => void) | undefined
  readonly work: (deps: RunDependencies) => Promise<JobEnd>
}

/** The caller delivers the last notification. @throws errors of `work` */
export async function runFollowed(
  application: Traced & Pick<Application, 'logger'>,
  run: FollowedRun,
): Promise<JobEnd> {
  const { deps, job, tell, counts, onEnd, work } = run
  await keepTargets(deps.ledger, job)
  const lastRun = followLastRun(application, deps, job.definition.job, tell, counts)
  const notices = followByNotices(application, run)
  const traces = await tracesOf(application)
  const listeners = [notices.listener, traces?.listener].filter((one) => one !== undefined)
  const events = listeners.reduce((all, one) => all.with(one), deps.events)
  const sent = { ended: () => traces?.end(), failed: () => traces?.end() }
  const followers = [lastRun, notices, { ended: (end: JobEnd) => onEnd?.(end) }, sent]
  return followed(followers, () => work({ ...deps, events }))
}

interface Beginning extends Pick<FollowedRun, 'job' | 'work'> {
  readonly gateway: string
  /** True to notify targets of a refused run; false if the person who typed the command sees the error. */
  readonly refusals: boolean
  readonly requestsPerSecond?: number | undefined
  readonly without?: WithoutOld
}

export interface BeginWatch extends RunWatch {
  /** Called at the end of the run, before its notifications are delivered, which may take ten seconds. */
  readonly onEnd?: (end: JobEnd) => void
  /** Called each second while workers run the job, whose events are heard there; undefined while no worker has begun. */
  readonly onLook?: (shown: RunStory | undefined) => void
}

/** @throws errors of `work`: nothing was run */
export async function begin(
  application: Application,
  watch: BeginWatch,
  { job, gateway, refusals, requestsPerSecond, without, work }: Beginning,
): Promise<JobEnd> {
  const { close, ...opened } = await openRunDependencies(
    application,
    watch,
    gateway,
    without,
    requestsPerSecond,
  )
  const teller = createTeller(application, opened.ledger, new Map([[job.definition.job, targetsOf(job)]]))
  try {
    return await runFollowed(application, {
      deps: opened,
      job,
      teller,
      refusals,
      tell: lastRunFile(application),
      counts: () => refusals,
      onEnd: watch.onEnd,
      work,
    })
  } finally {
    await teller.deliver()
    await close()
  }
}

type Traced = Pick<Application, 'settings' | 'version' | 'now' | 'randomHex'>

async function tracesOf({
  settings,
  version,
  now,
  randomHex,
}: Traced): Promise<ReturnType<typeof import('./traces.ts').openTraces> | undefined> {
  const { otlpEndpoint: endpoint, otlpHeaders = '' } = settings
  if (endpoint === undefined) return undefined
  const { openTraces } = await import('./traces.ts')
  // `name=value`, separated by commas, like OpenTelemetry's own variable.
  const headers = Object.fromEntries(
    otlpHeaders.split(',').flatMap((one) => {
      const at = one.indexOf('=')
      return at < 1 ? [] : [[one.slice(0, at).trim(), decoded(one.slice(at + 1).trim())]]
    }),
  )
  return openTraces({ endpoint, headers, version, now, randomHex })
}

/** A value that is not percent-encoded stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
