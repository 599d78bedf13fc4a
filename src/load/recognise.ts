/**
 * Tells, of a chunk's records, which are to be sent: not what stands at the gateway already, not what is in doubt, not the second of two
 * that are the same. What was replaced and comes back is new. Of a chunk that an earlier process has left open, the rest is to be sent, by what
 * the ledger says of it.
 */
import type {
  BatchRecord,
  ChunkKey,
  DeliveredRecord,
  ExceptionRecord,
  HeldUnder,
  Ledger,
} from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { Entry, MappedRow } from '../model/entry.ts'
import { type ContentWords, contentDigits, hasSameContent } from '../model/ids.ts'
import type { EntryOutcome } from '../model/outcome.ts'
import { RECORD_KINDS, type Stage } from '../model/record.ts'

/** What the ledger knows under the row keys of a chunk. */
export interface Memory {
  /** Oldest first. */
  readonly delivered: ReadonlyMap<string, readonly DeliveredRecord[]>
  /** What is in doubt, by content. */
  readonly held: ReadonlyMap<string, ReadonlyMap<string, HeldUnder>>
}

export interface Recognised {
  readonly fresh: readonly Entry[]
  readonly unchanged: readonly Entry[]
  /** Delivered by what is known, and perhaps replaced: what was said in its place since, and not later than by this export, is in doubt. */
  readonly unclear: readonly Entry[]
  readonly held: readonly Entry[]
  /** The same record again within the chunk: it shares the fate of the first. */
  readonly twins: readonly { readonly entry: Entry; readonly first: Entry }[]
  /** What stood before another record of the chunk: to be sent again if that one is accepted. */
  readonly restated: readonly Restated[]
  /** Rows whose key stood before in this chunk with other content. */
  readonly rowsCorrected: number
}

export interface Restated {
  readonly entry: Entry
  /** What the chunk says before it under its key and rule, in that order. */
  readonly earlier: readonly Entry[]
  /** Content that stood at the gateway before the chunk. */
  readonly stood: string | undefined
  /** Whether it would be sent if nothing of that had been said. */
  readonly isNews: boolean
}

/** What is to be done with one that is restated, once all that the chunk says before it has its outcome. */
export function fateOfRestated(
  { entry, earlier, stood, isNews }: Restated,
  outcomeOf: (entry: Entry) => EntryOutcome['outcome'] | undefined,
): 'send' | 'unchanged' | 'wait' {
  if (earlier.some((one) => outcomeOf(one) === 'in-doubt')) return 'wait'
  const taken = earlier.findLast((one) => outcomeOf(one) === 'accepted')
  const stands = taken?.content ?? stood
  if (stands === entry.content) return 'unchanged'
  return taken !== undefined || isNews ? 'send' : 'unchanged'
}

/**
 * A twin of a record that was accepted is unchanged: the gateway has it, and it is not sent a second time. It is known as delivered under
 * its own row and rule.
 */
export function shareFate(entry: Entry, fate: EntryOutcome): EntryOutcome {
  // What the gateway has is the other record: of this one nothing more is known than that it need not be there as well.
  const isOthers = fate.entry.content === entry.content ? {} : { isOthers: true as const }
  if (fate.outcome === 'accepted') return { entry, outcome: 'unchanged', found: true, ...isOthers }
  if (fate.outcome !== 'unchanged') return { ...fate, entry, batchId: null }
  const { readBack, ...rest } = fate
  return { ...rest, entry, ...('isOthers' in isOthers ? isOthers : readBack === true ? { readBack } : {}) }
}

/** How an export speaks. */
export interface Speaks {
  /** A later one has a higher number. */
  readonly arrival: number
  /** Its arrival tells nothing of how new it is. */
  readonly isBackfill: boolean
  /** It was read before, as a whole or in part. */
  readonly isAgain: boolean
}

/**
 * Entries that are new only if they are the last word of their export: their content was replaced since it was delivered, or it was not
 * delivered yet, and the export has said something else in its place that was.
 */
