/**
 * YAML read with positions: every problem of a job, mapping or catalog file is reported with line, column and key.
 */
import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import type { z } from 'zod'
import { type ErrorCode, type Finding, type Place, WaybillError } from './model/errors.ts'
import { checkWith } from './schema-problems.ts'

/** Path of a key within a document: `['biometrics', 'hba1c', 'unit']`. */
export type KeyPath = readonly (string | number)[]

/** A checked document that can still say on which line a key stands. */
export interface YamlFile<T> {
  readonly file: string
  readonly value: T
  locate(path: KeyPath): Place
}

/** `biometrics.hba1c.emptyWhen[2]` */
export function describeKey(path: KeyPath): string {
  return path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`))
    .join('')
}

/**
 * Parses YAML 1.2 text and checks it against a schema.
 * @param scalars `text`: every scalar is the text that stands there (`5.10`, `007`, `Y`), as in the failsafe schema of YAML
 * @throws WaybillError with the given code and one finding per problem (syntax, duplicate key, unknown key, wrong type).
 */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  file: string,
  schema: Schema,
  code: ErrorCode,
  scalars: 'core' | 'text' = 'core',
): YamlFile<z.infer<Schema>> {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    schema: scalars === 'core' ? 'core' : 'failsafe',
  })
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const locate = (path: KeyPath): Place => {
    for (let depth = path.length; depth >= 0; depth--) {
      const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true)
      if (isNode(node) && node.range) return { ...at(node.range[0]), key: describeKey(path) }
    }
    return { file, key: describeKey(path) }
  }
  if (document.errors.length > 0) {
    throw refusal(
      file,
      code,
      document.errors.map((error) => ({ place: at(error.pos[0]), message: error.message })),
    )
  }
  const checked = checkWith(schema, toPlain(document, file, code))
  if ('problems' in checked) {
    throw refusal(
      file,
      code,
      checked.problems.map(({ path, message }) => ({ place: locate(path), message })),
    )
  }
  return { file, value: checked.data, locate }
}

/** Aliases are resolved here, and can lead nowhere, into themselves, or expand without end. */
function toPlain(document: Document, file: string, code: ErrorCode): unknown {
  try {
    const value: unknown = document.toJS()
    JSON.stringify(value)
    return value
  } catch (cause) {
    const message = cause instanceof ReferenceError ? cause.message : 'an alias leads into itself'
    throw refusal(file, code, [{ place: { file }, message }])
  }
}

/** One error for all findings of a file, in the order of their lines. */
export function refusal(file: string, code: ErrorCode, findings: readonly Finding[]): WaybillError {
  const sorted = [...findings].sort((a, b) => (a.place.line ?? 0) - (b.place.line ?? 0))
  const count = sorted.length === 1 ? '1 problem' : `${sorted.length} problems`
  return new WaybillError(code, `${file}: ${count}`, { place: { file }, findings: sorted })
}
