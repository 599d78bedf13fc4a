/**
 * Collecting run: asks about the people of each chunk, appends the answers to files set aside, and settles these with the chunk. A person on two rows
 * is asked about once a run.
 */
import { dirname, join } from 'node:path'
import {
  type CollectedPerson,
  type CollectedText,
  collectPerson,
  contentOf,
  filesOf,
  GONE,
  itemTexts,
  type Read,
  textOf,
} from '../collect/kinds.ts'
import {
  type CollectDefinition,
  type TargetDefinition,
  targetPlace,
} from '../definitions/collect-definition.ts'
import type { Job } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { CollectedOf, Ledger, RunLedger } from '../ledger/ledger.ts'
import { NOTHING_OF_PROFILES } from '../load/load-chunk.ts'
import { type Counts, countChunk, noPeople, type PeopleCounts, readCounts } from '../model/balance.ts'
import type { MappedRow } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { ChunkRow } from './chunks.ts'
import { Collection, type Destination, openCollection, writeBodies } from './collection-files.ts'
import { type GoneArticles, goneArticles } from './listed-ids.ts'
import type { World } from './plan.ts'
import type { Worker } from './worker.ts'

/** Texts of the answers about the people of a chunk. */
interface CollectedTexts {
  readonly texts: ReadonlyMap<string, { text: string; lines: number }>
  readonly people: readonly CollectedOf[]
}

interface CollectingParts {
  readonly ledger: Pick<Ledger, 'people' | 'chunks'>
  readonly runLedger: RunLedger
  readonly gateway: Gateway
  readonly gatewayName: string
  readonly identity: Identity
  readonly read: Read
  readonly what: CollectDefinition
  readonly to: TargetDefinition
  /** Folder of the target, or a folder in the home for a remote target. */
  readonly folder: string
  readonly destination: Destination | undefined
  readonly job: string
  readonly startedAt: number
  readonly now: () => number
  /** JSON: collection of an earlier process of the run. */
  readonly before: string | null
  /** Set for a job that collects articles. */
  readonly gone: (() => Promise<GoneArticles>) | undefined
}

const CHUNK_ROWS = 500

interface Answered {
  readonly found: CollectedPerson
  readonly hashed: string
  readonly row: MappedRow
  readonly content: string | null
  /** Undefined if nothing of the person goes into the files. */
  readonly own?: CollectedText
}

/** Worker that asks about people, and moves the files of the answers into place in the end. */
export function createCollector(parts: CollectingParts) {
  const { ledger, runLedger, gatewayName, identity, to } = parts
  const { jobId, runId } = runLedger.lease
  const before = parts.before === null ? undefined : Collection.parse(JSON.parse(parts.before))
  const heads = filesOf(to.format, parts.what.what)
  const files = openCollection(
    ...([parts.folder, runId, heads, before, runLedger.assertHeld, parts.destination] as const),
  )
  return {
    // The answers for a chunk are held in memory.
    chunkRows: CHUNK_ROWS,
    recognises: false,
    pending: (chunk) =>
      countPeople(chunk.rows, {
        ...noPeople(),
        ...pendingOf(new Set(rowsOfPeople(identity, chunk.rows).keys()).size),
      }),
    async work(chunk, { beforeSettled }) {
      // Answers about a person are asked for once.
      if (chunk.behind.size > 0) await beforeSettled()
      const people = rowsOfPeople(identity, chunk.rows)
      const hashes = [...people.keys()]
      const known = await ledger.people.accounts(gatewayName, hashes)
      const earlier = await ledger.people.collected(jobId, hashes)
      const answered = await allDone(
        [...people].map(async ([hashed, row]) =>
          earlier.get(hashed)?.run === runId
            ? undefined
            : askAbout(parts, hashed, row, known.get(hashed)?.accountId, earlier.get(hashed)?.content),
        ),
      )
      const found = answered.filter((one) => one !== undefined)
      const { rows, counts, collected } = gather(chunk.rows, found, earlier, to.format)
      return {
        ...NOTHING_OF_PROFILES,
        outcomes: [],
        rows,
        counts,
        settle: async () => ({
          collection: JSON.stringify(await files.append(collected.texts)),
          people: collected.people,
        }),
      }
    },
    async finish(isRead) {
      if (!isRead && before === undefined) return
      const about = await aboutCollection(parts)
      const gone = await parts.gone?.()
      const publish = async (): Promise<Collection> => {
        if (gone === undefined) return files.publish(about)
        const { lines } = gone
        const texts = new Map([[GONE, { text: lines.join(''), lines: lines.length }]])
        return files.publish({ ...about, gone: lines.length }, { texts, files: writeBodies })
      }
      await runLedger.noteCollection(JSON.stringify(await publish()))
      await gone?.keep()
      files.clear()
    },
  } satisfies Worker
}

interface CollectingRun extends Pick<CollectingParts, 'runLedger' | 'read' | 'startedAt' | 'before'> {
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal
}

/** Worker for the job of a run; undefined for a job that sends records. */
export function collectorOf(
  world: Pick<
    World,
    'ledger' | 'gateway' | 'gatewayName' | 'identity' | 'now' | 'home' | 'sources' | 'arrival'
  >,
  { definition: { collect, to, job }, file, sources }: Job,
  { signal, ...run }: CollectingRun,
): Worker | undefined {
  if (collect === undefined || to === undefined) return undefined
  const { ledger, gateway, gatewayName, identity, now, home, arrival } = world
  const { assertHeld, lease } = run.runLedger
  const { folder, remote } = targetPlace(to, dirname(file), join(home, 'undelivered'))
  return createCollector({
    ...run,
    ledger,
    gateway,
    gatewayName,
    identity,
    what: collect,
    to,
    folder,
    destination: remote && { place: remote, secrets: world.sources, signal, assertHeld },
    job,
    now,
    gone: collect.what.includes('articles')
      ? () => goneArticles({ home, job, run: lease.runId, ledger, arrival, sources })
      : undefined,
  })
}

