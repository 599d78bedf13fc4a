/** The log, progress and metrics of commands: what stands on standard error, in the log file, and in the metrics. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runCommandLine } from '../../src/main.ts'
import { answer, PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { ANN, BEN, type Clinic, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

type Line = Record<string, unknown>
const parse = (text: string): Line[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))

/** Two good rows, and one with a pulse that is no number. */
const ROWS = `${HEADER}${ANN}cid,2026-03-02,fast,5.3,72.5,kg,\n${BEN}`

async function logged(
  environment: Record<string, string>,
): Promise<{ clinic: Clinic; log: () => Promise<Line[]> }> {
  const clinic = await openClinic({ environment: { WAYBILL_LOG_FILE: 'logs/w.log', ...environment } })
  await clinic.deliver('a.csv', ROWS)
  return {
    clinic,
    log: async () => parse(await readFile(join(clinic.workplace.folder, 'logs/w.log'), 'utf8')),
  }
}

describe('a run', () => {
  test('a few lines in the file, and none of them beside the progress', async () => {
    const { clinic, log } = await logged({})
    const ended = await clinic.workplace.waybill('run', 'clinic')
    expect(ended.code).toBe(1)
    expect(ended.err).toMatch(
      /^Records go to http:\/\/127\.0\.0\.1:\d+\.\n\S+ warn {2}the ledger is new: [^\n]*\na\.csv: 3 rows, 9 records in \d+\.\d s, [\d,]+ rows\/s\n$/,
    )
    const counts = { rows: 3, records: 9, accepted: 8, rejected: 1, unchanged: 0, inDoubt: 0 }
    expect(await log()).toMatchObject([
      { level: 'info', message: 'run started', job: 'clinic', resumed: false },
      { level: 'warn', message: expect.stringContaining('the ledger is new') },
      { message: 'export started', export: 'a.csv', bytes: Buffer.byteLength(ROWS) },
      { message: 'export ended', export: 'a.csv', ...counts },
      { message: 'run ended', state: 'finished', ...counts },
    ])
    const [first, ...others] = await log()
    expect(new Set(others.map(({ run }) => run))).toEqual(new Set([first?.['run']]))
  })

  test('quiet: nothing on standard error but what needs a person, all in the file', async () => {
    const { clinic, log } = await logged({})
    const { err, out } = await clinic.workplace.waybill('run', 'clinic', '--quiet')
    const said =
      /^\S+ warn {2}the ledger is new: [^\n]*\nRun \S+ of clinic finished with 1 rejected record: waybill show \S+\n$/
    expect([err, out]).toEqual([expect.stringMatching(said), ''])
    expect(await log()).toHaveLength(5)
  })

  test('what ended it is in the file, and on standard error once', async () => {
    const { clinic, log } = await logged({})
    const { code, err } = await clinic.workplace.waybill('run', 'other')
    expect(code).toBe(2)
    const [line] = (await log()).slice(-1)
    expect(line).toMatchObject({
      level: 'error',
      code: 'job-not-found',
      message: expect.stringContaining('"other"'),
    })
    expect(err.match(/there is no job/g)).toHaveLength(1)
  })

  test('JSON without a file: standard error holds nothing else', async () => {
    const { clinic } = await logged({ WAYBILL_LOG_FORMAT: 'json', WAYBILL_LOG_FILE: '' })
    const { err } = await clinic.workplace.waybill('run', 'clinic')
    expect(parse(err).map(({ message }) => message)).toEqual([
      'run started',
      expect.stringContaining('the ledger is new'),
      'export started',
      'export ended',
      'run ended',
    ])
  })

  test('at debug: a line for each batch, and for each record that was left behind', async () => {
    const store = await startReferenceStore({ open: true })
    const proxy = await startFaultProxy(store.url, ({ body }) => {
      return String(body).includes('71.5') ? answer(422, {}, '{"message":"no"}') : PASS
    })
    const { clinic, log } = await logged({
      ...store.environment,
      WAYBILL_GATEWAY_URL: proxy.url,
      WAYBILL_LOG_LEVEL: 'debug',
    })
    const { run, records } = summaryOf(await clinic.run())
    expect(records.biometric).toMatchObject({ made: 9, accepted: 7, rejected: 2 })
    const lines = await log()
    const batches = lines.filter(({ message }) => message === 'batch answered')
    // The refused batch of eight is cut in half until the bad record stands alone.
    expect(batches.map((batch) => `${batch['records']} ${batch['class']} ${batch['status']}`).sort()).toEqual(
      [
        '1 accepted 201',
        '1 refused 422',
        '2 accepted 201',
        '2 refused 422',
        '4 accepted 201',
        '4 refused 422',
        '8 refused 422',
      ],
    )
    for (const batch of batches) {
      expect(batch).toMatchObject({ operation: 'create biometric records', level: 'debug', attempt: 1, run })
      expect([typeof batch['durationMs'], typeof batch['requestId'], typeof batch['bytes']]).toEqual([
        'number',
        'string',
        'number',
      ])
    }
    // Every record that was stored was in a batch that the gateway took.
    const taken = batches.filter((batch) => batch['class'] === 'accepted')
    expect(taken.reduce((sum, batch) => sum + Number(batch['records']), 0)).toBe(7)
    expect(new Set(batches.map((batch) => batch['requestId'])).size).toBe(batches.length)
    const left = lines.filter(({ message }) => message === 'record rejected')
    expect(left).toMatchObject([
      { rule: 'heart-rate', stage: 'transform', code: 'value-not-a-number', row: 2, line: 3 },
      { rule: 'body-weight', stage: 'submit', code: 'refused', row: 3, line: 4 },
    ])
    expect(left[0]).not.toHaveProperty('transaction')
    const { out } = await clinic.workplace.waybill('trace', String(left[1]?.['transaction']))
    expect(out).toContain(run)
  })

  test('a log file that cannot be written is told once, and fails nothing', async () => {
    const { clinic } = await logged({ WAYBILL_LOG_FILE: 'inbox/a.csv/w.log' })
    const { code, err } = await clinic.workplace.waybill('run', 'clinic', '--quiet')
    expect(code).toBe(1)
    expect(err.match(/the log file cannot be written/g)).toHaveLength(1)
  })
})

