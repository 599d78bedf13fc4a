/**
 * Traces a transaction id back to the origin of the record, and forward to the answer of the gateway; a row of an export to its records; a person to
 * all rows. No ledger can list these: the trace reads the exports again, each with the mapping of its run.
 */
import { loadMapping } from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/content.ts'
import { openExport } from '../extract/open-export.ts'
import type { BatchRecord, ChunkRecord, ExceptionRecord, ExportRecord, Ledger } from '../ledger/ledger.ts'
import { type Held, unpackHolds } from '../ledger/packed-records.ts'
import { WaybillError } from '../model/errors.ts'
import { parseTransactionId, transactionId } from '../model/ids.ts'
import type { Origin } from '../model/row.ts'
import { keptMapping } from '../run/joined-exports.ts'
import { iso, present } from '../system/shown-text.ts'
import { type Application, withKnownLedger } from './application.ts'

export interface Trace {
  readonly transactionId: string
  readonly rule: string
  readonly row: number
  readonly origin?: TracedOrigin
  readonly export: {
    readonly name: string
    readonly path: string
    readonly sha256: string
    readonly there: boolean
  }
  /** Runs with the record, newest first. */
  readonly runs: readonly TracedRun[]
  /** Pruned runs that read the export, newest first. */
  readonly pruned: readonly { readonly run: string; readonly at: string }[]
}

/** In a workbook, the line is the row number in the sheet. */
export interface TracedOrigin extends Pick<Origin, 'line' | 'byteOffset'> {
  readonly sheet?: string
}

interface TracedRun {
  readonly run: string
  readonly chunk: number
  readonly outcome: 'accepted' | 'rejected' | 'in-doubt' | 'unchanged' | 'pending'
  /** Attempts to send, oldest first. */
  readonly batches: readonly TracedBatch[]
  readonly decisions: readonly TracedDecision[]
  readonly reason?: { readonly stage: string; readonly code: string; readonly message: string }
}

interface TracedDecision {
  readonly event: string
  readonly run: string | null
  readonly by?: string
  readonly note?: string
  readonly at: string
}

interface TracedBatch {
  readonly batchId: string
  readonly kind: string
  readonly state: string
  readonly attempts: number
  readonly answer: string | null
  readonly status: number | null
  readonly begunAt: string
  readonly settledAt: string | null
}

/** @throws `transaction-not-found`, `run-pruned` */
export async function traceRecord(ledger: Ledger, transactionId: string): Promise<Trace> {
  const parts = parseTransactionId(transactionId)
  if (parts === undefined) {
    throw new WaybillError('transaction-not-found', `"${transactionId}" is not a transaction id of Waybill`, {
      remedy: 'An id looks like 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa: export, row, rule, content.',
    })
  }
  const records = await ledger.exports.withContent(parts.exportId)
  const [latest] = records
  if (latest === undefined) {
    throw new WaybillError('transaction-not-found', `this ledger knows no export ${parts.exportId}`)
  }
  const runs: TracedRun[] = []
  const pruned: Trace['pruned'][number][] = []
  let place: { record: ExportRecord; chunk: ChunkRecord } | undefined
  for (const record of records) {
    const prunedAt = (await ledger.runs.find(record.run_id))?.pruned_at ?? null
    if (prunedAt !== null) {
      pruned.push({ run: record.run_id, at: iso(prunedAt) })
      continue
    }
    const chunks = await ledger.chunks.ofExport(record.id)
    if (record.reading !== 'whole') {
      for (const chunk of chunks) {
        const traced = await traceRun(ledger, record, chunk, parts)
        if (traced.outcome === 'accepted' || traced.batches.length > 0 || traced.reason !== undefined)
          runs.push(traced)
      }
      continue
    }
    const chunk = chunks.find(({ first_row, rows }) => first_row <= parts.row && parts.row < first_row + rows)
    if (chunk === undefined) continue
    place ??= { record, chunk }
    runs.push(await traceRun(ledger, record, chunk, parts))
  }
  const [gone] = pruned
  if (place === undefined && gone !== undefined) {
    throw new WaybillError(
      'run-pruned',
      `the export ${latest.name} was read by run ${gone.run}, whose detail was pruned on ${gone.at.slice(0, 10)}`,
    )
  }
  // A pruned run may have delivered the record.
  const known = pruned.length > 0 ? runs : withoutUnknown(runs)
  if (place === undefined) {
    throw new WaybillError(
      'transaction-not-found',
      `the export ${latest.name} was never read as far as row ${parts.row}`,
    )
  }
  if (known.length === 0) {
    throw new WaybillError(
      'transaction-not-found',
      `no run has sent or rejected such a record of row ${parts.row} of ${latest.name}`,
      {
        remedy:
          'Check rule and content in the id: the row may have been skipped, or the record delivered before from another export.',
      },
    )
  }
  const { name, sha256 } = place.record
  const { file: path, origin } = await findRow(ledger, place.record, place.chunk, parts.row)
  return {
    transactionId,
    rule: parts.rule,
    row: parts.row,
    ...present({ origin }),
    export: { name, path, sha256, there: origin !== undefined },
    runs: known,
    pruned,
  }
}

