/** Reads a date text by forms and rules. */
import { compileInstant, type InstantOptions } from '../../src/transform/dates.ts'

export const NEW_YORK = 'America/New_York'
export const BERLIN = 'Europe/Berlin'

/** The instant in ISO form, or the code of why there is none. */
export function readDate(
  text: string,
  formats: string | readonly string[],
  zone?: string,
  more: InstantOptions = {},
): string {
  const instant = compileInstant([formats].flat(), { ...more, zone })(text)
  return instant.ok ? new Date(instant.at).toISOString() : instant.code
}
