/** Run that sends records: the parts that load a chunk, connected, and the worker that hands chunks to them. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { authorizationsFolder, type Job } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { authorizationFault, LONGEST_PDF } from '../gateway/medical-records.ts'
import type { RunLedger, RunOrigin, Selection, Suspicion } from '../ledger/ledger.ts'
import { createBodyBuffers } from '../load/batches.ts'
import { noteMissing, owedBy, settleOwed } from '../load/care-team-owed.ts'
import { createOwedBook, noteOwed } from '../load/care-team-work.ts'
import { createClaims } from '../load/claims.ts'
import type { BatchAnswer, Reconciler } from '../load/delivery.ts'
import { createFirstContact } from '../load/first-contact.ts'
import { type LoadContext, loadChunk } from '../load/load-chunk.ts'
import type { Authorizations } from '../load/medical-records.ts'
import type { Sending } from '../load/sending.ts'
import { createStaleAccounts } from '../load/stale-accounts.ts'
import { countChunk } from '../model/balance.ts'
import {
  judge,
  judgeAny,
  judgeOfAnyKey,
  matchAnswer,
  readBack,
  readProfile,
  readWholeProfile,
} from '../reconcile/match.ts'
import { createMatchInOrder } from '../reconcile/match-in-order.ts'
import { BUILT_IN } from '../system/settings.ts'
import type { RunDependencies } from './events.ts'
import { exportsToCome } from './exports-to-come.ts'
import { withTakenBack } from './taken-back.ts'
import type { Worker } from './worker.ts'

/** Sends the records of each chunk, and carries out owed marks and deletions of care teams in the end. */
function createLoader(load: LoadContext): Worker {
  const { careTeams, ledger: runLedger, jobId } = load
  return {
    chunkRows: undefined,
    // In a copied ledger each record is judged by its date.
    recognises: load.suspicion.until === undefined,
    async work({ number, rows, entries, withdrawn, shared, behind }, { listsTeams, ...around }) {
      const listed = listsTeams ? rows.flatMap(({ outcome }) => outcome.account ?? []) : []
      const content = { entries, withdrawn, shared, behind, listed }
      const loaded = await loadChunk(load, { ...around, ...content, chunk: number })
      const kept = withTakenBack(rows, loaded.takenBack ?? [])
      return { ...loaded, rows: kept, counts: countChunk(kept, loaded.outcomes, loaded.rowsCorrected) }
    },
    pending: ({ rows }) => countChunk(rows, [], 0),
    noteMissing:
      careTeams.missing === 'delete'
        ? (arrival) => noteMissing({ ...careTeams, runLedger }, jobId, arrival)
        : undefined,
    finish: () => settleOwed(careTeams),
  }
}

/** Opens the worker of a run that sends. @param begunAt start in this process */
export async function openLoader(
  deps: LoadingDependencies,
  job: Job,
  run: Omit<LoadingRun, 'suspicion' | 'hadOtherKey'>,
  isResumed: boolean,
  begunAt: number,
): Promise<Worker> {
  const { installation } = deps.ledger
  const load = loadContext(deps, job, {
    ...run,
    suspicion: await installation.suspicion(begunAt),
    hadOtherKey: (await installation.key())?.hadOther,
  })
  if (isResumed) await countOwed(load.careTeams)
  return createLoader(load)
}

/** Counts owed work anew from the ledger: this process may do work that an earlier process counted as owed. */
async function countOwed(careTeams: LoadContext['careTeams']): Promise<void> {
  const { owed, tallies } = careTeams
  tallies.primaryCare.owed = 0
  tallies.careTeams.owed = 0
  noteOwed(owed, await owedBy(careTeams), careTeams)
}

/** Parts of a run that loads chunks. */
export type LoadingDependencies = Pick<
  RunDependencies,
  | 'ledger'
  | 'gateway'
  | 'gatewayName'
  | 'sizes'
  | 'identity'
  | 'now'
  | 'random'
  | 'sleep'
  | 'events'
  | 'isDead'
  | 'sources'
>

interface LoadingRun {
  readonly runLedger: RunLedger
  readonly sending: Sending
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal
  readonly origin: Pick<RunOrigin, 'selection'> | undefined
  readonly suspicion: Suspicion
  /** True where profiles may show records of this installation under ids of another key. */
  readonly hadOtherKey?: boolean | undefined
}

