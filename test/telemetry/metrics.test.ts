import { execFileSync } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type FireRecord, noTallies } from '../../src/ledger/ledger.ts'
import { trafficOf } from '../../src/load/dispatcher.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { countRuns, countSchedule } from '../../src/runs/schedule-metrics.ts'
import { createScheduleEvents } from '../../src/schedule/schedule-parts.ts'
import { type LastEnd, lastRunOf } from '../../src/story/metrics.ts'
import { registerLastRun, writeLastRun } from '../../src/telemetry/last-run-metrics.ts'
import { createMetrics, serveMetrics } from '../../src/telemetry/metrics.ts'
import { page, sections, tableRows } from '../docs/pages.ts'
import { needsProgram } from '../needed.ts'
import { exportWith, summaryWith } from '../story/report/sample-facts.ts'
import { reason } from '../story/report/sample-reports.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const STORY = {
  summary: summaryWith({
    durationMs: 13_627,
    exports: [exportWith(0)],
    drift: (['warn', 'accepted'] as const).map((level) => ({
      ...{ export: 'a.csv', measure: 'rows', level, message: '5, usually 9' },
    })),
    leftBehind: { new: 2, known: 1 },
  }),
  reasons: [reason(1, 'date-invalid', 'not a date')],
}
const LAST_END: LastEnd = {
  job: 'nightly',
  endedAt: Date.UTC(2026, 2, 2, 7, 30),
  cleanEndedAt: Date.UTC(2026, 2, 1, 7, 30),
  exit: 1,
  inDoubt: 2,
  story: STORY,
}
const LAST = lastRunOf(LAST_END)

test('differences that a person has accepted are none to look at', () => {
  expect(LAST.samples).toContainEqual(['last_run_drift', { measure: 'rows' }, 1])
})

test('rows, and what was left behind, are counted each by its own name', () => {
  const { summary } = STORY
  const rows = { ...summary.rows, read: 6, mapped: 3, skipped: 2, rejected: 1 }
  const { samples } = lastRunOf({ ...LAST_END, story: { ...STORY, summary: { ...summary, rows } } })
  const of = (wanted: string) =>
    samples.flatMap(([gauge, labels, value]) =>
      gauge === wanted ? [`${Object.values(labels).join(' ')} ${value}`] : [],
    )
  expect(of('last_run_rows')).toEqual(['mapped 3', 'skipped 2', 'rejected 1'])
  expect(of('last_run_left_behind')).toEqual(['new 2', 'known 1'])
})

/** 02:14 in New York. */
const NOW = Date.UTC(2026, 2, 2, 7, 14)

const FACTS = {
  freeBytes: 3e9,
  file: { bytes: 4_096, lastBackupAt: Date.UTC(2026, 2, 1) },
  notifications: [{ job: 'nightly', state: 'given-up', count: 2 }],
  overdue: [{ job: 'nightly', count: 1 }],
  backfills: ['nightly'],
  needs: ['paused', 'left-rejected', 'left-rejected'],
}

/** `name{labels} value` of our own metrics that were touched. */
const samplesOf = (text: string): string[] =>
  text.split('\n').filter((line) => line.startsWith('waybill_') && !/_bucket|_build_info/.test(line))

/** A run of a job that was interrupted, as it is told when it goes on in this process. */
function resumedRun(events: ReturnType<typeof countRuns>): void {
  const tallies = { ...noTallies(), requests: { sent: 100, retried: 10, readBack: 5 } }
  events.runStarted({ id: 'r1', job: 'nightly', gateway: 'g', resumed: true, tallies })
  const counts = noCounts()
  Object.assign(counts.rows, { read: 50, mapped: 50 })
  Object.assign(counts.records.biometric, { made: 500, accepted: 500 })
  const settled = { name: 'a.csv', counts, share: 0.5 }
  events.exportStarted({ ...settled, bytes: 1_000 })
  Object.assign(counts.rows, { read: 60, mapped: 58, rejected: 2 })
  Object.assign(counts.records.biometric, { made: 580, accepted: 577, rejected: 1, inDoubt: 2 })
  tallies.requests.sent = 104
  tallies.requests.retried = 11
  tallies.accounts.registered = 7
  const place = { row: 51, line: 52, batchId: null, transaction: undefined }
  const rejected = { ...place, outcome: 'rejected', stage: 'transform', code: 'date-invalid' } as const
  events.waiting({
    operation: 'create biometric records',
    waitMs: 3_000,
    class: 'not-taken',
    what: '',
    givesUpAt: 0,
  })
  events.exportAdvanced({
    ...settled,
    left: () => [
      { ...rejected, rule: null },
      { ...rejected, rule: null },
      { ...rejected, rule: 'a1c', stage: 'submit', code: 'refused' },
      { ...rejected, rule: 'a1c', outcome: 'in-doubt', stage: 'read-back', code: 'in-doubt' },
    ],
  })
  events.exportEnded()
  events.exportFailed()
  tallies.requests.readBack = 6
  events.runEnded({ state: 'finished', reason: null, workedMs: 2_500 })
}

