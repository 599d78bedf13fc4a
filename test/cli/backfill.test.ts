import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, test, vi } from 'vitest'
import { z } from 'zod'
import type { CommandContext } from '../../src/cli/command-form.ts'
import { LOOK_EVERY_MS } from '../../src/run/lease.ts'
import { type Fault, type FaultProxy, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, HEADER, meetGateway, openClinic } from './clinic.ts'
import { type Ended, ended, summaryOf } from './command-line.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from './reference-store.ts'

const JOB = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
submit: { readLag: 100ms }
`
const BATCH = 'POST /health-profile/biometrics/bulk'
const RANGE = ['--from', '2026-01-01', '--to', '2026-03-31'] as const

/** The days of the first quarter of 2026, of which there are 90. */
const DAYS = Array.from({ length: 90 }, (_, at) =>
  new Date(Date.UTC(2026, 0, 1) + at * 86_400_000).toISOString().slice(0, 10),
)
const FORTNIGHT = DAYS.slice(0, 14)
const nameOf = (day: string): string => `clinic_${day.replaceAll('-', '')}.csv`
/** Two people, seen on that day. */
const rowsOf = (day: string): string =>
  ['ann', 'ben'].map((id, at) => `${id},${day},${60 + at},5.1,70.5,kg,fine\n`).join('')
const recordsOf = (days: readonly string[]): string[] =>
  days.flatMap((day) =>
    ['ann', 'ben'].flatMap((id, at) => [
      `${id} ${day} 29463-7 70.5`,
      `${id} ${day} 4548-4 5.1`,
      `${id} ${day} 8867-4 ${60 + at}`,
    ]),
  )

const stored = async (store: ReferenceStore): Promise<string[]> =>
  (await store.records('biometric'))
    .map((one) => `${one._account} ${dayOf(one['observationDate'])} ${one['code']} ${one['value']}`)
    .sort()

/** Midnight in New York is five or four o'clock in UTC. */
const dayOf = (observed: unknown): string => new Date(String(observed)).toISOString().slice(0, 10)

interface Scene {
  readonly clinic: Clinic
  readonly store: ReferenceStore
  readonly proxy: FaultProxy
  readonly command: readonly string[]
  /** The process that was started last. */
  running?: ChildProcess
  /** The run of the same job that came while that was on. */
  nightly?: Promise<Ended>
  start(...args: string[]): ChildProcess
  backfill(...args: string[]): Promise<Ended>
  runs(): Promise<readonly Listed[]>
}

type Strike = (scene: Scene) => Fault | Promise<Fault>

/** The process is killed as a batch is on its way, which is stored and never answered, or what else is said. */
const killed =
  (fault: Fault = { do: 'pass-then-hang' }): Strike =>
  ({ running }) => {
    running?.kill('SIGKILL')
    return fault
  }
/** A run of the same job comes, and asks for it. */
const nightlyComes: Strike = async (scene) => {
  scene.nightly = scene.clinic.run()
  await untilAsked(scene)
  return PASS
}

interface SceneOptions {
  readonly folder?: string
  readonly job?: string
  /** What happens at the batch of that number, from 1, of all that are sent. */
  readonly at?: Readonly<Record<number, Strike>>
  /** What becomes of other requests on their way. */
  readonly faultOf?: (request: Passing) => Fault | Promise<Fault>
}

async function openScene(
  days: readonly string[],
  { folder = 'inbox', job = JOB, at = {}, faultOf = () => PASS }: SceneOptions = {},
): Promise<Scene> {
  const store = await startReferenceStore({ open: true })
  let batches = 0
  const proxy = await startFaultProxy(store.url, (request) => {
    const strike = isBatch(request) ? at[++batches] : undefined
    return strike?.(scene) ?? faultOf(request)
  })
  const clinic = await openClinic({ store, job, environment: gatewaySettings(proxy.url) })
  const place = join(clinic.workplace.folder, folder)
  await mkdir(place, { recursive: true })
  // Newest first: what counts is the date of the name.
  for (const day of days.toReversed()) await writeFile(join(place, nameOf(day)), HEADER + rowsOf(day))
  const command = ['backfill', 'clinic', ...RANGE] as const
  const scene: Scene = {
    ...{ clinic, store, proxy, command },
    start(...args) {
      scene.running = clinic.workplace.start(...command, ...args)
      return scene.running
    },
    backfill: (...args) => clinic.workplace.waybill(...command, '--json', ...args),
    runs: async () => Listing.parse(JSON.parse((await clinic.workplace.waybill('runs', '--json')).out)).runs,
  }
  return scene
}

const Listed = z.looseObject({
  run: z.string(),
  rows: z.object({ read: z.int() }),
  backfill: z.unknown().optional(),
})
type Listed = z.infer<typeof Listed>
const Listing = z.object({ runs: z.array(Listed) })

/** Resolves when somebody has asked the backfill to let the job go. */
const untilAsked = ({ clinic }: Scene): Promise<void> =>
  vi.waitFor(
    () => {
      const database = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'), { readOnly: true })
      try {
        expect(database.prepare('select owner from waiting').all()).toHaveLength(1)
      } finally {
        database.close()
      }
    },
    { timeout: 60_000, interval: 20 },
  )

const isBatch = ({ method, path }: Passing): boolean => `${method} ${path}` === BATCH

const Sent = z.array(z.object({ observationDate: z.string() }))
/** The days of the records of each batch that was sent, in the order in which they were. */
const sentDays = ({ proxy }: Scene): string[] =>
  proxy.seen.filter(isBatch).map(({ body }) => {
    const days = Sent.parse(JSON.parse(body)).map(({ observationDate }) => dayOf(observationDate))
    return [...new Set(days)].sort().join(' ')
  })

test('a backfill of 14 exports, killed twice, has each delivered once, oldest first', async () => {
  const scene = await openScene(FORTNIGHT, { at: { 5: killed(), 10: killed({ do: 'hang' }) } })
  for (let times = 0; times < 2; times++)
    expect(await ended(scene.start())).toMatchObject({ code: null, out: '' })
  expect((await scene.clinic.workplace.waybill('show')).out).toContain(
    `waybill backfill clinic ${RANGE.join(' ')}`,
  )
  const last = await scene.backfill()
  const summary = summaryOf(last)
  expect(last.code).toBe(0)
  expect(summary).toMatchObject({ state: 'finished', balanced: true, rows: { read: 28 } })
  expect(z.object({ backfill: z.unknown().optional() }).parse(JSON.parse(last.out)).backfill).toEqual({
    from: '2026-01-01',
    to: '2026-03-31',
  })
  expect(summary.exports.map(({ name }) => name)).toEqual(FORTNIGHT.map(nameOf))
  expect(await stored(scene.store)).toEqual(recordsOf(FORTNIGHT).sort())
  expect(await scene.runs()).toHaveLength(1)
  const sent = sentDays(scene)
  expect(sent).toEqual(sent.toSorted())
  // 14 batches, and the one that never arrived once more.
  expect(sent).toHaveLength(15)
  expect(last.err).toMatch(/^Backfill, exports \d+ to 14: /m)
  // Not a line for each of them.
  expect(last.err).not.toContain(nameOf('2026-01-14'))
})

const HISTORY = ['--in', 'history'] as const
const WEEK = DAYS.slice(0, 8)
const [LAST = ''] = WEEK.slice(-1)
const TODAY = '2026-04-01'

describe('a run of the same job that comes while a backfill is on', () => {
  test('goes first, and the backfill goes on by itself', async () => {
    const scene = await openScene(WEEK, { at: { 3: nightlyComes }, folder: 'history' })
    // It has, besides its own, what the backfill has not come to yet.
    await scene.clinic.deliver(nameOf(TODAY), HEADER + rowsOf(LAST) + rowsOf(TODAY))
    const backfill = await ended(scene.start(...HISTORY, '--json'))
    expect(scene.nightly).toBeDefined()
    const first = (await scene.nightly) ?? backfill
    const own = summaryOf(first)
    expect(first.err).toMatch(/waiting for the backfill of clinic .* which gives way/)
    expect(own).toMatchObject({ state: 'finished', balanced: true, rows: { read: 4 } })
    expect(own.records.biometric).toMatchObject({ accepted: 12, unchanged: 0 })
    const filled = summaryOf(backfill)
    expect(backfill.code).toBe(0)
    expect(filled).toMatchObject({ state: 'finished', balanced: true, rows: { read: 16 } })
    expect(filled.records.biometric).toMatchObject({ made: 48, accepted: 42, unchanged: 6 })
    expect(backfill.err).toMatch(/waiting for another run.*clinic/)
    expect(await stored(scene.store)).toEqual(recordsOf([...WEEK, TODAY]).sort())
    // Of the two people of a batch the nightly run has seen one twice: so it sends the older day first, on its own.
    expect(sentDays(scene)).toEqual([...WEEK.slice(0, 3), LAST, TODAY, ...WEEK.slice(3, -1)])
    expect(await scene.runs()).toHaveLength(2)
  })

  test('takes over where the backfill is killed: what that had under way is settled first, and not sent again', async () => {
    const comesAsItIsKilled: Strike = async (scene) => {
      await nightlyComes(scene)
      return killed()(scene)
    }
    const scene = await openScene(WEEK, { at: { 3: comesAsItIsKilled }, folder: 'history' })
    const [, , third = ''] = WEEK
    await scene.clinic.deliver(nameOf(TODAY), HEADER + rowsOf(third) + rowsOf(TODAY))
    await ended(scene.start(...HISTORY))
    const { code, out, err } = (await scene.nightly) ?? expect.fail('no run came')
    expect({ code, err }).toMatchObject({ code: 0 })
    expect(err).toContain('open batches are settled first')
    expect(err).not.toContain('to continue')
    const own = summaryOf({ code, out, err })
    expect(own.records.biometric).toMatchObject({ made: 12, accepted: 6, unchanged: 6 })
    expect(await stored(scene.store)).toEqual(recordsOf([...WEEK.slice(0, 3), TODAY]).sort())
    const runs = await scene.runs()
    expect(runs).toMatchObject([
      { run: own.run, state: 'finished' },
      { state: 'interrupted', reason: 'gave-way', backfill: { from: '2026-01-01', to: '2026-03-31' } },
    ])
    // Another range, or another place, is not what is unfinished.
    for (const [from, folder] of [
      ['2026-01-02', 'history'],
      ['2026-01-01', 'inbox'],
    ] as const) {
      const refused = await scene.clinic.workplace.waybill(
        ...['backfill', 'clinic', '--from', from, '--to', '2026-03-31', '--in', folder, '--json'],
      )
      expect(refused.code).toBe(2)
      expect(JSON.parse(refused.out).error).toMatchObject({ code: 'run-unfinished' })
      expect(refused.err).toContain(`waybill backfill clinic ${RANGE.join(' ')} --in `)
      expect(refused.err).toContain(`waybill resolve ${runs[1]?.run} --give-up`)
    }
    const last = summaryOf(await scene.backfill(...HISTORY))
    expect(last).toMatchObject({ run: runs[1]?.run, state: 'finished', balanced: true, rows: { read: 16 } })
    expect(await stored(scene.store)).toEqual(recordsOf([...WEEK, TODAY]).sort())
  })
})

/** An export of three chunks of 2,500 rows, of which one in 25 has three measurements: a batch for each chunk. */
describe('in the middle of a large export', () => {
  const [day = ''] = DAYS
  const ROWS = 7_000
  const MEASURED = ROWS / 25
  const rowOf = (person: number): string =>
    `p${person},${day},${person % 25 === 0 ? `${60 + (person % 90)},5.1,70.5,kg,fine` : ',,,,none'}\n`
  const rows = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, at) => rowOf(from + at)).join('')
  const openLarge = async (at: Readonly<Record<number, Strike>>) => {
    const scene = await openScene([], { at, folder: 'history' })
    await writeFile(join(scene.clinic.workplace.folder, 'history', nameOf(day)), HEADER + rows(0, ROWS))
    // Rows of each part of it, and one of nobody else.
    const again = [0, 2_600, 5_100, 6_900].map((from) => rows(from, from + 50)).join('')
    await scene.clinic.deliver(nameOf(TODAY), HEADER + again + rows(ROWS, ROWS + 1))
    return scene
  }
  const expectEachOnce = async ({ store }: Scene): Promise<void> => {
    const all = (await store.records('biometric')).map((one) => `${one._account} ${one['code']}`)
    expect(all).toHaveLength(3 * (MEASURED + 1))
    expect(new Set(all).size).toBe(all.length)
  }

  test('a backfill lets a run go first, and goes on behind what it has settled', async () => {
    const scene = await openLarge({ 1: nightlyComes })
    await meetGateway(scene.clinic.workplace)
    const filled = summaryOf(await ended(scene.start(...HISTORY, '--json')))
    const own = summaryOf((await scene.nightly) ?? expect.fail('no run came'))
    await expectEachOnce(scene)
    expect(own.rows.read).toBe(201)
    // It came when at most two chunks were begun: what of its rows they did not have, two people of the third, it delivered itself.
    expect(own.records.biometric.accepted).toBeGreaterThanOrEqual(3 * 3)
    expect(filled).toMatchObject({ state: 'finished', balanced: true, rows: { read: ROWS } })
    expect(filled.records.biometric.unchanged).toBeGreaterThanOrEqual(3 * 2)
    expect(filled.records.biometric.accepted + own.records.biometric.accepted).toBe(3 * (MEASURED + 1))
    expect(filled.requests.readBack).toBe(0)
  })

  test('a backfill goes on with an export that the other run has archived', async () => {
    const job = JOB.replace('mapping: clinic }', 'mapping: clinic, archive: ../done }')
    const scene = await openScene([], { at: { 1: nightlyComes }, job })
    const { folder } = scene.clinic.workplace
    await scene.clinic.deliver(nameOf(day), HEADER + rows(0, ROWS + 1))
    const { code, out, err } = await ended(scene.start('--json'))
    expect(summaryOf((await scene.nightly) ?? expect.fail('no run came'))).toMatchObject({
      state: 'finished',
    })
    expect({ code, err }).toMatchObject({ code: 0 })
    expect(summaryOf({ code, out, err })).toMatchObject({ state: 'finished', rows: { read: ROWS + 1 } })
    await expectEachOnce(scene)
    expect([
      existsSync(join(folder, 'inbox', nameOf(day))),
      existsSync(join(folder, 'done', nameOf(day))),
    ]).toEqual([false, true])
  })

  test('the next run settles the open chunks of a backfill that was killed, and no others', async () => {
    const scene = await openLarge({ 2: killed() })
    await ended(scene.start(...HISTORY))
    const nightly = await scene.clinic.run()
    expect(nightly).toMatchObject({ code: 0 })
    const left = (await scene.runs()).find(({ backfill }) => backfill !== undefined)
    expect(left).toMatchObject({
      ...{ state: 'interrupted', reason: 'gave-way', balanced: true, rows: { read: 5_000 } },
    })
    const filled = summaryOf(await scene.backfill(...HISTORY))
    expect(filled).toMatchObject({ run: left?.run, state: 'finished', rows: { read: ROWS } })
    await expectEachOnce(scene)
  })
})

const ARCHIVING = JOB.replace('mapping: clinic }', 'mapping: clinic, archive: ../done }')
const catOf = (day: string): string => `${HEADER}cat,${day},70,5.1,70.5,kg,fine\n`
const peopleOf = async ({ store }: Scene): Promise<string[]> => [
  ...new Set((await stored(store)).map((one) => one.split(' ')[0] ?? '')),
]

test('a delivery that takes the name of an export which a killed backfill has read is not archived unread', async () => {
  const [first = '', ...more] = DAYS.slice(0, 3)
  const scene = await openScene([first, ...more], { at: { 3: killed() }, job: ARCHIVING })
  const inbox = join(scene.clinic.workplace.folder, 'inbox')
  const done = join(scene.clinic.workplace.folder, 'done')
  await ended(scene.start())
  await writeFile(join(inbox, nameOf(first)), catOf(first))
  expect(await scene.backfill()).toMatchObject({ code: 0 })
  expect([await readdir(inbox), await readdir(done)]).toEqual([[nameOf(first)], more.map(nameOf)])
  expect(await scene.backfill()).toMatchObject({ code: 0 })
  expect(await readdir(inbox)).toEqual([])
  expect(await peopleOf(scene)).toContain('cat')
})

test('a backfill reads a file that was left aside, and the newer one of its name', async () => {
  const [day = ''] = DAYS
  const scene = await openScene([day], { at: {}, job: ARCHIVING })
  const inbox = join(scene.clinic.workplace.folder, 'inbox')
  await rename(join(inbox, nameOf(day)), join(inbox, `.wb-${nameOf(day)}`))
  await writeFile(join(inbox, nameOf(day)), catOf(day))
  expect(await scene.backfill()).toMatchObject({ code: 0 })
  expect(await peopleOf(scene)).toEqual(['ann', 'ben', 'cat'])
  expect(await readdir(inbox)).toEqual([])
  expect(await readdir(join(inbox, '../done'))).toEqual([nameOf(day), `${nameOf(day)}.1`])
})

test('what a killed run has under way is settled before a backfill begins, and not sent again', async () => {
  const scene = await openScene(WEEK, { at: { 1: killed() }, folder: 'history' })
  await scene.clinic.deliver(nameOf(TODAY), HEADER + rowsOf(LAST) + rowsOf(TODAY))
  scene.running = scene.clinic.workplace.start('run', 'clinic')
  await ended(scene.running)
  const { code, out, err } = await scene.backfill(...HISTORY)
  expect({ code, err }).toMatchObject({ code: 0 })
  expect(summaryOf({ code, out, err }).records.biometric).toMatchObject({ accepted: 42, unchanged: 6 })
  expect(await stored(scene.store)).toEqual(recordsOf([...WEEK, TODAY]).sort())
  const nightly = summaryOf(await scene.clinic.run())
  expect(nightly).toMatchObject({ state: 'finished', balanced: true })
  expect(await stored(scene.store)).toEqual(recordsOf([...WEEK, TODAY]).sort())
})

test('a backfill sends nothing while another job is run at the gateway, and no second one of its job begins', async () => {
  const goes = Promise.withResolvers<void>()
  const faultOf = async (request: Passing): Promise<Fault> => {
    if (isBatch(request) && request.body.includes('zoe')) await goes.promise
    return PASS
  }
  const scene = await openScene(WEEK, { faultOf, folder: 'history' })
  const { workplace } = scene.clinic
  await workplace.job('other', JOB.replace('clinic_', 'other_'))
  await scene.clinic.deliver('other_20260401.csv', `${HEADER}zoe,${TODAY},70,5.1,70.5,kg,fine\n`)
  const other = ended(workplace.start('run', 'other', '--json'))
  await vi.waitFor(() => expect(scene.proxy.seen.filter(isBatch)).toHaveLength(1), { timeout: 60_000 })
  const running = scene.start(...HISTORY)
  const backfill = ended(running)
  await new Promise<void>((resolve) => {
    running.stderr?.on('data', (text: Buffer) => {
      if (/waiting for another run.*other/.test(text.toString())) resolve()
    })
  })
  const second = await scene.backfill(...HISTORY)
  expect(second.code).toBe(5)
  expect(JSON.parse(second.out).error).toMatchObject({ code: 'job-held' })
  expect(sentDays(scene)).toEqual([TODAY])
  goes.resolve()
  expect((await other).code).toBe(0)
  expect((await backfill).code).toBe(0)
  expect(sentDays(scene)).toEqual([TODAY, ...WEEK])
})

test('what is typed to go on has the rate and the folder; another rate is taken, too', async () => {
  const interrupted: Strike = ({ running }) => {
    running?.kill('SIGINT')
    return PASS
  }
  const scene = await openScene(WEEK, { at: { 3: interrupted }, folder: 'two words' })
  const typed = `waybill backfill clinic ${RANGE.join(' ')} --in 'two words' --rate 50`
  const { code, out, err } = await ended(scene.start('--in', 'two words', '--rate', '50'))
  expect(code).toBe(130)
  expect(out).toContain(`\n    ${typed}\n`)
  expect(err).toContain(`Type \`${typed}\` again to continue.`)
  expect(err).not.toContain('Run the job again')
  const { workplace } = scene.clinic
  expect((await workplace.waybill('needs')).out).toContain(typed)
  const last = summaryOf(await scene.backfill('--in', 'two words', '--rate', '100'))
  expect(last).toMatchObject({ state: 'finished', balanced: true, rows: { read: 16 } })
})

