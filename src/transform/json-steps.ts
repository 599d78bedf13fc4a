/** The steps of a path (RFC 9535) through JSON, compiled once; a general engine is asked only for filters. */
import { compile, JSONPathNode, type JSONValue, jsonpath } from 'json-p3'
import type { JsonValue } from '../model/row.ts'

type Filter = InstanceType<typeof jsonpath.selectors.FilterSelector>

/** A member's name, an element's index, or a filter `[?…]`. */
export type Step = string | number | Filter

/**
 * What stands at the end of steps: a value, nothing (undefined), or several values, where a filter holds for several or
 * a name meets a list.
 */
export const SEVERAL = Symbol('several values')
export type Found = JsonValue | undefined | typeof SEVERAL

/** @throws Error with the reason: no RFC 9535 path, or one that leads to several values by wildcard, slice or descent */
export function compileSteps(path: string, shown: string): readonly Step[] {
  return compile(path).segments.map((segment) => {
    const [selector, second] = segment.selectors
    if (second === undefined && !segment.toString().startsWith('..')) {
      if (selector instanceof jsonpath.selectors.NameSelector) return selector.name
      if (selector instanceof jsonpath.selectors.IndexSelector) return selector.index
      if (selector instanceof jsonpath.selectors.FilterSelector) return selector
    }
    throw new Error(`"${shown}" can lead to several values; name one`)
  })
}

export const isFilter = (step: Step | undefined): step is Filter => typeof step === 'object'

/** Follows steps to one value. */
export function follow(from: JsonValue | undefined, steps: readonly Step[]): Found {
  let value = from
  for (let at = 0; at < steps.length; at += 1) {
    const step = steps[at]
    if (value === null || value === undefined || step === undefined) return undefined
    if (isFilter(step)) {
      const rest = steps.slice(at + 1)
      const found = matching(value, step).map((one) => follow(one, rest))
      const there = found.filter((one) => one !== undefined)
      return there.length > 1 ? SEVERAL : there[0]
    }
    const next = take(value, step)
    if (next === SEVERAL) return next
    value = next
  }
  return value
}

/** Follows steps to all values they lead to, in document order; a name asked of a list is asked of each of its elements. */
export function followAll(from: JsonValue | undefined, steps: readonly Step[]): readonly JsonValue[] {
  if (from === undefined) return []
  const [step, ...rest] = steps
  if (step === undefined) return [from]
  if (from === null) return []
  if (isFilter(step)) return matching(from, step).flatMap((one) => followAll(one, rest))
  const next = take(from, step)
  return next === SEVERAL ? elements(from).flatMap((one) => followAll(one, steps)) : followAll(next, rest)
}

/** A list's elements; a single value stands for a list of one, as converters write a lone segment. */
export function elements(value: JsonValue): readonly JsonValue[] {
  if (value === null) return []
  return isList(value) ? value : [value]
}

/**
 * A member, or an element: the first and the last of a single value are the value itself. A name asked of a list is no
 * absence: which of its elements is meant cannot be told.
 */
function take(value: Exclude<JsonValue, null>, step: string | number): Found {
  if (isList(value)) {
    if (typeof step === 'number') return value.at(step)
    return value.length === 0 ? undefined : SEVERAL
  }
  if (typeof step === 'number') return step === 0 || step === -1 ? value : undefined
  return typeof value === 'object' && Object.hasOwn(value, step) ? value[step] : undefined
}

/** The elements for which a filter holds. */
function matching(value: JsonValue, filter: Filter): readonly JsonValue[] {
  return filter
    .resolve(new JSONPathNode(elements(value) as JSONValue, [], value as JSONValue))
    .map((node) => node.value as JsonValue)
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)
