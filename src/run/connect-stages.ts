/** Connects the stages of a run: one sender, one memory, one reconciler for all exports. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { targetPlace } from '../definitions/collect-definition.ts'
import { authorizationsFolder, type Job } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { authorizationFault, LONGEST_PDF } from '../gateway/medical-records.ts'
import type {
  ExportOrder,
  ExportRecord,
  Ledger,
  RunLedger,
  RunOrigin,
  Selection,
  Suspicion,
} from '../ledger/ledger.ts'
import type { BatchAnswer } from '../load/batch-watch.ts'
import { createBodyBuffers } from '../load/batches.ts'
import { createOwedBook } from '../load/care-team-work.ts'
import { createClaims } from '../load/claims.ts'
import type { Reconciler } from '../load/delivery.ts'
import { createFirstContact } from '../load/first-contact.ts'
import type { LoadContext } from '../load/load-chunk.ts'
import type { Authorizations } from '../load/medical-records.ts'
import { createSending, type Sending } from '../load/sending.ts'
import { createStaleAccounts } from '../load/stale-accounts.ts'
import type { Identity } from '../model/ids.ts'
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
import type { Arrival } from './arrival.ts'
import { createStopWhen, type RowsBefore, type StopWhen } from './chunks.ts'
import { createCollector } from './collecting.ts'
import { type RunDependencies, type RunEvents, watchOutages } from './events.ts'
import { goneArticles } from './listed-ids.ts'
import type { AppendedFile } from './receipts.ts'
import { createLoader, type Worker } from './worker.ts'

/** Stages of a run, shared by all exports. */
export interface RunStages {
  readonly home: string
  readonly ledger: Ledger
  readonly runLedger: RunLedger
  readonly load: LoadContext
  readonly worker: Worker
  readonly identity: Identity
  readonly version: string
  readonly receipts: AppendedFile
  readonly rejectsFolder: string
  readonly events: RunEvents
  readonly stopWhen: StopWhen
  readonly now: () => number
  /** First start of the run: a resumed run maps by the clock of this start. */
  readonly startedAt: number
  /** Stops all sending of the run. */
  readonly stop: (reason: unknown) => void
  readonly limit: number
  /** Set for a run that takes up records left behind by another run. */
  readonly origin: RunOrigin | undefined
  /** True for old exports: none takes anything back. */
  readonly isBackfill: boolean
  /** Resolves when a chunk, by number, may begin. @throws the error that ends the run once the chunks in flight are settled */
  readonly turn: (chunk: number) => Promise<void>
  /** Order of the backfilled exports of the job, including the given export of this run. */
  readonly ordersWith: (record: ExportRecord) => ReadonlyMap<number, ExportOrder>
  /** Called with the change in the number of records in hand. */
  readonly inHand: (more: number) => void
}

interface RunParts {
  readonly arrival: Arrival
  readonly origin: RunOrigin | undefined
  readonly isBackfill: boolean
  readonly runLedger: RunLedger
  readonly receipts: RunStages['receipts']
  readonly stop: (reason: unknown) => void
  readonly signal: AbortSignal
  readonly limit: number
  readonly startedAt: number
  readonly rejectsPath: string
  /** JSON: collection of an earlier process of the run. */
  readonly collection?: string | null
  readonly suspicion: Suspicion
  /** Order of backfilled exports, by arrival. */
  readonly orders: ReadonlyMap<number, ExportOrder>
  /** True where profiles may show records of this installation under ids of another key. */
  readonly hadOtherKey?: boolean | undefined
  readonly turn: RunStages['turn']
  /** Rows read and settled before the run was resumed. */
  readonly before?: RowsBefore
}

export function connectStages(deps: RunDependencies, job: Job, jobId: number, parts: RunParts): RunStages {
  const { ledger, identity, now, events, home } = deps
  const { runLedger } = parts
  const outages = watchOutages(runLedger, (outage) => events.emit({ type: 'outage', ...outage }))
  const sending = connectSending(deps, job, parts, outages.changed)
  const load = connectLoad(deps, job, jobId, parts, sending)
  const orders = new Map(parts.orders)
  return {
    home,
    ledger,
    worker: connectCollector(deps, job, parts, sending) ?? createLoader(load),
    runLedger,
    identity,
    version: deps.version,
    events,
    now,
    startedAt: parts.startedAt,
    receipts: parts.receipts,
    rejectsFolder: join(home, parts.rejectsPath),
    // Rows taken up were rejected before: their share of rejects shows nothing about the export.
    stopWhen: createStopWhen(parts.origin === undefined ? job.definition.stopWhen : undefined, parts.before),
    origin: parts.origin,
    isBackfill: parts.isBackfill,
    stop: parts.stop,
    limit: parts.limit,
    turn: parts.turn,
    inHand: outages.inHand,
    ordersWith({ id, anchor, day }) {
      if (anchor !== null) orders.set(id, { anchor, day: day ?? 0 })
      return orders
    },
    load,
  }
}

