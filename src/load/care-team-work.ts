/**
 * Carries out the steps for an account's care team: reads the list, deletes entries, sets and unsets the mark, by the gateway's ids alone (interface,
 * "DELETE /health-profile/care-teams", "Care team PCP flag"). A request that fails is reported, and owed.
 */

import { z } from 'zod'
import type { CareTeamReturned } from '../gateway/contract/health-profile.ts'
import { documented, epochMsOf } from '../gateway/contract/shared-objects.ts'
import { GatewayError, orRefusal, saysNotFound } from '../gateway/gateway-error.ts'
import { type KnownCareTeam, type Ledger, type Tallies, UNDATED } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountSign, Reason } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import type { AccountsContext } from './accounts.ts'
import { decideDeletion, decideFollowUp, type MarkStep } from './care-team-decide.ts'
import { type CareTeamEvent, learnCareTeam, rowsToSave } from './care-team-learn.ts'
import {
  type CareTeam,
  type CareTeamJob,
  fieldsOf,
  type HadCareTeam,
  hadBy,
  isMissing,
  newestRow,
  owesDeletion,
  owesMark,
} from './care-team-slot.ts'
import type { Delivery } from './delivery.ts'
import { messageOf, refusalWords, type Words } from './gateway-words.ts'

export interface CareTeamContext
  extends CareTeamJob,
    Pick<AccountsContext, 'gatewayName' | 'claims' | 'tallies'>,
    Pick<Delivery, 'gateway' | 'sending' | 'identity' | 'readLagMs' | 'pause' | 'now' | 'stale'> {
  readonly ledger: Pick<Ledger, 'careTeams' | 'people' | 'slots'>
  readonly owed: OwedBook
}

/** Failure of a follow-up; the entry itself is stored. */
export interface FollowUpFailure {
  readonly entry: Entry
  readonly reason: Reason
}

/** Account with its care team, as far as known. */
export interface AccountTeam {
  readonly hash: string
  /** Reference in the export; without an export, the gateway's id. */
  readonly owner: AccountKey
  readonly accountId: string | null
  /** Entries of the chunk about the account. */
  readonly entries: readonly Entry[]
  team: CareTeam
}

export const learnInto = (one: AccountTeam, event: CareTeamEvent): void => {
  one.team = learnCareTeam(one.team, event)
}

/**
 * Reads the list of an account. A list that shows another account is read once more, then counts as unreadable.
 * @throws WaybillError where the run must stop
 */
export async function readList(
  context: CareTeamContext,
  one: AccountTeam,
  at = context.now(),
): Promise<void> {
  const shownUntil = at - context.readLagMs
  learnInto(one, { what: 'listed', listed: await listOf(context, one), shownUntil })
}

/** Reads the list once more, after a wait of at most the longest delay of a list. */
export async function lookAgain(context: CareTeamContext, one: AccountTeam, waitMs: number): Promise<void> {
  const wait = Math.min(waitMs, context.readLagMs)
  const until = context.now() + wait
  if (wait > 0) await context.pause(wait)
  await readList(context, one, Math.max(context.now(), until))
}

