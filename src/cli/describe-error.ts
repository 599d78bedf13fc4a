/** An error as a person reads it: what was found, where, and what to do next. */
import { describePlace, WaybillError } from '../model/errors.ts'
import { type Line, toned } from '../shown-text.ts'
import type { CommandContext } from './context.ts'

export function describeError(error: unknown): string[] {
  if (!(error instanceof WaybillError)) {
    return [
      '',
      `error unexpected: ${error}`,
      ...framesOf(error),
      '  This is a defect of Waybill. The ledger knows how far it came; running the job again goes on from there.',
    ]
  }
  const where = error.place === undefined ? '' : describePlace(error.place)
  return [
    '',
    `error ${error.code}: ${error.message}`,
    ...(where === '' || error.message.includes(where) ? [] : [`  at ${where}`]),
    ...error.findings.map(({ place, message }) => `  ${describePlace(place)}: ${message}`),
    `  What to do: ${error.remedy}`,
  ]
}

/** The same for a terminal: what it is stands in the first line with words. */
export const errorLines = (error: unknown): Line[] => toned(describeError(error), 1, 'bad')

/**
 * Where it was thrown: what stands behind its words. None where they are not found, as then nobody can tell which lines of the stack are
 * words.
 */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return []
  const { stack, message } = error
  const at = stack.indexOf(message)
  if (at < 0) return []
  const [, ...frames] = stack.slice(at + message.length).split('\n')
  return frames
}

/** A field `error`, where there is one. */
export function errorAsJson(error: WaybillError | undefined): object {
  if (error === undefined) return {}
  const { code, message, place, findings, remedy } = error
  return { error: { code, message, place, findings, remedy } }
}

/** What ended a command, into the log file: on standard error it is described. */
export function logFailure(
  { settings, logger }: Pick<CommandContext, 'settings' | 'logger'>,
  error: unknown,
): void {
  if (settings.logFile === undefined) return
  const file = logger.beside(() => {})
  if (error instanceof WaybillError) file.error(`${error.message}. ${error.remedy}`, { code: error.code })
  else file.error('unexpected: a defect, whose stack is on standard error')
}
