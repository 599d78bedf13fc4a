/** The balance as a picture and as tables, and the wrong equations of a run out of balance. */
import { type SankeyLink, type SankeyNode, sankey, sankeyLinkHorizontal } from 'd3-sankey'
import { allRecords } from '../../model/balance.ts'
import { KIND_NAMES, RECORD_KINDS } from '../../model/record.ts'
import { html, n } from '../../system/shown-text.ts'
import type { DetailedStory, RunSummary } from '../run-story.ts'
import { rowsWords } from '../words.ts'
import {
  countOf,
  counts,
  numbers,
  OUTCOMES,
  type Outcome,
  outcomeBox,
  px,
  RECORD_OUTCOMES,
  table,
  words,
} from './figures.ts'

const HEADS = ['came in', 'rows became', 'records made', 'records became']
const WIDE = { columnWidth: 245, textWidth: 205, heads: HEADS }
const NARROW = { columnWidth: 172, textWidth: 172, heads: [] }

export function balanceSection(facts: DetailedStory): string {
  return `<section id="balance">
<h2>Balance${facts.summary.soFar ? ' so far' : ''}</h2>
${imbalance(facts)}${pictures(facts)}
</section>`
}

function pictures({ summary }: DetailedStory): string {
  if (summary.rows.read === 0 && allRecords(summary).made === 0)
    return '<p class="none">No row has an outcome: there is nothing to draw.</p>'
  const part = (name: string, picture: string): string =>
    picture === '' ? '' : `<figure><figcaption>${name}</figcaption>\n${picture}</figure>`
  return `<p class="note">Widths are to scale within rows and within records; very thin parts are drawn wider. Counts are exact.</p>
<div class="wide">${balancePicture(balanceFlow(summary), WIDE)}</div>
<div class="narrow">${part('Rows', balancePicture(rowFlow(summary), NARROW))}
${part('Records', balancePicture(recordFlow(summary), NARROW))}</div>
${numbers(balanceTable(summary))}`
}

function balanceTable({ rows, records }: RunSummary): string {
  const all = allRecords({ records })
  const lines = [
    ['rows read', rows.read],
    ['rows mapped', rows.mapped],
    ['rows skipped', rows.skipped],
    ['rows rejected', rows.rejected],
    ['records made', all.made],
    ['records accepted', all.accepted],
    ['records unchanged', all.unchanged],
    ['records rejected', all.rejected],
    ['records in doubt', all.inDoubt],
    ['records pending', all.pending],
  ] as const
  return table({
    label: 'The balance in numbers',
    columns: [...words('what'), ...counts('count')],
    lines: lines.map(([name, count]) => [name, n(count)]),
    kind: 'short',
  })
}

/** Lists each wrong equation. */
function imbalance({ summary: { balanced, rows, records } }: DetailedStory): string {
  if (balanced) return ''
  const wrong: string[] = []
  if (rows.read !== rowOutcomes({ rows })) wrong.push(`rows: ${rowsWords(rows).replace('=', '≠')}`)
  for (const kind of RECORD_KINDS) {
    const { made, accepted, rejected: refused, unchanged, inDoubt, pending } = records[kind]
    if (made !== accepted + refused + unchanged + inDoubt + pending)
      wrong.push(
        `${KIND_NAMES[kind]}: made ${n(made)} ≠ accepted ${n(accepted)} + rejected ${n(refused)} + unchanged ${n(unchanged)} + in doubt ${n(inDoubt)} + pending ${n(pending)}`,
      )
  }
  return `<div class="alarm" role="alert">
<p><strong>Not balanced.</strong> This is a defect of Waybill: keep the ledger as it is, and report it.</p>
<ul>${wrong.map((line) => `<li>${line}</li>`).join('')}</ul>
</div>\n`
}

type FlowCounts = Pick<RunSummary, 'rows' | 'records'>

interface FlowNode {
  readonly id: string
  readonly column: number
  readonly name: string
  readonly count: number
  /** Undefined for rows read and for kinds of records, which are no outcomes. */
  readonly outcome?: Outcome
}

interface FlowLink {
  readonly source: string
  readonly target: string
  readonly outcome?: Outcome
  /** Thickness in pixels, to scale, at least `THINNEST`. */
  readonly value: number
}

interface Flow {
  readonly nodes: readonly FlowNode[]
  readonly links: readonly FlowLink[]
}

