/** Levels of lists and objects that a JSON text from outside may have: a walk by recursion has the stack for them. */
export const DEEPEST = 200

/** Members of all objects of a value as JSON.parse gives it; NaN where it is nested deeper than `DEEPEST`. */
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
