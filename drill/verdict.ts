/**
 * The judgement of a round: what the gateway holds against what must be there, and what Waybill says of it. Gives every fault found,
 * in words; none means that nothing was lost, nothing doubled, nothing altered, every mark is right, and all was accounted for.
 */
import { judgeCareTeams } from './care-team-verdict.ts'
import type { DrawnFault, Harm } from './draw-faults.ts'
import type { ExpectedRecord } from './expected-records.ts'
import type { DrillExport, Told } from './export-book.ts'
import type { StoredRecord } from './gateway-store.ts'
import { type ExportSummary, FOLLOWING, type ListedRun, type Reject } from './statements.ts'
import type { Wipe } from './wipe-gateway.ts'

export interface Evidence {
  /** In the order in which they were delivered, where they are `ordered`. */
  readonly exports: readonly DrillExport[]
  /** A backfill orders exports by the dates in their names: of two values of one place one need not be sent. */
  readonly isDated?: boolean
  /** Whether each was read for the first time in that order, so that it is known which speaks last. */
  readonly ordered: boolean
  /** Of each kind in the order in which they were stored. */
  readonly stored: readonly StoredRecord[]
  /** What runs say of the exports that they have read; each export is to be read to its end by one of them at least. */
  readonly words: readonly Word[]
  /** All that the ledger has, latest first. */
  readonly runs: readonly ListedRun[]
  readonly receipts: readonly string[]
  /** Exports that a run had open when it was given up: what it had in hand may be stored without a receipt. */
  readonly givenUp?: readonly string[]
  /** All that was in doubt was looked up once more, without faults. */
  readonly settled?: boolean
  /** The last run met no fault: whatever was owed before, it has done. */
  readonly owesNothing?: boolean
  /** What the faults may have cost. */
  readonly faults: readonly Pick<DrawnFault, 'harm' | 'person'>[]
  /** The job's `careTeams.changed`. */
  readonly changed: 'add' | 'replace' | 'keep'
  /** A ledger was lost, or an older one took its place. */
  readonly forgotten: boolean
  /** The gateway was wiped before the last night: it has what was sent since, of people of whom an answer showed that. */
  readonly wiped?: Wipe | undefined
  /** The machine was started again. */
  readonly restarted?: boolean
  readonly log: GatewayLog
  /** Why it did not come to its end; what was said is not known then. */
  readonly stuck?: string
  /** What Waybill said that it must not say. */
  readonly complaints: readonly string[]
  /** Whether the last run of all ended with exit code 0. */
  readonly green: boolean
}

export interface GatewayLog {
  /** Registered people. */
  readonly accounts: number
  /** But for those of commands that are no runs. */
  readonly requests: number
  /** So many requests at most may be missing from the counts: those under way where a process was killed. */
  readonly underWay: number
}

/** The last word of a run on an export. */
export interface Word {
  readonly summary: ExportSummary
  readonly rejects: readonly Reject[]
  /** Before other runs took some of them up. */
  readonly atFirst?: readonly Reject[]
}

export const WRONGS = ['lost', 'doubled', 'altered', 'marks', 'words', 'stuck'] as const
/** What can be wrong: of records, of marks at the gateway, of what Waybill says; and a round that does not come to its end. */
export type Wrong = (typeof WRONGS)[number]

export interface Verdict {
  readonly faults: readonly string[]
  readonly counts: Readonly<Record<Wrong | 'expected' | 'stored' | 'refused' | 'inDoubt', number>>
}

export const briefly = ({ kind, rule, person, observedMs }: ExpectedRecord): string =>
  `${kind} ${rule} of ${person} at ${new Date(observedMs).toISOString()}`

/** What the runs say of a row's record. */
export type Said = 'through' | 'refused' | 'in-doubt'

const WAITS = 'waits-for-older'
const DOUBTS: ReadonlySet<string> = new Set(['in-doubt', 'held', 'perhaps-sent', WAITS])
const REFUSALS: ReadonlySet<string> = new Set(['refused', 'too-large', 'listed-as-error', 'not-echoed'])

/** One row's record, and what was said of it. */
export interface Telling {
  readonly record: Told
  /** Number of its export. */
  readonly delivery: number
  readonly said: Said
  /** Its care-team entry is there; what was to follow, the mark or the deletion of the one before, is said to be owed by the last run of all. */
  readonly owed: boolean
  /** A run has said that it was refused or is in doubt, whatever was said later. */
  readonly wasLeft: boolean
  /** It is not sent while an older one of its series is in doubt. */
  readonly waits: boolean
}

