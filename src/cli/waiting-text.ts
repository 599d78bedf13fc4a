/** Whom a command waits for, and since when that one is at work. */
import { createRunEvents, type OtherRun, type RunEvents } from '../run/events.ts'
import type { CommandContext } from './context.ts'

export function waitingText({ job, run, owner, since, givesWay }: OtherRun): string {
  const which = run === undefined ? '' : `run ${run}, `
  const others = `${job} (${which}${owner}, since ${new Date(since).toISOString()})`
  return givesWay === true
    ? `waiting for the backfill of ${others}, which gives way`
    : `waiting for another run, which goes first: ${others}`
}

/** For a command that runs nothing itself. */
export const tellingWaits = ({
  logger,
  writeError,
}: Pick<CommandContext, 'logger' | 'writeError'>): RunEvents =>
  createRunEvents({
    waitingForRun: (other) => logger.beside(writeError).warn(waitingText(other), { job: other.job }),
  })
