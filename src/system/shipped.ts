/** Files shipped with the program, in a clone and in the package alike: mappings, samples, docs. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest folder upwards with a manifest: compiled sources lie deeper in the project than the sources. */
function rootFrom(folder: string): string {
  const isRoot = existsSync(join(folder, 'package.json')) || dirname(folder) === folder
  return isRoot ? folder : rootFrom(dirname(folder))
}

const ROOT = rootFrom(import.meta.dirname)

/** Absolute path of a shipped file or folder, by its path from the root of the project; the root itself without a path. */
export const shipped = (path = ''): string => join(ROOT, path)
