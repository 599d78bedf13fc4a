/** Time of issue of a result: of two results of one place and state the later issued stands (docs/delivery.md, "Place"). */
import type { Entry } from '../model/entry.ts'
import type { Issue } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { compileDate, compileSentOffset, HL7_WITHOUT_OFFSET, segmentText } from './compile-date.ts'
import { compileInstant } from './dates.ts'
import type { DateDefinition } from './field-definition.ts'
import { firstText, membersOf } from './json-values.ts'
import type { RowBlock } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

/** Gives a record its time of issue. Returns an issue where the mapping's own cannot be read. */
export type Issued = (record: Entry, scope: Scope) => Issue | undefined

/**
 * Compiles `row.issuedAt`. Without it the structure tells the time where it is known: HL7 v2 in OBR-22 of the order, else in MSH-7 of the message
 * (v2.5.1, 7.4.1.22 and 2.15.9.7), FHIR in `issued` of the resource, else in its `meta.lastUpdated`. A column is never guessed.
 */
export function compileIssued(context: CompileContext, row: RowBlock): Issued | undefined {
  if (row.issuedAt === undefined && context.names.trails === undefined) return undefined
  const read = row.issuedAt ? compileOwn(context, row.issuedAt) : compileKnown(row.observedAt)
  let last: Scope | undefined
  let issued: number | Issue = 0
  return (record, scope) => {
    // Records of a row, or of an element, share it.
    if (scope !== last) issued = read(scope)
    last = scope
    if (typeof issued !== 'number') return issued
    // The ledger keeps no time before 1970; 0 is none.
    record.issued = Math.max(0, issued)
    return undefined
  }
}

function compileOwn(context: CompileContext, definition: DateDefinition): (scope: Scope) => number | Issue {
  const { read } = compileDate(context, definition, ['row', 'issuedAt'])
  return (scope) => {
    const issued = read(scope)
    if (issued.ok) return issued.at
    return issued.issue.code === 'date-missing' ? 0 : issued.issue
  }
}

function compileKnown(observedAt: DateDefinition): (scope: Scope) => number {
  // Times without an offset, of one sender, are of one zone.
  const zone = 'zone' in observedAt && typeof observedAt.zone === 'string' ? observedAt.zone : 'UTC'
  const parse = compileInstant(['HL7', 'ISO'], { zone, partial: 'start' })
  const offsetOf = compileSentOffset()
  return (scope) => {
    // A component shares the time of its resource, a result that of its order.
    for (const level of scope.toReversed())
      for (const text of timesIn(level)) {
        const issued =
          text === '' ? undefined : parse(HL7_WITHOUT_OFFSET.test(text) ? text + offsetOf(scope) : text)
        if (issued?.ok === true) return issued.at
      }
    return 0
  }
}

/** Times that a level may have, in their order. */
function timesIn(level: JsonValue): string[] {
  const { resource = level } = membersOf(level)
  const { resourceType, issued, meta } = membersOf(resource)
  return resourceType === undefined
    ? [segmentText(level, 'OBR', 22), segmentText(level, 'MSH', 7)]
    : [firstText(issued), firstText(membersOf(meta)['lastUpdated'])]
}