/** Tells of a fault. */
export type Blame = (wrong: Wrong, fault: string) => void

export function judgeRound(evidence: Evidence): Verdict {
  const { exports, stored, changed, ordered, green } = evidence
  const faults: string[] = []
  const counts = {
    ...{ expected: 0, stored: stored.length, refused: 0, inDoubt: 0 },
    ...{ lost: 0, doubled: 0, altered: 0, marks: 0, words: 0, stuck: 0 },
  }
  const blame: Blame = (wrong, fault) => {
    // Without words nobody knows what was refused, is in doubt or owed.
    if (evidence.stuck !== undefined && wrong !== 'doubled' && wrong !== 'stuck') return
    counts[wrong]++
    faults.push(`${wrong}: ${fault}`)
  }
  if (evidence.stuck !== undefined) blame('stuck', evidence.stuck)
  const keyOf = deliveryKey(exports)
  const words = Map.groupBy(evidence.words, ({ summary }) => keyOf(summary))
  for (const one of exports) {
    const own = words.get(keyOf(one)) ?? []
    if (own.length === 0) blame('words', `${one.name}: no word on it`)
    for (const { summary } of own) checkBalance(one, summary, blame)
  }

  const tellings = whatWasTold(evidence, words, blame)
  const ofText = Map.groupBy(tellings, ({ record }) => record.text)
  const times = new Map<string, number>()
  for (const { text } of stored) times.set(text, (times.get(text) ?? 0) + 1)
  // What is stored a second time hides from its first time on.
  const places = new Map(stored.map(({ text }, at) => [text, at] as const).toReversed())
  // What one job sends it keeps back while something older is asked about; a ledger that was lost could not know.
  const isOwnDoing = (earlier: number, later: number): boolean =>
    ordered && !evidence.forgotten && later > earlier
  const most = mostCopies(tellings, evidence)
  const slots = Map.groupBy(tellings, ({ record }) => slotOf(record))
  const isKept = evidence.wiped !== undefined ? keptByWiped(evidence.wiped, tellings, stored) : () => true
  counts.expected = ofText.size
  for (const [text, own] of ofText) {
    const [{ record } = { record: undefined }] = own
    if (record === undefined) continue
    const found = times.get(text) ?? 0
    const word = best(own)
    if (word === 'refused') counts.refused++
    if (word === 'in-doubt') counts.inDoubt++
    const waits = own.some((one) => one.waits) && tellings.some((one) => isOlderDoubt(one, record))
    if (
      word === 'in-doubt' &&
      !waits &&
      (evidence.settled === true || !harms(evidence, record, 'hidesProfiles')) &&
      !isHidden(record, ofText, places, isOwnDoing)
    )
      blame('words', `in doubt, although the gateway could tell: ${briefly(record)}`)
    // What a lost ledger knew of a person who is refused now, nobody knows.
    const isForgotten = evidence.forgotten && harms(evidence, record, 'refusesPeople')
    if (found >= 1 && word === 'refused' && !isForgotten)
      blame('words', `said to be refused, but stored: ${briefly(record)}`)
    if (record.kind === 'careTeam') continue
    if (found > (most.get(text) ?? 1)) blame('doubled', `${found} times ${briefly(record)}`)
    else if (found === 0 && word === 'through' && !isOutdated(own, slots, evidence) && isKept(record))
      blame('lost', briefly(record))
  }
  for (const { text } of stored)
    if (!ofText.has(text)) blame('altered', `stored, but nobody said so: ${text}`)
  if (ordered) checkLatest(tellings, stored, blame)
  // Of a row that was corrected while its entry was in doubt, the correction counts.
  const isCorrected = (one: Telling) =>
    one.said === 'through' && !times.has(one.record.text) && isOutdated([one], slots, evidence)
  const counting = tellings.filter((one) => isKept(one.record) && !isCorrected(one))
  judgeCareTeams({ tellings: counting, all: tellings, stored, changed, ordered }, blame)
  checkReceipts(evidence, ofText, blame)
  checkTotals(evidence, blame)
  for (const complaint of evidence.complaints) blame('words', complaint)
  const { lost, doubled, altered, marks } = counts
  if (green && lost + doubled + altered + marks > 0) blame('words', 'exit code 0, and something is wrong')
  return { faults, counts }
}

