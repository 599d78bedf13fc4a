/** Nights whose values are not what they were, through the real command line: what is told, and what stops before anything is sent. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { drawFrom } from '../load/simulated-flow.ts'
import { openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account: { reference: id }
  observedAt: { from: day, format: MM/dd/yyyy, zone: America/New_York }
  source: { name: Clinic, type: screening }
biometrics: { systolic-bp: sbp, diastolic-bp: dbp, body-weight: weight, glucose: glucose, heart-rate: pulse }
`
const JOB = `exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\n`

interface Row {
  month: number
  day: number
  sbp: number
  dbp: number
  weight: number
  glucose: number
  pulse: number
}
type Change = (row: Row) => Partial<Record<keyof Row, number | string>>

/** A night of 120 people of its own, in January and February of 2026. */
function night(name: string, seed: number, change: Change = () => ({})): string {
  const chance = drawFrom(seed)
  const within = (low: number, high: number): number =>
    Math.round(low + ((high - low) * (chance() + chance())) / 2)
  const lines = Array.from({ length: 120 }, (_, at) => {
    const row: Row = {
      ...{ month: 1 + (at % 2), day: 1 + (at % 28), sbp: within(100, 145), dbp: within(60, 90) },
      ...{ weight: within(55, 105), glucose: within(75, 130), pulse: within(55, 90) },
    }
    const { month, day, sbp, dbp, weight, glucose, pulse } = { ...row, ...change(row) }
    const two = (part: number | string): string => String(part).padStart(2, '0')
    return `${name}-${at},${two(month)}/${two(day)}/2026,${sbp},${dbp},${weight},${glucose},${pulse}`
  })
  return ['id,day,sbp,dbp,weight,glucose,pulse', ...lines, ''].join('\n')
}

const Drift = z.object({
  drift: z.array(
    z.object({ export: z.string(), level: z.string(), measure: z.string(), message: z.string() }),
  ),
})

/** What the fifth night has, whether it stops, and what is told of it. */
const FIFTH: Record<string, { change: Change; level: 'stop' | 'warn'; told: RegExp }> = {
  pounds: {
    change: ({ weight }) => ({ weight: Math.round(weight * 2.2046) }),
    level: 'stop',
    told: /^values: the median of body-weight is 1[78]\d(\.\d)?, usually (79|80|81)(\.\d+)? \(2\.\d+ times\)/,
  },
  less: {
    change: ({ weight }) => ({ weight: (weight * 0.45).toFixed(1) }),
    level: 'stop',
    told: /^values: the median of body-weight is 3\d/,
  },
  constant: {
    change: () => ({ pulse: 72 }),
    level: 'warn',
    told: /^values: heart-rate is 72 in most rows, and usually is not/,
  },
  swapped: {
    change: ({ month, day }) => ({ month: day, day: month }),
    level: 'warn',
    told: /^rejects: of rows (5|6)\d\.\d % rejected, usually 0\.0 %/,
  },
  mmol: {
    change: ({ glucose }) => ({ glucose: (glucose / 18.016).toFixed(1) }),
    level: 'stop',
    told: /^rejects: of glucose 100\.0 % rejected, usually 0\.0 %/,
  },
  pressures: {
    change: ({ sbp, dbp }) => ({ sbp: dbp, dbp: sbp }),
    level: 'stop',
    told: /^rejects: of systolic-bp 100\.0 % rejected, usually 0\.0 %/,
  },
}

