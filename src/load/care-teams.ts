/**
 * Brings the care teams of a chunk's people to their wanted state (care-team-state.ts): what is to be created goes out with the other
 * records; then entries that were replaced are deleted by their ids, and the mark is set or taken away. What cannot be done now is owed:
 * the ledger keeps it, and the next run does it.
 */
import type { CareTeamReturned } from '../gateway/contract/care-team.ts'
import { epochMsOf } from '../gateway/contract/observation-date.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { CareTeamMark, KnownCareTeam, Ledger, Tallies } from '../ledger/ledger.ts'
import type { AccountKey } from '../transform/record.ts'
import type { ResolvedAccounts } from './accounts.ts'
import { allDone } from './all-done.ts'
import {
  type CareTeamAccount,
  type CareTeamStep,
  type ChangedCareTeam,
  fieldsOf,
  fieldsSent,
  type HadCareTeam,
  isSame,
  type MarkStep,
  oursOf,
  planCareTeam,
  type WantedCareTeam,
} from './care-team-state.ts'
import type { Entry, EntryOutcome, Reason } from './entry.ts'
import { refusalWords, told, type Words } from './gateway-words.ts'
import type { Identity } from './identity.ts'
import type { Sending } from './sending.ts'

export interface CareTeamContext {
  readonly gateway: Gateway
  readonly gatewayName: string
  readonly ledger: Pick<Ledger, 'careTeams' | 'registeredBy' | 'owedMarks' | 'heldContents'>
  readonly runId: string
  readonly sending: Sending
  readonly identity: Identity
  readonly tallies: Tallies
  readonly changed: ChangedCareTeam
  /** Milliseconds for which a list may be late. */
  readonly readLagMs: number
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
  /** Hashes of the accounts of which this run has left a mark owed. */
  readonly owed: Set<string>
}

/** The entry is stored; what was to follow could not be done. */
export interface FollowUpFailure {
  readonly entry: Entry
  readonly reason: Reason
}

export interface CareTeamsOfChunk {
  /**
   * @param open entries without an outcome
   * @param outcomes of all others of the chunk
   */
  select(open: readonly Entry[], outcomes: Outcomes): Promise<SelectedCareTeams>
  /** @param outcomes of all entries of the chunk. @throws WaybillError where the run must stop */
  finish(outcomes: Outcomes): Promise<FinishedCareTeams>
}

type Outcomes = ReadonlyMap<Entry, EntryOutcome>

export interface SelectedCareTeams {
  /** Those that are not to be sent. */
  readonly outcomes: readonly EntryOutcome[]
  /** The account's list cannot be read, and nobody can tell whether they were sent before. */
  readonly doubtful: readonly Entry[]
  /** Another one of the chunk is the same: it shares the fate of that one. */
  readonly twins: readonly { readonly entry: Entry; readonly first: Entry }[]
}

export interface FinishedCareTeams {
  readonly failures: readonly FollowUpFailure[]
  /** What the accounts have now, for the ledger. */
  readonly known: readonly KnownCareTeam[]
}

interface Person {
  readonly hash: string
  /** By the gateway's id where that is known. */
  readonly owner: AccountKey
  readonly accountId: string | null
  readonly entries: readonly Entry[]
  readonly known: readonly KnownCareTeam[]
  /** Whether this run has registered it, and given it nothing in earlier chunks. */
  readonly isEmpty: boolean
  /** What the list shows; undefined where it was not asked for, null where it cannot be read. */
  listed: readonly HadCareTeam[] | null | undefined
}

/**
 * @param entries care-team entries of the chunk
 * @param isUncertain whether an entry may have been sent of which the ledger does not know
 */