test('an export that could not be read is read by the backfill typed again, and nothing is left to do', async () => {
  const [first = '', second = ''] = WEEK
  const scene = await openScene([first], { folder: 'history' })
  const { workplace } = scene.clinic
  const file = join(workplace.folder, 'history', nameOf(second))
  await writeFile(file, '')
  const filled = await scene.backfill(...HISTORY, '--rate', '50')
  expect(filled.code).toBe(1)
  const { run } = summaryOf(filled)
  const step = `Nothing of ${nameOf(second)} was sent (export-empty)`
  const before = await workplace.waybill('show', run)
  expect(before.out).toContain(step)
  expect(before.out).toContain(`\n    waybill backfill clinic ${RANGE.join(' ')} --in `)
  expect(before.out).not.toContain('waybill run clinic')
  await writeFile(file, HEADER + rowsOf(second))
  expect((await workplace.waybill('runs', '--failed')).out).toContain(run)
  expect((await scene.clinic.run('--file', file)).code).toBe(0)
  const after = await workplace.waybill('show', run)
  expect(after.out).not.toContain(step)
  expect(after.out).toContain('Nothing is left to do.')
  expect((await workplace.waybill('runs', '--failed')).out).not.toContain(run)
})

test('--rate keeps requests apart', async () => {
  const { clinic, proxy, command } = await openScene(WEEK)
  await meetGateway(clinic.workplace)
  // A clock that only the waits between requests move.
  let at = Date.UTC(2026, 3, 1)
  const waits: number[] = []
  const clock = (context: CommandContext): CommandContext => ({
    ...context,
    now: () => at,
    async sleep(ms, signal) {
      if (ms === LOOK_EVERY_MS) return context.sleep(ms, signal)
      waits.push(ms)
      at += ms
    },
  })
  expect((await clinic.workplace.waybillWith(clock, ...command, '--json', '--rate', '20')).code).toBe(0)
  expect(proxy.seen).toHaveLength(WEEK.length)
  expect(waits).toEqual(Array.from({ length: WEEK.length - 1 }, () => 50))
})

