/** What every part of the compiler needs, and where it reports what is wrong with a mapping. */

import { type Finding, type Place, reasonOf } from '../model/errors.ts'
import { type Fault, fault, type Issue } from '../model/record.ts'
import type { CsvRow, JsonRow } from '../model/row.ts'
import { didYouMean } from '../schema-problems.ts'
import type { KeyPath } from '../yaml-file.ts'
import type { Catalog } from './catalog.ts'
import { Checker, type Checks } from './checks.ts'
import type { FieldDefinition } from './field-definition.ts'
import { compileNumber, Exponents, type NumberFormat, type NumberReader } from './numbers.ts'
import type { Branch, Located, Names, Scope } from './scope.ts'
import type { Units } from './units.ts'

/** Everything a mapping refers to by name. */
export interface MappingResources {
  readonly catalog: Catalog
  readonly units: Units
  /** Tables of `mappings/tables`, by file name without `.csv`: vendor's value → value. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** The same with all of their columns, for joins. */
  readonly sheets?: ReadonlyMap<string, Sheet>
  /** What was kept of joined exports, by the name of the join; undefined where none was read yet. */
  readonly kept?: ReadonlyMap<string, KeptRows> | undefined
}

/** A table as it stands in its file: the header, then the rows. */
export interface Sheet {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Text of a joined row's field; null where there is an object or a list. */
export type Cell = string | null

/** What is kept of a joined export: of each row the fields that the mapping reads, by key. */
export interface KeptRows {
  readonly fields: readonly string[]
  readonly rows: ReadonlyMap<string, readonly Cell[]>
}

/** A join to a second export: what must be read of it before rows can be mapped. */
export interface ExportJoin {
  readonly name: string
  /** Pattern for the name of its file. */
  readonly export: string
  /** What the mapping reads of its rows, as it stands behind the join's name. */
  readonly fields: readonly string[]
  /**
   * @returns reads a row's key and fields; undefined where the row has no key, so that nothing can lead to it
   * @throws WaybillError `columns-missing`
   */
  bind(
    columns: readonly string[] | undefined,
    exportName: string,
  ): (row: CsvRow | JsonRow) => { readonly key: string; readonly cells: readonly Cell[] } | undefined
}

/** The field of what stands behind a join's name (`.NPI`); one that leads nowhere is reported and reads as empty. */
export type Join = (rest: string, path: KeyPath) => CompiledField

/** Text of a field, '' where it is empty; or why there is none. */
export type FieldText = string | Fault

export interface CompiledField {
  /** Name of the column or path, for messages (of several, joined by commas); undefined for a constant. */
  readonly from: string | undefined
  readonly branch: Branch
  readonly read: (scope: Scope) => FieldText
}

export const NOT_SCALAR = fault(
  'field-not-scalar',
  'there is an object or a list where a single value is meant',
)

/** Thrown where a condition reads a cell that has no value: nobody can tell whether the condition holds. */
export class CellWithoutValue extends Error {
  readonly fault: Fault
  readonly field: string

