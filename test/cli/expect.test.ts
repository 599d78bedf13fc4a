/** `waybill expect` after real runs, and a schedule that looks by itself. */
import { readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { ANN, BEN, type Clinic, HEADER, openClinic } from './clinic.ts'
import { ended } from './command-line.ts'

const HOUR = 3_600_000
/** The latest time by which exports must be there: midnight, in UTC. */
const DUE = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR
/** By the clock of the commands, whatever the time is: it is not midnight while a test is at it. */
const NOON = DUE + 12 * HOUR

const JOB = `exports:
  - from: ../inbox
    match: "*.csv"
    mapping: clinic
    archive: ../done
    expect: { by: "0 0 * * *", zone: Etc/UTC, size: 50% }
accounts: { register: never }
notify: { command: "cat >> ../told.txt; echo >> ../told.txt", on: always }
`

const Found = z.object({
  exit: z.int(),
  expectations: z.array(
    z.object({
      job: z.string(),
      state: z.string().optional(),
      due: z.iso.datetime().optional(),
      expected: z.int().optional(),
      arrived: z.array(z.object({ name: z.string(), late: z.boolean() })).optional(),
      small: z.array(z.object({ name: z.string(), bytes: z.number(), usual: z.number() })).optional(),
      error: z.unknown().optional(),
    }),
  ),
})

const ask = async ({ workplace }: Clinic) => {
  const { code, out } = await workplace.waybill('expect', 'clinic', '--json')
  const { exit, expectations } = Found.parse(JSON.parse(out))
  expect(code).toBe(exit)
  return { exit, ...expectations[0] }
}

/** @param at when it is written, by its source */
const deliver = async (clinic: Clinic, name: string, at: number, content = `${HEADER}${ANN}${BEN}`) => {
  const file = await clinic.deliver(name, content)
  await utimes(file, at / 1000, at / 1000)
}

/** Kinds of the notices that the job's command was given of its exports. */
const told = async (clinic: Clinic): Promise<string[]> =>
  (await notices(clinic))
    .map(({ type }) => type.slice('waybill.'.length))
    .filter((kind) => kind !== 'run-ended')

const Notices = z.array(
  z.object({
    type: z.string(),
    data: z.object({ title: z.string(), details: z.record(z.string(), z.json()) }),
  }),
)
const notices = async ({ workplace }: Clinic) => {
  const text = await readFile(join(workplace.folder, 'told.txt'), 'utf8').catch(() => '')
  return Notices.parse(text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])))
}

/** All that the first run of an installation says where it is to be quiet. */
const NEW_LEDGER = /^\S+ warn {2}the ledger is new: [^\n]*\n$/