/** Least thickness of a part in pixels; `THICKNESS` is the whole, without the additions for thin parts. */
const THINNEST = 3
const THICKNESS = 240

/** A node with its parts; ends have none. */
interface Branch extends FlowNode {
  readonly parts: readonly Branch[]
  readonly scale: number
}

/**
 * Rows and records in one picture, with separate scales: all records together are as thick as the mapped rows. A difference in the balance goes to
 * an end of its own.
 */
export function balanceFlow(counts: FlowCounts): Flow {
  const { read, mapped } = counts.rows
  const rowScale = scaleTo(THICKNESS, Math.max(read, rowOutcomes(counts)))
  const kinds = kindsOf(counts, 2, scaleTo(Math.max(mapped * rowScale, THINNEST), recordTotal(counts)))
  return flowOf([rowsOf(counts, rowScale, kinds)])
}

/** Flow of rows alone, for a page too narrow for both. */
export const rowFlow = (counts: FlowCounts): Flow =>
  flowOf([rowsOf(counts, scaleTo(THICKNESS, Math.max(counts.rows.read, rowOutcomes(counts))), [])])
/** Flow of records alone. */
export const recordFlow = (counts: FlowCounts): Flow =>
  flowOf(kindsOf(counts, 0, scaleTo(THICKNESS, recordTotal(counts))))

const scaleTo = (thickness: number, count: number): number => (count === 0 ? 0 : thickness / count)

const rowOutcomes = ({ rows: { mapped, skipped, rejected } }: Pick<FlowCounts, 'rows'>): number =>
  mapped + skipped + rejected

const recordTotal = ({ records }: FlowCounts): number =>
  RECORD_KINDS.reduce((total, kind) => total + Math.max(records[kind].made, recordOutcomes(records[kind])), 0)

const recordOutcomes = (counts: FlowCounts['records']['biometric']): number =>
  RECORD_OUTCOMES.reduce((total, outcome) => total + countOf(counts, outcome), 0)

const becoming =
  (what: 'row' | 'record', column: number, scale: number) =>
  (outcome: Outcome, count: number, parts: readonly Branch[] = []): Branch => ({
    id: `${what}-${outcome}`,
    column,
    name: OUTCOMES[outcome].name,
    count,
    outcome,
    parts,
    scale,
  })

function rowsOf(counts: FlowCounts, scale: number, ofMapped: readonly Branch[]): Branch {
  const { read, mapped, skipped, rejected } = counts.rows
  const end = becoming('row', 1, scale)
  const parts = [
    end('mapped', mapped, ofMapped),
    end('skipped', skipped),
    end('rejected', rejected),
    end('unaccounted', read - rowOutcomes(counts)),
  ]
  return { id: 'read', column: 0, name: 'rows read', count: read, parts: parts.filter(isThere), scale }
}

/** Kinds of records with their outcomes. All kinds share the ends: there is one end for accepted records. */
const kindsOf = ({ records }: FlowCounts, column: number, scale: number): Branch[] =>
  RECORD_KINDS.map((kind) => {
    const of = records[kind]
    const end = becoming('record', column + 1, scale)
    const parts = [
      ...RECORD_OUTCOMES.map((outcome) => end(outcome, countOf(of, outcome))),
      end('unaccounted', of.made - recordOutcomes(of)),
    ]
    return { id: kind, column, name: KIND_NAMES[kind], count: of.made, parts: parts.filter(isThere), scale }
  }).filter(isThere)

const isThere = ({ count, parts }: Branch): boolean => count > 0 || parts.length > 0

/** Thickness grows from the ends, so that the parts of a node are never thicker than the node. */
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

type PlacedNode = SankeyNode<FlowNode, FlowLink>
type PlacedLink = SankeyLink<FlowNode, FlowLink>

interface FlowForm {
  readonly columnWidth: number
  /** Pixels for the text beside the last column. */
  readonly textWidth: number
  /** Heads of the columns, from the left; empty for a picture without heads. */
  readonly heads: readonly string[]
}

const NODE_WIDTH = 10
/** Pixels between nodes, so that the texts of thin nodes do not overlap. */
const PADDING = 24
const MARGIN = 8
const LINE = 20
/** Approximate width of a character in the browser's font. */
const CHARACTER = 7.8
/** Width of a link below which its colour is stronger. */
const THIN = 6