/** Tells deliveries apart: by name, and by bytes where several bear that name. */
function deliveryKey(exports: readonly DrillExport[]): (one: Pick<DrillExport, 'name' | 'sha256'>) => string {
  const times = Map.groupBy(exports, ({ name }) => name)
  return ({ name, sha256 }) => ((times.get(name)?.length ?? 0) > 1 ? `${name} ${sha256}` : name)
}

/**
 * Records that a wiped gateway is to have: the newest of each place, of people of whom it has anything. Where somebody else has registered them
 * anew, care teams alone show that: echoes of other records name people as they were sent.
 */
function keptByWiped(
  how: Wipe,
  tellings: readonly Telling[],
  stored: readonly StoredRecord[],
): (record: ExpectedRecord) => boolean {
  const telling = how === 'exchanged' ? stored.filter(({ kind }) => kind === 'careTeam') : stored
  const people = new Set(telling.map(({ person }) => person))
  const newest = new Map(tellings.map(({ record }) => [placeOf(record), record.text]))
  return (record) => people.has(record.person) && newest.get(placeOf(record)) === record.text
}

const harms = ({ faults }: Evidence, { person }: ExpectedRecord, key: keyof Harm): boolean =>
  faults.some((fault) => fault.harm[key] && (fault.person ?? person) === person)

function checkBalance(one: DrillExport, summary: ExportSummary, blame: Blame): void {
  if (summary.error !== undefined) {
    blame('words', `${one.name} ended with ${summary.error}`)
    return
  }
  const { rows, records } = summary.counts
  for (const outcome of ['read', 'mapped', 'skipped', 'rejected'] as const) {
    if (rows[outcome] !== one.rows[outcome])
      blame('words', `${one.name}: ${rows[outcome]} rows ${outcome} instead of ${one.rows[outcome]}`)
  }
  if (rows.read !== rows.mapped + rows.skipped + rows.rejected)
    blame('words', `${one.name}: rows do not balance`)
  for (const kind of ['biometric', 'condition', 'careTeam'] as const) {
    const { made, accepted, rejected, unchanged, inDoubt, pending } = records[kind]
    if (made !== one.made[kind])
      blame('words', `${one.name}: ${made} ${kind} records made instead of ${one.made[kind]}`)
    if (made !== accepted + rejected + unchanged + inDoubt || pending !== 0)
      blame('words', `${one.name}: ${kind} records do not balance`)
  }
}

/** All that the rows say, in their order, with the best that any run says of each. */
function whatWasTold(
  evidence: Evidence,
  words: ReadonlyMap<string, readonly Word[]>,
  blame: Blame,
): Telling[] {
  const owes = !evidence.owesNothing && (evidence.runs[0]?.careTeams.owed ?? 0) > 0
  const keyOf = deliveryKey(evidence.exports)
  return evidence.exports.flatMap((one, delivery) => {
    const ofExport = words.get(keyOf(one)) ?? []
    const own = ofExport.map(({ rejects }) => Map.groupBy(rejects, ({ _row, _rule }) => `${_row} ${_rule}`))
    const atFirst = new Set(
      ofExport.flatMap(({ rejects, atFirst = rejects }) =>
        atFirst
          .filter(({ _code }) => REFUSALS.has(_code) || DOUBTS.has(_code))
          .map(({ _row, _rule }) => `${_row} ${_rule}`),
      ),
    )
    return one.told.map((record): Telling => {
      const of = own.map((rejects) => rejects.get(`${record.row} ${record.rule}`) ?? [])
      const said = of.map((rejects): Said => {
        const reject = rejects.find(({ _stage }) => !FOLLOWING.has(_stage))
        if (reject === undefined) return 'through'
        if (DOUBTS.has(reject._code)) return 'in-doubt'
        if (!isExcused(reject, record, evidence))
          blame('words', `rejected without cause (${reject._stage} ${reject._code}): ${briefly(record)}`)
        return 'refused'
      })
      const owed = owes && of.some((rejects) => rejects.some(({ _stage }) => FOLLOWING.has(_stage)))
      const waits = of.some((rejects) => rejects.some(({ _code }) => _code === WAITS))
      return {
        record,
        delivery,
        owed,
        waits,
        wasLeft: atFirst.has(`${record.row} ${record.rule}`),
        // Of a wiped gateway the newest run, which comes first, has the word.
        said:
          (evidence.wiped === undefined ? said.toSorted((a, b) => rank(a) - rank(b)) : said)[0] ?? 'through',
      }
    })
  })
}

const rank = (said: Said): number => ['through', 'in-doubt', 'refused'].indexOf(said)