test('a fifth night in other units, or with columns swapped, is told, and stopped before anything of it is sent', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  for (const at of [1, 2, 3, 4]) await clinic.deliver(`a${at}.csv`, night(`a${at}`, at))
  const good = await clinic.run()
  expect(good.code).toBe(0)
  expect(Drift.parse(JSON.parse(good.out)).drift).toEqual([])

  for (const [at, [name, { change }]] of Object.entries(FIFTH).entries())
    await clinic.deliver(`b-${name}.csv`, night(`b-${name}`, 50 + at, change))
  await clinic.deliver('c.csv', night('c', 99))
  const ended = await clinic.run()
  const { drift } = Drift.parse(JSON.parse(ended.out))
  for (const [name, { level, told }] of Object.entries(FIFTH)) {
    const its = drift.filter((one) => one.export === `b-${name}.csv`)
    const found = its.filter((one) => told.test(`${one.measure}: ${one.message}`))
    expect(
      found.map((one) => one.level),
      JSON.stringify(its, undefined, 1),
    ).toEqual([level])
  }
  expect(drift.filter((one) => one.export === 'c.csv')).toEqual([])
  const stopped = Object.entries(FIFTH).flatMap(([name, { level }]) =>
    level === 'stop' ? [`b-${name}.csv`] : [],
  )
  expect(
    summaryOf(ended).exports.flatMap(({ name, error }) => (error === 'export-drifted' ? [name] : [])),
  ).toEqual(expect.arrayContaining(stopped))
  const sent = await clinic.store.records('biometric')
  const people = new Set(sent.map(({ _account }) => String(_account).replace(/-\d+$/, '')))
  expect([...people].filter((name) => stopped.includes(`${name}.csv`))).toEqual([])
  expect(people).toContain('c')

  // It is right: then it is taken once.
  const taken = await clinic.run('--accept-drift')
  expect(summaryOf(taken).exports.filter(({ error }) => error !== undefined)).toEqual([])
})

test('a job that says so stops for what is suspicious about its first export', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: `${JOB}drift: { fit: stop }\n` })
  await clinic.deliver(
    'a.csv',
    night('a', 1, ({ weight }) => ({ weight: Math.round(weight * 2.2046) })),
  )
  const ended = await clinic.run()
  expect(ended.code).not.toBe(0)
  expect(ended.err).toContain('fit: body-weight: the median is')
  expect(ended.err).toContain('looks like lb')
  expect(await clinic.store.records('biometric')).toEqual([])
})

test('by default it is sent, and its summary says what is suspicious', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  await clinic.deliver(
    'a.csv',
    night('a', 1, ({ weight }) => ({ weight: Math.round(weight * 2.2046) })),
  )
  const ended = await clinic.run()
  expect(ended.code).toBe(0)
  expect(Drift.parse(JSON.parse(ended.out)).drift).toMatchObject([{ level: 'warn', measure: 'fit' }])
  expect(await clinic.store.records('biometric')).toHaveLength(5 * 120)
})

test('the summary has quartiles of many values, and of few no value of anybody: neither has the ledger', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: JOB })
  await clinic.deliver('a.csv', night('a', 1))
  const few = night('b', 2, ({ weight }) => ({ weight: `${weight}.4321` })).split('\n')
  await clinic.deliver('b.csv', [...few.slice(0, 20), ''].join('\n'))
  const { out } = await clinic.run()
  const Summary = z.object({
    exports: z.array(
      z.object({
        measured: z.record(
          z.string(),
          z.looseObject({ found: z.number(), quartiles: z.array(z.number()).optional() }),
        ),
      }),
    ),
  })
  const [many, less] = Summary.parse(JSON.parse(out)).exports.map(({ measured }) => measured['body-weight'])
  expect(many?.found).toBe(120)
  expect(many?.quartiles?.[1]).toBeGreaterThan(70)
  expect(many?.quartiles?.[1]).toBeLessThan(90)
  expect(less).toEqual({ found: 19, rejected: 0, values: 19 })
  const dry = await clinic.run('--dry-run', '--file', `${clinic.workplace.folder}/inbox/b.csv`)
  for (const text of [out, dry.out, readFileSync(join(clinic.workplace.home, 'ledger.sqlite'), 'latin1')])
    expect(text).not.toContain('.4321')
  const { fit } = z
    .object({ fit: z.array(z.looseObject({ facts: z.looseObject({ rules: z.array(z.looseObject({})) }) })) })
    .parse(JSON.parse(dry.out))
  expect(fit[0]?.facts.rules.filter((rule) => rule['values'] !== undefined)).toEqual([])
})