describe('--dry-run', () => {
  it('prints exports, sizes, rows and time, and writes and sends nothing', async () => {
    const scene = await openScene(WEEK.slice(0, 3), { folder: 'history' })
    await writeFile(join(scene.clinic.workplace.folder, 'history', 'clinic_20260231.csv'), HEADER)
    const args = [...HISTORY, '--dry-run', '--rate', '1'] as const
    const { code, out } = await scene.backfill(...args)
    const bytes = (HEADER + rowsOf(LAST)).length
    const backfill = {
      from: '2026-01-01',
      to: '2026-03-31',
      in: join(scene.clinic.workplace.folder, 'history'),
      rate: 1,
    }
    const without = {
      ...{ unit: 'day', count: 87, of: 90 },
      ranges: [{ from: '2026-01-04', to: '2026-03-31', count: 87 }],
    }
    const exports = WEEK.slice(0, 3).map((date) => {
      return { name: nameOf(date), date, bytes, rows: 2, deliveredBefore: false }
    })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual({
      ...{ job: 'clinic', gateway: scene.proxy.url, backfill, exports, bytes: 3 * bytes, rows: 6 },
      ...{ deliveredBefore: { exports: 0, rows: 0 }, dryRun: true },
      ...{ without, unmatched: ['clinic_20260231.csv'] },
    })
    expect(existsSync(scene.clinic.workplace.home)).toBe(false)
    expect(scene.proxy.seen).toEqual([])

    // A first look at one of them leaves it undelivered.
    await meetGateway(scene.clinic.workplace)
    const [first = ''] = WEEK
    const path = join(scene.clinic.workplace.folder, 'history', nameOf(first))
    expect((await scene.clinic.run('--file', path, '--limit', '1')).code).toBe(0)
    const limited = JSON.parse((await scene.backfill(...args)).out)
    expect(limited.deliveredBefore).toEqual({ exports: 0, rows: 0 })
    expect((await scene.clinic.run('--file', path)).code).toBe(0)
    const known = JSON.parse((await scene.backfill(...args)).out)
    expect(known.deliveredBefore).toEqual({ exports: 1, rows: 2 })
    // One request for each row that those runs sent, and reading two known ones.
    const { seconds, knownRowsPerSecond } = known.estimate
    expect(known.estimate).toMatchObject({ runs: 2, limitedByRate: true })
    expect(seconds - 2 / knownRowsPerSecond).toBeCloseTo(4, 6)
    const text = await scene.clinic.workplace.waybill('backfill', 'clinic', ...RANGE, ...args)
    expect(text.out).toContain(`${nameOf(first)}   delivered before`)
    expect(text.out).toContain('Time     about ')
    expect(text.out).toContain(
      'Without  87 of 90 days have no export here:\n  2026-01-04 to 2026-03-31 (87)\n',
    )
    expect(text.out).toContain(
      'Left out 1 file: the name matches no pattern of the job, or has no date:\n  clinic_20260231.csv\n',
    )
    expect(text.err).toContain(`1 of 3: counting ${nameOf(first)}`)
  })

  it('goes by what went to the gateway of today alone', async () => {
    let down = false
    const faultOf = (): Fault => (down ? { do: 'answer', status: 503 } : PASS)
    const job = JOB.replace('readLag', 'patience: 1s, readLag')
    const scene = await openScene(WEEK.slice(0, 3), { faultOf, folder: 'history', job })
    const { clinic } = scene
    const path = join(clinic.workplace.folder, 'history', nameOf(LAST))
    await writeFile(path, HEADER + rowsOf(LAST))
    expect((await clinic.run('--file', path)).code).toBe(0)
    down = true
    expect((await scene.backfill(...HISTORY)).code).toBe(3)
    const plan = async () => JSON.parse((await scene.backfill(...HISTORY, '--dry-run')).out)
    expect(await plan()).toMatchObject({
      unfinished: { exports: 1 },
      deliveredBefore: { exports: 1 },
      estimate: { runs: 1 },
    })
    Object.assign(clinic.workplace.environment, gatewaySettings(scene.store.url))
    const elsewhere = await plan()
    expect(elsewhere).toMatchObject({
      gateway: scene.store.url,
      deliveredBefore: { exports: 0, rows: 0 },
      exports: Array.from({ length: 4 }, () => ({ deliveredBefore: false })),
    })
    expect(elsewhere).not.toHaveProperty('unfinished')
    expect(elsewhere).not.toHaveProperty('estimate')
  })

  it('tells of an export that cannot be read', async () => {
    const scene = await openScene(WEEK.slice(0, 2))
    await scene.clinic.deliver(nameOf('2026-01-03'), '')
    const { code, out } = await scene.backfill('--dry-run')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      rows: 4,
      exports: [{}, {}, { name: nameOf('2026-01-03'), error: { code: 'export-empty' } }],
    })
  })
})