const LAST_RUN = 'metrics/waybill-clinic.prom'
const METRICS = { WAYBILL_METRICS_FILE: 'metrics/waybill-{job}.prom' }

describe('the metrics that a run leaves', () => {
  const open = async (environment: Record<string, string> = {}) => {
    const clinic = await openClinic({ environment: { ...METRICS, ...environment } })
    const text = () => readFile(join(clinic.workplace.folder, LAST_RUN), 'utf8')
    const value = async (name: string): Promise<number> =>
      Number(new RegExp(`^waybill_${name} (.*)$`, 'm').exec(await text())?.[1])
    return { clinic, text, value }
  }

  test('are those of its summary; what was clean before stays known', async () => {
    const { clinic, text, value } = await open()
    await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
    await clinic.run()
    const clean = await value('last_clean_run_timestamp_seconds{job="clinic"}')
    expect(await value('last_run_timestamp_seconds{job="clinic"}')).toBe(clean)
    expect(Math.abs(clean - Date.now() / 1000)).toBeLessThan(600)
    await clinic.deliver('b.csv', ROWS)
    const { requests, durationMs } = summaryOf(await clinic.run())
    expect(await value('last_run_exit_code{job="clinic"}')).toBe(1)
    expect(await value('last_run_duration_seconds{job="clinic"}')).toBe(durationMs / 1000)
    expect(await value('last_run_requests{job="clinic",request="sent"}')).toBe(requests.sent)
    const known = await value('last_clean_run_timestamp_seconds{job="clinic"}')
    expect(Math.abs(known - clean)).toBeLessThan(1)
    for (const line of [
      'waybill_last_run_exports{job="clinic",state="finished"} 2',
      'waybill_last_run_rows{job="clinic",outcome="mapped"} 5',
      'waybill_last_run_records{job="clinic",kind="biometric",outcome="accepted"} 2',
      'waybill_last_run_records{job="clinic",kind="biometric",outcome="unchanged"} 12',
      'waybill_last_run_records{job="clinic",kind="biometric",outcome="rejected"} 1',
      'waybill_last_run_rejects{job="clinic",stage="transform",code="value-not-a-number"} 1',
      'waybill_records_in_doubt{job="clinic"} 0',
    ])
      expect(await text()).toContain(`${line}\n`)
  })

  test('tell of a run that was refused', async () => {
    const { clinic, value } = await open()
    expect((await clinic.run()).code).toBe(2)
    expect(await value('last_run_exit_code{job="clinic"}')).toBe(2)
    expect(await value('last_run_rows{job="clinic",outcome="mapped"}')).toBe(0)
    expect(await value('last_clean_run_timestamp_seconds{job="clinic"}')).toBe(0)
  })

  test('where they cannot be written: a warning, and the run is what it is', async () => {
    const { clinic } = await open({ WAYBILL_METRICS_FILE: 'taken/{job}' })
    await mkdir(join(clinic.workplace.folder, 'taken/clinic/full'), { recursive: true })
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    const { code, err } = await clinic.workplace.waybill('run', 'clinic', '--quiet')
    expect(code).toBe(0)
    expect(err).toMatch(/ warn {2}the metrics of the run cannot be published: \S+ is no file/)
  })
})

