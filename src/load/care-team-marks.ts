/**
 * Mark of the primary care physician: set, unset, or owed. The ledger keeps a mark that cannot be sent now, and the next run sends it by the
 * gateway's ids alone (interface, "Care team PCP flag").
 */
import type { CareTeamReturned } from '../gateway/contract/health-profile.ts'
import { epochMsOf } from '../gateway/contract/shared-objects.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError, orRefusal, saysNotFound } from '../gateway/gateway-error.ts'
import {
  type CareTeamMark,
  type KnownCareTeam,
  type Ledger,
  type OwedDeletion,
  type Tallies,
  UNDATED,
} from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountSign, Reason } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import {
  type CareTeamAccount,
  type CareTeamRules,
  fieldsOf,
  type HadCareTeam,
  type MarkStep,
  oursOf,
} from './care-team-state.ts'
import type { Claims } from './claims.ts'
import type { StaleAccounts } from './delivery.ts'
import { messageOf, refusalWords, type Words } from './gateway-words.ts'
import type { Sending } from './sending.ts'

export interface CareTeamContext extends CareTeamRules {
  readonly gateway: Gateway
  readonly gatewayName: string
  readonly ledger: Pick<Ledger, 'careTeams' | 'people' | 'slots'>
  readonly claims: Claims
  readonly jobId: number
  readonly sending: Sending
  readonly identity: Identity
  readonly tallies: Tallies
  /** Longest delay of a list, in milliseconds. */
  readonly readLagMs: number
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
  readonly owed: OwedBook
  readonly stale: StaleAccounts
}

/** Failure of a follow-up; the entry itself is stored. */
export interface FollowUpFailure {
  readonly entry: Entry
  readonly reason: Reason
}

/** Owner of a care team, as gateway and ledger know the account. */
export interface MarkedAccount {
  readonly hash: string
  /** Reference in the export; without an export, the gateway's id. */
  readonly owner: AccountKey
  readonly accountId: string | null
  readonly known: readonly KnownCareTeam[]
  /** Entries of the chunk about the account. */
  readonly entries?: readonly Entry[]
}

/**
 * Reads the list of an account. Null where it is unreadable, or shows the care team of another account: a list of an account that is not stale is
 * read once more.
 * @throws WaybillError where the run must stop
 */