/** Connects the parts: one memory, one reconciler for all exports of a run. */
export function loadContext(deps: LoadingDependencies, job: Job, run: LoadingRun): LoadContext {
  const { ledger, gateway, gatewayName, identity, now, random, events } = deps
  const { submit, accounts, medicalRecords } = job.definition
  const { acrossAccounts, changed, missing } = job.definition.careTeams
  const { runLedger, sending, signal, hadOtherKey = false } = run
  const { jobId } = runLedger.lease
  const { tallies } = runLedger
  const reconciler = reconcilerOf(gateway, sending, hadOtherKey)
  const waiting = { readLagMs: submit.readLag, pause: (ms: number) => deps.sleep(ms, signal), now }
  const claims = createClaims(runLedger, gatewayName, deps.isDead, waiting)
  const atGateway = { gateway, gatewayName, ledger, runLedger, sending, identity }
  const { register } = accounts
  const registering = { ...atGateway, register, reconciler, tallies, now, claims, late: new Map() }
  const stale = createStaleAccounts({ ...registering, ...waiting })
  const people = { ...registering, stale }
  return {
    ...waiting,
    gateway,
    ledger: runLedger,
    memory: ledger,
    sending,
    identity,
    jobId,
    buffers: createBodyBuffers(),
    learnedIds: new Map<string, string>(),
    sizes: deps.sizes,
    inDoubt: submit.inDoubt,
    batchesAreAtomic: submit.batchesAreAtomic,
    onBatch: events.has('batchAnswered')
      ? (batch: BatchAnswer) => events.emit({ type: 'batchAnswered', ...batch })
      : undefined,
    stale,
    progress: { takenAt: 0 },
    random,
    reconciler,
    firstContact: firstContactOf(deps, sending, hadOtherKey),
    suspicion: run.suspicion,
    comesLater: exportsToCome(deps, job),
    limits: submit.batch,
    careTeamsAcrossAccounts: acrossAccounts,
    held: heldIn(run.origin),
    claims,
    accounts: people,
    testsAtOnce: submit.concurrency,
    medicalRecords: {
      ...atGateway,
      authorizations: openAuthorizations(authorizationsFolder(job)),
      uploadHosts: medicalRecords?.uploadHosts ?? [],
      limits: submit.batch,
      types: {},
    },
    careTeams: {
      ...atGateway,
      ...waiting,
      tallies,
      changed,
      missing,
      claims,
      jobId,
      stale,
      owed: createOwedBook(tallies),
    },
  }
}

/** Handling of records in doubt since an earlier run, by the selection of a rerun. */
export const heldIn = (origin: Pick<RunOrigin, 'selection'> | undefined): LoadContext['held'] =>
  origin === undefined ? 'hold' : HELD[origin.selection]

const HELD: Readonly<Record<Selection, LoadContext['held']>> = {
  rejected: 'hold',
  'in-doubt': 'look',
  'left-behind': 'look',
  decided: 'resend',
}

function reconcilerOf(gateway: Gateway, { read }: Sending, hadOtherKey: boolean): Reconciler {
  const judgeOther = hadOtherKey ? judgeOfAnyKey : judgeAny
  return {
    match: matchAnswer,
    matchInOrder: createMatchInOrder(),
    readBack: (entries, ids, onSign) => readBack(gateway, read, entries, ids, judge, onSign),
    readBackAny: (entries, ids, onSign) => readBack(gateway, read, entries, ids, judgeOther, onSign),
    profile: (account) => readWholeProfile(gateway, read, account),
  }
}

/** The local stand-in holds only records sent from this home. */
function firstContactOf(
  { ledger, gateway, gatewayName, now, events }: LoadingDependencies,
  { read }: Sending,
  hadOtherKey: boolean,
): LoadContext['firstContact'] {
  if (gatewayName === BUILT_IN) return async () => {}
  return createFirstContact({
    installation: ledger.installation,
    gatewayName,
    now,
    shown: (own) => readProfile(gateway, read, own, () => undefined),
    onOthers(people, of) {
      if (!hadOtherKey) events.emit({ type: 'othersFound', people, of })
    },
  })
}

/** Opens the folder, for names from a mapping. @param folder undefined if the job names no folder: then there are none */
export function openAuthorizations(folder: string | undefined): Authorizations {
  const read = async (name: string): Promise<Buffer | undefined> => {
    if (folder === undefined || name === '') return undefined
    // Neither waits for the writer of a pipe, nor follows a link.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
    const file = await open(join(folder, name), flags).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (file === undefined) return undefined
    try {
      const stats = await file.stat()
      if (!stats.isFile()) throw new Error('is no file')
      // An oversized file is not read, and is still reported as too long.
      return stats.size > LONGEST_PDF ? Buffer.alloc(LONGEST_PDF + 1) : await file.readFile()
    } finally {
      await file.close()
    }
  }
  return {
    read,
    async look(name) {
      try {
        const pdf = await read(name)
        return pdf === undefined ? 'absent' : (authorizationFault(pdf) ?? 'ready')
      } catch {
        return 'cannot be read'
      }
    },
  }
}
