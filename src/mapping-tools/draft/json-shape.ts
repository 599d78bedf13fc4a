/** How a shape of JSON is described, and what its recognition asks. */
import type { JsonValue } from '../../model/row.ts'

export interface JsonShape {
  readonly kind: string
  recognise(document: JsonValue): boolean
  readonly each: Readonly<Record<string, string>>
  readonly key: readonly string[]
  readonly reference: readonly string[]
  readonly register: Readonly<
    Record<'firstName' | 'lastName' | 'dateOfBirth' | 'gender' | 'postalCode', readonly string[]>
  >
  readonly observedAt: readonly string[]
  readonly biometrics?: {
    readonly code: readonly string[]
    /** Beside the code, what it is called. */
    readonly name: readonly string[]
    readonly value: readonly string[]
    readonly unit: readonly string[]
    readonly status: readonly string[]
    readonly refRange: readonly string[]
  }
  /** Results within a result, by a level of their own: what there is of them is as in `biometrics`. */
  readonly components?: {
    readonly each: Readonly<Record<string, string>>
    readonly rules: NonNullable<JsonShape['biometrics']>
  }
  readonly conditions?: { readonly code: readonly string[]; readonly status: readonly string[] }
}

/** What stands at the end of names and positions. */
export const member = (
  value: JsonValue | undefined,
  ...names: readonly (string | number)[]
): JsonValue | undefined => {
  let found = value
  for (const name of names) {
    if (typeof found !== 'object' || found === null) return undefined
    found = Array.isArray(found) ? found[Number(name)] : (found as Readonly<Record<string, JsonValue>>)[name]
  }
  return found
}

export const has = (document: JsonValue, ...names: readonly (string | number)[]): boolean =>
  member(document, ...names) !== undefined
