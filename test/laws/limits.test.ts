/** Limits with a unit in their name, each at its edge and on both sides of it; and a list of where each one of src/ is tried. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { createRunReporter } from '../../src/cli/run-reporter.ts'
import { countWhole, DEFAULT_LIMITS } from '../../src/extract/content.ts'
import type { OpenExport } from '../../src/extract/open-export.ts'
import { unpack } from '../../src/gateway/exchange.ts'
import { authorizationFault } from '../../src/gateway/medical-records.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { retryAfterWait } from '../../src/load/flow.ts'
import { watchOutage } from '../../src/load/outage.ts'
import { decideLost } from '../../src/load/retry-policy.ts'
import { allRecords, noCounts } from '../../src/model/balance.ts'
import { endingOf } from '../../src/model/errors.ts'
import type { Row } from '../../src/model/row.ts'
import { nextTry } from '../../src/notify/outbox.ts'
import { checkClock, roomOf } from '../../src/operate/check-machine.ts'
import { createRunEvents } from '../../src/run/events.ts'
import { holdJob } from '../../src/run/lease.ts'
import { selectRows } from '../../src/run/rows.ts'
import { throughputOf } from '../../src/story/report/throughput-section.ts'
import { ownFileName } from '../../src/system/own-files.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createProgress, NO_PROGRESS, type Progress } from '../../src/telemetry/progress.ts'
import { PROJECT } from '../cli/command-line.ts'
import {
  beginPace,
  CLOSED,
  failed,
  notTaken,
  paceAccepted,
  paceBegun,
  paceRefused,
} from '../load/flow-parts.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type Pace = ReturnType<typeof beginPace>

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
const MIB = 1024 ** 2
/** As much as chance may add, and as little. */
const [MOST, LEAST] = [() => 1, () => 0]

const CAUSE = { class: 'ambiguous', what: 'HTTP 500' } as const

/** The verdicts of a limit on values beside it. */
const EDGES: Record<string, readonly (readonly [value: number, said: unknown])[]> = {
  'room on the disk, bytes': [
    [50 * MIB - 1, 'problem'],
    [50 * MIB, 'warning'],
    [1024 * MIB - 1, 'warning'],
    [1024 * MIB, 'ok'],
  ],
  'clock beside the gateway’s': [
    [-2 * MINUTE - 1, 'warning'],
    [-2 * MINUTE, 'ok'],
    [2 * MINUTE, 'ok'],
    [2 * MINUTE + 1, 'warning'],
  ],
  'silence that is told as an outage': [
    [2 * SECOND - 1, false],
    [2 * SECOND, true],
  ],
  'wait of a batch that is told as an outage': [
    [2 * SECOND - 1, false],
    [2 * SECOND, true],
  ],
  'pause that the report tells': [
    [SECOND - 1, 0],
    [SECOND, 1],
  ],
  'longest wait of a request of its own, by tries': [
    [1, 500],
    [7, 32 * SECOND],
    [8, MINUTE],
    [100, MINUTE],
  ],
  'longest wait of all requests, by openings': [
    [0, 600],
    [4, 9_600],
    [5, 18 * SECOND],
    [100, 18 * SECOND],
  ],
  'longest wait that a gateway is granted': [
    [15 * MINUTE - 1, 15 * MINUTE - 1],
    [15 * MINUTE, 15 * MINUTE],
    [365 * DAY, 15 * MINUTE],
  ],
  'what chance adds to such a wait': [
    [0, 0],
    [4_990, 499],
    [5_000, 500],
    [60_000, 500],
  ],
  'quiet after which more than a measured rate is tried': [
    [45 * SECOND - 1, 100],
    [45 * SECOND, 102],
  ],
  'time before the next step': [
    [SECOND - 1, 100],
    [SECOND, 104],
  ],
  // At 100 a second the next request may start after 10 ms.
  'silence after which a rate was not what held requests back': [
    [SECOND + 9, 104],
    [SECOND + 10, 100],
  ],
  'lateness that is caught up with': [
    [249, 249],
    [250, 250],
    [251, 250],
  ],
  'quiet of a rate, by the requests that it was measured by': [
    [3, 6 * SECOND],
    [22, 44 * SECOND],
    [23, 45 * SECOND],
  ],
  'name of a file that stays as it is, bytes': [
    [200, true],
    [201, false],
  ],
  'wait that is worth a line': [
    [2 * SECOND - 1, 1],
    [2 * SECOND, 2],
  ],
  'time between lines of progress': [
    [5 * SECOND - 1, 0],
    [5 * SECOND, 1],
  ],
  'time between lines that it still waits': [
    [MINUTE - 1, 0],
    [MINUTE, 1],
  ],
  // A thousand rows in the first second, and none since.
  'time by which a rate is told': [
    [31 * SECOND - 1, '32 rows/s'],
    [31 * SECOND, '0 rows/s'],
  ],
  'wait before a notification is tried again, by tries': [
    [1, MINUTE],
    [2, 5 * MINUTE],
    [3, 15 * MINUTE],
    [4, 60 * MINUTE],
    [5, 180 * MINUTE],
    [6, 360 * MINUTE],
  ],
  'unpacked bytes of which no ratio is asked': [
    [64 * MIB, 'taken'],
    [64 * MIB + 1, 'export-too-large'],
  ],
  'unpacked bytes of an answer of which no ratio is asked': [
    [MIB, MIB],
    [MIB + 1, undefined],
  ],
  'end of a PDF in which its marker stands, bytes behind it': [
    [1_024 - 5, 'whole'],
    [1_024 - 4, 'cut short'],
  ],
}

