/** Compiles dates of a mapping into functions over a row: zone, earliest date, and time of issue (docs/delivery.md, "Place"). */

import type { Entry } from '../model/entry.ts'
import { type Fault, fault, type Issue, type ObservedTime } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { type CompileContext, issueOf, NOT_SCALAR } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { compileInstant, type Instant } from './dates.ts'
import { elements, firstText, membersOf } from './json-values.ts'
import type { DateDefinition, FieldObject, RowBlock } from './mapping-definition.ts'
import { branchOf, type Scope } from './scope.ts'
import { isZone, zoneFault } from './zones.ts'

export type ObservedAt =
  | ({ readonly ok: true } & ObservedTime)
  | { readonly ok: false; readonly issue: Issue }

export interface CompiledDate {
  readonly branch: number
  readonly read: (scope: Scope) => ObservedAt
}

const DATE_MESSAGES = {
  'date-invalid': "the date matches none of the mapping's formats",
  'date-ambiguous': "two of the mapping's formats read the date, as two days",
  'date-skipped-by-daylight-saving': 'this local time does not exist: the clocks went forward',
  'date-doubled-by-daylight-saving': 'this local time happened twice: the clocks went back',
} as const

const NO_DATE = fault('date-missing', 'there is no date')
const NO_ZONE = fault('zone-unknown', 'no time zone, or an unknown one')
const OUT_OF_BOUNDS = fault('date-invalid', 'the year is out of range')

/** The gateway writes dates with four-digit years (interface, "Biometric record, as sent"). */
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

/** Compiles a date for every record; problems go to the context's findings. */
export function compileDate(
  context: CompileContext,
  definition: DateDefinition,
  path: KeyPath,
): CompiledDate {
  if (!('format' in definition)) {
    const at = Date.parse(definition.constant)
    const constant: ObservedAt = { ok: true, at, iso: new Date(at).toISOString() }
    return { branch: 0, read: () => constant }
  }
  const { from, branch, read } = compileField(context, definition, path)
  const missing = undated(NO_DATE, from)
  const zone = compileZone(context, definition, path)
  const unknownZone = undated(NO_ZONE, zone.from)
  const sent = definition.format.includes('HL7') ? compileInstant(['HL7'], { zone: 'UTC' }) : undefined
  const offsetOf = compileSentOffset()
  const unread = undated(fault('date-invalid', DATE_MESSAGES['date-invalid']), from)
  const { since } = definition
  const earliest = Date.parse(since)
  const tooEarly = undated(
    fault('date-too-early', `the date is before ${since}; \`since\` sets the first day`),
    from,
  )
  const toObservedAt = (instant: Instant): ObservedAt => {
    if (!instant.ok) return undated(fault(instant.code, DATE_MESSAGES[instant.code]), from)
    const { at, offset } = instant
    // Local time decides: the day begins earlier in the east.
    if (at + offset * 60_000 < earliest) return tooEarly
    return at > LATEST ? undated(OUT_OF_BOUNDS, from) : { ok: true, at, iso: new Date(at).toISOString() }
  }
  return {
    branch: branchOf({ branch }, zone),
    read: (scope) => {
      const text = read(scope)
      if (text === NOT_SCALAR) return unread
      if (typeof text !== 'string') return undated(text, from)
      if (text === '') return missing
      if (sent !== undefined && HL7_WITHOUT_OFFSET.test(text)) {
        const offset = offsetOf(scope)
        if (offset !== '') return toObservedAt(sent(text + offset))
      }
      const parse = zone.parser(scope)
      return parse === undefined ? unknownZone : toObservedAt(parse(text))
    },
  }
}

/** A day, or a time of a day, without an offset. */
const HL7_WITHOUT_OFFSET = /^\d{8,14}(?:\.\d{1,4})?$/

/**
 * Reads the offset of MSH-7, for all times of its message without an offset (HL7 v2.5.1, 2.15.9.7); else ''. MSH is a member of the
 * document or of its first member.
 */
function compileSentOffset(): (scope: Scope) => string {
  let last: Scope[number] | undefined
  let offset = ''
  return ([document]) => {
    // Dates of a row share their message.
    if (document !== last) {
      offset = /\d([+-]\d{4})$/.exec(segmentText(document, 'MSH', 7))?.[1] ?? ''
      last = document
    }
    return offset
  }
}

/** Text of a field of a segment that occurs once, in a level of a message or in its first member. */
function segmentText(level: JsonValue | undefined, segment: string, field: number): string {
  const own = membersOf(level)
  const [only, another] = elements(own[segment] ?? membersOf(Object.values(own)[0])[segment] ?? null)
  const { [String(field)]: plain, [`${segment}.${field}`]: named = plain } = membersOf(only)
  return another === undefined ? firstText(named) : ''
}

type Parse = (text: string) => Instant

/** Reader of dates in the zone of a row; undefined where the row names no zone. */
interface CompiledZone {
  readonly branch: number
  readonly from: string | undefined
  readonly parser: (scope: Scope) => Parse | undefined
}

function compileZone(
  context: CompileContext,
  { format, zone, ...options }: Exclude<DateDefinition, { constant: string }>,
  path: KeyPath,
): CompiledZone {
  if (zone === undefined || typeof zone === 'string') {
    if (zone !== undefined) context.word(zone, [...path, 'zone'])
    const parse = compileInstant(format, { ...options, zone })
    return { branch: 0, from: undefined, parser: () => parse }
  }
  const at = [...path, 'zone']
  const { from, branch, read } = compileField(context, zone, at)
  reportZones(context, zone, at)
  // Bounded by the number of zones.
  const parsers = new Map<string, Parse>()
  return {
    branch,
    from,
    parser(scope) {
      const named = read(scope)
      if (typeof named !== 'string') return undefined
      const known = parsers.get(named)
      if (known !== undefined || !isZone(named)) return known
      const parse = compileInstant(format, { ...options, zone: named })
      parsers.set(named, parse)
      return parse
    },
  }
}

/** Reports unknown zones in the mapping, where a field gives the zone. */
function reportZones(context: CompileContext, zone: FieldObject, path: KeyPath): void {
  const { constant, otherwise, table } = zone
  const report = (key: string, name: string | undefined): void => {
    const wrong = name === undefined ? undefined : zoneFault(name)
    if (wrong !== undefined) context.report([...path, key], `"${name}" ${wrong}`)
  }
  report('constant', table === undefined ? constant : undefined)
  report('otherwise', otherwise)
  const names = typeof table === 'string' ? context.tables.get(table)?.values() : Object.values(table ?? {})
  for (const name of names ?? []) report('table', name)
}

const undated = (fault: Fault, field: string | undefined): ObservedAt => ({
  ok: false,
  issue: issueOf(fault, field),
})

/** Gives a record its time of issue, or returns the issue of an unreadable one. */
type Issued = (record: Entry, scope: Scope) => Issue | undefined

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
