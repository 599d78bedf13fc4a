/**
 * Exports of ids, for collecting without a delivered export: the people known to the ledger at a gateway, and the articles listed by the content
 * service. A run processes and resumes them like any export. The list of articles of the last run is kept, so that the next run can tell which are
 * gone.
 */
import { once } from 'node:events'
import { constants, existsSync } from 'node:fs'
import { readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { CollectDefinition } from '../definitions/collect-definition.ts'
import { type Job, type LoadedMapping, loadMapping } from '../definitions/definition-files.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import { WaybillError } from '../model/errors.ts'
import { openOwn } from '../system/own-files.ts'
import type { Arrival } from './arrival.ts'
import type { RunDependencies } from './events.ts'
import type { FoundExport } from './find-exports.ts'
import { ANY_RULES } from './found-delivery.ts'
import { plainSending } from './plain-sending.ts'

/** Ids as an export of a run. */
interface KnownIds {
  mappings(): ReadonlyMap<string, LoadedMapping>
  /** Lists the ids in the home. @param run that reads the list */
  find(deps: Asking, arrival: Arrival, run: string): Promise<readonly FoundExport[]>
  /** Removes the list of a run that has ended well. */
  over(home: string, run: string): Promise<void>
}

type Asking = Pick<
  RunDependencies,
  'ledger' | 'gateway' | 'gatewayName' | 'home' | 'now' | 'random' | 'sleep' | 'interrupt'
>

/** Undefined for a job with exports of its own. */
export function knownIdsOf({ definition: { collect, job }, sources }: Job): KnownIds | undefined {
  if (collect === undefined || sources.length > 0) return undefined
  if (!collect.what.includes('articles'))
    return { mappings: () => mappingOfIds(PEOPLE, 'accountId'), find: knownPeople, over: forgetKnownIds }
  return {
    mappings: () => mappingOfIds(ARTICLES, 'contentId'),
    find: (deps, arrival, run) => knownArticles(deps, arrival, run, collect.articles ?? {}),
    async over(home, run) {
      const file = listOf(home, run)
      if (existsSync(file)) await rename(file, keptOf(home, job))
      await forgetKnownIds(home, run)
    },
  }
}

const PEOPLE = 'known-people'

/**
 * Mapping of a list of ids written by Waybill itself, by the name of both: ids need no catalog.
 * @param member of each line with the id
 */
function mappingOfIds(name: string, member: string): ReadonlyMap<string, LoadedMapping> {
  const mapping = `mapping: ${name}
read: { format: ndjson }
row: { key: [$.${member}], account: { reference: $.${member}, type: accountId }, checks: { damaged-key: off } }
`
  const nothing = { biometrics: '{}', conditions: '{}', unitSpellings: 'spelling,unit\n', tables: {} }
  return new Map([[name, loadMapping(JSON.stringify({ file: name, mapping, ...nothing }))]])
}

/** People per page. */
const PAGE = 1_000

/** The people known to the ledger. */
async function knownPeople(
  { ledger, gatewayName, home }: Asking,
  arrival: Arrival,
  run: string,
): Promise<readonly FoundExport[]> {
  const file = join(home, 'collections', run, `${PEOPLE}.ndjson`)
  const stream = (await openOwn(home, file, constants.O_TRUNC)).createWriteStream()
  let after = ''
  for (;;) {
    const page = await ledger.people.knownAccounts(gatewayName, after, PAGE)
    for (const { accountId } of page)
      if (accountId !== null) stream.write(`${JSON.stringify({ accountId })}\n`)
    if (stream.writableNeedDrain) await once(stream, 'drain')
    const last = page.at(-1)
    if (last === undefined) break
    after = last.reference
  }
  stream.end()
  await once(stream, 'close')
  return [{ ...arrival.named(file, ANY_RULES), mapping: PEOPLE }]
}

export const forgetKnownIds = (home: string, run: string): Promise<void> =>
  rm(join(home, 'collections', run), { recursive: true, force: true })

const ARTICLES = 'known-articles'

const Listed = z.object({ contentId: z.string(), title: z.string().optional() })

const listOf = (home: string, run: string): string => join(home, 'collections', run, `${ARTICLES}.ndjson`)
const keptOf = (home: string, job: string): string => join(home, 'collections', `${ARTICLES}-${job}.ndjson`)

/** The articles listed by the content service. */
async function knownArticles(
  deps: Asking,
  arrival: Arrival,
  run: string,
  { page, filter = {} }: NonNullable<CollectDefinition['articles']> | Record<string, never>,
): Promise<readonly FoundExport[]> {
  const { gateway, home } = deps
  const { read } = plainSending(deps, gateway, 1)
  const found = new Map<string, string | undefined>()
  const listed = gateway.content.articles(filter, page, (ask) => read('list articles', ask))
  try {
    for await (const { id, title } of listed)
      found.set(String(id), typeof title === 'string' ? title : undefined)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new WaybillError('gateway-failing', error.message, { cause: error })
  }
  const file = listOf(home, run)
  const lines = [...found].map(([contentId, title]) => `${JSON.stringify({ contentId, title })}\n`)
  const list = await openOwn(home, file, constants.O_TRUNC)
  await list.writeFile(lines.join('')).finally(() => list.close())
  return [{ ...arrival.named(file, ANY_RULES), mapping: ARTICLES }]
}

const readList = async (file: string): Promise<z.infer<typeof Listed>[]> =>
  existsSync(file)
    ? (await readFile(file, 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => Listed.parse(JSON.parse(line)))
    : []

/** Articles listed for the last run of the job and not for this run: a line of NDJSON each. */
export async function goneArticles(home: string, job: string, run: string): Promise<readonly string[]> {
  const now = new Set((await readList(listOf(home, run))).map(({ contentId }) => contentId))
  const before = await readList(keptOf(home, job))
  return before.flatMap((one) => (now.has(one.contentId) ? [] : [`${JSON.stringify(one)}\n`]))
}
