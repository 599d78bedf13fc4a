/**
 * The points of a run at which the drill kills the process that passes them. A kill is SIGKILL to oneself: nothing behind the point
 * runs any more, no handler, no flush.
 */
import { subscribe } from 'node:diagnostics_channel'
import { writeSync } from 'node:fs'
import type { ClientRequest } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import type { Gateway } from '../src/gateway/gateway.ts'
import type { Ledger, RunEnd, RunLedger } from '../src/ledger/ledger.ts'

/** Those that every run passes, or can be made to. */
export const RUN_POINTS = [
  'during-migration',
  'before-export',
  'before-chunk',
  'before-registration',
  'after-registration',
  'before-accounts-kept',
  'after-accounts-kept',
  'before-intents',
  'after-intents',
  'after-sending',
  'before-intent',
  'after-intent',
  'after-bytes',
  'after-answer',
  'before-split',
  'after-split',
  'before-settlement',
  'after-settlement',
  'before-read-back',
  'after-read-back',
  'after-care-teams',
  'before-mark',
  'after-mark',
  'before-delete',
  'after-delete',
  'before-chunk-settlement',
  'between-chunks',
  'before-export-end',
  'before-archived',
  'after-archived',
  'before-run-end',
  'after-run-end',
] as const

/** Where what an account has of care teams changes, and around it. */
export const CARE_TEAM_POINTS = [
  'after-care-teams',
  'after-care-teams',
  'before-settlement',
  'after-settlement',
  'before-mark',
  'after-mark',
  'before-delete',
  'after-delete',
  'before-chunk-settlement',
  'between-chunks',
] as const satisfies readonly (typeof RUN_POINTS)[number][]

/** Those that are passed where a backfill and other runs meet. */
export const BACKFILL_POINTS = [
  'before-giving-way',
  'before-set-aside',
  'after-set-aside',
  'while-waiting',
  'before-ask',
  'after-ask',
  'after-lease',
  'before-release',
  'after-release',
  'before-give-up',
  'after-give-up',
] as const

export const KILL_POINTS = [...RUN_POINTS, ...BACKFILL_POINTS] as const
export type KillPoint = (typeof KILL_POINTS)[number]

/** Kills this process when the point is passed for the nth time. */
export interface Kill {
  readonly point: KillPoint
  /** From 1. */
  readonly nth: number
}

/** Tells that a point is passed; does not come back from the last time. */
export type Pass = (point: KillPoint) => void

/** Points that are told of on standard error, as `passed POINT` in a line of its own: a backfill makes way there. */
export const TOLD_POINTS: ReadonlySet<KillPoint> = new Set(['while-waiting', 'before-giving-way'])

/** @param halt stops this process (SIGSTOP), and tells of it, when the point is passed for the nth time; who has started it lets it go on */
export function createPass(kill: Kill | undefined, halt: Kill | undefined): Pass {
  const passed = new Map<KillPoint, number>()
  return (point) => {
    const times = (passed.get(point) ?? 0) + 1
    passed.set(point, times)
    const is = (one: Kill | undefined): boolean => one?.point === point && one.nth === times
    // Written at once: behind a signal to oneself nothing is flushed.
    if (TOLD_POINTS.has(point)) writeSync(process.stderr.fd, `passed ${point}\n`)
    if (is(halt)) {
      writeSync(process.stderr.fd, `halted ${point}\n`)
      process.kill(process.pid, 'SIGSTOP')
    }
    if (is(kill)) process.kill(process.pid, 'SIGKILL')
  }
}

/** Migrations run inside the product's opening of the ledger, so it is SQLite that is watched: each table made is a passing. */
export function watchMigration(pass: Pass): void {
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    if (/^create (table|index)/i.test(sql)) pass('during-migration')
    return prepare.call(this, sql, ...rest)
  }
}

const WRITES_RECORDS = /\/(biometrics|conditions)\/bulk$|\/care-teams$/

/** A request's `finish` says that its last byte was handed to the operating system, which sends it also when the process is gone. */
export function watchBytes(pass: Pass): void {
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest }
    if (request.method !== 'POST' || !WRITES_RECORDS.test(request.path)) return
    request.once('finish', () => pass('after-bytes'))
  })
}

