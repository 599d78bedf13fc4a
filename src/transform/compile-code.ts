/** Subject of a record: the catalog key of a code, found by a code system or through the vendor's table. */

import { OTHER_CODES } from '../model/balance.ts'
import { type Fault, fault } from '../model/record.ts'
import { didYouMean } from '../system/schema-problems.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { codeFault } from './codes.ts'
import type { CompileContext } from './compile-context.ts'
import { compileAlternatives, compileUnlisted } from './compile-field.ts'
import type { CodeDefinition } from './mapping-definition.ts'
import { type LeftOut, rejected } from './rule.ts'
import { branchOf, type Scope } from './scope.ts'

/** A catalog key; the fault of a code without one; or the mapping's decision to leave the code out. */
type CodeResult = string | Fault | LeftOut

/** Result for a code. With a doubt, the mapping's setting for unknown codes decides. */
interface Judged {
  readonly result: CodeResult
  readonly doubt?: ReturnType<typeof codeFault>
}

const KEPT = 10_000

export interface CompiledCode {
  /**
   * All columns or paths of `firstOf`: the first with a known code decides, unless a later one contradicts it; else the first with any
   * code.
   */
  readonly from: string | undefined
  readonly branch: number
  readonly read: (scope: Scope) => CodeResult
}

type Section = 'biometrics' | 'conditions'

/**
 * Compiles the subject of a rule: read from its code, or constant by its `catalog` or name.
 * @param section the catalog with the key
 * @param name of the rule; undefined for a listed rule
 */
export function compileCoded(
  context: CompileContext,
  { code, catalog }: { readonly code?: CodeDefinition | undefined; readonly catalog?: string | undefined },
  section: Section,
  path: KeyPath,
  name?: string,
): CompiledCode {
  if (code !== undefined) return compileCode(context, code, section, [...path, 'code'])
  const key = catalog ?? name ?? ''
  if (!context.catalog[section].has(key))
    context.report(
      catalog === undefined ? path : [...path, 'catalog'],
      `"${key}" is not in the catalog of ${section}${didYouMean(key, context.catalog[section].keys())}`,
    )
  return { from: undefined, branch: 0, read: () => key }
}

/**
 * Code that may be reported. A name or remark in place of a code must not come into the ledger: text without a digit, or long text,
 * is left out.
 */
const TOKEN = /^(?=.*\d)[A-Za-z0-9][A-Za-z0-9_.:^/-]{0,19}$/

const leftOutCode = (code: string): LeftOut => ({
  leftOut: TOKEN.test(code) ? `code ${code}` : OTHER_CODES,
})

const MORE = fault('code-damaged', 'the text holds a known code and more')
/** No code with remarks is longer. */
const LONGEST_CODE = 200

const MISSING = fault('code-missing', 'there is no code')
const CONTRADICTED = fault('codes-contradictory', 'two known codes beside each other are of different things')

/** True for two ways to find the same, of which one name begins with the other: `glucose`, `glucose-fasting`. */
const areAkin = (one: string, other: string): boolean =>
  one === other || one.startsWith(`${other}-`) || other.startsWith(`${one}-`)

function compileCode(
  context: CompileContext,
  { system, table: named, unknown: whenUnknown, ...read }: CodeDefinition,
  section: Section,
  path: KeyPath,
): CompiledCode {
  const fields = compileAlternatives(context, read, path)
  const from = fields.flatMap((field) => field.from ?? []).join(', ') || undefined
  const entries = context.catalog[section]
  const table = named === undefined ? undefined : context.table(named, [...path, 'table'])
  for (const key of new Set(table?.values() ?? [])) {
    if (!entries.has(key))
      context.report(
        [...path, 'table'],
        `the table leads to "${key}", which is not in the catalog of ${section}${didYouMean(key, entries.keys())}`,
      )
  }
  const unknown = fault(
    'code-unknown',
    `the code is not in the ${system === undefined ? 'table' : `catalog's ${system} codes`}`,
  )
  const isLeftOut = whenUnknown === 'skip'
  const unlisted = compileUnlisted(table?.keys() ?? [])
  /** True for `I10, E11.9`, `LOINC:8480-6`, `I10.` or full-width digits: leaving the text out would lose a known code. */
  const holdsKnown = (text: string): boolean =>
    system !== undefined &&
    text.length <= LONGEST_CODE &&
    text
      .normalize('NFKC')
      .split(/[^A-Za-z0-9.-]+/)
      .some((part) => entries.has(context.catalog.keyOf(system, part.replace(/^0+|[.-]+$/g, '')) ?? ''))
  const judge = (code: string): Judged => {
    const key = table?.get(code) ?? (system === undefined ? undefined : context.catalog.keyOf(system, code))
    if (key !== undefined && entries.has(key)) return { result: key }
    const spelled = isLeftOut ? unlisted(code) : undefined
    if (spelled !== undefined) return { result: spelled }
    if (isLeftOut && context.checks.effects['damaged-code'] === 'reject' && holdsKnown(code))
      return { result: MORE }
    const fault = codeFault(system, code)
    const effect = fault === undefined ? 'off' : context.checks.effects[fault.check]
    return effect === 'reject' && fault !== undefined
      ? { result: fault }
      : { result: isLeftOut ? leftOutCode(code) : unknown, doubt: effect === 'warn' ? fault : undefined }
  }
  const kind = section === 'biometrics' ? 'biometric' : 'condition'
  const judged = new Map<string, Judged>()
  const judgedOnce = (code: string): Judged => {
    const before = judged.get(code)
    if (before !== undefined) return before
    const found = judge(code)
    // A column of free text must not grow the map without bound.
    if (judged.size < KEPT) judged.set(code, found)
    return found
  }

  return {
    from,
    branch: branchOf(...fields),
    read(scope) {
      let found: Judged | undefined
      let known: string | undefined
      for (const field of fields) {
        const text = field.read(scope)
        if (text === '') continue
        const one = typeof text === 'string' ? judgedOnce(text) : { result: text }
        if (typeof one.result !== 'string') found ??= one
        else if (known !== undefined && !areAkin(known, one.result)) return CONTRADICTED
        else known ??= one.result
      }
      if (known !== undefined) return known
      if (found === undefined) return MISSING
      const { result, doubt } = found
      // A code rejected as unknown gets no second warning.
      if (doubt?.check !== undefined && typeof result === 'object' && 'leftOut' in result)
        context.checks.found(doubt.check, kind, 'unmapped', rejected(kind, 'unmapped', doubt, from).issue)
      return result
    },
  }
}
