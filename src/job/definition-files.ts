/** Reads jobs and mappings from their folders, with all that a mapping refers to. */
import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, parse as parsePath, relative, resolve } from 'node:path'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { WaybillError } from '../errors.ts'
import { type ReadDefinition, readDefinition } from '../extract/read-definition.ts'
import { BiometricCatalog, ConditionCatalog, createCatalog } from '../transform/catalog.ts'
import { type CompiledMapping, compileMapping } from '../transform/compile.ts'
import type { MappingResources } from '../transform/compile-context.ts'
import type { Sheet } from '../transform/join.ts'
import { MappingDefinition } from '../transform/mapping-definition.ts'
import { createUnits } from '../transform/units.ts'
import { parseYaml, refusal } from '../yaml-file.ts'
import { JobDefinition } from './job-definition.ts'
import { type JobSource, jobSource } from './job-source.ts'

/** Where definitions are found. */
export interface DefinitionFolders {
  readonly jobs: string
  readonly mappings: string
}

export interface Job {
  readonly file: string
  readonly definition: JobDefinition
  /** One for each entry of `exports`, with its paths resolved. */
  readonly sources: readonly JobSource[]
}

/** @throws WaybillError `job-not-found`, `job-invalid` */
export async function readJob(folders: DefinitionFolders, name: string): Promise<Job> {
  const file = await findDefinition(folders.jobs, name, 'job-not-found', 'job')
  const { value, locate } = parseYaml(await readFile(file, 'utf8'), shown(file), JobDefinition, 'job-invalid')
  const named = parsePath(file).name
  if (value.job !== named) {
    throw refusal(shown(file), 'job-invalid', [
      {
        place: locate(['job']),
        message: `the file is named ${named}, the job ${value.job}: make them the same`,
      },
    ])
  }
  const sources = value.exports.map((one) => jobSource(one, value.mapping, dirname(file)))
  return { file, definition: value, sources }
}

/** A mapping with all that it refers to, as text: what a run keeps, so that its resumption maps the same way. */
const MappingBundle = z.object({
  file: z.string(),
  mapping: z.string(),
  biometrics: z.string(),
  conditions: z.string(),
  unitSpellings: z.string(),
  tables: z.record(z.string(), z.string()),
})
type MappingBundle = z.infer<typeof MappingBundle>

export interface LoadedMapping {
  readonly name: string
  readonly read: ReadDefinition
  readonly compiled: CompiledMapping
  /** The bundle as text, and its SHA-256. */
  readonly content: string
  readonly digest: string
}

/** @throws WaybillError `mapping-not-found`, `mapping-invalid`, `catalog-invalid` */
export async function readMapping(folders: DefinitionFolders, name: string): Promise<LoadedMapping> {
  const file = await findDefinition(folders.mappings, name, 'mapping-not-found', 'mapping')
  const catalog = join(folders.mappings, 'catalog')
  const [mapping, biometrics, conditions, unitSpellings, tables] = await Promise.all([
    readFile(file, 'utf8'),
    readCatalogFile(join(catalog, 'biometrics.yaml')),
    readCatalogFile(join(catalog, 'conditions.yaml')),
    readCatalogFile(join(catalog, 'unit-spellings.csv')),
    readTables(join(folders.mappings, 'tables')),
  ])
  return loadMapping(
    JSON.stringify({
      file: shown(file),
      mapping,
      biometrics,
      conditions,
      unitSpellings,
      tables,
    } satisfies MappingBundle),
  )
}