const EXPECTED = [
  'waybill_runs_total{job="nightly",state="finished"} 1',
  'waybill_run_under_way{job="nightly"} 0',
  'waybill_run_duration_seconds_sum{job="nightly"} 2.5',
  'waybill_run_duration_seconds_count{job="nightly"} 1',
  'waybill_exports_total{job="nightly",state="finished"} 1',
  'waybill_exports_total{job="nightly",state="failed"} 1',
  'waybill_rows_total{job="nightly",outcome="mapped"} 8',
  'waybill_rows_total{job="nightly",outcome="rejected"} 2',
  'waybill_records_total{job="nightly",kind="biometric",outcome="accepted"} 77',
  'waybill_records_total{job="nightly",kind="biometric",outcome="rejected"} 1',
  'waybill_records_total{job="nightly",kind="biometric",outcome="in-doubt"} 2',
  'waybill_rejects_total{job="nightly",stage="transform",code="date-invalid"} 2',
  'waybill_rejects_total{job="nightly",stage="submit",code="refused"} 1',
  'waybill_accounts_total{job="nightly",outcome="registered"} 7',
  'waybill_requests_total{job="nightly",request="sent"} 4',
  'waybill_requests_total{job="nightly",request="retried"} 1',
  'waybill_requests_total{job="nightly",request="read-back"} 1',
  'waybill_gateway_waits_total{class="not-taken"} 1',
]

test('a run is counted by what this process has done of it', async () => {
  const metrics = createMetrics('1')
  resumedRun(countRuns(metrics, 'nightly'))
  const samples = samplesOf(await metrics.text())
  const touched = samples.filter((line) => !line.endsWith(' 0') || line.includes('under_way'))
  expect(touched.sort()).toEqual(EXPECTED.toSorted())
})

test('no job is valid while the folder of jobs is gone', async () => {
  const metrics = createMetrics('1')
  const events = createScheduleEvents(countSchedule(metrics, () => NOW))
  const valid = async (): Promise<string[]> =>
    samplesOf(await metrics.text())
      .filter((line) => line.startsWith('waybill_job_valid'))
      .sort()
  events.scheduled('a', { cron: '15 2 * * *', zone: 'America/New_York' }, 0)
  events.broken('b', new WaybillError('job-invalid', 'wrong'))
  const before = ['waybill_job_valid{job="a"} 1', 'waybill_job_valid{job="b"} 0']
  expect(await valid()).toEqual(before)
  events.trouble('a', new Error('of one job'))
  expect(await valid()).toEqual(before)
  events.trouble(undefined, new WaybillError('job-not-found', 'gone'))
  expect(await valid()).toEqual(['waybill_job_valid{job="a"} 0', 'waybill_job_valid{job="b"} 0'])
  events.recovered()
  expect(await valid()).toEqual(before)
})

test('what stands open is told by job, and is gone once nothing stands open', async () => {
  const metrics = createMetrics('1')
  metrics.installation(FACTS)
  const open = [
    'waybill_notifications_undelivered{job="nightly",state="given-up"} 2',
    'waybill_exports_overdue{job="nightly"} 1',
    'waybill_backfill_unfinished{job="nightly"} 1',
    'waybill_needs{cause="paused"} 1',
    'waybill_needs{cause="left-rejected"} 2',
  ]
  const standing = [
    'waybill_home_free_bytes 3000000000',
    'waybill_ledger_size_bytes 4096',
    'waybill_last_backup_timestamp_seconds 1772323200',
  ]
  expect(samplesOf(await metrics.text()).sort()).toEqual([...standing, ...open].sort())
  metrics.installation({
    ...FACTS,
    file: { bytes: 4_096, lastBackupAt: undefined },
    notifications: [],
    overdue: [],
    backfills: [],
    needs: [],
  })
  expect(samplesOf(await metrics.text()).sort()).toEqual(
    [...standing.slice(0, 2), 'waybill_last_backup_timestamp_seconds 0'].sort(),
  )
})

