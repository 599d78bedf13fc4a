/** An operator's situations, each from its cause to an empty list: the list names the need, and its commands, typed as they stand, end it. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ANN, BEN, CLINIC, HEADER, JOB } from '../cli/clinic.ts'
import { type Ended, ended } from '../cli/command-line.ts'
import { unanswered } from '../cli/left-behind.ts'
import { type Nights, openNights, runIds, steadily } from '../cli/nights.ts'
import { page } from '../docs/pages.ts'
import { type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'

const GOLDEN = join(import.meta.dirname, '../cli/golden')
const wrong = (id: string): string => `${id},2026-03-02,61,5.1,70.5,parsec,fine\n`

const Listed = z.object({
  needs: z.array(
    z.looseObject({
      cause: z.string(),
      code: z.string().optional(),
      jobs: z.array(z.string()),
      what: z.string(),
      times: z.number(),
      steps: z.array(z.object({ say: z.string(), commands: z.array(z.string()) })),
    }),
  ),
})
type Listed = z.infer<typeof Listed>['needs'][number]

/** Rows of so many people. */
const people = (name: string, rows: number): string =>
  HEADER +
  Array.from(
    { length: rows },
    (_, at) => `${name}-${at},2026-03-02,${60 + (at % 9)},5.${at % 9},${61.5 + (at % 20)},kg,fine\n`,
  ).join('')

interface Scene extends Nights {
  /** Address in the settings at the start. */
  readonly gateway: string
  /** What befalls requests from now on. */
  strike(faultOf: (request: Passing) => Fault): void
  /** As if typed so many days later. */
  later(days: number, ...args: string[]): Promise<Ended>
  needs(...args: string[]): Promise<Listed[]>
  /** Resolves once a request has come since the last `strike`. */
  untilAsked(): Promise<void>
  query(sql: string): void
  read(path: string): Promise<string>
  /** Suggested commands that begin so. */
  suggested(beginning: string): Promise<string[]>
  /** Types the only suggested command of the list that begins so. */
  type(beginning: string): Promise<Ended>
  /** Writes into the folder of the workplace. */
  write(path: string, text: string): Promise<void>
}

type SceneOptions = NonNullable<Parameters<typeof openNights>[0]> & {
  /** The job file, in place of the usual one. */
  readonly whole?: string
}

async function openScene({ whole, ...options }: SceneOptions = {}): Promise<Scene> {
  let faultOf: (request: Passing) => Fault = () => PASS
  const nights = await openNights({
    ...options,
    faultOf(request) {
      asked.resolve()
      return faultOf(request)
    },
  })
  if (whole !== undefined) await nights.workplace.job('clinic', whole)
  let asked = Promise.withResolvers<void>()
  let days = 0
  const needs: Scene['needs'] = async (...args) =>
    Listed.parse(JSON.parse((await later(days, 'needs', '--json', ...args)).out)).needs
  const later: Scene['later'] = (after, ...args) => {
    days = after
    return nights.workplace.waybillWith(
      (context) => ({
        ...context,
        now: () => context.now() + after * 86_400_000,
        columns: 80,
        user: 'operator',
      }),
      ...args,
    )
  }
  const suggested: Scene['suggested'] = async (beginning) => {
    const commands = (await needs()).flatMap(({ steps }) => steps.flatMap((step) => step.commands))
    return [...new Set(commands.filter((one) => one.startsWith(`waybill ${beginning}`)))]
  }
  return {
    ...nights,
    gateway: nights.workplace.environment['WAYBILL_GATEWAY_URL'] ?? '',
    read: (path) => readFile(resolve(nights.workplace.folder, path), 'utf8'),
    needs,
    later,
    look: (...args) => later(days, ...args),
    strike(next) {
      faultOf = next
      asked = Promise.withResolvers()
    },
    untilAsked: () => asked.promise,
    query(sql) {
      const database = new DatabaseSync(join(nights.workplace.home, 'ledger.sqlite'))
      database.exec(sql)
      database.close()
    },
    suggested,
    async type(beginning) {
      const found = await suggested(beginning)
      const typed = found.find((one) => one === `waybill ${beginning}`) ?? found[0]
      if (typed === undefined) throw new Error(`no suggested command begins with ${beginning}`)
      if (typed !== `waybill ${beginning}`) expect(found).toHaveLength(1)
      return later(days, ...wordsOf(typed).slice(1))
    },
    write: (path, text) => writeFile(resolve(nights.workplace.folder, path), text),
  }
}