describe('is refused at once', () => {
  const dated = async (job = JOB): Promise<Clinic> => {
    const clinic = await openClinic({ job })
    await clinic.deliver(nameOf('2026-01-01'), HEADER + rowsOf('2026-01-01'))
    return clinic
  }
  it.each([
    ['a day that does not exist', ['--from', '2026-02-29', '--to', '2026-03-31'], '--from 2026-02-29'],
    [
      'a range that ends before it begins',
      ['--from', '2026-03-31', '--to', '2026-01-01'],
      'before it begins',
    ],
  ])('%s', async (_what, range, words) => {
    const clinic = await dated()
    const { code, err } = await clinic.workplace.waybill('backfill', 'clinic', ...range)
    expect(code).toBe(2)
    expect(err).toContain(words)
    expect(err).toContain('waybill backfill clinic --from 2026-01-01 --to 2026-03-31')
    expect(existsSync(clinic.workplace.home)).toBe(false)
  })

  it('a job whose pattern has no date', async () => {
    const clinic = await dated(JOB.replace('{date:yyyyMMdd}', '*'))
    const { code, err } = await clinic.workplace.waybill('backfill', 'clinic', ...RANGE)
    expect(code).toBe(2)
    expect(err).toContain('{date:yyyyMMdd}')
    expect(existsSync(clinic.workplace.home)).toBe(false)
  })

  it('a range without exports', async () => {
    const clinic = await dated()
    const range = ['--from', '2026-01-02', '--to', '2026-01-03'] as const
    const { code, out, err } = await clinic.workplace.waybill('backfill', 'clinic', ...range, '--json')
    expect(code).toBe(2)
    expect(JSON.parse(out).error).toMatchObject({ code: 'exports-none' })
    expect(err).not.toContain('Records go to')
    expect(existsSync(clinic.workplace.home)).toBe(false)
    expect(await clinic.store.allRecords()).toEqual([])
  })

  it.each([
    ['is missing or cannot be read', 'nowhere'],
    ['is a file', 'jobs/clinic.yaml'],
  ])('a folder that %s', async (words, folder) => {
    const clinic = await dated()
    const { code, err } = await clinic.workplace.waybill('backfill', 'clinic', ...RANGE, '--in', folder)
    expect(code).toBe(2)
    expect(err).toContain(`the folder of --in ${words}`)
    expect(existsSync(clinic.workplace.home)).toBe(false)
  })

  it.each(['0', '-1', 'fast'])('--rate %s', async (rate) => {
    const clinic = await dated()
    const { code, err } = await clinic.workplace.waybill('backfill', 'clinic', ...RANGE, `--rate=${rate}`)
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('like 5 or 0.5') })
  })
})
