/** What a small ledger keeps of one job: slots, doubts, and the exceptions of records in doubt. */
import type {
  DoubtRecord,
  HeldDoubt,
  HeldRecord,
  KeptSlot,
  Ledger,
  PlacedRecord,
  RowToSave,
  Ruling,
} from '../../src/ledger/ledger.ts'
import type { ChunkSettlement } from '../../src/ledger/run-ledger.ts'
import type { Entry } from '../../src/model/entry.ts'
import { contentDigits } from '../../src/model/ids.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import { EXPORT_ID } from '../../test/load/made-up-entries.ts'

type HeldRow = HeldRecord & Pick<HeldDoubt, 'sentUntil'>

/** All entries of a chunk as they ended. */
interface Ended {
  readonly arrival: number
  readonly outcomes: readonly EntryOutcome[]
}

export class JobMemory {
  private readonly rows = new Map<string, readonly KeptSlot[]>()
  private readonly held = new Map<string, HeldRow>()
  private left: readonly DoubtRecord[] = []
  private ids = 0
  /** Records without an answer of runs that were given up. */
  readonly sentByGivenUp = new Map<string, PlacedRecord>()
  /** Contents whose doubt has ended by a later word. */
  readonly superseded = new Set<string>()

  readonly ledger = {
    slots: {
      delivered: async (_job: number, keys: readonly string[]) => this.rowsOf(keys),
      held: async (_job: number, keys: readonly string[]) => this.heldOf(keys),
    },
    left: {
      inDoubtWith: async (_job: number, contents: readonly string[]) =>
        this.left.filter(({ content }) => contents.includes(content ?? '')),
      heldWith: async (_job: number, contents: readonly string[]) =>
        [...this.held.values()].filter(({ content }) => contents.includes(content)),
      sentByGivenUp: async (_job: number, contents: readonly string[]) =>
        new Map([...this.sentByGivenUp].filter(([content]) => contents.includes(content))),
      ofEarlierReadings: async () => [],
    },
  } as unknown as Pick<Ledger, 'slots' | 'left'>

  /** Contents held, or left in doubt by a run. */
  inDoubt(): ReadonlySet<string> {
    return new Set([
      ...[...this.held.values()].map(({ content }) => content),
      ...this.left.flatMap(({ content }) => content ?? []),
    ])
  }

  isHeld(content: string): boolean {
    return [...this.held.values()].some((one) => one.content === content)
  }

  /** Content that the job knows to be stored in the slot of an entry. */
  stored({ rowKey, ruleHash }: Entry): string | undefined {
    const slot = this.rows.get(rowKey)?.find((one) => one.ruleHash === ruleHash)
    return slot?.word.isStored === true ? contentDigits(slot) : undefined
  }

  rowsOf(keys: readonly string[]): Map<string, readonly KeptSlot[]> {
    return new Map(
      keys.flatMap((key) => {
        const row = this.rows.get(key)
        return row === undefined ? [] : [[key, row] as const]
      }),
    )
  }

  heldOf(keys: readonly string[]): Map<string, HeldDoubt[]> {
    const own = [...this.held.values()].filter(({ rowKey }) => keys.includes(rowKey))
    const doubts = own.map(({ rowKey, series, ...one }) => ({ rowKey, ...one, isOpen: series !== null }))
    return Map.groupBy(doubts, ({ rowKey }) => rowKey)
  }

  /** In the order of the real one: slots, exceptions, decisions, doubts. */
  settle({ delivered, ruling, held, renamed = [] }: ChunkSettlement, { arrival, outcomes }: Ended): void {
    this.save(delivered)
    if (ruling !== undefined) this.rule(ruling)
    this.left = [...this.left, ...outcomes.flatMap((one) => this.doubtOf(one, arrival) ?? [])]
    for (const { content } of held)
      for (const [key, one] of this.held)
        if (one.content === content && !held.some(({ rowKey }) => rowKey === one.rowKey))
          this.held.delete(key)
    this.hold(held, null)
    for (const { rowKey, from, to } of renamed)
      for (const [key, one] of this.held)
        if (one.rowKey === rowKey && one.rule === from) this.held.set(key, { ...one, rule: to })
  }

  rule({ decisions, released, delivered = [] }: Ruling): void {
    this.save(delivered)
    const ended = new Set(decisions.map(({ exception }) => exception))
    for (const { exception, event } of decisions)
      for (const { id, content } of this.left)
        if (id === exception && event === 'supersede' && content !== null) this.superseded.add(content)
    this.left = this.left.filter(({ id }) => !ended.has(id))
    for (const { rowKey, content } of released) {
      this.held.delete(`${rowKey} ${content}`)
      this.sentByGivenUp.delete(content)
    }
  }

  hold(records: readonly HeldRecord[], sentUntil: number | null): void {
    for (const { rowKey, rule, content, series } of records) {
      const before = this.held.get(`${rowKey} ${content}`)
      const isLooked = before === undefined || (before.sentUntil !== null && sentUntil === null)
      this.held.set(`${rowKey} ${content}`, {
        rowKey,
        rule,
        content,
        series: isLooked ? series : before.series,
        sentUntil,
      })
    }
  }

  private save(rows: readonly RowToSave[]): void {
    for (const { rowKey, records, word: shared } of rows)
      this.rows.set(
        rowKey,
        records.flatMap(({ ruleHash, first, last, word = shared, latest }) =>
          word === undefined ? [] : [{ ruleHash, first, last, word, latest }],
        ),
      )
  }

  private doubtOf(one: EntryOutcome, arrival: number): DoubtRecord | undefined {
    if (one.outcome !== 'in-doubt') return undefined
    const { row, rule, content, kind } = one.entry
    const place = { exportId: EXPORT_ID, exportRow: arrival, arrival, row: row.row, rule, content }
    return { id: ++this.ids, run: 'run', ...place, kind, code: one.reason.code, batchId: one.batchId }
  }
}