/** Words of a command as a shell takes them. */
const wordsOf = (typed: string): string[] =>
  [...typed.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

interface Situation {
  /** Number in the table of docs/runbook.md. */
  readonly row: number
  readonly name: string
  readonly options?: SceneOptions
  /** Ends with the run of the night. */
  readonly night: (scene: Scene) => Promise<Ended>
  /** Null for a killed process. */
  readonly exit: number | null
  readonly need: { readonly cause: string; readonly code?: string; readonly times?: number }
  readonly end: (scene: Scene) => Promise<unknown>
}

const BROKEN = CLINIC.replace('from: "unit"', 'form: "unit"')

const SITUATIONS: readonly Situation[] = [
  {
    row: 1,
    name: 'the mapping does not parse',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.write('mappings/clinic.yaml', BROKEN)
      await scene.run()
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'mapping-invalid', times: 2 },
    async end(scene) {
      await scene.write('mappings/clinic.yaml', CLINIC)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 2,
    name: 'the YAML of the job is broken',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.workplace.job('clinic', 'exports: [')
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'job-invalid' },
    async end(scene) {
      // Who is notified the file says no more.
      expect(scene.hook.titles()).toEqual(['waybill.run-refused Waybill: clinic was not run (job-invalid)'])
      await scene.workplace.job('clinic', JOB)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 3,
    name: 'no export came, and a later one does',
    night: (scene) => scene.run(),
    exit: 2,
    need: { cause: 'start-refused', code: 'exports-none' },
    async end(scene) {
      await scene.deliver('a.csv', HEADER + ANN)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 3,
    name: 'no export came, and none will',
    night: (scene) => scene.run(),
    exit: 2,
    need: { cause: 'start-refused', code: 'exports-none' },
    async end(scene) {
      expect((await scene.type('acknowledge')).out).toMatch(/^Acknowledged: the refused start of clinic/)
    },
  },
  {
    row: 7,
    name: 'the ledger is gone, receipts are there',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.look('backup', 'saved.sqlite')
      for (const name of await readdir(scene.workplace.home))
        if (name.startsWith('ledger')) await rm(join(scene.workplace.home, name))
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-missing' },
    async end(scene) {
      expect((await scene.look('restore', 'saved.sqlite')).code).toBe(0)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 8,
    name: 'no gateway is named',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      scene.workplace.environment['WAYBILL_GATEWAY_URL'] = ''
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'gateway-not-set' },
    async end(scene) {
      scene.workplace.environment['WAYBILL_GATEWAY_URL'] = scene.gateway
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 14,
    name: 'garbage instead of CSV, and a good file of its name',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', Buffer.from([0xff, 0xfe, 0, 1, 2, 3]))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 14,
    name: 'garbage instead of CSV, accepted',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', Buffer.from([0xff, 0xfe, 0, 1, 2, 3]))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    end: (scene) => scene.type('acknowledge'),
  },
  {
    row: 25,
    name: 'an unreadable file that was put aside lies there for a month',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', Buffer.from([0xff, 0xfe, 0, 1, 2, 3]))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    async end(scene) {
      expect((await scene.type('put-aside')).code).toBe(0)
      for (const days of [1, 15, 30]) expect((await scene.later(days, 'run', 'clinic')).code).toBe(0)
      await scene.look('backup', 'saved.sqlite')
    },
  },
  {
    row: 26,
    name: 'the mapping does not know a unit',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'unit-unknown' },
    async end(scene) {
      await scene.write('mappings/clinic.yaml', CLINIC.replace('"unit"', '"unit", table: { parsec: kg }'))
      expect((await scene.type('rerun')).code).toBe(0)
    },
  },
  {
    row: 29,
    name: 'rejected rows stay so for good',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'unit-unknown' },
    end: (scene) => scene.type('acknowledge'),
  },
  {
    row: 30,
    name: 'rows of one reason are rejected on three nights',
    night: async (scene) => {
      for (const day of ['a', 'b']) {
        await scene.deliver(`${day}.csv`, HEADER + ANN + wrong(day))
        await scene.run()
      }
      await scene.deliver('c.csv', HEADER + ANN + wrong('c'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'unit-unknown', times: 1 },
    async end(scene) {
      await scene.write('mappings/clinic.yaml', CLINIC.replace('"unit"', '"unit", table: { parsec: kg }'))
      expect((await scene.type('rerun')).code).toBe(0)
    },
  },
  {
    row: 34,
    name: 'more is rejected than the job allows',
    options: { job: 'stopWhen: { rejectedRows: 10%, after: 1 }\n' },
    night: async (scene) => {
      await scene.deliver('a.csv', `${HEADER}ann,never,1,,,,\n`)
      return scene.run()
    },
    exit: 4,
    need: { cause: 'run-failed', code: 'threshold-passed' },
    async end(scene) {
      await scene.deliver('a.csv', HEADER + ANN)
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  {
    row: 4,
    name: 'the disk is full before the run',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.workplace.environment['WAYBILL_MIN_FREE'] = '1000GiB'
      return scene.run()
    },
    exit: 2,
    need: { cause: 'disk', code: 'disk-full' },
    async end(scene) {
      expect((await scene.type('prune')).code).toBe(0)
      delete scene.workplace.environment['WAYBILL_MIN_FREE']
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 6,
    name: 'the key is another one',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      scene.workplace.environment['WAYBILL_KEY'] = 'another key than before'
      await scene.deliver('b.csv', HEADER + BEN)
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'key-differs' },
    async end(scene) {
      scene.workplace.environment['WAYBILL_KEY'] = 'a key that stays the same'
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 37,
    name: 'the gateway is away beyond the patience',
    options: { job: 'submit: { readLag: 100ms, patience: 1s }\n' },
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'reset' }))
      return scene.run()
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-unreachable' },
    async end(scene) {
      scene.strike(() => PASS)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 39,
    name: 'the gateway refuses the credentials',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'answer', status: 403 }))
      return scene.run()
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-refused-credentials' },
    async end(scene) {
      scene.strike(() => PASS)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 31,
    name: 'no answer came, and the profile cannot tell',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', HEADER + BEN)
      scene.strike(unanswered('pass-then-reset'))
      const ended = await scene.run()
      scene.strike(() => PASS)
      return ended
    },
    exit: 1,
    need: { cause: 'left-in-doubt' },
    end: (scene) => scene.type('reconcile'),
  },
  {
    row: 48,
    name: 'a job was paused long ago',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      const ended = await scene.run()
      await scene.look('pause', 'clinic', '--note', 'the vendor is moving')
      expect(await scene.needs()).toEqual([])
      await scene.later(8, 'runs')
      return ended
    },
    exit: 0,
    need: { cause: 'paused' },
    end: (scene) => scene.type('unpause'),
  },
  {
    row: 49,
    name: 'notices are not delivered',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
      scene.hook.answer(500)
      const ended = await scene.run()
      await scene.look('acknowledge', '--reason', 'unit-unknown')
      await scene.later(1, 'runs')
      return ended
    },
    exit: 1,
    need: { cause: 'notice-undelivered' },
    async end(scene) {
      expect((await scene.type('notify')).code).toBe(1)
      scene.hook.answer(204)
      const sent = await scene.type('notify')
      expect([sent.code, sent.out]).toEqual([0, expect.stringContaining('1 notice of before')])
    },
  },
  {
    row: 45,
    name: 'the ledger was restored from Tuesday',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      const ended = await scene.run()
      await scene.look('backup', 'saved.sqlite')
      for (const name of await readdir(scene.workplace.home))
        if (name.startsWith('ledger')) await rm(join(scene.workplace.home, name))
      await scene.look('restore', 'saved.sqlite')
      return ended
    },
    exit: 0,
    need: { cause: 'ledger-copy' },
    end: (scene) => scene.type('run'),
  },
  {
    row: 10,
    name: 'a newer program has written the ledger',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      scene.query("insert into kysely_migration values ('9999-later', '2027-01-01')")
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-newer' },
    async end(scene) {
      scene.query("delete from kysely_migration where name = '9999-later'")
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 12,
    name: 'an export with a tenth of the usual rows, and the job stops at that',
    options: { job: 'drift: { rows: { stop: 50% }, fit: off }\n' },
    night: async (scene) => {
      for (const day of ['a', 'b', 'c', 'd', 'e']) {
        await scene.deliver(`${day}.csv`, people(day, 60))
        expect((await scene.run()).code).toBe(0)
      }
      await scene.deliver('f.csv', people('f', 6))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed', code: 'export-drifted' },
    async end(scene) {
      expect((await scene.type('run clinic --accept-drift')).code).toBe(0)
    },
  },
  {
    row: 13,
    name: 'a column was renamed, and the vendor sends the file anew',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', (HEADER + BEN).replace('pulse', 'puls'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed', code: 'columns-missing' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  {
    row: 16,
    name: 'an export that is cut in the middle',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', (HEADER + BEN).slice(0, -1))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed', code: 'export-cut' },
    async end(scene) {
      expect((await scene.type('run clinic --accept-end')).code).toBe(0)
    },
  },
  {
    row: 20,
    name: 'the server of the source is away',
    options: {
      job: '',
      whole: 'exports: { from: "sftp://somebody@127.0.0.1:1/out", match: "*.csv", mapping: clinic }\n',
      environment: { WAYBILL_SFTP_PASSWORD: 'none' },
    },
    night: (scene) => scene.run(),
    exit: 2,
    need: { cause: 'start-refused' },
    async end(scene) {
      await scene.workplace.job('clinic', JOB)
      await scene.deliver('a.csv', HEADER + ANN)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 27,
    name: 'wrong data, and the rejects file is corrected',
    night: async (scene) => {
      await scene.deliver('a.csv', `${HEADER}${ANN}ben,2026-03-02,sixty,5.2,71.5,kg,fine\n`)
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'value-not-a-number' },
    async end(scene) {
      const [file = ''] = await scene.suggested('run clinic --file')
      const path = wordsOf(file).at(-1) ?? ''
      await scene.write(path, (await scene.read(path)).replace('sixty', '60'))
      expect((await scene.type('run clinic --file')).code).toBe(0)
    },
  },
  {
    row: 42,
    name: 'the run is killed',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'hang' }))
      const running = scene.workplace.start('run', 'clinic')
      await scene.untilAsked()
      running.kill('SIGKILL')
      const killed = await ended(running)
      scene.strike(() => PASS)
      return killed
    },
    exit: null,
    need: { cause: 'run-unfinished', code: 'stopped' },
    async end(scene) {
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 42,
    name: 'a killed run is finished by resume',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'answer', status: 403 }))
      const night = await scene.run()
      scene.strike(() => PASS)
      return night
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-refused-credentials' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.look('resume', 'clinic')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(3)
      expect((await scene.look('resume', 'clinic')).err).toContain('error nothing-left')
    },
  },
  {
    row: 47,
    name: 'a backfill was interrupted and forgotten',
    options: {
      job: '',
      whole:
        'exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }\naccounts: { register: never }\n',
    },
    night: async (scene) => {
      await scene.deliver('day_20260102.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'answer', status: 403 }))
      const night = await scene.look('backfill', 'clinic', '--from', '2026-01-01', '--to', '2026-01-05')
      scene.strike(() => PASS)
      return night
    },
    exit: 3,
    need: { cause: 'backfill-unfinished', code: 'gateway-refused-credentials' },
    async end(scene) {
      expect((await scene.look('resume', 'clinic', '--backfill')).code).toBe(0)
    },
  },
]