describe('a strangely small export', () => {
  const usual = `${HEADER}${ANN}${BEN.replace('fine', 'fine'.repeat(40))}`
  const small = `${HEADER}${ANN}`
  /** Three exports of two rows have been run. */
  const open = async () => {
    const clinic = await openClinic({ startsAt: NOON, job: JOB })
    for (const [at, hours] of [75, 51, 27].entries())
      await deliver(clinic, `old${at}.csv`, DUE - hours * HOUR, usual)
    expect((await clinic.run('--quiet')).err).toMatch(NEW_LEDGER)
    return clinic
  }

  it('is told by the run that begins with it, and not again by when it had to be there', async () => {
    const clinic = await open()
    await deliver(clinic, 'b.csv', DUE - HOUR, small)
    const { err } = await clinic.run('--quiet')
    const sizes = { bytes: small.length, usual: usual.length }
    expect(err).toContain(`strangely small: b.csv has ${small.length} bytes, usually ${usual.length} bytes`)
    const [, notice, end] = await notices(clinic)
    expect([notice?.type, end?.type]).toEqual(['waybill.export-small', 'waybill.run-ended'])
    expect(notice?.data.title).toBe(
      `Waybill: clinic: b.csv has ${Math.round((small.length / usual.length) * 100)} % of the usual size`,
    )
    expect(notice?.data.details).toMatchObject({
      run: end?.data.details['run'],
      small: [{ name: 'b.csv', ...sizes }],
    })
    expect((await ask(clinic)).small).toEqual([{ name: 'b.csv', ...sizes }])
    expect((await told(clinic)).filter((kind) => kind === 'export-small')).toHaveLength(1)
  })

  it('that was told by when it had to be there is not told by its run', async () => {
    const clinic = await open()
    await deliver(clinic, 'b.csv', DUE - HOUR, small)
    await ask(clinic)
    expect(await told(clinic)).toEqual(['export-small'])
    expect((await clinic.run('--quiet')).err).toBe('')
    expect(await told(clinic)).toEqual(['export-small'])
  })

  it('is told once, however many runs read it', async () => {
    const clinic = await open()
    await clinic.workplace.job('clinic', JOB.replace('    archive: ../done\n', ''))
    await deliver(clinic, 'b.csv', DUE - HOUR, small)
    await clinic.run('--quiet')
    expect((await clinic.run('--quiet')).err).toBe('')
    expect(await told(clinic)).toEqual(['export-small'])
  })

  it('is small against what was run before, not against what its own run has taken', async () => {
    const clinic = await openClinic({ startsAt: NOON, job: JOB })
    for (const [at, hours] of [75, 51, 27].entries())
      await deliver(clinic, `old${at}.csv`, DUE - hours * HOUR, usual)
    await deliver(clinic, 'z.csv', DUE - HOUR, small)
    expect((await clinic.run('--quiet')).err).toMatch(NEW_LEDGER)
    expect(await told(clinic)).toEqual([])
  })
})

