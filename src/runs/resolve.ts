/**
 * Decisions of a person on the records in doubt of a run: accept as delivered, or send again. Also acknowledges left-behind records as final, so that
 * the run needs nobody any more.
 */
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { createSpool } from '../extract/sources/receive-file.ts'
import type { Acknowledgement, Ledger, LeftEvent, LeftRecord, Resolution, Ruled } from '../ledger/ledger.ts'
import { advance } from '../ledger/states.ts'
import { WaybillError } from '../model/errors.ts'
import { transactionId } from '../model/ids.ts'
import { forgetRefusedStart, type RefusedStart, readRefusedStarts } from '../needs/refused-starts.ts'
import { spoolFolder } from '../run/arrival.ts'
import { kindOf } from '../run/backfill-range.ts'
import { Collection, forgetCollection } from '../run/collection-files.ts'
import type { RunDependencies } from '../run/events.ts'
import { leftByGivingUp } from '../run/give-up.ts'
import { joinFiles } from '../run/parts.ts'
import { receiptsOfSent } from '../run/receipts.ts'
import { isGivenUp, settlementOf, stillHeld, unansweredOf } from '../run/resume.ts'
import { releaseDoubts } from '../run/settle-doubts.ts'
import { leftIn } from '../story/balance.ts'
import { summarise } from '../story/facts.ts'
import type { JobEnd } from '../story/run-story.ts'
import {
  type Amending,
  type AmendingDependencies,
  amendRun,
  assertNoneUnfinished,
  nameRun,
  type RunOfJob,
} from './amend-run.ts'
import { type Application, withKnownLedger, withLedgerIfAny } from './application.ts'
import { takeUp } from './take-up.ts'

/** Person who decides, and the reason if given. */
export type Person = Pick<Resolution, 'by' | 'note'>

const RECORDS_AT_ONCE = 500

/**
 * Accepts records as delivered; in a run that was given up also unanswered batches, whole. Records that only waited are freed, unsent.
 * @param transactions ids of the records; empty: all of the run
 * @returns number of records decided
 * @throws `run-unfinished`, `job-held`, `nothing-left`, `transaction-not-found`
 */
export async function acceptInDoubt(
  deps: AmendingDependencies,
  named: RunOfJob,
  transactions: readonly string[],
  person: Person,
): Promise<number> {
  const { ledger, now } = deps
  const resolution = { run: named.id, decision: 'accept', ...person, at: now() } as const
  return amendRun(deps, named, async (amending) => {
    const { run, runLedger, receipt, signal } = amending
    await assertNoneUnfinished(ledger, run)
    let count = 0
    for await (const chosen of inDoubt(deps, run, transactions)) {
      signal.throwIfAborted()
      const contents = chosen.flatMap(({ content }) => content ?? [])
      const unsent = transactions.length > 0 ? undefined : await unsentOf(ledger, run.job_id, contents)
      const events = new Map<string, LeftEvent>(
        contents.map((content) => [content, unsent?.has(content) ? 'miss' : 'accept']),
      )
      const { ruling, sentAs } = await releaseDoubts(ledger, run.job_id, events)
      const accepted = receiptsOfSent(sentAs, 'decision')
      await runLedger.rule({ ...ruling, ...(await receipt(accepted)), resolution }, now())
      count += chosen.length
    }
    if (isGivenUp(run) && transactions.length === 0)
      count += await acceptUnanswered(deps, amending, resolution)
    if (count === 0) throw await nothingInDoubt(ledger, run)
    return count
  })
}

/** Contents that only waited for an older record. */
async function unsentOf({ left }: Pick<Ledger, 'left'>, jobId: number, contents: readonly string[]) {
  const doubts = await left.inDoubtWith(jobId, contents)
  const waited = new Set(doubts.flatMap((one) => (one.code === 'waits-for-older' ? (one.content ?? []) : [])))
  for (const { batchId, content } of doubts) if (batchId !== null) waited.delete(content ?? '')
  for (const { content, sentUntil } of await left.heldWith(jobId, [...waited]))
    if (sentUntil !== null) waited.delete(content)
  return waited
}

