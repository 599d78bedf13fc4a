/** Runs the cases of a mapping: what became of each, beside what is expected. */
import { isDeepStrictEqual } from 'node:util'
import { WaybillError } from '../model/errors.ts'
import type { Row } from '../model/row.ts'
import type { CompiledMapping } from '../transform/compile.ts'
import { type Case, type CaseFile, TOLD_KEYS, type ToldRow } from './cases.ts'
import { type FullRow, foldRow, fullRow, unfoldRow } from './tell-row.ts'

/** Rows of an export that is given as text, read as the mapping says. */
export type ReadText = (text: string) => Promise<{
  readonly columns?: readonly string[] | undefined
  readonly rows: readonly Row[]
}>

/** What a case says and what came out, both folded in the same way. */
export interface CaseResult {
  readonly name: string
  readonly passed: boolean
  /** Undefined where the case does not say yet what it expects. */
  readonly expected: readonly ToldRow[] | undefined
  readonly found: readonly ToldRow[]
  /** What came out, with every fact of every record. */
  readonly full: readonly FullRow[]
}

/** @param file its `now` is the time by which dates lie in the future; without it, none does */
export async function runCases(
  mapping: CompiledMapping,
  file: CaseFile,
  readText: ReadText,
): Promise<CaseResult[]> {
  const now = file.now === undefined ? Number.POSITIVE_INFINITY : Date.parse(file.now)
  const columns = new Set(mapping.reads.map(({ name }) => name))
  for (const { row } of file.cases) for (const column of Object.keys(row ?? {})) columns.add(column)
  const results: CaseResult[] = []
  for (const one of file.cases) {
    const full = await outcomes(mapping, one, [...columns], readText, now)
    const found = full.map((row) => foldRow(row, file))
    const expected = expectedRows(one)?.map((told) => foldRow(unfoldRow(told, file), file))
    results.push({
      name: one.name,
      passed: expected !== undefined && agree(expected, found),
      expected,
      found,
      full,
    })
  }
  return results
}

function expectedRows(one: Case): readonly ToldRow[] | undefined {
  if (one.rows !== undefined) return one.rows
  const told = Object.entries(one).filter(([key]) => TOLD_KEYS.some((known) => known === key))
  return told.length === 0 ? undefined : [Object.fromEntries(told)]
}

/** Equal, and records in the same order. */
const agree = (expected: readonly ToldRow[], found: readonly ToldRow[]): boolean =>
  isDeepStrictEqual(expected, found) && isDeepStrictEqual(expected.map(order), found.map(order))

const order = ({ records }: ToldRow): string[] => Object.keys(records ?? {})

async function outcomes(
  mapping: CompiledMapping,
  one: Case,
  columns: readonly string[],
  readText: ReadText,
  now: number,
): Promise<FullRow[]> {
  if (one.row !== undefined) {
    const cells = columns.map((column) => one.row?.[column] ?? '')
    return [
      fullRow(mapping.bind(columns, one.name, now)({ row: 1, line: 2, byteOffset: 0, kind: 'cells', cells })),
    ]
  }
  try {
    // One document is one line, whatever the format: between its tokens a line end is white space.
    const opened = await readText(one.text ?? one.document?.replaceAll(/\r?\n/g, ' ') ?? '')
    const map = mapping.bind(opened.columns, one.name, now)
    return opened.rows.map((row) => fullRow(map(row)))
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    return [{ outcome: 'refused', reason: error.code }]
  }
}