const PACED: Pace = { ...beginPace(), rate: 100, changedAt: DAY, boundAt: DAY }
/** A rate that is raised for the second time. */
const RAISED: Pace = { ...PACED, step: 0.04 }

const SAYS: Record<string, (value: number) => unknown> = {
  'room on the disk, bytes': (bytes) => roomOf(bytes).level,
  'clock beside the gateway’s': (off) =>
    checkClock(DAY, undefined, { date: new Date(DAY).toUTCString(), cameAt: DAY + off }).level,
  'silence that is told as an outage': (heldMs) =>
    isReported((outages) => outages.failed(CAUSE, DAY, heldMs)),
  'wait of a batch that is told as an outage': (waitMs) =>
    isReported((outages) => outages.batchWaits(CAUSE, DAY, waitMs)),
  'pause that the report tells': (paused) =>
    throughputOf([{ from: 0, to: 1, paused, rows: 1, records: allRecords(noCounts()) }], 1, 1).pauses.length,
  'longest wait of a request of its own, by tries': (tries) => waitOf(tries),
  'longest wait of all requests, by openings': (openings) =>
    failed({ ...CLOSED, openings, underWay: 1 }, 0, 1, DAY, MOST).until - DAY,
  'longest wait that a gateway is granted': (told) =>
    notTaken({ ...CLOSED, underWay: 1 }, 0, told, DAY, LEAST).until - DAY,
  'what chance adds to such a wait': (told) => retryAfterWait(told, MOST) - told,
  'quiet after which more than a measured rate is tried': (quiet) =>
    paceAccepted({ ...PACED, boundAt: DAY + quiet }, DAY + quiet, false).rate,
  'time before the next step': (passed) =>
    paceAccepted({ ...RAISED, boundAt: DAY + passed }, DAY + passed, false).rate,
  'silence after which a rate was not what held requests back': (silent) =>
    paceAccepted(RAISED, DAY + silent, false).rate,
  'lateness that is caught up with': (late) => {
    const { nextAt } = paceBegun({ ...PACED, nextAt: DAY - late }, DAY)
    return DAY - (nextAt - 10)
  },
  'quiet of a rate, by the requests that it was measured by': (current) => {
    const throughput = { beganAt: DAY, current, previous: 0 }
    return paceRefused({ ...beginPace(), throughput }, DAY).quietMs
  },
  'name of a file that stays as it is, bytes': (bytes) =>
    ownFileName('a'.repeat(bytes)) === 'a'.repeat(bytes),
  'wait that is worth a line': (waitMs) => {
    let lines = 0
    const print = (): void => void lines++
    const logger = createLogger({ level: 'info', form: 'json', print }, undefined, () => DAY)
    const reporter = createRunReporter(NO_PROGRESS, logger, () => DAY)
    for (const ms of [waitMs, 10 * SECOND])
      reporter.waiting({ operation: 'x', class: 'not-taken', what: '503', givesUpAt: DAY, waitMs: ms })
    return lines
  },
  'time between lines of progress': (passed) =>
    linesAfter([passed], ({ advance }) => advance(NOTHING_DONE)).length,
  'time between lines that it still waits': (passed) =>
    linesAfter([0, passed], ({ wait }) => wait('waits')).length,
  'time by which a rate is told': (at) =>
    /\d+ rows.s/.exec(
      linesAfter([SECOND, at], ({ advance }) => advance({ ...NOTHING_DONE, rows: 1_000 })).at(-1) ?? '',
    )?.[0],
  'wait before a notification is tried again, by tries': (tries) => (nextTry(tries, DAY, DAY) ?? 0) - DAY,
  'unpacked bytes of which no ratio is asked': (bytes) =>
    codeOf(() => countWhole('a.zip', { ...DEFAULT_LIMITS, ratio: 100 }, 9)('a.csv')(bytes)) ?? 'taken',
  'unpacked bytes of an answer of which no ratio is asked': (bytes) => {
    const answer = {
      status: 200,
      headers: { 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.alloc(bytes)),
    }
    let unpacked: Uint8Array | undefined
    codeOf(() => {
      unpacked = unpack(answer, 100 * MIB)
    })
    return unpacked?.length
  },
  'end of a PDF in which its marker stands, bytes behind it': (behind) =>
    /cut short/.exec(
      authorizationFault(Buffer.from(`%PDF-1.7 ${' '.repeat(2_000)}%%EOF${' '.repeat(behind)}`)) ?? '',
    )?.[0] ?? 'whole',
}

