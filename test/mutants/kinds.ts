/**
 * The mistakes that a program can draw: each kind is a rule that names, for one node of the syntax, the texts that could stand there by
 * mistake. A mistake that the compiler refuses is found later, and is not drawn.
 */
import { isFunction, type Node, nodesOf, type Placed } from './syntax.ts'

/** The characters from `start` to before `end` are replaced by `text`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface Mistake extends Edit {
  readonly kind: string
}

type Rule = (placed: Placed, source: string) => readonly Edit[]

const textOf = ({ start, end }: Node, source: string): string => source.slice(start, end)
const insteadOf = ({ start, end }: Node, text: string): Edit => ({ start, end, text })

/** Exchanges the texts of two nodes; what stands between them stays. */
const exchanged = (first: Node, second: Node, source: string): Edit => ({
  start: first.start,
  end: second.end,
  text: textOf(second, source) + source.slice(first.end, second.start) + textOf(first, source),
})

/** Replaces an operator between its two operands; parentheses may stand there, too. */
function otherOperator(left: Node, right: Node, source: string, from: string, to: string): Edit {
  const start = source.indexOf(from, left.end)
  if (start < 0 || start + from.length > right.start) throw new Error(`no ${from} after ${left.end}`)
  return { start, end: start + from.length, text: to }
}

const isCondition = ({ node, within: [outer] }: Placed): boolean =>
  (outer?.type === 'IfStatement' ||
    outer?.type === 'ConditionalExpression' ||
    outer?.type === 'WhileStatement') &&
  outer.test === node

const negatedCondition: Rule = (placed, source) =>
  isCondition(placed) ? [insteadOf(placed.node, `!(${textOf(placed.node, source)})`)] : []

const OTHER_COMPARISON: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
}

const otherComparison: Rule = (placed, source) => {
  const { node } = placed
  if (node.type !== 'BinaryExpression') return []
  const other = OTHER_COMPARISON[node.operator]
  // Negating a whole condition is the same mistake.
  if (other === undefined || (node.operator.includes('==') && isCondition(placed))) return []
  return [otherOperator(node.left, node.right, source, node.operator, other)]
}

const otherConnective: Rule = ({ node }, source) => {
  if (node.type !== 'LogicalExpression' || node.operator === '??') return []
  return [otherOperator(node.left, node.right, source, node.operator, node.operator === '&&' ? '||' : '&&')]
}

/** A distance is the same from either end. */
const isDistance = ({ node, within: [outer] }: Placed, source: string): boolean =>
  node.type === 'BinaryExpression' &&
  node.operator === '-' &&
  outer?.type === 'CallExpression' &&
  textOf(outer.callee, source) === 'Math.abs'

const swappedOperands: Rule = (placed, source) => {
  const { node } = placed
  return node.type === 'BinaryExpression' &&
    ['-', '/', '%'].includes(node.operator) &&
    !isDistance(placed, source)
    ? [exchanged(node.left, node.right, source)]
    : []
}

const isPlain = ({ type }: Node): boolean =>
  ['Identifier', 'MemberExpression', 'CallExpression', 'Literal', 'TemplateLiteral'].includes(type)

/** Functions that give the same in either order: members of an object, as the gateway's contract names them, have none. */
const SYMMETRIC = ['Math.min', 'Math.max', 'oneOf', 'textsAsRead', 'textsSent', 'returned']

const swappedArguments: Rule = ({ node }, source) => {
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return []
  if (SYMMETRIC.includes(textOf(node.callee, source))) return []
  return node.arguments.slice(1).flatMap((second, at) => {
    const first = node.arguments[at]
    if (first === undefined || !isPlain(first) || !isPlain(second)) return []
    return textOf(first, source) === textOf(second, source) ? [] : [exchanged(first, second, source)]
  })
}

const droppedAwait: Rule = ({ node }, source) =>
  node.type === 'ExpressionStatement' && node.expression.type === 'AwaitExpression'
    ? [insteadOf(node, `void ${textOf(node.expression.argument, source)}`)]
    : []

/** Leaves a function before its last statement. */
const earlyReturn: Rule = ({ node, within: [outer] }) => {
  if (node.type !== 'BlockStatement' || outer === undefined || !isFunction(outer)) return []
  const last = node.body.at(-1)
  if (node.body.length < 2 || last === undefined || last.type === 'ReturnStatement') return []
  return [{ start: last.start, end: last.start, text: 'return;' }]
}

const emptiedList: Rule = ({ node }) =>
  node.type === 'ArrayExpression' && node.elements.length > 0 ? [insteadOf(node, '[]')] : []

const LEAVES = ['ReturnStatement', 'ContinueStatement', 'BreakStatement', 'ThrowStatement']

function isGuard(node: Node): boolean {
  if (node.type !== 'IfStatement' || node.alternate !== null) return false
  const { consequent } = node
  const only = consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent
  return only !== undefined && LEAVES.includes(only.type)
}

const removedStatement: Rule = ({ node }) =>
  node.type === 'ExpressionStatement' || isGuard(node) ? [insteadOf(node, '{}')] : []

const UNIT_AFTER = /(?:_MS|_S|_SECONDS|_MINUTES|_HOURS|_DAYS|Ms|Seconds|Minutes|Hours|Days)$/

