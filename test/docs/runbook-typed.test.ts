/** docs/runbook.md, typed: by symptom, each command as it stands, and what the page says of it. */
import { copyFile, mkdir, readFile, rename, rm, statfs, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { LOOK_EVERY_MS } from '../../src/run/lease.ts'
import { ANN, BEN, CLINIC, HEADER, openClinic } from '../cli/clinic.ts'
import { type Ended, summaryOf, type Workplace } from '../cli/command-line.ts'
import { DAYS, inDoubt, isBatch, nameOf, openHistory, rowOf } from '../cli/history.ts'
import { openFaultyClinic, showOf, writeMapping } from '../cli/left-behind.ts'
import { delivery, openNights } from '../cli/nights.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { MOUNTS, mountDisk, NEEDS_MOUNTS } from '../faults/mounted-disk.ts'
import { page, sections, tableRows } from './pages.ts'
import { namedIn, typedIn } from './typed-commands.ts'

/** Heading → text below it, up to the next heading; kind of a notification → its row. */
const text = page('docs/runbook.md')
const kinds = tableRows(sections(text, 2).get('Notifications') ?? '').map((row): [string, string] => [
  (row[0] ?? '').replaceAll('`', ''),
  row.join(' '),
])
const chapters = new Map([
  ...text.split(/^##+ /m).map((part): [string, string] => [part.slice(0, part.indexOf('\n')), part]),
  ...kinds,
])

/** Spoken of, without what it is to be given. */
const SPOKEN_OF = ['waybill resolve', 'waybill rerun']
/** Where no disk can be mounted it cannot be full. */
const LEFT_OUT = MOUNTS ? [] : ['A full disk']

const typed = new Map<string, Set<string>>()

type Chapter = (command: string, exit: number, words?: Readonly<Record<string, string>>) => Promise<string>

/** Types commands of a chapter in a place, with words in the place of those in capitals. @returns what they say */
const at =
  ({ waybill }: Pick<Workplace, 'waybill'>) =>
  (heading: string): Chapter =>
  async (command, exit, words = {}) => {
    const text = chapters.get(heading) ?? ''
    expect([...typedIn(text), ...namedIn(text)], heading).toContain(command)
    typed.set(heading, (typed.get(heading) ?? new Set()).add(command))
    const given: Readonly<Record<string, string>> = { JOB: 'clinic', MAPPING: 'clinic', ...words }
    const args = command.split(' ').map((word) => given[word] ?? word)
    expect(args.filter((word) => /^[A-Z]+$/.test(word))).toEqual([])
    const ended = await waybill(...args.slice(1))
    expect([command, ended.code], ended.out + ended.err).toEqual([command, exit])
    return ended.out + ended.err
  }

const runOf = (ended: Ended): string => summaryOf(ended).run
const wrongUnit = (id: string): string => `${id},2026-03-02,61,5.1,70.5,livre,fine\n`

test('rows and records were rejected', async () => {
  const clinic = await openNights()
  const { workplace, store } = clinic
  const chapter = at(workplace)
  const folder = (...path: string[]): string => join(workplace.folder, ...path)
  const EXPORT = await clinic.deliver(
    'day.csv',
    `${HEADER}${ANN}${BEN}${wrongUnit('cid')}${ANN.replace('ann,2026-03-02', 'dan,2026-03-32')}`,
  )
  const ended = await clinic.run()
  expect(ended.code).toBe(1)
  const RUN = runOf(ended)

  const first = chapter('The first minute')
  expect(await first('waybill needs', 0)).toContain(RUN)
  expect(await first('waybill runs --failed', 0)).toContain(RUN)
  expect(await first('waybill show RUN', 0, { RUN })).toMatch(/^Next\n(?: {2}.*\n)* {4}waybill \S.*\n$/m)
  await first('waybill doctor', 0)
  const [report = ''] = (await first('waybill report RUN', 0, { RUN })).match(/\S+\.html/) ?? []
  expect(await readFile(folder(report), 'utf8')).not.toMatch(/\bann\b|70\.5/)
  expect(await chapter('run-ended')('waybill show RUN', 0, { RUN })).toContain('exit code 1')
  const reasons = await chapter('Exit code 1')('waybill show RUN', 0, { RUN })
  expect(reasons).toMatch(/rejected {3}\S+ {3}.*\n.*rejected/)

  const rejected = chapter('Rows or records were rejected')
  await writeMapping(
    clinic,
    CLINIC.replace('from: "unit"', 'from: "unit", table: { kg: kg, livre: "[lb_av]" }'),
  )
  expect(await rejected('waybill mapping check MAPPING --export EXPORT', 0, { EXPORT })).toContain(
    'date-invalid',
  )
  await writeFile(folder('mappings/clinic.cases.yaml'), 'cases:\n  - { name: ann, row: { id: ann } }\n')
  await workplace.waybill('mapping', 'test', 'clinic', '--update')
  await rejected('waybill mapping test MAPPING', 0)
  await rejected('waybill rerun RUN --only rejected', 1, { RUN })
  // What is rejected again is listed with the newer run alone.
  expect(await first('waybill runs --failed', 0)).not.toMatch(new RegExp(`^ ${RUN}`, 'm'))
  const REJECTS = (await showOf(clinic, 'latest')).exports[0]?.rejects ?? ''
  await writeFile(REJECTS, (await readFile(REJECTS, 'utf8')).replaceAll('2026-03-32', '2026-03-02'))
  await rejected('waybill run JOB --file REJECTS', 0, { REJECTS })
  expect(await rejected('waybill show RUN', 0, { RUN })).toContain('settled')
  const TRANSACTION = (await store.records('biometric'))[0]?.transactionId ?? ''
  expect(await rejected('waybill trace TRANSACTION', 0, { TRANSACTION })).toContain('HTTP 201')

  const red = async (name: string): Promise<string> =>
    runOf(await clinic.run('--file', await clinic.deliver(`${name}.csv`, HEADER + wrongUnit(name))))
  await writeMapping(clinic, CLINIC)
  const over = chapter('When it is over')
  await rejected('waybill acknowledge RUN --note WHY', 0, { RUN: await red('eve'), WHY: 'nobody knows' })
  await red('fay')
  await rejected('waybill acknowledge --reason CODE', 0, { CODE: 'unit-unknown' })
  const last = await red('gus')
  await over('waybill acknowledge RUN', 0, { RUN: last })
  expect(await over('waybill show RUN', 0, { RUN: last })).toMatch(/^Balanced: .*^Nothing is left to do/ms)
  expect(await over('waybill runs --failed', 0)).toBe('No run failed or left anything behind.\n')
  expect(await over('waybill reconcile RUN --verify --sample 5%', 0, { RUN })).toContain('profile')
  await chapter('Exit code 2')('waybill runs --limit 100', 0)

  const FILE = folder('2026-03-02.sqlite')
  const keeping = chapter('Housekeeping')
  expect(await keeping('waybill backup FILE', 0, { FILE })).toContain('2026-03-02.sqlite')
  expect(await keeping('waybill prune --older-than 180d --dry-run', 0)).not.toContain(RUN)
  const later = new Date(Date.now() + 200 * 86_400_000).toISOString()
  const inAYear = at({ waybill: (...args) => workplace.waybillAt(later, ...args) })
  await inAYear('Housekeeping')('waybill prune --older-than 180d', 0)
  const pruned = chapter('A run that was pruned')
  expect(await pruned('waybill show RUN', 0, { RUN })).toMatch(/pruned/)
  const elsewhere = folder('elsewhere')
  await mkdir(elsewhere, { mode: 0o700 })
  await copyFile(FILE, join(elsewhere, 'ledger.sqlite'))
  const { home, environment } = workplace
  environment['WAYBILL_HOME'] = elsewhere
  await pruned('waybill trace TRANSACTION', 0, { TRANSACTION })
  environment['WAYBILL_HOME'] = home

  // The ledger is damaged, and a backup is at hand; then there is none.
  for (const end of ['', '-wal', '-shm']) await rm(join(home, `ledger.sqlite${end}`), { force: true })
  const restoring = chapter('Restoring a backup')
  await restoring('waybill restore FILE', 0, { FILE })
  expect(await restoring('waybill doctor', 0)).toMatch(/intact[\s\S]*copy/)
  await restoring('waybill run JOB', 1)
  await restoring('waybill show', 0)
  for (const end of ['', '-wal', '-shm']) await rm(join(home, `ledger.sqlite${end}`), { force: true })
  const looked = await chapter('A ledger that is lost')('waybill run JOB --look-first', 1)
  expect(looked).toContain('the ledger is new')
  expect(looked).toMatch(/[1-9]\d* reads of profiles/)
  environment['WAYBILL_KEY'] = 'the key that came after it'
  expect(await chapter('Another key')('waybill run JOB --new-key', 1)).toMatch(/[1-9]\d* reads of profiles/)
  await chapter('A ledger that is lost')('waybill run JOB --new-ledger', 1)
  expect(new Set(await clinic.stored()).size).toBe((await clinic.stored()).length)
})

test('records are in doubt; a backfill is not finished; a job is held', async () => {
  const scene = await openHistory()
  const chapter = at(scene.workplace)
  const doubts = chapter('Records are in doubt')
  const stored = (): Promise<number> => scene.store.records('biometric').then((all) => all.length)
  const [one = '', two = '', three = '', four = '', five = '', six = ''] = DAYS
  let RUN = await inDoubt(scene, one, 'pass-then-reset')
  expect((await scene.workplace.waybill('doctor')).out).toMatch(
    /^warning {2}needs {5}clinic: 3 records in doubt/m,
  )
  await doubts('waybill reconcile RUN', 0, { RUN })
  expect(await stored()).toBe(3)
  RUN = await inDoubt(scene, two, 'reset')
  await doubts('waybill rerun RUN --only in-doubt', 0, { RUN })
  expect(await stored()).toBe(6)
  RUN = await inDoubt(scene, three, 'pass-then-reset')
  await doubts('waybill resolve RUN --accept', 0, { RUN })
  RUN = await inDoubt(scene, four, 'reset')
  await doubts('waybill resolve RUN --resend', 0, { RUN })
  expect(await stored()).toBe(12)
  expect((await scene.workplace.waybill('runs', '--failed')).out).toContain('No run failed')

  const unfinished = chapter('An unfinished backfill')
  const backfill = 'waybill backfill JOB --from 2026-01-01 --to 2026-03-31'
  await scene.deliver(nameOf(five), HEADER + rowOf(five))
  scene.strike(() => ({ do: 'answer', status: 403 }))
  await unfinished(backfill, 3)
  expect(await unfinished('waybill needs', 0)).toContain(
    'waybill backfill clinic --from 2026-01-01 --to 2026-03-31',
  )
  scene.strike(() => PASS)
  await unfinished(backfill, 0)
  expect(await stored()).toBe(15)

  // What was begun is gone, and nobody has it.
  await scene.deliver(nameOf(six), HEADER + rowOf(six))
  scene.strike(() => ({ do: 'answer', status: 403 }))
  const stopped = await scene.run()
  expect(stopped.code).toBe(3)
  scene.strike(() => PASS)
  await scene.deliver(nameOf(six), HEADER + rowOf(`${six}`) + rowOf(DAYS[6] ?? ''))
  const gone = chapter('Exit code 2')
  expect(await gone('waybill run JOB', 2)).toContain('export-changed')
  await gone('waybill resolve RUN --give-up', 0, { RUN: runOf(stopped) })
  await gone('waybill run JOB', 0)

  let release = (): void => {}
  let isHeld = false
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  scene.strike(async (request) => {
    if (isBatch(request)) {
      isHeld = true
      await hold
    }
    return PASS
  })
  for (const day of DAYS.slice(7)) await scene.deliver(nameOf(day), HEADER + rowOf(day))
  const running = scene.start(['run', 'clinic', '--json'])
  await vi.waitFor(() => expect(isHeld).toBe(true), { timeout: 60_000 })
  const held = chapter('Exit code 5')
  const refused = await held('waybill run JOB', 5)
  RUN = /\d{8}T\d{6}Z-[0-9a-f]{6}/.exec(refused)?.[0] ?? ''
  expect(refused).toContain('job-held')
  expect(await held('waybill runs', 0)).toContain('under way')
  expect(await chapter('job-held')('waybill show RUN', 0, { RUN })).toContain('under way')
  expect(await held('waybill doctor', 0)).toContain(RUN)
  const stopping = held('waybill stop RUN', 0, { RUN })
  await vi.waitFor(
    () => expect(scene.query('select stop_by from run where stop_by is not null')).toHaveLength(1),
    {
      timeout: 60_000,
    },
  )
  // The run looks once a second, by the clock of the machine.
  const asked = Date.now()
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(asked + 2 * LOOK_EVERY_MS), { timeout: 60_000 })
  release()
  expect((await running).code).toBe(130)
  expect(await stopping).toContain('interrupted (asked-to-stop)')
  await chapter('Exit code 130')('waybill run JOB', 0)
  expect(await stored()).toBe(27)
})

test('the gateway, the settings, the job, the schedule', async () => {
  const clinic = await openFaultyClinic({ patience: '1s', submit: 'concurrency: 1' })
  const { workplace, store } = clinic
  const chapter = at(workplace)
  const refused = chapter('run-refused')
  const none = await workplace.waybill('run', 'clinic')
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('exports-none')])
  expect(await chapter('Exit code 2')('waybill doctor --sources', 0)).toContain('*.csv: 0 exports there')
  await refused('waybill doctor', 0)
  await clinic.deliver('day.csv', HEADER + ANN)
  await refused('waybill run JOB', 0)

  await clinic.deliver('day2.csv', HEADER + BEN)
  clinic.strike(() => ({ do: 'answer', status: 503 }))
  expect((await clinic.run()).code).toBe(3)
  const down = chapter('Exit code 3')
  expect(await down('waybill show RUN', 0, { RUN: (await showOf(clinic, 'latest')).run })).toContain(
    'was answered 503',
  )
  expect(await down('waybill doctor', 3)).toMatch(/^problem {2}gateway .* fails \(HTTP 503\)/m)
  clinic.strike(() => PASS)
  await down('waybill gateway --check URL', 0, { URL: store.url })
  await chapter('run-stopped')('waybill run JOB', 0)

  const starting = chapter('The schedule does not start')
  workplace.environment['WAYBILL_LOG_LEVEL'] = 'loud'
  expect(await starting('waybill schedule', 2)).toContain('WAYBILL_LOG_LEVEL')
  expect(await starting('waybill doctor', 2)).toContain('WAYBILL_LOG_LEVEL')
  delete workplace.environment['WAYBILL_LOG_LEVEL']

  const jobs = join(workplace.folder, 'jobs')
  const right = await readFile(join(jobs, 'clinic.yaml'), 'utf8')
  const scheduled = `${right}schedule: { cron: "15 2 * * *", zone: Etc/UTC }\n`
  await writeFile(join(jobs, 'clinic.yaml'), scheduled.replace('15 2', '15 25'))
  const broken = chapter('job-broken')
  expect(await broken('waybill doctor', 2)).toContain('schedule.cron')
  expect(await broken('waybill schedule --explain', 2)).toContain('job-invalid')
  await writeFile(join(jobs, 'clinic.yaml'), scheduled)
  await rename(jobs, `${jobs}-gone`)
  const away = chapter('jobs-gone')
  expect(await away('waybill schedule --explain', 2)).toContain('WAYBILL_JOBS')
  await rename(`${jobs}-gone`, jobs)
  await away('waybill run JOB', 0)
  const missed = chapter('fire-missed')
  expect(await missed('waybill schedule --explain', 0)).toContain('missed')
  await missed('waybill run JOB', 0)
  await writeFile(join(jobs, 'clinic.yaml'), scheduled.replace('Etc/UTC', 'Etc/UTC, done: "06:00"'))
  const late = chapter('job-late')
  expect(await late('waybill schedule --explain', 0)).toContain('done by 06:00')
  await late('waybill show RUN', 0, { RUN: (await showOf(clinic, 'latest')).run })
  await chapter('job-recovered')('waybill needs --job JOB', 0)
  await chapter('digest')('waybill needs', 0)
})