  constructor(fault: Fault, field: string) {
    super(fault.message)
    this.fault = fault
    this.field = field
  }
}

/** Text of a field that decides, as a condition does. @throws CellWithoutValue */
export function decisiveText(
  { read, from = '' }: CompiledField,
  { names }: CompileContext,
  scope: Scope,
): FieldText {
  const text = read(scope)
  if (typeof text !== 'string' && names.faultOf !== undefined && text !== NOT_SCALAR)
    throw new CellWithoutValue(text, from)
  return text
}

/** @param field the column or path concerned; undefined for a constant */
export const issueOf = ({ code, message }: Fault, field: string | undefined): Issue => ({
  stage: 'transform',
  code,
  message,
  ...(field === undefined ? {} : { field }),
})

/** How deep the branchOf of some parts of a rule reads. */
export const branchOf = (...parts: readonly ({ readonly branch: number } | undefined)[]): number =>
  parts.reduce((branch, part) => Math.max(branch, part?.branch ?? 0), 0)

/** A column or path that a mapping reads. */
export interface ReadName {
  readonly name: string
  readonly place: Place
}

/** A bare word where the language takes it for the word itself, and not for a column. */
export interface Word {
  readonly word: string
  /** Keys that lead to it in the mapping. */
  readonly at: KeyPath
}

/** What the `row` block says of every cell. */
export interface Conventions {
  /** Texts that mean nothing, wherever they stand. */
  readonly emptyWhen?: readonly string[] | undefined
  readonly number?: NumberFormat | undefined
  readonly checks?: Checks | undefined
}

/** What a path begins with: the document, a level, a join. */
const FIRST_STEP = /^(?:(\$)|(\w+)[.[])/

export class CompileContext implements MappingResources {
  readonly catalog: Catalog
  readonly units: Units
  readonly tables: MappingResources['tables']
  readonly sheets: ReadonlyMap<string, Sheet>
  readonly kept: MappingResources['kept']
  /** By name, filled in by compileJoins; and those of them to exports. */
  readonly joins = new Map<string, Join>()
  readonly exportJoins: ExportJoin[] = []
  readonly findings: Finding[]
  /** Every column or path that is read of the export, with the place in the mapping that reads it. */
  readonly reads: ReadName[] = []
  /** Bare words that are sent or obeyed as they stand. */
  readonly words: Word[] = []
  /** Numbers as the `row` block says that they are written. */
  readonly readNumber: NumberReader
  readonly exponents = new Exponents()
  readonly checks: Checker
  readonly names: Names
  readonly #conventions: Conventions
  readonly #blank: ReadonlySet<string>
  readonly #levels: readonly string[]
  readonly #place: (path: KeyPath) => Place

  constructor(
    resources: MappingResources,
    names: Names,
    place: (path: KeyPath) => Place,
    conventions: Conventions = {},
    levels: readonly string[] = [],
    findings: Finding[] = [],
  ) {
    this.catalog = resources.catalog
    this.units = resources.units
    this.tables = resources.tables
    this.sheets = resources.sheets ?? new Map()
    this.kept = resources.kept
    this.findings = findings
    this.#conventions = conventions
    this.readNumber = compileNumber(conventions.number, this.exponents)
    this.checks = new Checker(conventions.checks)
    this.#blank = new Set(conventions.emptyWhen)
    this.names = names
    this.#levels = levels
    this.#place = place
  }

  /** For what is joined: rows of another kind, problems noted here all the same. */
  under(names: Names): CompileContext {
    return new CompileContext(this, names, this.#place, this.#conventions, [], this.findings)
  }

  /** Notes a problem of the mapping; compilation goes on, so that all of them are told at once. */
  report(path: KeyPath, message: string): void {
    this.findings.push({ place: this.#place(path), message })
  }

  /** Notes what an action throws, and gives what stands in for its result. */
  attempt<Result>(path: KeyPath, act: () => Result, instead: Result): Result {
    try {
      return act()
    } catch (error) {
      this.report(path, reasonOf(error))
      return instead
    }
  }

  /** Resolves a column or path; one that leads nowhere is reported and reads as empty. */
  locate(name: string, path: KeyPath): Located {
    const joined = this.joined(name, path)
    if (joined !== undefined) {
      const textOf = (text: FieldText): string | null => {
        if (typeof text === 'string') return text
        if (text.code.startsWith('cell-')) throw new CellWithoutValue(text, name)
        return text === NOT_SCALAR ? null : ''
      }
      return { branch: joined.branch, read: (scope) => textOf(joined.read(scope)) }
    }
    if (!this.names.isLevel(name)) this.reads.push({ name, place: this.#place(path) })
    const located = this.attempt(path, () => this.names.locate(name), { branch: 0, read: () => '' })
    if (this.#blank.size === 0) return located
    return {
      branch: located.branch,
      read: (scope) => {
        const text = located.read(scope)
        return text !== null && this.#blank.has(text) ? '' : text
      },
    }
  }

  /** A field where a bare word is the word itself; one that looks like a path was meant to be read. */
  word(definition: FieldDefinition, path: KeyPath): FieldDefinition {
    if (typeof definition !== 'string') return definition
    this.words.push({ word: definition, at: path })
    const [, root, level = ''] = FIRST_STEP.exec(definition) ?? []
    const isPath = root !== undefined || this.#levels.includes(level) || this.joins.has(level)
    if (isPath || this.names.isLevel(definition))
      this.report(path, `"${definition}" is sent as it stands; to read it, write { from: "${definition}" }`)
    return { constant: definition }
  }

  /** Names that are read while something is compiled. */
  readsOf<Result>(compile: () => Result): { readonly result: Result; readonly read: readonly string[] } {
    const before = this.reads.length
    const result = compile()
    return { result, read: this.reads.slice(before).map(({ name }) => name) }
  }

  /** The field that a name like `doctors.NPI` leads to; undefined where it begins with no join's name. */
  joined(name: string, path: KeyPath): CompiledField | undefined {
    const [, , join = ''] = FIRST_STEP.exec(name) ?? []
    return this.joins.get(join)?.(name.slice(join.length), path)
  }

  /** The text, or why it is none. */
  textOf(text: string | null): FieldText {
    if (text === null) return NOT_SCALAR
    return this.names.faultOf?.(text) ?? text
  }

  /** Whether a text means nothing in the whole mapping. */
  isBlank(text: string): boolean {
    return this.#blank.has(text)
  }

  /** An inline table, or one of `mappings/tables`. */
  table(definition: string | Readonly<Record<string, string>>, path: KeyPath): ReadonlyMap<string, string> {
    if (typeof definition !== 'string') return new Map(Object.entries(definition))
    const table = this.tables.get(definition)
    if (table === undefined)
      this.report(
        path,
        `there is no table "${definition}" in mappings/tables${didYouMean(definition, this.tables.keys())}`,
      )
    return table ?? new Map()
  }
}
