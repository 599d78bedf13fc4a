/** Doubts about mappings, by column names of an export and names known to the catalog folder. */
import { readSynonyms } from '../definitions/catalog-files.ts'
import type { DefinitionFolders, LoadedMapping } from '../definitions/definition-files.ts'
import { WaybillError } from '../model/errors.ts'
import { doubtfulColumns, unreadBeside } from '../watch/doubtful-columns.ts'
import { createFitWatch, type Suspicion } from '../watch/judge-fit.ts'
import { type KnownNames, knownNames } from '../watch/names.ts'
import { unreadColumns } from '../watch/unread-columns.ts'

/** Doubts by mapping name. Without synonyms in the folder, only the names of the catalog itself are known. */
export async function doubtsOf(
  folders: Pick<DefinitionFolders, 'mappings'>,
  mappings: Iterable<LoadedMapping>,
): Promise<ReadonlyMap<string, readonly Suspicion[]>> {
  const namesOf = await knownNamesIn(folders)
  return new Map(
    [...mappings].map((mapping) => [mapping.name, doubtfulColumns(mapping.definition, namesOf(mapping))]),
  )
}

async function knownNamesIn({
  mappings: folder,
}: Pick<DefinitionFolders, 'mappings'>): Promise<(mapping: LoadedMapping) => KnownNames> {
  const synonyms = await readSynonyms(folder).catch((error: unknown) => {
    if (error instanceof WaybillError) return []
    throw error
  })
  return ({ resources: { catalog, units } }) => knownNames(catalog, units, synonyms)
}

/** Watches how a mapping fits an export. @param columns of the export */
export async function watchFit(
  folders: Pick<DefinitionFolders, 'mappings'>,
  mapping: LoadedMapping,
  columns: Parameters<typeof createFitWatch>[1],
): Promise<ReturnType<typeof createFitWatch>> {
  const names = (await knownNamesIn(folders))(mapping)
  const { definition, compiled } = mapping
  return createFitWatch(mapping, columns, [
    ...doubtfulColumns(definition, names),
    ...unreadBeside(definition, unreadColumns(compiled.reads, columns ?? []), names),
  ])
}