export function watchedLedger(ledger: Ledger, pass: Pass): Ledger {
  const { way } = ledger
  let holds = false
  return {
    ...ledger,
    leases: {
      ...ledger.leases,
      async acquire(...given) {
        const answer = await ledger.leases.acquire(...given)
        holds = answer.ok
        if (holds) pass('after-lease')
        return answer
      },
      async release(...given) {
        pass('before-release')
        await ledger.leases.release(...given)
        holds = false
        pass('after-release')
      },
    },
    way: {
      ...way,
      ask: around(way.ask, pass, 'before-ask', 'after-ask'),
      async waiter(...given) {
        const waiter = await way.waiter(...given)
        if (waiter !== undefined && holds) pass('before-giving-way')
        return waiter
      },
      async busy(...given) {
        const busy = await way.busy(...given)
        if (busy !== undefined) pass('while-waiting')
        return busy
      },
    },
    runs: {
      ...ledger.runs,
      start: async (...given) => watchedRunLedger(await ledger.runs.start(...given), pass),
      resume: async (...given) => watchedRunLedger(await ledger.runs.resume(...given), pass),
      amend: (...given) => watchedRunLedger(ledger.runs.amend(...given), pass),
    },
  }
}

function watchedRunLedger(ledger: RunLedger, pass: Pass): RunLedger {
  return {
    ...ledger,
    addExport: around(ledger.addExport, pass, 'before-export'),
    openChunk: around(ledger.openChunk, pass, 'before-chunk'),
    saveAccounts: around(ledger.saveAccounts, pass, 'before-accounts-kept', 'after-accounts-kept'),
    planBatches: around(ledger.planBatches, pass, 'before-intents', 'after-intents'),
    sendBatch: around(ledger.sendBatch, pass, undefined, 'after-sending'),
    beginBatch: around(ledger.beginBatch, pass, 'before-intent', 'after-intent'),
    splitBatch: around(ledger.splitBatch, pass, 'before-split', 'after-split'),
    settleBatch: around(ledger.settleBatch, pass, 'before-settlement', 'after-settlement'),
    settleChunk: around(ledger.settleChunk, pass, 'before-chunk-settlement', 'between-chunks'),
    endExport: around(ledger.endExport, pass, 'before-export-end'),
    noteArchived: around(ledger.noteArchived, pass, 'before-archived', 'after-archived'),
    endRun(end) {
      const [before, after] = pointsOfEnd(end)
      return around(ledger.endRun, pass, before, after)(end)
    },
  }
}

function pointsOfEnd({ reason }: RunEnd): [KillPoint, KillPoint] {
  if (reason === 'gave-way') return ['before-set-aside', 'after-set-aside']
  if (reason === 'given-up') return ['before-give-up', 'after-give-up']
  return ['before-run-end', 'after-run-end']
}

export function watchedGateway(gateway: Gateway, pass: Pass): Gateway {
  const { accounts, biometrics, conditions, careTeams } = gateway
  return {
    ...gateway,
    accounts: {
      ...accounts,
      register: around(accounts.register, pass, 'before-registration', 'after-registration'),
    },
    biometrics: {
      ...biometrics,
      sendBulk: around(biometrics.sendBulk, pass, undefined, 'after-answer'),
      read: around(biometrics.read, pass, 'before-read-back', 'after-read-back'),
    },
    conditions: {
      ...conditions,
      sendBulk: around(conditions.sendBulk, pass, undefined, 'after-answer'),
      read: around(conditions.read, pass, 'before-read-back', 'after-read-back'),
    },
    careTeams: {
      ...careTeams,
      sendBulk: around(careTeams.sendBulk, pass, undefined, 'after-care-teams'),
      list: around(careTeams.list, pass, 'before-read-back', 'after-read-back'),
      delete: around(careTeams.delete, pass, 'before-delete', 'after-delete'),
      setPrimary: around(careTeams.setPrimary, pass, 'before-mark', 'after-mark'),
      unsetPrimary: around(careTeams.unsetPrimary, pass, 'before-mark', 'after-mark'),
    },
  }
}

/** The call with a point before it, and one behind its success. */
function around<Given extends unknown[], Result>(
  call: (...given: Given) => Promise<Result>,
  pass: Pass,
  before: KillPoint | undefined,
  after?: KillPoint,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    if (before !== undefined) pass(before)
    const result = await call(...given)
    if (after !== undefined) pass(after)
    return result
  }
}