test.each(SITUATIONS)('$name', async ({ options, night, exit, need, end }) => {
  const scene = await openScene(options)
  expect(await scene.needs()).toEqual([])
  expect((await night(scene)).code).toBe(exit)
  const listed = await scene.needs()
  expect(listed).toMatchObject([{ jobs: ['clinic'], ...need }])
  expect((await scene.look('needs', '--exit-code')).code).toBe(1)
  await end(scene)
  expect(await scene.needs()).toEqual([])
  expect((await scene.look('needs', '--exit-code')).code).toBe(0)
})

test('no backup for a month: a need of the installation', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN)
  await scene.run()
  await scene.later(31, 'runs')
  expect(await scene.needs()).toMatchObject([{ cause: 'backup-old', jobs: [] }])
  expect(await scene.needs('--job', 'clinic')).toHaveLength(1)
  await scene.look('backup', 'saved.sqlite')
  expect(await scene.needs()).toEqual([])
})

test('the list as a person sees it at 80 columns', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
  await scene.run()
  await scene.look('pause', 'clinic', '--by', 'ann', '--note', 'the vendor is moving')
  await scene.write('mappings/clinic.yaml', BROKEN)
  await scene.run()
  const { out } = await scene.later(8, 'needs')
  await expect(steadily(out, scene)).toMatchFileSnapshot(join(GOLDEN, 'needs.txt'))
})