export function disputed(entries: readonly Entry[], memory: Memory, speaks: Speaks): Entry[] {
  const { delivered } = memory
  if (delivered.size === 0) return []
  const isUsual = usualRows(entries, memory)
  return entries.filter((entry, at) => {
    if (isUsual(at) !== undefined) return false
    const records = delivered.get(entry.rowKey)
    if (records === undefined) return false
    const isReplaced = isKnown(records, entry) && !isStanding(records, entry)
    return isReplaced || isSaidOtherwise(entry, records, speaks)
  })
}

/** By the export itself, when it was read before. */
function isSaidOtherwise(
  entry: Entry,
  records: readonly DeliveredRecord[],
  { arrival, isAgain }: Speaks,
): boolean {
  if (!isAgain || entry.kind === 'careTeam') return false
  // Though it no longer stands: what a later export has put in its place does not make its earlier word news.
  return records.some(
    (one) => one.rule === entry.ruleHash && !hasSameContent(one, entry) && one.arrival === arrival,
  )
}

/**
 * Whether something else has been said in its place that stands, by a later export or further down: what was refused, and is taken when
 * it is read again, must not undo that. Care teams have a state of their own.
 */
export function isOutdated(
  entry: Entry,
  delivered: Memory['delivered'],
  speaks: Speaks,
  lastWords: ReadonlySet<Entry>,
): boolean {
  const records = delivered.get(entry.rowKey)
  if (records === undefined || entry.kind === 'careTeam') return false
  if (isSaidOtherwise(entry, records, speaks) && !lastWords.has(entry)) return true
  const stands = standingOf(records, entry.ruleHash)
  if (stands === undefined || hasSameContent(stands, entry)) return false
  return !speaks.isBackfill && !stands.byBackfill && stands.arrival > speaks.arrival
}

/** Whether something else stands in its place. */
export function isReplaced(entry: Entry, delivered: Memory['delivered']): boolean {
  const stands = standingOf(delivered.get(entry.rowKey) ?? [], entry.ruleHash)
  return stands !== undefined && !hasSameContent(stands, entry)
}

export const standingOf = (records: readonly DeliveredRecord[], rule: string): DeliveredRecord | undefined =>
  records.findLast((one) => one.rule === rule)

/** Whether it was delivered, be it replaced since. */
export const isKnown = (records: readonly DeliveredRecord[], entry: ContentWords): boolean =>
  records.some((one) => hasSameContent(one, entry))

/** Whether it is the last word of a rule. It is asked of every record of an export that comes again. */
function isStanding(records: readonly DeliveredRecord[], entry: Entry): boolean {
  for (let at = 0; at < records.length; at++) {
    const one = records[at]
    if (one !== undefined && hasSameContent(one, entry) && !isSaidBehind(records, at, one.rule)) return true
  }
  return false
}

function isSaidBehind(records: readonly DeliveredRecord[], place: number, rule: string): boolean {
  for (let at = place + 1; at < records.length; at++) if (records[at]?.rule === rule) return true
  return false
}

/** Rule → content that stands at the gateway. */
const standing = (records: readonly DeliveredRecord[]): Map<string, string> =>
  new Map(records.map((one) => [one.rule, contentDigits(one)]))

/** What a row key stands for while a chunk is looked through. */
interface Standing {
  /** By rule; `entries`: what this chunk says, the last of them that content. */
  readonly ofRule: Map<string, { readonly content: string; readonly entries: readonly Entry[] }>
  /** What this chunk has said. */
  readonly said: Map<string, Entry>
}

export interface RecogniseOptions extends Pick<Speaks, 'arrival'> {
  /** Of what was delivered before and has been replaced, what is to be sent again. */
  readonly news?: ReadonlySet<Entry>
  /** Whether what is in doubt is held back, looked for before it is sent, or sent again. */
  readonly doubts?: 'hold' | 'look' | 'resend'
}

