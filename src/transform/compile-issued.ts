/** Time of issue of a result: of two results of one place and state the later issued stands (docs/delivery.md, "Place"). */
import type { Entry } from '../model/entry.ts'
import type { Issue } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { compileDate, compileSentOffset, HL7_WITHOUT_OFFSET } from './compile-date.ts'
import { compileInstant, type Instant } from './dates.ts'
import { elements, firstText, membersOf } from './json-values.ts'
import type { RowBlock } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

/** Gives a record its time of issue. Returns an issue where the mapping's own cannot be read. */
export type Issued = (record: Entry, scope: Scope) => Issue | undefined

/**
 * Compiles `row.issuedAt`. Without it the structure tells the time where it is known: HL7 v2 in OBR-22 of the order, else in MSH-7 of the message
 * (v2.5.1, 7.4.1.22 and 2.15.9.7), FHIR in `issued` of the resource, else in its `meta.lastUpdated`. A column is never guessed.
 */
export function compileIssued(context: CompileContext, row: RowBlock): Issued | undefined {
  const read = row.issuedAt === undefined ? compileKnown(context, row) : compileOwn(context, row.issuedAt)
  if (read === undefined) return undefined
  let last: Scope | undefined
  let issued: number | Issue = 0
  return (record, scope) => {
    // Records of a row, or of an element, share it.
    if (scope !== last) issued = read(scope)
    last = scope
    if (typeof issued !== 'number') return issued
    record.issued = issued
    return undefined
  }
}

/** The ledger keeps no time before 1970; 0 is none. */
const toIssued = (at: number): number => Math.max(1, at)

function compileOwn(context: CompileContext, definition: NonNullable<RowBlock['issuedAt']>) {
  const { read } = compileDate(context, definition, ['row', 'issuedAt'])
  return (scope: Scope): number | Issue => {
    const issued = read(scope)
    if (issued.ok) return toIssued(issued.at)
    return issued.issue.code === 'date-missing' ? 0 : issued.issue
  }
}

/** Place in a scope of what stands around the rows. */
const CONTEXT = 1

function compileKnown({ names }: CompileContext, { observedAt }: RowBlock) {
  if (names.trails === undefined) return undefined
  // Times without an offset, of one sender, are of one zone.
  const zone = 'zone' in observedAt && typeof observedAt.zone === 'string' ? observedAt.zone : 'UTC'
  const readHl7 = compileInstant(['HL7'], { zone, partial: 'start' })
  const readIso = compileInstant(['ISO'], { zone, partial: 'start' })
  const offsetOf = compileSentOffset()
  const issuedIn = (level: JsonValue | undefined, scope: Scope): Instant | undefined => {
    const { resource = level } = membersOf(level)
    const { resourceType, issued, meta } = membersOf(resource)
    if (resourceType !== undefined)
      return firstOf([issued, membersOf(meta)['lastUpdated']], (text) => readIso(text))
    return firstOf(hl7TimesOf(level, level === scope[0]), (text) =>
      readHl7(HL7_WITHOUT_OFFSET.test(text) ? text + offsetOf(scope) : text),
    )
  }
  return (scope: Scope): number => {
    // A component shares the time of its resource, a result that of its order.
    for (let at = scope.length - 1; at >= 0; at--) {
      const issued = at === CONTEXT ? undefined : issuedIn(scope[at], scope)
      if (issued?.ok === true) return toIssued(issued.at)
    }
    return 0
  }
}

/** The first that is a time. */
function firstOf(
  values: readonly (JsonValue | undefined)[],
  read: (text: string) => Instant,
): Instant | undefined {
  for (const value of values) {
    const text = firstText(value)
    const issued = text === '' ? undefined : read(text)
    if (issued?.ok === true) return issued
  }
  return undefined
}

/** OBR-22 of the only order at a level. A document has MSH-7, too; both stand in it, or in its first member. */
function hl7TimesOf(level: JsonValue | undefined, isDocument: boolean): (JsonValue | undefined)[] {
  const own = membersOf(level)
  if (!isDocument) return [fieldOf(own, 'OBR', 22)]
  const within = membersOf(Object.values(own)[0])
  return [
    fieldOf(own, 'OBR', 22),
    fieldOf(within, 'OBR', 22),
    fieldOf(own, 'MSH', 7),
    fieldOf(within, 'MSH', 7),
  ]
}

/** A field by the names that it has in the shapes of HL7 v2 as JSON; undefined of several segments. */
function fieldOf(
  members: Readonly<Record<string, JsonValue>>,
  segment: string,
  field: number,
): JsonValue | undefined {
  const [only, another] = elements(members[segment] ?? null)
  const { [String(field)]: plain, [`${segment}.${field}`]: named = plain } = membersOf(only)
  return another === undefined ? named : undefined
}