/** Asks about a person. @param before content collected by an earlier run */
async function askAbout(
  { gateway, read, identity, what, to: { format, only } }: CollectingParts,
  hashed: string,
  row: MappedRow,
  knownId: string | null | undefined,
  before: string | null | undefined,
): Promise<Answered> {
  const { reference, type } = row.account
  const { language, deprecated, requests = [] } = what
  // A person named by the account id needs no entry in the crosswalk.
  const accountId = knownId ?? (type === 'accountId' ? reference : undefined)
  const named = { reference, type }
  const found = await collectPerson({ gateway, read, language, deprecated, requests }, what.what, {
    named,
    account: accountId === undefined ? named : { reference: accountId, type: 'accountId' },
    accountId,
  })
  if (found.outcome !== 'collected') return { found, hashed, row, content: null }
  const items = itemTexts(found.parts)
  const content = identity.collected(contentOf(items))
  // Converted to text at once, to keep a chunk small.
  const answered = { found: { outcome: 'collected' as const, parts: {} }, hashed, row, content }
  if (only === 'changed' && before === content) return answered
  return { ...answered, own: textOf(format, { account: named, accountId, named }, found.parts, items) }
}

/** Counts the answers, and joins their texts in the order of the people. */
function gather(
  rows: readonly ChunkRow[],
  answered: readonly Answered[],
  earlier: ReadonlyMap<string, { content: string | null }>,
  format: TargetDefinition['format'],
): { rows: readonly ChunkRow[]; counts: Counts; collected: CollectedTexts } {
  const counts = noPeople()
  const texts = new Map<string, { text: string; lines: number }>()
  const people: CollectedOf[] = []
  const refused = new Map<MappedRow, ChunkRow>()
  for (const { found, hashed, row, content, own } of answered) {
    counts.asked++
    if (found.outcome === 'refused') {
      counts.refused++
      const issue = { stage: 'collect' as const, ...found.fault }
      const rejected = [{ kind: 'account' as const, rule: 'account', issue }]
      refused.set(row, { source: row.source, outcome: { ...row, records: [], rejected } })
      people.push({ person: hashed, content: earlier.get(hashed)?.content ?? null })
      continue
    }
    people.push({ person: hashed, content })
    if (found.outcome === 'none') counts.none++
    else if (own === undefined) counts.unchanged++
    else counts.collected++
    for (const [name, text] of own ?? []) {
      const file = texts.get(name) ?? { text: '', lines: 0 }
      file.text += text
      file.lines += text === '' ? 0 : linesIn(text, format)
      texts.set(name, file)
    }
  }
  const left = rows.map((row) =>
    row.outcome.outcome === 'mapped'
      ? (refused.get(row.outcome) ?? { ...row, outcome: { ...row.outcome, records: [], rejected: [] } })
      : row,
  )
  return { rows: left, counts: countPeople(left, counts), collected: { texts, people } }
}

/** Facts of the collection, for its manifest. */
async function aboutCollection(parts: CollectingParts) {
  const { ledger, runLedger, gatewayName, what, to } = parts
  const { runId } = runLedger.lease
  const total = noPeople()
  for (const { counts } of await ledger.chunks.ofRun(runId)) {
    const { people = noPeople() } = readCounts(counts)
    for (const key of Object.keys(total) as (keyof PeopleCounts)[]) total[key] += people[key]
  }
  return {
    run: runId,
    job: parts.job,
    gateway: gatewayName,
    what: what.what,
    format: to.format,
    only: to.only,
    people: total,
    startedAt: new Date(parts.startedAt).toISOString(),
    collectedAt: new Date(parts.now()).toISOString(),
  }
}

/** Each person once, by hashed reference, with the first row of the person. */
function rowsOfPeople(identity: Identity, rows: readonly ChunkRow[]): Map<string, MappedRow> {
  const people = new Map<string, MappedRow>()
  for (const { outcome } of rows) {
    if (outcome.outcome !== 'mapped') continue
    const hashed = identity.account(outcome.account)
    if (!people.has(hashed)) people.set(hashed, outcome)
  }
  return people
}

const pendingOf = (asked: number): Pick<PeopleCounts, 'asked' | 'pending'> => ({ asked, pending: asked })

/** Counts of rows and people: the rows give no records. */
function countPeople(rows: readonly ChunkRow[], people: PeopleCounts): Counts {
  const counts = countChunk(
    rows.map(({ outcome }) => ({
      outcome: outcome.outcome === 'mapped' ? { ...outcome, records: [], rejected: [] } : outcome,
    })),
    [],
    0,
  )
  return { ...counts, people }
}

/** Lines of a text. A CSV cell may hold an end of line. */
const linesIn = (text: string, format: TargetDefinition['format']): number =>
  format === 'ndjson' ? 1 : csvRecords(text)

/** Ends of line outside of quotes. */
function csvRecords(text: string): number {
  let records = 0
  let quoted = false
  for (const character of text) {
    if (character === '"') quoted = !quoted
    else if (character === '\n' && !quoted) records++
  }
  return records
}