test('one gateway that is away is one need of all its jobs', async () => {
  const scene = await openScene({ job: 'submit: { readLag: 100ms, patience: 1s }\n' })
  const names = ['clinic', 'north', 'south']
  for (const name of names.slice(1))
    await scene.workplace.job(name, `${JOB}submit: { readLag: 100ms, patience: 1s }\ndrift: { fit: off }\n`)
  await scene.deliver('a.csv', HEADER + ANN)
  scene.strike(() => ({ do: 'reset' }))
  for (const name of names) expect((await scene.look('run', name)).code).toBe(3)
  const [need, ...others] = await scene.needs()
  expect(others).toEqual([])
  expect(need).toMatchObject({ cause: 'run-unfinished', jobs: names, times: 3 })
  scene.strike(() => PASS)
  for (const name of names) expect((await scene.type(`run ${name}`)).code).toBe(0)
  expect(await scene.needs()).toEqual([])
})

test('a run that went to another gateway than the settings name is finished there, or given up', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN)
  scene.strike(() => ({ do: 'answer', status: 403 }))
  expect((await scene.run()).code).toBe(3)
  const there = scene.workplace.environment['WAYBILL_GATEWAY_URL']
  scene.workplace.environment['WAYBILL_GATEWAY_URL'] = 'http://127.0.0.1:1'
  const [need] = await scene.needs()
  const commands = need?.steps.flatMap((step) => step.commands)
  expect(commands).toContain(`WAYBILL_GATEWAY_URL=${there} waybill run clinic`)
  expect((await scene.type('resolve')).code).toBe(0)
  expect((await scene.needs()).map(({ cause }) => cause)).toEqual(['run-failed'])
})

