/** Throughput over working time: records a second, by outcome. Pauses are cut out and named. */
import { scaleLinear } from 'd3-scale'
import { stack } from 'd3-shape'
import type { RecordCounts } from '../../model/balance.ts'
import { counted, n } from '../../system/shown-text.ts'
import type { DetailedStory, WorkSpan } from '../run-story.ts'
import {
  countOf,
  counts,
  durationText,
  numbers,
  OUTCOMES,
  outcomeBox,
  px,
  RECORD_OUTCOMES,
  type RecordOutcome,
  table,
  words,
} from './figures.ts'

const PAUSES_SHOWN = 12
const BINS = 60
const LINES = 12
const LEFT = 52
const RIGHT = 12
const TOP = 24
const BOTTOM = 24
/** Width of a character of an axis, at most. */
const CHARACTER = 7
const WIDE = { width: 940, height: 230, ticks: 9 }
const NARROW = { width: 350, height: 200, ticks: 4 }

/** Milliseconds between marks of the time axis. */
const STEPS = [
  ...[100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000],
  ...[60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000],
  ...[3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000],
]

export function throughputSection(facts: DetailedStory): string {
  return `<section id="throughput">
<h2>Throughput</h2>
${bodyOf(facts)}
</section>`
}

function bodyOf({ work, summary }: DetailedStory): string {
  if (summary.pruned !== undefined)
    return '<p class="none">No throughput: the detail of the run was pruned.</p>'
  const rows = work.reduce((sum, span) => sum + span.rows, 0)
  const made = work.reduce((sum, span) => sum + span.records.made, 0)
  const worked = summary.durationMs
  if (work.length === 0 || worked === 0) return '<p class="none">Nothing is settled.</p>'
  const a = (count: number): number => Math.round((1000 * count) / worked)
  const average = `<p>${counted(rows, 'row')} and ${counted(made, 'record')} in ${durationText(worked)} at work: on average ${counted(a(rows), 'row')} and ${counted(a(made), 'record')} a second.</p>`
  // A few settlements give no distribution over time.
  if (work.length < 3 || made === 0) return average
  const shown = RECORD_OUTCOMES.filter((outcome) => work.some(({ records }) => countOf(records, outcome) > 0))
  const legend = shown.map(
    (outcome) =>
      `<li><span class="swatch ${outcome}"></span>${OUTCOMES[outcome].mark} ${OUTCOMES[outcome].name}</li>`,
  )
  const throughput = throughputOf(work, worked, BINS)
  return `${average}
<ul class="legend">${legend.join('')}</ul>
<div class="wide">${throughputPicture(throughput, shown, WIDE)}</div>
<div class="narrow">${throughputPicture(throughput, shown, NARROW)}</div>
${numbers(throughputTable(throughputOf(work, worked, LINES)))}`
}

