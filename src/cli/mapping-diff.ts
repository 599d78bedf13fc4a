/** `waybill mapping diff`: which records would change if one mapping took the place of another. Prints health data, to the terminal alone. */
import { basename } from 'node:path'
import { type LoadedMapping, readMapping } from '../definitions/definition-files.ts'
import { openExport } from '../extract/open-export.ts'
import {
  createComparison,
  type Difference,
  type DifferenceExample,
  type Reading,
  rowPairs,
} from '../mapping-tools/compare-outcomes.ts'
import { EXIT } from '../model/errors.ts'
import { joinBesideFile } from '../run/joined-exports.ts'
import { n } from '../shown-text.ts'
import type { RowMapper } from '../transform/compile.ts'
import type { Action } from './commands.ts'
import type { CommandContext } from './context.ts'
import { plainTable } from './plain-table.ts'

export const mappingDiff: Action<'mapping diff'> = async (context, options) => {
  const before = await bound(context, options.before, options.sample)
  const after = await bound(context, options.after, options.sample)
  const comparison = createComparison(options.examples)
  for await (const pairs of rowPairs(before, after)) {
    for (const [old, now] of pairs)
      comparison.add(old === undefined ? old : before.map(old), now === undefined ? now : after.map(now))
  }
  const difference = comparison.result()
  context.out(
    options.json
      ? JSON.stringify({ before: options.before, after: options.after, ...difference })
      : differenceText(difference, basename(options.sample)),
  )
  return difference.rows.different === 0 ? EXIT.ok : EXIT.recordsLeftBehind
}

/** A mapping, with what it joins, and an export opened as it reads it. */
export interface Bound extends Reading {
  readonly mapping: LoadedMapping
  readonly map: RowMapper
}

/** @throws WaybillError as `readMapping`, and what opening the export throws */
export async function bound(context: CommandContext, name: string, sample: string): Promise<Bound> {
  const mapping = await joinBesideFile(await readMapping(context.settings, name), sample)
  const opened = await openExport(sample, mapping.read)
  const map = mapping.compiled.bind(opened.columns, basename(sample), context.now())
  return { read: mapping.read, mapping, opened, map }
}

export function differenceText({ rows, outcomes, rules, examples }: Difference, sample: string): string[] {
  if (rows.different === 0) return [`No difference in the ${n(rows.read)} rows of ${sample}.`]
  const lines = [`${n(rows.different)} of the ${n(rows.read)} rows of ${sample} differ.`]
  if (outcomes.length > 0) {
    const changed = outcomes.map((one) => [n(one.rows), one.before, one.after])
    lines.push('', ...plainTable(['rows', 'were', 'are'], changed, 1))
  }
  const counts = Object.entries(rules).map(([rule, { added, removed, changed, reason }]) => [
    rule,
    ...[added, removed, changed, reason].map(n),
  ])
  if (counts.length > 0)
    lines.push('', ...plainTable(['rule', 'added', 'removed', 'changed', 'other reason'], counts))
  if (examples.length > 0) lines.push('', ...examples.flatMap(exampleLines))
  return lines.map((line) => line.trimEnd())
}

const WORDS = {
  added: 'added',
  removed: 'removed',
  changed: 'changed',
  reason: 'rejected otherwise',
  outcome: 'outcome',
} as const satisfies Record<DifferenceExample['change'], string>

function exampleLines({ row, line, rule, change, facts }: DifferenceExample): string[] {
  const all = Object.entries(facts)
  // Of a record that is new or gone, its first fact says enough: value, status, NPI.
  const brief = change === 'added' || change === 'removed'
  const shown = brief ? all.filter(([fact], at) => at === 0 || fact === 'rejected') : all
  return [
    `row ${row}, line ${line}: ${rule === null ? '' : `${rule} `}${WORDS[change]}`,
    ...shown.map(([fact, [old, now]]) => `    ${fact}: ${old ?? '(none)'} → ${now ?? '(none)'}`),
  ]
}
