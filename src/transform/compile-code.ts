/** The code of a coded row: by a code system of the catalog, or through the vendor's table. */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { FIELD_MESSAGES } from './field-text.ts'
import type { CodeDefinition } from './mapping-definition.ts'
import { LEFT_OUT } from './rule.ts'
import type { Scope } from './scope.ts'

export type CodeResult =
  | { readonly ok: true; readonly key: string }
  | { readonly ok: false; readonly code: string; readonly message: string }
  | typeof LEFT_OUT

export interface CompiledCode {
  readonly from: string | undefined
  readonly depth: number
  readonly read: (scope: Scope) => CodeResult
}

/** @param section the catalog that the key must be in */
export function compileCode(
  context: CompileContext,
  definition: CodeDefinition,
  section: 'biometrics' | 'conditions',
  path: KeyPath,
): CompiledCode {
  const { system, table: named, unknown: whenUnknown, ...read } = definition
  const field = compileField(context, read, path)
  const entries = context.catalog[section]
  const table = named === undefined ? undefined : context.table(named, [...path, 'table'])
  for (const key of new Set(table?.values() ?? [])) {
    if (!entries.has(key))
      context.report(
        [...path, 'table'],
        `the table leads to "${key}", which is not in the catalog of ${section}`,
      )
  }
  const lookUp = (code: string): string | undefined =>
    table?.get(code) ?? (system === undefined ? undefined : context.catalog.keyOf(system, code))
  const unknown: CodeResult =
    whenUnknown === 'skip'
      ? LEFT_OUT
      : {
          ok: false,
          code: 'code-unknown',
          message: `the code is not in the ${system === undefined ? 'table' : `catalog's ${system} codes`}`,
        }
  const missing: CodeResult = { ok: false, code: 'code-missing', message: 'there is no code' }
  const results = new Map<string, CodeResult>()

  return {
    from: field.from,
    depth: field.depth,
    read(scope) {
      const text = field.read(scope)
      if (!text.ok) return { ok: false, code: text.code, message: FIELD_MESSAGES[text.code] }
      if (text.text === '') return missing
      const known = results.get(text.text)
      if (known !== undefined) return known
      const key = lookUp(text.text)
      if (key === undefined || !entries.has(key)) return unknown
      const found: CodeResult = { ok: true, key }
      results.set(text.text, found)
      return found
    },
  }
}
