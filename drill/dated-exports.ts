/**
 * The exports of a backfill round: each of a day, told by its name, delivered again, corrected, cumulative or the same under another
 * name; plain, in gzip or in a zip archive.
 */
import { Buffer } from 'node:buffer'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { ZipFile } from 'yazl'
import { Random } from '../samples/random.ts'
import type { DrillExport } from './export-book.ts'
import {
  corrected,
  DRILL_STREAM,
  labOrders,
  nestedExport,
  newRows,
  personOf,
  redelivered,
  type WideRow,
  wideExport,
} from './exports.ts'

export interface DatedPlan {
  /** Deliveries of the history, and of the nightly job after it. */
  readonly history: number
  readonly nightly: number
  /** New rows of each. */
  readonly rows: number
  readonly people: number
  readonly dirt: boolean
  /** As in `ExportsPlan`. */
  readonly doctors: number
}

/** An export, and the file that it is delivered in; two may be members of one archive. */
export interface DatedExport extends DrillExport {
  readonly file: string
  /** As in `--from`. */
  readonly day: string
}

export interface DatedExports {
  readonly history: readonly DatedExport[]
  readonly nightly: readonly DatedExport[]
  /** Of another job, over the same people. */
  readonly other: readonly DatedExport[]
}

const DAY_MS = 86_400_000
const FIRST_DAY = Date.UTC(2026, 2, 1)

export function datedExports(seed: number, round: number, plan: DatedPlan): DatedExports {
  const random = new Random(seed, DRILL_STREAM.datedExports, round)
  const people = Array.from({ length: plan.people }, (_, at) => personOf(random, at))
  let day = FIRST_DAY
  let visits = 0
  let orders = 0
  const made: DatedExport[] = []
  let before: WideRow[] = []
  let all: WideRow[] = []
  const grown = (rows: readonly WideRow[]): WideRow[] => {
    before = rows.concat(newRows(random, people, plan.rows, visits++, plan))
    all = all.concat(before.slice(rows.length))
    return before
  }
  const wide = (name: string, rows: readonly WideRow[]): DrillExport => wideExport(random, name, rows, plan)
  const delivery = (at: number): DatedExport[] => {
    const date = new Date(day).toISOString().slice(0, 10)
    const stem = `${date.replaceAll('-', '')}_${at}`
    const place = (file: string) => ({ file, day: date })
    const packed = random.pick(['', '', '.gz'])
    const [kind, latest] = [
      random.pick(at < plan.history ? KINDS : OVERLAPPING),
      made.findLast(({ file }) => file.startsWith('wide_')),
    ]
    if (kind === 'nested') {
      const file = `lab_${stem}.ndjson${packed}`
      return [
        {
          ...nestedExport(
            random,
            file,
            labOrders(random, people, plan, () => ++orders),
            plan,
          ),
          ...place(file),
        },
      ]
    }
    if (kind === 'archive') {
      const file = `pack_${stem}.zip`
      const rows = [grown(redelivered(random, before, plan, false)), grown([])]
      return rows.map((own, member) => ({ ...wide(`${file}!${member + 1}.csv`, own), ...place(file) }))
    }
    const file = `wide_${stem}.csv${packed}`
    if (kind === 'same' && latest !== undefined) return [{ ...latest, name: file, ...place(file) }]
    const again =
      kind === 'cumulative'
        ? all.map((row) => corrected(random, row, 0.1, plan))
        : redelivered(random, before, plan, false)
    return [{ ...wide(file, grown(kind === 'new' ? [] : again)), ...place(file) }]
  }
  for (let at = 0; at < plan.history + plan.nightly; at++) {
    made.push(...delivery(at))
    day += random.pick([0, 1, 1, 1, 3]) * DAY_MS
  }
  const isHistory = ({ file }: DatedExport): boolean => Number(/_(\d+)\./.exec(file)?.[1]) < plan.history
  const other = nestedExport(
    random,
    'order_20260301.ndjson',
    labOrders(random, people, plan, () => ++orders),
    plan,
  )
  return {
    history: made.filter(isHistory),
    nightly: made.filter((one) => !isHistory(one)),
    other: [{ ...other, file: other.name, day: '2026-03-01' }],
  }
}

const KINDS = ['new', 'redelivered', 'redelivered', 'cumulative', 'same', 'nested', 'archive'] as const

/** What the nightly job has overlaps with the history. */
const OVERLAPPING = ['redelivered', 'cumulative', 'cumulative', 'same'] as const

/** The bytes of each file, by its name. */
export async function filesOf(exports: readonly DatedExport[]): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  for (const [file, own] of Map.groupBy(exports, (one) => one.file)) files.set(file, await bytesOf(file, own))
  return files
}

async function bytesOf(file: string, own: readonly DrillExport[]): Promise<Buffer> {
  if (file.endsWith('.zip')) {
    const zip = new ZipFile()
    for (const { name, text } of own)
      zip.addBuffer(Buffer.from(text), name.slice(file.length + 1), { mtime: new Date(FIRST_DAY) })
    zip.end()
    return buffer(zip.outputStream)
  }
  const text = Buffer.from(own[0]?.text ?? '')
  return file.endsWith('.gz') ? gzipSync(text) : text
}
