/** Compiles a mapping text with the shipped catalog, and maps rows with it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type LoadedMapping, loadMapping } from '../../src/definitions/definition-files.ts'
import { BiometricSent, CareTeamSent, ConditionSent } from '../../src/gateway/contract/health-profile.ts'
import { recordText } from '../../src/load/batch-text.ts'
import type { Entry, MappedRow, RowOutcome } from '../../src/model/entry.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { isOfProfile } from '../../src/model/record.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { createCatalog } from '../../src/transform/catalog.ts'
import type { RowMapper } from '../../src/transform/compile.ts'
import { CompileContext } from '../../src/transform/compile-context.ts'
import { jsonNames, type Names } from '../../src/transform/scope.ts'
import { createUnits } from '../../src/transform/units.ts'

export const ROOT = join(import.meta.dirname, '../..')
const shipped = (file: string): string => readFileSync(join(ROOT, 'mappings', file), 'utf8')

/** What a mapping refers to: the shipped catalog, and tables of two columns by name. */
export const bundle = (mapping: string, tables: Record<string, string> = {}): string =>
  JSON.stringify({
    file: 'mappings/tested.yaml',
    mapping,
    biometrics: shipped('catalog/biometrics.yaml'),
    conditions: shipped('catalog/conditions.yaml'),
    unitSpellings: shipped('catalog/unit-spellings.csv'),
    tables: { 'lab-codes': shipped('tables/lab-codes.csv'), ...tables },
  })

export const load = (mapping: string, tables?: Record<string, string>): LoadedMapping =>
  loadMapping(bundle(mapping, tables))

export function refusalOf(act: () => unknown): WaybillError {
  try {
    act()
  } catch (error) {
    if (error instanceof WaybillError) return error
    throw error
  }
  return expect.fail('was accepted')
}

/** The clock of the tests; their rows are of earlier days. */
export const NOW = Date.parse('2027-01-01T00:00:00.000Z')

export const ORIGIN = { row: 7, line: 9, byteOffset: 512 }

/** Maps a CSV row given by column; columns that are not named are empty. */
export function csvMapper(
  mapping: string,
  columns: readonly string[],
): (row: Record<string, string>) => RowOutcome {
  const map: RowMapper = load(mapping).compiled.bind(columns, 'export.csv', NOW)
  return (row) => map({ ...ORIGIN, kind: 'cells', cells: columns.map((column) => row[column] ?? '') })
}

export function jsonMapper(
  mapping: string,
  tables?: Record<string, string>,
): (value: JsonValue) => RowOutcome {
  const map: RowMapper = load(mapping, tables).compiled.bind(undefined, 'export.ndjson', NOW)
  return (value) => map({ ...ORIGIN, kind: 'json', value, text: '' })
}

export function mapped(outcome: RowOutcome): MappedRow {
  if (outcome.outcome !== 'mapped') expect.fail(`${outcome.outcome}: ${JSON.stringify(outcome)}`)
  return outcome
}

/** `rule: code field` of each rejected record, or `row: code field` of a rejected row. */
export function faults(outcome: RowOutcome): string[] {
  if (outcome.outcome === 'skipped') return []
  if (outcome.outcome === 'rejected') return [`row: ${outcome.issue.code} ${outcome.issue.field ?? '-'}`]
  return outcome.rejected.map(({ rule, issue }) => `${rule}: ${issue.code} ${issue.field ?? '-'}`)
}

const SENT = { biometric: BiometricSent, condition: ConditionSent, careTeam: CareTeamSent }

/** The record as it goes over the wire, read back by the contract's schema of its kind. */
export function wire({ kind, text }: Entry): Record<string, unknown> {
  const body: unknown = JSON.parse(recordText({ kind, text, transactionId: 'e-000007-rule-c' }, 'batch-1'))
  if (!isOfProfile(kind)) throw new TypeError('an account is not sent as a record')
  return SENT[kind].strict().parse(body)
}

export const wires = (outcome: RowOutcome): Record<string, unknown>[] => {
  const row = mapped(outcome)
  return row.records.map((record) => wire(record))
}

/** `line key: message` of each finding in a wrong mapping, and heads of mappings to make wrong. */
export const findings = (mapping: string): string[] =>
  refusalOf(() => load(mapping)).findings.map(
    ({ place, message }) => `${place.line} ${place.key}: ${message}`,
  )

export const HEAD = `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { from: at, format: ISO, zone: UTC }, source: { name: N, type: t } }
`
export const NESTED = HEAD.replace('{ format: csv }', '{ format: ndjson, each: { obx: "$.obx[*]" } }')
  .replace('key: [id]', 'key: [$.id]')
  .replace('reference: id', 'reference: $.id')
  .replace('from: at', 'from: $.at')

const DATED = '{ constant: "2026-02-04T09:10:00Z" }'

/** A mapper of CSV rows by these rules; `row` is written into the row block, `observedAt` may be another. */
export const csvRules = (
  columns: readonly string[],
  rules: string,
  row = '',
  observedAt = DATED,
  source = '{ name: N, type: t }',
): ReturnType<typeof csvMapper> =>
  csvMapper(
    `mapping: m
read: { format: csv }
row:
  key: [id]
  account: { reference: id }
  observedAt: ${observedAt}
  source: ${source}
${row}
${rules}
`,
    columns,
  )

/** The same for documents with levels. */
export const jsonRules = (each: string, rules: string, observedAt = DATED): ReturnType<typeof jsonMapper> =>
  jsonMapper(
    `mapping: m
read: { format: ndjson, each: ${each} }
row: { key: [$.id], account: { reference: $.id }, observedAt: ${observedAt}, source: { name: N, type: t } }
${rules}
`,
  )

/** A compile context for single fields and conditions: JSON rows without levels, one table by name. */
export const contextUnderTest = (
  conventions: ConstructorParameters<typeof CompileContext>[3] = {},
  names: Names = jsonNames({}, () => undefined),
): CompileContext =>
  new CompileContext(
    {
      catalog: createCatalog({}, {}),
      units: createUnits(new Map()),
      tables: new Map([['sexes', new Map([['F', 'FEMALE']])]]),
    },
    names,
    (path) => ({ key: path.join('.') }),
    conventions,
  )