/** @returns an SVG element; empty for a flow without links */
export function balancePicture({ nodes, links }: Flow, form: FlowForm): string {
  if (links.length === 0) return ''
  const columns = Math.max(...nodes.map(({ column }) => column)) + 1
  const inColumn = (column: number): FlowNode[] => nodes.filter((node) => node.column === column)
  const gaps =
    Math.max(...Array.from({ length: columns }, (_, column) => inColumn(column).length - 1)) * PADDING
  const top = form.heads.length === 0 ? LINE : 2 * LINE
  const height = top + thicknessOfAll(links) + gaps + MARGIN
  const width = (columns - 1) * form.columnWidth + NODE_WIDTH + form.textWidth
  const layout = sankey<FlowNode, FlowLink>()
    .nodeId(({ id }) => id)
    .nodeAlign(({ column }) => column)
    .nodeSort(null)
    .linkSort(null)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(PADDING)
    .extent([
      [0, top],
      [(columns - 1) * form.columnWidth + NODE_WIDTH, height - MARGIN],
    ])
  // The layout changes its input.
  const placed = layout({
    nodes: nodes.map((node) => ({ ...node })),
    links: links.map((link) => ({ ...link })),
  })
  const heads = form.heads
    .slice(0, columns)
    .map((head, column) => `<text class="head" x="${column * form.columnWidth}" y="12">${html(head)}</text>`)
  return `<svg viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}" aria-hidden="true" class="flow">
${[...heads, ...placed.links.map(linkSvg), ...placed.nodes.map(groundSvg), ...placed.nodes.map(nodeSvg), ...placed.nodes.map(textSvg)].filter((part) => part !== '').join('\n')}
</svg>`
}

/** Thickness of all links from nodes without incoming links. */
function thicknessOfAll(links: readonly FlowLink[]): number {
  const targets = new Set(links.map(({ target }) => target))
  return links.reduce((total, { source, value }) => total + (targets.has(source) ? 0 : value), 0)
}

const path = sankeyLinkHorizontal<FlowNode, FlowLink>()

function linkSvg(link: PlacedLink): string {
  const drawn = (path(link) ?? '').replaceAll(/-?\d+(\.\d+)?/g, (number) => px(Number(number)))
  const { width = 0 } = link
  const weight = width < THIN ? ' thin' : ''
  return `<path class="link ${link.outcome ?? 'neutral'}${weight}" d="${drawn}" stroke-width="${px(width)}"/>`
}

function nodeSvg({ outcome, ...node }: PlacedNode): string {
  const { x, y, height } = boxOf(node)
  return outcomeBox(
    outcome ?? 'neutral',
    `x="${px(x)}" y="${px(y)}" width="${NODE_WIDTH}" height="${px(height)}"`,
  )
}

/** Background for the text above a node, which would lie on the links of other nodes. */
function groundSvg({ outcome, name, count, ...node }: PlacedNode): string {
  if (!isAbove(node)) return ''
  const { x, y } = boxOf(node)
  const characters = `${name} ${n(count)}`.length + (outcome === undefined ? 0 : 2)
  return `<rect class="ground" x="${px(x)}" y="${px(y - 19)}" width="${px(characters * CHARACTER)}" height="18"/>`
}

/** True if the text goes above the node; beside the node it would lie on the links. */
const isAbove = ({ sourceLinks = [] }: Pick<PlacedNode, 'sourceLinks'>): boolean => sourceLinks.length > 0

function textSvg({ outcome, name, count, ...node }: PlacedNode): string {
  const { x, y, height } = boxOf(node)
  const place = isAbove(node)
    ? `x="${px(x)}" y="${px(y - 6)}"`
    : `x="${px(x + NODE_WIDTH + 7)}" y="${px(y + height / 2 + 4.5)}"`
  const mark = outcome === undefined ? '' : `<tspan class="mark">${OUTCOMES[outcome].mark}</tspan> `
  return `<text ${place}>${mark}${html(name)} <tspan class="count">${n(count)}</tspan></text>`
}

const boxOf = ({ x0 = 0, y0 = 0, y1 = 0 }: Pick<PlacedNode, 'x0' | 'y0' | 'y1'>) => ({
  x: x0,
  y: y0,
  height: y1 - y0,
})
