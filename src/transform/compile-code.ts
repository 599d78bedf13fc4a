/** The code of a coded row: by a code system of the catalog, or through the vendor's table. */
import type { Issue } from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import { type CodeFault, codeFault } from './check-codes.ts'
import type { CompileContext } from './compile-context.ts'
import { compileAlternatives } from './compile-field.ts'
import { FIELD_MESSAGES } from './field-text.ts'
import type { CodeDefinition } from './mapping-definition.ts'
import { LEFT_OUT } from './rule.ts'
import type { Scope } from './scope.ts'

export type CodeResult =
  | { readonly ok: true; readonly key: string }
  | { readonly ok: false; readonly code: string; readonly message: string }
  | typeof LEFT_OUT

/** What becomes of a code; with a doubt, it is left to what the mapping says of unknown codes. */
interface Judged {
  readonly result: CodeResult
  readonly doubt?: CodeFault
}

const unreadable = (code: keyof typeof FIELD_MESSAGES): CodeResult => ({
  ok: false,
  code,
  message: FIELD_MESSAGES[code],
})

const KEPT = 10_000

export interface CompiledCode {
  /** Of `firstOf`, all its columns or paths: the first that has a known code says what it is, else the first that has one. */
  readonly from: string | undefined
  readonly depth: number
  readonly read: (scope: Scope) => CodeResult
}

/** What a rule of a list is of: as its code says, or always the same. @param section the catalog that the key must be in */
export function compileCoded(
  context: CompileContext,
  rule: { readonly code?: CodeDefinition | undefined; readonly catalog?: string | undefined },
  section: 'biometrics' | 'conditions',
  path: KeyPath,
): CompiledCode {
  const { code, catalog: key = '' } = rule
  if (code !== undefined) return compileCode(context, code, section, [...path, 'code'])
  if (!context.catalog[section].has(key))
    context.report([...path, 'catalog'], `"${key}" is not in the catalog of ${section}`)
  const always: CodeResult = { ok: true, key }
  return { from: undefined, depth: 0, read: () => always }
}

function compileCode(
  context: CompileContext,
  definition: CodeDefinition,
  section: 'biometrics' | 'conditions',
  path: KeyPath,
): CompiledCode {
  const { system, table: named, unknown: whenUnknown, ...read } = definition
  const fields = compileAlternatives(context, read, path)
  const from = fields.flatMap((field) => field.from ?? []).join(', ') || undefined
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
  const judge = (code: string): Judged => {
    const key = lookUp(code)
    if (key !== undefined && entries.has(key)) return { result: { ok: true, key } }
    const fault = codeFault(system, code)
    if (fault === undefined || context.checks.effects[fault.check] === 'off') return { result: unknown }
    if (context.checks.effects[fault.check] === 'warn') return { result: unknown, doubt: fault }
    return { result: { ok: false, code: fault.code, message: fault.message } }
  }
  const kind = section === 'biometrics' ? 'biometric' : 'condition'
  const judged = new Map<string, Judged>()
  const judgedOnce = (code: string): Judged => {
    const before = judged.get(code)
    if (before !== undefined) return before
    const found = judge(code)
    // A column of free text must not grow this without bound.
    if (judged.size < KEPT) judged.set(code, found)
    return found
  }

  return {
    from,
    depth: Math.max(...fields.map((field) => field.depth)),
    read(scope) {
      let found: Judged | undefined
      for (const field of fields) {
        const text = field.read(scope)
        if (text.ok && text.text === '') continue
        const one = text.ok ? judgedOnce(text.text) : { result: unreadable(text.code) }
        if (one.result !== LEFT_OUT && one.result.ok) return one.result
        found ??= one
      }
      if (found === undefined) return missing
      const { result, doubt } = found
      // One that is rejected as unknown is not warned about as well.
      if (doubt !== undefined && result === LEFT_OUT) {
        const { check, code, message } = doubt
        const issue: Issue = {
          stage: 'transform',
          code,
          message,
          ...(from === undefined ? {} : { field: from }),
        }
        context.checks.found(check, kind, 'unmapped', issue)
      }
      return result
    },
  }
}