const NOTHING_DONE = { rows: 0, records: 0, share: 0 }

/** Without a terminal, of an export that began at 0. */
function linesAfter(times: readonly number[], tell: (progress: Progress) => void): string[] {
  let now = 0
  const lines: string[] = []
  const write = (text: string): void => void lines.push(text)
  const progress = createProgress({ columns: false, now: () => now, write })
  progress.start('a.csv', NOTHING_DONE)
  for (const at of times) {
    now = at
    tell(progress)
  }
  return lines
}

function isReported(act: (outages: ReturnType<typeof watchOutage>) => void): boolean {
  let reported = false
  const onOutage = (): void => {
    reported = true
  }
  act(watchOutage({ patienceMs: MINUTE, now: () => DAY, onOutage }))
  return reported
}

function codeOf(act: () => void): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return endingOf(error).code
  }
}

function waitOf(tries: number): number | undefined {
  const decision = decideLost(
    {
      ...{ isPage: false, tries, isAnswered: false, leftMs: DAY },
      ...{ isKnownToFail: false, mayBeGivenUp: false, answersNobody: undefined },
    },
    MOST,
  )
  return decision.kind === 'read' ? decision.waitMs : undefined
}

test.each(Object.entries(EDGES))('%s', (name, edges) => {
  expect(edges.map(([value]) => [value, SAYS[name]?.(value)])).toEqual(edges)
})

test.each([
  [256 * 1024, 1],
  [256 * 1024 + 1, 2],
])('over %i bytes to the next row that is selected a file is opened %i times', async (bytes, times) => {
  const rowAt = (row: number, byteOffset: number): Row => ({
    ...{ kind: 'cells', row, line: row + 1, byteOffset, cells: [] },
  })
  const all = [rowAt(1, 0), rowAt(2, bytes)]
  let opened = 0
  const file: OpenExport = {
    ...{ seekable: true, share: () => 0, assertUnchanged: async () => {} },
    controlTotal: async () => undefined,
    async *rows(from) {
      opened++
      for (const row of all) if (row.byteOffset >= (from?.byteOffset ?? 0)) yield [row]
    },
  }
  const selected = selectRows(file, async (after) => all.filter(({ byteOffset }) => byteOffset > after))
  expect((await Array.fromAsync(selected.rows())).flat()).toEqual(all)
  expect(opened).toBe(times)
})