export async function careTeamsOf(
  context: CareTeamContext,
  entries: readonly Entry[],
  accounts: Pick<ResolvedAccounts, 'accountIds'>,
  isUncertain: (entry: Entry) => boolean,
): Promise<CareTeamsOfChunk> {
  const { identity } = context
  const people = await peopleOf(context, entries, accounts)
  const npis = new Map(entries.map((entry) => [entry, identity.npi(entry.record.evidence.npi ?? '')]))
  const fields = new Map(entries.map((entry) => [entry, fieldsSent(entry)]))

  /** @param open status of those without an outcome; any other without one is a twin, and stands for nothing of its own */
  const wantedOf = (
    person: Person,
    outcomes: Outcomes,
    open: ReadonlyMap<Entry, WantedCareTeam['status']> = new Map(),
  ): WantedCareTeam[] =>
    person.entries.flatMap((entry) => {
      const outcome = outcomes.get(entry)
      const status = outcome === undefined ? open.get(entry) : statusOf(outcome)
      if (status === undefined) return []
      return [{ entry, npi: npis.get(entry) ?? '', fields: fields.get(entry) ?? {}, status }]
    })

  return {
    async select(open, outcomes) {
      const selected: {
        outcomes: EntryOutcome[]
        doubtful: Entry[]
        twins: { entry: Entry; first: Entry }[]
      } = { outcomes: [], doubtful: [], twins: [] }
      const toJudge = new Set(open)
      const selectFor = async (person: Person): Promise<void> => {
        const own = person.entries.filter((entry) => toJudge.has(entry))
        if (own.length === 0) return
        person.listed = person.isEmpty && !own.some(isUncertain) ? [] : await list(context, person)
        // Without a list nobody can tell whether an entry that may have been sent before is there.
        const doubtful =
          person.listed !== null
            ? []
            : own.filter(
                (entry) => isUncertain(entry) || person.known.some(({ npi }) => npi === npis.get(entry)),
              )
        selected.doubtful.push(...doubtful)
        const wanted = wantedOf(
          person,
          outcomes,
          new Map(own.map((entry) => [entry, doubtful.includes(entry) ? 'doubtful' : 'open'])),
        )
        const account = (): CareTeamAccount => ({
          wanted,
          has: withStored(person.listed ?? [], wanted, outcomes),
          known: person.known,
        })
        let { steps } = planCareTeam(account(), context.changed)
        const lateMs = mayBeLateMs(context, person, steps, npis)
        if (lateMs > 0) {
          await context.pause(lateMs)
          person.listed = (await list(context, person)) ?? person.listed
          steps = planCareTeam(account(), context.changed).steps
        }
        const { has } = account()
        for (const [entry, step] of steps) {
          if (step.step === 'share') selected.twins.push({ entry, first: step.first })
          if (step.step === 'known') {
            const isOurs = has.some(({ ours }) => ours === entry.transactionId)
            const readBack = isOurs ? { readBack: true as const } : {}
            selected.outcomes.push({ entry, outcome: 'unchanged', found: true, ...readBack })
          }
          if (step.step === 'omit')
            selected.outcomes.push({ entry, outcome: 'unchanged', passedOver: step.why })
        }
      }
      await allDone(people.map(selectFor))
      return selected
    },

    async finish(outcomes) {
      const failures: FollowUpFailure[] = []
      const known: KnownCareTeam[] = []
      const accountOf = (person: Person): CareTeamAccount => {
        const wanted = wantedOf(person, outcomes)
        return { wanted, has: withStored(person.listed ?? [], wanted, outcomes), known: person.known }
      }
      const active = people.filter(
        (person) =>
          person.known.some(({ mark }) => isOwed(mark)) ||
          wantedOf(person, outcomes).some(({ status }) => status === 'stored' || status === 'doubtful'),
      )
      await allDone(
        active.map(async (person) => {
          if (person.listed === undefined) person.listed = await list(context, person)
        }),
      )
      failures.push(...(await replaceAll(context, active, accountOf)))
      await allDone(
        active.map(async (person) => {
          const account = accountOf(person)
          const { mark, withdrawn } = planCareTeam(account, context.changed)
          const { marks, failure } = await carryOut(context, person, account, mark)
          if (failure !== undefined) failures.push(failure)
          const said = [...withdrawn].map((npi) => [npi, 'withdrawn'] as const)
          known.push(...knownNow(person, account, new Map([...said, ...marks]), context.now()))
        }),
      )
      return { failures, known }
    },
  }
}

