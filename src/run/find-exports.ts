/** The exports of a run: those that the job's patterns find, complete ones only, or the files that were named. */

import { basename, resolve } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { expectationKey, type JobSource } from '../definitions/export-definition.ts'
import { compilePattern, matchExportName } from '../extract/sources/source.ts'
import { WaybillError } from '../model/errors.ts'
import type { Arrival } from './arrival.ts'
import { ANY_RULES, type FoundDelivery } from './found-delivery.ts'
import type { RejectsOrigin } from './rejects.ts'
import { rejectsOrigin } from './rejects-export.ts'
import type { ExpectedSize } from './small-exports.ts'

/** A delivery with the mapping that its exports are read by. */
export interface FoundExport extends FoundDelivery {
  readonly mapping: string
  /** Of a rejects file: the export that its rows came from. */
  readonly rejects?: RejectsOrigin
  /** Where the job says below which size it is strangely small. */
  readonly sized?: ExpectedSize
}

/**
 * In the order of the job's sources, oldest first within each.
 * @throws WaybillError `export-unreadable` (a folder that is not there), `source-unreachable`, `source-untrusted`, `usage-wrong` (a named
 *   file that fits no source)
 */
export async function findExports(
  arrival: Arrival,
  job: Job,
  files: readonly string[],
  now: number,
): Promise<FoundExport[]> {
  if (files.length > 0) {
    return Promise.all(
      files.map(async (file) => {
        const rejects = await rejectsOrigin(resolve(file))
        const source = sourceOf(job, rejects === undefined ? file : deliveredName(rejects.name))
        const found = arrival.named(resolve(file), rejects === undefined ? source : ANY_RULES)
        return { ...found, mapping: source.mapping, ...(rejects === undefined ? {} : { rejects }) }
      }),
    )
  }
  const found: FoundExport[] = []
  for (const source of job.sources) {
    for (const delivery of await arrival.find(source, now))
      found.push({
        ...delivery,
        mapping: source.mapping,
        ...(delivery.refused === undefined ? sizedBy(job, source) : {}),
      })
  }
  return found
}

function sizedBy({ definition }: Job, source: JobSource): Pick<FoundExport, 'sized'> {
  const { expect } = source
  if (expect?.size === undefined) return {}
  return { sized: { share: expect.size, key: expectationKey(definition.job, source, expect) } }
}

export const noneFound = ({ definition: { job }, sources }: Job): WaybillError =>
  new WaybillError(
    'exports-none',
    `the job ${job} found no exports (${sources.map(({ from, match }) => `${from}/${match}`).join(', ')})`,
  )

/** Of `archive.zip!member.csv` the archive. */
const deliveredName = (name: string): string => name.replace(/!.*$/, '')

/** The source whose pattern the name fits; the only source there is, whatever the name. */
function sourceOf(job: Job, file: string): JobSource {
  const [only] = job.sources
  if (only !== undefined && job.sources.length === 1) return only
  const fitting = job.sources.find(
    ({ match }) => matchExportName(compilePattern(match), basename(file)) !== undefined,
  )
  if (fitting !== undefined) return fitting
  const patterns = job.sources.map(({ match }) => match).join(', ')
  throw new WaybillError(
    'usage-wrong',
    `${file} fits none of the patterns of the job (${patterns}), so its mapping is not known`,
    {
      remedy: 'Name the file so that it fits a pattern, or make a job of one source for it.',
    },
  )
}
