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
  if (row.issuedAt === undefined) return context.names.trails && compileKnown(row.observedAt)
  const { read } = compileDate(context, row.issuedAt, ['row', 'issuedAt'])
  return (record, scope) => {
    const issued = read(scope)
    if (issued.ok) record.issued = Math.max(0, issued.at)
    return issued.ok || issued.issue.code === 'date-missing' ? undefined : issued.issue
  }
}

function compileKnown(observedAt: DateDefinition): Issued {
  // All times of a sender are of one zone.
  const zone = 'zone' in observedAt && typeof observedAt.zone === 'string' ? observedAt.zone : 'UTC'
  const parse = compileInstant(['HL7', 'ISO'], { zone, partial: 'start' })
  const offsetOf = compileSentOffset()
  const issuedIn = (level: JsonValue | undefined, scope: Scope): number | undefined => {
    for (const text of timesIn(level)) {
      const issued = parse(HL7_WITHOUT_OFFSET.test(text) ? text + offsetOf(scope) : text)
      if (issued.ok) return Math.max(0, issued.at)
    }
    return undefined
  }
  // Results of a message share its outer levels.
  const known: { readonly level: JsonValue | undefined; readonly issued: number | undefined }[] = []
  return (record, scope) => {
    // A component shares the time of its resource, a result that of its order.
    for (let at = scope.length - 1; at >= 0 && record.issued === 0; at--) {
      const level = scope[at]
      let told = known[at]
      if (told?.level !== level) known[at] = told = { level, issued: issuedIn(level, scope) }
      record.issued = told?.issued ?? 0
    }
    return undefined
  }
}

/** Times that a level may have, in their order. */
function timesIn(level: JsonValue | undefined): string[] {
  const { resource = level } = membersOf(level)
  const { resourceType, issued, meta } = membersOf(resource)
  return resourceType === undefined
    ? [segmentText(level, 'OBR', 22), segmentText(level, 'MSH', 7)]
    : [firstText(issued), firstText(membersOf(meta)['lastUpdated'])]
}