async function peopleOf(
  { gatewayName, identity, ledger, runId }: CareTeamContext,
  entries: readonly Entry[],
  { accountIds }: Pick<ResolvedAccounts, 'accountIds'>,
): Promise<Person[]> {
  const byReference = Map.groupBy(entries, ({ record }) => record.account.reference)
  const own = [...byReference.values()].flatMap((ofOne) => {
    const [first] = ofOne
    if (first === undefined) return []
    const { account } = first.record
    return [{ hash: identity.account(account), account, entries: ofOne }]
  })
  const known = await ledger.careTeams(
    gatewayName,
    own.map(({ hash }) => hash),
  )
  const withNone = own.flatMap(({ hash }) => (known.has(hash) ? [] : [hash]))
  const empty = await ledger.registeredBy(gatewayName, withNone, runId)
  return own.map(({ hash, account, entries: ofOne }) => {
    const id = accountIds(account)
    return {
      hash,
      owner: id === undefined ? account : { reference: id, type: 'accountId' as const },
      accountId: id ?? null,
      entries: ofOne,
      known: known.get(hash) ?? [],
      isEmpty: empty.has(hash),
      listed: undefined,
    }
  })
}

/** For how long the list may not show yet what was delivered of a provider of whom more is to be created: milliseconds. */
function mayBeLateMs(
  { now, readLagMs }: CareTeamContext,
  { known }: Person,
  steps: ReadonlyMap<Entry, CareTeamStep>,
  npis: ReadonlyMap<Entry, string>,
): number {
  const created = new Set(
    [...steps].flatMap(([entry, { step }]) => (step === 'create' ? [npis.get(entry)] : [])),
  )
  const stored = known.filter(({ npi }) => created.has(npi)).map(({ storedAt }) => storedAt)
  return stored.length === 0 ? 0 : Math.min(Math.max(...stored) + readLagMs - now(), readLagMs)
}

/** Undefined for one that was rejected: the export's word on it has not arrived. */
function statusOf(outcome: EntryOutcome): WantedCareTeam['status'] | undefined {
  switch (outcome.outcome) {
    case 'accepted':
      return 'stored'
    case 'unchanged':
      return outcome.found === true || outcome.passedOver !== undefined ? 'stored' : 'delivered'
    case 'in-doubt':
      return 'doubtful'
    case 'rejected':
      return undefined
  }
}

/** What is listed, and what the gateway has said to have taken and does not list yet. */
function withStored(
  listed: readonly HadCareTeam[],
  wanted: readonly WantedCareTeam[],
  outcomes: Outcomes,
): HadCareTeam[] {
  const has = [...listed]
  for (const { entry, npi, fields } of wanted) {
    const outcome = outcomes.get(entry)
    if (outcome?.outcome !== 'accepted' || has.some((one) => isSame(fields, one.fields))) continue
    const { gatewayId: id } = outcome
    const { observedAt } = entry.record
    has.push({ id, isListed: false, npi, fields, observedAt, isMarked: false, ours: entry.transactionId })
  }
  return has
}

