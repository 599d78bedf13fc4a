/** Mappings of today beside exports that runs have read with them. */
import {
  definitionsIn,
  type LoadedMapping,
  mappingTextIn,
  readMapping,
} from '../definitions/definition-files.ts'
import { type ErrorCode, WaybillError } from '../model/errors.ts'
import type { ReceivedExport } from '../run/arrival.ts'
import { keptMapping, rejoin } from '../run/joined-exports.ts'
import { iso } from '../system/shown-text.ts'
import { type Application, withKnownLedger, withLedgerIfAny } from './application.ts'
import { sourceSettings } from './connect-gateway.ts'
import { withSample } from './sample.ts'
import { listJobs } from './scheduled-jobs.ts'
import { fileOf } from './trace.ts'

interface ListedMapping {
  readonly mapping: string
  readonly jobs: readonly string[]
  /** Error code of a mapping that cannot be used. */
  readonly problem?: ErrorCode
}

/** Mappings of the folder, sorted. */
export async function listMappings({
  settings,
}: Pick<Application, 'settings'>): Promise<readonly ListedMapping[]> {
  const jobs = await listJobs(settings).catch(() => [])
  const names = [...new Set(await definitionsIn(settings.mappings))].sort()
  return Promise.all(
    names.map(async (mapping) => {
      const using = jobs.filter(({ job }) => job?.sources.some((source) => source.mapping === mapping))
      const problem = await readMapping(settings, mapping).then(() => undefined, codeOfProblem)
      return { mapping, jobs: using.map(({ name }) => name), ...(problem === undefined ? {} : { problem }) }
    }),
  )
}

function codeOfProblem(error: unknown): ErrorCode {
  if (error instanceof WaybillError) return error.code
  throw error
}

/** An export that a run has read with a mapping. */
export interface MappingSample {
  readonly exportRow: number
  readonly export: string
  readonly run: string
  readonly job: string
  readonly startedAt: string
}

const RUNS_LOOKED_AT = 50

/** Exports that runs have read with the mapping, each content once, newest first. */
export const readSamples = (application: Application, mapping: string): Promise<readonly MappingSample[]> =>
  withLedgerIfAny(application, async (ledger) => {
    const found: MappingSample[] = []
    const contents = new Set<string>()
    for (const { id, job, started_at: startedAt } of (await ledger?.runs.list(RUNS_LOOKED_AT)) ?? []) {
      for (const record of ((await ledger?.exports.ofRun(id)) ?? []).toReversed()) {
        if (record.mapping !== mapping || record.reading !== 'whole' || contents.has(record.export_id))
          continue
        contents.add(record.export_id)
        found.push({ exportRow: record.id, export: record.name, run: id, job, startedAt: iso(startedAt) })
      }
      if (found.length >= SAMPLES_LISTED) break
    }
    return found.slice(0, SAMPLES_LISTED)
  })

/** Differences between the outcomes of two mappings for one export: counts, no values. */
export interface ComparedOutcomes {
  readonly rows: { readonly read: number; readonly different: number }
  readonly outcomes: readonly { readonly before: string; readonly after: string; readonly rows: number }[]
  readonly rules: Readonly<
    Record<
      string,
      { readonly added: number; readonly removed: number; readonly changed: number; readonly reason: number }
    >
  >
}

/** Compares the mapping of the export's run with the mapping of today. @throws `export-gone`, `mapping-invalid` … */
export type Compare = (
  application: Application,
  mapping: string,
  exportRow: number,
) => Promise<ComparedOutcomes>

interface MappingView {
  readonly mapping: string
  readonly file: string
  readonly sample: MappingSample | null
  readonly samples: readonly MappingSample[]
  /** Effect of the changes since the run of the sample. */
  readonly compared: ComparedOutcomes | undefined
  /** Error that kept the mappings from being compared. */
  readonly problem: WaybillError | undefined
}

/** Exports to choose from. */
const SAMPLES_LISTED = 10

/** @param asked number of the sample; undefined, or of none: the latest. @throws as `mappingTexts` */
export async function viewMapping(
  application: Application,
  compare: Compare,
  mapping: string,
  asked: number | undefined,
): Promise<{ readonly view: MappingView; readonly now: string; readonly before: string | undefined }> {
  const samples = await readSamples(application, mapping)
  const sample = samples.find(({ exportRow }) => exportRow === asked) ?? samples[0]
  const { file, now, before } = await mappingTexts(application, mapping, sample?.exportRow)
  const found = sample && (await compare(application, mapping, sample.exportRow).catch(onlyKnown))
  const isProblem = found instanceof WaybillError
  const compared = isProblem ? undefined : found
  const problem = isProblem ? found : undefined
  return { view: { mapping, file, sample: sample ?? null, samples, compared, problem }, now, before }
}

function onlyKnown(error: unknown): WaybillError {
  if (error instanceof WaybillError) return error
  throw error
}

interface SampleWithMapping {
  readonly sample: ReceivedExport
  readonly kept: LoadedMapping
}

/**
 * Receives the export of a run again, if the exact file is still there.
 * @throws `export-gone`, and as `withSample`
 */
export async function withMappingSample<Result>(
  application: Application,
  exportRow: number,
  use: (found: SampleWithMapping) => Promise<Result>,
): Promise<Result> {
  const { record, content } = await withKnownLedger(application, async (ledger) => {
    const record = await ledger.exports.find(exportRow)
    if (record === undefined)
      throw new WaybillError('export-gone', `the ledger has no export ${exportRow}: it was pruned`)
    return { record, content: await keptMapping(ledger, record) }
  })
  const file = await fileOf(record)
  if (file === undefined) throw new WaybillError('export-gone', `${record.name} is gone or has changed`)
  return withSample(sourceSettings(application), file, undefined, async (sample) => {
    const kept = await rejoin(content, record.name, async () => undefined, sample.beside)
    return use({ sample: { ...sample, name: record.name }, kept })
  })
}

/**
 * Texts of the mapping: of today, and as the latest run has read an export with it; undefined without such a run.
 * @throws `mapping-not-found` for anything but a name in the folder, and as `readMapping`
 */
async function mappingTexts(
  application: Application,
  mapping: string,
  sample: number | undefined,
): Promise<{ readonly file: string; readonly now: string; readonly before: string | undefined }> {
  if (!(await definitionsIn(application.settings.mappings)).includes(mapping))
    throw new WaybillError('mapping-not-found', 'there is no such mapping in the folder')
  const before =
    sample === undefined
      ? undefined
      : await withKnownLedger(application, async (ledger) => {
          const record = await ledger.exports.find(sample)
          const content = record && (await ledger.exports.mapping(record.mapping_digest))
          return content === undefined ? undefined : mappingTextIn(content)
        })
  const { file, content } = await readMapping(application.settings, mapping)
  return { file, now: mappingTextIn(content), before }
}