function connectSending(
  deps: RunDependencies,
  { definition: { submit, reads } }: Job,
  { runLedger, signal }: RunParts,
  onOutage: ReturnType<typeof watchOutages>['changed'],
): Sending {
  const { gateway, now, random, events } = deps
  return createSending({
    dispatcher: deps.dispatcher,
    concurrency: submit.concurrency,
    patienceMs: submit.patience,
    notFound: reads.notFound,
    tallies: runLedger.tallies,
    now,
    random,
    sleep: deps.sleep,
    renewToken: () => gateway.renewToken(),
    askAboutNobody: () => gateway.biometrics.read(NOBODY),
    assertHeld: runLedger.assertHeld,
    signal,
    onWait: (wait) => events.emit({ type: 'waiting', ...wait }),
    onOutage,
  })
}

function connectReconciler(gateway: Gateway, { read }: Sending, hadOtherKey: boolean): Reconciler {
  const judgeOther = hadOtherKey ? judgeOfAnyKey : judgeAny
  return {
    match: matchAnswer,
    matchInOrder: createMatchInOrder(),
    readBack: (entries, ids, onSign) => readBack(gateway, read, entries, ids, judge, onSign),
    readBackAny: (entries, ids, onSign) => readBack(gateway, read, entries, ids, judgeOther, onSign),
    profile: (account) => readWholeProfile(gateway, read, account),
  }
}

/** Undefined for a job that sends records. */
function connectCollector(
  deps: RunDependencies,
  job: Job,
  parts: RunParts,
  { read }: Sending,
): Worker | undefined {
  const { ledger, gateway, gatewayName, identity, now, home } = deps
  const { runLedger, signal, arrival } = parts
  const { collect, to, job: name } = job.definition
  if (collect === undefined || to === undefined) return undefined
  const { folder, remote } = targetPlace(to, dirname(job.file), join(home, 'undelivered'))
  const destination = remote && {
    place: remote,
    secrets: deps.sources,
    signal,
    assertHeld: runLedger.assertHeld,
  }
  return createCollector({
    ledger,
    runLedger,
    gateway,
    gatewayName,
    identity,
    read,
    what: collect,
    to,
    folder,
    destination,
    job: name,
    startedAt: parts.startedAt,
    before: parts.collection ?? null,
    now,
    gone: () =>
      goneArticles({ home, job: name, run: runLedger.lease.runId, ledger, arrival, sources: job.sources }),
  })
}

function connectLoad(
  deps: RunDependencies,
  job: Job,
  jobId: number,
  parts: RunParts,
  sending: Sending,
): LoadContext {
  const { ledger, gateway, gatewayName, identity, now, random, events } = deps
  const { submit, accounts, medicalRecords } = job.definition
  const { acrossAccounts, changed, missing } = job.definition.careTeams
  const { runLedger, signal, hadOtherKey = false } = parts
  const { tallies } = runLedger
  const reconciler = connectReconciler(gateway, sending, hadOtherKey)
  const waiting = { readLagMs: submit.readLag, pause: (ms: number) => deps.sleep(ms, signal), now }
  const claims = createClaims(runLedger, gatewayName, deps.isDead, waiting)
  const atGateway = { gateway, gatewayName, ledger, runLedger, sending, identity }
  const { register } = accounts
  const registering = { ...atGateway, register, reconciler, tallies, now, claims, late: new Map() }
  const stale = createStaleAccounts({ ...registering, ...waiting })
  const people = { ...registering, stale }
  const { concurrency } = submit
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
    firstContact: connectFirstContact(deps, sending, hadOtherKey),
    suspicion: parts.suspicion,
    limits: submit.batch,
    careTeamsAcrossAccounts: acrossAccounts,
    held: parts.origin === undefined ? 'hold' : HELD[parts.origin.selection],
    claims,
    accounts: people,
    assessment: {
      gateway,
      sending,
      accounts: people,
      memory: ledger,
      ledger: runLedger,
      identity,
      jobId,
      now,
      concurrency,
    },
    medicalRecords: {
      ...atGateway,
      authorizations: createAuthorizations(authorizationsFolder(job)),
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

/** The local stand-in holds only records sent from this home. */
function connectFirstContact(
  { ledger, gateway, gatewayName, now, events }: RunDependencies,
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

/** Account of nobody: an answer to a read shows that the gateway is up, and reveals nothing about any person. */
const NOBODY = { reference: 'nobody', type: 'partnerAccountId' } as const

const HELD: Readonly<Record<Selection, LoadContext['held']>> = {
  rejected: 'hold',
  'in-doubt': 'look',
  'left-behind': 'look',
  decided: 'resend',
}

/**
 * Authorizations: PDFs in a folder, by names from a mapping.
 * @param folder undefined if the job names no folder: then there are none
 */
function createAuthorizations(folder: string | undefined): Authorizations {
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
