/** Doubts about mappings from the column names of an export, by the names known to the catalog folder. */
import { readSynonyms } from '../definitions/catalog-files.ts'
import type { DefinitionFolders, LoadedMapping } from '../definitions/definition-files.ts'
import { unreadColumns } from '../mapping-tools/coverage.ts'
import { doubtfulColumns, unreadBeside } from '../mapping-tools/doubtful-columns.ts'
import { createVocabulary, type Vocabulary } from '../mapping-tools/draft/names.ts'
import { createFitWatch, type Suspicion } from '../mapping-tools/judge-fit.ts'
import { WaybillError } from '../model/errors.ts'

/** Doubts by mapping name. Without synonyms in the folder, only the names of the catalog itself are known. */
export async function doubtsOf(
  folders: Pick<DefinitionFolders, 'mappings'>,
  mappings: Iterable<LoadedMapping>,
): Promise<ReadonlyMap<string, readonly Suspicion[]>> {
  const vocabularyOf = await vocabularies(folders)
  return new Map(
    [...mappings].map((mapping) => [
      mapping.name,
      doubtfulColumns(mapping.definition, vocabularyOf(mapping)),
    ]),
  )
}

async function vocabularies({
  mappings: folder,
}: Pick<DefinitionFolders, 'mappings'>): Promise<(mapping: LoadedMapping) => Vocabulary> {
  const synonyms = await readSynonyms(folder).catch((error: unknown) => {
    if (error instanceof WaybillError) return []
    throw error
  })
  return ({ resources: { catalog, units } }) => createVocabulary(catalog, units, synonyms)
}

/** Watches how a mapping fits an export. @param columns of the export */
export async function watchFit(
  folders: Pick<DefinitionFolders, 'mappings'>,
  mapping: LoadedMapping,
  columns: Parameters<typeof createFitWatch>[1],
): Promise<ReturnType<typeof createFitWatch>> {
  const vocabulary = (await vocabularies(folders))(mapping)
  const { definition, compiled } = mapping
  return createFitWatch(mapping, columns, [
    ...doubtfulColumns(definition, vocabulary),
    ...unreadBeside(definition, unreadColumns(compiled.reads, columns ?? []), vocabulary),
  ])
}
