/** Context shared by all parts of the compiler, and the place where problems of a mapping are reported. */

import { type Finding, type Place, reasonOf } from '../model/errors.ts'
import { type Fault, fault, type Issue } from '../model/record.ts'
import type { CsvRow, JsonRow } from '../model/row.ts'
import { didYouMean } from '../system/schema-problems.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import type { Catalog } from './catalog.ts'
import { Checker, type Checks } from './checks.ts'
import type { FieldDefinition } from './mapping-definition.ts'
import { compileNumber, Exponents, type NumberFormat, type NumberReader } from './numbers.ts'
import type { Branch, Located, Names, Scope } from './scope.ts'
import type { Units } from './units.ts'

/** Everything a mapping refers to by name. */
export interface MappingResources {
  readonly catalog: Catalog
  readonly units: Units
  /** Tables of `mappings/tables`, by file name without `.csv`: vendor's value → value. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Tables with all of their columns, for joins. */
  readonly sheets?: ReadonlyMap<string, Sheet>
  /** Rows kept of joined exports, by name of the join; undefined where none was read yet. */
  readonly kept?: ReadonlyMap<string, KeptRows> | undefined
}

/** Content of a table's file: the header, then the rows. */
export interface Sheet {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Text of a joined row's field; null where there is an object or a list. */
export type Cell = string | null

/** Rows kept of a joined export: the fields that the mapping reads, by key. */
export interface KeptRows {
  readonly fields: readonly string[]
  readonly rows: ReadonlyMap<string, readonly Cell[]>
}

/** Join to a second export, to be read before rows can be mapped. */
export interface ExportJoin {
  readonly name: string
  /** Pattern for the file's name. */
  readonly export: string
  /** Fields that the mapping reads of its rows, as written behind the join's name. */
  readonly fields: readonly string[]
  /**
   * @returns reads a row's key and fields; undefined for a row without a key, as nothing can lead to it
   * @throws WaybillError `columns-missing`
   */
  bind(
    columns: readonly string[] | undefined,
    exportName: string,
  ): (row: CsvRow | JsonRow) => { readonly key: string; readonly cells: readonly Cell[] } | undefined
}

/** Field for the rest of a name behind a join's name (`.NPI`). A dead end is reported and reads as empty. */
type Join = (rest: string, path: KeyPath) => CompiledField

/** Text of a field, '' where empty; or the fault in place of a text. */
export type FieldText = string | Fault

export interface CompiledField {
  /** Name of the column or path, for messages (several are joined by commas); undefined for a constant. */
  readonly from: string | undefined
  readonly branch: Branch
  readonly read: (scope: Scope) => FieldText
}

export const NOT_SCALAR = fault('field-not-scalar', 'an object or a list instead of a single value')

/** Thrown where a condition cannot be decided: the cell has no value, or an unlisted spelling. */
export class CellWithoutValue extends Error {
  readonly fault: Fault
  readonly field: string

