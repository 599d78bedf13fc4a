/** Reads jobs and mappings from their folders, with everything that a mapping refers to. */
import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, parse as parsePath, resolve } from 'node:path'
import { z } from 'zod'
import { type ReadDefinition, readDefinition } from '../extract/read-definition.ts'
import { KNOWN_PEOPLE, listedArticles } from '../extract/sources/id-lists.ts'
import { type Finding, filesExhausted, type Place, WaybillError } from '../model/errors.ts'
import { readObeyed } from '../system/obeyed-files.ts'
import { checkWith } from '../system/schema-problems.ts'
import { shownPath } from '../system/shown-text.ts'
import { type KeyPath, parseYaml, refusal } from '../system/yaml-file.ts'
import { extendCatalog } from '../transform/catalog.ts'
import { type CompiledMapping, compileMapping } from '../transform/compile.ts'
import type { ExportJoin, KeptRows, MappingResources } from '../transform/compile-context.ts'
import { MappingDefinition, undecidedLines } from '../transform/mapping-definition.ts'
import { CatalogFiles, readCatalogFiles, resourcesOf } from './catalog-files.ts'
import { type JobSource, jobSource, listSource } from './export-definition.ts'
import { JobDefinition } from './job-definition.ts'

/** Folders of the definitions. */
export interface DefinitionFolders {
  readonly jobs: string
  readonly mappings: string
}

export interface Job {
  readonly file: string
  readonly definition: JobDefinition
  /** One source per entry of `exports`, with resolved paths; or a list of ids. */
  readonly sources: readonly JobSource[]
  /** Path of the job's own catalog file. */
  readonly catalog: string | undefined
  readonly notifyAt: Place
}

/** Reads and checks a job file. @throws `job-not-found`, `job-invalid`, `file-untrusted` */
export async function readJob(folders: DefinitionFolders, name: string): Promise<Job> {
  const file = await findDefinition(folders.jobs, name, 'job-not-found', 'job')
  const { value, locate } = parseYaml(await readObeyed(file), shownPath(file), JobDefinition, 'job-invalid')
  const named = parsePath(file).name
  if (value.job !== named) {
    throw refusal(shownPath(file), 'job-invalid', [
      {
        place: locate(['job']),
        message: `the file is named ${named}, the job ${value.job}: make them the same`,
      },
    ])
  }
  const catalog = value.catalog && resolve(dirname(file), value.catalog)
  const sources = sourcesOf(value, dirname(file))
  return { file, definition: value, sources, catalog, notifyAt: locate(['notify']) }
}

/** Sources of the rows of a job: its exports, a roster, or a list of ids. @param folder of the job file */
function sourcesOf(
  { exports, mapping, schedule, people, collect }: JobDefinition,
  folder: string,
): JobSource[] {
  if (people === 'known') return [listSource(KNOWN_PEOPLE)]
  if (collect?.what.includes('articles') === true) return [listSource(listedArticles(collect.articles))]
  return (people?.exports ?? exports).map((one) =>
    jobSource(one, people?.mapping ?? mapping, folder, schedule?.zone),
  )
}

/** Returns the folder of a job's authorizations; undefined if the job names none. */
export const authorizationsFolder = ({ file, definition }: Job): string | undefined =>
  definition.medicalRecords && resolve(dirname(file), definition.medicalRecords.authorizations)

/** Mapping with all files it refers to, as text: a resumed run maps alike. */
const MappingBundle = z.object({
  file: z.string(),
  mapping: z.string(),
  ...CatalogFiles.shape,
  /** SHA-256 of the kept rows of joined exports, by name of the join. */
  joined: z.record(z.string(), z.string()).optional(),
})
type MappingBundle = z.infer<typeof MappingBundle>

/** Join to a second export, with the way to read that export. */
export interface JoinedExport extends ExportJoin {
  readonly read: ReadDefinition
}

