/**
 * Store of delivered rows, built so that neither writes nor look-ups slow down as the store grows. Packs hold rows, and segments hold the place
 * of each row by key (src/ledger/delivered-rows.ts). A settled chunk adds a segment. `fanOut` segments of a level merge into one of the next
 * level, piece by piece, each piece in its own transaction. If several segments hold a key, the newest counts. Reads see a segment only when the
 * merge is complete, and the merged segments until then: a process may be killed between any two pieces.
 */
import type { RowPrint } from '../../model/ids.ts'
import {
  blocksOf,
  filterOf,
  firstKey,
  lastKey,
  mergeEntries,
  offsetOf,
  type PackReader,
  type Place,
  packOf,
  packRows,
  placeOf,
  readPack,
  SortedKeys,
  viewOf,
} from '../delivered-rows.ts'
import type { DeliveredRow, KeptSlot, RowToSave } from '../left-records.ts'
import { damagedLedger } from '../packed-records.ts'
import type { SyncStatements } from './database.ts'
import type { DeliveredStore } from './delivered-store.ts'

/** Work of one piece of upkeep. */
interface Pace {
  /** Segments merged into one. A higher number merges each row less often, but look-ups search more segments. */
  readonly fanOut: number
  readonly entries: number
  /** Blocks and filters removed. */
  readonly removed: number
  readonly packs: number
}

/** Pieces of about 10 ms. */
const PACE: Pace = { fanOut: 8, entries: 16_384, removed: 512, packs: 8 }

const BLOCKS_READ_AHEAD = 4

/** Bits of each key in a filter. The few large segments need most of the memory. */
const bitsOf = (level: number): number => (level < 3 ? 16 : 12)

interface FilterPiece {
  readonly first: DataView
  readonly filter: Uint8Array
}

interface Store {
  readonly statements: SyncStatements
  readonly pace: Pace
  /** Filters by segment. A segment never changes, and no later segment reuses the id, as each replacement has a higher id. */
  readonly filters: Map<number, { readonly jobId: number; readonly pieces: readonly FilterPiece[] }>
}

/** Store in the file of the statements. `read` and `prints` begin a transaction. */
export function deliveredOf(statements: SyncStatements, pace = PACE) {
  const store: Store = { statements, pace, filters: new Map() }
  return {
    read(jobId, rowKeys) {
      const found = new Map<string, readonly KeptSlot[]>()
      lookUp(store, jobId, rowKeys, (reader, offset, rowKey) =>
        found.set(rowKey, reader.rowAt(offset).records),
      )
      return found
    },
    prints(jobId, rowKeys) {
      const found = new Map<string, RowPrint>()
      lookUp(store, jobId, rowKeys, (reader, offset, rowKey) => {
        const print = reader.printAt(offset)
        if (print !== undefined) found.set(rowKey, print)
      })
      return found
    },
    save(jobId, rows) {
      if (rows.length === 0) return
      const keys = new SortedKeys(rows.map(({ rowKey }) => rowKey))
      countReplaced(statements, find(store, jobId, keys, false))
      add(statements, jobId, rows, keys)
    },
    upkeep(jobId) {
      const merges = numbers(
        statements,
        `select level as n from delivered_segment where job_id = ? and state = 'ready'
        group by level having count(*) >= ? order by level`,
        ...[jobId, pace.fanOut],
      )
      const merged = numbers(
        statements,
        `select id as n from delivered_segment where job_id = ? and state = 'merged'`,
        jobId,
      )
      const toClear = numbers(
        statements,
        'select 1 as n from delivered_replaced where job_id = ? and count <= replaced * 2 limit 1',
        jobId,
      )
      return [
        ...merges.map((level) => ({ what: 'merge' as const, level })),
        ...merged.map((segment) => ({ what: 'remove' as const, segment })),
        ...toClear.map(() => ({ what: 'clear' as const })),
      ]
    },
    keepUp(jobId, piece, settled) {
      if (piece.what === 'merge') merge(store, jobId, piece.level, Math.max(pace.entries, 2 * settled))
      else if (piece.what === 'remove') remove(store, piece.segment)
      else clear(store, jobId, Math.max(pace.packs, Math.ceil(settled / 32)))
    },
  } satisfies DeliveredStore
}

const numbers = (
  statements: SyncStatements,
  sql: string,
  ...parameters: readonly (number | Uint8Array)[]
): number[] => statements.all(sql, ...parameters).map((row) => Number(row['n']))
const bytes = (
  statements: SyncStatements,
  sql: string,
  ...parameters: readonly (number | Uint8Array)[]
): Uint8Array[] => statements.all(sql, ...parameters).map(({ b }) => asBytes(b))

const readyOf = ({ statements, pace }: Store, jobId: number, level: number): number[] =>
  numbers(
    statements,
    `select id as n from delivered_segment where job_id = ? and level = ? and state = 'ready' order by id limit ?`,
    ...[jobId, level, pace.fanOut],
  )

