/**
 * Finds the tests that reach a mistake: probes are written into the sources before the statements that mistakes stand in, the tests are run once, and
 * each probe that is passed notes the test. A constant of a module is reached where a function uses it.
 */
import { type Edit, edited } from './kinds.ts'
import { isFunction, type Node, nodesOf, type Placed } from './syntax.ts'

/** Where a program is to note that it came by: before a statement, or around the expression that a function consists of. */
interface Probe {
  readonly start: number
  /** The end of the expression; undefined before a statement. */
  readonly end: number | undefined
}

/** A place in the sources: a file, and the characters of a mistake. */
export interface Place {
  readonly file: string
  readonly start: number
  readonly end: number
}

const IN_BODY = ['BlockStatement', 'SwitchCase', 'StaticBlock']

/** The first thing that a function does. */
function entryOf(node: Node): Probe | undefined {
  if (
    node.type !== 'ArrowFunctionExpression' &&
    node.type !== 'FunctionExpression' &&
    node.type !== 'FunctionDeclaration'
  )
    return undefined
  const { body } = node
  if (body === null) return undefined
  const isBlock = node.type !== 'ArrowFunctionExpression' || !node.expression
  return isBlock ? { start: body.start + 1, end: undefined } : { start: body.start, end: body.end }
}

/** @returns the place to note it; undefined at the level of the module */
function probeOf({ node, within }: Placed): Probe | undefined {
  let inner = node
  for (const outer of within) {
    if (IN_BODY.includes(outer.type) && inner.type !== 'FunctionDeclaration')
      if (!(outer.type === 'SwitchCase' && outer.test === inner))
        return { start: inner.start, end: undefined }
    if (isFunction(outer)) return entryOf(outer)
    inner = outer
  }
  return undefined
}

const contains = (node: Node, { start, end }: Edit | Place): boolean => node.start <= start && end <= node.end

const innermost = (nodes: readonly Placed[], place: Place): Placed | undefined =>
  nodes.findLast(({ node }) => contains(node, place))

/** The names that a pattern binds: `a`, `[a, b]`, `{ a, b: c }`. */
function namesIn(pattern: Node): string[] {
  if (pattern.type === 'Identifier') return [pattern.name]
  if (pattern.type === 'ArrayPattern')
    return pattern.elements.flatMap((one) => (one === null ? [] : namesIn(one)))
  if (pattern.type !== 'ObjectPattern') return []
  return pattern.properties.flatMap((one) => (one.type === 'Property' ? namesIn(one.value) : []))
}

/** The names that a statement of a module declares. */
export function declaredBy(statement: Node): string[] {
  if (statement.type === 'ExportNamedDeclaration')
    return statement.declaration === null ? [] : declaredBy(statement.declaration)
  if (statement.type === 'ClassDeclaration' || statement.type === 'FunctionDeclaration')
    return statement.id === null ? [] : [statement.id.name]
  if (statement.type !== 'VariableDeclaration') return []
  return statement.declarations.flatMap(({ id }) => namesIn(id))
}

interface Uses {
  /** Where functions use a name. */
  readonly inFunctions: { readonly file: string; readonly probe: Probe }[]
  /** The names of a module that are made of it. */
  readonly inModules: string[]
}

const statementOf = ({ node, within }: Placed): Node => within.at(-2) ?? node

function usesOfNames(files: ReadonlyMap<string, readonly Placed[]>): Map<string, Uses> {
  const all = new Map<string, Uses>()
  for (const [file, nodes] of files)
    for (const placed of nodes) {
      const { node } = placed
      if (node.type !== 'Identifier') continue
      const uses = all.get(node.name) ?? { inFunctions: [], inModules: [] }
      all.set(node.name, uses)
      const probe = probeOf(placed)
      if (probe !== undefined) uses.inFunctions.push({ file, probe })
      else uses.inModules.push(...declaredBy(statementOf(placed)))
    }
  return all
}

/** Follows names of modules to the functions that use them, or use what is made of them. */
function functionsThatUse(names: readonly string[], uses: ReadonlyMap<string, Uses>): Uses['inFunctions'] {
  const known = new Set(names)
  for (const name of known) for (const made of uses.get(name)?.inModules ?? []) known.add(made)
  return [...known].flatMap((name) => uses.get(name)?.inFunctions ?? [])
}

/**
 * Writes probes for places into the sources.
 * @param sources texts by their files
 * @param note the call that a probe makes, for the number of a place
 * @returns the texts that changed, by their files
 */
export function probed(
  sources: ReadonlyMap<string, string>,
  places: readonly Place[],
  note: (place: number) => string,
): Map<string, string> {
  const nodes = new Map([...sources].map(([file, text]) => [file, nodesOf(text)]))
  const uses = usesOfNames(nodes)
  const edits = new Map<string, Edit[]>()
  const add = (file: string, { start, end }: Probe, place: number): void => {
    const own = edits.get(file) ?? []
    edits.set(file, own)
    if (end === undefined) own.push({ start, end: start, text: `${note(place)};` })
    else own.push({ start, end: start, text: `(${note(place)}, ` }, { start: end, end, text: ')' })
  }
  for (const [at, place] of places.entries()) {
    const placed = innermost(nodes.get(place.file) ?? [], place)
    if (placed === undefined) continue
    const probe = probeOf(placed)
    if (probe !== undefined) add(place.file, probe, at)
    else
      for (const { file, probe: entry } of functionsThatUse(declaredBy(statementOf(placed)), uses))
        add(file, entry, at)
  }
  return new Map([...edits].map(([file, own]) => [file, edited(sources.get(file) ?? '', own)]))
}