export interface LoadedMapping {
  readonly name: string
  readonly file: string
  readonly read: ReadDefinition
  readonly definition: MappingDefinition
  readonly compiled: CompiledMapping
  /** Catalog, units and tables that the mapping refers to by name. */
  readonly resources: MappingResources
  /** Lines of a draft that still need a decision, from 1. */
  readonly undecided: readonly number[]
  readonly text: string
  /** Bundle as text, and its SHA-256. */
  readonly content: string
  readonly digest: string
  /** Exports to read before rows can be mapped. */
  readonly joins: readonly JoinedExport[]
  /** SHA-256 of the kept rows, by name of the join. */
  readonly joined: Readonly<Record<string, string>>
  /** Returns this mapping with the kept rows of its joins. */
  withJoins(joined: Readonly<Record<string, string>>, kept: ReadonlyMap<string, KeptRows>): LoadedMapping
}

/**
 * Reads and compiles a mapping.
 *
 * @param catalog path of the job's catalog file, laid over the shipped catalog
 * @throws `mapping-not-found`, `mapping-invalid`, `catalog-invalid`, `file-untrusted`
 */
export async function readMapping(
  folders: DefinitionFolders,
  name: string,
  catalog?: string,
): Promise<LoadedMapping> {
  const file = await findDefinition(folders.mappings, name, 'mapping-not-found', 'mapping')
  const [mapping, files] = await Promise.all([readObeyed(file), readCatalogFiles(folders.mappings, catalog)])
  return loadMapping(JSON.stringify({ file: shownPath(file), mapping, ...files } satisfies MappingBundle))
}

/**
 * Reads a mapping for sending: an undecided guess of a draft must not reach the gateway.
 *
 * @throws as `readMapping`; `mapping-invalid` if lines are undecided
 */
export async function readDecidedMapping(
  folders: DefinitionFolders,
  name: string,
  catalog?: string,
): Promise<LoadedMapping> {
  const mapping = await readMapping(folders, name, catalog)
  const { file, undecided } = mapping
  if (undecided.length === 0) return mapping
  const findings = undecided.map((line) => ({
    place: { file, line },
    message: 'the draft needs a decision here',
  }))
  throw new WaybillError('mapping-invalid', `${file} is a draft with undecided lines`, {
    place: { file },
    findings,
    remedy: `Decide each line with a DECIDE comment, replace placeholder dates, remove the comments, then run \`waybill mapping check ${mapping.name}\`.`,
  })
}

/** Text of the mapping file in a bundle. */
export const mappingTextIn = (content: string): string => MappingBundle.parse(JSON.parse(content)).mapping

/** Compiles a mapping from its bundle, freshly read or kept by a run. */
export function loadMapping(content: string, kept?: ReadonlyMap<string, KeptRows>): LoadedMapping {
  const bundle = MappingBundle.parse(JSON.parse(content))
  const file = parseYaml(bundle.mapping, bundle.file, MappingDefinition, 'mapping-invalid')
  const { each: _levels, ...block } = file.value.read
  const findings: Finding[] = []
  const readAs = (written: unknown, path: KeyPath): ReadDefinition | undefined => {
    const checked = checkWith(readDefinition, written)
    if ('data' in checked) return checked.data
    for (const { path: within, message } of checked.problems)
      findings.push({ place: file.locate([...path, ...within]), message })
    return undefined
  }
  const read = readAs(block, ['read'])
  const joinsRead = Object.entries(file.value.joins ?? {}).map(
    ([name, join]) => [name, join.read && readAs(join.read, ['joins', name, 'read'])] as const,
  )
  const common = resourcesOf(bundle)
  const catalog = extendCatalog(common.catalog, file.value.catalog ?? {}, common.units, (path, message) =>
    findings.push({ place: file.locate(['catalog', ...path]), message }),
  )
  const resources = { ...common, catalog, kept }
  const compile = (): CompiledMapping => compileMapping(file, resources)
  if (read === undefined || findings.length > 0)
    throw refusal(bundle.file, 'mapping-invalid', [...findings, ...findingsOf(compile)])
  const compiled = compile()
  return {
    name: file.value.mapping,
    file: bundle.file,
    read,
    definition: file.value,
    compiled,
    resources,
    undecided: undecidedLines(bundle.mapping),
    text: bundle.mapping,
    content,
    digest: hash('sha256', content, 'hex'),
    joins: compiled.exportJoins.flatMap((join) => {
      const how = new Map(joinsRead).get(join.name)
      return how === undefined ? [] : [{ ...join, read: how }]
    }),
    joined: bundle.joined ?? {},
    withJoins: (joined, rows) =>
      loadMapping(JSON.stringify({ ...bundle, joined } satisfies MappingBundle), rows),
  }
}