/** Null where it cannot be read. @throws WaybillError where the run must stop */
async function list(
  { gateway, identity, sending }: CareTeamContext,
  { owner, known }: Pick<Person, 'owner' | 'known'>,
): Promise<readonly HadCareTeam[] | null> {
  const newest = new Map(known.map(({ npi, observedAt }) => [npi, observedAt]))
  const toHad = (one: CareTeamReturned): HadCareTeam => {
    const fields = fieldsOf(one)
    const npi = identity.npi(fields.npi ?? '')
    const dates = [epochMsOf(one.observationDate), newest.get(npi)].filter((date) => date !== undefined)
    return {
      id: one.id,
      isListed: true,
      npi,
      fields,
      observedAt: dates.length === 0 ? undefined : Math.max(...dates),
      isMarked: one.pcp === true,
      ours: oursOf(one),
    }
  }
  try {
    return (await sending.read('list care teams', () => gateway.careTeams.list(owner))).map(toHad)
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

/**
 * Deletes what was replaced, by ids alone (interface, "DELETE /health-profile/care-teams"), once the list shows what replaces it; a list that
 * may be late is read a second time.
 */
async function replaceAll(
  context: CareTeamContext,
  people: readonly Person[],
  accountOf: (person: Person) => CareTeamAccount,
): Promise<FollowUpFailure[]> {
  const failures: FollowUpFailure[] = []
  const { changed, tallies } = context
  /** Those of whom the list does not show yet what replaces. */
  const replaceListed = async (open: readonly Person[]): Promise<Person[]> => {
    const late: Person[] = []
    await allDone(
      open.map(async (person) => {
        const { remove, unlisted } = planCareTeam(accountOf(person), changed)
        if (unlisted.length > 0) late.push(person)
        for (const [by, replaced] of Map.groupBy(remove, (one) => one.by)) {
          const had = replaced.map((one) => one.had)
          const failure = await deleteEntries(context, person, by, had)
          if (failure !== undefined) {
            failures.push({ entry: by, reason: failure })
            continue
          }
          tallies.careTeams.replaced++
          person.listed = person.listed?.filter((one) => !had.includes(one))
        }
      }),
    )
    return late
  }
  const listAgain = (open: readonly Person[]) =>
    allDone(
      open.map(async (person) => {
        // Where it cannot be read now, what it showed before is the best that is known.
        person.listed = (await list(context, person)) ?? person.listed
      }),
    )
  let late = changed === 'replace' ? await replaceListed(people) : []
  for (const waitMs of [0, context.readLagMs]) {
    if (late.length === 0) break
    if (waitMs > 0) await context.pause(waitMs)
    await listAgain(late)
    late = await replaceListed(late)
  }
  for (const person of late)
    for (const entry of planCareTeam(accountOf(person), changed).unlisted)
      failures.push({ entry, reason: reasonOf('replace', 'replacement-not-listed', UNLISTED, entry) })
  return failures
}

const UNLISTED: Words = {
  ours: 'the list of care teams cannot be read, or does not show the new entry; the old one stays',
}

async function deleteEntries(
  { gateway, sending }: CareTeamContext,
  { owner }: Person,
  by: Entry,
  had: readonly HadCareTeam[],
): Promise<Reason | undefined> {
  const ids = had.flatMap(({ id }) => id ?? [])
  try {
    // Not found: an attempt without an answer has deleted it.
    await sending.idempotent('delete care team', () => gateway.careTeams.delete(owner, { id: ids }))
    return undefined
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return reasonOf('replace', 'replaced-not-deleted', refusalWords(error), by)
  }
}

type Marks = ReadonlyMap<string, CareTeamMark>

/** @returns the marks that are another now, by the hash of the NPI */
async function carryOut(
  context: CareTeamContext,
  person: Pick<Person, 'hash' | 'owner'>,
  { has, known }: Pick<CareTeamAccount, 'has' | 'known'>,
  step: MarkStep,
): Promise<{ readonly marks: Marks; readonly failure?: FollowUpFailure }> {
  const { tallies, owed } = context
  const owe = (isNow: boolean): void => {
    if (isNow === owed.has(person.hash)) return
    if (isNow) owed.add(person.hash)
    else owed.delete(person.hash)
    tallies.primaryCare.owed += isNow ? 1 : -1
  }
  const bearing = (npi: string): Marks =>
    new Map([
      ...known.flatMap((one) => (one.mark === 'withdrawn' ? [] : [[one.npi, 'none'] as const])),
      [npi, 'set'] as const,
    ])
  switch (step.step) {
    case 'none': {
      owe(false)
      // Nobody bears a mark any more that was to be taken away.
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
      const marks = new Map([[step.npi, 'to-set' as const]])
      if (entry === undefined) return { marks }
      return { marks, failure: { entry, reason: reasonOf('primary-care', 'mark-waits', WAITS, entry) } }
    }
    case 'mark':
    case 'unmark': {
      const isMark = step.step === 'mark'
      const account = step.entry?.record.account ?? person.owner
      const error = await sendMark(context, account, step, has)
      owe(error !== undefined)
      if (error === undefined) {
        if (isMark) tallies.primaryCare.marked++
        else tallies.primaryCare.unmarked++
        return { marks: isMark ? bearing(step.npi) : new Map([[step.npi, 'withdrawn']]) }
      }
      const marks = new Map([[step.npi, isMark ? ('to-set' as const) : ('to-unset' as const)]])
      const { entry } = step
      if (entry === undefined) return { marks }
      const reason = reasonOf('primary-care', 'mark-refused', refusalWords(error), entry)
      return { marks, failure: { entry, reason } }
    }
  }
}

const WAITS: Words = {
  ours: 'nobody knows yet whether the entry is stored; the mark is set by a run that finds it in the list',
}

/**
 * By account and NPI as the export names them: what is sent comes from the export alone. Where the account has several entries of the NPI it would name one of them, and
 * nobody knows which (it is not documented): there it is the gateway's id.
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
  try {
    if (step === 'mark')
      await sending.idempotent('mark primary care physician', () => gateway.careTeams.setPrimary(request))
    else
      await sending.idempotent('unmark primary care physician', () => gateway.careTeams.unsetPrimary(request))
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** What the ledger is to know of the account: its entries with the newest word on each, and the marks that are another now. */
function knownNow(
  { hash, accountId }: Pick<Person, 'hash' | 'accountId'>,
  { wanted, known }: CareTeamAccount,
  marks: Marks,
  now: number,
): KnownCareTeam[] {
  const rows = new Map(known.map((one) => [one.npi, one]))
  const note = (npi: string, observedAt: number, content: string | null): void => {
    const before = rows.get(npi)
    const at = Math.max(before?.observedAt ?? observedAt, observedAt)
    const mark = before?.mark ?? 'none'
    rows.set(npi, { account: hash, npi, mark, observedAt: at, storedAt: now, accountId, content })
  }
  for (const { npi, status, entry } of wanted) {
    if (status === 'stored') note(npi, entry.record.observedAt, null)
    if (status === 'doubtful' && marks.get(npi) === 'to-set')
      note(npi, entry.record.observedAt, entry.content)
  }
  return [...rows.values()].flatMap((row) => {
    const mark = marks.get(row.npi) ?? row.mark
    const isNew = known.find(({ npi }) => npi === row.npi) !== row
    const content = mark === 'to-set' ? row.content : null
    return isNew || mark !== row.mark ? [{ ...row, mark, content }] : []
  })
}

const isOwed = (mark: CareTeamMark): boolean => mark === 'to-set' || mark === 'to-unset'

/** Accounts asked about together. */
const ACCOUNTS_AT_ONCE = 100

/**
 * Does what earlier runs, or earlier chunks of this one, have left owed, by the gateway's ids alone: it needs no export. Of a person whose
 * account id is not known it is done when the person comes again.
 * @param save writes down what the accounts have now
 * @throws WaybillError where the run must stop
 */
export async function settleOwedMarks(
  context: CareTeamContext,
  save: (known: readonly KnownCareTeam[]) => Promise<void>,
): Promise<void> {
  const { gatewayName, ledger, changed } = context
  let after = ''
  for (;;) {
    const hashes = await ledger.owedMarks(gatewayName, after, ACCOUNTS_AT_ONCE)
    const last = hashes.at(-1)
    if (last === undefined) return
    after = last
    const known = await ledger.careTeams(gatewayName, hashes)
    const waiting = [...known.values()].flat().flatMap(({ content }) => content ?? [])
    const inDoubt = await ledger.heldContents(waiting)
    const saved: KnownCareTeam[] = []
    await allDone(
      [...known].map(async ([hash, ofOne]) => {
        const accountId = ofOne.find((one) => one.accountId !== null)?.accountId ?? null
        if (accountId === null) return
        const owner = { reference: accountId, type: 'accountId' as const }
        const listed = await list(context, { owner, known: ofOne })
        if (listed === null) return
        const account = { wanted: [], has: listed, known: ofOne }
        const { mark } = planCareTeam(account, changed)
        const isGone = ({ npi, content }: KnownCareTeam): boolean =>
          mark.step === 'wait' && mark.npi === npi && (content === null || !inDoubt.has(content))
        if (ofOne.some(isGone)) {
          // The record was not stored after all: it comes with its mark when it is sent again.
          saved.push(...ofOne.filter(isGone).map((one) => ({ ...one, mark: 'none' as const, content: null })))
          return
        }
        if (mark.step === 'wait') return
        const { marks } = await carryOut(context, { hash, owner }, account, mark)
        saved.push(...knownNow({ hash, accountId }, account, marks, context.now()))
      }),
    )
    if (saved.length > 0) await save(saved)
  }
}

const reasonOf = (stage: 'replace' | 'primary-care', code: string, words: Words, entry: Entry): Reason => ({
  stage,
  code,
  ...told(words, entry),
})
