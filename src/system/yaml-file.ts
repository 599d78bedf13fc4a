/**
 * YAML with positions: every problem of a job, mapping or catalog file is reported with line, column and key.
 */
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml'
import type { z } from 'zod'
import { type ErrorCode, type Finding, type Place, WaybillError } from '../model/errors.ts'
import { checkWith } from './schema-problems.ts'

/** Path of a key within a document: `['biometrics', 'hba1c', 'unit']`. */
export type KeyPath = readonly (string | number)[]

/** A checked document with the position of each key. */
export interface YamlFile<T> {
  readonly file: string
  readonly value: T
  locate(path: KeyPath): Place
}

/** `biometrics.hba1c.emptyWhen[2]` */
function describeKey(path: KeyPath): string {
  return path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`))
    .join('')
}

/**
 * Parses YAML 1.2 text and checks it against a schema.
 * @param scalars `text`: every scalar is its own text (`5.10`, `007`, `Y`), as in the failsafe schema of YAML
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
    // `slipsOf` finds double keys; the parser would compare each key with all others.
    uniqueKeys: false,
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
    const byPlace = [...Map.groupBy(document.errors, ({ pos }) => pos[0])].slice(0, MOST_PROBLEMS)
    const found = byPlace.flatMap(([offset, errors]) =>
      errors.slice(0, 1).map((error) => ({ place: at(offset), message: slipOf(error) })),
    )
    throw refusal(file, code, found)
  }
  const slips = slipsOf(document).map(({ node, message }) => ({
    place: node.range ? at(node.range[0]) : { file },
    message,
  }))
  if (slips.length > 0) throw refusal(file, code, slips)
  const checked = checkWith(schema, toPlain(document, file, code))
  if ('problems' in checked) {
    throw refusal(
      file,
      code,
      checked.problems.slice(0, MOST_PROBLEMS).map(({ path, message }) => ({ place: locate(path), message })),
    )
  }
  return { file, value: checked.data, locate }
}

const MOST_PROBLEMS = 100

/** Most aliases of one file: the parser searches all earlier anchors for each. */
const MOST_ALIASES = 100

interface NodeSlip {
  readonly node: Node
  readonly message: string
}

/** Finds aliases without anchor, too many aliases, and double keys, in time proportional to the document. */
function slipsOf(document: Document): NodeSlip[] {
  const slips: NodeSlip[] = []
  const anchors = new Set<string>()
  let aliases = 0
  visit(document, {
    Alias(_, alias) {
      if (++aliases > MOST_ALIASES)
        slips.push({ node: alias, message: `is one of more than ${MOST_ALIASES} aliases` })
      else if (!anchors.has(alias.source))
        slips.push({
          node: alias,
          message: `*${alias.source} refers to no anchor in this file; put a text that begins with * in quotes`,
        })
      return slips.length < MOST_PROBLEMS && aliases <= MOST_ALIASES ? undefined : visit.BREAK
    },
    Value(_, value) {
      if (value.anchor !== undefined) anchors.add(value.anchor)
      const keys = new Set<unknown>()
      for (const { key } of isMap(value) ? value.items : []) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) slips.push({ node: key, message: 'the key appears twice in its block' })
        keys.add(key.value)
      }
      return slips.length < MOST_PROBLEMS ? undefined : visit.BREAK
    },
  })
  return slips.slice(0, MOST_PROBLEMS)
}

/** Common mistakes, by the message of the parser, which speaks of indicators, scalars and flow collections. */
const SLIPS: readonly [code: YAMLError['code'], pattern: RegExp, words: string][] = [
  ['TAB_AS_INDENT', /^/, 'begins with a tab; indent with blanks'],
  [
    'BLOCK_AS_IMPLICIT_KEY',
    /^Nested/,
    'a key within a value: put a text that holds ": " in quotes, or begin the block of keys on the next line',
  ],
  ['MULTILINE_IMPLICIT_KEY', /^/, 'no colon with a blank behind it follows on this line'],
  ['BAD_SCALAR_START', /(.)$/, 'a text that begins with $1 must stand in quotes'],
  ['BAD_DQ_ESCAPE', /(\\.*)$/, '$1 means nothing in double quotes; put the text in single quotes'],
  ['MULTIPLE_DOCS', /^/, 'a second document begins with ---; a file holds one'],
  ['BAD_INDENT', /with a ([\]}])$/, 'the list or block before it is not closed with $1'],
  ['BAD_INDENT', /same column$/, 'must begin in the same column as the line above it in its block'],
  ['MISSING_CHAR', /quote$/, 'the quote before it is not closed'],
  ['MISSING_CHAR', /^Implicit map keys/, 'no colon and value follow the key'],
  [
    'UNEXPECTED_TOKEN',
    /block-seq-ind on same line/,
    'begin the list on a line of its own, or write it in [ ]',
  ],
  [
    'UNEXPECTED_TOKEN',
    /^Unexpected scalar at node end/,
    'follows a value that has ended; write a single quote within single quotes twice',
  ],
]

/** Message for people; for rare mistakes, the message of the parser. */
function slipOf({ code, message }: YAMLError): string {
  for (const [slip, pattern, words] of SLIPS) {
    const match = code === slip ? pattern.exec(message) : null
    if (match !== null) return words.replace('$1', () => match[1] ?? '')
  }
  return message
}

/** Resolves aliases, which may refer to themselves or expand without end. */
function toPlain(document: Document, file: string, code: ErrorCode): unknown {
  try {
    const value: unknown = document.toJS()
    JSON.stringify(value)
    return value
  } catch {
    throw refusal(file, code, [
      { place: { file }, message: 'an alias leads into itself, or expands without end' },
    ])
  }
}

/** One error for all findings of a file, in the order of their lines. */
export function refusal(file: string, code: ErrorCode, findings: readonly Finding[]): WaybillError {
  const sorted = [...findings].sort((a, b) => (a.place.line ?? 0) - (b.place.line ?? 0))
  const count = sorted.length === 1 ? '1 problem' : `${sorted.length} problems`
  return new WaybillError(code, `${file}: ${count}`, { place: { file }, findings: sorted })
}
