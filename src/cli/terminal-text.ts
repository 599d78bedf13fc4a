/** Errors for terminals, JSON and the log: the finding, the place, and the next step. */

import { codeOf, describePlace, WaybillError } from '../model/errors.ts'
import { shipped } from '../system/shipped.ts'
import { type Line, toned } from '../system/shown-text.ts'

export function describeError(error: unknown): string[] {
  if (!(error instanceof WaybillError)) {
    return [
      '',
      `error unexpected: ${codeOf(error)}`,
      ...placesOf(error),
      '  This is a defect of Waybill. The ledger has the progress: run the job again to continue from there.',
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

/** The error for a terminal, with its first line in colour. */
export const errorLines = (error: unknown): Line[] => toned(describeError(error), 'bad')

/** Folder of the program, both for the sources and for the bundle. */
const PROGRAM = `${shipped()}/`

/** Stack frames in files of the program. None if the stack lacks the message, as the frames cannot be found then. */
function placesOf(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return []
  const { stack, message } = error
  const at = stack.indexOf(message)
  if (at < 0) return []
  const [, ...frames] = stack.slice(at + message.length).split('\n')
  return frames.flatMap((frame) => {
    const [, file = '', position] = /^\s+at (?:.*\()?(?:file:\/\/)?(\/.*?)(:\d+:\d+)\)?$/.exec(frame) ?? []
    const isOurs = file.startsWith(PROGRAM) && !file.startsWith(`${PROGRAM}node_modules/`)
    return isOurs ? [`    at ${file.slice(PROGRAM.length)}${position}`] : []
  })
}