test('check, preview and dry run tell the same of a mistake, and end with 1; with a reason it is expected', async () => {
  const mapping = MAPPING.replace('body-weight: weight', 'body-weight: weight_goal')
  const clinic = await openClinic({ mapping, job: JOB })
  const header = (text: string): string => text.replace('weight', 'weight_goal')
  const file = await clinic.deliver(
    'a.csv',
    header(night('a', 1, ({ weight }) => ({ weight: Math.round(weight * 2.2046) }))),
  )
  const { waybill } = clinic.workplace
  const commands = [
    ['mapping', 'check', 'clinic', '--export', file],
    ['mapping', 'preview', 'clinic', file],
    ['run', 'clinic', '--dry-run'],
  ]
  const told = /looks like lb: in lb it would be \d\d(\.\d)? kg \(median-unusual\)/
  for (const command of commands) {
    const { code, out } = await waybill(...command)
    expect(out, command.join(' ')).toMatch(told)
    expect(out).toContain('"goal" suggests something else (column-doubtful)')
    expect(out).toMatch(/^ body-weight +120 +\d/m)
    expect(code, command.join(' ')).toBe(1)
  }
  const expected = ['median-unusual', 'column-doubtful'].map(
    (one) => `  - { finding: ${one}, reason: made up }\n`,
  )
  await writeFile(
    join(clinic.workplace.folder, 'mappings/clinic.yaml'),
    `${mapping}expected:\n${expected.join('')}`,
  )
  for (const command of commands) {
    const { code, out } = await waybill(...command)
    expect(out).toMatch(/^Expected body-weight: the median is .*, because: made up$/m)
    expect(out).not.toContain('Suspicious')
    expect(code, command.join(' ')).toBe(0)
  }
})

test('times of another zone are told by check before anything is sent, and by the run that sends them', async () => {
  const mapping = MAPPING.replace('format: MM/dd/yyyy', 'format: MM/dd/yyyy HH:mm')
  const clinic = await openClinic({ mapping, job: JOB })
  const timed = (text: string): string =>
    text.replaceAll(/-(\d+),(\S{10}),/g, (_, at: string, day: string) => {
      const hour = String(8 + (Number(at) % 9)).padStart(2, '0')
      return `-${at},${day} ${hour}:${String(10 + (Number(at) % 50))},`
    })
  for (const at of [1, 2, 3, 4]) await clinic.deliver(`a${at}.csv`, timed(night(`a${at}`, at)))
  expect((await clinic.run()).code).toBe(0)

  const file = await clinic.deliver('b.csv', timed(night('b', 5)))
  const { waybill } = clinic.workplace
  const check = (): ReturnType<typeof waybill> => waybill('mapping', 'check', 'clinic', '--export', file)
  const right = await check()
  expect(right.out).not.toContain('Differs')
  expect(right.code).toBe(0)
  const wrong = mapping.replace('America/New_York', 'America/Chicago')
  await writeFile(join(clinic.workplace.folder, 'mappings/clinic.yaml'), wrong)
  const checked = await check()
  const told = 'values: times of day 1 hour later than usual, in the same pattern: is the zone right?'
  expect(checked.out).toContain(`Differs from earlier deliveries\n  ${told}`)
  expect(checked.code).toBe(1)
  const asJson = await waybill('mapping', 'check', 'clinic', '--export', file, '--json')
  expect(JSON.parse(asJson.out)).toMatchObject({
    mappings: [{ ok: false, fit: { drift: [{ measure: 'values', level: 'warn' }] } }],
  })

  const ran = await clinic.run()
  expect(ran.code).toBe(0)
  expect(
    Drift.parse(JSON.parse(ran.out)).drift.map(({ measure, message }) => `${measure}: ${message}`),
  ).toEqual([told])
  // What stays so is told once.
  await clinic.deliver('c.csv', timed(night('c', 6)))
  expect(Drift.parse(JSON.parse((await clinic.run()).out)).drift).toEqual([])
})