/**
 * Leaves out runs that neither sent nor rejected the record, unless an earlier run had delivered it.
 * @param runs newest first
 */
function withoutUnknown(runs: readonly TracedRun[]): TracedRun[] {
  const first = runs.findLastIndex(({ outcome }) => outcome === 'accepted' || outcome === 'in-doubt')
  return runs.filter(({ outcome }, at) => outcome !== 'unchanged' || at < first)
}

async function traceRun(
  ledger: Ledger,
  record: ExportRecord,
  chunk: ChunkRecord,
  parts: { row: number; rule: string; content: string },
): Promise<TracedRun> {
  const key = { exportRow: record.id, chunk: chunk.number }
  // A reject of a whole row has neither rule nor content.
  const exception = (await ledger.chunks.exceptions(key)).find(
    ({ row, rule, content }) =>
      row === parts.row && (rule === null || (rule === parts.rule && content?.startsWith(parts.content))),
  )
  const sent = await ledger.chunks.batches(key)
  const isIt = ({ row, rule, content }: Held): boolean =>
    row === parts.row && rule === parts.rule && content.startsWith(parts.content)
  const holding = sent.filter((batch) => unpackHolds(batch.holds).some(isIt))
  // A settled batch holds its accepted records; a record that was not accepted names its batch.
  const batches = sent.filter((batch) => holding.includes(batch) || batch.batch_id === exception?.batch_id)
  const settled = holding.some((batch) => batch.state === 'settled') || takenAlone(chunk).some(isIt)
  const failed = outcomeOf(exception)
  const decisions = exception === undefined ? [] : await ledger.left.decisions([exception.id])
  const outcome = failed ?? (settled ? 'accepted' : chunk.state === 'open' ? 'pending' : 'unchanged')
  return {
    run: record.run_id,
    chunk: chunk.number,
    outcome,
    batches: batches.map(tracedBatch),
    decisions: decisions.map(({ event, run, by, note, at }) => ({
      event,
      run,
      ...present({ by, note }),
      at: iso(at),
    })),
    ...present({ reason: exception && reasonOf(exception) }),
  }
}

/** Registrations and requests for medical records, sent without a batch. */
const takenAlone = ({ accepted }: ChunkRecord): Held[] => (accepted === null ? [] : unpackHolds(accepted))

const reasonOf = ({ stage, code, message }: ExceptionRecord) => ({ stage, code, message })

/** Current outcome of an exception. A reject counts as rejected in its run even after a later run settled it. */
export function outcomeOf(exception: ExceptionRecord | undefined): TracedRun['outcome'] | undefined {
  if (exception === undefined || exception.state === 'warning') return undefined
  if (exception.state === 'accepted') return exception.batch_id === null ? 'unchanged' : 'accepted'
  return exception.state === 'settled' ? 'rejected' : exception.state
}

const tracedBatch = (batch: BatchRecord): TracedBatch => ({
  batchId: batch.batch_id,
  kind: batch.kind,
  state: batch.state,
  attempts: batch.attempts,
  answer: batch.answer,
  status: batch.status,
  begunAt: iso(batch.begun_at),
  settledAt: batch.settled_at === null ? null : iso(batch.settled_at),
})

