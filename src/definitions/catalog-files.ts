/** Files that mappings refer to: catalog, spellings of units, tables, and the catalog file that a job may add. */

import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { type Finding, reasonOf, WaybillError } from '../model/errors.ts'
import { readObeyed } from '../system/obeyed-files.ts'
import { shipped } from '../system/shipped.ts'
import { shownPath } from '../system/shown-text.ts'
import { parseYaml, refusal } from '../system/yaml-file.ts'
import {
  BiometricCatalog,
  type Catalog,
  CatalogExtension,
  ConditionCatalog,
  createCatalog,
  extendCatalog,
  reportUnits,
} from '../transform/catalog.ts'
import type { MappingResources, Sheet } from '../transform/compile-context.ts'
import { createUnits, type Units, type WorkedUnits, workOutFactors } from '../transform/units.ts'
import { CHECKED, type CheckedCatalog, digestOf } from './checked-catalog.ts'

/** Contents of the files as text. A run keeps them. */
export const CatalogFiles = z.object({
  biometrics: z.string(),
  conditions: z.string(),
  unitSpellings: z.string(),
  tables: z.record(z.string(), z.string()),
  /** Catalog file of the job, laid over the shipped files. */
  ofJob: z.object({ file: z.string(), text: z.string() }).optional(),
})
type CatalogFiles = z.infer<typeof CatalogFiles>

const SET_MAPPINGS =
  'Set WAYBILL_MAPPINGS to a folder that has catalog/biometrics.yaml, conditions.yaml and unit-spellings.csv.'
const NAME_CATALOG = "Correct `catalog` in the job file: it is the path of a file, relative to the job's."

const SHIPPED = shipped('mappings/catalog')

/** Catalog folder inside the mappings folder, else the shipped catalog. */
function catalogOf(mappings: string): string {
  const own = join(mappings, 'catalog')
  return existsSync(own) || !existsSync(mappings) ? own : SHIPPED
}

/**
 * Reads all catalog files.
 *
 * @param mappings folder of the mappings
 * @param ofJob path of the job's own catalog file
 * @throws `catalog-invalid` if a file is missing; `file-untrusted`
 */
export async function readCatalogFiles(mappings: string, ofJob: string | undefined): Promise<CatalogFiles> {
  const catalog = catalogOf(mappings)
  const [biometrics, conditions, unitSpellings, tables, extension] = await Promise.all([
    readCatalogFile(join(catalog, 'biometrics.yaml'), SET_MAPPINGS),
    readCatalogFile(join(catalog, 'conditions.yaml'), SET_MAPPINGS),
    readCatalogFile(join(catalog, 'unit-spellings.csv'), SET_MAPPINGS),
    readTables(join(mappings, 'tables')),
    ofJob === undefined ? undefined : readCatalogFile(ofJob, NAME_CATALOG),
  ])
  const files = { biometrics, conditions, unitSpellings, tables }
  return ofJob === undefined || extension === undefined
    ? files
    : { ...files, ofJob: { file: shownPath(ofJob), text: extension } }
}

/** Units that need no library of UCUM. */
const WORKED: WorkedUnits = { codes: new Set(CHECKED?.units), factors: CHECKED?.factors ?? {} }

/**
 * Parses the files into catalog, units and tables.
 *
 * @throws `catalog-invalid` with every problem of a file and its line
 */
export function resourcesOf(files: CatalogFiles): MappingResources {
  const units = unitsOf(files)
  const { biometrics, conditions } = CHECKED?.digest === digestOf(files) ? CHECKED : checkCatalog(files)
  const shipped = createCatalog(biometrics, conditions)
  // Files with two columns are tables of values. Joins read files with more columns by key.
  const sheets = new Map(
    Object.entries(files.tables).map(([name, text]) => [name, readSheet(`tables/${name}.csv`, text)]),
  )
  const tables = new Map(
    Object.entries(files.tables).flatMap(([name, text]) =>
      (sheets.get(name)?.columns.length ?? 0) > 2 ? [] : [[name, readTable(`tables/${name}.csv`, text)]],
    ),
  )
  const catalog = files.ofJob === undefined ? shipped : catalogOfJob(shipped, files.ofJob, units)
  return { catalog, units, tables, sheets }
}