async function acceptUnanswered(
  { ledger, now }: Pick<AmendingDependencies, 'ledger' | 'now'>,
  { run, runLedger, receipt }: Amending,
  resolution: Resolution,
): Promise<number> {
  let count = 0
  for (const record of await ledger.exports.ofRun(run.id)) {
    for await (const { chunk, batches } of unansweredOf(ledger, record.id)) {
      for (const batch of batches) {
        const open = await stillHeld(ledger, run.job_id, batch)
        if (open.length === 0) continue
        const events = new Map(open.map(({ content }) => [content, 'accept' as const]))
        const { ruling, sentAs } = await releaseDoubts(ledger, run.job_id, events)
        const receipted = await receipt(receiptsOfSent(sentAs, 'decision'))
        await runLedger.rule({ ...ruling, ...receipted, resolution }, now())
        const key = { exportRow: record.id, chunk: chunk.number, at: now() }
        await runLedger.settleBatch({ ...key, ...settlementOf(batch, open) })
        count += open.length
      }
    }
  }
  return count
}

/**
 * Frees the records and sends them again in a separate run, after a last look into the profiles: records found there are accepted.
 * @throws `transaction-not-found`, and as `takeUp`; the error that kept all records from being freed
 */
export async function resendInDoubt(
  deps: RunDependencies,
  job: Job,
  run: RunOfJob,
  transactions: readonly string[],
  person: Person,
): Promise<JobEnd & { readonly decided: number }> {
  const decisions: Ruled[] = []
  const contents = new Set<string>()
  const resolution = { run: run.id, decision: 'resend', ...person, at: deps.now() } as const
  const end = await takeUp(deps, job, {
    run,
    selection: 'decided',
    mapping: 'kept',
    async concerned() {
      const exports = new Set<number>()
      for await (const chosen of inDoubt(deps, run, transactions)) {
        for (const { id, exportRow, content } of chosen) {
          // Two equal records in the export are one record, sent once.
          if (content === null || contents.has(content)) continue
          contents.add(content)
          exports.add(exportRow)
          decisions.push({ exception: id, event: 'resend' })
        }
      }
      if (exports.size === 0) throw await nothingInDoubt(deps.ledger, run)
      return exports
    },
    decided: () => ({ decided: { decisions, resolution } }),
  })
  const isFreed = (await deps.ledger.left.resolutions(run.id)).some((one) => one.at === resolution.at)
  if (!isFreed && end.error !== undefined) throw end.error
  return { ...end, decided: decisions.length }
}

async function nothingInDoubt(ledger: Pick<Ledger, 'left'>, run: RunOfJob): Promise<WaybillError> {
  const unanswered = await ledger.left.unasked(run.id)
  const message = `run ${run.id} has nothing in doubt`
  if (unanswered === 0) return new WaybillError('nothing-left', message)
  return new WaybillError('nothing-left', `${message} that could be sent by itself`, {
    remedy: `Later runs look for its unanswered records, and send missing ones. To look now: waybill reconcile ${run.id}. If you know that the gateway has them: waybill resolve ${run.id} --accept.`,
  })
}

/** Records in doubt of the run, page by page. @throws `transaction-not-found` */
async function* inDoubt(
  { ledger }: { readonly ledger: Pick<Ledger, 'left'> },
  run: RunOfJob,
  transactions: readonly string[],
): AsyncGenerator<readonly LeftRecord[]> {
  if (transactions.length > 0) {
    yield await chosenInDoubt(ledger, run, new Set(transactions))
    return
  }
  yield* pagesInDoubt(ledger, run.id)
}