/** Place of the row, if the exact file still exists. */
async function findRow(
  ledger: Ledger,
  record: ExportRecord,
  chunk: ChunkRecord,
  wanted: number,
): Promise<{ file: string; origin?: TracedOrigin }> {
  const mapping = await ledger.exports.mapping(record.mapping_digest)
  const file = mapping && (await fileOf(record))
  const origin = mapping && file && (await rowOf(file, mapping, chunk, wanted))
  return file && origin ? { file, origin } : { file: record.path }
}

/** The exact file that was read, at its first place or in the archive. Undefined if gone or changed. */
export async function fileOf({ path, archived, sha256 }: ExportRecord): Promise<string | undefined> {
  for (const file of [path, archived].flatMap((one) => one ?? [])) {
    const found = await fingerprint(file).catch(() => undefined)
    if (found?.sha256 === sha256) return file
  }
  return undefined
}

/** Reads from the start of the chunk to the row. */
async function rowOf(
  file: string,
  mapping: string,
  chunk: ChunkRecord,
  wanted: number,
): Promise<TracedOrigin | undefined> {
  try {
    const opened = await openExport(file, loadMapping(mapping).read)
    const from = { row: chunk.first_row, line: chunk.first_line, byteOffset: chunk.byte_offset }
    for await (const block of opened.rows(from)) {
      const found = block.find(({ row }) => row === wanted)
      if (found === undefined) continue
      const { line, byteOffset } = found
      return { line, byteOffset, ...present({ sheet: opened.sheet }) }
    }
    return undefined
  } catch (error) {
    if (error instanceof WaybillError) return undefined
    throw error
  }
}

export interface TracedRow {
  readonly export: string
  readonly exportId: string
  readonly row: number
  readonly records: readonly TracedRecord[]
}

interface TracedRecord extends Pick<TracedRun, 'run' | 'outcome' | 'reason'> {
  readonly rule: string | null
  /** Absent if no record was made. */
  readonly transactionId?: string
}

/** A row of the latest export with a name; in a workbook, a row of a sheet. */
export interface RowPlace {
  readonly name: string
  readonly row: number
  readonly sheet?: string
}

export const ROW_PLACE =
  'It must be the name of an export and a row, like acme_20260302.csv:17, or a row of a sheet, like acme.xlsx:Results!17.'

/** Reads `EXPORT:17` or `EXPORT:SHEET!17`; undefined for any other text. */
export function readRowPlace(text: string): RowPlace | undefined {
  const [, name = '', sheet, row = ''] = /^(.+):(?:([^:]+)!)?([1-9]\d{0,8})$/.exec(text) ?? []
  return name === '' ? undefined : { name, row: Number(row), ...(sheet === undefined ? {} : { sheet }) }
}

/**
 * @param name of the export as delivered: selects the latest export of this name
 * @param place ordinal of the row; or the row number in a sheet of a workbook
 * @throws `transaction-not-found`; with a sheet, `export-gone`, or errors of opening the export
 */
export async function traceRow(
  ledger: Ledger,
  name: string,
  place: { readonly row: number; readonly sheet?: string | undefined },
): Promise<TracedRow> {
  const [latest] = await ledger.exports.named(name)
  if (latest === undefined)
    throw new WaybillError('transaction-not-found', `this ledger knows no export ${name}`, {
      remedy: 'Give its name as `waybill show` has it, and the row behind a colon: acme_20260302.csv:17.',
    })
  const row = place.sheet === undefined ? place.row : await ordinalOf(ledger, latest, place.sheet, place.row)
  const traced = await recordsOfRow(ledger, latest, row)
  if (traced.records.length > 0) return traced
  throw new WaybillError(
    'transaction-not-found',
    `no run has sent or rejected anything of row ${row} of ${name}`,
    {
      remedy:
        'The row may have been skipped, or delivered before from another export; or its run was pruned.',
    },
  )
}

/** Ordinal of a row, from its number in a sheet; 0 if no row has the number. */
async function ordinalOf(ledger: Ledger, record: ExportRecord, sheet: string, line: number): Promise<number> {
  const { opened } = await openAgain(ledger, record)
  if (opened.sheet !== sheet) return 0
  for await (const block of opened.rows()) {
    const found = block.find((row) => row.line === line)
    if (found !== undefined) return found.row
  }
  return 0
}

