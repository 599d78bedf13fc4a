/** Lists of ids for a run: people of the ledger, articles of the content service; and articles that have left the list since the last run. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { JobSource } from '../definitions/export-definition.ts'
import { receiveWhole } from '../extract/sources/receive-file.ts'
import type { ArticleQuery, IdLists } from '../extract/sources/source.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { assertWithin } from '../system/own-files.ts'
import type { Arrival } from './arrival.ts'
import type { RunDependencies } from './events.ts'
import { receiveBegun } from './exports-of-run.ts'
import { plainSending } from './senders.ts'

/** People per page. */
const PAGE = 1_000

type Asking = Pick<
  RunDependencies,
  'gateway' | 'gatewayName' | 'dispatcher' | 'now' | 'random' | 'sleep' | 'interrupt'
> & {
  readonly ledger: Pick<Ledger, 'people'>
}

export const connectLists = (deps: Asking): IdLists => ({
  now: deps.now,
  people: () => knownPeople(deps),
  articles: (query) => articlesOf(deps, query),
})

async function* knownPeople({ ledger, gatewayName }: Asking): ReturnType<IdLists['people']> {
  let after = ''
  for (;;) {
    const page = await ledger.people.knownAccounts(gatewayName, after, PAGE)
    const last = page.at(-1)
    if (last === undefined) return
    yield page.flatMap(({ accountId }) => (accountId === null ? [] : [{ accountId }]))
    after = last.reference
  }
}

async function articlesOf(
  deps: Asking,
  { page, filter = {} }: ArticleQuery,
): ReturnType<IdLists['articles']> {
  const { gateway } = deps
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
  return [...found].map(([contentId, title]) => ({ contentId, title }))
}

const Listed = z.object({ contentId: z.string(), title: z.string().optional() })

interface ListOfRun {
  readonly home: string
  readonly job: string
  readonly run: string
  readonly ledger: Pick<Ledger, 'exports'>
  readonly arrival: Arrival
  readonly sources: readonly JobSource[]
}

/** Articles that left the list since the last run, as lines of NDJSON. */
export interface GoneArticles {
  readonly lines: readonly string[]
  /** Keeps the list of this run for the next. Called once the lines are delivered. */
  keep(): Promise<void>
}

/** Without the list of this run (a rerun reads a part of an older list) none is gone. */
export async function goneArticles(run: ListOfRun): Promise<GoneArticles> {
  const { home, job } = run
  const kept = join(home, 'collections', `known-articles-${job}.ndjson`)
  const text = await listText(run)
  if (text === undefined) return { lines: [], keep: async () => {} }
  const now = new Set(linesOf(text).map(({ contentId }) => contentId))
  const before = existsSync(kept) ? linesOf(await readFile(kept, 'utf8')) : []
  return {
    lines: before.flatMap((one) => (now.has(one.contentId) ? [] : [`${JSON.stringify(one)}\n`])),
    async keep() {
      assertWithin(home, kept)
      await receiveWhole(kept, (out) => out.writeFile(text))
    },
  }
}

async function listText({ run, ledger, arrival, sources }: ListOfRun): Promise<string | undefined> {
  for (const record of await ledger.exports.ofRun(run)) {
    if (record.reading !== 'whole') continue
    const received = await receiveBegun(arrival, sources, record)
    if (received !== undefined) return readFile(received.file, 'utf8')
  }
  return undefined
}

const linesOf = (text: string): z.infer<typeof Listed>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Listed.parse(JSON.parse(line)))