async function chosenInDoubt(
  ledger: Pick<Ledger, 'left'>,
  run: RunOfJob,
  transactions: Set<string>,
): Promise<LeftRecord[]> {
  const chosen: LeftRecord[] = []
  for await (const page of pagesInDoubt(ledger, run.id)) {
    for (const one of page) {
      const { exportId, row, rule, content } = one
      if (transactions.delete(transactionId(exportId, row, rule ?? '', content ?? ''))) chosen.push(one)
    }
  }
  const [missing] = transactions
  if (missing === undefined) return chosen
  throw new WaybillError('transaction-not-found', `run ${run.id} has no record ${missing} in doubt`, {
    remedy: `See what is in doubt in its rejects file, and in \`waybill show ${run.id}\`.`,
  })
}

async function* pagesInDoubt(
  ledger: Pick<Ledger, 'left'>,
  runId: string,
): AsyncGenerator<readonly LeftRecord[]> {
  let after = 0
  for (;;) {
    const page = await ledger.left.inDoubt(runId, after, RECORDS_AT_ONCE)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = last.id
  }
}

/**
 * Gives up a run. Accepted records of open chunks go into their slots; later runs look into profiles before they send unanswered ones.
 * @throws `job-held` if the run is under way: a backfill is asked to let another run go first, never to end; `nothing-left` if the run
 *   has ended
 */
export async function giveUp(deps: AmendingDependencies, run: RunOfJob, person: Person): Promise<void> {
  const end = async ({ run: { state }, runLedger, receiptsFile, receipt }: Amending): Promise<void> => {
    if (state !== 'running' && state !== 'interrupted')
      throw new WaybillError(
        'nothing-left',
        `run ${run.id} has come to its end (${state}): it cannot be given up`,
      )
    advance('run', state, 'give-up')
    const { receipts, left } = await leftByGivingUp(deps.ledger, run)
    const removals: (() => Promise<void>)[] = []
    const joining = {
      ledger: deps.ledger,
      assertHeld: runLedger.assertHeld,
      home: deps.home,
      rejectsFolder: join(deps.home, run.rejects_path),
    }
    for (const record of await deps.ledger.exports.ofRun(run.id))
      if ((await deps.ledger.parts.ofExport(record.id)).length > 0)
        removals.push(await joinFiles(joining, record, receiptsFile()))
    const joined = removals.length === 0 ? {} : { receiptsLength: receiptsFile().length }
    const receipted = { ...joined, ...(await receipt(receipts)) }
    // Nobody will resume from the fetched and unpacked files.
    await createSpool(spoolFolder(deps.home, run.job_id, kindOf(run))).clear()
    if (run.collection !== null) forgetCollection(Collection.parse(JSON.parse(run.collection)), run.id)
    const at = deps.now()
    const resolution = { run: run.id, decision: 'give-up', ...person, at } as const
    await runLedger.endRun({
      state: 'failed',
      endedAt: at,
      reason: 'given-up',
      resolution,
      left,
      ...receipted,
    })
    for (const remove of removals) await remove()
  }
  await amendRun(deps, run, end, (held) => {
    const remedy = `A run that is under way is not given up. Stop it first: waybill stop ${run.id}. Then type: waybill resolve ${run.id} --give-up`
    return new WaybillError('job-held', held, { remedy })
  })
}

/** Selection to acknowledge: a run, a reason in all runs, or a reason in a run. */
export interface Acknowledging {
  readonly run?: string | undefined
  /** Code from docs/reasons.md, or error code of an export or a run. */
  readonly reason?: string | undefined
  /** All runs of this job so far; without a reason, its refused start, too. */
  readonly job?: string | undefined
  readonly export?: string | undefined
  /** Only runs that began later. */
  readonly since?: number | undefined
  /** Withdraws the acknowledgement. */
  readonly undo?: boolean
}

export interface Acknowledged {
  readonly runs: readonly string[]
  readonly left: number
  /** Records in doubt of these runs: a person must decide. */
  readonly inDoubt: number
  /** The refused start of the job is off the list. */
  readonly isStart: boolean
}

