import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type ReferenceGatewayOptions,
  startReferenceGateway,
} from '../../packages/reference-gateway/src/server.ts'
import type { Timeouts } from '../../src/gateway/exchange.ts'
import { addTallies, type Lease, NO_SUSPICION, noTallies, type RunLedger } from '../../src/ledger/ledger.ts'
import { unpackHolds } from '../../src/ledger/packed-records.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import type { AccountsContext } from '../../src/load/accounts.ts'
import { type BatchLimits, createBodyBuffers, createSizeLimits } from '../../src/load/batches.ts'
import { createOwedBook } from '../../src/load/care-team-work.ts'
import { createClaims } from '../../src/load/claims.ts'
import type { Reconciler } from '../../src/load/delivery.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { heldBy } from '../../src/load/gateway-words.ts'
import { type ChunkToLoad, type LoadContext, type LoadedChunk, loadChunk } from '../../src/load/load-chunk.ts'
import { createSending, type Sending } from '../../src/load/sending.ts'
import { createStaleAccounts } from '../../src/load/stale-accounts.ts'
import type { Entry } from '../../src/model/entry.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import type { AccountKey, RecordKind } from '../../src/model/record.ts'
import { judge, judgeAny, matchAnswer, readBack, readWholeProfile } from '../../src/reconcile/match.ts'
import { createMatchInOrder } from '../../src/reconcile/match-in-order.ts'
import { type Fault, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { client } from '../gateway/loopback.ts'
import { createIdleClock } from './idle-clock.ts'
import { EXPORT_ID, IDENTITY } from './made-up-entries.ts'

export interface LoadingOptions {
  readonly faultOf?: (request: Passing) => Fault | Promise<Fault>
  readonly gateway?: Partial<ReferenceGatewayOptions>
  readonly limits?: Partial<BatchLimits>
  readonly inDoubt?: 'hold' | 'resend'
  readonly held?: LoadContext['held']
  readonly register?: 'missing' | 'never'
  readonly changed?: LoadContext['careTeams']['changed']
  readonly batchesAreAtomic?: boolean
  readonly careTeamsAcrossAccounts?: boolean
  readonly patienceMs?: number
  readonly notFound?: 'unknown' | 'empty'
  readonly concurrency?: number
  readonly timeouts?: Partial<Timeouts>
  readonly renewAccessToken?: () => Promise<string>
  /** What happens while something waits. */
  readonly meanwhile?: () => Promise<unknown>
}

/** What the reference gateway holds of a record, as far as these tests look. */
export interface Stored {
  readonly _account: string
  readonly source: { readonly meta: { readonly persistentRecordId: string; readonly batchId: string } }
}

/**
 * A reference gateway, a fault proxy in front of it, a ledger on a file, and all that a chunk is loaded with. Time passes only
 * by what is waited: `clock.now` goes on to the end of a wait when nothing is under way.
 */
export async function startLoading(options: LoadingOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-loading-'))
  let ids = 0
  const reference = await startReferenceGateway({
    clock: () => Date.UTC(2024, 6, 1),
    makeId: () => `id-${++ids}`,
    ...options.gateway,
  })
  const proxy = await startFaultProxy(reference.url, options.faultOf ?? (() => PASS))
  const gateway = client(proxy.url, {
    ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
    ...(options.renewAccessToken === undefined ? {} : { renewAccessToken: options.renewAccessToken }),
  })
  const ledger = await openLedger(
    join(folder, 'ledger.sqlite'),
    'here',
    undefined,
    createAccountIdCipher(() => 'key'),
  )
  onTestFinished(async () => {
    await ledger.close()
    await reference.close()
    await rm(folder, { recursive: true })
  })

  const waits: { operation: string; waitMs: number; class: string }[] = []
  const clock = createIdleClock(1_700_000_000_000)
  const tallies = noTallies()
  const stop = new AbortController()
  const pass = async (ms: number, signal: AbortSignal): Promise<void> => {
    await clock.sleep(ms, signal)
    await options.meanwhile?.()
  }
  const startSending = (signal = stop.signal): Sending => {
    const dispatcher = createDispatcher({ now: () => clock.now, random: () => 0.5, sleep: pass })
    return createSending({
      dispatcher,
      concurrency: options.concurrency ?? 4,
      patienceMs: options.patienceMs ?? 30 * 60_000,
      notFound: options.notFound ?? 'unknown',
      tallies,
      now: () => clock.now,
      random: () => 0.5,
      sleep: pass,
      renewToken: () => gateway.renewToken(),
      askAboutNobody: () => gateway.biometrics.read({ reference: 'nobody', type: 'partnerAccountId' }),
      assertHeld: () => runLedger.assertHeld(),
      signal,
      onWait: ({ operation, waitMs, class: reason }) => waits.push({ operation, waitMs, class: reason }),
      onOutage: () => undefined,
    })
  }

  const jobId = await ledger.jobs.id('test-job', reference.url)
  const takeOver = async (): Promise<RunLedger> => {
    const request = { jobId, runId: 'run-1', owner: 'here:1', now: clock.now, ttlMs: 60_000 }
    const answer = await ledger.leases.acquire(request, () => true)
    if (!answer.ok) throw new Error('the lease is held')
    return startOrResume(answer.lease)
  }
  const startOrResume = async (lease: Lease): Promise<RunLedger> => {
    const run = await ledger.runs.find('run-1')
    if (run !== undefined) return ledger.runs.resume(lease, run, clock.now)
    return ledger.runs.start(lease, {
      id: 'run-1',
      jobId,
      startedAt: clock.now,
      rejectsPath: 'rejects',
      receiptsPath: 'receipts',
    })
  }

  const runLedger = await takeOver()
  const { id: exportRow } = await runLedger.addExport({
    ordinal: 1,
    exportId: EXPORT_ID,
    name: 'test.csv',
    path: '/test.csv',
    sha256: EXPORT_ID.repeat(4),
    bytes: 1,
    mapping: { name: 'test', digest: 'digest', content: '{}' },
  })
  const pause = (ms: number): Promise<void> => clock.sleep(ms, stop.signal)
  const reconcilerOf = (sending: Sending): Reconciler => ({
    match: matchAnswer,
    matchInOrder: createMatchInOrder(),
    readBack: (entries, ids, onSign) => readBack(gateway, sending.read, entries, ids, judge, onSign),
    readBackAny: (entries, ids, onSign) => readBack(gateway, sending.read, entries, ids, judgeAny, onSign),
    profile: (account) => readWholeProfile(gateway, sending.read, account),
  })
  const claims = createClaims(runLedger, reference.url, () => false, {
    ...{ now: () => clock.now, pause, readLagMs: 5_000 },
  })
  const registeringWith = (sending: Sending): Omit<AccountsContext, 'stale'> => ({
    gateway,
    gatewayName: reference.url,
    ledger,
    runLedger,
    sending,
    identity: IDENTITY,
    register: options.register ?? 'missing',
    reconciler: reconcilerOf(sending),
    tallies,
    now: () => clock.now,
    claims,
    late: new Map(),
  })
  const connect = (sending: Sending): LoadContext => {
    const registering = registeringWith(sending)
    const stale = createStaleAccounts({ ...registering, readLagMs: 5_000, pause })
    return connectWith(sending, { ...registering, stale })
  }
  const connectWith = (sending: Sending, accounts: AccountsContext): LoadContext => ({
    gateway,
    stale: accounts.stale,
    ledger: runLedger,
    sending,
    identity: IDENTITY,
    buffers: createBodyBuffers(),
    learnedIds: new Map(),
    sizes: createSizeLimits(),
    inDoubt: options.inDoubt ?? 'hold',
    batchesAreAtomic: options.batchesAreAtomic ?? false,
    now: () => clock.now,
    readLagMs: 5_000,
    pause,
    progress: { takenAt: 0 },
    random: () => 0.5,
    reconciler: reconcilerOf(sending),
    medicalRecords: {
      ...{ gateway, gatewayName: reference.url, ledger, runLedger, sending, identity: IDENTITY },
      authorizations: { look: async () => 'absent', read: async () => undefined },
      uploadHosts: [],
      limits: { records: 500, bytes: 1024 ** 2 },
      types: {},
    },
    firstContact: async () => {},
    memory: ledger,
    jobId,
    limits: { records: 500, bytes: 1024 ** 2, ...options.limits },
    careTeamsAcrossAccounts: options.careTeamsAcrossAccounts ?? false,
    held: options.held ?? 'hold',
    suspicion: NO_SUSPICION,
    comesLater: async () => false,
    claims,
    accounts,
    testsAtOnce: 8,
    careTeams: {
      gateway,
      gatewayName: reference.url,
      ledger,
      sending,
      identity: IDENTITY,
      jobId,
      tallies,
      changed: options.changed ?? 'add',
      missing: 'keep',
      claims,
      readLagMs: 5_000,
      pause,
      stale: accounts.stale,
      now: () => clock.now,
      owed: createOwedBook(tallies),
    },
  })
  const context = connect(startSending())

  return {
    context,
    ledger,
    runLedger,
    reference,
    proxy,
    gateway,
    clock,
    waits,
    tallies,
    stop,
    /** Sending of the next process, which nothing stops. */
    startSending: () => startSending(new AbortController().signal),
    exportRow,
    /** Loads the entries as one chunk; `resumed` as after a crash. */
    async load(
      entries: readonly Entry[],
      resumed = false,
      chunk = 1,
      arrival = 1,
      shared: readonly AccountKey[] = [],
      others: Partial<Pick<ChunkToLoad, 'behind' | 'beforeSettled'>> = {},
    ): Promise<LoadedChunk> {
      placed(entries)
      const loaded = await loadChunk(resumed ? connect(startSending()) : context, {
        ...{
          exportRow,
          chunk,
          exportId: EXPORT_ID,
          ...SPEAKS,
          ...{ arrival, withdrawn: [] },
          entries,
          resumed,
        },
        listed: [],
        shared,
        ...others,
      })
      addTallies(tallies, { accounts: loaded.accounts })
      return loaded
    },
    /** Ends the chunk in the ledger, as a run does before it begins another of the same people. */
    async settle(
      { outcomes, learned }: Pick<LoadedChunk, 'outcomes' | 'learned'>,
      chunk = 1,
      held = heldBy(IDENTITY, outcomes),
    ): Promise<void> {
      const place = { firstRow: chunk, firstLine: chunk + 1, byteOffset: chunk, rows: 1 }
      await runLedger.openChunk(exportRow, { number: chunk, ...place })
      await runLedger.settleChunk({
        exportRow,
        chunk,
        counts: '{}',
        receiptsLength: 0,
        rejectsLength: 0,
        delivered: learned.delivered,
        renamed: learned.renamed,
        held,
        arrival: 1,
        exceptions: [],
        tallies: {},
        at: clock.now,
      })
    },
    /** What the gateway holds of a kind. */
    async stored(kind: RecordKind): Promise<Stored[]> {
      const text = await (await fetch(`${reference.url}/_reference/records?kind=${kind}`)).text()
      return text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as Stored)))
    },
    async storedIds(kind: RecordKind): Promise<string[]> {
      return (await this.stored(kind)).map((record) => record.source.meta.persistentRecordId).sort()
    },
    batches: (chunk = 1) => ledger.chunks.batches({ exportRow, chunk }),
    exceptions: (chunk = 1) => ledger.chunks.exceptions({ exportRow, chunk }),
    /** What the ledger says that the gateway has taken, by row and rule. */
    async acceptedInLedger(chunk = 1): Promise<string[]> {
      const batches = await ledger.chunks.batches({ exportRow, chunk })
      return batches
        .filter((batch) => batch.state === 'settled')
        .flatMap((batch) => unpackHolds(batch.holds))
        .map(({ row, rule, content }) => `${row} ${rule} ${content}`)
        .sort()
    },
    posts: (path: string) => proxy.seen.filter((one) => one.method === 'POST' && one.path === path).length,
  }
}