test('a ledger on a server has no series of a file: an alert would ask for a backup that the command refuses', async () => {
  const metrics = createMetrics('1')
  metrics.installation({ ...FACTS, file: undefined })
  const samples = samplesOf(await metrics.text())
  expect(samples).toContain('waybill_home_free_bytes 3000000000')
  expect(samples.filter((line) => /ledger_size|last_backup/.test(line))).toEqual([])
})

test('a job on the schedule has a series before it has run, and tells when it is due', async () => {
  const metrics = createMetrics('1')
  const events = createScheduleEvents(countSchedule(metrics, () => NOW))
  events.scheduled('nightly', { cron: '15 2 * * *', zone: 'America/New_York' }, 0)
  metrics.neverRan('nightly')
  const never = [
    'waybill_last_run_timestamp_seconds{job="nightly"} 0',
    'waybill_last_clean_run_timestamp_seconds{job="nightly"} 0',
  ]
  const text = await metrics.text()
  expect(samplesOf(text)).toEqual(expect.arrayContaining(never))
  expect(samplesOf(text)).toContain(
    `waybill_next_fire_timestamp_seconds{job="nightly"} ${(NOW + 60_000) / 1000}`,
  )
  metrics.lastRun(LAST)
  expect(samplesOf(await metrics.text())).toContain(
    'waybill_last_run_timestamp_seconds{job="nightly"} 1772436600',
  )
  metrics.forgetLastRun('nightly')
  events.unscheduled('nightly')
  expect(samplesOf(await metrics.text()).filter((line) => line.includes('nightly'))).toEqual([])
})

/** Names of metrics in an expression of PromQL. */
const namesIn = (text: string): string[] => [...text.matchAll(/\bwaybill_[a-z_]+/g)].map(([name]) => name)

test('alerts and dashboard ask for metrics that there are, and every alert leads to the runbook', async () => {
  const known = new Set(described(await allText()).keys())
  const series = (name: string): string =>
    name.replace(/_(bucket|sum|count)$/, (end) => (known.has(name) ? end : ''))
  const alerts = Alerts.parse(parse(page('examples/prometheus/waybill-alerts.yaml')))
  const rules = alerts.groups.flatMap((group) => group.rules)
  expect(rules.length).toBeGreaterThan(10)
  const runbook = page('docs/runbook.md')
  for (const { alert, expr, labels, annotations } of rules) {
    expect([
      alert,
      namesIn(expr)
        .map(series)
        .filter((name) => !known.has(name)),
    ]).toEqual([alert, []])
    expect(['critical', 'warning']).toContain(labels.severity)
    const [file, anchor = ''] = annotations.runbook.split('#')
    expect(file).toBe('docs/runbook.md')
    const anchors = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    expect([alert, anchors.includes(anchor)]).toEqual([alert, true])
  }
  const dashboard = Dashboard.parse(JSON.parse(page('examples/grafana/waybill.json')))
  const asked = dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)))
  expect(asked.length).toBeGreaterThan(15)
  expect(asked.map(series).filter((name) => !known.has(name))).toEqual([])
})

const Alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.string() }),
          annotations: z.strictObject({ summary: z.string().min(10), runbook: z.string() }),
        }),
      ),
    }),
  ),
})
const Dashboard = z.looseObject({
  panels: z.array(z.looseObject({ targets: z.array(z.looseObject({ expr: z.string() })) })),
})

test('jobs, fires and requests are counted', async () => {
  const metrics = createMetrics('1')
  const events = createScheduleEvents(countSchedule(metrics, () => NOW))
  const fire = (state: FireRecord['state']): FireRecord => ({
    ...{ job_id: 1, due: 0, state, owner: null, run_id: null, begun_at: null, ended_at: null },
    ...{ exit: null, error: null, reason: null, detail: null, made_up_by: null, retry_at: null },
  })
  const timetable = { cron: '15 2 * * *', zone: 'America/New_York' }
  for (const job of ['a', 'b', 'c']) events.scheduled(job, timetable, 0)
  events.broken('b', new WaybillError('job-invalid', 'wrong'))
  events.unscheduled('c')
  events.ended('a', fire('ended'))
  events.ended('a', fire('interrupted'))
  events.missed('a', fire('missed'))
  events.skipped('a', fire('skipped'), false)
  metrics.count('job_exits', { job: 'a', exit: '5' })
  metrics.requestAnswered({ operation: 'create biometrics bulk', class: 'accepted', durationMs: 250 })
  expect(samplesOf(await metrics.text()).sort()).toEqual(
    [
      ...['a', 'b'].map(
        (job) => `waybill_next_fire_timestamp_seconds{job="${job}"} ${(NOW + 60_000) / 1000}`,
      ),
      'waybill_job_valid{job="a"} 1',
      'waybill_job_valid{job="b"} 0',
      ...['ended', 'interrupted', 'missed', 'skipped'].map(
        (state) => `waybill_fires_total{job="a",state="${state}"} 1`,
      ),
      'waybill_job_exits_total{job="a",exit="5"} 1',
      'waybill_gateway_answers_total{operation="create-biometrics-bulk",class="accepted"} 1',
      'waybill_gateway_request_duration_seconds_sum{operation="create-biometrics-bulk"} 0.25',
      'waybill_gateway_request_duration_seconds_count{operation="create-biometrics-bulk"} 1',
    ].sort(),
  )
})