const STILL = {
  sleep: async () => {},
  isDead: () => false,
  interrupt: new AbortController().signal,
  events: createRunEvents(),
}

const open = async () => {
  const file = join(await temporaryFolder(), 'ledger.sqlite')
  const ledger = await openLedger(file)
  const jobId = await ledger.jobs.id('job', 'https://gateway.example')
  return { file, ledger, jobId }
}

test.each([
  [MINUTE, MINUTE],
  [MINUTE + 1, 0],
])('a process that gave no sign for %i ms has worked for %i of them', async (silent, worked) => {
  const { ledger, jobId } = await open()
  const request = { jobId, runId: 'run', owner: 'host:1', now: DAY, ttlMs: MINUTE }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) expect.fail('the job is free')
  const start = { id: 'run', jobId, startedAt: DAY, rejectsPath: 'rejects', receiptsPath: 'receipts' }
  const runLedger = await ledger.runs.start(answer.lease, start)
  await runLedger.renew(DAY + silent, MINUTE)
  expect((await ledger.runs.find('run'))?.worked_ms).toBe(worked)
  await ledger.close()
})

test('a job is held for a minute without a sign of its process, and no longer', async () => {
  const { ledger, jobId } = await open()
  const turn = { jobId, job: 'job', runId: 'run', givesWay: false }
  const held = await holdJob({ ledger, owner: 'host:1', now: () => DAY, ...STILL }, turn)
  const isFreeAt = async (now: number): Promise<boolean> =>
    (await ledger.leases.holder(jobId, now, () => false)) === undefined
  expect([await isFreeAt(DAY + MINUTE - 1), await isFreeAt(DAY + MINUTE)]).toEqual([false, true])
  await held.release()
  await ledger.close()
})

test.each([
  ['pending', 10 * MINUTE, 0],
  ['pending', 10 * MINUTE + 1, 1],
  ['given-up', 7 * DAY - 1, 1],
  ['given-up', 7 * DAY, 0],
])('a notification that is %s is told of at %i ms: %i', async (state, age, told) => {
  const { file, ledger, jobId } = await open()
  await ledger.close()
  const database = new DatabaseSync(file)
  database
    .prepare(
      `insert into notification (message_id, job_id, kind, subject, target, address, notice, state, attempts, next_at, created_at)
      values ('m', ?, 'run-ended', 's', 't', 'a', '{}', ?, 1, 0, ?)`,
    )
    .run(jobId, state, 30 * DAY - age)
  database.close()
  const opened = await openLedger(file)
  expect((await opened.overview.openWork(30 * DAY)).undelivered).toHaveLength(told)
  await opened.close()
})

/** Why a constant has no edge that a test can try. */
const NO_EDGE = new Set([
  'form', // of bytes, or of a metric
  'buffer', // a piece of work: its size shows in the time alone
  'pace', // how often something is looked at
  'unit', // to reckon with
  'real-time', // what a server, a connection or a child process may take
  'untried',
])
/** None may be added. */
const UNTRIED = 0

test('of each constant with a unit in its name it is known where it is tried', () => {
  const declared = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: PROJECT }).flatMap((name) =>
    [...readFileSync(join(PROJECT, name), 'utf8').matchAll(CONSTANT)].map(
      ([, constant]) => `${name} ${constant}`,
    ),
  )
  const listed = z
    .record(z.string(), z.string())
    .parse(parse(readFileSync(join(import.meta.dirname, 'limits.yaml'), 'utf8')))
  expect(Object.keys(listed).sort()).toEqual(declared.sort())
  const unknown = Object.values(listed).filter(
    (where) => !NO_EDGE.has(where) && !existsSync(join(PROJECT, where)),
  )
  expect(unknown).toEqual([])
  expect(Object.values(listed).filter((where) => where === 'untried')).toHaveLength(UNTRIED)
})

const CONSTANT = /^(?:export )?const ([A-Z_]+_(?:MS|SECONDS|MINUTES|HOURS|DAYS|BYTES|KB|MB))\b/gm
