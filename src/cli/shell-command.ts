/** Commands that people are told to type: they can be typed as they stand. */
import { shownPath } from '../job/shown-path.ts'

/** In single quotes where a POSIX shell would take it for something else. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A path, relative to the working folder where that is shorter; one that begins with a dash is not to be taken for an option. */
export function shellPath(path: string): string {
  const shown = shownPath(path)
  return shellWord(shown.startsWith('-') ? `./${shown}` : shown)
}

/** On a line of its own. @param words quoted where they must be */
export const command = (...words: readonly string[]): string => `    waybill ${words.join(' ')}`