/** @param mayKeep false within a writing transaction: after a rollback, new segments would reuse the ids */
function piecesOf(
  { statements, filters }: Store,
  jobId: number,
  segment: number,
  mayKeep: boolean,
): readonly FilterPiece[] {
  const known = filters.get(segment)
  if (known !== undefined) return known.pieces
  const pieces = statements
    .all('select first, bits from delivered_filter where segment = ? order by first', segment)
    .map(({ first, bits }) => ({ first: viewOf(asBytes(first)), filter: asBytes(bits) }))
  if (mayKeep) filters.set(segment, { jobId, pieces })
  return pieces
}

/** Places by rank of the key; -1 for a key without a delivered row. */
function find(store: Store, jobId: number, keys: SortedKeys, mayKeep: boolean): Float64Array {
  const { statements, filters } = store
  const places = new Float64Array(keys.count).fill(-1)
  const segments = numbers(
    statements,
    `select id as n from delivered_segment where job_id = ? and state = 'ready' order by level, id desc`,
    jobId,
  )
  for (const segment of segments)
    findIn(piecesOf(store, jobId, segment, mayKeep), keys, places, blocksRead(statements, segment, keys))
  if (!mayKeep) return places
  const listed = new Set(segments)
  for (const [segment, of] of filters) if (of.jobId === jobId && !listed.has(segment)) filters.delete(segment)
  return places
}

/** Finds places in a segment, for keys without a place so far. @param placeAt reads the place of a key that the segment may hold */
function findIn(
  pieces: readonly FilterPiece[],
  keys: SortedKeys,
  places: Float64Array,
  placeAt: (rank: number) => Place | undefined,
): void {
  let at = 0
  for (let rank = 0; rank < keys.count; rank++) {
    if (places[rank] !== -1) continue
    for (let next = pieces[at + 1]; next !== undefined && keys.isFrom(rank, next.first); )
      next = pieces[++at + 1]
    const piece = pieces[at]
    if (piece !== undefined && keys.mayBeIn(piece.filter, rank)) places[rank] = placeAt(rank) ?? -1
  }
}

/** Reader of places in a segment: each block is read once, for keys in their order. */
function blocksRead(statements: SyncStatements, segment: number, keys: SortedKeys) {
  let block: DataView | undefined
  return (rank: number): Place | undefined => {
    if (block === undefined || keys.isBehind(rank, block)) {
      const found = blockWith(statements, segment, keys.bytes(rank))
      block = found && viewOf(found)
    }
    return block && keys.placeIn(block, rank)
  }
}

/** The only block that may hold the key. */
const blockWith = (statements: SyncStatements, segment: number, key: Uint8Array): Uint8Array | undefined =>
  bytes(
    statements,
    'select entries as b from delivered_block where segment = ? and first <= ? order by first desc limit 1',
    ...[segment, key],
  )[0]

/** Finds the rows of the keys. A single snapshot, as another process may merge meanwhile. */
function lookUp(
  store: Store,
  jobId: number,
  rowKeys: readonly string[],
  take: (reader: PackReader, offset: number, rowKey: string) => void,
): void {
  const { statements } = store
  statements.run('begin deferred')
  try {
    const keys = new SortedKeys(rowKeys)
    const places = find(store, jobId, keys, true)
    const found = Array.from(places.keys()).filter((rank) => places[rank] !== -1)
    found.sort((a, b) => (places[a] ?? 0) - (places[b] ?? 0))
    let pack = -1
    let reader: PackReader | undefined
    for (const rank of found) {
      const place = places[rank] ?? 0
      if (reader === undefined || packOf(place) !== pack) {
        pack = packOf(place)
        reader = readPack(packWith(statements, pack))
      }
      take(reader, offsetOf(place), rowKeys[keys.from[rank] ?? 0] ?? '')
    }
  } finally {
    statements.run('commit')
  }
}

function packWith(statements: SyncStatements, id: number): Uint8Array {
  const [packed] = bytes(statements, 'select rows as b from delivered where id = ?', id)
  if (packed === undefined) throw damagedLedger(new Error(`pack ${id} is missing`))
  return packed
}

function add(statements: SyncStatements, jobId: number, rows: readonly RowToSave[], keys: SortedKeys): void {
  const places: Place[] = []
  for (const { bytes: packed, offsets } of packRows(rows)) {
    const id = statements.insert(
      'insert into delivered (job_id, count, rows) values (?, ?, ?)',
      ...[jobId, offsets.length, packed],
    )
    for (const offset of offsets) places.push(placeOf(id, offset))
  }
  addEntries(statements, addSegment(statements, jobId, 0, 'ready'), 0, keys.entries(places))
}

const addSegment = (
  statements: SyncStatements,
  jobId: number,
  level: number,
  state: 'ready' | 'growing',
): number =>
  statements.insert(
    'insert into delivered_segment (job_id, level, state) values (?, ?, ?)',
    ...[jobId, level, state],
  )

