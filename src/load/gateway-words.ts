/**
 * The gateway's words about a record, for the rejects file, and without what the record holds, for ledger and logs. Pure.
 */
import type { GatewayError } from '../gateway/gateway-error.ts'
import type { Reason } from './entry.ts'

/** Why something was refused: what we say of it, which is of nobody, then the gateway's words, which may be of a person. */
export interface Words {
  readonly ours: string
  readonly theirs?: string
}

/** The status stands in front: it tells one refusal from another. */
export const refusalWords = ({
  status,
  gatewayMessage = 'no reason given',
}: Pick<GatewayError, 'status' | 'gatewayMessage'>): Words => ({
  ours: status === undefined ? '' : `HTTP ${status}: `,
  theirs: gatewayMessage,
})

/** Length at which the words that the ledger keeps are cut. */
const SCRUBBED_LIMIT = 300

/** @param secrets strings of the record that was refused */
export const told = (
  { ours, theirs = '' }: Words,
  secrets: readonly string[],
): Pick<Reason, 'message' | 'scrubbed'> => ({
  message: ours + theirs,
  scrubbed: (ours + scrubWords(theirs, secrets)).slice(0, SCRUBBED_LIMIT),
})

/**
 * Takes out of a message everything that may be of a person: what stands in quotes, every word with a digit in it, and every
 * string that the record itself holds.
 */
export function scrubWords(words: string, secrets: readonly string[]): string {
  return hide(words, secrets)
    .replaceAll(/"[^"]*("|$)|'[^']*'|“[^”]*(”|$)/g, '…')
    .replaceAll(/[^\s,;:()[\]{}=]*\d[^\s,;:()[\]{}=]*/g, '#')
}

/** Without them a message says the opposite; they tell nothing of anybody. */
const KEPT = /^(?:not|no)$/i

/** Takes out the strings wherever they stand, and each of their words where it stands alone, whatever the case. */
function hide(text: string, secrets: readonly string[]): string {
  const whole = secrets.filter((secret) => secret.length > 1)
  const words = whole
    .flatMap((secret) => secret.match(/[\p{L}\p{N}]{2,}/gu) ?? [])
    .filter((word) => !KEPT.test(word))
  // The longest first: what remained of a longer one around a shorter one would be readable.
  const found = [
    ...longestFirst(whole),
    ...longestFirst(words).map((word) => `(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`),
  ]
  return found.length === 0 ? text : text.replaceAll(new RegExp(found.join('|'), 'giu'), '…')
}

const longestFirst = (texts: readonly string[]): string[] =>
  [...new Set(texts)]
    .sort((a, b) => b.length - a.length)
    .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))

/** Every string that stands in a record's or a request's JSON text, keys left out. */
export function secretsOf(json: unknown): string[] {
  if (typeof json === 'string') return [json]
  if (typeof json === 'number') return [String(json)]
  if (typeof json !== 'object' || json === null) return []
  return Object.values(json).flatMap(secretsOf)
}
