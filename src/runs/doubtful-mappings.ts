/** What the names of an export's columns say against mappings, by the names that the catalog folder knows. */
import { readSynonyms } from '../definitions/catalog-files.ts'
import type { DefinitionFolders, LoadedMapping } from '../definitions/definition-files.ts'
import { doubtfulColumns } from '../mapping-tools/doubtful-columns.ts'
import { createVocabulary } from '../mapping-tools/draft/names.ts'
import { createFitWatch, type Suspicion } from '../mapping-tools/judge-fit.ts'
import { WaybillError } from '../model/errors.ts'

/** By the name of the mapping. Without synonyms in the folder, only the names of the catalog itself are known. */
export async function doubtsOf(
  { mappings: folder }: Pick<DefinitionFolders, 'mappings'>,
  mappings: Iterable<LoadedMapping>,
): Promise<ReadonlyMap<string, readonly Suspicion[]>> {
  const synonyms = await readSynonyms(folder).catch((error: unknown) => {
    if (error instanceof WaybillError) return []
    throw error
  })
  return new Map(
    [...mappings].map(({ name, definition, resources: { catalog, units } }) => [
      name,
      doubtfulColumns(definition, createVocabulary(catalog, units, synonyms)),
    ]),
  )
}

/** Watches how one mapping fits an export. @param columns of the export */
export async function watchFit(
  folders: Pick<DefinitionFolders, 'mappings'>,
  mapping: LoadedMapping,
  columns: Parameters<typeof createFitWatch>[1],
): Promise<ReturnType<typeof createFitWatch>> {
  return createFitWatch(mapping, columns, (await doubtsOf(folders, [mapping])).get(mapping.name))
}