/** Returns the findings of an action that rejects the mapping; none if the action succeeds. */
function findingsOf(act: () => unknown): readonly Finding[] {
  try {
    act()
    return []
  } catch (error) {
    if (error instanceof WaybillError && error.code === 'mapping-invalid') return error.findings
    throw error
  }
}

/** Lists possible paths of a definition. @param name or the path of a YAML file */
export const definitionPaths = (folder: string, name: string): string[] =>
  isYamlPath(name) ? [resolve(name)] : [join(folder, `${name}.yaml`), join(folder, `${name}.yml`)]

const isYamlPath = (name: string): boolean => /\.ya?ml$/.test(name)

/** Finds the file of a definition. `name` is a name or the path of a YAML file. */
async function findDefinition(
  folder: string,
  name: string,
  code: 'job-not-found' | 'mapping-not-found',
  what: string,
): Promise<string> {
  const isPath = isYamlPath(name)
  const candidates = definitionPaths(folder, name)
  for (const candidate of candidates) {
    try {
      await readFile(candidate)
      return candidate
    } catch (cause) {
      const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
      // The next candidate may exist.
      if (reason === 'ENOENT' || reason === 'ENOTDIR') continue
      throw (
        filesExhausted(cause) ??
        new WaybillError(
          code === 'job-not-found' ? 'job-invalid' : 'mapping-invalid',
          `the ${what} "${name}" cannot be read: ${reason}`,
          {
            place: { file: shownPath(candidate) },
            remedy: 'Make it a file that this user may read.',
            cause,
          },
        )
      )
    }
  }
  // A path does not depend on the folder.
  const isThere = isPath || (await readdir(folder).then(Boolean, () => false))
  if (!isThere)
    throw new WaybillError(
      code,
      `there is no ${what} "${name}": the folder ${shownPath(folder)} cannot be read`,
      {
        remedy: `Check WAYBILL_${what.toUpperCase()}S, and that its disk is mounted. \`waybill doctor\` checks the folder.`,
      },
    )
  const there = await definitionsIn(folder)
  const list =
    there.length === 0 ? `${shownPath(folder)} has none` : `${shownPath(folder)} has: ${there.join(', ')}`
  throw new WaybillError(
    code,
    `there is no ${what} "${name}" (looked for ${candidates.map(shownPath).join(', ')}); ${list}`,
  )
}

/** Lists the names of all jobs or mappings in a folder, without the cases of mappings. */
export async function definitionsIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => [])
  return files.flatMap((file) => /^(.+)(?<!\.cases)\.ya?ml$/.exec(file)?.[1] ?? [])
}

/**
 * Reads the mappings of a job's sources, by name.
 *
 * @throws as `readDecidedMapping`; `job-invalid` if a mapping has authorizations and the job has no folder for them
 */
export async function readMappings(
  folders: DefinitionFolders,
  job: Job,
): Promise<Map<string, LoadedMapping>> {
  const names = new Set(job.sources.map((source) => source.mapping))
  const mappings = new Map(
    await Promise.all(
      [...names].map(async (name) => [name, await readDecidedMapping(folders, name, job.catalog)] as const),
    ),
  )
  // Jobs that collect send nothing, and need no authorizations.
  const { collect } = job.definition
  if (collect !== undefined || authorizationsFolder(job) !== undefined) return mappings
  for (const { file, definition } of mappings.values())
    for (const { authorization } of Object.values(definition.medicalRecords ?? {}))
      if (authorization !== undefined)
        throw refusal(shownPath(job.file), 'job-invalid', [
          {
            place: { file: shownPath(job.file) },
            message: `${file} names authorizations, and the job has no folder for them: add medicalRecords: { authorizations: FOLDER }`,
          },
        ])
  return mappings
}
