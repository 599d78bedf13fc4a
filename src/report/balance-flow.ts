/** The balance as a flow: rows read → what became of rows → records made → what became of records. Pure. */

import { RECORD_KINDS } from '../model/record.ts'
import type { RunSummary } from '../run/summary.ts'
import { countOf, KINDS, OUTCOMES, type Outcome, RECORD_OUTCOMES } from './outcomes.ts'

export type FlowCounts = Pick<RunSummary, 'rows' | 'records'>

export interface FlowNode {
  readonly id: string
  /** From 0, left to right. */
  readonly column: number
  readonly name: string
  /** Rows or records, exactly. */
  readonly count: number
  /** Undefined for what is no outcome: rows read, kinds of records. */
  readonly outcome?: Outcome
}

export interface FlowLink {
  readonly source: string
  readonly target: string
  readonly outcome?: Outcome
  /** Thickness in pixels: to scale, but for what would be too thin to be seen. */
  readonly value: number
}

export interface Flow {
  readonly nodes: readonly FlowNode[]
  readonly links: readonly FlowLink[]
}

/** Pixels: nothing that is there is drawn thinner than the first; the whole is as thick as the second, and what thin parts add. */
export const THINNEST = 3
export const THICKNESS = 240

/** A node with what it divides into; ends have no parts. */
interface Branch extends FlowNode {
  readonly parts: readonly Branch[]
  /** Pixels a row or record. */
  readonly scale: number
}

/**
 * Rows and records in one picture. They have scales of their own: all records together are as thick as the rows that were mapped. What
 * does not balance goes to an end of its own.
 */
export function balanceFlow(counts: FlowCounts): Flow {
  const { read, mapped } = counts.rows
  const rowScale = scaleTo(THICKNESS, Math.max(read, rowsTold(counts)))
  const kinds = kindsOf(counts, 2, scaleTo(Math.max(mapped * rowScale, THINNEST), recordsTold(counts)))
  return flowOf([rowsOf(counts, rowScale, kinds)])
}

/** Rows alone, and records alone, for where there is no room for both beside each other. */
export const rowFlow = (counts: FlowCounts): Flow =>
  flowOf([rowsOf(counts, scaleTo(THICKNESS, Math.max(counts.rows.read, rowsTold(counts))), [])])
export const recordFlow = (counts: FlowCounts): Flow =>
  flowOf(kindsOf(counts, 0, scaleTo(THICKNESS, recordsTold(counts))))

const scaleTo = (thickness: number, count: number): number => (count === 0 ? 0 : thickness / count)

const rowsTold = ({ rows: { mapped, skipped, rejected } }: FlowCounts): number => mapped + skipped + rejected

const recordsTold = ({ records }: FlowCounts): number =>
  RECORD_KINDS.reduce((total, kind) => total + Math.max(records[kind].made, outcomesTold(records[kind])), 0)

const outcomesTold = (counts: FlowCounts['records']['biometric']): number =>
  RECORD_OUTCOMES.reduce((total, outcome) => total + countOf(counts, outcome), 0)

function rowsOf(counts: FlowCounts, scale: number, ofMapped: readonly Branch[]): Branch {
  const { read, mapped, skipped, rejected } = counts.rows
  const end = (outcome: Outcome, count: number, parts: readonly Branch[] = []): Branch => ({
    id: `row-${outcome}`,
    column: 1,
    name: OUTCOMES[outcome].name,
    count,
    outcome,
    parts,
    scale,
  })
  const parts = [
    end('mapped', mapped, ofMapped),
    end('skipped', skipped),
    end('rejected', rejected),
    end('unaccounted', read - rowsTold(counts)),
  ]
  return { id: 'read', column: 0, name: 'rows read', count: read, parts: parts.filter(isThere), scale }
}

/** Kinds of records, each with its outcomes. Ends are shared: what was accepted of all kinds is one. */
const kindsOf = ({ records }: FlowCounts, column: number, scale: number): Branch[] =>
  RECORD_KINDS.map((kind) => {
    const of = records[kind]
    const end = (outcome: Outcome, count: number): Branch => ({
      id: `record-${outcome}`,
      column: column + 1,
      name: OUTCOMES[outcome].name,
      count,
      outcome,
      parts: [],
      scale,
    })
    const parts = [
      ...RECORD_OUTCOMES.map((outcome) => end(outcome, countOf(of, outcome))),
      end('unaccounted', of.made - outcomesTold(of)),
    ]
    return { id: kind, column, name: KINDS[kind], count: of.made, parts: parts.filter(isThere), scale }
  }).filter(isThere)

const isThere = ({ count, parts }: Branch): boolean => count > 0 || parts.length > 0

/** Thickness grows from the ends, so that what leaves a node is never thicker than the node. */
const thicknessOf = ({ count, parts, scale }: Branch): number => {
  const own = count > 0 ? Math.max(count * scale, THINNEST) : 0
  return Math.max(
    own,
    parts.reduce((total, part) => total + thicknessOf(part), 0),
  )
}

function flowOf(roots: readonly Branch[]): Flow {
  const nodes = new Map<string, FlowNode>()
  const links: FlowLink[] = []
  const visit = (branch: Branch): void => {
    const { parts, scale: _scale, ...node } = branch
    const known = nodes.get(node.id)
    nodes.set(node.id, known === undefined ? node : { ...known, count: known.count + node.count })
    for (const part of parts) {
      const outcome = part.outcome === undefined ? {} : { outcome: part.outcome }
      links.push({ source: node.id, target: part.id, ...outcome, value: thicknessOf(part) })
      visit(part)
    }
  }
  for (const root of roots) visit(root)
  const order = Object.keys(OUTCOMES)
  const rank = ({ outcome }: FlowNode): number => (outcome === undefined ? -1 : order.indexOf(outcome))
  return { nodes: [...nodes.values()].sort((a, b) => rank(a) - rank(b)), links }
}
