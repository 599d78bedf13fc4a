/**
 * A year of nights as cron has them, with a moved clock: `waybill expect` and `waybill run` with `--quiet`, on a disk of its own where one can
 * be mounted. Each trouble is told once, in its place; other nights say nothing; and what Waybill itself suggests empties the red list.
 */
import { readFileSync } from 'node:fs'
import { readFile, rm, statfs, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CLINIC, HEADER, openClinic } from '../cli/clinic.ts'
import type { Ended } from '../cli/command-line.ts'
import { runIds, steadily } from '../cli/nights.ts'
import { startReferenceStore } from '../cli/reference-store.ts'
import { closedPort } from '../closed-port.ts'
import { mountDisk } from '../faults/mounted-disk.ts'

const USUAL = 80
const MAPPING = CLINIC.replace('row:\n', 'row:\n  skipWhen: { remark: no-show }\n')
/** The same once it knows what else the vendor calls a kilogram. */
const TAUGHT = MAPPING.replace(
  'from: "unit"',
  'from: "unit", table: { kg: kg, "[lb_av]": "[lb_av]", kilo: kg }',
)
const JOB = `exports:
  from: ../inbox
  match: "clinic_{date:yyyyMMdd}.csv"
  mapping: clinic
  archive: ../done
  expect: { by: "30 1 * * *", zone: Etc/UTC, size: 50% }
accounts: { register: never }
submit: { patience: 1s, readLag: 100ms }
notify: { command: "cat >> ../told.txt; echo >> ../told.txt" }
`

interface Row {
  readonly weight: number
  readonly unit: string
  readonly pulse: number | string
  readonly remark: string
}

/** People of that day alone, whose values spread as those of people do. */
const people = (day: string, change: (row: Row, at: number) => Partial<Row> = () => ({}), rows = USUAL) =>
  HEADER +
  Array.from({ length: rows }, (_, at) => {
    const usual = { weight: 55 + ((at * 13) % 50), unit: 'kg', pulse: 55 + ((at * 7) % 35), remark: 'fine' }
    const { weight, unit, pulse, remark } = { ...usual, ...change(usual, at) }
    return `${day}-${at},${day},${pulse},${(4.8 + (at % 12) / 10).toFixed(1)},${weight},${unit},${remark}\n`
  }).join('')

const pounds = ({ weight }: Row) => ({ weight: Math.round(weight * 2.2046) })

const Told = z.object({
  type: z.string(),
  data: z.object({ title: z.string(), text: z.array(z.string()) }),
})
type Told = z.infer<typeof Told>

