/** Nights on which the same rows are rejected again: what is new of them, on every face. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ANN, BEN, between, type Clinic, HEADER, JOB, openClinic } from './clinic.ts'
import type { Ended } from './command-line.ts'

const CID = 'cid,2026-03-02,63,5.3,72.5,furlong,\n'
const DOT = 'dot,2026-03-02,64,5.4,73.5,furlong,\n'
const EVE = 'eve,2026-03-02,630,5.5,74.5,kg,\n'

const Told = z.object({
  type: z.string(),
  data: z.looseObject({ title: z.string(), text: z.array(z.string()), details: z.unknown() }),
})

/** Commands that write down what they are told, by when they want it. */
const tellers = (...wanted: string[]): string =>
  `notify:\n${wanted.map((on) => `  - { command: "cat >> ${on}.txt; echo >> ${on}.txt", on: ${on} }\n`).join('')}`

/** What was told so far to the one that wants it so. */
async function toldTo(on: string, { workplace: { folder } }: Clinic): Promise<z.infer<typeof Told>[]> {
  const text = await readFile(join(folder, 'jobs', `${on}.txt`), 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Told.parse(JSON.parse(line)))
}

test('what is known is told apart from what is new, and who wants news alone is told of that', async () => {
  const clinic = await openClinic({ job: `${JOB}${tellers('failure', 'news')}` })
  const { workplace } = clinic
  /** Runs at 02:15 UTC of the day. @returns what was told that night: `target title` */
  const night = async (day: number): Promise<{ run: Ended; told: string[] }> => {
    const all = async (): Promise<string[]> => {
      const titles = async (on: string) => (await toldTo(on, clinic)).map(({ data }) => `${on} ${data.title}`)
      return [...(await titles('failure')), ...(await titles('news'))]
    }
    const before = await all()
    const run = await workplace.waybillAt(`2100-11-${day}T02:15:00Z`, 'run', 'clinic')
    return { run, told: (await all()).filter((one) => !before.includes(one)) }
  }
  const shown = async () => ({
    text: (await workplace.waybill('show')).out,
    json: JSON.parse((await workplace.waybill('show', '--json')).out),
  })
  const page = async (name: string): Promise<string> => {
    const file = join(workplace.folder, name)
    expect((await workplace.waybill('report', '--out', file)).code).toBe(0)
    return (await readFile(file, 'utf8')).replace(/<[^>]+>/g, '')
  }
  const title = (words: string): string => `Waybill: clinic finished with ${words}`

  await clinic.deliver('first.csv', `${HEADER}${ANN}${CID}${DOT}`)
  const first = await night(19)
  expect(first.run.code).toBe(1)
  expect(first.told).toEqual(['failure', 'news'].map((on) => `${on} ${title('2 rejected records')}`))
  expect(first.run.out).not.toContain('known since')
  expect((await shown()).json).toMatchObject({ leftBehind: { new: 2, known: 0 }, reasons: [{ known: 0 }] })
  expect(await page('first.html')).not.toContain('known since')

  const second = await night(20)
  expect(second.run.code).toBe(1)
  expect(second.told).toEqual([`failure ${title('2 rejected records, none new')}`])
  const latest = (await toldTo('failure', clinic)).at(-1)
  expect(latest?.data).toMatchObject({
    known: true,
    details: { leftBehind: { new: 0, known: 2 }, reasons: [{ count: 2, known: 2 }] },
  })
  const none = '0, known 2 (since 2100-11-19)'
  const reason = '2 known since 2100-11-19'
  expect(latest?.data.text).toContain(`New      ${none}`)
  expect(latest?.data.text).toContain(`Reason   2 rejected, ${reason}: unit-unknown at body-weight`)
  const again = await shown()
  for (const text of [second.run.out, again.text]) {
    expect(text).toContain(`\nNew      ${none}\n`)
    expect(text).toMatch(new RegExp(`^ +2 +rejected, ${reason} +unit-unknown +body-weight`, 'm'))
  }
  expect(again.json).toMatchObject({
    leftBehind: { new: 0, known: 2, since: expect.stringMatching(/^2100-11-19T02:15/) },
    reasons: [{ count: 2, known: 2, knownSince: expect.stringMatching(/^2100-11-19T02:15/) }],
  })
  const report = await page('second.html')
  expect(report).toContain(`New: ${none}.`)
  expect(report).toContain(`rejected, transform, ${reason}`)

  await clinic.deliver('second.csv', `${HEADER}${BEN}${EVE}`)
  const third = await night(21)
  expect(third.told).toEqual(['failure', 'news'].map((on) => `${on} ${title('3 rejected records, 1 new')}`))
  expect(third.run.out).toContain('\nNew      1, known 2 (since 2100-11-19)\n')
  expect((await shown()).json).toMatchObject({ leftBehind: { new: 1, known: 2 } })

  // The first file is corrected; what is left is known since the night before.
  await clinic.deliver('first.csv', `${HEADER}${ANN}${CID}${DOT}`.replaceAll('furlong', 'kg'))
  const fourth = await night(22)
  expect(fourth.told).toEqual([`failure ${title('1 rejected record, none new')}`])
  expect(fourth.run.out).toContain('\nNew      0, known 1 (since 2100-11-21)\n')

  // Pruned behind it, it knows since when; the latest pruned too, nothing is known any more.
  const prune = (instant: string) => workplace.waybillAt(instant, 'prune', '--older-than', '12h')
  expect((await prune('2100-11-22T12:00:00Z')).code).toBe(0)
  const fifth = await night(23)
  expect(fifth.run.out).toContain('\nNew      0, known 1 (since 2100-11-21)\n')
  expect((await prune('2100-11-24T12:00:00Z')).code).toBe(0)
  expect((await shown()).json).not.toHaveProperty('leftBehind')
  expect((await night(25)).told).toEqual(
    ['failure', 'news'].map((on) => `${on} ${title('1 rejected record')}`),
  )
})

test('an export that cannot be read is news each night, beside what is known', async () => {
  const clinic = await openClinic({ job: `${JOB}${tellers('news')}` })
  const { workplace } = clinic
  await clinic.deliver('day.csv', between(CID))
  await clinic.deliver('empty.csv', HEADER)
  for (const day of [19, 20])
    expect((await workplace.waybillAt(`2100-11-${day}T02:15:00Z`, 'run', 'clinic')).code).toBe(1)
  const unsent = 'Waybill: clinic finished with 1 export not sent; 1 rejected record'
  expect((await toldTo('news', clinic)).map(({ data }) => data.title)).toEqual([
    unsent,
    `${unsent}, none new`,
  ])
})