test('a notice that was given up to a target that the job no longer lists is not listed', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
  scene.hook.answer(400)
  expect((await scene.run()).code).toBe(1)
  await scene.look('acknowledge', '--reason', 'unit-unknown')
  await scene.later(1, 'runs')
  expect((await scene.needs()).map(({ cause }) => cause)).toEqual(['notice-undelivered'])
  await scene.workplace.job('clinic', `${JOB}drift: { fit: off }\n`)
  await scene.later(2, 'run', 'clinic')
  await scene.look('acknowledge', '--job', 'clinic')
  expect(await scene.needs()).toEqual([])
})

test('doctor counts the needs that the list shows', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
  await scene.run()
  const { out } = await scene.look('doctor', '--json')
  const Findings = z.object({ findings: z.array(z.looseObject({ check: z.string(), found: z.string() })) })
  const found = Findings.parse(JSON.parse(out)).findings.filter(({ check }) => check === 'needs')
  expect(found.map((one) => one.found)).toEqual((await scene.needs()).map(({ what }) => what))
})

/** Rows of the table that other tests of this folder play. */
const PLAYED_ELSEWHERE = [46, 50]
/** Rows with a need that no test plays from its cause to an empty list yet: at most so many. */
const UNPLAYED = 12

test('the table of the runbook names the cause of each situation that is played', () => {
  const rows = [...page('docs/runbook.md').matchAll(/^\| (\d+) \|(.*)\|$/gm)].map(([, row, cells = '']) => ({
    row: Number(row),
    need: cells.split('|')[2]?.trim() ?? '',
  }))
  for (const { row, need } of SITUATIONS)
    expect(rows.find((one) => one.row === row)?.need, String(row)).toContain(`\`${need.cause}\``)
  const played = new Set([...SITUATIONS.map(({ row }) => row), ...PLAYED_ELSEWHERE])
  const unplayed = rows.filter(({ row, need }) => need !== '–' && !played.has(row))
  expect(unplayed.map(({ row }) => row).length).toBeLessThanOrEqual(UNPLAYED)
})

