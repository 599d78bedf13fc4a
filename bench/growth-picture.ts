/** The figures of bench/delivered.ts as a picture: processor time and bytes written a row, over the rows that the ledger knows. */
import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import type { Point } from './delivered.ts'

const WIDTH = 340
const HEIGHT = 200
const LEFT = 48

/** An SVG with both curves from zero. */
export function drawGrowth(points: readonly Point[]): string {
  const panels = [
    panel('µs of processor time a row', points, ({ microseconds }) => microseconds),
    panel('bytes written a row', points, ({ written }) => written),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * (WIDTH + LEFT) + 16} ${HEIGHT + 72}" font-family="sans-serif" font-size="12">
<title>What remembering a row costs, by the rows that the ledger knows</title>
<rect width="100%" height="100%" fill="#fff"/>
${panels.map((drawn, at) => `<g transform="translate(${LEFT + at * (WIDTH + LEFT)}, 32)">${drawn}</g>`).join('\n')}
</svg>
`
}

function panel(title: string, points: readonly Point[], of: (point: Point) => number): string {
  const most = Math.max(...points.map(of))
  const x = scaleLinear([0, Math.max(...points.map(({ rows }) => rows)) / 1e6], [0, WIDTH - 24])
  const y = scaleLinear([0, most * 1.25], [HEIGHT, 0]).nice(5)
  const curve = line<Point>(
    (point) => x(point.rows / 1e6),
    (point) => y(of(point)),
  )([...points])
  return `<text x="0" y="-12" font-weight="bold">${title}</text>
${y
  .ticks(5)
  .map(
    (tick) =>
      `<path d="M0,${y(tick)}H${WIDTH - 24}" stroke="#ddd"/><text x="-6" y="${y(tick) + 4}" text-anchor="end">${tick}</text>`,
  )
  .join('\n')}
${x
  .ticks(5)
  .map((tick) => `<text x="${x(tick)}" y="${HEIGHT + 16}" text-anchor="middle">${tick}</text>`)
  .join('\n')}
<text x="${(WIDTH - 24) / 2}" y="${HEIGHT + 31}" text-anchor="middle">million rows in the ledger</text>
<path d="${curve}" fill="none" stroke="#1a5fb4" stroke-width="2"/>
${points.map((point) => `<circle cx="${x(point.rows / 1e6)}" cy="${y(of(point))}" r="3" fill="#1a5fb4"/>`).join('\n')}`
}
