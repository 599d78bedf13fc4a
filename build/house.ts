/**
 * Measures the sources against the limits of CONTRIBUTING.md: `node build/house.ts`. Exit code 1 where a limit is passed; `--list` names the places.
 */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { type ESTree, parseSync } from 'rolldown/utils'

const ROOT = join(import.meta.dirname, '..')

/** What a file has of each measure. Places are lines, from 1. */
interface Measured {
  readonly file: string
  readonly bytes: number
  readonly lines: number
  readonly exports: number
  readonly longFunctions: readonly number[]
  readonly secondHeaders: readonly number[]
  readonly packed: readonly number[]
  readonly comments: number
  readonly wordless: readonly number[]
}

interface Limit {
  readonly name: string
  readonly limit: number
  readonly of: (files: readonly Measured[]) => number
  readonly places?: (file: Measured) => readonly number[]
}

const LONGEST_FUNCTION = 80
/** First words that leave open what a comment is about. */
const OPEN_BEGINNING = /^(What|Of|Whether|Whose)\b/

const sum = (files: readonly Measured[], of: (file: Measured) => number): number =>
  files.reduce((total, file) => total + of(file), 0)
const kilobytes = (files: readonly Measured[]): number => Math.ceil(sum(files, ({ bytes }) => bytes) / 1000)
const places = (name: string, of: (file: Measured) => readonly number[], limit: number): Limit => ({
  name,
  limit,
  of: (files) => sum(files, (file) => of(file).length),
  places: of,
})

/** A limit is lowered when the sources allow it, and is not raised without a reason in the commit. */
const LIMITS: Readonly<Record<'src' | 'packages', readonly Limit[]>> = {
  src: [
    { name: 'kB', limit: 3342, of: kilobytes },
    {
      name: 'bytes a line',
      limit: 41.2,
      of: (files) => sum(files, ({ bytes }) => bytes) / sum(files, ({ lines }) => lines),
    },
    { name: 'exports', limit: 2301, of: (files) => sum(files, (file) => file.exports) },
    places(`functions over ${LONGEST_FUNCTION} lines`, (file) => file.longFunctions, 0),
    places('second headers in a file', (file) => file.secondHeaders, 0),
    places('literals spread to pack a line', (file) => file.packed, 0),
    {
      name: 'comments in 100 that begin with What, Of, Whether or Whose',
      limit: 1,
      of: (files) => (100 * sum(files, (file) => file.wordless.length)) / sum(files, (file) => file.comments),
      places: (file) => file.wordless,
    },
  ],
  packages: [{ name: 'kB', limit: 594, of: kilobytes }],
}

const FOLDERS = { src: 'src/**/*.ts', packages: 'packages/*/src/**/*.ts' } as const

/** @throws Error the file is not TypeScript */
function measure(file: string): Measured {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join('; ')}`)
  const lineAt = (position: number): number => text.slice(0, position).split('\n').length
  const longFunctions: number[] = []
  const packed: number[] = []
  visit(program, (node) => {
    if (isFunction(node) && lineAt(node.end) - lineAt(node.start) + 1 > LONGEST_FUNCTION)
      longFunctions.push(lineAt(node.start))
    if (node.type === 'SpreadElement' && node.argument.type === 'ObjectExpression')
      packed.push(lineAt(node.start))
  })
  const beginnings = comments.map(({ value, start }) => ({
    line: lineAt(start),
    words: value.replaceAll(/^[*\s]+/g, ''),
  }))
  return {
    file,
    bytes: Buffer.byteLength(text),
    lines: text.split('\n').length - 1,
    exports: exportsOf(program.body),
    longFunctions,
    secondHeaders: comments.flatMap(({ type, start, end }) =>
      type === 'Block' && start > 0 && text.slice(end, end + 2) === '\n\n' && text[start - 1] === '\n'
        ? [lineAt(start)]
        : [],
    ),
    packed,
    comments: comments.length,
    wordless: beginnings.flatMap(({ words, line }) => (OPEN_BEGINNING.test(words) ? [line] : [])),
  }
}

/** Names that a module exports. */
function exportsOf(body: ESTree.Program['body']): number {
  const counts = body.map((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return statement.type.startsWith('Export') ? 1 : 0
    const { declaration, specifiers } = statement
    if (declaration === null) return specifiers.length
    return declaration.type === 'VariableDeclaration' ? declaration.declarations.length : 1
  })
  return counts.reduce((total, count) => total + count, 0)
}

const isFunction = ({ type }: ESTree.Node): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'

const isNode = (value: unknown): value is ESTree.Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

function visit(node: ESTree.Node, see: (node: ESTree.Node) => void): void {
  see(node)
  for (const part of (Object.values(node) as unknown[]).flat()) if (isNode(part)) visit(part, see)
}

const isListing = process.argv.includes('--list')
let isOver = false
for (const [folder, limits] of Object.entries(LIMITS)) {
  const pattern = FOLDERS[folder as keyof typeof FOLDERS]
  const files = (await Array.fromAsync(glob(pattern, { cwd: ROOT }))).sort().map(measure)
  for (const { name, limit, of, places: placesOf } of limits) {
    const found = Math.round(10 * of(files)) / 10
    isOver ||= found > limit
    if (found > limit || isListing) process.stdout.write(`${folder}: ${found} ${name}, at most ${limit}\n`)
    if (placesOf === undefined || (found <= limit && !isListing)) continue
    for (const one of files) for (const line of placesOf(one)) process.stdout.write(`  ${one.file}:${line}\n`)
  }
}
process.exitCode = isOver ? 1 : 0