test('three nights of one cause, each an export of its own, are one need, and one command takes them all up', async () => {
  const whole = `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }\naccounts: { register: never }\ndrift: { fit: off }\n`
  const scene = await openScene({ whole })
  for (const day of ['a', 'b', 'c']) {
    await scene.deliver(`${day}.csv`, HEADER + wrong(day))
    expect((await scene.run()).code).toBe(1)
  }
  const [need, ...others] = await scene.needs()
  expect(others).toEqual([])
  expect(need).toMatchObject({ cause: 'left-rejected', code: 'unit-unknown', times: 3 })
  expect(need?.what).toContain('in 3 runs')
  const failed = runIds(await scene.look('runs', '--failed', '--json'))
  expect(need?.['runs']).toEqual(failed)

  const chosen = await scene.look(
    'rerun',
    '--job',
    'clinic',
    '--reason',
    'unit-unknown',
    '--dry-run',
    '--json',
  )
  expect(runIds(chosen)).toEqual(failed.toReversed())
  const other = await scene.look('rerun', '--job', 'clinic', '--export', 'b.csv', '--dry-run', '--json')
  expect(runIds(other)).toEqual([failed[1]])
  expect((await scene.look('rerun', '--job', 'clinic', '--since', '2999-01-01')).err).toContain(
    'nothing-left',
  )
  expect((await scene.look('rerun')).err).toContain('name a run, or choose several')

  await scene.write('mappings/clinic.yaml', CLINIC.replace('"unit"', '"unit", table: { parsec: kg }'))
  expect((await scene.type('rerun')).code).toBe(0)
  expect(await scene.needs()).toEqual([])
  expect(await scene.stored()).toHaveLength(9)
})

test('several runs are acknowledged, or reconciled, at once', async () => {
  const whole = `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }\naccounts: { register: never }\nsubmit: { readLag: 100ms }\ndrift: { fit: off }\n`
  const scene = await openScene({ whole })
  await scene.deliver('a.csv', HEADER + ANN)
  await scene.run()
  for (const day of ['b', 'c']) {
    await scene.deliver(`${day}.csv`, HEADER + BEN.replace('ben', day) + wrong(`${day}2`))
    scene.strike(unanswered('pass-then-reset'))
    expect((await scene.run()).code).toBe(1)
    scene.strike(() => PASS)
  }
  const causes = (await scene.needs()).map(({ cause, times }) => [cause, times])
  expect(causes.toSorted()).toEqual([
    ['left-in-doubt', 2],
    ['left-rejected', 2],
  ])
  const looked = await scene.look('reconcile', '--job', 'clinic', '--json')
  expect([looked.code, JSON.parse(looked.out)]).toMatchObject([0, { runs: [{ inDoubt: 0 }, { inDoubt: 0 }] }])
  expect((await scene.type('acknowledge --job')).out).toContain('in 2 runs')
  expect(await scene.needs()).toEqual([])
})