/** Whether another content is in doubt in its place, of this export or one before it. */
function isRivalled(
  { rowKey, ruleHash, content, kind }: Entry,
  held: Memory['held'],
  arrival: number,
): boolean {
  if (kind === 'careTeam') return false
  const rivals = [...(held.get(rowKey) ?? [])]
  return rivals.some(([other, of]) => other !== content && of.rule === ruleHash && of.arrival <= arrival)
}

/**
 * Nearly all rows are new or known as a whole. Tells it of the entry at a place; undefined where that has to be found out record by record.
 * A row key that stands on two rows, two records of one content, something in doubt: all that is not usual. To be asked place after place.
 */
function usualRows(
  entries: readonly Entry[],
  { delivered, held }: Memory,
): (at: number) => 'new' | 'known' | undefined {
  const rows = new Map<string, MappedRow | undefined>()
  let last: MappedRow | undefined
  for (const { rowKey, row } of entries) {
    if (row === last) continue
    last = row
    if (!rows.has(rowKey)) rows.set(rowKey, row)
    else if (rows.get(rowKey) !== row) rows.set(rowKey, undefined)
  }
  last = undefined
  let verdict: 'new' | 'known' | undefined
  return (from) => {
    const { row, rowKey = '' } = entries[from] ?? {}
    if (row === last) return verdict
    last = row
    verdict = undefined
    let to = from
    while (to < entries.length && entries[to]?.row === row) to++
    if (rows.get(rowKey) !== row || held.has(rowKey) || !areDistinct(entries, from, to)) return verdict
    const records = delivered.get(rowKey)
    if (records === undefined) verdict = 'new'
    else if (records.length === to - from && records.every((one, at) => isOf(one, entries[from + at])))
      verdict = 'known'
    return verdict
  }
}

const isOf = (one: DeliveredRecord, entry: Entry | undefined): boolean =>
  one.rule === entry?.ruleHash && hasSameContent(one, entry)

/** Rows with more records are looked at record by record. */
export const MOST_OF_A_ROW = 40

const isAlike = (one: Entry | undefined, other: Entry | undefined): boolean =>
  one === undefined || other === undefined || hasSameContent(one, other) || one.ruleHash === other.ruleHash

/** No two of one content, and no two of one rule. */
function areDistinct(entries: readonly Entry[], from: number, to: number): boolean {
  if (to - from > MOST_OF_A_ROW) return false
  for (let one = from; one < to; one++)
    for (let other = one + 1; other < to; other++) if (isAlike(entries[one], entries[other])) return false
  return true
}

export function recognise(
  entries: readonly Entry[],
  memory: Memory,
  { arrival, news = new Set(), doubts = 'hold' }: RecogniseOptions,
): Recognised {
  const fresh: Entry[] = []
  const unchanged: Entry[] = []
  const unclear: Entry[] = []
  const held: Entry[] = []
  const twins: { entry: Entry; first: Entry }[] = []
  const restated: Restated[] = []
  const standings = new Map<string, Standing>()
  const firstRowOf = new Map<string, number>()
  const corrected = new Set<number>()
  const isUsual = usualRows(entries, memory)
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]
    if (entry === undefined) break
    const usual = isUsual(at)
    if (usual !== undefined) {
      if (usual === 'new') fresh.push(entry)
      else unchanged.push(entry)
      continue
    }
    const { rowKey, content, row, ruleHash } = entry
    const delivered = memory.delivered.get(rowKey)
    let stands = standings.get(rowKey)
    if (stands === undefined) {
      const ofRule = [...standing(delivered ?? [])].map(
        ([rule, one]) => [rule, { content: one, entries: [] }] as const,
      )
      stands = { ofRule: new Map(ofRule), said: new Map() }
      standings.set(rowKey, stands)
    }
    const { ofRule, said } = stands
    const current = ofRule.get(ruleHash)
    const same = said.get(content)
    const isCurrent = current === undefined || current.content === content
    const standsAlready =
      current?.content === content || [...ofRule.values()].some((one) => one.content === content)
    if (standsAlready && (same === undefined || isCurrent)) {
      if (same !== undefined) twins.push({ entry, first: same })
      else if (!isRivalled(entry, memory.held, arrival)) unchanged.push(entry)
      else if (doubts !== 'resend') unclear.push(entry)
      else {
        fresh.push(entry)
        said.set(content, entry)
      }
      continue
    }
    if (doubts === 'hold' && memory.held.get(rowKey)?.has(content)) {
      held.push(entry)
      continue
    }
    const wasDelivered = delivered !== undefined && isKnown(delivered, entry)
    const earlier = current?.entries ?? []
    if (earlier.length > 0 && (same !== undefined || wasDelivered)) {
      const last = delivered?.findLast(({ rule }) => rule === ruleHash)
      const stood = last && contentDigits(last)
      restated.push({ entry, earlier, stood, isNews: !wasDelivered || news.has(entry) })
    } else if (wasDelivered && !news.has(entry)) {
      unchanged.push(entry)
      continue
    } else {
      const firstRow = firstRowOf.get(rowKey) ?? row.row
      firstRowOf.set(rowKey, firstRow)
      if (firstRow !== row.row || delivered !== undefined) corrected.add(row.row)
      fresh.push(entry)
    }
    ofRule.set(ruleHash, { content, entries: [...earlier, entry] })
    said.set(content, entry)
  }
  return { fresh, unchanged, unclear, held, twins, restated, rowsCorrected: corrected.size }
}

