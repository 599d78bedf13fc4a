/** The exports of a run: those that the job's patterns find, complete ones only, or the files that were named. */
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { WaybillError } from '../errors.ts'
import { compilePattern, discoverExports, matchExportName } from '../extract/discover.ts'
import type { Job } from './definition-files.ts'

export interface FoundSource {
  readonly path: string
  readonly name: string
  readonly mapping: string
}

/**
 * In the order of the job's sources, oldest first within each.
 * @throws WaybillError `export-unreadable` (a folder that is not there), `usage-wrong` (a named file that fits no source)
 */
export async function findExports(job: Job, files: readonly string[], now: number): Promise<FoundSource[]> {
  if (files.length > 0)
    return files.map((file) => ({ path: resolve(file), name: basename(file), mapping: mappingOf(job, file) }))
  const found: FoundSource[] = []
  for (const { from, match, mapping, stableForMs } of job.sources) {
    for (const { path, name } of await discoverExports({ from, match })) {
      const { mtimeMs } = await stat(path)
      if (now - mtimeMs >= stableForMs) found.push({ path, name, mapping })
    }
  }
  return found
}

/** The mapping of the source whose pattern the name fits; of the only source there is, whatever the name. */
function mappingOf(job: Job, file: string): string {
  const [only] = job.sources
  if (only !== undefined && job.sources.length === 1) return only.mapping
  const fitting = job.sources.find(
    ({ match }) => matchExportName(compilePattern(match), basename(file)) !== undefined,
  )
  if (fitting !== undefined) return fitting.mapping
  const patterns = job.sources.map(({ match }) => match).join(', ')
  throw new WaybillError(
    'usage-wrong',
    `${file} fits none of the patterns of the job (${patterns}), so its mapping is not known`,
    {
      remedy: 'Name the file so that it fits a pattern, or make a job of one source for it.',
    },
  )
}
