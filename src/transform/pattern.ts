/**
 * Regular expressions of a mapping (RE2 syntax, through re2js): matched in time that grows with the text alone, whatever
 * pattern and text, so that no cell can hold a run up. There are no look-arounds and no back references.
 */
import { RE2JS } from 're2js'

/** What is wrong with a pattern, or undefined. */
export function patternFault(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return `is no regular expression: ${message.replace('error parsing regexp: ', '')}`
  }
}

/** Whether the pattern is found anywhere in a text. */
export function compileMatch(pattern: string): (text: string) => boolean {
  const expression = RE2JS.compile(pattern)
  return (text) => expression.matcher(text).find()
}

/** What the first group matched, or the whole match where the pattern has no group; undefined where it is not found. */
export function compileExtract(pattern: string): (text: string) => string | undefined {
  const expression = RE2JS.compile(pattern)
  const group = expression.groupCount() > 0 ? 1 : 0
  return (text) => {
    const matcher = expression.matcher(text)
    return matcher.find() ? (matcher.group(group) ?? '') : undefined
  }
}
