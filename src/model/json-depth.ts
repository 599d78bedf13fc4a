/** Maximum nesting of JSON from outside: the stack suffices for a recursive walk. */
export const DEEPEST = 200

/** Number of members of all objects in a value of JSON.parse; NaN if nested deeper than `DEEPEST`. */
export function membersIn(value: unknown, levels = DEEPEST): number {
  if (typeof value !== 'object' || value === null) return 0
  if (levels === 0) return Number.NaN
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  let members = parts === value ? 0 : parts.length
  for (const part of parts) {
    if (typeof part === 'object' && part !== null) members += membersIn(part, levels - 1)
  }
  return members
}
