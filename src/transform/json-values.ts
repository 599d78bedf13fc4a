/** Reading of JSON values of any shape. */
import type { JsonValue } from '../model/row.ts'

export const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

/** Elements of a list; a single value stands for a list of one, as converters write a lone segment. */
export function elements(value: JsonValue): readonly JsonValue[] {
  if (value === null) return []
  return isList(value) ? value : [value]
}

/** Members of an object; none for any other value. */
export const membersOf = (value: JsonValue | undefined): Readonly<Record<string, JsonValue>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, JsonValue>>)
    : {}

/** True for a scalar with text; false for an empty one, or HL7's null. */
export const isText = (value: JsonValue): boolean => {
  const text = String(value).trim()
  return text !== '' && text !== '""'
}

/** First text in a value, in capitals; '' where none. */
export function firstText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') {
    for (const inner of Array.isArray(value) ? (value as readonly JsonValue[]) : Object.values(value)) {
      const text = firstText(inner)
      if (text !== '') return text
    }
    return ''
  }
  return isText(value) ? String(value).trim().toUpperCase() : ''
}
