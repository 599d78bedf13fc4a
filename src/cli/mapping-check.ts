/** `waybill mapping check`: problems of mappings and their cases, and the fit of a mapping to an export. */

import { readFile } from 'node:fs/promises'
import {
  type Coverage,
  createCoverage,
  type RuleCoverage,
  unknownColumns,
} from '../../packages/mapping-tools/src/coverage.ts'
import { parseCases } from '../../packages/mapping-tools/src/run-cases.ts'
import {
  type DefinitionFolders,
  definitionsIn,
  type LoadedMapping,
  readMapping,
} from '../definitions/definition-files.ts'
import { openExport } from '../extract/open-export.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { EXIT, errorAsJson, WaybillError } from '../model/errors.ts'
import type { ReceivedExport } from '../run/arrival.ts'
import { joinExports } from '../run/joined-exports.ts'
import { withLedgerIfAny } from '../runs/application.ts'
import { sourceSettings } from '../runs/connect-gateway.ts'
import { watchDelivered } from '../runs/delivered-before.ts'
import { watchFit } from '../runs/doubtful-mappings.ts'
import { type NewReasons, newReasons, type RejectedFor } from '../runs/new-reasons.ts'
import { withSample } from '../runs/sample.ts'
import { leftOutLine } from '../story/terminal.ts'
import { n, present } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import { besidePrimary } from '../transform/compile-care-teams.ts'
import type { DriftFinding } from '../watch/drift-watch.ts'
import type { FitReport } from '../watch/judge-fit.ts'
import { unreadColumns } from '../watch/unread-columns.ts'
import type { CommandContext } from './command-form.ts'
import type { Action } from './commands.ts'
import { byCount, fitLines, isSuspicious, newReasonsLines } from './fit-text.ts'
import { errorLines } from './terminal-text.ts'

interface Checked {
  readonly mapping: string
  readonly error?: WaybillError
  readonly fit?: Fit
  /** Lines of a draft with an open decision. */
  readonly undecided?: readonly number[]
  readonly warnings?: readonly string[]
  /** Reasons that the last run with this mapping did not have. */
  readonly newReasons?: NewReasons
}

export const mappingCheck: Action<'mapping check'> = async (context, options) => {
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
  const { columns, rows, notes } = opened
  const { reads } = mapping.compiled
  const findings = columns === undefined ? [] : unknownColumns(reads, columns)
  if (findings.length > 0) {
    throw new WaybillError(
      'columns-missing',
      `${name} lacks columns that the mapping ${mapping.name} reads`,
      {
        findings,
        remedy: `The export has: ${columns?.join(', ')}. Correct the mapping, or ask the vendor why columns are gone.`,
      },
    )
  }
  const { mapping: joined } = await joinExports(mapping, name, beside)
  const map = joined.compiled.bind(columns, name, context.now())
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
  /** Notes on content around the rows of a workbook. */
  readonly notes?: readonly string[]
  /** Columns that the mapping does not read. */
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

/** The named mappings; without names, all of the folder. */
export async function mappingsMeant(folders: DefinitionFolders, named: readonly string[]): Promise<string[]> {
  return named.length > 0 ? [...named] : (await definitionsIn(folders.mappings)).sort()
}

/** `NAME.cases.yaml` beside `NAME.yaml`. */
export const casesFile = (mapping: LoadedMapping): string => mapping.file.replace(/\.ya?ml$/, '.cases.yaml')

/** Text of a mapping's cases; undefined without cases. @throws WaybillError `cases-not-found`: the file cannot be read */
export async function readCasesText(mapping: LoadedMapping): Promise<string | undefined> {
  const file = casesFile(mapping)
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new WaybillError('cases-not-found', `${file} cannot be read`, { place: { file }, cause })
  }
}
