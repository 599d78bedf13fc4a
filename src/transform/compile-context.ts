/** What every part of the compiler needs, and where it reports what is wrong with a mapping. */
import type { Finding, Place } from '../errors.ts'
import type { KeyPath } from '../yaml-file.ts'
import type { Catalog } from './catalog.ts'
import type { Located, Names } from './scope.ts'
import type { Units } from './units.ts'

/** Everything a mapping refers to by name. */
export interface MappingResources {
  readonly catalog: Catalog
  readonly units: Units
  /** Tables of `mappings/tables`, by file name without `.csv`: vendor's value → value. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export class CompileContext implements MappingResources {
  readonly catalog: Catalog
  readonly units: Units
  readonly tables: MappingResources['tables']
  readonly findings: Finding[] = []
  readonly #names: Names
  readonly #place: (path: KeyPath) => Place

  constructor(resources: MappingResources, names: Names, place: (path: KeyPath) => Place) {
    this.catalog = resources.catalog
    this.units = resources.units
    this.tables = resources.tables
    this.#names = names
    this.#place = place
  }

  /** Notes a problem of the mapping; compilation goes on, so that all of them are told at once. */
  report(path: KeyPath, message: string): void {
    this.findings.push({ place: this.#place(path), message })
  }

  /** Resolves a column or path; one that leads nowhere is reported and reads as empty. */
  locate(name: string, path: KeyPath): Located {
    try {
      return this.#names.locate(name)
    } catch (error) {
      this.report(path, error instanceof Error ? error.message : String(error))
      return { depth: 0, read: () => '' }
    }
  }

  /** An inline table, or one of `mappings/tables`. */
  table(definition: string | Readonly<Record<string, string>>, path: KeyPath): ReadonlyMap<string, string> {
    if (typeof definition !== 'string') return new Map(Object.entries(definition))
    const table = this.tables.get(definition)
    if (table === undefined) this.report(path, `there is no table "${definition}" in mappings/tables`)
    return table ?? new Map()
  }
}
