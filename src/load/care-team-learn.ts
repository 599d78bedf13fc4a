/** Event that changes the slot of an account's care team: events are the only way to change a slot. Pure. */
import { type CareTeamMark, type KnownCareTeam, type OwedDeletion, UNDATED } from '../ledger/ledger.ts'
import type { MarkStep } from './care-team-decide.ts'
import {
  type CareTeam,
  type CareTeamJob,
  type CareTeamRules,
  type HadCareTeam,
  hadBy,
  isMissing,
  isOutdated,
  isSame,
  NOTHING_SAID,
  newestRow,
  rowNow,
  type WantedCareTeam,
} from './care-team-slot.ts'

export type CareTeamEvent =
  /** The list was read, or is unreadable: then the entries read before still count. */
  | {
      readonly what: 'listed'
      readonly listed: readonly HadCareTeam[] | 'unreadable'
      /** Time until which the list is sure to show all entries. */
      readonly shownUntil: number
    }
  | { what: 'wanted'; wanted: readonly WantedCareTeam[] }
  | {
      readonly what: 'settled'
      readonly wanted: readonly WantedCareTeam[]
      readonly changed: CareTeamRules['changed']
    }
  /** The gateway has deleted the entries, or refused to. */
  | {
      readonly what: 'deleted' | 'not deleted'
      readonly npi: string
      readonly entries: readonly HadCareTeam[]
    }
  | { what: 'over'; npi: string; left: readonly OwedDeletion[] }
  | { what: 'mark'; step: MarkStep; isRefused: boolean }

export function learnCareTeam(team: CareTeam, event: CareTeamEvent): CareTeam {
  switch (event.what) {
    case 'listed':
      return listed(team, event)
    case 'wanted':
      return { ...team, wanted: event.wanted }
    case 'settled':
      return settled({ ...team, wanted: event.wanted, looks: 0 }, event.changed)
    case 'deleted':
      return deleted(team, event.npi, event.entries)
    case 'not deleted':
      return { ...team, refused: new Set([...team.refused, event.npi]) }
    case 'over':
      return { ...team, deletions: new Map([...team.deletions, [event.npi, event.left]]) }
    case 'mark':
      return markLearned(team, event.step, event.isRefused)
  }
}

function listed(
  team: CareTeam,
  { listed: shown, shownUntil }: Extract<CareTeamEvent, { what: 'listed' }>,
): CareTeam {
  const isAgain = team.listed !== 'unread'
  const looks = team.looks + Number(isAgain)
  if (shown === 'unreadable') return { ...team, looks, listed: isAgain ? team.listed : shown }
  return { ...team, looks, listed: shown, shownUntil }
}

/** Owes the deletions that the chunk's newest entries bring about, or revokes those of another job. */
function settled(team: CareTeam, changed: CareTeamRules['changed']): CareTeam {
  const has = hadBy(team)
  const deletions = new Map(team.deletions)
  const doubts = new Set(team.doubts)
  for (const [npi, wanted] of Map.groupBy(team.wanted, (one) => one.npi)) {
    const row = team.known.find((one) => one.npi === npi)
    const before = row?.deletions ?? []
    // Without a list, the ledger alone tells of a newer entry.
    const isByLedger = typeof team.listed === 'string' && row !== undefined && row.observedAt !== UNDATED
    const owed =
      changed === 'replace'
        ? owedFor(
            wanted,
            has.filter((one) => one.npi === npi),
            isByLedger ? [{ ...row, fields: {} }] : [],
          )
        : undefined
    if (owed !== undefined) deletions.set(npi, owedAfter(before, owed))
    for (const content of owed?.inDoubt ?? []) doubts.add(content)
    // Without replacement the job wants every entry of a provider with news.
    const isWanted = wanted.some(
      (one) => isStored(one) && has.some((had) => had.npi === npi && isSame(one, had)),
    )
    if (changed !== 'replace' && before.length > 0 && isWanted) deletions.set(npi, [])
  }
  return { ...team, deletions, doubts }
}