  constructor(fault: Fault, field: string) {
    super(fault.message)
    this.fault = fault
    this.field = field
  }
}

/** @param field the column or path concerned; undefined for a constant */
export const issueOf = ({ code, message }: Fault, field: string | undefined): Issue => ({
  stage: 'transform',
  code,
  message,
  ...(field === undefined ? {} : { field }),
})

/** A column or path that a mapping reads. */
export interface ReadName {
  readonly name: string
  readonly place: Place
}

/** A bare word, where the language takes it literally and not as a column. */
export interface Word {
  readonly word: string
  /** Path of keys to the word in the mapping. */
  readonly at: KeyPath
}

/** Settings of the `row` block for every cell. */
interface Conventions {
  /** Texts that count as empty in every cell. */
  readonly emptyWhen?: readonly string[] | undefined
  readonly number?: NumberFormat | undefined
  readonly checks?: Checks | undefined
}

/** First step of a path: the document, a level, a join. */
const FIRST_STEP = /^(?:(\$)|(\w+)[.[])/

export class CompileContext implements MappingResources {
  readonly catalog: Catalog
  readonly units: Units
  readonly tables: MappingResources['tables']
  readonly sheets: ReadonlyMap<string, Sheet>
  readonly kept: MappingResources['kept']
  /** Joins by name, filled in by compileJoins; `exportJoins` are the joins to exports. */
  readonly joins = new Map<string, Join>()
  readonly exportJoins: ExportJoin[] = []
  readonly findings: Finding[]
  /** Every column or path of the export that the mapping reads, with its place in the mapping. */
  readonly reads: ReadName[] = []
  /** Bare words that are sent or obeyed literally. */
  readonly words: Word[] = []
  /** Texts that conditions list, by column. */
  readonly #listed = new Map<string, Set<string>>()
  /** Reads numbers in the notation of the `row` block. */
  readonly readNumber: NumberReader
  readonly exponents = new Exponents()
  readonly checks: Checker
  readonly names: Names
  readonly #conventions: Conventions
  /** Texts that count as empty in the whole mapping. */
  readonly blanks: ReadonlySet<string>
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
    this.blanks = new Set(conventions.emptyWhen)
    this.names = names
    this.#levels = levels
    this.#place = place
  }

  /** Context for joined rows: own names, shared findings. */
  under(names: Names): CompileContext {
    return new CompileContext(this, names, this.#place, this.#conventions, [], this.findings)
  }

  /** Adds a problem of the mapping; compilation goes on, to report all problems at once. */
  report(path: KeyPath, message: string): void {
    this.findings.push({ place: this.#place(path), message })
  }

  /** Reports an error of an action, and returns a substitute for its result. */
  attempt<Result>(path: KeyPath, act: () => Result, instead: Result): Result {
    try {
      return act()
    } catch (error) {
      this.report(path, reasonOf(error))
      return instead
    }
  }

  /** Resolves a column or path; a dead end is reported and reads as empty. */
  locate(name: string, path: KeyPath): Located {
    const joined = this.joined(name, path)
    if (joined !== undefined) {
      const textOf = (text: FieldText): string | null => {
        if (typeof text === 'string') return text
        if (text.hidesText) throw new CellWithoutValue(text, name)
        return text === NOT_SCALAR ? null : ''
      }
      return { branch: joined.branch, read: (scope) => textOf(joined.read(scope)) }
    }
    if (!this.names.isLevel(name)) this.reads.push({ name, place: this.#place(path) })
    const located = this.attempt(path, () => this.names.locate(name), { branch: 0, read: () => '' })
    if (this.blanks.size === 0) return located
    return {
      branch: located.branch,
      read: (scope) => {
        const text = located.read(scope)
        return text !== null && this.blanks.has(text) ? '' : text
      },
    }
  }

  /** Takes a bare word of a field literally; a word that looks like a path is reported. */
  word(definition: FieldDefinition, path: KeyPath): FieldDefinition {
    if (typeof definition !== 'string') return definition
    this.words.push({ word: definition, at: path })
    const [, root, level = ''] = FIRST_STEP.exec(definition) ?? []
    const isPath = root !== undefined || this.#levels.includes(level) || this.joins.has(level)
    if (isPath || this.names.isLevel(definition))
      this.report(
        path,
        `"${definition}" is a constant here; to read a column, write { from: "${definition}" }`,
      )
    return { constant: definition }
  }

  /** Names that are read while a part is compiled. */
  readsOf<Result>(compile: () => Result): { readonly result: Result; readonly read: readonly string[] } {
    const before = this.reads.length
    const result = compile()
    return { result, read: this.reads.slice(before).map(({ name }) => name) }
  }

  /** Field of a name like `doctors.NPI`; undefined where the name begins with no join's name. */
  joined(name: string, path: KeyPath): CompiledField | undefined {
    const [, , join = ''] = FIRST_STEP.exec(name) ?? []
    return this.joins.get(join)?.(name.slice(join.length), path)
  }

  /** Checks the text of a cell: the text, or its fault. */
  textOf(text: string | null): FieldText {
    if (text === null) return NOT_SCALAR
    return this.names.faultOf?.(text) ?? text
  }

  /** Adds the texts of a condition; returns the texts of all conditions on the column. */
  listedIn(column: string, texts: readonly string[]): ReadonlySet<string> {
    const listed = this.#listed.get(column) ?? new Set()
    for (const text of texts) listed.add(text)
    this.#listed.set(column, listed)
    return listed
  }

  /** An inline table, or a table of `mappings/tables`. */
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