/** As most exports speak. */
export const SPEAKS = {
  exportName: 'clinic.csv',
  ...{ arrival: 1, isAgain: false, isBackfill: false, isRenewed: false, isTakenUp: false },
  orders: new Map(),
  hashOf: IDENTITY.cellsUnder('mapping'),
  isRecognised: false,
  behind: new Set<string>(),
  beforeSettled: async () => {},
}

export const BIOMETRICS = '/health-profile/biometrics/bulk'
export const CONDITIONS = '/health-profile/conditions/bulk'
export const CARE_TEAMS = '/health-profile/care-teams'

export const idsOf = (entries: readonly Entry[]): string[] =>
  entries.map((entry) => entry.transactionId).sort()

export const positionsOf = (entries: readonly Entry[]): string[] =>
  entries.map(({ row, rule, content }) => `${row.row} ${rule} ${content}`).sort()

/** How many entries came out how. */
export function tally(outcomes: readonly EntryOutcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { outcome } of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

/** The error that a call fails with. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('Expected a failure')
    },
    (error: unknown) => error,
  )
}

/** The entries themselves, now with their places in a chunk of their own. */
export function placed(entries: readonly Entry[]): readonly Entry[] {
  for (const [place, entry] of entries.entries()) Object.assign(entry, { place })
  return entries
}

/** A run of another job at the same gateway, which holds its lease throughout. */
export async function startOther({
  ledger,
  reference,
}: Pick<Awaited<ReturnType<typeof startLoading>>, 'ledger' | 'reference'>): Promise<RunLedger> {
  const jobId = await ledger.jobs.id('other-job', reference.url)
  const request = { jobId, runId: 'run-2', owner: 'there:2', now: 0, ttlMs: Number.MAX_SAFE_INTEGER }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) throw new Error('the lease is held')
  return ledger.runs.start(answer.lease, {
    id: 'run-2',
    jobId,
    startedAt: 0,
    rejectsPath: 'rejects',
    receiptsPath: 'receipts',
  })
}
