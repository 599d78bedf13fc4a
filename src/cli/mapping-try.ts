/**
 * Trials of mappings: `waybill mapping test` runs their cases, `diff` compares two mappings, `preview` shows rows as records. `diff` and `preview`
 * print health data, to the terminal or to a page, and nowhere else.
 */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { diff } from 'node:util'
import { stringify } from 'yaml'
import {
  createComparison,
  type Difference,
  type DifferenceExample,
  type Reading,
  rowPairs,
} from '../../packages/mapping-tools/src/compare-outcomes.ts'
import {
  type PreviewedRow,
  previewPage,
  previewRow,
  previewText,
} from '../../packages/mapping-tools/src/preview.ts'
import {
  type CaseResult,
  keepGiven,
  parseCases,
  runCases,
  textReader,
  updateCases,
} from '../../packages/mapping-tools/src/run-cases.ts'
import { type DefinitionFolders, type LoadedMapping, readMapping } from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/content.ts'
import { openExport } from '../extract/open-export.ts'
import { recordText } from '../load/batch-text.ts'
import { createEntries, type RowOutcome } from '../model/entry.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { ReceivedExport } from '../run/arrival.ts'
import { joinExports } from '../run/joined-exports.ts'
import { knownIdentity } from '../runs/application.ts'
import { sourceSettings } from '../runs/connect-gateway.ts'
import { watchFit } from '../runs/doubtful-mappings.ts'
import { withSample } from '../runs/sample.ts'
import { writeOwn } from '../system/own-files.ts'
import { n, shellWord } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import type { RowMapper } from '../transform/compile.ts'
import type { CommandContext } from './command-form.ts'
import type { Action, Options } from './commands.ts'
import { fitLines, isSuspicious, suspicionLines } from './fit-text.ts'
import { casesFile, mappingsMeant, readCasesText } from './mapping-check.ts'

interface LocatedResult extends CaseResult {
  readonly line: number | undefined
}

interface Tested {
  readonly mapping: LoadedMapping
  readonly results: readonly LocatedResult[]
  readonly updated: boolean
}

export const mappingTest: Action<'mapping test'> = async (context, options) => {
  const tested: Tested[] = []
  for (const name of await mappingsMeant(context.settings, options.mappings)) {
    const mapping = await readMapping(context.settings, name)
    const one = await testMapping(mapping, options.update === true)
    if (one !== undefined) tested.push(one)
    else if (options.mappings.length > 0)
      throw new WaybillError('cases-not-found', `${name} has no cases: there is no ${casesFile(mapping)}`)
    else if (!options.json) context.out(`${name}: no cases`)
    if (one !== undefined && !options.json) context.out(testedText(one, options.update === true))
  }
  if (options.json) context.out(JSON.stringify({ mappings: tested.map(testedJson) }))
  const failed = tested.some(({ results }) => results.some(({ passed }) => !passed))
  return failed && !options.update ? EXIT.recordsLeftBehind : EXIT.ok
}

/** Counts the cases of a mapping, and those that fail; undefined for a mapping without cases. */
export async function countCases(
  folders: DefinitionFolders,
  name: string,
): Promise<{ readonly cases: number; readonly failed: number } | undefined> {
  const tested = await testMapping(await readMapping(folders, name), false)
  if (tested === undefined) return undefined
  const failed = tested.results.filter(({ passed }) => !passed).length
  return { cases: tested.results.length, failed }
}

/** Undefined for a mapping without cases. */
async function testMapping(mapping: LoadedMapping, update: boolean): Promise<Tested | undefined> {
  const text = await readCasesText(mapping)
  if (text === undefined) return undefined
  const file = casesFile(mapping)
  const { value, locate } = parseCases(text, file)
  const { joins } = mapping
  const { compiled } =
    joins.length === 0 ? mapping : mapping.withJoins({}, keepGiven(joins, value.joins ?? {}, file))
  const results = await runCases(compiled, value, textReader(mapping.read))
  const after = update ? updateCases(text, results) : text
  if (after !== text) writeOwn(file, after, { mode: statSync(file).mode & 0o777 })
  const located = results.map((result, at) => ({ ...result, line: locate(['cases', at]).line }))
  return { mapping, results: located, updated: after !== text }
}

