/** Which mappings a command is about, and where their cases stand. */
import { readFile } from 'node:fs/promises'
import { type DefinitionFolders, definitionsIn, type LoadedMapping } from '../definitions/definition-files.ts'
import { WaybillError } from '../model/errors.ts'

/** Those that are named; without names, all of the folder. */
export async function mappingsMeant(folders: DefinitionFolders, named: readonly string[]): Promise<string[]> {
  return named.length > 0 ? [...named] : (await definitionsIn(folders.mappings)).sort()
}

/** `NAME.cases.yaml` beside `NAME.yaml`. */
export const casesFile = (mapping: LoadedMapping): string => mapping.file.replace(/\.ya?ml$/, '.cases.yaml')

/** The text of a mapping's cases; undefined where there are none. @throws WaybillError `cases-not-found`: the file cannot be read */
export async function readCasesText(mapping: LoadedMapping): Promise<string | undefined> {
  const file = casesFile(mapping)
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new WaybillError('cases-not-found', `${file} cannot be read`, { place: { file }, cause })
  }
}
