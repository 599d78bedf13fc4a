/** Paths as people are told of them. */
import { relative } from 'node:path'

/** Relative to where the command was typed, unless that is longer. */
export function shownPath(path: string): string {
  const short = relative('.', path)
  return short.startsWith('..') ? path : short
}