test('exports are late, small, drifted, empty-handed; a threshold is passed', async () => {
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000
  const clinic = await openClinic({
    startsAt: midnight + 12 * 3_600_000,
    job: `exports:
  - { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done, expect: { by: "0 0 * * *", zone: Etc/UTC, size: 50% } }
accounts: { register: never }
stopWhen: { rejectedRows: 50%, after: 5 }
drift: { columns: stop, fit: off }
notify: { command: "true" }
`,
    mapping: CLINIC.replace('row:\n', 'row:\n  skipWhen: { remark: no-show }\n'),
  })
  const chapter = at(clinic.workplace)
  const deliver = async (name: string, hours: number, content: string): Promise<string> => {
    const path = await clinic.deliver(name, content)
    await utimes(path, midnight / 1000 - 3600 * hours, midnight / 1000 - 3600 * hours)
    return path
  }
  for (const [place, hours] of [75, 51, 27].entries())
    await deliver(`old${place}.csv`, hours, delivery(`old${place}`, 30))
  expect((await clinic.run()).code).toBe(0)

  const late = chapter('export-late')
  expect(await late('waybill expect JOB', 1)).toContain('Arrived  none')
  expect(await late('waybill doctor --sources', 0)).toContain('clinic')
  await deliver('late.csv', -1, delivery('late', 30))
  await late('waybill run JOB', 0)

  const small = chapter('export-small')
  await deliver('small.csv', -1, delivery('small', 3))
  expect(await small('waybill run JOB --dry-run', 0)).toMatch(/small\.csv: 3 rows[\s\S]*rows +3, usually 30/)
  expect((await clinic.run()).code).toBe(0)
  expect(await small('waybill show', 0)).toContain('small.csv')

  const drifted = await deliver('drifted.csv', -1, delivery('drifted', 30).replace('remark', 'comment'))
  const lost = await clinic.run()
  expect([lost.code, summaryOf(lost).exports[0]?.error]).toEqual([2, 'columns-missing'])
  const missing = chapter('Exit code 2')
  expect(await missing('waybill mapping check MAPPING --export EXPORT', 2, { EXPORT: drifted })).toContain(
    'remark',
  )
  await deliver(
    'drifted.csv',
    -1,
    delivery('drifted', 30).replace('remark', 'remark,more').replaceAll('fine', 'fine,x'),
  )
  const stopped = await clinic.run()
  expect([stopped.code, summaryOf(stopped).exports[0]?.error]).toEqual([2, 'export-drifted'])
  const differs = chapter('export-drifted')
  expect(await differs('waybill show RUN', 0, { RUN: runOf(stopped) })).toContain('new: "more"')
  expect(await differs('waybill mapping check MAPPING --export EXPORT', 1, { EXPORT: drifted })).toContain(
    'Columns not read: more',
  )
  const unread = chapter('An export could not be read')
  await unread('waybill run JOB --accept-drift', 0)

  const empty = chapter('export-empty-handed')
  const EXPORT = await deliver('empty.csv', -1, delivery('empty', 30, '61,5.1,70.5,kg,no-show'))
  const RUN = runOf(await clinic.run())
  expect(await empty('waybill show RUN', 0, { RUN })).toMatch(/Left out skipWhen 30/)
  await writeMapping(clinic, CLINIC)
  await rename(join(clinic.workplace.folder, 'done/empty.csv'), EXPORT)
  expect(await empty('waybill mapping check MAPPING --export EXPORT', 1, { EXPORT })).toContain('skipped 0')
  expect(await empty('waybill run JOB', 0)).toMatch(/biometrics +90 +90/)

  const dates = delivery('dates', 10).replaceAll('2026-03-02', '02.03.2026')
  const NEW = 'clinic'
  const passed = chapter('Exit code 4')
  const file = await deliver('dates.csv', -1, dates)
  const ended = await clinic.run()
  expect(ended.code).toBe(4)
  expect(await passed('waybill show RUN', 0, { RUN: runOf(ended) })).toMatch(/held-back|date-invalid/)
  expect(await passed('waybill run JOB --dry-run', 1)).toContain('date-invalid')
  const OLD = join(clinic.workplace.folder, 'old.yaml')
  await writeFile(OLD, CLINIC)
  await writeMapping(clinic, CLINIC.replace('format: yyyy-MM-dd', 'format: [yyyy-MM-dd, dd.MM.yyyy]'))
  expect(await passed('waybill mapping diff OLD NEW EXPORT', 1, { OLD, NEW, EXPORT: file })).toContain('10')
  await passed('waybill run JOB', 0)
  await chapter('test')('waybill notify JOB', 0)
})

