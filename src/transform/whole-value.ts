/**
 * A value is whole, or rejected: each part beside a value in its structure is read by the rule or listed under `ignore`; any other
 * part rejects the record with the part's fault (structures.ts). The paths of the value show the structure, and the parts that the
 * rule reads. Compiled once for a rule.
 */
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { membersOf } from './json-values.ts'
import { type Kind, segmentIn, structuresOn } from './member-structures.ts'
import { anchorAt, type Structure, type Unread } from './reading.ts'
import { follow, type Scope, SEVERAL } from './scope.ts'

interface WholeValue {
  /** Finds an unread part. @param hasValue true where the rule has read a value; without a value, only parts of the value itself count */
  unread(scope: Scope, hasValue: boolean): Unread | undefined
  /** Unit and code of a FHIR quantity that is the value, where the two texts differ; else empty. */
  unitsOf(scope: Scope): readonly string[]
  /** A structured number's comparator can be `=` (HL7 v2.5.1, 2.A.66). */
  readonly isHl7: boolean
}

/**
 * Compiles the check on its first use: by then the reads of all rules are known. Undefined for CSV, a format without structures.
 * @param value paths of the value
 * @param beside further paths that the rule or the row block reads
 */
export function compileWhole(
  { names: { trails: trailsOf }, reads }: CompileContext,
  kinds: readonly Kind[],
  value: readonly string[],
  beside: readonly string[],
  ignored: readonly (readonly string[] | undefined)[],
): (() => WholeValue) | undefined {
  if (trailsOf === undefined) return undefined
  const ignore = new Set(ignored.flatMap((names = []) => names))
  const work = (): WholeValue => {
    const mapping = reads.map(({ name }) => name)
    const structures = structuresOn({ trailsOf, value, rule: [...value, ...beside], mapping, ignore }, kinds)
    const [quantity] = ignore.has('unit')
      ? []
      : value.flatMap((name) => {
          const trails = trailsOf(name)
          const at = trails.at(-1)?.steps.indexOf('valueQuantity') ?? -1
          return at < 0 ? [] : (anchorAt(trails, at + 1) ?? [])
        })
    return {
      unitsOf(scope) {
        const at = quantity && follow(scope[quantity.from], quantity.steps)
        if (at === undefined || at === null || at === SEVERAL) return []
        const { unit, code } = membersOf(at)
        return typeof unit === 'string' && typeof code === 'string' && unit !== code ? [unit, code] : []
      },
      isHl7: value.some((name) => segmentIn(trailsOf(name).at(-1)?.steps ?? [], 'OBX', 5) !== undefined),
      unread(scope, hasValue) {
        for (const { anchor, fields } of structures) {
          const at = follow(scope[anchor.from], anchor.steps)
          const unread = at === undefined || at === null || at === SEVERAL ? undefined : unreadOf(at, fields)
          if (unread !== undefined && (hasValue || unread.ofValue)) return unread
        }
        return undefined
      },
    }
  }
  let done: WholeValue | undefined
  return () => {
    done ??= work()
    return done
  }
}

/** Finds an unread part; a part of the value itself takes precedence over parts beside it. */
function unreadOf(at: JsonValue, fields: Structure['fields']): Unread | undefined {
  let found: Unread | undefined
  const members = membersOf(at)
  for (const { steps, check } of fields) {
    const [only] = steps
    const field = steps.length === 1 && typeof only === 'string' ? members[only] : follow(at, steps)
    const unread = field === undefined || field === null || field === SEVERAL ? undefined : check(field, at)
    if (unread?.ofValue === true) return unread
    found ??= unread
  }
  return found
}