/** Outcomes from all runs that read the export, newest first. */
async function recordsOfRow(
  ledger: Ledger,
  { name, export_id: exportId }: Pick<ExportRecord, 'name' | 'export_id'>,
  row: number,
): Promise<TracedRow> {
  const records = new Map<string, TracedRecord>()
  for (const record of await ledger.exports.withContent(exportId))
    for (const { key, ...one } of await recordsOf(ledger, record, row))
      if (!records.has(key)) records.set(key, one)
  return { export: name, exportId, row, records: [...records.values()] }
}

/** Sent and rejected records of the row in one reading of the export. */
async function recordsOf(
  ledger: Ledger,
  record: ExportRecord,
  row: number,
): Promise<(TracedRecord & { readonly key: string })[]> {
  const found: (TracedRecord & { readonly key: string })[] = []
  for (const chunk of await ledger.chunks.ofExport(record.id)) {
    const { first_row: first, rows, number } = chunk
    if (record.reading === 'whole' && (row < first || row >= first + rows)) continue
    const at = { exportRow: record.id, chunk: number }
    const exceptions = (await ledger.chunks.exceptions(at)).filter(
      (one) => one.row === row && one.state !== 'warning',
    )
    const sent = (await ledger.chunks.batches(at)).flatMap(({ holds }) => unpackHolds(holds))
    const held = [...sent, ...takenAlone(chunk)].filter((one) => one.row === row)
    const made = [...held, ...exceptions.flatMap(madeOf)]
    for (const { rule, content } of made) {
      const { run, outcome, reason } = await traceRun(ledger, record, chunk, { row, rule, content })
      const id = transactionId(record.export_id, row, rule, content)
      found.push({ key: id, rule, transactionId: id, run, outcome, ...present({ reason }) })
    }
    for (const exception of exceptions) {
      const { rule, content, stage, code, message } = exception
      const outcome = outcomeOf(exception)
      if (content !== null || outcome === undefined) continue
      found.push({ key: `${rule}`, rule, run: record.run_id, outcome, reason: { stage, code, message } })
    }
  }
  return found
}

const madeOf = ({ rule, content }: ExceptionRecord): { rule: string; content: string }[] =>
  rule === null || content === null ? [] : [{ rule, content }]

const RUNS_LOOKED_AT = 1_000

export interface TracedPerson {
  /** Newest export first. */
  readonly rows: readonly TracedRow[]
  /** Exports that could not be read again. */
  readonly unread: readonly { readonly export: string; readonly why: string }[]
}

/**
 * @param reference of the person in exports; never stored
 * @throws `ledger-not-found`
 */
export const tracePerson = (application: Application, reference: string): Promise<TracedPerson> =>
  withKnownLedger(application, async (ledger) => {
    const rows: TracedRow[] = []
    const unread: { export: string; why: string }[] = []
    const seen = new Set<string>()
    for (const run of await ledger.runs.list(RUNS_LOOKED_AT))
      for (const record of (await ledger.exports.ofRun(run.id)).toReversed()) {
        if (record.reading !== 'whole' || seen.has(record.export_id)) continue
        seen.add(record.export_id)
        try {
          for await (const row of rowsOf(ledger, record, reference, run.started_at)) {
            const traced = await recordsOfRow(ledger, record, row)
            if (traced.records.length > 0) rows.push(traced)
          }
        } catch (error) {
          if (!(error instanceof WaybillError)) throw error
          unread.push({ export: record.name, why: error.message })
        }
      }
    return { rows, unread }
  })

/** @throws WaybillError if the file is gone or unreadable */
async function openAgain(ledger: Ledger, record: ExportRecord) {
  const mapping = loadMapping(await keptMapping(ledger, record))
  const file = await fileOf(record)
  if (file === undefined) throw new WaybillError('export-gone', `${record.name} is gone or has changed`)
  return { mapping, opened: await openExport(file, mapping.read) }
}

/** Ordinals of the person's rows. @throws WaybillError if the file is gone or unreadable */
async function* rowsOf(
  ledger: Ledger,
  record: ExportRecord,
  reference: string,
  startedAt: number,
): AsyncGenerator<number> {
  const { mapping, opened } = await openAgain(ledger, record)
  const mapper = mapping.compiled.bind(opened.columns, record.name, startedAt, opened.below)
  for await (const block of opened.rows())
    for (const row of block) {
      const outcome = mapper(row)
      if (outcome.outcome === 'mapped' && outcome.account.reference === reference) yield outcome.row
    }
}