test('a schedule serves what it does, and knows the last run of the process before', async () => {
  const job = `schedule: { cron: "* * * * *", zone: Etc/UTC, missed: skip }
exports: { from: ../inbox, match: "*.csv", mapping: clinic }
accounts: { register: never }
`
  const clinic = await openClinic({ job })
  const { folder, environment, waybill } = clinic.workplace
  await clinic.deliver('a.csv', ROWS)
  await waybill('run', 'clinic')
  await writeFile(join(folder, 'jobs/broken.yaml'), 'job: broken\n')
  await clinic.deliver('b.csv', `${HEADER}dan,2026-03-02,64,5.4,73.5,kg,\n`)
  const interrupt = new AbortController()
  const scrapes: string[] = []
  let said = ''
  let ready = 0
  const scrape = async (): Promise<void> => {
    const url = /served at (\S+)/.exec(said)?.[1] ?? ''
    scrapes.push(await (await fetch(url)).text())
    ready = (await fetch(url.replace('/metrics', '/ready'))).status
    interrupt.abort()
  }
  // What was delivered has settled for a day; the first minute is due at once.
  let clock = Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000 - 10
  let first: Promise<void> | undefined
  const before = process.cwd()
  process.chdir(folder)
  try {
    const code = await runCommandLine(
      ['schedule', '--metrics', '0'],
      {
        environment,
        folder,
        out: () => {},
        err: (text) => {
          said += text
          if (/the fire of .* has ended/.test(text)) void scrape()
        },
        terminal: false,
        interrupt: interrupt.signal,
      },
      (context) => ({
        ...context,
        now: () => clock,
        async sleep(ms, signal) {
          if (first === undefined) {
            const url = /served at (\S+)/.exec(said)?.[1] ?? ''
            first = fetch(url).then(async (told) => void scrapes.push(await told.text()))
            await first
            clock += ms
          } else await context.sleep(60_000, signal)
        },
      }),
    )
    expect(code).toBe(0)
  } finally {
    process.chdir(before)
  }
  const [atStart = '', atEnd = ''] = scrapes
  expect(atStart).toContain('waybill_last_run_exit_code{job="clinic"} 1\n')
  expect(atStart).toContain('waybill_job_valid{job="broken"} 0\n')
  expect(atStart).toMatch(/^waybill_home_free_bytes \d{6,}$/m)
  expect(atStart).toMatch(/^waybill_ledger_size_bytes \d{4,}$/m)
  expect(atStart).toContain('waybill_last_backup_timestamp_seconds 0\n')
  expect(atStart).toMatch(/^waybill_next_fire_timestamp_seconds\{job="clinic"\} \d+$/m)
  expect(ready).toBe(200)
  for (const line of [
    'waybill_job_valid{job="clinic"} 1',
    'waybill_fires_total{job="clinic",state="ended"} 1',
    'waybill_runs_total{job="clinic",state="finished"} 1',
    'waybill_job_exits_total{job="clinic",exit="1"} 1',
    'waybill_exports_total{job="clinic",state="finished"} 2',
    'waybill_rows_total{job="clinic",outcome="mapped"} 4',
    'waybill_records_total{job="clinic",kind="biometric",outcome="accepted"} 3',
    'waybill_records_total{job="clinic",kind="biometric",outcome="unchanged"} 8',
    'waybill_rejects_total{job="clinic",stage="transform",code="value-not-a-number"} 1',
    'waybill_gateway_answers_total{operation="create-biometrics-bulk",class="accepted"} 1',
    'waybill_last_run_records{job="clinic",kind="biometric",outcome="accepted"} 3',
  ])
    expect(atEnd).toContain(`${line}\n`)
})
