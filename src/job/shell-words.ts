/** Words of commands that people are told to type, as a shell takes them. */
import { shownPath } from './shown-path.ts'

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
