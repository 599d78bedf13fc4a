import type { ChildProcess } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generateSamples } from '../../samples/generate.ts'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { type Fault, type FaultProxy, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { meetGateway } from './clinic.ts'
import { createWorkplace, ended, type Summary, summaryOf, type Workplace } from './command-line.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from './reference-store.ts'
import { readReceipts } from './run-outputs.ts'

const KEY = 'the same key in every home'
const AT_ONCE = 4
const JOB = `exports: { from: .., match: "acme_*.csv", mapping: acme-onsite }
submit: { concurrency: ${AT_ONCE}, batch: { records: 25 }, readLag: 100ms }
`

/** What happens at the `nth` request (from 1) that a process makes to a path: the signal, and what becomes of the request. */
interface Strike {
  readonly at: string
  readonly nth: number
  readonly signal: NodeJS.Signals
  readonly fault: Fault
  /** Whether the signal comes again as soon as the first one was heard. */
  readonly twice?: boolean
}

interface Scene {
  readonly store: ReferenceStore
  readonly proxy: FaultProxy
  readonly workplace: Workplace
  /** Runs the job: with a strike in a process of its own, which can be killed. */
  run(strike?: Strike): Promise<Awaited<ReturnType<typeof ended>>>
}

async function setScene(): Promise<Scene> {
  const store = await startReferenceStore()
  let running: ChildProcess | undefined
  let pending: Strike | undefined
  let counted = 0
  const faultOf = ({ method, path }: Passing): Fault => {
    if (pending === undefined || `${method} ${path}` !== pending.at) return PASS
    counted++
    if (counted !== pending.nth) return PASS
    const { signal, fault } = pending
    pending = undefined
    running?.kill(signal)
    return fault
  }
  const proxy = await startFaultProxy(store.url, faultOf)
  const workplace = await createWorkplace({ ...gatewaySettings(proxy.url), WAYBILL_KEY: KEY })
  await generateSamples({ out: workplace.folder, participants: 50, messages: 0 })
  await putNoShowsFirst(workplace.folder)
  await meetGateway(workplace)
  await workplace.job('screening', JOB)
  return {
    store,
    proxy,
    workplace,
    run(strike) {
      if (strike === undefined) return workplace.waybill('run', 'screening', '--json')
      pending = strike
      counted = 0
      const child = workplace.start('run', 'screening', '--json')
      running = child
      child.stderr?.on('data', (text: Buffer) => {
        if (strike.twice && text.includes('Interrupt again')) child.kill(strike.signal)
      })
      return ended(running)
    },
  }
}

/** So many rows without records that half of the others come into a second chunk. */
async function putNoShowsFirst(folder: string): Promise<void> {
  const [name = ''] = (await readdir(folder)).filter((one) => one.startsWith('acme_'))
  const [header = '', ...lines] = (await readFile(join(folder, name), 'utf8')).split('\n')
  const noShow = (at: number): string =>
    header
      .split(',')
      .map(
        (column) =>
          ({ participant_id: `NO-${at}`, screened_at: '02/04/2026 09:10', no_show: 'Y' })[column] ?? '',
      )
      .join(',')
  const noShows = Array.from({ length: CHUNK_SIZE.rows - 25 }, (_, at) => noShow(at))
  await writeFile(join(folder, name), [header, ...noShows, ...lines].join('\n'))
}

interface Outcome {
  readonly rows: Summary['rows']
  readonly records: Summary['records']
  /** As stored, without what the gateway adds and the batch: the rest of a batch goes out in another one. */
  readonly stored: readonly string[]
  readonly rejects: string
  readonly receipts: readonly string[]
  /** What the gateway has been asked, by its own log, against what the summary says. */
  readonly uncounted: Counted
  readonly registered: number
}

interface Counted {
  readonly sent: number
  readonly read: number
  readonly registered: number
  readonly marked: number
}

/** How far the summary is behind the gateway's log; below zero where it is ahead. */
function uncountedBy({ requests, accounts, primaryCare }: Summary, { seen }: FaultProxy): Counted {
  const reads = seen.filter(({ method }) => method === 'GET').length
  const asked = (path: string): number => seen.filter((one) => `${one.method} ${one.path}` === path).length
  return {
    sent: seen.length - reads - requests.sent,
    read: reads - requests.readBack,
    // Refused ones are no requests of the samples: what is wrong with a person is found before.
    registered: asked(REGISTRATIONS) - accounts.registered,
    marked: asked(MARKS) - primaryCare.marked,
  }
}

async function outcomeOf({ store, proxy }: Scene, summary: Summary): Promise<Outcome> {
  const stored = await store.allRecords()
  return {
    rows: summary.rows,
    records: summary.records,
    stored: stored.map(asSent).sort(),
    rejects: await readFile(summary.exports[0]?.rejects ?? '', 'utf8'),
    receipts: (await readReceipts(summary.files.receipts ?? ''))
      .map(({ transactionId }) => transactionId)
      .sort(),
    uncounted: uncountedBy(summary, proxy),
    registered: summary.accounts.registered,
  }
}

const asSent = ({
  _storedAt,
  source,
  ...record
}: Awaited<ReturnType<ReferenceStore['allRecords']>>[number]) => {
  const { batchId: _batch, ...meta } = source.meta
  return JSON.stringify({ ...record, source: { ...source, meta } })
}

/** Of what was under way when a process was killed nobody has written down whether it left, or what came of it: so far counts may be off. */
function expectNearly(
  { uncounted, registered, ...outcome }: Outcome,
  measure: Outcome,
  inFlight: number,
): void {
  expect({ ...measure, ...outcome }).toEqual(measure)
  for (const off of Object.values({ ...uncounted, of: measure.registered - registered }))
    expect(Math.abs(off)).toBeLessThanOrEqual(inFlight)
}

let undisturbed: Promise<Outcome> | undefined
/** What a run comes to that nothing interrupts: the measure of all others. */
function uninterrupted(): Promise<Outcome> {
  undisturbed ??= (async () => {
    const scene = await setScene()
    const ended = await scene.run()
    expect(ended.code).toBe(1)
    return outcomeOf(scene, summaryOf(ended))
  })()
  return undisturbed
}

/** Killed while the gateway had the request but no answer came back: what was stored must be found again. */
const STORED_UNANSWERED: Fault = { do: 'pass-then-hang' }
/** Killed while the request was on its way: nothing was stored. */
const NEVER_ARRIVED: Fault = { do: 'hang' }

const REGISTRATIONS = 'POST /account/register'
const CARE_TEAMS = '/health-profile/care-teams'
const MARKS = `POST ${CARE_TEAMS}/pcp`
const BIOMETRICS = 'POST /health-profile/biometrics/bulk'
/** In this order each of them comes about: marks are set last of all. */
const STRIKES: readonly Omit<Strike, 'signal'>[] = [
  { at: REGISTRATIONS, nth: 17, fault: STORED_UNANSWERED },
  { at: BIOMETRICS, nth: 1, fault: NEVER_ARRIVED },
  { at: 'GET /health-profile/biometrics', nth: 1, fault: NEVER_ARRIVED },
  { at: BIOMETRICS, nth: 7, fault: STORED_UNANSWERED },
  { at: 'POST /health-profile/conditions/bulk', nth: 1, fault: STORED_UNANSWERED },
  { at: `POST ${CARE_TEAMS}`, nth: 5, fault: STORED_UNANSWERED },
  { at: MARKS, nth: 10, fault: STORED_UNANSWERED },
]

test('killed again and again, at every kind of request: in the end each record is there once, and all accounts agree', async () => {
  const measure = await uninterrupted()
  expect(measure.receipts).toEqual([...new Set(measure.receipts)])
  expect(measure.receipts).toHaveLength(measure.stored.length)
  // Of more than one chunk.
  expect(measure.rows.read).toBeGreaterThan(CHUNK_SIZE.rows)
  expect(measure.uncounted).toEqual({ sent: 0, read: 0, registered: 0, marked: 0 })

  const scene = await setScene()
  let inFlight = 0
  for (const strike of STRIKES) {
    const { code, out } = await scene.run({ ...strike, signal: 'SIGKILL' })
    expect({ at: strike.at, code, out }).toEqual({ at: strike.at, code: null, out: '' })
    inFlight += AT_ONCE
    const { runs } = JSON.parse((await scene.workplace.waybill('runs', '--json')).out)
    for (const behind of Object.values(uncountedBy(runs[0], scene.proxy)))
      expect(Math.abs(behind), strike.at).toBeLessThanOrEqual(inFlight)
  }
  const last = await scene.run()
  const summary = summaryOf(last)
  expect({ code: last.code, state: summary.state, balanced: summary.balanced }).toEqual({
    code: 1,
    state: 'finished',
    balanced: true,
  })
  expectNearly(await outcomeOf(scene, summary), measure, inFlight)

  const { runs } = JSON.parse((await scene.workplace.waybill('runs', '--json')).out)
  expect(runs).toHaveLength(1)

  const sent = scene.proxy.seen.length
  expect(summaryOf(await scene.run()).requests.sent).toBe(0)
  expect(scene.proxy.seen).toHaveLength(sent)
})

test('SIGTERM: what is under way is finished, the run says 130, and the next one ends it', async () => {
  const measure = await uninterrupted()
  const scene = await setScene()
  const stopped = await scene.run({ at: BIOMETRICS, nth: 4, signal: 'SIGTERM', fault: PASS })
  const first = summaryOf(stopped)
  expect(stopped.code).toBe(130)
  expect(first).toMatchObject({
    state: 'interrupted',
    balanced: true,
    soFar: true,
    error: { code: 'interrupted' },
  })
  expect(first.records.biometric.pending).toBeGreaterThan(0)

  const second = await scene.run()
  const summary = summaryOf(second)
  expect({ code: second.code, run: summary.run, balanced: summary.balanced }).toEqual({
    code: 1,
    run: first.run,
    balanced: true,
  })
  // Nothing was left without an answer; what people have of care teams is asked wherever the ledger may be behind.
  const read = scene.proxy.seen.filter(({ method }) => method === 'GET').map(({ path }) => path)
  expect(read.filter((path) => path !== CARE_TEAMS)).toEqual([])
  expect(await outcomeOf(scene, summary)).toEqual(measure)
})

test('a second SIGINT: it ends at once, though a request has no answer; what that one stored is found again', async () => {
  const measure = await uninterrupted()
  const scene = await setScene()
  const strike = { at: BIOMETRICS, nth: 4, signal: 'SIGINT', fault: STORED_UNANSWERED, twice: true } as const
  const { code, out } = await scene.run(strike)
  expect({ code, out }).toEqual({ code: 130, out: '' })

  const second = await scene.run()
  const summary = summaryOf(second)
  expect({ code: second.code, balanced: summary.balanced }).toEqual({ code: 1, balanced: true })
  expect(summary.requests.readBack).toBeGreaterThan(0)
  expectNearly(await outcomeOf(scene, summary), measure, AT_ONCE)
})