const testedJson = ({ mapping, results, updated }: Tested): object => ({
  mapping: mapping.name,
  file: casesFile(mapping),
  updated,
  cases: results.map(({ full: _full, ...shown }) => shown),
})

function testedText({ mapping, results, updated }: Tested, update: boolean): string[] {
  if (update) return [`${casesFile(mapping)}: ${updated ? 'written; review it as a diff' : 'unchanged'}`]
  const failed = results.filter(({ passed }) => !passed).length
  const file = basename(casesFile(mapping))
  const lines = results.flatMap((result) =>
    result.passed
      ? `  ✓ ${result.name}`
      : [`  ✗ ${result.name} (${file}:${result.line})`, ...failure(result)],
  )
  const count = results.length === 1 ? '1 case' : `${results.length} cases`
  const came = failed === 0 ? 'all as expected' : `${failed} not as expected`
  const next = [
    'If the results (+) are right, keep them; otherwise correct the mapping.',
    `  waybill mapping test ${shellWord(mapping.name)} --update`,
  ]
  return [`${mapping.name}: ${count}, ${came}`, ...lines, ...(failed === 0 ? [] : next)]
}

/** Lines to show before and behind a different line. */
const SURROUNDING = 2

/** Expected lines that are missing, with `-`, and lines found in their place, with `+`. */
function failure({ expected, found }: CaseResult): string[] {
  if (expected === undefined)
    return ['      has no expectation; `waybill mapping test --update` adds the result']
  const lines = diff(rowsText(expected), rowsText(found))
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - SURROUNDING), at + SURROUNDING + 1).some(([side]) => side !== 0),
  )
  return lines.flatMap(([side, line], at) => {
    if (!shown[at]) return at === 0 || shown[at - 1] ? '        …' : []
    return `      ${side > 0 ? '-' : side < 0 ? '+' : ' '} ${line}`
  })
}

function rowsText(rows: CaseResult['found']): string[] {
  const [only] = rows
  const content = rows.length === 1 ? only : { rows }
  return stringify(content, { schema: 'failsafe', lineWidth: 0 }).trimEnd().split('\n')
}

/** Wraps a command on a sample: receives the sample, and removes it at the end of the command. */
export const onSample =
  <Given extends { readonly sample: string; readonly members?: string | undefined }>(
    act: (context: CommandContext, options: Given, sample: ReceivedExport) => Promise<number>,
  ) =>
  (context: CommandContext, options: Given): Promise<number> =>
    withSample(sourceSettings(context), options.sample, options.members, (sample) =>
      act(context, options, sample),
    )

export const mappingDiff: Action<'mapping diff'> = onSample(diffOn)

async function diffOn(
  context: CommandContext,
  options: Options<'mapping diff'>,
  sample: ReceivedExport,
): Promise<number> {
  const before = await bound(context, options.before, sample)
  const after = await bound(context, options.after, sample)
  const comparison = createComparison(options.examples)
  for await (const pairs of rowPairs(before, after)) {
    for (const [old, now] of pairs)
      comparison.add(old === undefined ? old : before.map(old), now === undefined ? now : after.map(now))
  }
  const difference = comparison.result()
  context.out(
    options.json
      ? JSON.stringify({ before: options.before, after: options.after, ...difference })
      : differenceText(difference, sample.name, context.columns),
  )
  return difference.rows.different === 0 ? EXIT.ok : EXIT.recordsLeftBehind
}

/** A mapping with its joins, and an export opened by its `read`. */
export interface Bound extends Reading {
  readonly mapping: LoadedMapping
  readonly map: RowMapper
}

/** @throws WaybillError as `readMapping`, and what opening the export throws */
export async function bound(
  { settings, now }: Pick<CommandContext, 'settings' | 'now'>,
  name: string,
  { name: exportName, file, limits, beside }: ReceivedExport,
): Promise<Bound> {
  const loaded = await readMapping(settings, name)
  const { mapping } = await joinExports(loaded, exportName, beside)
  const opened = await openExport(file, mapping.read, limits)
  const map = mapping.compiled.bind(opened.columns, exportName, now())
  return { read: mapping.read, mapping, opened, map }
}

