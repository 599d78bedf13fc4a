/**
 * The judgement of a round: what the gateway holds against what must be there, and what Waybill says of it. Gives every fault found,
 * in words; none means that nothing was lost, nothing doubled, nothing altered, and all was accounted for.
 */
import type { Harm } from './draw-faults.ts'
import type { ExpectedRecord } from './expected-records.ts'
import type { DrillExport } from './export-book.ts'
import type { StoredRecord } from './gateway-store.ts'
import type { ExportSummary, Reject } from './statements.ts'

export interface Evidence {
  readonly exports: readonly DrillExport[]
  readonly stored: readonly StoredRecord[]
  /** What runs say of the exports that they have read; each export is to be read to its end by one of them at least. */
  readonly words: readonly Word[]
  readonly receipts: readonly string[]
  /** Exports that a run had open when it was given up: what it had in hand may be stored without a receipt. */
  readonly givenUp?: ReadonlySet<string>
  /** What the faults may have cost. */
  readonly harm: Harm
}

/** The last word of a run on an export. */
export interface Word {
  readonly summary: ExportSummary
  readonly rejects: readonly Reject[]
}

export interface Verdict {
  readonly faults: readonly string[]
  readonly counts: {
    readonly expected: number
    readonly stored: number
    readonly lost: number
    readonly doubled: number
    readonly altered: number
    readonly refused: number
    readonly inDoubt: number
  }
}

const briefly = ({ kind, rule, person, observedMs }: ExpectedRecord): string =>
  `${kind} ${rule} of ${person} at ${new Date(observedMs).toISOString()}`

type Said = 'through' | 'refused' | 'in-doubt'

const DOUBTS: ReadonlySet<string> = new Set(['in-doubt', 'held', 'perhaps-sent'])
const REFUSALS: ReadonlySet<string> = new Set(['refused', 'too-large', 'listed-as-error', 'not-echoed'])

export function judgeRound(evidence: Evidence): Verdict {
  const { exports, stored, receipts, harm } = evidence
  const faults: string[] = []
  const counts = {
    expected: 0,
    stored: stored.length,
    lost: 0,
    doubled: 0,
    altered: 0,
    refused: 0,
    inDoubt: 0,
  }
  const words = Map.groupBy(evidence.words, ({ summary }) => summary.name)
  for (const one of exports) {
    const own = words.get(one.name) ?? []
    if (own.length === 0) faults.push(`${one.name}: no word on it`)
    for (const { summary } of own) checkBalance(one, summary, faults)
  }

  const said = whatWasSaid(evidence, faults)
  const times = new Map<string, number>()
  for (const { text } of stored) times.set(text, (times.get(text) ?? 0) + 1)
  const expected = new Map(exports.flatMap(({ told }) => told).map((record) => [record.text, record]))
  counts.expected = expected.size
  for (const [text, record] of expected) {
    const found = times.get(text) ?? 0
    const word = said.get(text) ?? 'through'
    if (word === 'refused') counts.refused++
    if (word === 'in-doubt') counts.inDoubt++
    if (found > 1) {
      counts.doubled++
      faults.push(`doubled: ${found} times ${briefly(record)}`)
    } else if (found === 0 && word === 'through') {
      counts.lost++
      faults.push(`lost: ${briefly(record)}`)
    } else if (found === 1 && word === 'refused')
      faults.push(`said to be refused, but stored: ${briefly(record)}`)
    if (word === 'in-doubt' && !harm.hidesProfiles && !isHidden(record, expected, times))
      faults.push(`in doubt, although the gateway could tell: ${briefly(record)}`)
  }
  for (const { text } of stored) {
    if (expected.has(text)) continue
    counts.altered++
    faults.push(`stored, but nobody said so: ${text}`)
  }
  const excused = exports.filter(({ name }) => evidence.givenUp?.has(name))
  const inHand = new Set(excused.flatMap(({ told }) => told.map(({ text }) => text)))
  checkReceipts(stored, receipts, said, inHand, faults)
  if (!harm.refusesMarks) checkMarks(stored, expected, said, faults)
  return { faults, counts }
}