const otherConstant: Rule = ({ node, within }) => {
  if (node.type !== 'Literal' || typeof node.value !== 'number') return []
  const [outer] = within
  if (outer?.type === 'Property' && outer.key === node) return []
  const edits = [insteadOf(node, String(node.value + 1))]
  const owner = within.find(({ type }) => type === 'VariableDeclarator')
  const hasUnit =
    owner?.type === 'VariableDeclarator' && owner.id.type === 'Identifier' && UNIT_AFTER.test(owner.id.name)
  if (node.value >= 1000 && node.value % 1000 === 0) edits.push(insteadOf(node, String(node.value / 1000)))
  else if (hasUnit || node.value === 60) edits.push(insteadOf(node, String(node.value * 60)))
  return edits
}

/** Takes a member out of a list of several, with its comma. */
function without(members: readonly Node[], at: number, source: string): Edit | undefined {
  const [before, member, after] = [members[at - 1], members[at], members[at + 1]]
  if (member === undefined) return undefined
  if (after !== undefined) return { start: member.start, end: after.start, text: '' }
  if (before !== undefined) return { start: before.end, end: member.end, text: '' }
  const comma = /^\s*,/.exec(source.slice(member.end))?.[0] ?? ''
  return { start: member.start, end: member.end + comma.length, text: '' }
}

/** Drops what is spread, or what stands beside a spread and replaces a part of it. */
const droppedMember: Rule = ({ node }, source) => {
  if (node.type !== 'ObjectExpression' && node.type !== 'ArrayExpression') return []
  const members = (node.type === 'ObjectExpression' ? node.properties : node.elements).filter(
    (one) => one !== null,
  )
  if (!members.some(({ type }) => type === 'SpreadElement')) return []
  return members.map((_, at) => without(members, at, source)).filter((edit) => edit !== undefined)
}

const OTHER_METHOD: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
])

const otherMethod: Rule = ({ node }) => {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return []
  const { property } = node.callee
  const other = property.type === 'Identifier' ? OTHER_METHOD.get(property.name) : undefined
  return other === undefined ? [] : [insteadOf(property, other)]
}

/** Steps without which a chain still stands: conditions and order of a query, choice, order and cutting of a list or a text. */
const STEPS: ReadonlySet<string> = new Set([
  ...['where', 'onRef', 'on', 'orderBy', 'limit', 'distinct'],
  ...['filter', 'sort', 'toSorted', 'toReversed', 'slice', 'trim', 'toLowerCase'],
])

const droppedStep: Rule = ({ node }) => {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return []
  const { object, property } = node.callee
  if (property.type !== 'Identifier' || !STEPS.has(property.name)) return []
  return [{ start: object.end, end: node.end, text: '' }]
}

const SQL = /\b(?:select|insert into|update|delete from|where)\b/
const SQL_MISTAKES: readonly (readonly [RegExp, string])[] = [
  [/\band (?=\S+ (?:[<>=]|is |in |not ))/g, 'or '],
  [/\bor (?=\S+ (?:[<>=]|is |in |not ))/g, 'and '],
  [/ desc\b/g, ''],
  [/ < /g, ' <= '],
  [/ <= /g, ' < '],
  [/ > /g, ' >= '],
  [/ >= /g, ' > '],
  [/ = (?=[?:$'])/g, ' <> '],
  [/ is null\b/g, ' is not null'],
  [/ is not null\b/g, ' is null'],
]

const otherQuery: Rule = ({ node }, source) => {
  const isText =
    node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
  const text = isText ? textOf(node, source) : ''
  if (!SQL.test(text)) return []
  return SQL_MISTAKES.flatMap(([pattern, replacement]) =>
    [...text.matchAll(pattern)].map(({ index, 0: found }) => {
      const start = node.start + index
      return { start, end: start + found.length, text: replacement }
    }),
  )
}

export const KINDS: Readonly<Record<string, Rule>> = {
  'negated condition': negatedCondition,
  'other comparison': otherComparison,
  'and for or': otherConnective,
  'swapped operands': swappedOperands,
  'swapped arguments': swappedArguments,
  'dropped await': droppedAwait,
  'early return': earlyReturn,
  'emptied list': emptiedList,
  'removed statement': removedStatement,
  'other constant': otherConstant,
  'dropped member': droppedMember,
  'other method': otherMethod,
  'other query': otherQuery,
  'dropped step': droppedStep,
}

/** @returns each mistake that can be made in a source text, in the order of their kinds and places */
export function mistakesOf(source: string): Mistake[] {
  const nodes = nodesOf(source)
  return Object.entries(KINDS).flatMap(([kind, rule]) =>
    nodes.flatMap((placed) => rule(placed, source)).map((edit) => ({ kind, ...edit })),
  )
}

/** @returns the text with edits made; of two that start at one place, the first comes first */
export function edited(source: string, edits: readonly Edit[]): string {
  const inOrder = edits.toSorted((a, b) => a.start - b.start || a.end - b.end)
  let at = 0
  let text = ''
  for (const edit of inOrder) {
    text += source.slice(at, edit.start) + edit.text
    at = Math.max(at, edit.end)
  }
  return text + source.slice(at)
}