/**
 * Reads vendors' names for catalog entries, as pairs of key and name. Only drafts use them.
 *
 * @throws `catalog-invalid`
 */
export async function readSynonyms(
  mappings: string,
): Promise<readonly (readonly [key: string, name: string])[]> {
  const text = await readCatalogFile(join(catalogOf(mappings), 'synonyms.csv'), SET_MAPPINGS)
  return readCsv('catalog/synonyms.csv', text)
    .slice(1)
    .map(([key = '', name = '']) => [key, name] as const)
}

const unitsOf = (files: CatalogFiles): Units =>
  createUnits(readTable('catalog/unit-spellings.csv', files.unitSpellings), WORKED)

/** Checks the shipped files at build time, and works out their units. @throws `catalog-invalid` */
export function prepareCatalog(files: CatalogFiles): CheckedCatalog {
  const checked = checkCatalog(files)
  const entries = Object.values(checked.biometrics)
  const codes = new Set([...unitsOf(files).codes.keys(), ...entries.map(({ unit }) => unit)])
  return { ...checked, units: [...codes], factors: workOutFactors(codes, entries) }
}

/** Parses and checks the shipped files. @throws `catalog-invalid` */
function checkCatalog(files: CatalogFiles): Omit<CheckedCatalog, 'units' | 'factors'> {
  const file = 'catalog/biometrics.yaml'
  const biometrics = parseYaml(files.biometrics, file, BiometricCatalog, 'catalog-invalid')
  const conditions = parseYaml(
    files.conditions,
    'catalog/conditions.yaml',
    ConditionCatalog,
    'catalog-invalid',
  )
  const findings: Finding[] = []
  reportUnits(biometrics.value, unitsOf(files), Object.keys(biometrics.value), (key, message) =>
    findings.push({ place: biometrics.locate([key, 'unit']), message }),
  )
  if (findings.length > 0) throw refusal(file, 'catalog-invalid', findings)
  return { digest: digestOf(files), biometrics: biometrics.value, conditions: conditions.value }
}

function catalogOfJob(
  shipped: Catalog,
  { file, text }: NonNullable<CatalogFiles['ofJob']>,
  units: Units,
): Catalog {
  const extension = parseYaml(text, file, CatalogExtension, 'catalog-invalid')
  const findings: Finding[] = []
  const catalog = extendCatalog(shipped, extension.value, units, (path, message) =>
    findings.push({ place: extension.locate(path), message }),
  )
  if (findings.length > 0) throw refusal(file, 'catalog-invalid', findings)
  return catalog
}

function readSheet(file: string, text: string): Sheet {
  const [columns = [], ...rows] = readCsv(file, text)
  return { columns, rows }
}

/** Reads a table of two columns with a header line: value in the export, meaning. */
function readTable(file: string, text: string): ReadonlyMap<string, string> {
  const table = new Map<string, string>()
  for (const [from = '', to = ''] of readCsv(file, text).slice(1)) {
    if (table.has(from))
      throw new WaybillError('catalog-invalid', `${file} has two lines for "${from}"`, { place: { file } })
    table.set(from, to)
  }
  return table
}

function readCsv(file: string, text: string): string[][] {
  try {
    return parse(text, { bom: true, trim: true, skip_empty_lines: true })
  } catch (cause) {
    const message = reasonOf(cause)
    throw new WaybillError('catalog-invalid', `${file} cannot be read as CSV: ${message}`, {
      place: { file },
      cause,
    })
  }
}

async function readTables(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder).catch(() => [])
  const tables = names.filter((name) => name.endsWith('.csv')).sort()
  return Object.fromEntries(
    await Promise.all(
      tables.map(async (name) => [name.slice(0, -4), await readObeyed(join(folder, name))] as const),
    ),
  )
}

async function readCatalogFile(path: string, remedy: string): Promise<string> {
  try {
    // The shipped catalog is part of the program.
    return await (dirname(path) === SHIPPED ? readFile(path, 'utf8') : readObeyed(path))
  } catch (cause) {
    if (cause instanceof WaybillError) throw cause
    const file = shownPath(path)
    throw new WaybillError('catalog-invalid', `${file} is not there`, { place: { file }, remedy, cause })
  }
}