test('the disk is full', NEEDS_MOUNTS, async () => {
  const disk = mountDisk('24m')?.folder ?? ''
  const clinic = await openClinic({
    environment: { WAYBILL_HOME: join(disk, 'home'), WAYBILL_MIN_FREE: '1MiB' },
  })
  await clinic.deliver('a.csv', HEADER + ANN)
  await clinic.run()
  const { bavail, bsize } = await statfs(disk)
  await writeFile(join(disk, 'others'), Buffer.alloc(bavail * bsize))
  await clinic.deliver('b.csv', HEADER + BEN)
  const chapter = at(clinic.workplace)('A full disk')
  expect(await chapter('waybill run JOB', 2)).toContain('disk-full')
  expect(await chapter('waybill runs', 0)).toContain('finished')
  expect(await chapter('waybill doctor', 2)).toMatch(/0 bytes free[\s\S]*intact/)
  await chapter('waybill prune --older-than 180d --dry-run', 0)
  await chapter('waybill prune --older-than 180d', 0)
  await chapter('waybill run JOB', 0)
  expect(await clinic.stored()).toHaveLength(6)
})

test('there is no command in the page that was not typed', () => {
  const all = new Set([...typed.values()].flatMap((commands) => [...commands]))
  for (const [heading, text] of chapters) {
    if (LEFT_OUT.includes(heading)) continue
    // What stands in a block is typed for its own symptom.
    for (const command of typedIn(text)) expect([heading, ...(typed.get(heading) ?? [])]).toContain(command)
    for (const command of namedIn(text)) expect([heading, ...all, ...SPOKEN_OF]).toContain(command)
  }
})
