/** Time of issue of a result (docs/delivery.md, "Place"). */
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

/** Gives a record its time of issue, or returns the issue of an unreadable one. */
export type Issued = (record: Entry, scope: Scope) => Issue | undefined

/**
 * Compiles `row.issuedAt`. Without it, a known structure gives the time: OBR-22, else MSH-7 (HL7 v2.5.1, 7.4.1.22 and 2.15.9.7);
 * `issued`, else `meta.lastUpdated` of a FHIR resource.
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
  const known: { readonly level: JsonValue | undefined; readonly issued: number | undefined }[] = []
  return (record, scope) => {
    // A result shares the time of its order and of its message.
    for (let at = scope.length - 1; at >= 0 && record.issued === 0; at--) {
      const level = scope[at]
      let last = known[at]
      if (last?.level !== level) known[at] = last = { level, issued: issuedIn(level, scope) }
      record.issued = last?.issued ?? 0
    }
    return undefined
  }
}

/** Possible times of issue in a level, in order of preference. */
function timesIn(level: JsonValue | undefined): string[] {
  const { resource = level } = membersOf(level)
  const { resourceType, issued, meta } = membersOf(resource)
  return resourceType === undefined
    ? [segmentText(level, 'OBR', 22), segmentText(level, 'MSH', 7)]
    : [firstText(issued), firstText(membersOf(meta)['lastUpdated'])]
}
