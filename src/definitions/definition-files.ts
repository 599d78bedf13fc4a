/** Reads jobs and mappings from their folders, with all that a mapping refers to. */
import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, parse as parsePath, resolve } from 'node:path'
import { z } from 'zod'
import { type ReadDefinition, readDefinition } from '../extract/read-definition.ts'
import { type Finding, filesExhausted, type Place, WaybillError } from '../model/errors.ts'
import { readObeyed } from '../obeyed-files.ts'
import { checkWith } from '../schema-problems.ts'
import { shownPath } from '../shown-text.ts'
import { extendCatalog } from '../transform/catalog.ts'
import { type CompiledMapping, compileMapping } from '../transform/compile.ts'
import type { ExportJoin, KeptRows, MappingResources } from '../transform/compile-context.ts'
import { MappingDefinition, undecidedLines } from '../transform/mapping-definition.ts'
import { type KeyPath, parseYaml, refusal } from '../yaml-file.ts'
import { CatalogFiles, readCatalogFiles, resourcesOf } from './catalog-files.ts'
import { type JobSource, jobSource } from './export-definition.ts'
import { JobDefinition } from './job-definition.ts'

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
  /** Path of the job's own catalog file. */
  readonly catalog: string | undefined
  /** Where in the file it stands who is told. */
  readonly notifyAt: Place
}

/** @throws WaybillError `job-not-found`, `job-invalid`, `file-untrusted` */
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
  const { people, mapping } = value
  const roster = people === undefined || people === 'known' ? undefined : people
  const sources = (roster?.exports ?? value.exports).map((one) =>
    jobSource(one, roster?.mapping ?? mapping, dirname(file), value.schedule?.zone),
  )
  const catalog = value.catalog && resolve(dirname(file), value.catalog)
  return { file, definition: value, sources, catalog, notifyAt: locate(['notify']) }
}

/** The folder of a job's authorizations; undefined where it names none. */
export const authorizationsFolder = ({ file, definition }: Job): string | undefined =>
  definition.medicalRecords && resolve(dirname(file), definition.medicalRecords.authorizations)

/** A mapping with all that it refers to, as text: what a run keeps, so that its resumption maps the same way. */
const MappingBundle = z.object({
  file: z.string(),
  mapping: z.string(),
  ...CatalogFiles.shape,
  /** SHA-256 of what was kept of joined exports, by the name of the join. */
  joined: z.record(z.string(), z.string()).optional(),
})
type MappingBundle = z.infer<typeof MappingBundle>

/** A join to a second export, and how that is read. */
export interface JoinedExport extends ExportJoin {
  readonly read: ReadDefinition
}

export interface LoadedMapping {
  readonly name: string
  /** The path that it was read from. */
  readonly file: string
  readonly read: ReadDefinition
  readonly definition: MappingDefinition
  readonly compiled: CompiledMapping
  /** What it refers to by name. */
  readonly resources: MappingResources
  /** Lines on which a draft asks for a decision that nobody has made yet, from 1. */
  readonly undecided: readonly number[]
  /** The mapping as it is written. */
  readonly text: string
  /** The bundle as text, and its SHA-256. */
  readonly content: string
  readonly digest: string
  /** What must be read beside an export before its rows can be mapped. */
  readonly joins: readonly JoinedExport[]
  /** SHA-256 of what was kept of it, by the name of the join. */
  readonly joined: Readonly<Record<string, string>>
  /** The same mapping with what was kept. */
  withJoins(joined: Readonly<Record<string, string>>, kept: ReadonlyMap<string, KeptRows>): LoadedMapping
}

/**
 * @param catalog path of a catalog file that is laid over the shipped one: that of the job
 * @throws WaybillError `mapping-not-found`, `mapping-invalid`, `catalog-invalid`, `file-untrusted`
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
 * As `readMapping`, for what is to be sent: a guess that a draft has left open must not reach the gateway.
 * @throws WaybillError as `readMapping`; `mapping-invalid` where lines are undecided
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
    message: 'the draft asks for a decision here that was not made yet',
  }))
  throw new WaybillError('mapping-invalid', `${file} is a draft with lines that nobody has decided yet`, {
    place: { file },
    findings,
    remedy: `Decide what stands behind DECIDE, replace a placeholder date, take the comments out, then run \`waybill mapping check ${mapping.name}\`.`,
  })
}

/** Compiles a mapping from its bundle: one just read, or one that a run has kept. */
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

/** What an action finds wrong with the mapping. */
function findingsOf(act: () => unknown): readonly Finding[] {
  try {
    act()
    return []
  } catch (error) {
    if (error instanceof WaybillError && error.code === 'mapping-invalid') return error.findings
    throw error
  }
}

/** Where a definition may lie. @param name or the path of a YAML file */
export const definitionPaths = (folder: string, name: string): string[] =>
  isYamlPath(name) ? [resolve(name)] : [join(folder, `${name}.yaml`), join(folder, `${name}.yml`)]

const isYamlPath = (name: string): boolean => /\.ya?ml$/.test(name)

/** `name` may be a name or a path to a YAML file. */
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
      // The next candidate may be there.
      if (reason === 'ENOENT' || reason === 'ENOTDIR') continue
      throw (
        filesExhausted(cause) ??
        new WaybillError(
          code === 'job-not-found' ? 'job-invalid' : 'mapping-invalid',
          `the ${what} "${name}" cannot be read: ${reason}`,
          {
            place: { file: shownPath(candidate) },
            remedy: 'It must be a file that this user may read.',
            cause,
          },
        )
      )
    }
  }
  // A path does not hang on the folder.
  const isThere = isPath || (await readdir(folder).then(Boolean, () => false))
  if (!isThere)
    throw new WaybillError(
      code,
      `there is no ${what} "${name}": the folder ${shownPath(folder)} cannot be read`,
      {
        remedy: `Check WAYBILL_${what.toUpperCase()}S, and that the disk it lies on is there. \`waybill doctor\` looks it over.`,
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

/** The names of all jobs or mappings in a folder; cases of a mapping are none. */
export async function definitionsIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => [])
  return files.flatMap((file) => /^(.+)(?<!\.cases)\.ya?ml$/.exec(file)?.[1] ?? [])
}

/**
 * The mappings of a job's sources, by name.
 * @throws WaybillError as `readDecidedMapping`; `job-invalid` where a mapping has authorizations and the job no folder of them
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
  // Mappings of a job that collects say who is asked about; nothing is sent.
  const { collect } = job.definition
  if (collect !== undefined || authorizationsFolder(job) !== undefined) return mappings
  for (const { file, definition } of mappings.values())
    for (const { authorization } of Object.values(definition.medicalRecords ?? {}))
      if (authorization !== undefined)
        throw refusal(shownPath(job.file), 'job-invalid', [
          {
            place: { file: shownPath(job.file) },
            message: `${file} names authorizations, and the job no folder of them: add medicalRecords: { authorizations: FOLDER }`,
          },
        ])
  return mappings
}
