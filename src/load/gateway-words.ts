/**
 * The gateway's words about a record, for the rejects file, and without what the record holds, for ledger and logs. Pure.
 */

/**
 * Takes out of a message everything that may be of a person: what stands in quotes, every word with a digit in it, and every
 * string that the record itself holds.
 */
export function scrubWords(words: string, secrets: readonly string[]): string {
  let text = words
  for (const secret of secrets) {
    if (secret.length > 1) text = text.replaceAll(secret, '…')
  }
  return text
    .replaceAll(/"[^"]*"|'[^']*'|“[^”]*”/g, '…')
    .replaceAll(/[^\s,;:()[\]{}=]*\d[^\s,;:()[\]{}=]*/g, '#')
    .slice(0, 300)
}

/** Every string that stands in a record's or a request's JSON text, keys left out. */
export function secretsOf(json: unknown): string[] {
  if (typeof json === 'string') return [json]
  if (typeof json === 'number') return [String(json)]
  if (typeof json !== 'object' || json === null) return []
  return Object.values(json).flatMap(secretsOf)
}