const isStored = ({ status }: WantedCareTeam): boolean => status === 'created' || status === 'stored'

/**
 * Deletion of all older entries of a provider; undefined without news, or where the account has a newer entry.
 * @param has entries of the provider
 * @param newest of its entries by the ledger
 */
function owedFor(
  wanted: readonly WantedCareTeam[],
  has: readonly HadCareTeam[],
  newest: Parameters<typeof isOutdated>[1],
): OwedDeletion | undefined {
  const kept = newestRow(wanted)
  const until = kept[0]?.entry.observedAt
  const isNews = (one: WantedCareTeam): boolean =>
    // A row passed over for a delivered one is none.
    one.status === 'stored' ? kept.some((other) => isSame(one, other)) : one.status !== 'delivered'
  if (until === undefined || !wanted.some(isNews)) return undefined
  if (isOutdated(kept, [...newest, ...has])) return undefined
  const standing = kept.map((one) => standingFor(one, has))
  const older = has.filter(
    (one) => one.isListed && !standing.includes(one) && (one.observedAt ?? Infinity) <= until,
  )
  const by = kept.map(({ entry }, at) => [entry.transactionId, ...[standing[at]?.id ?? []].flat()])
  const doubtful = kept.filter(({ status }, at) => status === 'doubtful' && standing[at]?.isListed !== true)
  return { by, until, isSeen: older.length > 0, inDoubt: doubtful.map(({ entry }) => entry.content) }
}

/** Form of an entry at the gateway: by our id, else the one with the mark, else the newest of equal fields. */
function standingFor(one: WantedCareTeam, has: readonly HadCareTeam[]): HadCareTeam | undefined {
  const same = has.filter((had) => isSame(one, had))
  const newest = same.toSorted((a, b) => (b.observedAt ?? 0) - (a.observedAt ?? 0))
  return (
    same.find(({ ours }) => ours === one.entry.transactionId) ??
    same.find(({ isMarked }) => isMarked) ??
    newest[0]
  )
}

/**
 * Deletions owed for a provider after a chunk. A new stored entry supersedes earlier deletions. A new entry in doubt may be missing, so that earlier
 * deletions stay. An earlier record in doubt may still turn out stored, and is deleted then. The chunk lists the provider: no deletion as missing stays.
 */
function owedAfter(known: readonly OwedDeletion[], owed: OwedDeletion): OwedDeletion[] {
  const before = known.filter((one) => !isMissing(one))
  if (owed.inDoubt.length > 0) {
    const isKnown = before.some(({ inDoubt }) => owed.inDoubt.every((content) => inDoubt.includes(content)))
    return isKnown ? [...before] : [...before, owed].sort((a, b) => a.until - b.until)
  }
  const own = new Set(owed.by.flat())
  const inDoubt = known
    .filter(({ until, by }) => until <= owed.until && !by.flat().some((id) => own.has(id)))
    .flatMap((one) => one.inDoubt)
  return [{ ...owed, inDoubt }, ...before.filter(({ until }) => until > owed.until)]
}

/** The provider's mark goes with a deleted entry that bore it, and is to be set on the replacement. */
function deleted(team: CareTeam, npi: string, removed: readonly HadCareTeam[]): CareTeam {
  const row = team.known.find((one) => one.npi === npi)
  const owed = team.deletions.get(npi) ?? row?.deletions ?? []
  const left = owed.map((one) => ({ ...one, isSeen: false }))
  const isMarkGone = (team.marks.get(npi) ?? row?.mark) === 'set' && removed.some(({ isMarked }) => isMarked)
  const mark = owed.some(isMissing) ? 'none' : 'to-set'
  return {
    ...team,
    listed:
      typeof team.listed === 'string' ? team.listed : team.listed.filter((one) => !removed.includes(one)),
    deletions: new Map([...team.deletions, [npi, left]]),
    marks: isMarkGone ? new Map([...team.marks, [npi, mark]]) : team.marks,
  }
}