test('how things stand with the gateway is read when the metrics are asked for', async () => {
  const metrics = createMetrics('1')
  let traffic = trafficOf([])
  metrics.watchTraffic(() => traffic)
  const stands = async (): Promise<number[]> =>
    samplesOf(await metrics.text()).flatMap((line) => {
      const [, value] = /^waybill_gateway_(?:breaker_state|requests)\S* (\d+)$/.exec(line) ?? []
      return value === undefined ? [] : [Number(value)]
    })
  expect(await stands()).toEqual([1, 0, 0, 0, 0])
  traffic = { breaker: 'open', permitted: 1, underWay: 0 }
  expect(await stands()).toEqual([0, 1, 0, 1, 0])
  traffic = { breaker: 'trying', permitted: 1, underWay: 1 }
  expect(await stands()).toEqual([0, 0, 1, 1, 1])
  expect(await metrics.text()).toContain('waybill_gateway_breaker_state{state="trying"} 1\n')
})

test('of the last run nothing stays of the one before', async () => {
  const registry = new Registry()
  const { tell, forget } = registerLastRun(registry)
  tell(LAST)
  const text = await registry.metrics()
  expect(text).toContain('waybill_last_run_duration_seconds{job="nightly"} 13.627')
  expect(text).toContain('waybill_last_run_timestamp_seconds{job="nightly"} 1772436600')
  expect(text).toContain('waybill_last_clean_run_timestamp_seconds{job="nightly"} 1772350200')
  expect(text).toContain('waybill_last_run_rejects{job="nightly",stage="transform",code="date-invalid"} 1')
  tell({ ...LAST, job: 'other' })
  tell(lastRunOf({ ...LAST_END, story: { ...STORY, reasons: [] }, cleanEndedAt: undefined }))
  const after = await registry.metrics()
  expect(after).not.toContain('waybill_last_run_rejects{job="nightly"')
  expect(after).toContain('waybill_last_run_rejects{job="other"')
  expect(after).toContain('waybill_last_clean_run_timestamp_seconds{job="nightly"} 0')
  forget('nightly')
  forget('nobody')
  expect(await registry.metrics()).not.toContain('job="nightly"')
})

/** Of the text format: name → help and type. */
function described(text: string): Map<string, { help: string; type: string }> {
  const help = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', words = '']) => [name, words]),
  )
  return new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [
      name,
      { type, help: help.get(name) ?? '' },
    ]),
  )
}

async function allText(): Promise<string> {
  const metrics = createMetrics('1')
  resumedRun(countRuns(metrics, 'nightly'))
  metrics.requestAnswered({ operation: 'search profile', class: 'accepted', durationMs: 9 })
  metrics.watchTraffic(() => trafficOf([]))
  metrics.watchFires(() => [['nightly', NOW]])
  metrics.installation(FACTS)
  metrics.lastRun(LAST)
  return metrics.text()
}

