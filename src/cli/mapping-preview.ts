/** `waybill mapping preview`: rows of an export as records. It prints health data, to the terminal alone. */
import { basename } from 'node:path'
import { EXIT } from '../errors.ts'
import { fingerprint } from '../extract/fingerprint.ts'
import { openExport } from '../extract/open-export.ts'
import type { Row } from '../extract/row.ts'
import { readMapping } from '../job/definition-files.ts'
import { createEntries } from '../load/entry.ts'
import type { Identity } from '../load/identity.ts'
import { recordText } from '../load/record-text.ts'
import type { RowOutcome } from '../transform/record.ts'
import type { Action } from './context.ts'

export interface MappingPreviewOptions {
  readonly mapping: string
  readonly sample: string
  readonly row?: number
  readonly limit: number
  readonly json?: true
}

export const mappingPreview: Action<MappingPreviewOptions> = async (context, options) => {
  const mapping = await readMapping(context.settings, options.mapping)
  const { exportId } = await fingerprint(options.sample)
  const opened = await openExport(options.sample, mapping.read)
  const mapper = mapping.compiled.bind(opened.columns, basename(options.sample))
  const identity = await context.identity()
  let shown = 0
  for await (const block of opened.rows()) {
    for (const row of block) {
      if (options.row !== undefined && row.row !== options.row) continue
      const outcome = mapper(row)
      context.out(
        options.json
          ? `${JSON.stringify(asJson(identity, exportId, outcome))}\n`
          : asText(identity, exportId, row, opened.columns, outcome),
      )
      shown++
      if (shown >= (options.row === undefined ? options.limit : 1)) return EXIT.ok
    }
  }
  if (options.row !== undefined && shown === 0)
    context.err(`${basename(options.sample)} has no row ${options.row}.\n`)
  return shown > 0 ? EXIT.ok : EXIT.wrongUse
}

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

function asText(
  identity: Identity,
  exportId: string,
  row: Row,
  columns: readonly string[] | undefined,
  outcome: RowOutcome,
): string {
  const lines = [`── row ${row.row}, line ${row.line}: ${outcome.outcome}`]
  if (row.kind === 'cells') {
    for (const [at, cell] of row.cells.entries())
      if (cell !== '') lines.push(`   ${columns?.[at] ?? at}: ${cell}`)
  } else lines.push(`   ${row.text.length > 2000 ? `${row.text.slice(0, 2000)}…` : row.text}`)
  if (outcome.outcome === 'rejected') lines.push(`   ✗ ${outcome.issue.code}: ${outcome.issue.message}`)
  if (outcome.outcome === 'skipped') lines.push(`   left out: ${outcome.reason}`)
  for (const record of recordsOf(identity, exportId, outcome)) lines.push(`   → ${record}`)
  if (outcome.outcome === 'mapped') {
    for (const { rule, issue } of outcome.rejected)
      lines.push(`   ✗ ${rule}: ${issue.code}: ${issue.message}`)
  }
  return `${lines.join('\n')}\n\n`
}