function markLearned(team: CareTeam, step: MarkStep, isRefused: boolean): CareTeam {
  const marks = new Map<string, CareTeamMark>([...team.marks, ...step.left])
  const markOf = ({ npi, mark }: KnownCareTeam): CareTeamMark => marks.get(npi) ?? mark
  const isBorne = step.step === 'marked' || (step.step === 'mark' && !isRefused)
  for (const one of team.known) {
    const mark = markOf(one)
    if (isBorne && mark !== 'withdrawn') marks.set(one.npi, mark === 'to-unset' ? 'withdrawn' : 'none')
  }
  if (isBorne) marks.set(step.npi, 'set')
  else if (step.step === 'mark') marks.set(step.npi, 'to-set')
  else if (step.step === 'unmark') marks.set(step.npi, isRefused ? 'to-unset' : 'withdrawn')
  else if (step.step === 'wait') marks.set(step.npi, step.owed)
  else if (step.step === 'drop') marks.set(step.npi, 'none')
  return { ...team, marks, isMarkDone: true }
}

/**
 * Rows of the account to save in the ledger, where changed: entries with their newest date, marks and deletions.
 * @param whose account, and id of the account at the gateway
 */
export function rowsToSave(
  team: CareTeam,
  whose: { account: string; accountId: string | null },
  { jobId }: Pick<CareTeamJob, 'jobId'>,
  storedAt: number,
): KnownCareTeam[] {
  const has = hadBy(team)
  const rows = new Map(team.known.map((one) => [one.npi, one]))
  const note = (npi: string, observedAt: number, content: string | null, heard = 0, sent = 0): void => {
    const before = rows.get(npi) ?? NOTHING_SAID
    const at = Math.max(before.observedAt, observedAt)
    const heardAt = Math.max(before.heardAt, heard)
    const places = [before.observedAt === at ? before.place : 0, observedAt === at ? sent : 0]
    const place = Math.max(...places)
    rows.set(npi, { ...before, ...whose, npi, observedAt: at, storedAt, content, heardAt, place })
  }
  for (const [npi, owed] of team.deletions) {
    const dates = has.flatMap((one) => (one.npi === npi ? (one.listedAt ?? []) : []))
    if (owed.length > 0 && !rows.has(npi)) note(npi, Math.max(UNDATED, ...dates), null)
  }
  for (const one of team.wanted) {
    const { npi, status, entry } = one
    const mark = team.marks.get(npi)
    // Other words say nothing about the mark.
    const place = entry.primary === undefined ? 0 : one.place
    if (isStored(one) || (status === 'delivered' && !one.isHeard))
      note(npi, entry.observedAt, null, place, one.status === 'delivered' ? 0 : one.place)
    if (status !== 'doubtful') continue
    // The mark of an entry in doubt counts, though nobody knows whether the entry is stored.
    if (mark === undefined || mark === 'none' || mark === 'set')
      note(npi, UNDATED, rows.get(npi)?.content ?? null)
    else note(npi, entry.observedAt, mark === 'to-set' ? entry.content : null, place)
  }
  return [...rows.values()].flatMap((row) => {
    const before = team.known.find(({ npi }) => npi === row.npi)
    const now = rowNow(team, row, jobId)
    const content = now.mark === 'to-set' ? row.content : null
    const isMissed = before?.deletions.some(isMissing) === true && now.deletions.length === 0
    const isGone = isMissed && typeof team.listed !== 'string' && !has.some(({ npi }) => npi === row.npi)
    const isChanged =
      row !== before || now.mark !== row.mark || now.deletions !== row.deletions || now.markBy !== row.markBy
    return isChanged ? [{ ...now, content, ...(isGone ? { isGone } : {}) }] : []
  })
}