describe('names', () => {
  test('every metric has help, counters alone end in _total, times are in seconds', async () => {
    const metrics = described(await allText())
    for (const [name, { help, type }] of metrics) {
      expect(name).toMatch(/^(waybill|process|nodejs)_[a-z0-9_]+$/)
      expect(help).not.toBe('')
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter'])
      if (/duration|timestamp/.test(name)) expect(name).toMatch(/_seconds$/)
      expect(name).not.toMatch(/milli|_ms\b|minutes|hours/)
    }
  })

  test('docs/metrics.md has every metric with its type and labels, and no other', async () => {
    const metrics = createMetrics('1')
    metrics.watchTraffic(() => trafficOf([]))
    metrics.watchFires(() => [])
    metrics.lastRun(LAST)
    const known = described(await metrics.text())
    const text = page('docs/metrics.md')
    const rows = ['Metrics of a schedule', 'Metrics of the installation', 'Metrics of the last run'].flatMap(
      (part) => tableRows(sections(text, 2).get(part) ?? ''),
    )
    const typeOf = (name: string, values: string): string =>
      name.endsWith('_total') ? 'counter' : values.startsWith('histogram') ? 'histogram' : 'gauge'
    // Metrics with the same values share a row.
    const metricsOfPage = rows.flatMap(([metrics = '', values = '']) =>
      [...metrics.matchAll(/`(\w+)(?:\{(.*?)\})?`/g)].map(([, name = '', labels = '']) => ({
        name,
        labels,
        type: typeOf(name, values),
      })),
    )
    const documented = metricsOfPage.map(({ name, type }) => `${name} ${type}`)
    expect(documented.sort()).toEqual(
      [...known]
        .flatMap(([name, { type }]) => (name.startsWith('waybill_') ? [`${name} ${type}`] : []))
        .sort(),
    )
    // Labels as samples have them; each metric of a run has one there.
    const samples = samplesOf(await allText())
    for (const { name, type, labels } of metricsOfPage) {
      const plain = `${name}${type === 'histogram' ? '_count' : ''}{`
      const sample = samples.find((line) => line.startsWith(plain))
      if (sample === undefined) continue
      expect([...sample.matchAll(/(\w+)="/g)].map(([, label]) => label).join(',')).toBe(labels)
    }
  })
})

describe('promtool check metrics', needsProgram('promtool'), () => {
  test('finds nothing to say', async () => {
    const said = execFileSync('promtool', ['check', 'metrics'], { input: await allText() }).toString()
    expect(said).toBe('')
  })

  test('takes the alert rules', () => {
    const said = execFileSync('promtool', [
      'check',
      'rules',
      'examples/prometheus/waybill-alerts.yaml',
    ]).toString()
    expect(said).toMatch(/SUCCESS: \d+ rules found/)
  })
})

describe('the file of the last run', () => {
  test('is written whole, for others to read, and takes the place of the one before', async () => {
    const at = await temporaryFolder()
    const path = join(at, 'node-exporter/waybill.prom')
    await writeLastRun(path, lastRunOf({ ...LAST_END, exit: 3 }))
    await writeLastRun(path, LAST)
    expect(await readdir(join(at, 'node-exporter'))).toEqual(['waybill.prom'])
    expect((await stat(path)).mode & 0o777).toBe(0o644)
    expect(await readFile(path, 'utf8')).toContain('waybill_last_run_exit_code{job="nightly"} 1\n')
  })

  test('leaves nothing behind where it cannot be written', async () => {
    const at = await temporaryFolder()
    await writeFile(join(at, 'no-folder'), '')
    await expect(writeLastRun(join(at, 'no-folder/waybill.prom'), LAST)).rejects.toThrow()
    expect(await readdir(at)).toEqual(['no-folder'])
  })
})

describe('served', () => {
  const serving = {
    ...{ host: '127.0.0.1', port: 0, metrics: createMetrics('1'), version: '1' },
    hindrance: async (): Promise<string | undefined> => undefined,
  }

  test('/metrics and /health, which says when the process is about to end', async () => {
    let ending = false
    const server = await serveMetrics({ ...serving, isEnding: () => ending })
    onTestFinished(() => server.close())
    const answer = await fetch(`${server.url}/metrics`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    expect(await answer.text()).toContain('waybill_build_info{version="1"} 1')
    const health = await fetch(`${server.url}/health`)
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok', version: '1' }])
    serving.metrics.installation({ ...FACTS, needs: ['run-failed', 'paused', 'run-failed'] })
    const needing = await fetch(`${server.url}/health`)
    expect([needing.status, await needing.json()]).toEqual([
      200,
      { status: 'ok', version: '1', needs: { 'run-failed': 2, paused: 1 } },
    ])
    ending = true
    expect((await fetch(`${server.url}/health`)).status).toBe(503)
    expect((await fetch(`${server.url}/`)).status).toBe(404)
  })

  test('/ready, which says what keeps the schedule from its work', async () => {
    let hindrance: string | undefined = 'ledger-unusable'
    const server = await serveMetrics({ ...serving, isEnding: () => false, hindrance: async () => hindrance })
    onTestFinished(() => server.close())
    const waiting = await fetch(`${server.url}/ready`)
    expect([waiting.status, await waiting.json()]).toEqual([
      503,
      { status: 'not-ready', reason: 'ledger-unusable', version: '1' },
    ])
    hindrance = undefined
    const ready = await fetch(`${server.url}/ready`)
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', version: '1' }])
  })

  test('an address that is taken is refused', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(serveMetrics({ ...serving, port, isEnding: () => false })).rejects.toMatchObject({
      code: 'settings-invalid',
      message: expect.stringContaining('EADDRINUSE'),
    })
  })
})