function addEntries(statements: SyncStatements, segment: number, level: number, entries: Uint8Array): void {
  if (entries.length === 0) return
  for (const block of blocksOf(entries))
    statements.run(
      'insert into delivered_block (segment, first, entries) values (?, ?, ?)',
      ...[segment, firstKey(block), block],
    )
  statements.run(
    'insert into delivered_filter (segment, first, bits) values (?, ?, ?)',
    ...[segment, firstKey(entries), filterOf(entries, bitsOf(level))],
  )
}

function merge(store: Store, jobId: number, level: number, limit: number): void {
  const { statements, pace } = store
  const parts = readyOf(store, jobId, level)
  if (parts.length < pace.fanOut) return
  const [grown = addSegment(statements, jobId, level + 1, 'growing')] = numbers(
    statements,
    `select id as n from delivered_segment where job_id = ? and level = ? and state = 'growing'`,
    ...[jobId, level + 1],
  )
  const [last] = bytes(
    statements,
    'select entries as b from delivered_block where segment = ? order by first desc limit 1',
    grown,
  )
  const after = last && lastKey(last)
  const newestFirst = parts.toReversed().map((part) => blocksFrom(statements, part, after))
  const { entries, isEnd } = mergeEntries(newestFirst, after, limit)
  addEntries(statements, grown, level + 1, entries)
  if (!isEnd) return
  statements.run(`update delivered_segment set state = 'ready' where id = ?`, grown)
  for (const part of parts) statements.run(`update delivered_segment set state = 'merged' where id = ?`, part)
  // Segments merged in one piece are small enough to be removed in the same transaction.
  if (after === undefined) for (const part of parts) remove(store, part)
}

/** Blocks of a segment, starting with the block that may hold the first key behind the given one. */
function blocksFrom(statements: SyncStatements, segment: number, after: Uint8Array | undefined) {
  const start = after && blockWith(statements, segment, after)
  const ahead = start === undefined ? [] : [start]
  // Every key sorts behind a single zero byte.
  let behind = start === undefined ? Uint8Array.of(0) : firstKey(start)
  return () => {
    if (ahead.length === 0) {
      const found = bytes(
        statements,
        'select entries as b from delivered_block where segment = ? and first > ? order by first limit ?',
        ...[segment, behind, BLOCKS_READ_AHEAD],
      )
      ahead.push(...found)
      const last = found.at(-1)
      if (last !== undefined) behind = firstKey(last)
    }
    return ahead.shift()
  }
}

/** Removes a part of a merged segment. */
function remove({ statements, pace }: Store, segment: number): void {
  statements.run(
    'delete from delivered_block where id in (select id from delivered_block where segment = ? order by first limit ?)',
    ...[segment, pace.removed],
  )
  statements.run(
    `delete from delivered_filter where segment = ? and first in
    (select first from delivered_filter where segment = ? order by first limit ?)`,
    ...[segment, segment, pace.removed],
  )
  const left = numbers(
    statements,
    `select 1 as n where exists (select 1 from delivered_block where segment = ?)
    or exists (select 1 from delivered_filter where segment = ?)`,
    ...[segment, segment],
  )
  if (left.length === 0) statements.run('delete from delivered_segment where id = ?', segment)
}

/** Removes packs in which most rows were replaced, and saves the remaining rows anew. */
function clear(store: Store, jobId: number, limit: number): void {
  const { statements } = store
  const packs = numbers(
    statements,
    'select pack as n from delivered_replaced where job_id = ? and count <= replaced * 2 limit ?',
    ...[jobId, limit],
  )
  const kept: DeliveredRow[] = []
  for (const pack of packs) {
    const rows = readPack(packWith(statements, pack)).rows()
    const keys = new SortedKeys(rows.map(({ row }) => row.rowKey))
    const places = find(store, jobId, keys, false)
    for (const [rank, from] of keys.from.entries()) {
      const one = rows[from]
      if (one !== undefined && places[rank] === placeOf(pack, one.offset)) kept.push(one.row)
    }
    statements.run('delete from delivered where id = ?', pack)
    statements.run('delete from delivered_replaced where pack = ?', pack)
  }
  if (kept.length > 0) add(statements, jobId, kept, new SortedKeys(kept.map(({ rowKey }) => rowKey)))
}

/** Counts the replaced rows of each pack. */
function countReplaced(statements: SyncStatements, places: Float64Array): void {
  const replaced = places.filter((place) => place !== -1)
  for (const [pack, of] of Map.groupBy(replaced, packOf))
    statements.run(
      `insert into delivered_replaced (pack, job_id, count, replaced)
      select id, job_id, count, ? from delivered where id = ?
      on conflict (pack) do update set replaced = replaced + excluded.replaced`,
      ...[of.length, pack],
    )
}

export function asBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw damagedLedger(new Error('a blob is none'))
}