export async function listCareTeams(
  { gateway, identity, sending, stale }: CareTeamContext,
  { owner, accountId, known, entries: [entry] = [] }: Omit<MarkedAccount, 'hash'>,
): Promise<readonly HadCareTeam[] | null> {
  const newest = new Map(
    known.flatMap(({ npi, observedAt }) => (observedAt === UNDATED ? [] : [[npi, observedAt] as const])),
  )
  const toHad = (one: CareTeamReturned): HadCareTeam => {
    const fields = fieldsOf(one)
    const npi = identity.npi(fields.npi ?? '')
    const listedAt = epochMsOf(one.observationDate)
    const dates = [listedAt, newest.get(npi)].filter((date) => date !== undefined)
    return {
      id: one.id,
      isListed: true,
      npi,
      fields,
      observedAt: dates.length === 0 ? undefined : Math.max(...dates),
      listedAt,
      isMarked: one.pcp === true,
      ours: oursOf(one),
    }
  }
  const isOther = ({ userId = accountId }: CareTeamReturned): boolean =>
    accountId !== null && userId !== accountId
  const judge = async (sign: AccountSign): Promise<boolean> => entry === undefined || stale.judge(entry, sign)
  try {
    for (let isAgain = false; ; isAgain = true) {
      const listed = await sending.read('list care teams', () => gateway.careTeams.list(owner))
      if (!listed.some(isOther)) return listed.map(toHad)
      if (isAgain || (await judge('other-id'))) return null
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (saysNotFound(error)) await judge('not-found')
    return null
  }
}

export type Marks = ReadonlyMap<string, CareTeamMark>

/** @returns changed marks, by the hash of the NPI */
export async function carryOutMark(
  context: CareTeamContext,
  person: Pick<MarkedAccount, 'hash' | 'owner'>,
  { has, known }: Pick<CareTeamAccount, 'has' | 'known'>,
  step: MarkStep,
): Promise<{ readonly marks: Marks; readonly failure?: FollowUpFailure }> {
  const { tallies, owed, jobId } = context
  // A job owes only the marks of its own exports.
  const isOthers =
    !('entry' in step) &&
    known.some(({ npi, markBy }) => 'npi' in step && npi === step.npi && (markBy ?? jobId) !== jobId)
  const owe = (isNow: boolean): void => owed.mark(person.hash, isNow && !isOthers)
  const owing = (npi: string, mark: 'to-set' | 'to-unset'): Marks => new Map(isOthers ? [] : [[npi, mark]])
  const bearing = (npi: string): Marks =>
    new Map([
      ...known.flatMap((one) => (one.mark === 'withdrawn' ? [] : [[one.npi, 'none'] as const])),
      [npi, 'set'] as const,
    ])
  switch (step.step) {
    case 'none': {
      owe(false)
      // Nobody bears a mark to unset any more.
      return {
        marks: new Map(known.flatMap(({ npi, mark }) => (mark === 'to-unset' ? [[npi, 'none']] : []))),
      }
    }
    case 'marked':
      owe(false)
      return { marks: bearing(step.npi) }
    case 'wait': {
      owe(true)
      const { entry } = step
      const marks = owing(step.npi, 'to-set')
      if (entry === undefined) return { marks }
      return { marks, failure: { entry, reason: reasonOf('primary-care', 'mark-waits', WAITS, entry) } }
    }
    case 'mark':
    case 'unmark': {
      const isMark = step.step === 'mark'
      const account = step.entry?.account ?? person.owner
      const error = await sendMark(context, account, step, has)
      owe(error !== undefined)
      if (error === undefined) {
        if (isMark) tallies.primaryCare.marked++
        else tallies.primaryCare.unmarked++
        return { marks: isMark ? bearing(step.npi) : new Map([[step.npi, 'withdrawn']]) }
      }
      const marks = owing(step.npi, isMark ? 'to-set' : 'to-unset')
      const { entry } = step
      if (entry === undefined) return { marks }
      const reason = reasonOf('primary-care', 'mark-refused', refusalWords(error), entry)
      return { marks, failure: { entry, reason } }
    }
  }
}

const WAITS: Words = {
  ours: 'the entry is in doubt; a run that finds the entry in the list sets the mark',
}

/**
 * Sends a mark by account and NPI as the export names them: sent data comes from the export alone. The gateway's id replaces the NPI where the
 * account has several entries of the NPI, since the interface leaves open which entry is meant.
 */
async function sendMark(
  { gateway, sending }: CareTeamContext,
  account: AccountKey,
  { step, had }: Extract<MarkStep, { readonly had: HadCareTeam }>,
  has: readonly HadCareTeam[],
): Promise<GatewayError | undefined> {
  const { id, fields } = had
  const several = has.filter(({ npi }) => npi === had.npi).length > 1
  const named = id !== undefined && (several || fields.npi === undefined) ? { id } : { npi: fields.npi }
  const request = { account: { ...account }, ...named }
  const call = () =>
    step === 'mark' ? gateway.careTeams.setPrimary(request) : gateway.careTeams.unsetPrimary(request)
  const sent = await orRefusal(sending.idempotent(`${step} primary care physician`, call))
  return sent instanceof GatewayError ? sent : undefined
}

/** Owed deletions, by the hash of the NPI. */
export type Deletions = ReadonlyMap<string, readonly OwedDeletion[]>

/** Rows of the account to save in the ledger: entries with their newest date, changed marks and changed deletions. */
export function knownNow(
  { jobId, now: clock }: Pick<CareTeamContext, 'jobId' | 'now'>,
  { hash, accountId }: Pick<MarkedAccount, 'hash' | 'accountId'>,
  { wanted, known, has }: CareTeamAccount,
  marks: Marks,
  deletions: Deletions,
): KnownCareTeam[] {
  const now = clock()
  const rows = new Map(known.map((one) => [one.npi, one]))
  const note = (npi: string, observedAt: number, content: string | null, place = 0): void => {
    const before = rows.get(npi)
    const at = Math.max(before?.observedAt ?? observedAt, observedAt)
    const row = { account: hash, npi, observedAt: at, storedAt: now, accountId, content }
    rows.set(npi, { ...NO_STATE, ...before, ...row, heardAt: Math.max(before?.heardAt ?? 0, place) })
  }
  for (const [npi, owed] of deletions) {
    if (owed.length === 0 || rows.has(npi)) continue
    const dates = has.flatMap((one) => (one.npi === npi ? (one.listedAt ?? []) : []))
    note(npi, Math.max(UNDATED, ...dates), null)
  }
  for (const { npi, status, entry, place, isHeard } of wanted) {
    if (status === 'stored' || (status === 'delivered' && !isHeard)) note(npi, entry.observedAt, null, place)
    // The mark of an entry in doubt counts, though nobody knows whether the entry is stored.
    const mark = status === 'doubtful' ? marks.get(npi) : undefined
    if (mark === 'to-set') note(npi, entry.observedAt, entry.content, place)
    if (mark === 'withdrawn') note(npi, entry.observedAt, null, place)
  }
  return [...rows.values()].flatMap((row) => {
    const mark = marks.get(row.npi) ?? row.mark
    const isNew = known.find(({ npi }) => npi === row.npi) !== row
    const content = mark === 'to-set' ? row.content : null
    const owed = deletions.get(row.npi) ?? row.deletions
    const by = (isOwed: boolean): number | null => (isOwed ? jobId : null)
    const markBy = marks.has(row.npi) ? by(isMarkOwed({ mark })) : row.markBy
    const deletionsBy = owed === row.deletions ? row.deletionsBy : by(owed.length > 0)
    const isAnother = isNew || mark !== row.mark || owed !== row.deletions || markBy !== row.markBy
    return isAnother ? [{ ...row, mark, content, deletions: owed, markBy, deletionsBy }] : []
  })
}

const NO_STATE = { mark: 'none', deletions: [], heardAt: 0, markBy: null, deletionsBy: null } as const

export const reasonOf = (
  stage: 'replace' | 'primary-care',
  code: string,
  words: Words,
  entry: Entry,
): Reason => ({
  stage,
  code,
  ...messageOf(words, entry),
})

export interface OwedBook {
  /** @param isOwed true where the account's mark is owed now */
  mark(account: string, isOwed: boolean): void
  /** @param npi hash of the NPI */
  deletion(account: string, npi: string, isOwed: boolean): void
}

export const isMarkOwed = ({ mark }: { readonly mark: CareTeamMark }): boolean =>
  mark === 'to-set' || mark === 'to-unset'

/** True for a deletion without a replacement: an export no longer lists the entry. */
export const isMissing = ({ by }: OwedDeletion): boolean => by.length === 0

/** Rules of a job, and its id. */
export type CareTeamJob = Pick<CareTeamContext, keyof CareTeamRules | 'jobId'>

/** Checks for deletions that the job must carry out: only the owing job does, while its rules replace entries or delete missing ones. */
export const owesDeletion = (
  { deletions, deletionsBy }: Pick<KnownCareTeam, 'deletions' | 'deletionsBy'>,
  { changed, missing, jobId }: CareTeamJob,
): boolean =>
  deletionsBy === jobId &&
  deletions.some((one) => (isMissing(one) ? missing === 'delete' : changed === 'replace'))

export const owesMark = (known: Pick<KnownCareTeam, 'mark' | 'markBy'>, { jobId }: CareTeamJob): boolean =>
  isMarkOwed(known) && known.markBy === jobId

export function createOwedBook(tallies: Pick<Tallies, 'primaryCare' | 'careTeams'>): OwedBook {
  const owed = new Set<string>()
  const note = (key: string, isNow: boolean): number => {
    if (isNow === owed.has(key)) return 0
    if (isNow) owed.add(key)
    else owed.delete(key)
    return isNow ? 1 : -1
  }
  return {
    mark(account, isOwed) {
      const change = note(account, isOwed)
      tallies.primaryCare.owed += change
      tallies.careTeams.owed += change
    },
    deletion(account, npi, isOwed) {
      tallies.careTeams.owed += note(`${account} ${npi}`, isOwed)
    },
  }
}

/** Notes marks and deletions that an earlier process saved as owed. */
export function noteOwed(book: OwedBook, known: readonly KnownCareTeam[], job: CareTeamJob): void {
  for (const one of known) {
    if (owesMark(one, job)) book.mark(one.account, true)
    if (owesDeletion(one, job)) book.deletion(one.account, one.npi, true)
  }
}
