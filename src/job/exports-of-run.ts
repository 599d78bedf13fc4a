/** The exports that a run goes through: new ones, written down as they come, or those that an earlier process left open. */
import { WaybillError } from '../errors.ts'
import { fingerprint } from '../extract/fingerprint.ts'
import type { ExportRecord, Ledger, RunLedger, RunRecord } from '../ledger/ledger.ts'
import { type LoadedMapping, loadMapping } from './definition-files.ts'
import type { FoundSource } from './find-exports.ts'
import type { RunEvents } from './run-events.ts'
import { isExportProblem } from './run-export.ts'

/** An export of the run, with the mapping to read it by. */
export interface ExportStep {
  readonly record: ExportRecord
  readonly mapping: LoadedMapping
}

/** New exports: fingerprint, write down, run. */
export async function* startExports(
  run: RunWriter,
  sources: readonly FoundSource[],
  mappings: ReadonlyMap<string, LoadedMapping>,
): AsyncGenerator<ExportStep> {
  for (const [at, source] of sources.entries()) {
    const mapping = mappings.get(source.mapping)
    if (mapping === undefined)
      throw new WaybillError('mapping-not-found', `there is no mapping ${source.mapping}`)
    const start = { ordinal: at + 1, name: source.name, path: source.path, mapping }
    try {
      const print = await fingerprint(source.path)
      yield { record: await run.runLedger.addExport({ ...start, ...print }), mapping }
    } catch (error) {
      if (!isExportProblem(error)) throw error
      const record = await run.runLedger.addExport({ ...start, exportId: '', sha256: '', bytes: 0 })
      await run.runLedger.endExport(record.id, 'failed', error.code)
      run.events.exportFailed(source.name, error)
    }
  }
}

/** Exports that an earlier process left open, read by the mapping that it had. */
export async function* resumeExports(
  run: RunWriter,
  ledger: Ledger,
  unfinished: RunRecord,
): AsyncGenerator<ExportStep> {
  for (const record of await ledger.exportsOf(unfinished.id)) {
    if (record.state !== 'open') continue
    const content = await ledger.mapping(record.mapping_digest)
    if (content === undefined)
      throw new WaybillError('mapping-not-found', `the ledger has lost the mapping of ${record.name}`)
    const print = await fingerprint(record.path)
    if (print.sha256 !== record.sha256) {
      throw new WaybillError(
        'export-changed',
        `${record.path} is not the file that run ${run.id} began with`,
        {
          remedy: `Put the file with the SHA-256 ${record.sha256} back: what was in flight can only be settled with it.`,
        },
      )
    }
    yield { record, mapping: loadMapping(content) }
  }
}

interface RunWriter {
  readonly id: string
  readonly runLedger: RunLedger
  readonly events: RunEvents
}

/** Those whose content was not part of the run that was just finished. */
export async function withoutContents(
  found: readonly FoundSource[],
  contents: ReadonlySet<string>,
): Promise<FoundSource[]> {
  const others: FoundSource[] = []
  for (const source of found) {
    // One that cannot be read stays: the run says what is wrong with it.
    const sha256 = await fingerprint(source.path).then(
      (print) => print.sha256,
      () => undefined,
    )
    if (sha256 === undefined || !contents.has(sha256)) others.push(source)
  }
  return others
}