async function listOf(
  { gateway, identity, sending, stale }: CareTeamContext,
  { owner, accountId, team: { known }, entries: [entry] }: AccountTeam,
): Promise<readonly HadCareTeam[] | 'unreadable'> {
  const isOther = ({ userId = accountId }: CareTeamReturned): boolean =>
    accountId !== null && userId !== accountId
  const judge = async (sign: AccountSign): Promise<boolean> => entry === undefined || stale.judge(entry, sign)
  try {
    for (let isAgain = false; ; isAgain = true) {
      const listed = await sending.read('list care teams', () => gateway.careTeams.list(owner))
      if (!listed.some(isOther)) return listed.map((record) => toHad(identity, known, record))
      if (isAgain || (await judge('other-id'))) return 'unreadable'
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (saysNotFound(error)) await judge('not-found')
    return 'unreadable'
  }
}

function toHad(identity: Identity, known: readonly KnownCareTeam[], record: CareTeamReturned): HadCareTeam {
  const fields = fieldsOf(record)
  const npi = identity.npi(fields.npi ?? '')
  const listedAt = epochMsOf(record.observationDate)
  const byLedger = known.find((one) => one.npi === npi && one.observedAt !== UNDATED)
  const dates = [listedAt, byLedger?.observedAt].filter((date) => date !== undefined)
  const observedAt = dates.length === 0 ? undefined : Math.max(...dates)
  const place = byLedger?.observedAt === observedAt ? (byLedger?.place ?? 0) : 0
  const [isMarked, ours] = [record.pcp === true, oursOf(record)]
  return { id: record.id, isListed: true, npi, fields, observedAt, listedAt, place, isMarked, ours }
}

/**
 * Decides, carries out and learns, until nothing is left to do now.
 * @returns failures about entries of the chunk
 */
export async function workOff(context: CareTeamContext, one: AccountTeam): Promise<FollowUpFailure[]> {
  const { tallies } = context
  const refusals = new Map<string, GatewayError>()
  const ofMark: FollowUpFailure[] = []
  const because = (npi: string): 'replaced' | 'removed' =>
    one.team.known.some((row) => row.npi === npi && row.deletions.some(isMissing)) ? 'removed' : 'replaced'
  for (;;) {
    const step = decideFollowUp(one.team, context)
    switch (step.step) {
      case 'nothing':
        return [...deletionFailures(context, one, refusals), ...ofMark]
      case 'look':
        await lookAgain(context, one, step.waitMs)
        break
      case 'delete': {
        const { npi, remove } = step
        const error = await deleteEntries(context, one, remove)
        if (error === undefined) tallies.careTeams[because(npi)]++
        else refusals.set(npi, error)
        learnInto(one, { what: error === undefined ? 'deleted' : 'not deleted', npi, entries: remove })
        break
      }
      case 'over':
        // A deletion without an answer, or one done by somebody else.
        if (step.isGone) tallies.careTeams[because(step.npi)]++
        learnInto(one, { what: 'over', npi: step.npi, left: step.left })
        break
      default:
        ofMark.push(...(await carryOutMark(context, one, step)))
    }
  }
}

async function carryOutMark(
  context: CareTeamContext,
  one: AccountTeam,
  step: MarkStep,
): Promise<FollowUpFailure[]> {
  const error = 'had' in step ? await sendMark(context, one, step) : undefined
  if ('had' in step && error === undefined)
    context.tallies.primaryCare[step.step === 'mark' ? 'marked' : 'unmarked']++
  learnInto(one, { what: 'mark', step, isRefused: error !== undefined })
  const { entry } = { entry: undefined, ...step }
  if (entry === undefined) return []
  if (error !== undefined) return [failureOf('primary-care', 'mark-refused', refusalWords(error), entry)]
  return step.step === 'wait' ? [failureOf('primary-care', 'mark-waits', MARK_WAITS, entry)] : []
}

const MARK_WAITS: Words = {
  ours: 'nobody knows yet whether the entry is stored; the mark is set by a run that finds it in the list',
}

const UNLISTED: Words = {
  ours: 'the list of care teams cannot be read, or does not show the new entry; a run that finds it there deletes the old one',
}

const failureOf = (
  stage: 'replace' | 'primary-care',
  code: string,
  words: Words,
  entry: Entry,
): FollowUpFailure => ({ entry, reason: { stage, code, ...messageOf(words, entry) } })

/** Deletions of this chunk that are left, with the entry that replaces the deleted ones. */
function deletionFailures(
  context: CareTeamContext,
  { team }: AccountTeam,
  refusals: ReadonlyMap<string, GatewayError>,
): FollowUpFailure[] {
  return [...new Set([...team.deletions.keys(), ...refusals.keys()])].flatMap((npi) => {
    const step = decideDeletion(team, npi, context)
    if (step.step !== 'wait') return []
    const refusal = refusals.get(npi)
    const [by] = newestRow(team.wanted.filter((one) => one.npi === npi))
    if (refusal !== undefined && by !== undefined)
      return [failureOf('replace', 'replaced-not-deleted', refusalWords(refusal), by.entry)]
    return step.unlisted.map(({ entry }) => failureOf('replace', 'replacement-not-listed', UNLISTED, entry))
  })
}

/** @returns the error where the gateway refused to delete them. Not found: an unanswered attempt has deleted the entry */
async function deleteEntries(
  { gateway, sending }: CareTeamContext,
  { owner }: AccountTeam,
  had: readonly HadCareTeam[],
): Promise<GatewayError | undefined> {
  const id = had.flatMap((one) => one.id ?? [])
  const deleted = await orRefusal(
    sending.idempotent('delete care team', () => gateway.careTeams.delete(owner, { id })),
  )
  return deleted instanceof GatewayError ? deleted : undefined
}

/**
 * Sends a mark by account and NPI as the export names them: sent data comes from the export alone. The gateway's id replaces the NPI where the
 * account has several entries of the NPI, since the interface leaves open which entry is meant.
 */
async function sendMark(
  { gateway, sending }: CareTeamContext,
  { owner, team }: AccountTeam,
  { step, had, entry }: Extract<MarkStep, { had: HadCareTeam }>,
): Promise<GatewayError | undefined> {
  const { id, fields } = had
  const several = hadBy(team).filter(({ npi }) => npi === had.npi).length > 1
  const named = id !== undefined && (several || fields.npi === undefined) ? { id } : { npi: fields.npi }
  const request = { account: { ...(entry?.account ?? owner) }, ...named }
  const call = () =>
    step === 'mark' ? gateway.careTeams.setPrimary(request) : gateway.careTeams.unsetPrimary(request)
  const sent = await orRefusal(sending.idempotent(`${step} primary care physician`, call))
  return sent instanceof GatewayError ? sent : undefined
}

/** Rows of the account to save, which the book of debts notes. */
export function endWork({ jobId, now, owed, ...rules }: CareTeamContext, one: AccountTeam): KnownCareTeam[] {
  const rows = rowsToSave(one.team, { account: one.hash, accountId: one.accountId }, { jobId }, now())
  const saved = new Map([...one.team.known, ...rows].map((row) => [row.npi, row]))
  noteOwed(owed, [...saved.values()], { jobId, ...rules })
  return rows
}

interface OwedBook {
  /** @param isOwed true where the account's mark is owed now */
  mark(account: string, isOwed: boolean): void
  /** @param npi hash of the NPI */
  deletion(account: string, npi: string, isOwed: boolean): void
}

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

/** Notes marks and deletions by all rows of their accounts. */
export function noteOwed(book: OwedBook, known: readonly KnownCareTeam[], job: CareTeamJob): void {
  for (const [account, rows] of Map.groupBy(known, (one) => one.account)) {
    book.mark(
      account,
      rows.some((one) => owesMark(one, job)),
    )
    for (const one of rows) book.deletion(account, one.npi, owesDeletion(one, job))
  }
}

/** Our id in a listed entry, where the gateway keeps it. */
const Ours = z.object({ source: z.object({ meta: z.object({ persistentRecordId: z.string() }) }) })

const oursOf = (record: unknown): string | undefined =>
  documented(Ours, record)?.source.meta.persistentRecordId
