/**
 * Watches one export for drift: ahead of the run as far as the job may stop for it, else while its rows are mapped.
 * The columns of a CSV stand in its header, and are always compared first; medians and rejects show in its first rows.
 * Everything else needs the whole export: it is read ahead only where the job asks for a stop, as that is one more reading
 * of it.
 */
import type { LoadedMapping } from '../definitions/definition-files.ts'
import { comparesDrift, type DriftDefinition } from '../definitions/job-definition.ts'
import type { OpenExport } from '../extract/open-export.ts'
import type { Ledger, RunLedger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { isTable } from '../model/row.ts'
import type { ChunkRow } from './chunks.ts'
import {
  columnDrift,
  type DriftFinding,
  type EarlierDelivery,
  pathDrift,
  rowDrift,
  valueDrift,
} from './drift.ts'
import { createProfiler, ExportProfile, type Profiler, ROWS_SAMPLED } from './export-profile.ts'
import { fitFindings, measureDrift, outcomeDrift } from './measure-drift.ts'
import { swappedDrift } from './swapped-drift.ts'

/** Finished deliveries that an export is compared with. */
export const DELIVERIES_COMPARED = 20

/** What an export is compared with, and how. */
export interface DriftMemory {
  readonly job: string
  readonly rules: DriftDefinition
  readonly ledger: Pick<Ledger, 'profiles' | 'isProfiled' | 'expectations' | 'lastEnd'>
  /** Exports are taken as they are. */
  readonly accept: boolean
  /** Whether an export may be stopped for what is found, and is read ahead for it; else that is told alone. */
  readonly mayStop: boolean
  /** False where only some rows are taken: a part can be compared by its columns alone, and is not remembered. */
  readonly whole: boolean
  readonly now: number
}

export interface DriftWatch {
  /**
   * Reads as far as must be before anything of the export is sent. To be called first.
   * @returns number of rows, where the whole was read
   * @throws WaybillError `columns-missing`, or what is wrong with the export
   */
  readAhead(opened: OpenExport, exportName: string): Promise<number | undefined>
  /**
   * Of an export that an earlier process has begun, instead: the rows that are settled, which nobody maps any more.
   * @param rows how many of them
   */
  catchUp(opened: OpenExport, exportName: string, rows: number): Promise<void>
  /** @throws WaybillError `export-drifted` where what was read ahead differs by more than the job allows */
  assertAllowed(exportName: string, path: string): void
  /** Adds what was found elsewhere. */
  note(finding: DriftFinding): void
  /** Writes down what was read ahead. */
  begin(runLedger: RunLedger, exportRow: number): Promise<void>
  /** Every row, as it is mapped. */
  look(rows: readonly Pick<ChunkRow, 'source' | 'outcome'>[]): void
  /** After the last row: all that was found. */
  compare(): readonly DriftFinding[]
  /** After the last row: writes down what was found on the way. @returns all that was found */
  end(runLedger: RunLedger, exportRow: number): Promise<readonly DriftFinding[]>
}

/** Undefined where there is nothing to compare: the job does not want it, or this very content was delivered before. */
export async function watchDrift(
  memory: DriftMemory,
  mapping: LoadedMapping,
  sha256: string,
): Promise<DriftWatch | undefined> {
  const { job, rules, ledger } = memory
  if (!comparesDrift(rules)) return undefined
  const key = { job, mapping: mapping.name }
  if (await ledger.isProfiled(key, sha256)) return undefined
  const profiles = await ledger.profiles(key, DELIVERIES_COMPARED)
  const earlier = profiles.map(({ accepted, content }): EarlierDelivery => {
    return { accepted, profile: ExportProfile.parse(JSON.parse(content)) }
  })
  return createWatch(memory, mapping, sha256, earlier)
}

function createWatch(
  memory: DriftMemory,
  mapping: LoadedMapping,
  sha256: string,
  earlier: readonly EarlierDelivery[],
): DriftWatch {
  const { job, rules, accept, whole } = memory
  const isCsv = isTable(mapping.read.format)
  let profiler: Profiler | undefined
  /** Whether all rows were read ahead. */
  let complete = false
  let found: readonly DriftFinding[] = []
  const noted: DriftFinding[] = []

  const judge = (profile: ExportProfile, all: boolean): void => {
    const columns = isCsv
      ? columnDrift(profile, earlier, rules)
      : all
        ? pathDrift(profile, earlier, rules)
        : []
    const values = all
      ? [
          ...outcomeDrift(profile, earlier, rules),
          ...valueDrift(profile, earlier, rules),
          ...measureDrift(profile, earlier, rules),
          ...swappedDrift(profile, earlier, rules),
          ...fitFindings(profiler?.suspicions() ?? [], rules.fit),
        ]
      : []
    const drifted = [...noted, ...columns, ...values]
    found = accept
      ? drifted.map((one) => (one.level === 'stop' ? { ...one, level: 'accepted' } : one))
      : drifted
  }
  /** Of the first rows. @param exportName undefined: their columns alone matter */
  const profilerOf = async (
    opened: OpenExport,
    most: number,
    exportName: string | undefined,
  ): Promise<Profiler> => {
    const profiler = createProfiler(mapping, opened.columns)
    const mapper = exportName && mapping.compiled.bind(opened.columns, exportName, memory.now)
    let left = most
    if (left === 0) return profiler
    for await (const block of opened.rows()) {
      for (const row of block.slice(0, left)) profiler.add(row, mapper ? mapper(row) : undefined)
      left -= block.length
      if (left <= 0) break
    }
    return profiler
  }
  const save = async (runLedger: RunLedger, exportRow: number): Promise<void> => {
    if (profiler === undefined || !whole) return
    const content = JSON.stringify(profiler.profile())
    const accepted = accept && found.length > 0
    await runLedger.saveProfile(exportRow, { job, mapping: mapping.name, sha256, accepted, content })
  }
  const note = async (runLedger: RunLedger, exportRow: number): Promise<void> => {
    if (found.length > 0) await runLedger.noteDrift(exportRow, JSON.stringify(found))
  }

  return {
    async readAhead(opened, exportName) {
      const extent = extentOf(memory, isCsv, earlier.length)
      if (extent === 'values') {
        profiler = await profilerOf(opened, Number.POSITIVE_INFINITY, exportName)
        complete = true
        const profile = profiler.profile()
        judge(profile, true)
        return profile.rows
      }
      profiler = createProfiler(mapping, opened.columns)
      judge(profiler.profile(), false)
      if (found.length > 0) {
        // Columns that the mapping reads and the export lacks have an error of their own.
        mapping.compiled.bind(opened.columns, exportName, memory.now)
        // With what their first values look like, by which renamed columns are known.
        judge((await profilerOf(opened, ROWS_SAMPLED, undefined)).profile(), false)
      }
      if (stopsForHead(memory, earlier.length)) {
        const head = (await profilerOf(opened, ROWS_AHEAD, exportName)).profile()
        found = [...found, ...measureDrift(head, earlier, rules).filter(({ level }) => level === 'stop')]
      }
      if (extent === 'header') return undefined
      let rows = 0
      for await (const block of opened.rows()) rows += block.length
      found = [...found, ...rowDrift(rows, earlier, rules)]
      return rows
    },
    async catchUp(opened, exportName, rows) {
      profiler = await profilerOf(opened, rows, exportName)
    },
    assertAllowed(exportName, path) {
      const stops = memory.mayStop ? found.filter(({ level }) => level === 'stop') : []
      if (stops.length === 0) return
      const findings = stops.map(({ measure, message }) => ({ place: {}, message: `${measure}: ${message}` }))
      const told = findings.slice(0, FINDINGS_TOLD).map(({ message }) => message)
      const rest = findings.length - told.length
      throw new WaybillError(
        'export-drifted',
        `${exportName} differs from earlier deliveries by more than the job allows: ${told.join('; ')}${rest === 0 ? '' : `; and ${rest} more`}`,
        { place: { file: path }, findings },
      )
    },
    note(finding) {
      noted.push(finding)
      found = [...found, finding]
    },
    async begin(runLedger, exportRow) {
      if (complete) await save(runLedger, exportRow)
      await note(runLedger, exportRow)
    },
    look(rows) {
      if (complete || !whole) return
      for (const { source, outcome } of rows) profiler?.add(source, outcome)
    },
    compare() {
      if (!complete && whole && profiler !== undefined) judge(profiler.profile(), true)
      // What the first rows did not show has not stopped it.
      if (!complete && memory.mayStop)
        found = found.map((one) => (one.level === 'stop' ? { ...one, level: 'warn' } : one))
      return found
    },
    async end(runLedger, exportRow) {
      if (complete) return found
      this.compare()
      await save(runLedger, exportRow)
      await note(runLedger, exportRow)
      return found
    },
  }
}

/** Findings that the message of an error tells; the ledger has all of them. */
const FINDINGS_TOLD = 10

/** Rows by which medians and rejects are judged before anything is sent: enough for a median, and soon read. */
const ROWS_AHEAD = 2_000

function stopsForHead({ mayStop, accept, whole, rules }: DriftMemory, deliveries: number): boolean {
  const stops = Number.isFinite(rules.values.stop) || Number.isFinite(rules.rejects.stop)
  return stops && mayStop && !accept && whole && deliveries >= rules.after
}

/** How far an export must be read before the job can know that it may be sent. */
function extentOf(
  { rules, mayStop, accept, whole }: DriftMemory,
  isCsv: boolean,
  deliveries: number,
): 'header' | 'rows' | 'values' {
  if (!mayStop || accept || !whole) return 'header'
  if (rules.fit === 'stop') return 'values'
  if (deliveries < rules.after) return 'header'
  const stops = ({ stop }: { readonly stop: number }): boolean => Number.isFinite(stop)
  if (stops(rules.empty) || stops(rules.mix) || stops(rules.skipped) || (!isCsv && rules.columns === 'stop'))
    return 'values'
  return stops(rules.rows) ? 'rows' : 'header'
}