export function differenceText(
  { rows, outcomes, rules, examples }: Difference,
  sample: string,
  columns?: number,
): string[] {
  if (rows.different === 0) return [`No difference in the ${n(rows.read)} rows of ${sample}.`]
  const lines = [`${n(rows.different)} of the ${n(rows.read)} rows of ${sample} differ.`]
  if (outcomes.length > 0) {
    const changed = outcomes.map((one) => [n(one.rows), one.before, one.after])
    lines.push('', ...fittedTable(['rows', 'were', 'are'], changed, 1, columns))
  }
  const counts = Object.entries(rules).map(([rule, { added, removed, changed, reason }]) => [
    rule,
    ...[added, removed, changed, reason].map(n),
  ])
  if (counts.length > 0)
    lines.push(
      '',
      ...fittedTable(['rule', 'added', 'removed', 'changed', 'other reason'], counts, 'rest', columns),
    )
  if (examples.length > 0) lines.push('', ...examples.flatMap(exampleLines))
  return lines.map((line) => line.trimEnd())
}

const WORDS = {
  added: 'added',
  removed: 'removed',
  changed: 'changed',
  reason: 'rejected for another reason',
  outcome: 'outcome',
} as const satisfies Record<DifferenceExample['change'], string>

function exampleLines({ row, line, rule, change, facts }: DifferenceExample): string[] {
  const all = Object.entries(facts)
  // The first fact of a new or removed record is enough: value, status, NPI.
  const brief = change === 'added' || change === 'removed'
  const shown = brief ? all.filter(([fact], at) => at === 0 || fact === 'rejected') : all
  return [
    `row ${row}, line ${line}: ${rule === null ? '' : `${rule} `}${WORDS[change]}`,
    ...shown.map(([fact, [old, now]]) => `    ${fact}: ${old ?? '(none)'} → ${now ?? '(none)'}`),
  ]
}

export const mappingPreview: Action<'mapping preview'> = onSample(previewOf)

async function previewOf(
  context: CommandContext,
  options: Options<'mapping preview'>,
  sample: ReceivedExport,
): Promise<number> {
  const { mapping, opened, map } = await bound(context, options.mapping, sample)
  const { exportId } = await fingerprint(sample.file, context.interrupt)
  const identity = await knownIdentity(context)
  const previewed: PreviewedRow[] = []
  const limit = options.row === undefined ? options.limit : 1
  const { html } = options
  if (html === undefined && options.json === undefined)
    context.err('The following is health data of people. Nothing is sent.')
  for (const note of opened.notes ?? []) context.err(`The sheet: ${note}.`)
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
      else if (options.json) context.out(JSON.stringify(previewJson(identity, exportId, outcome)))
      else {
        const written = options.full ? [recordsOf(identity, exportId, outcome)] : []
        context.out(previewText(seen, ...written))
      }
      shown++
      if (options.row !== undefined) break read
    }
  }
  if (html !== undefined) {
    writeOwn(html, previewPage(mapping.name, sample.name, previewed))
    context.out(`Wrote ${html}. The page holds health data of people: keep it where the export may be kept.`)
  }
  if (options.row !== undefined && shown === 0) context.err(`${sample.name} has no row ${options.row}.`)
  if (shown === 0) return EXIT.wrongUse
  if (options.row !== undefined) return EXIT.ok
  // A page and JSON lines have rows alone.
  const report = fit.report()
  if (html === undefined && options.json === undefined) context.out(fitLines(report, context.columns))
  else for (const line of suspicionLines(report.suspicions)) context.err(line)
  return isSuspicious(report) ? EXIT.recordsLeftBehind : EXIT.ok
}

/** Rows to read for the fit report, beyond those shown. */
const ROWS_JUDGED = 20_000

/** Records byte for byte as sent, but for the batch id, which is unknown until batches are cut. */
function recordsOf(identity: Identity, exportId: string, outcome: RowOutcome): string[] {
  if (outcome.outcome !== 'mapped') return []
  return createEntries(identity, exportId, outcome).map((entry) => recordText(entry, '(batch)'))
}

export function previewJson(identity: Identity, exportId: string, outcome: RowOutcome): object {
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
