/** A source file as a tree of its syntax (ESTree), each node with the ones that it stands in. */
import { type ESTree, parseSync } from 'rolldown/utils'

export type Node = ESTree.Node

export interface Placed<N extends Node = Node> {
  readonly node: N
  /** The nodes that this one stands in, the innermost first. */
  readonly within: readonly Node[]
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value

/** @returns the nodes that stand directly in a node, without those of types */
function partsOf(node: Node): Node[] {
  const values: unknown[] = Object.values(node)
  return values.flat().filter(isNode).filter(isOfValues)
}

/** Types are gone when the program runs; `as`, `satisfies` and `!` wrap a value. */
const isOfValues = ({ type }: Node): boolean =>
  !type.startsWith('TS') || ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(type)

/** Visits a node and every node in it. */
export function eachIn(node: Node, visit: (node: Node) => void): void {
  visit(node)
  for (const part of partsOf(node)) eachIn(part, visit)
}

/** @throws Error the text is not TypeScript */
export function programOf(source: string): ESTree.Program {
  const { program, errors } = parseSync('source.ts', source)
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
  return program
}

/**
 * @returns every node of the program, each before those that stand in it
 * @throws Error the text is not TypeScript
 */
export function nodesOf(source: string): Placed[] {
  const found: Placed[] = []
  const visit = (node: Node, within: readonly Node[]): void => {
    found.push({ node, within })
    for (const part of partsOf(node)) visit(part, [node, ...within])
  }
  visit(programOf(source), [])
  return found
}

export const isFunction = ({ type }: Node): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'