function checkBalance(one: DrillExport, summary: ExportSummary, faults: string[]): void {
  if (summary.error !== undefined) {
    faults.push(`${one.name} ended with ${summary.error}`)
    return
  }
  const { rows, records } = summary.counts
  for (const outcome of ['read', 'mapped', 'skipped', 'rejected'] as const) {
    if (rows[outcome] !== one.rows[outcome])
      faults.push(`${one.name}: ${rows[outcome]} rows ${outcome} instead of ${one.rows[outcome]}`)
  }
  if (rows.read !== rows.mapped + rows.skipped + rows.rejected)
    faults.push(`${one.name}: rows do not balance`)
  for (const kind of ['biometric', 'condition', 'careTeam'] as const) {
    const { made, accepted, rejected, unchanged, inDoubt, pending } = records[kind]
    if (made !== one.made[kind])
      faults.push(`${one.name}: ${made} ${kind} records made instead of ${one.made[kind]}`)
    if (made !== accepted + rejected + unchanged + inDoubt || pending !== 0)
      faults.push(`${one.name}: ${kind} records do not balance`)
  }
}

/** Of each record the best that was said of it: a twin of one that got through got through. */
function whatWasSaid({ exports, words, harm }: Evidence, faults: string[]): Map<string, Said> {
  const said = new Map<string, Said>()
  const toldBy = new Map(exports.map(({ name, told }) => [name, told]))
  for (const { summary, rejects } of words) {
    const told = toldBy.get(summary.name) ?? []
    const byPlace = new Map<string, Reject>()
    for (const reject of rejects)
      if (reject._stage !== 'primary-care') byPlace.set(`${reject._row} ${reject._rule}`, reject)
    for (const record of told) {
      const { text, row, rule } = record
      const reject = byPlace.get(`${row} ${rule}`)
      const word = reject === undefined ? 'through' : DOUBTS.has(reject._code) ? 'in-doubt' : 'refused'
      if (reject !== undefined && word === 'refused' && !isExcused(reject, harm))
        faults.push(`rejected without cause (${reject._stage} ${reject._code}): ${briefly(record)}`)
      const before = said.get(text)
      if (before === undefined || rank(word) < rank(before)) said.set(text, word)
    }
  }
  return said
}

const rank = (said: Said): number => ['through', 'in-doubt', 'refused'].indexOf(said)

const isExcused = ({ _code }: Reject, harm: Harm): boolean =>
  REFUSALS.has(_code) ? harm.refuses : _code === 'registration-refused' && harm.refusesPeople

/**
 * The rule of docs/delivery.md: only a record of the same series that is as new or newer can hide whether ours is there. Care
 * teams are listed in full, so nothing hides one.
 */
function isHidden(
  record: ExpectedRecord,
  expected: ReadonlyMap<string, ExpectedRecord>,
  times: ReadonlyMap<string, number>,
): boolean {
  if (record.kind === 'careTeam') return false
  for (const [text, other] of expected) {
    if (other === record || other.person !== record.person || other.series !== record.series) continue
    if (other.observedMs >= record.observedMs && times.has(text)) return true
  }
  return false
}

function checkReceipts(
  stored: readonly StoredRecord[],
  receipts: readonly string[],
  said: ReadonlyMap<string, Said>,
  inHand: ReadonlySet<string>,
  faults: string[],
): void {
  const ids = new Set(stored.map(({ id }) => id))
  if (ids.size < stored.length)
    faults.push(`${stored.length - ids.size} stored records bear the id of another`)
  const receipted = new Set(receipts)
  if (receipted.size < receipts.length)
    faults.push(`${receipts.length - receipted.size} records have more than one receipt`)
  for (const id of receipted) if (!ids.has(id)) faults.push(`a receipt of what is not stored: ${id}`)
  for (const { id, text } of stored)
    if (!receipted.has(id) && said.get(text) !== 'in-doubt' && !inHand.has(text))
      faults.push(`stored without a receipt: ${id}`)
}

/** The physician observed last is the marked one, whatever the order of the deliveries. */
function checkMarks(
  stored: readonly StoredRecord[],
  expected: ReadonlyMap<string, ExpectedRecord>,
  said: ReadonlyMap<string, Said>,
  faults: string[],
): void {
  const careTeams = stored.filter(({ kind }) => kind === 'careTeam')
  for (const [person, entries] of Map.groupBy(careTeams, (entry) => entry.person)) {
    if (entries.some(({ text }) => said.get(text) !== 'through')) continue
    const latest = Math.max(...entries.map(({ text }) => expected.get(text)?.observedMs ?? 0))
    const marked = entries.filter(({ primary }) => primary)
    if (marked.length !== 1) faults.push(`${person} has ${marked.length} marked physicians`)
    else if (marked.some(({ text }) => expected.get(text)?.observedMs !== latest))
      faults.push(`${person} has an older physician marked than the latest`)
  }
}
