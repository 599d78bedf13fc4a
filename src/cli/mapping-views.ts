/** Mappings for the console: the comparison of `mapping diff`, and the rows of `mapping preview`. */
import { diff } from 'node:util'
import { createComparison, rowPairs } from '../../packages/mapping-tools/src/compare-outcomes.ts'
import { type PreviewedRow, previewRow, rowHtml } from '../../packages/mapping-tools/src/preview.ts'
import type { MappingViews } from '../console/mapping-page.ts'
import type { LoadedMapping } from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/content.ts'
import { openExport } from '../extract/open-export.ts'
import type { ReceivedExport } from '../run/arrival.ts'
import { type Application, knownIdentity } from '../runs/application.ts'
import { withMappingSample } from '../runs/mapping-samples.ts'
import { type Bound, bound, previewJson } from './mapping-check.ts'

/** Rows to compare at most: a page does not wait for a whole large export. */
const ROWS_COMPARED = 20_000

const SURROUNDING = 3

export const MAPPING_VIEWS: MappingViews = {
  compare: (application, mapping, exportRow) =>
    withMappingSample(application, exportRow, async ({ sample, kept }) => {
      const before = await boundKept(application, kept, sample)
      const after = await bound(application, mapping, sample)
      const comparison = createComparison(0)
      let read = 0
      compare: for await (const pairs of rowPairs(before, after))
        for (const [old, now] of pairs) {
          if (read++ >= ROWS_COMPARED) break compare
          comparison.add(old === undefined ? old : before.map(old), now === undefined ? now : after.map(now))
        }
      const { rows, outcomes, rules } = comparison.result()
      return { rows, outcomes, rules }
    }),
  preview: (application, mapping, exportRow, most) =>
    withMappingSample(application, exportRow, async ({ sample }) => {
      const { opened, map } = await bound(application, mapping, sample)
      const { exportId } = await fingerprint(sample.file, application.interrupt)
      const identity = await knownIdentity(application)
      const shown: PreviewedRow[] = []
      const json: object[] = []
      read: for await (const block of opened.rows())
        for (const row of block) {
          if (shown.length >= most) break read
          const outcome = map(row)
          shown.push(previewRow(row, opened.columns, outcome))
          json.push(previewJson(identity, exportId, outcome))
        }
      return { export: sample.name, json: { rows: json }, html: shown.map((row) => rowHtml(row)).join('\n') }
    }),
  changes(before, now) {
    if (before === now) return []
    const lines = diff(before.trimEnd().split('\n'), now.trimEnd().split('\n'))
    const sides = lines.map(
      ([side, text]) => ({ side: side > 0 ? '-' : side < 0 ? '+' : ' ', text }) as const,
    )
    return sides.filter((_, at) =>
      sides.slice(Math.max(0, at - SURROUNDING), at + SURROUNDING + 1).some(({ side }) => side !== ' '),
    )
  },
}

async function boundKept(
  { now }: Pick<Application, 'now'>,
  mapping: LoadedMapping,
  { name, file, limits }: ReceivedExport,
): Promise<Bound> {
  const opened = await openExport(file, mapping.read, limits)
  return {
    read: mapping.read,
    mapping,
    opened,
    map: mapping.compiled.bind(opened.columns, name, now(), opened.below),
  }
}