/** Of a record the best that was said of any row of it: a twin of one that got through got through. */
const best = (tellings: readonly Telling[]): Said =>
  tellings.map(({ said }) => said).toSorted((a, b) => rank(a) - rank(b))[0] ?? 'through'

const isExcused = ({ _code }: Reject, record: ExpectedRecord, evidence: Evidence): boolean =>
  REFUSALS.has(_code)
    ? harms(evidence, record, 'refuses')
    : _code.startsWith('registration') && harms(evidence, record, 'refusesPeople')

/** What a correction puts in the place of what: of one person, code, source and instant. */
const placeOf = ({ person, series, observedMs }: ExpectedRecord): string =>
  `${person}\n${series}\n${observedMs}`

/** Place of a record. The correction of a care team may name another provider. */
const slotOf = (record: ExpectedRecord): string =>
  placeOf(record.kind === 'careTeam' ? { ...record, series: record.rule } : record)

/**
 * How often a record may be stored: once, and once more whenever it comes back after another has stood in its place. Where nobody knows
 * which export was read first, as often as rows tell of it, those of a reading that was given up among them.
 */
function mostCopies(
  tellings: readonly Telling[],
  { exports, ordered, givenUp = [] }: Evidence,
): Map<string, number> {
  const most = new Map<string, number>()
  const count = (text: string, by: number): unknown => most.set(text, (most.get(text) ?? 0) + by)
  if (ordered) {
    const latest = new Map<string, string>()
    for (const { record } of tellings) {
      const place = placeOf(record)
      if (latest.get(place) !== record.text) count(record.text, 1)
      latest.set(place, record.text)
    }
    return most
  }
  const readings = exports.map(({ name }) => 1 + givenUp.filter((one) => one === name).length)
  for (const own of Map.groupBy(tellings, ({ record }) => placeOf(record)).values()) {
    const isAlone = new Set(own.map(({ record }) => record.text)).size === 1
    for (const { record, delivery } of own) {
      if (isAlone) most.set(record.text, 1)
      else count(record.text, readings[delivery] ?? 1)
    }
  }
  return most
}

/**
 * What was refused, or in doubt, is not sent any more, where something else has been said in its place since that got through, or has not got through either; and what an export itself says
 * otherwise further down need not be sent at all. Which was read first is not known of exports that are not in order; of dated ones a backfill goes
 * by their days, and a run of the night by what it read first.
 */
const isOutdated = (
  own: readonly Telling[],
  slots: ReadonlyMap<string, readonly Telling[]>,
  { ordered, isDated = false, stored }: Pick<Evidence, 'ordered' | 'isDated' | 'stored'>,
): boolean =>
  own.every(
    ({ record, delivery, wasLeft, said }) =>
      said !== 'through' ||
      slots.get(slotOf(record))?.some((other) => {
        if (other.record.text === record.text) return false
        const isBehind = isLater(other, { record, delivery })
        if (other.delivery === delivery && isBehind) return true
        // An older value is not sent in place of the newest, which is stored, or which a run has called refused or in doubt.
        if (isDated) return other.said !== 'through' || stored.some(({ text }) => text === other.record.text)
        // The newer one has not got through either: of both nothing is there, and a run has said so.
        if (ordered && isBehind && other.said !== 'through') return true
        return wasLeft && other.said === 'through' && (!ordered || isBehind)
      }),
  )

const isLater = (one: Telling, than: Pick<Telling, 'record' | 'delivery'>): boolean =>
  one.delivery > than.delivery || (one.delivery === than.delivery && one.record.row > than.record.row)

/** What a correction takes back is gone: the newest export's value is the one that was stored last. */
function checkLatest(tellings: readonly Telling[], stored: readonly StoredRecord[], blame: Blame): void {
  const places = new Map(tellings.map(({ record }) => [record.text, placeOf(record)]))
  const latest = new Map<string, string>()
  for (const { text } of stored) latest.set(places.get(text) ?? '', text)
  for (const [place, own] of Map.groupBy(tellings, ({ record }) => placeOf(record))) {
    const newest = own.at(-1)
    if (
      newest === undefined ||
      newest.record.kind === 'careTeam' ||
      own.some(({ said }) => said !== 'through')
    )
      continue
    const found = latest.get(place)
    if (found !== undefined && found !== newest.record.text)
      blame('altered', `an earlier value stands, not that of the newest export: ${briefly(newest.record)}`)
  }
}

/**
 * The rule of docs/delivery.md: only a record of the same series that is as new or newer can hide whether ours is there. Care
 * teams are listed in full, so nothing hides one.
 * @param places when each was stored
 */