/** Commands that a text gives to type. */
const suggestedIn = (text: string): string[] => [
  ...[...text.matchAll(/^ {2,}(waybill .*)$/gm)].map(([, line = '']) => line),
  ...[...text.matchAll(/`(waybill [^`]+)`/g)].map(([, line = '']) => line),
]

async function openYear() {
  const disk = mountDisk('24m')?.folder
  const port = await closedPort()
  const store = await startReferenceStore({ open: true, port })
  const clinic = await openClinic({
    store,
    mapping: MAPPING,
    job: JOB,
    environment: {
      WAYBILL_METRICS_FILE: '{job}.prom',
      WAYBILL_MIN_FREE: '1MiB',
      ...(disk === undefined ? {} : { WAYBILL_HOME: join(disk, 'home') }),
    },
  })
  const { workplace } = clinic
  const at = (...path: string[]): string => resolve(workplace.folder, ...path)
  let now = ''
  let suggested = new Set<string>()
  let heard = 0
  let seen: string[] = []
  const say = async (...args: string[]): Promise<Ended> => {
    const ahead = Date.parse(now) - Date.now()
    const ended = await workplace.waybillWith(
      (context) => ({ ...context, now: () => context.now() + ahead, columns: 80 }),
      ...args,
    )
    for (const one of suggestedIn(ended.out + ended.err)) suggested.add(one)
    seen.push(`$ waybill ${args.join(' ')}`, ended.out + ended.err)
    return ended
  }
  /** What was told since it was asked last. */
  const told = async (): Promise<string[]> => {
    const lines = (await readFile(at('told.txt'), 'utf8').catch(() => '')).split('\n').filter(Boolean)
    const news = lines.slice(heard).map((line): Told => Told.parse(JSON.parse(line)))
    heard = lines.length
    for (const { data } of news) {
      for (const one of suggestedIn(data.text.join('\n'))) suggested.add(one)
      seen.push([data.title, ...data.text, ''].join('\n'))
    }
    return news.map(
      ({ type, data }) => `${type.replace('waybill.', '')}: ${data.title.slice('Waybill: '.length)}`,
    )
  }
  const deliver = async (day: string, content: string, time: string): Promise<void> => {
    const path = await clinic.deliver(`clinic_${day.replaceAll('-', '')}.csv`, content)
    const seconds = Date.parse(`${day}T${time}Z`) / 1000
    await utimes(path, seconds, seconds)
  }
  const night = async (day: string, content: string | undefined): Promise<NightOf> => {
    suggested = new Set()
    seen = []
    if (content !== undefined) await deliver(day, content, '01:00')
    now = `${day}T01:35Z`
    const expected = await say('expect', 'clinic', '--quiet')
    now = `${day}T02:15Z`
    const ran = await say('run', 'clinic', '--quiet')
    const said = [expected.out, ran.out, ran.err].join('').replace(/^.*the ledger is new.*\n/m, '')
    return { exits: [expected.code, ran.code], said, told: await told() }
  }
  return {
    ...{ at, disk, night, told },
    /** As it stands in commands. */
    home: disk === undefined ? 'home' : join(disk, 'home'),
    /** What a person has seen since the night began, at 80 columns. */
    async golden(name: string) {
      const text = steadily(seen.join('\n'), { store, workplace })
        .replaceAll(disk ?? 'no disk', 'DISK')
        .replaceAll(/[\d.]+ [kM]B\b/g, 'N MB')
        .replaceAll(/[\d,]+ s (behind|ahead of)/g, 'N s off')
        // Lines are folded by how long a path is.
        .replaceAll(/\n {10,}(?=\S)/g, ' ')
      expect(text).not.toMatch(/\d{4}-\d\d-\d\d-\d/)
      await expect(text).toMatchFileSnapshot(join(import.meta.dirname, `../cli/golden/night-${name}.txt`))
    },
    /** A night of which nobody is to hear anything. */
    async quiet(...days: string[]) {
      for (const day of days)
        expect([day, await night(day, people(day))]).toEqual([day, { exits: [0, 0], said: '', told: [] }])
    },
    /** The vendor delivers once more, in the morning. */
    async again(day: string, content: string) {
      await deliver(day, content, '07:30')
    },
    /** At eight in the morning: of the latest run, and of those that need somebody. */
    async morning(day: string) {
      now = `${day}T08:00Z`
      await say('runs', '--limit', '1')
      // At 80 columns the table has no reasons.
      const listed = (await workplace.waybillAt(now, 'runs', '--limit', '1')).out
      const red = runIds(await workplace.waybillAt(now, 'runs', '--failed', '--json'))
      for (const run of red) await say('show', run)
      const latest = listed.match(/\d{8}T\d{6}Z-[0-9a-f]{6}/)?.[0] ?? ''
      // Wherever its lines were folded.
      return {
        listed: listed.replaceAll(/\s+/g, ' '),
        latest,
        red,
        metrics: readFileSync(at('clinic.prom'), 'utf8'),
      }
    },
    /** Types a command that Waybill has suggested since the night began, and sees that it is content; but for the doctor, who looks at all. */
    async type(command: string): Promise<Ended> {
      expect([...suggested]).toContain(command)
      const ended = await say(...command.split(' ').slice(1))
      const isContent = ended.code === 0 || command === 'waybill doctor'
      expect(isContent, `${command}\n${ended.out}${ended.err}`).toBe(true)
      return ended
    },
    async gatewayGoes(): Promise<() => Promise<void>> {
      await store.close()
      return async () => void (await startReferenceStore({ open: true, port }))
    },
  }
}

interface NightOf {
  readonly exits: readonly (number | null)[]
  /** On standard output and error, with `--quiet`. */
  readonly said: string
  readonly told: readonly string[]
}

test('a year of nights', async () => {
  const year = await openYear()
  const { night, quiet, morning, type, told, again, at, disk } = year
  const clean = async (day: string): Promise<void> => {
    expect((await morning(day)).red).toEqual([])
    expect(['', 'job-recovered: clinic has recovered']).toContain((await told()).join())
  }
  await quiet('2026-01-05', '2026-01-06', '2026-01-07')

  // A vendor who is late.
  const late = await night('2026-02-03', undefined)
  expect(late.exits).toEqual([1, 2])
  expect(late.told).toEqual(['export-late: clinic: 0 of 1 export by Tue 2026-02-03 01:30 +00:00, 1 missing'])
  expect((await morning('2026-02-03')).metrics).toContain('waybill_last_run_exit_code{job="clinic"} 2')
  await year.golden('late')
  await again('2026-02-03', people('2026-02-03'))
  expect((await type('waybill expect clinic')).out).toContain('late: 1 of 1 export')
  await type('waybill run clinic')
  await clean('2026-02-03')
  await quiet('2026-02-04')

  // Three rows where eighty are usual: it goes on.
  const tiny = await night('2026-03-10', people('2026-03-10', undefined, 3))
  expect(tiny.exits).toEqual([1, 0])
  expect(tiny.told).toEqual(['export-small: clinic: clinic_20260310.csv has 5 % of the usual size'])
  expect(tiny.said).toContain('rows: 3, usually 80')
  const afterTiny = await morning('2026-03-10')
  expect(afterTiny.listed).toContain('clinic_20260310.csv: rows')
  expect(afterTiny.metrics).toContain('waybill_last_run_drift{job="clinic",measure="rows"} 1')
  expect(afterTiny.red).toEqual([])
  await quiet('2026-03-11')

  // Nobody came, says each row.
  const skipped = await night(
    '2026-04-14',
    people('2026-04-14', () => ({ remark: 'no-show' })),
  )
  expect(skipped.exits).toEqual([0, 0])
  expect(skipped.told).toEqual(['export-empty-handed: clinic: all rows of clinic_20260414.csv were skipped'])
  expect(skipped.said).toContain('all 80 rows skipped')
  const afterSkipped = await morning('2026-04-14')
  expect(afterSkipped.listed).toContain('clinic_20260414.csv: empty-handed')
  expect(afterSkipped.metrics).toContain('waybill_last_run_drift{job="clinic",measure="empty-handed"} 1')
  expect(afterSkipped.red).toEqual([])
  await quiet('2026-04-15')

  // Pounds under the name of kilograms stop the export; the vendor corrects it.
  const drifted = await night('2026-05-12', people('2026-05-12', pounds))
  expect(drifted.exits).toEqual([0, 2])
  expect(drifted.told).toEqual(['run-ended: clinic finished with 1 export not sent'])
  const afterDrifted = await morning('2026-05-12')
  expect(afterDrifted.red).toHaveLength(1)
  expect(afterDrifted.listed).toContain('1 export failed (export-drifted)')
  await year.golden('drifted')
  await again('2026-05-12', people('2026-05-12'))
  await type('waybill run clinic')
  await clean('2026-05-12')
  await quiet('2026-05-13')

  // Pounds that say so go through, and stay: they are told of once.
  const inPounds = (row: Row) => ({ ...pounds(row), unit: '[lb_av]' })
  const mixed = await night('2026-06-09', people('2026-06-09', inPounds))
  expect([mixed.exits, mixed.told]).toEqual([
    [0, 0],
    ['export-drifted: clinic: clinic_20260609.csv differs from earlier deliveries (mix)'],
  ])
  for (const day of ['2026-06-10', '2026-06-11'])
    expect(await night(day, people(day, inPounds))).toEqual({ exits: [0, 0], said: '', told: [] })
  await quiet('2026-06-12')

  // A unit that the mapping does not know: it learns it.
  const odd = (unit: string) => (_: Row, row: number) => (row < 3 ? { unit } : {})
  const unknown = await night('2026-07-06', people('2026-07-06', odd('kilo')))
  expect(unknown.exits).toEqual([0, 1])
  expect(unknown.told).toEqual(['run-ended: clinic finished with 3 rejected records'])
  const [ofMapping = ''] = (await morning('2026-07-06')).red
  await writeFile(at('mappings/clinic.yaml'), TAUGHT)
  await type('waybill mapping check clinic --export done/clinic_20260706.csv')
  await type(`waybill rerun ${ofMapping} --only rejected`)
  await clean('2026-07-06')

  // Values that a person corrects in the rejects file.
  const wrong = (_: Row, row: number) => (row < 2 ? { pulse: 'fast' } : {})
  const rejected = await night('2026-08-03', people('2026-08-03', wrong))
  expect(rejected.exits).toEqual([0, 1])
  expect(rejected.told).toEqual(['run-ended: clinic finished with 2 rejected records'])
  const afterRejected = await morning('2026-08-03')
  expect(afterRejected.listed).toContain('value-not-a-number 2')
  expect(afterRejected.red).toHaveLength(1)
  const file = join(year.home, 'rejects', afterRejected.latest, '1-clinic_20260803.rejects.csv')
  await writeFile(at(file), (await readFile(at(file), 'utf8')).replaceAll(',fast,', ',72,'))
  await type(`waybill run clinic --file ${file}`)
  await clean('2026-08-03')

  // Values that the vendor corrects: the next night takes the export that came again.
  await night('2026-08-04', people('2026-08-04', wrong))
  const [ofVendor = ''] = (await morning('2026-08-04')).red
  await again('2026-08-04', people('2026-08-04'))
  const recovered = { exits: [0, 0], said: '', told: ['job-recovered: clinic has recovered'] }
  expect(await night('2026-08-05', people('2026-08-05'))).toEqual(recovered)
  const { red, latest } = await morning('2026-08-05')
  expect(red).toEqual([ofVendor])
  expect((await type(`waybill show ${latest}`)).out).toContain('Nothing is left to do.')
  await type(`waybill acknowledge ${ofVendor}`)
  await clean('2026-08-05')

  // The gateway is down for a night.
  const comesBack = await year.gatewayGoes()
  const down = await night('2026-09-15', people('2026-09-15'))
  expect(down.exits).toEqual([0, 3])
  expect(down.told).toEqual(['run-stopped: clinic was stopped (gateway-unreachable)'])
  const afterDown = await morning('2026-09-15')
  expect(afterDown.listed).toContain('interrupted (gateway-unreachable)')
  expect(afterDown.metrics).toContain('waybill_last_run_exit_code{job="clinic"} 3')
  await comesBack()
  expect((await type('waybill doctor')).out).toMatch(/^ok {7}gateway/m)
  await type('waybill run clinic')
  await clean('2026-09-15')
  await quiet('2026-09-16')

  // The disk is full.
  if (disk !== undefined) {
    const { bavail, bsize } = await statfs(disk)
    await writeFile(join(disk, 'others'), Buffer.alloc(bavail * bsize))
    const full = await night('2026-10-20', people('2026-10-20'))
    expect(full.exits).toEqual([2, 2])
    expect(full.told).toEqual(['run-refused: clinic was not run (disk-full)'])
    expect((await type('waybill doctor')).out).toContain('0 bytes free on its disk')
    await year.golden('disk-full')
    await type('waybill prune --older-than 180d')
    await type('waybill run clinic')
    await rm(join(disk, 'others'))
    await clean('2026-10-20')
  }
  await quiet('2026-12-30', '2026-12-31')
  await clean('2026-12-31')
})
