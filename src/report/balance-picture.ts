/** Draws a flow as SVG. Places are d3-sankey's; text stands beside each node, with the exact count. */
import { type SankeyLink, type SankeyNode, sankey, sankeyLinkHorizontal } from 'd3-sankey'
import { html } from '../html-page.ts'
import { n } from '../shown-text.ts'
import type { Flow, FlowLink, FlowNode } from './balance-flow.ts'
import { px } from './figures.ts'
import { OUTCOMES } from './outcomes.ts'

type PlacedNode = SankeyNode<FlowNode, FlowLink>
type PlacedLink = SankeyLink<FlowNode, FlowLink>

export interface FlowForm {
  /** Pixels from a column to the next. */
  readonly columnWidth: number
  /** Pixels for the text beside the last column. */
  readonly textWidth: number
  /** What the columns are, from the left; none for a picture without a head. */
  readonly heads: readonly string[]
}

const NODE_WIDTH = 10
/** Between nodes, so that the text of thin ones does not overlap. */
const PADDING = 24
const MARGIN = 8
/** Room for a line of text above what is drawn. */
const LINE = 20
/** About what a character takes, in fonts of the browser's choice. */
const CHARACTER = 7.8
/** A link of less is drawn in a stronger colour. */
const THIN = 6

/** @returns an SVG element; empty where there is nothing that flows */
export function balancePicture({ nodes, links }: Flow, form: FlowForm): string {
  if (links.length === 0) return ''
  const columns = Math.max(...nodes.map(({ column }) => column)) + 1
  const inColumn = (column: number): FlowNode[] => nodes.filter((node) => node.column === column)
  const gaps =
    Math.max(...Array.from({ length: columns }, (_, column) => inColumn(column).length - 1)) * PADDING
  const top = form.heads.length === 0 ? LINE : 2 * LINE
  const height = top + thicknessOf(links) + gaps + MARGIN
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
  // The layout writes into what it is given.
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

/** Of all that leaves the nodes that nothing leads to. */
function thicknessOf(links: readonly FlowLink[]): number {
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
  const box = `x="${px(x)}" y="${px(y)}" width="${NODE_WIDTH}" height="${px(height)}"`
  return `<rect class="node ${outcome ?? 'neutral'}" ${box}/>${
    outcome === 'rejected' || outcome === 'in-doubt' || outcome === 'unaccounted' || outcome === 'pending'
      ? `<rect fill="url(#${outcome}-pattern)" ${box}/>`
      : ''
  }`
}

/** Text above a node lies on what leaves the nodes beside it: it has a ground of its own. */
function groundSvg({ outcome, name, count, ...node }: PlacedNode): string {
  if (!isAbove(node)) return ''
  const { x, y } = boxOf(node)
  const characters = `${name} ${n(count)}`.length + (outcome === undefined ? 0 : 2)
  return `<rect class="ground" x="${px(x)}" y="${px(y - 19)}" width="${px(characters * CHARACTER)}" height="18"/>`
}

/** Beside the node its text would lie on what leaves it. */
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