function isHidden(
  record: ExpectedRecord,
  expected: ReadonlyMap<string, readonly Telling[]>,
  places: ReadonlyMap<string, number>,
  isOwnDoing: (earlier: number, later: number) => boolean,
): boolean {
  if (record.kind === 'careTeam') return false
  const own = places.get(record.text)
  for (const [text, [other]] of expected) {
    const at = places.get(text)
    if (other === undefined || at === undefined || text === record.text) continue
    const { person, series, observedMs } = other.record
    if (person !== record.person || series !== record.series || observedMs < record.observedMs) continue
    if (own === undefined || !isOwnDoing(own, at)) return true
  }
  return false
}

const isOlderDoubt = (
  { record: older, said }: Telling,
  { person, series, observedMs, text }: ExpectedRecord,
): boolean =>
  said === 'in-doubt' &&
  older.text !== text &&
  older.person === person &&
  older.series === series &&
  older.observedMs <= observedMs

/** Of what may have been replaced: its rule stands in its transaction id. */
const OF_CARE_TEAM = /-pcp-[0-9a-f]{8}$/

function checkReceipts(
  { stored, receipts, exports, givenUp, forgotten, changed, wiped }: Evidence,
  ofText: ReadonlyMap<string, readonly Telling[]>,
  blame: Blame,
): void {
  const excused = exports.filter(({ name }) => givenUp?.includes(name))
  const inHand = new Set(excused.flatMap(({ told }) => told.map(({ text }) => text)))
  const ids = Map.groupBy(stored, ({ id }) => id)
  // The same file under another name may take back what stood in its place meanwhile: one record, stored and receipted twice.
  const shared = [...ids.values()].filter((own) => new Set(own.map(({ text }) => text)).size > 1)
  if (shared.length > 0) blame('words', `${shared.length} ids are borne by records that differ`)
  const receipted = new Set(receipts)
  /** By place, how many contents were told. */
  const corrected = new Map<string, number>()
  for (const [own] of ofText.values())
    if (own !== undefined) corrected.set(placeOf(own.record), (corrected.get(placeOf(own.record)) ?? 0) + 1)
  const given = Map.groupBy(receipts, (id) => id)
  const isReplaced = (id: string): boolean => changed === 'replace' && OF_CARE_TEAM.test(id)
  const surplus = [...given].filter(
    ([id, own]) => !isReplaced(id) && own.length > Math.max(1, ids.get(id)?.length ?? 0),
  )
  if (surplus.length > 0 && !forgotten)
    blame('words', `${surplus.length} records have more receipts than the gateway has copies`)
  // What had a receipt before is gone with the gateway.
  for (const id of receipted)
    if (wiped === undefined && !ids.has(id) && !isReplaced(id))
      blame('words', `a receipt of what is not stored: ${id}`)
  for (const { id, text } of stored) {
    // A value that came back may be through where it was said first, and in doubt where it was said again.
    const isInDoubt = (ofText.get(text) ?? []).some(({ said }) => said === 'in-doubt')
    // What is newer was taken in its place: whether it is stored itself was not looked for any more.
    const [own] = ofText.get(text) ?? []
    const isSuperseded = own !== undefined && (corrected.get(placeOf(own.record)) ?? 0) > 1
    if (receipted.has(id) || inHand.has(text) || forgotten || isInDoubt || isSuperseded) continue
    blame('words', `stored without a receipt: ${id}`)
  }
}

/** What the runs count together against what came to the gateway, and what they have receipts for. */
function checkTotals(
  { runs, log, receipts, forgotten, restarted, givenUp = [] }: Evidence,
  blame: Blame,
): void {
  if (forgotten || givenUp.length > 0) return
  const sum = (of: (run: ListedRun) => number): number => runs.reduce((total, run) => total + of(run), 0)
  const accepted = sum(({ records }) =>
    Object.values(records).reduce((total, one) => total + one.accepted, 0),
  )
  if (accepted !== receipts.length)
    blame('words', `${accepted} records are said to be accepted, with ${receipts.length} receipts`)
  // What was counted since the last commit that was synced is gone with the machine.
  if (restarted) return
  const people = sum(({ accounts }) => accounts.registered + accounts.known)
  if (people < log.accounts)
    blame('words', `${people} people are said to be registered or known, of ${log.accounts}`)
  const requests = sum(({ requests: { sent, readBack } }) => sent + readBack)
  if (requests < log.requests - log.underWay)
    blame('words', `${requests} requests are said to be sent, and ${log.requests} came`)
}
