/**
 * The articles that the content service lists, as an export of their ids: a run goes through it as through any other, and is resumed so. The list of
 * the last run is kept, so that the next one can tell which are gone.
 */
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { CollectDefinition } from '../definitions/collect-definition.ts'
import { makeFolder } from '../own-files.ts'
import type { Arrival } from './arrival.ts'
import type { RunDependencies } from './dependencies.ts'
import type { FoundExport } from './find-exports.ts'
import { ANY_RULES } from './found-delivery.ts'
import { mappingOfIds } from './known-people.ts'
import { plainSending } from './plain-sending.ts'

const NAME = 'known-articles'

/** Of ids of articles. */
export const knownArticlesMapping = (): ReturnType<typeof mappingOfIds> => mappingOfIds(NAME, 'contentId')

const Listed = z.object({ contentId: z.string(), title: z.string().optional() })

const listOf = (home: string, run: string): string => join(home, 'collections', run, `${NAME}.ndjson`)
const keptOf = (home: string, job: string): string => join(home, 'collections', `${NAME}-${job}.ndjson`)

type Asking = Pick<RunDependencies, 'gateway' | 'home' | 'now' | 'random' | 'sleep' | 'interrupt'>

/** @param run of which they are to be */
export async function knownArticles(
  deps: Asking,
  arrival: Arrival,
  run: string,
  { page, filter = {} }: NonNullable<CollectDefinition['articles']> | Record<string, never>,
): Promise<readonly FoundExport[]> {
  const { gateway, home } = deps
  const { read } = plainSending(deps, gateway, 1)
  const found = new Map<string, string | undefined>()
  for await (const { id, title } of gateway.content.articles(filter, page, (ask) =>
    read('list articles', ask),
  ))
    found.set(String(id), typeof title === 'string' ? title : undefined)
  const file = listOf(home, run)
  makeFolder(dirname(file))
  const lines = [...found].map(([contentId, title]) => `${JSON.stringify({ contentId, title })}\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
  return [{ ...arrival.named(file, ANY_RULES), mapping: NAME }]
}

const readList = async (file: string): Promise<z.infer<typeof Listed>[]> =>
  existsSync(file)
    ? (await readFile(file, 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => Listed.parse(JSON.parse(line)))
    : []

/** Those that the last run of the job was told of, and this one was not: a line of NDJSON each. */
export async function goneArticles(home: string, job: string, run: string): Promise<readonly string[]> {
  const now = new Set((await readList(listOf(home, run))).map(({ contentId }) => contentId))
  const before = await readList(keptOf(home, job))
  return before.flatMap((one) => (now.has(one.contentId) ? [] : [`${JSON.stringify(one)}\n`]))
}

/** From now on the list of this run is the last one. */
export async function keepArticles(home: string, job: string, run: string): Promise<void> {
  const file = listOf(home, run)
  if (existsSync(file)) await rename(file, keptOf(home, job))
}