/** Refused start that the acknowledgement of a whole job takes off the list; undefined without one. */
export function startToAcknowledge(
  { settings }: Pick<Application, 'settings'>,
  { run, job, reason, undo = false, since, ...which }: Acknowledging,
): RefusedStart | undefined {
  const isPart =
    run !== undefined || reason !== undefined || which.export !== undefined || since !== undefined
  if (isPart || undo) return undefined
  return readRefusedStarts(settings.home).find((start) => start.job === job)
}

/** Acknowledges runs, or withdraws this. @throws `usage-wrong`, `run-not-found`, `run-unfinished`, `nothing-left` */
export async function acknowledge(
  application: Application,
  which: Acknowledging,
  person: Person,
): Promise<Acknowledged> {
  const { run, job, reason } = which
  if (run === undefined && reason === undefined && job === undefined)
    throw new WaybillError('usage-wrong', 'name a run, a job with --job, or a reason with --reason', {
      remedy: 'Look for them with `waybill needs`, then type `waybill acknowledge RUN`.',
    })
  const start = startToAcknowledge(application, which)
  const isStart = start !== undefined && forgetRefusedStart(application.settings.home, start.job)
  const acknowledged = (ledger: Ledger) => acknowledgeRuns(application, ledger, which, person, isStart)
  return isStart
    ? withLedgerIfAny(application, async (ledger) =>
        ledger === undefined ? { runs: [], left: 0, inDoubt: 0, isStart } : acknowledged(ledger),
      )
    : withKnownLedger(application, acknowledged)
}

async function acknowledgeRuns(
  { settings, now }: Pick<Application, 'settings' | 'now'>,
  ledger: Ledger,
  which: Acknowledging,
  person: Person,
  isStart: boolean,
): Promise<Acknowledged> {
  const { job, reason, undo = false } = which
  const run = which.run === undefined ? undefined : (await nameRun(ledger, which.run)).id
  const decided = { ...person, at: now() }
  const runs = undo
    ? await ledger.acknowledgements.undo({ run, job, code: reason }, decided)
    : await add(ledger, { ...which, run }, { ...decided, code: reason ?? null })
  if (runs.length === 0 && !isStart)
    throw new WaybillError(
      'nothing-left',
      `there is nothing to ${undo ? 'undo' : 'acknowledge'}${ofWhat(which)}`,
      {
        remedy: 'See what needs somebody with `waybill needs`, and what was decided with `waybill show RUN`.',
      },
    )
  if (isStart && job !== undefined)
    await ledger.audit.note({ ...decided, action: 'acknowledge', job, run: null, subject: 'refused start' })
  let inDoubt = 0
  for (const id of runs) inDoubt += leftIn(await summarise(ledger, settings.home, id)).inDoubt
  return { runs, left: await ledger.runs.count({ failed: true }), inDoubt, isStart }
}

const ofWhat = ({ run, job, reason }: Acknowledging): string =>
  [
    ...(reason === undefined ? [] : [` for the reason ${reason}`]),
    ...(run === undefined ? [] : [` of run ${run}`]),
    ...(job === undefined ? [] : [` of ${job}`]),
  ].join('')

async function add(
  ledger: Ledger,
  { run, job, export: name, since }: Pick<Acknowledging, 'run' | 'job' | 'export' | 'since'>,
  acknowledgement: Omit<Acknowledgement, 'run'>,
): Promise<readonly string[]> {
  const reason = acknowledgement.code ?? undefined
  const among = run === undefined ? undefined : [run]
  const found = await ledger.runs.list(Number.MAX_SAFE_INTEGER, {
    failed: true,
    job,
    export: name,
    since,
    reason,
    among,
  })
  const unfinished = found.find(({ state }) => state === 'running' || state === 'interrupted')
  if (run !== undefined && unfinished !== undefined)
    throw new WaybillError('run-unfinished', `run ${run} is not finished`, {
      remedy: `Finish it with \`waybill run ${unfinished.job}\`, or end it: waybill resolve ${run} --give-up`,
    })
  const over = found.filter(({ state }) => state === 'finished' || state === 'failed')
  const runs = over.map(({ id }) => id)
  await ledger.acknowledgements.add(runs, acknowledgement)
  return runs
}
