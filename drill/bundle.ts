/**
 * The watched program in a few files, made once for all rounds: from its sources a process would spend more time on finding modules than on
 * its work.
 */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

/** Inside the project: packages that stay as they are, with files of their own, are found from here. */
const CACHE = join(import.meta.dirname, '../node_modules/.cache')
const KEPT_AS_THEY_ARE = [/^@lhncbc\//, /^ssh2/, /^@aws-sdk\//, /\.node$/]

/** What a module reads beside itself it finds where it was written. */
const ownPlace = {
  name: 'own-place',
  transform: {
    filter: { code: /import\.meta\./ },
    handler: (code: string, id: string): string =>
      code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id))),
  },
}

/** @returns the folder that was made for it, and the file to start */
export async function bundle(
  program: string,
): Promise<{ readonly folder: string; readonly program: string }> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'waybill-drill-'))
  const made = await rolldown({
    input: { program },
    platform: 'node',
    external: KEPT_AS_THEY_ARE,
    plugins: [ownPlace],
  })
  await made.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  })
  await made.close()
  return { folder, program: join(folder, 'program.mjs') }
}
