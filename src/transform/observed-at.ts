/** When a record was observed: from a field or a constant, in the three forms that the interface wants. */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileInstant, type Instant } from './dates.ts'
import type { DateDefinition } from './mapping-definition.ts'
import type { Issue } from './record.ts'
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
  if ('constant' in definition) {
    const constant = toObservedAt({ ok: true, at: Date.parse(definition.constant), offset: 0 }, '')
    return { depth: 0, read: () => constant }
  }
  const { read, depth } = context.locate(definition.from, [...path, 'from'])
  const parse = compileInstant(definition.format, definition.zone)
  const blank = new Set(definition.emptyWhen ?? [])
  const missing = failure('date-missing', definition.from, 'there is no date')
  return {
    depth,
    read: (scope) => {
      const text = read(scope)
      if (text === '' || (text !== null && blank.has(text))) return missing
      return toObservedAt(text === null ? { ok: false, code: 'date-invalid' } : parse(text), definition.from)
    },
  }
}

function toObservedAt(instant: Instant, field: string): ObservedAt {
  if (!instant.ok) return failure(instant.code, field, MESSAGES[instant.code])
  if (instant.at < EARLIEST || instant.at > LATEST)
    return failure('date-invalid', field, 'the year is out of all bounds')
  return { ok: true, at: instant.at, iso: new Date(instant.at).toISOString() }
}

const failure = (code: string, field: string, message: string): ObservedAt => ({
  ok: false,
  issue: { stage: 'transform', code, field, message },
})
