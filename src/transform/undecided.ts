/** Lines of a mapping on which a draft asks for a decision that nobody has made yet. */

/** What a draft gives as time of observation where it found none; nothing that is sent may have it. */
export const PLACEHOLDER_INSTANT = '1900-01-01T00:00:00.000Z'

const ASKS = /#.*\bDECIDE:/
const PLACEHOLDER = new RegExp(
  `^[^#]*\\bconstant:\\s*["']?${PLACEHOLDER_INSTANT.slice(0, 10)}(?:T00:00(?::00(?:\\.0+)?)?Z?)?["']?\\s*(?:[},#]|$)`,
)

/** Numbers of lines, from 1: those with a comment that says `DECIDE:`, and those that hold the placeholder of a date. */
export const undecidedLines = (text: string): number[] =>
  text
    .split('\n')
    .flatMap((line, at) => (ASKS.test(line) || PLACEHOLDER.test(line.trimEnd()) ? [at + 1] : []))