/** Records a second in each bin, stacked. @param shown outcomes with records */
export function throughputPicture(
  { worked, bins, pauses }: Throughput,
  shown: readonly RecordOutcome[],
  { width, height, ticks }: { readonly width: number; readonly height: number; readonly ticks: number },
): string {
  const rate = ({ records, length }: Bin, outcome: RecordOutcome): number =>
    (1000 * countOf(records, outcome)) / length
  const layers = stack<undefined, Bin, RecordOutcome>()
    .keys(shown)
    .value((bin, outcome) => rate(bin, outcome))([...bins])
  const highest = Math.max(...layers.flatMap((layer) => layer.map(([, end]) => end)))
  const x = scaleLinear([0, worked], [LEFT, width - RIGHT])
  const y = scaleLinear([0, highest], [height - BOTTOM, TOP]).nice(4)
  const bars = layers.flatMap((layer) =>
    layer.flatMap(([start, end], at) => {
      const bin = bins[at]
      if (bin === undefined || end === start) return []
      const left = x(bin.at)
      const width = Math.max(0.5, x(bin.at + bin.length) - left - 1)
      const box = `x="${px(left)}" y="${px(y(end))}" width="${px(width)}" height="${px(y(start) - y(end))}"`
      return [outcomeBox(layer.key, box)]
    }),
  )
  const levels = y
    .ticks(4)
    .map(
      (level) =>
        `<path class="grid" d="M${LEFT} ${px(y(level))}H${width - RIGHT}"/><text class="axis end" x="${LEFT - 8}" y="${px(y(level) + 4)}">${n(level)}</text>`,
    )
  const step = STEPS.find((one) => worked / one <= ticks) ?? worked
  const times = Array.from({ length: Math.floor(worked / step) + 1 }, (_, index) => index * step).map((at) =>
    timeMark(x(at), durationText(at), { width, height, isFirst: at === 0 }),
  )
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true" class="throughput">
<text class="head" x="0" y="12">records a second</text>
${[...levels, ...bars, ...times, ...pauseMarks(pauses, x, height, width)].join('\n')}
</svg>`
}

/** Text below its mark; the last text ends at the edge of the picture if it has no room beyond. */
function timeMark(
  place: number,
  text: string,
  { width, height, isFirst }: { readonly width: number; readonly height: number; readonly isFirst: boolean },
): string {
  const isCut = place + (text.length * CHARACTER) / 2 > width
  const anchor = isFirst ? '' : isCut ? 'end' : 'middle'
  return `<text class="axis ${anchor}" x="${px(isCut ? width : place)}" y="${height - 6}">${text}</text>`
}

/** Marks of pauses, with text as far as there is room. */
function pauseMarks(
  pauses: Throughput['pauses'],
  x: (at: number) => number,
  height: number,
  width: number,
): string[] {
  let free = 130
  return longest(pauses).map(({ at, length }) => {
    const place = x(at)
    const line = `<path class="pause" d="M${px(place)} ${TOP - 6}V${height - BOTTOM}"/>`
    const text = `pause of ${durationText(length)}`
    const room = text.length * CHARACTER
    if (place < free || place + room > width) return line
    free = place + room
    return `${line}<text class="axis" x="${px(place + 4)}" y="12">${text}</text>`
  })
}

const longest = (pauses: Throughput['pauses']): Throughput['pauses'] =>
  pauses
    .toSorted((a, b) => b.length - a.length)
    .slice(0, PAUSES_SHOWN)
    .toSorted((a, b) => a.at - b.at)

const pausesText = (pauses: Throughput['pauses']): string =>
  pauses.length <= PAUSES_SHOWN
    ? 'Pauses that are left out'
    : `${n(pauses.length)} pauses are left out, together ${durationText(pauses.reduce((sum, { length }) => sum + length, 0))}. The longest`

function throughputTable({ bins, pauses }: Throughput): string {
  const lines = bins.map(({ at, length, rows, records }) => [
    `${durationText(at)} to ${durationText(at + length)}`,
    n(Math.round(rows)),
    n(Math.round(records.made)),
    n(Math.round((1000 * records.made) / length)),
  ])
  const cutOut =
    pauses.length === 0
      ? ''
      : `<p>${pausesText(pauses)}: ${longest(pauses)
          .map(({ at, length }) => `${durationText(length)} after ${durationText(at)}`)
          .join(', ')}.</p>`
  return `${table({
    label: 'Throughput in numbers',
    columns: [...words('time at work'), ...counts('rows', 'records', 'records a second')],
    lines,
    kind: 'short',
  })}${cutOut}`
}

/** Shortest pause to show: a batch that waits its turn takes as long. */
const SHORTEST_PAUSE_MS = 1_000

interface Bin {
  /** Working time before the bin, in milliseconds; `length` is the length of the bin. */
  readonly at: number
  readonly length: number
  readonly rows: number
  readonly records: RecordCounts
}

interface Throughput {
  readonly worked: number
  readonly bins: readonly Bin[]
  /** Pauses by working time, in milliseconds, and their lengths. */
  readonly pauses: readonly { readonly at: number; readonly length: number }[]
}

/**
 * Distributes work over time: the rows and records of a span count as spread evenly over it.
 * @param spans in their order, each from the end of the one before
 * @param worked working time of the whole run: unsettled work takes time, too
 */
export function throughputOf(spans: readonly WorkSpan[], worked: number, binCount: number): Throughput {
  const length = worked / binCount
  const bins = Array.from({ length: worked > 0 ? binCount : 0 }, (_, index) => {
    const records = { made: 0, accepted: 0, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 }
    const bin = { at: index * length, length, rows: 0, records }
    for (const span of spans) {
      const share = shareWithin(span, index, length, binCount)
      if (share === 0) continue
      bin.rows += span.rows * share
      for (const key of Object.keys(records) as (keyof RecordCounts)[])
        records[key] += span.records[key] * share
    }
    return bin
  })
  const pauses = spans
    .filter(({ paused }) => paused >= SHORTEST_PAUSE_MS)
    .map(({ from, paused }) => ({ at: from, length: paused }))
  return { worked, bins, pauses }
}

/** Share of a span within a bin: 0 to 1, and 1 over all bins. A span without length belongs to the bin around it. */
function shareWithin({ from, to }: WorkSpan, index: number, length: number, binCount: number): number {
  if (to === from) return Math.min(binCount - 1, Math.floor(to / length)) === index ? 1 : 0
  const start = index * length
  // The last bin reaches to the end, despite rounding.
  const end = index === binCount - 1 ? Number.POSITIVE_INFINITY : start + length
  return Math.max(0, Math.min(to, end) - Math.max(from, start)) / (to - from)
}
