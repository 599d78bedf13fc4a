/** `waybill mapping test`: runs the cases beside mappings, or writes what came out of them. */
import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { diff } from 'node:util'
import { stringify } from 'yaml'
import { type DefinitionFolders, type LoadedMapping, readMapping } from '../definitions/definition-files.ts'
import { parseCases } from '../mapping-tools/cases.ts'
import { type CaseResult, keepGiven, runCases, textReader, updateCases } from '../mapping-tools/run-cases.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import type { Action } from './commands.ts'
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

/** How many cases a mapping has, and how many of them do not come out as expected; undefined where it has none. */
export async function countCases(
  folders: DefinitionFolders,
  name: string,
): Promise<{ readonly cases: number; readonly failed: number } | undefined> {
  const tested = await testMapping(await readMapping(folders, name), false)
  if (tested === undefined) return undefined
  const failed = tested.results.filter(({ passed }) => !passed).length
  return { cases: tested.results.length, failed }
}

/** Undefined where the mapping has no cases. */
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
  if (after !== text) await writeFile(file, after)
  const told = results.map((result, at) => ({ ...result, line: locate(['cases', at]).line }))
  return { mapping, results: told, updated: after !== text }
}

const testedJson = ({ mapping, results, updated }: Tested): object => ({
  mapping: mapping.name,
  file: casesFile(mapping),
  updated,
  cases: results.map(({ full: _full, ...told }) => told),
})

function testedText({ mapping, results, updated }: Tested, update: boolean): string[] {
  if (update) return [`${casesFile(mapping)}: ${updated ? 'written; review it as a diff' : 'as it was'}`]
  const failed = results.filter(({ passed }) => !passed).length
  const file = basename(casesFile(mapping))
  const lines = results.flatMap((result) =>
    result.passed
      ? `  ✓ ${result.name}`
      : [`  ✗ ${result.name} (${file}:${result.line})`, ...failure(result)],
  )
  const count = results.length === 1 ? '1 case' : `${results.length} cases`
  const came = failed === 0 ? 'all as expected' : `${failed} not as expected`
  return [`${mapping.name}: ${count}, ${came}`, ...lines]
}

/** Lines that are shown before and behind one that differs. */
const SURROUNDING = 2

/** What was expected and is not there with `-`, what was found instead with `+`. */
function failure({ expected, found }: CaseResult): string[] {
  if (expected === undefined)
    return ['      says nothing of what it expects; `waybill mapping test --update` adds what comes out']
  const lines = diff(toldText(expected), toldText(found))
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - SURROUNDING), at + SURROUNDING + 1).some(([side]) => side !== 0),
  )
  return lines.flatMap(([side, line], at) => {
    if (!shown[at]) return at === 0 || shown[at - 1] ? '        …' : []
    return `      ${side > 0 ? '-' : side < 0 ? '+' : ' '} ${line}`
  })
}

function toldText(rows: CaseResult['found']): string[] {
  const [only] = rows
  const told = rows.length === 1 ? only : { rows }
  return stringify(told, { schema: 'failsafe', lineWidth: 0 }).trimEnd().split('\n')
}