/** Compiles a mapping from its bundle: one just read, or one that a run has kept. */
export function loadMapping(content: string): LoadedMapping {
  const bundle = MappingBundle.parse(JSON.parse(content))
  const file = parseYaml(bundle.mapping, bundle.file, MappingDefinition, 'mapping-invalid')
  const { each: _levels, ...block } = file.value.read
  const read = readDefinition.safeParse(block)
  if (!read.success) {
    const findings = read.error.issues.map((issue) => ({
      place: file.locate(['read', ...issue.path.map(String)]),
      message: issue.message,
    }))
    throw refusal(bundle.file, 'mapping-invalid', findings)
  }
  const compiled = compileMapping(file, resourcesOf(bundle))
  return {
    name: file.value.mapping,
    read: read.data,
    compiled,
    content,
    digest: hash('sha256', content, 'hex'),
  }
}

function resourcesOf(bundle: MappingBundle): MappingResources {
  const biometrics = parseYaml(
    bundle.biometrics,
    'catalog/biometrics.yaml',
    BiometricCatalog,
    'catalog-invalid',
  )
  const conditions = parseYaml(
    bundle.conditions,
    'catalog/conditions.yaml',
    ConditionCatalog,
    'catalog-invalid',
  )
  const units = createUnits(readTable('catalog/unit-spellings.csv', bundle.unitSpellings))
  const unknown = Object.entries(biometrics.value).filter(
    ([, entry]) => units.resolve(entry.unit) !== entry.unit,
  )
  if (unknown.length > 0) {
    const findings = unknown.map(([key, entry]) => ({
      place: biometrics.locate([key, 'unit']),
      message: `"${entry.unit}" is no UCUM code`,
    }))
    throw refusal('catalog/biometrics.yaml', 'catalog-invalid', findings)
  }
  // One of two columns is a table of values; one of more is read by key, through a join.
  const sheets = new Map(
    Object.entries(bundle.tables).map(([name, text]) => [name, readSheet(`tables/${name}.csv`, text)]),
  )
  const tables = new Map(
    Object.entries(bundle.tables).flatMap(([name, text]) =>
      (sheets.get(name)?.columns.length ?? 0) > 2 ? [] : [[name, readTable(`tables/${name}.csv`, text)]],
    ),
  )
  return { catalog: createCatalog(biometrics.value, conditions.value), units, tables, sheets }
}

function readSheet(file: string, text: string): Sheet {
  const [columns = [], ...rows] = readCsv(file, text)
  return { columns, rows }
}

/** A table of two columns with a header line: what stands in the export, what it means. */
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
    const message = cause instanceof Error ? cause.message : String(cause)
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
      tables.map(async (name) => [name.slice(0, -4), await readFile(join(folder, name), 'utf8')] as const),
    ),
  )
}

async function readCatalogFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new WaybillError('catalog-invalid', `${shown(file)} is not there`, {
      place: { file: shown(file) },
      remedy:
        'Set WAYBILL_MAPPINGS to a folder that has catalog/biometrics.yaml, conditions.yaml and unit-spellings.csv.',
      cause,
    })
  }
}

/** `name` may be a name or a path to a YAML file. */
async function findDefinition(
  folder: string,
  name: string,
  code: 'job-not-found' | 'mapping-not-found',
  what: string,
): Promise<string> {
  const isPath = /\.ya?ml$/.test(name)
  const candidates = isPath ? [resolve(name)] : [join(folder, `${name}.yaml`), join(folder, `${name}.yml`)]
  for (const candidate of candidates) {
    try {
      await readFile(candidate)
      return candidate
    } catch {
      // The next candidate may be there.
    }
  }
  const there = (await readdir(folder).catch(() => [])).flatMap(
    (file) => /^(.+)\.ya?ml$/.exec(file)?.[1] ?? [],
  )
  const list = there.length === 0 ? `${shown(folder)} has none` : `${shown(folder)} has: ${there.join(', ')}`
  throw new WaybillError(
    code,
    `there is no ${what} "${name}" (looked for ${candidates.map(shown).join(', ')}); ${list}`,
  )
}

/** Paths are shown relative to where the command was typed, unless that is longer. */
function shown(path: string): string {
  const short = relative('.', path)
  return short.startsWith('..') ? path : short
}
