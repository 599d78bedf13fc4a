/** `waybill mapping check`, `test`, `diff`, `preview`. The last two print health data, to the terminal or to a page, and nowhere else. */

import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
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
  type Coverage,
  createCoverage,
  type RuleCoverage,
  unknownColumns,
} from '../../packages/mapping-tools/src/coverage.ts'
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
import {
  type DefinitionFolders,
  definitionsIn,
  type LoadedMapping,
  readMapping,
} from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/content.ts'
import { openExport } from '../extract/open-export.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { recordText } from '../load/batch-text.ts'
import { createEntries, type RowOutcome } from '../model/entry.ts'
import { EXIT, errorAsJson, WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { ReceivedExport } from '../run/arrival.ts'
import { joinExports } from '../run/joined-exports.ts'
import { knownIdentity, withLedgerIfAny } from '../runs/application.ts'
import { sourceSettings } from '../runs/connect-gateway.ts'
import { watchDelivered } from '../runs/delivered-before.ts'
import { watchFit } from '../runs/doubtful-mappings.ts'
import { type NewReasons, newReasons, type RejectedFor } from '../runs/new-reasons.ts'
import { withSample } from '../runs/sample.ts'
import { leftOutLine } from '../story/terminal.ts'
import { writeOwn } from '../system/own-files.ts'
import { n, present, shellWord } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import type { RowMapper } from '../transform/compile.ts'
import { besidePrimary } from '../transform/compile-care-teams.ts'
import type { DriftFinding } from '../watch/drift-watch.ts'
import type { FitReport } from '../watch/judge-fit.ts'
import { unreadColumns } from '../watch/unread-columns.ts'
import type { CommandContext } from './command-form.ts'
import type { Action, Options } from './commands.ts'
import { byCount, fitLines, isSuspicious, newReasonsLines, suspicionLines } from './fit-text.ts'
import { errorLines } from './terminal-text.ts'

interface Checked {
  readonly mapping: string
  readonly error?: WaybillError
  readonly fit?: Fit
  readonly undecided?: readonly number[]
  readonly warnings?: readonly string[]
  readonly newReasons?: NewReasons
}

const mappingCheck: Action<'mapping check'> = async (context, options) => {
  if (options.export !== undefined && options.mappings.length !== 1)
    throw new WaybillError('usage-wrong', '--export needs the name of one mapping')
  const checked: Checked[] = []
  for (const name of await mappingsMeant(context.settings, options.mappings)) {
    const one = await checkOne(name, async () => {
      const mapping = await readMapping(context.settings, name)
      const cases = await readCasesText(mapping)
      if (cases !== undefined) parseCases(cases, casesFile(mapping))
      const found = { undecided: mapping.undecided, warnings: warningsOf(mapping) }
      if (options.export === undefined) return found
      const fit = await withSample(sourceSettings(context), options.export, options.members, (sample) =>
        fitOf(context, mapping, sample, options.rows),
      )
      const anew = await ofLedger(context, (ledger) =>
        newReasons(ledger, { mapping: mapping.name }, rejectedFor(fit)),
      )
      return { ...found, fit, ...present({ newReasons: anew }) }
    })
    checked.push(one)
    if (options.json) continue
    if (one.error === undefined) context.out(checkedText(one, context.columns))
    else context.err(errorLines(one.error))
  }
  if (options.json) context.out(JSON.stringify({ mappings: checked.map(checkedJson) }))
  const wrong = checked.find(({ error }) => error !== undefined)?.error
  const odd = checked.some((one) => isUndecided(one) || isOdd(one.fit))
  return wrong?.exit ?? (odd ? EXIT.recordsLeftBehind : EXIT.ok)
}

/** Asks the ledger; undefined without a readable ledger, as there is nothing to compare with. */
const ofLedger = <Result>(
  context: CommandContext,
  ask: (ledger: Ledger) => Promise<Result | undefined>,
): Promise<Result | undefined> =>
  withLedgerIfAny(context, async (ledger) => (ledger === undefined ? undefined : ask(ledger))).catch(
    (error: unknown) => {
      if (error instanceof WaybillError) return undefined
      throw error
    },
  )

const rejectedFor = ({ reasons, rules }: Fit): RejectedFor[] => [
  ...Object.entries(reasons).map(([code, count]) => ({ code, rule: null, count })),
  ...rules.flatMap(({ rule, rejected }) =>
    Object.entries(rejected).map(([code, count]) => ({ code, rule, count })),
  ),
]

/** Checks one mapping. An error of one does not keep the others from being checked. */
async function checkOne(
  mapping: string,
  check: () => Promise<Omit<Checked, 'mapping' | 'error'>>,
): Promise<Checked> {
  try {
    return { mapping, ...(await check()) }
  } catch (error) {
    if (error instanceof WaybillError) return { mapping, error }
    throw error
  }
}

async function fitOf(
  context: CommandContext,
  mapping: LoadedMapping,
  { name, file, limits, version, beside }: ReceivedExport,
  limit: number,
): Promise<Fit> {
  const opened = await openExport(file, mapping.read, limits, version)
  const { columns, below, rows, notes } = opened
  const { reads } = mapping.compiled
  const findings = columns === undefined ? [] : unknownColumns(reads, columns)
  if (findings.length > 0) {
    throw new WaybillError(
      'columns-missing',
      `${name} lacks columns that the mapping ${mapping.name} reads`,
      {
        findings,
        remedy: `Unread columns: ${unreadColumns(reads, columns ?? []).join(', ') || 'none'}. Correct the names in the mapping, or ask the vendor about missing columns.`,
      },
    )
  }
  const { mapping: joined } = await joinExports(mapping, name, beside)
  const map = joined.compiled.bind(columns, name, context.now(), below)
  const coverage = createCoverage(mapping.definition)
  const fit = await watchFit(context.settings, mapping, columns)
  const watch = await ofLedger(context, (ledger) => watchDelivered(ledger, joined, context.now()))
  await watch?.readAhead(opened, name)
  let left = limit
  for await (const block of rows()) {
    for (const row of block.slice(0, left)) {
      const outcome = map(row)
      coverage.add(outcome)
      fit.add(outcome)
      watch?.look([{ source: row, outcome }])
    }
    left -= Math.min(left, block.length)
    if (left === 0) break
  }
  return {
    export: name,
    ...(notes === undefined ? {} : { notes }),
    unread: unreadColumns(reads, columns ?? []),
    ...coverage.result(),
    ...fit.report(),
    drift: watch?.compare() ?? [],
  }
}

/** Warnings about well-formed rules that are probably a mistake. */
const warningsOf = ({ definition: { careTeams } }: LoadedMapping): string[] =>
  [...besidePrimary(careTeams)].map(
    ([rule, other]) =>
      `careTeams.${rule} and careTeams.${other} read the same NPI, and careTeams.${other} has primary: a provider that a later row lists by ${rule} alone loses the mark.`,
  )

const isOdd = (fit: Fit | undefined): boolean =>
  fit !== undefined && (isSuspicious(fit) || fit.drift.length > 0)

const isUndecided = ({ undecided = [] }: Checked): boolean => undecided.length > 0

function checkedText(
  { mapping, fit, undecided = [], warnings = [], newReasons: anew }: Checked,
  columns: number | undefined,
): string[] {
  const fits = !isOdd(fit)
  const against =
    fit === undefined ? '' : fits ? ` and fits ${fit.export}` : `; the fit to ${fit.export} is suspicious`
  const left =
    undecided.length === 0
      ? []
      : [
          `Not ready: no job runs with it. Decide on line ${undecided.join(', ')} (DECIDE, or a placeholder date), and remove the comment.`,
        ]
  const warned = warnings.map((warning) => `Warning: ${warning}`)
  return [
    `${mapping} is well-formed${against}.`,
    ...left,
    ...warned,
    ...(fit === undefined ? [] : coverageText(fit, columns)),
    ...newReasonsLines(anew),
  ]
}

const checkedJson = ({
  mapping,
  error,
  fit,
  undecided = [],
  warnings = [],
  newReasons: anew,
}: Checked): object => ({
  mapping,
  ok: error === undefined && undecided.length === 0 && !isOdd(fit),
  ...(undecided.length === 0 ? {} : { undecided }),
  ...(warnings.length === 0 ? {} : { warnings }),
  ...errorAsJson(error),
  ...present({ fit, newReasons: anew }),
})

interface Fit extends Coverage, FitReport {
  readonly export: string
  readonly notes?: readonly string[]
  readonly unread: readonly string[]
  /** Differences from earlier deliveries with the mapping. */
  readonly drift: readonly DriftFinding[]
}

function coverageText(fit: Fit, columns: number | undefined): string[] {
  const { rows, reasons, leftOut, unread, rules, notes = [] } = fit
  const why = Object.keys(reasons).length === 0 ? '' : ` (${byCount(reasons)})`
  const ruleRows = rules.map((rule) => [n(rule.made), rule.rule, shortcomings(rule)])
  const lines = [
    ...notes.map((note) => `Sheet    ${note}`),
    ...(unread.length === 0 ? [] : [`Columns not read: ${unread.join(', ')}`]),
    `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}${why}`,
    ...leftOutLine(leftOut),
    ...fittedTable(['made', 'rule', 'problems'], ruleRows, 1, columns),
  ]
  const drifted = fit.drift.map(({ measure, message }) => `  ${measure}: ${message}`)
  return [
    ...lines.map((line) => line.trimEnd()),
    ...fitLines(fit, columns),
    ...(drifted.length === 0 ? [] : ['Differs from earlier deliveries', ...drifted]),
  ]
}

function shortcomings({ made, rejected, neverSet }: RuleCoverage): string {
  const refused = Object.keys(rejected).length > 0
  if (made === 0) return refused ? `always rejected: ${byCount(rejected)}` : 'never set'
  return [
    ...(refused ? [`rejected: ${byCount(rejected)}`] : []),
    ...(neverSet.length === 0 ? [] : [`never set: ${neverSet.join(', ')}`]),
  ].join('; ')
}

async function mappingsMeant(folders: DefinitionFolders, named: readonly string[]): Promise<string[]> {
  return named.length > 0 ? [...named] : (await definitionsIn(folders.mappings)).sort()
}

const casesFile = (mapping: LoadedMapping): string => mapping.file.replace(/\.ya?ml$/, '.cases.yaml')

/** Text of a mapping's cases; undefined without cases. @throws `cases-not-found`: the file cannot be read */
async function readCasesText(mapping: LoadedMapping): Promise<string | undefined> {
  const file = casesFile(mapping)
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new WaybillError('cases-not-found', `${file} cannot be read`, { place: { file }, cause })
  }
}

interface LocatedResult extends CaseResult {
  readonly line: number | undefined
}

interface Tested {
  readonly mapping: LoadedMapping
  readonly results: readonly LocatedResult[]
  readonly updated: boolean
}

const mappingTest: Action<'mapping test'> = async (context, options) => {
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

const mappingDiff: Action<'mapping diff'> = onSample(diffOn)

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

/** @throws as `readMapping`, and what opening the export throws */
export async function bound(
  { settings, now }: Pick<CommandContext, 'settings' | 'now'>,
  name: string,
  { name: exportName, file, limits, beside }: ReceivedExport,
): Promise<Bound> {
  const loaded = await readMapping(settings, name)
  const { mapping } = await joinExports(loaded, exportName, beside)
  const opened = await openExport(file, mapping.read, limits)
  const map = mapping.compiled.bind(opened.columns, exportName, now(), opened.below)
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

const mappingPreview: Action<'mapping preview'> = onSample(previewOf)

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

export const actions = { mappingCheck, mappingTest, mappingDiff, mappingPreview }
