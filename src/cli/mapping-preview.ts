/** `waybill mapping preview`: rows of an export as records. It prints health data, to the terminal or to a page, and nowhere else. */
import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fingerprint } from '../extract/content.ts'
import { recordText } from '../load/batches.ts'
import { type PreviewedRow, previewPage, previewRow, previewText } from '../mapping-tools/preview.ts'
import type { RowOutcome } from '../model/entry.ts'
import { createEntries } from '../model/entry.ts'
import { EXIT } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { knownIdentity } from '../runs/application.ts'
import { watchFit } from '../runs/doubtful-mappings.ts'
import type { Action } from './commands.ts'
import { fitLines, isSuspicious, suspicionLines } from './fit-text.ts'
import { bound } from './mapping-diff.ts'

export const mappingPreview: Action<'mapping preview'> = async (context, options) => {
  const { mapping, opened, map } = await bound(context, options.mapping, options.sample)
  const { exportId } = await fingerprint(options.sample)
  const identity = await knownIdentity(context)
  const previewed: PreviewedRow[] = []
  const limit = options.row === undefined ? options.limit : 1
  const { html } = options
  if (html === undefined && options.json === undefined)
    context.err('What follows is health data of persons; nothing is sent.')
  const fit = await watchFit(context.settings, mapping, opened.columns)
  let shown = 0
  read: for await (const block of opened.rows()) {
    for (const row of block) {
      if (options.row !== undefined && row.row !== options.row) continue
      const outcome = map(row)
      fit.add(outcome)
      if (shown >= limit) {
        if (row.row >= ROWS_JUDGED) break read
        continue
      }
      const seen = previewRow(row, opened.columns, outcome)
      if (html !== undefined) previewed.push(seen)
      else if (options.json) context.out(JSON.stringify(asJson(identity, exportId, outcome)))
      else {
        const written = options.full ? [recordsOf(identity, exportId, outcome)] : []
        context.out(previewText(seen, ...written))
      }
      shown++
      if (options.row !== undefined) break read
    }
  }
  if (html !== undefined) {
    // For its owner alone, as rejects files are.
    await writeFile(html, previewPage(mapping.name, basename(options.sample), previewed), { mode: 0o600 })
    context.out(`${html} was written. It holds health data of persons: keep it where the export may be kept.`)
  }
  if (options.row !== undefined && shown === 0)
    context.err(`${basename(options.sample)} has no row ${options.row}.`)
  if (shown === 0) return EXIT.wrongUse
  if (options.row !== undefined) return EXIT.ok
  // A page and JSON lines hold rows alone.
  const report = fit.report()
  if (html === undefined && options.json === undefined) context.out(fitLines(report))
  else for (const line of suspicionLines(report.suspicions)) context.err(line)
  return isSuspicious(report) ? EXIT.recordsLeftBehind : EXIT.ok
}

/** Rows beyond those shown that are looked at for the fit report. */
const ROWS_JUDGED = 20_000

/** Records as they would be sent, byte for byte; the batch id is known only when batches are cut. */
function recordsOf(identity: Identity, exportId: string, outcome: RowOutcome): string[] {
  if (outcome.outcome !== 'mapped') return []
  return createEntries(identity, exportId, outcome).map((entry) => recordText(entry, '(batch)'))
}

function asJson(identity: Identity, exportId: string, outcome: RowOutcome): object {
  const { row, line } = outcome
  const rejected = outcome.outcome === 'mapped' ? outcome.rejected : []
  const issue = outcome.outcome === 'rejected' ? { issue: outcome.issue } : {}
  return {
    row,
    line,
    outcome: outcome.outcome,
    records: recordsOf(identity, exportId, outcome).map((text) => JSON.parse(text) as unknown),
    rejected,
    ...issue,
  }
}
