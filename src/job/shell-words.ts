/** Words of commands that people are told to type, as a shell takes them. */
import { shown } from '../shown-text.ts'
import { shownPath } from './shown-path.ts'

/**
 * In single quotes where a shell would take it for something else. What a person would not see, or a terminal obey, stands as its
 * bytes, in the quotes that bash, zsh, ksh and POSIX (2024, section 2.2.4) know for that: `$'a\012b'`. In octal, as a
 * digit may follow.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  if (shown(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`
  const isPlain = (character: string): boolean => shown(character) === character && !/['\\!]/.test(character)
  return `$'${Array.from(text, (character) => (isPlain(character) ? character : octalOf(character))).join('')}'`
}

const octalOf = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** A path, relative to the working folder where that is shorter; one that begins with a dash is not to be taken for an option. */
export function shellPath(path: string): string {
  const short = shownPath(path)
  return shellWord(short.startsWith('-') ? `./${short}` : short)
}
