/**
 * YAML read with positions: every problem of a job, mapping or catalog file is reported with line, column and key.
 */
import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import type { z } from 'zod'
import { type ErrorCode, type Finding, type Place, WaybillError } from './model/errors.ts'

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
  // What is checked once is not worth a checker of its own, which zod would compile.
  const parsed = schema.safeParse(toPlain(document, file, code), { jitless: true })
  if (!parsed.success) {
    throw refusal(
      file,
      code,
      flatten(parsed.error.issues).map((issue) => ({
        place: locate(issue.path),
        message: issue.message,
      })),
    )
  }
  return { file, value: parsed.data, locate }
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

interface FlatIssue {
  readonly path: (string | number)[]
  readonly message: string
}

/** A union's own message says nothing of use: take the branch that got furthest, as that is what was meant. */
function flatten(issues: readonly z.core.$ZodIssue[], base: KeyPath = []): FlatIssue[] {
  return issues.flatMap((issue): FlatIssue[] => {
    const path = [...base, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))]
    if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      const ofRightType = issue.errors.filter(
        (branch) => !branch.some((one) => one.code === 'invalid_type' && one.path.length === 0),
      )
      const branches = (ofRightType.length > 0 ? ofRightType : issue.errors).map((branch) =>
        flatten(branch, path),
      )
      const deepest = branches.reduce((best, branch) => (depth(branch) > depth(best) ? branch : best))
      if (depth(deepest) > path.length) return deepest
      return [
        {
          path,
          message: branches.map((branch) => branch.map((one) => one.message).join('; ')).join(', or '),
        },
      ]
    }
    if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }))
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...path, key], message: `unknown key "${key}"` }))
    }
    return [{ path, message: issue.message }]
  })
}

const depth = (issues: readonly FlatIssue[]): number => Math.max(...issues.map((issue) => issue.path.length))
