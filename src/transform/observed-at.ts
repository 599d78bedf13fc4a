/** When a record was observed: from a field or a constant, in the three forms that the interface wants. */
import type { Issue } from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { DateDefinition } from './date-definition.ts'
import { compileInstant, type Instant, isZone } from './dates.ts'
import { FIELD_MESSAGES } from './field-text.ts'
import type { Scope } from './scope.ts'

export type ObservedAt =
  | { readonly ok: true; readonly at: number; readonly iso: string }
  | { readonly ok: false; readonly issue: Issue }

export interface CompiledDate {
  readonly depth: number
  readonly read: (scope: Scope) => ObservedAt
}

const MESSAGES = {
  'date-invalid': 'the date fits none of the forms that the mapping gives',
  'date-skipped-by-daylight-saving': 'this local time does not exist: the clocks were put forward over it',
  'date-doubled-by-daylight-saving': 'this local time happened twice: the clocks were put back over it',
} as const

/** The gateway writes its dates with four-digit years (interface, "Biometric record, as sent"). */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

export function compileDate(
  context: CompileContext,
  definition: DateDefinition,
  path: KeyPath,
): CompiledDate {
  if (!('format' in definition)) {
    const constant = toObservedAt({ ok: true, at: Date.parse(definition.constant), offset: 0 }, undefined)
    return { depth: 0, read: () => constant }
  }
  const { from, depth, read } = compileField(context, definition, path)
  const missing = failure('date-missing', from, 'there is no date')
  const zone = compileZone(context, definition, path)
  return {
    depth: Math.max(depth, zone.depth),
    read: (scope) => {
      const text = read(scope)
      // An object or a list is no date.
      if (!text.ok)
        return text.code === 'field-not-scalar'
          ? toObservedAt({ ok: false, code: 'date-invalid' }, from)
          : failure(text.code, from, FIELD_MESSAGES[text.code])
      if (text.text === '') return missing
      const parse = zone.parser(scope)
      return parse === undefined
        ? failure('zone-unknown', zone.from, 'there is no time zone, or it is none that is known')
        : toObservedAt(parse(text.text), from)
    },
  }
}

type Parse = (text: string) => Instant
type DateFrom = Exclude<DateDefinition, { constant: string }>

/** How dates are read in the zone of a row; undefined where the row names no zone. */
interface CompiledZone {
  readonly depth: number
  readonly from: string | undefined
  readonly parser: (scope: Scope) => Parse | undefined
}

function compileZone(context: CompileContext, definition: DateFrom, path: KeyPath): CompiledZone {
  const { format, zone, ...options } = definition
  if (zone === undefined || typeof zone === 'string') {
    const parse = compileInstant(format, { ...options, zone })
    return { depth: 0, from: undefined, parser: () => parse }
  }
  const { from, depth, read } = compileField(context, zone, [...path, 'zone'])
  // No more than there are zones.
  const parsers = new Map<string, Parse>()
  return {
    depth,
    from,
    parser(scope) {
      const named = read(scope)
      if (!named.ok) return undefined
      let parse = parsers.get(named.text)
      if (parse === undefined && isZone(named.text)) {
        parse = compileInstant(format, { ...options, zone: named.text })
        parsers.set(named.text, parse)
      }
      return parse
    },
  }
}

function toObservedAt(instant: Instant, field: string | undefined): ObservedAt {
  if (!instant.ok) return failure(instant.code, field, MESSAGES[instant.code])
  if (instant.at < EARLIEST || instant.at > LATEST)
    return failure('date-invalid', field, 'the year is out of all bounds')
  return { ok: true, at: instant.at, iso: new Date(instant.at).toISOString() }
}

const failure = (code: string, field: string | undefined, message: string): ObservedAt => ({
  ok: false,
  issue: { stage: 'transform', code, ...(field === undefined ? {} : { field }), message },
})