export interface Earlier {
  readonly outcomes: readonly EntryOutcome[]
  readonly unanswered: readonly {
    batch: BatchRecord
    kind: Entry['kind']
    entries: readonly Entry[]
  }[]
  readonly unsent: readonly Entry[]
}

export const nothingEarlier = (fresh: readonly Entry[]): Earlier => ({
  outcomes: [],
  unanswered: [],
  unsent: fresh,
})

const positionOf = (row: number, rule: string, content: string): string => `${row}\n${rule}\n${content}`

/** What an earlier process did with these records, by the ledger. */
export async function recallChunk(
  memory: Pick<Ledger, 'batchesOf' | 'exceptionsOf'>,
  key: ChunkKey,
  fresh: readonly Entry[],
): Promise<Earlier> {
  const byPosition = new Map(
    fresh.map((entry) => [positionOf(entry.row.row, entry.rule, entry.content), entry]),
  )
  const outcomes: EntryOutcome[] = []
  const unanswered: { batch: BatchRecord; kind: Entry['kind']; entries: Entry[] }[] = []
  const take = (row: number, rule: string, content: string): Entry | undefined => {
    const position = positionOf(row, rule, content)
    const entry = byPosition.get(position)
    byPosition.delete(position)
    return entry
  }
  for (const exception of await memory.exceptionsOf(key)) {
    if (exception.outcome === 'warning') continue
    const entry = take(exception.row, exception.rule ?? '', exception.content ?? '')
    if (entry !== undefined) outcomes.push(recalled(entry, exception, exception.outcome))
  }
  for (const batch of await memory.batchesOf(key)) {
    if (batch.state === 'split' || batch.state === 'planned') continue
    const entries = unpackHolds(batch.holds).flatMap(
      ({ row, rule, content }) => take(row, rule, content) ?? [],
    )
    const kind = RECORD_KINDS.find((one) => one === batch.kind)
    if (kind === undefined || entries.length === 0) continue
    if (batch.state === 'sending') unanswered.push({ batch, kind, entries })
    else
      for (const entry of entries) {
        const readBack = batch.answer === 'ambiguous' ? { readBack: true as const } : {}
        outcomes.push({
          ...{ entry, outcome: 'accepted', batchId: batch.batch_id, status: batch.status, ...readBack },
        })
      }
  }
  return { outcomes, unanswered, unsent: [...byPosition.values()] }
}

function recalled(entry: Entry, exception: ExceptionRecord, outcome: 'rejected' | 'in-doubt'): EntryOutcome {
  const { code, field, message, batch_id: batchId } = exception
  const stage = exception.stage as Stage
  const reason = { stage, code, message, scrubbed: message, ...(field === null ? {} : { field }) }
  return { entry, outcome, batchId, reason }
}