describe('waybill expect', () => {
  it('counts what runs have taken and archived, and what came since, each for one time alone', async () => {
    const clinic = await openClinic({ startsAt: NOON, job: JOB })
    for (const [at, hours] of [75, 51, 27].entries())
      await deliver(clinic, `old${at}.csv`, DUE - hours * HOUR)
    expect((await clinic.run()).code).toBe(0)
    expect(await ask(clinic)).toMatchObject({ exit: 1, state: 'missing', arrived: [], expected: 1 })
    await deliver(clinic, 'a.csv', DUE - HOUR)
    expect((await clinic.run()).code).toBe(0)
    // It is archived by now: the ledger knows of it.
    expect(await ask(clinic)).toMatchObject({
      exit: 0,
      state: 'late',
      due: new Date(DUE).toISOString(),
      arrived: [{ name: 'a.csv', late: false }],
      small: [],
    })
    await deliver(clinic, 'b.csv', DUE - HOUR, HEADER)
    const { exit, small } = await ask(clinic)
    expect([exit, small?.map(({ name }) => name)]).toEqual([1, ['b.csv']])
    expect(await told(clinic)).toEqual(['export-late', 'export-late', 'export-small'])
    // It was told.
    await ask(clinic)
    expect(await told(clinic)).toHaveLength(3)
  })

  it('prints what was expected and what is there, unless it is to be quiet', async () => {
    const clinic = await openClinic({
      startsAt: NOON,
      job: JOB.replace('match: "*.csv"', 'match: "a_{date:yyyyMMdd}.csv"'),
    })
    const { waybill } = clinic.workplace
    await deliver(clinic, 'a_20260301.csv', DUE - 30 * HOUR)
    const { code, out, err } = await waybill('expect')
    const shown = (at: number): string =>
      `${new Date(at).toUTCString().slice(0, 3)} ${new Date(at).toISOString().slice(0, 10)} 00:00 +00:00`
    expect(out).toBe(`clinic: missing: 0 of 1 export by ${shown(DUE)}
  Expected at least 1 export since ${shown(DUE - 24 * HOUR)}, at ${join(clinic.workplace.folder, 'inbox')}/a_{date:yyyyMMdd}.csv
  Due      ${new Date(DUE).toISOString().slice(0, 16).replace('T', ' ')} UTC (${shown(DUE)})
  Arrived  none
  Dates    latest: 2026-03-01
  Then     by ${shown(DUE + 24 * HOUR)}

`)
    expect([code, err]).toEqual([1, ''])
    // As it should be, it is silent.
    expect(await waybill('expect', '--quiet')).toEqual({ code: 1, out, err: '' })
    await deliver(clinic, 'a_20260302.csv', DUE - HOUR)
    expect(await waybill('expect', '--quiet')).toEqual({ code: 0, out: '', err: '' })
  })

  it('stands in what the schedule explains', async () => {
    const clinic = await openClinic({ startsAt: NOON, job: JOB })
    const { waybill } = clinic.workplace
    const next = new Date(DUE + 24 * HOUR).toISOString().slice(0, 10)
    const before = (await waybill('schedule', '--explain')).out
    expect(before).toContain('clinic: no schedule')
    expect(before).toContain(`${next} 00:00`)
    await waybill('expect', '--quiet')
    expect((await waybill('schedule', '--explain')).out).toContain('missing (0 of 1)')
    const { out } = await waybill('schedule', '--explain', 'clinic', '--json')
    expect(JSON.parse(out)).toMatchObject({
      jobs: [
        {
          expected: [
            {
              by: '0 0 * * *',
              last: { due: new Date(DUE).toISOString(), state: 'missing', expected: 1, arrived: 0 },
              next: { due: `${next}T00:00:00.000Z` },
            },
          ],
        },
      ],
    })
  })

  it('says what is wrong with the job, with line and example; the others are looked at', async () => {
    const clinic = await openClinic({ startsAt: NOON, job: JOB })
    const { workplace } = clinic
    await deliver(clinic, 'a.csv', DUE - HOUR)
    await workplace.job('wrong', JOB.replace('0 0 * * *', '0 25 * * *').replace('size: 50%', 'size: half'))
    const { code, out, err } = await workplace.waybill('expect', '--json')
    expect(code).toBe(2)
    expect(err).toMatch(/wrong\.yaml:7:.*its hour cannot be "25"; write it like "15 2 \* \* \*"/)
    expect(err).toMatch(/wrong\.yaml:7:.*must be a percentage from 0% to 100%, like 5%/)
    const { expectations } = Found.parse(JSON.parse(out))
    expect(expectations.map(({ job, state, error }) => [job, state, error !== undefined])).toEqual([
      ['clinic', 'arrived', false],
      ['wrong', undefined, true],
    ])
  })

  it('has nothing to say where nothing is expected', async () => {
    const clinic = await openClinic({ startsAt: NOON })
    const { waybill } = clinic.workplace
    expect((await waybill('expect')).out).toBe('No job expects exports. See docs/jobs.md, "Expected".\n')
    const { code, err } = await waybill('expect', 'clinic')
    expect(code).toBe(2)
    expect(err).toContain('the job clinic expects nothing')
    expect(err).toContain('expect: { by: "30 1 * * 1-5", zone: America/New_York }')
  })

  it('tells a source that nobody can look at as such', async () => {
    const clinic = await openClinic({ startsAt: NOON, job: JOB.replace('../inbox', '../elsewhere') })
    expect(await ask(clinic)).toMatchObject({ exit: 2, state: 'unreachable', error: 'export-unreadable' })
    expect(await told(clinic)).toEqual(['export-late'])
  })
})

test('a schedule looks by itself', async () => {
  const job = JOB.replace('by: "0 0 * * *", zone: Etc/UTC', 'by: "* * * * *"')
  const clinic = await openClinic({
    startsAt: NOON,
    job: `schedule: { cron: "0 0 1 1 *", zone: Etc/UTC }\n${job}`,
  })
  const { workplace } = clinic
  await writeFile(join(workplace.folder, 'told.txt'), '')
  const child = workplace.startFast(new Date(DUE - 10_000).toISOString(), 60, 'schedule')
  const over = ended(child)
  await new Promise<void>((resolve) => {
    child.stderr.on('data', (text: Buffer) => {
      if (text.toString().includes('0 of 1 export by')) resolve()
    })
  })
  child.kill('SIGTERM')
  expect(await over).toMatchObject({ code: 0 })
  expect(await told(clinic)).toContain('export-late')
})
