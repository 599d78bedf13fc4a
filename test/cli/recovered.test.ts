/** The first good run after bad ones is told to whom heard of a bad one last; the digest of a day counts both. */

import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Fault, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, HEADER, JOB } from './clinic.ts'
import { openNights } from './nights.ts'
import { scheduledNights, titlesOf } from './scheduled-nights.ts'

const wrong = (id: string): string => `${id},2026-03-02,61,5.1,70.5,parsec,fine\n`
const RECOVERED = 'waybill.job-recovered Waybill: clinic has recovered'

async function openOn(on: string) {
  let fault: Fault = PASS
  const nights = await openNights({ faultOf: () => fault })
  const archive = JOB.replaceAll('mapping: clinic }', 'mapping: clinic, archive: ../done }')
  await nights.workplace.job(
    'clinic',
    `${archive}drift: { fit: off }\nsubmit: { readLag: 100ms, patience: 1s }\nnotify: { webhook: "${nights.hook.url}/hook", on: ${on} }\n`,
  )
  return {
    ...nights,
    strike(next: Fault) {
      fault = next
    },
    /** Titles since the last look. */
    told: () => nights.hook.titles().splice(0),
  }
}

test.each(['failure', 'news'])(
  'on: %s: one notice after bad runs, none after good ones',

  async (on) => {
    const night = await openOn(on)
    await night.deliver('a.csv', HEADER + ANN)
    await night.run()
    expect(night.told()).toEqual([])
    for (const name of ['b', 'c']) {
      await night.deliver(`${name}.csv`, HEADER + wrong(name))
      expect((await night.run()).code).toBe(1)
    }
    const bad = night.told()
    expect(bad).toHaveLength(2)
    for (const name of ['d', 'e']) {
      await night.deliver(`${name}.csv`, HEADER + BEN.replace('ben', name))
      expect((await night.run()).code).toBe(0)
    }
    expect(night.told().slice(bad.length)).toEqual([RECOVERED])
    const [notice] = night.hook.received().slice(-1)
    expect(notice?.data).toMatchObject({ failure: false, job: 'clinic' })
    expect(notice?.data.text.at(-1)).toBe('    waybill needs --job clinic')
  },
)

test('on: always it comes beside the end of the run', async () => {
  const night = await openOn('always')
  await night.deliver('a.csv', HEADER + wrong('ann'))
  await night.run()
  await night.deliver('b.csv', HEADER + BEN)
  await night.run()
  await night.deliver('c.csv', HEADER + BEN.replace('ben', 'cid'))
  await night.run()
  const good = 'waybill.run-ended Waybill: clinic finished: all accounted for'
  expect(night.told().slice(1).sort()).toEqual([RECOVERED, good, good].sort())
})

test.each([
  [
    'a run that was stopped',
    async (night: Awaited<ReturnType<typeof openOn>>) => night.strike({ do: 'reset' }),
    3,
  ],
  [
    'a refused start',
    async (night: Awaited<ReturnType<typeof openOn>>) => {
      night.workplace.environment['WAYBILL_KEY'] = 'another key than before, quite another'
    },
    2,
  ],
] as const)('%s is a bad run, too', async (_, spoil, exit) => {
  const night = await openOn('failure')
  await night.deliver('a.csv', HEADER + ANN)
  await night.run()
  await night.deliver('b.csv', HEADER + BEN)
  await spoil(night)
  expect((await night.run()).code).toBe(exit)
  expect(night.told()).toHaveLength(1)
  night.strike(PASS)
  night.workplace.environment['WAYBILL_KEY'] = 'a key that stays the same'
  expect((await night.run()).code).toBe(0)
  expect(night.told().slice(1)).toEqual([RECOVERED])
})

test('a rerun that settles what was left behind is no run of the job', async () => {
  const night = await openOn('failure')
  await night.deliver('a.csv', HEADER + ANN + wrong('cid'))
  await night.run()
  const { run } = JSON.parse((await night.look('show', '--json')).out)
  await night.look('rerun', run)
  expect(night.told().filter((title) => title.includes('recovered'))).toEqual([])
})

const Digest = z.object({
  data: z.object({
    title: z.string(),
    failure: z.boolean(),
    text: z.array(z.string()),
    details: z.object({
      since: z.string(),
      failed: z.array(z.string()),
      ended: z.array(z.string()),
      needs: z.array(z.looseObject({ cause: z.string(), jobs: z.array(z.string()) })),
    }),
  }),
})

test('the digest of the day: what failed, what ended by itself, what needs somebody; each target once', async () => {
  let fault: Fault = { do: 'reset' }
  const nights = await openNights({ faultOf: () => fault })
  const { workplace, hook } = nights
  const job = (name: string, more: string): Promise<void> =>
    workplace.job(
      name,
      `exports: { from: ../${name}, match: "*.csv", mapping: clinic }
accounts: { register: never }
drift: { fit: off }
submit: { readLag: 100ms, patience: 1m }
schedule: { cron: "15 2 * * *", zone: America/New_York${more} }
notify: { webhook: "${hook.url}/hook", on: always }
`,
    )
  // In New York 03:00 is 08:00 UTC in winter; one job has a try left when the gateway is back, one has not.
  await job('clinic', ', digest: "03:00"')
  await job('north', ', digest: "03:00", retry: { every: 15m, until: "06:00" }')
  const { mkdir, writeFile } = await import('node:fs/promises')
  for (const name of ['clinic', 'north']) {
    await mkdir(`${workplace.folder}/${name}`)
    await writeFile(`${workplace.folder}/${name}/a.csv`, HEADER + ANN.replace('ann', name))
  }
  await writeFile(`${workplace.folder}/clinic/b.csv`, HEADER + wrong('cid'))
  const schedule = scheduledNights(workplace)
  await schedule.keep('2027-03-02T07:10Z', '2027-03-02T08:05Z', (now) => {
    if (now >= '2027-03-02T07:30') fault = PASS
  })
  await schedule.keep('2027-03-02T08:06Z', '2027-03-02T08:10Z')
  const digests = hook.seen
    .filter(({ body }) => JSON.parse(body).type === 'waybill.digest')
    .map(({ body }) => Digest.parse(JSON.parse(body)).data)
  expect(digests.map(({ title }) => title)).toEqual([
    'Waybill: 1 failed, 0 ended by themselves since, 1 needs you: clinic stopped before the end (gateway-unreachable)',
  ])
  expect(digests[0]).toMatchObject({
    failure: true,
    details: {
      since: '2027-03-01T08:00:00.000Z',
      failed: ['clinic'],
      ended: [],
      needs: [{ cause: 'run-unfinished', jobs: ['clinic'] }],
    },
  })
  // The next night goes on with it, and the digest after that says so.
  await writeFile(`${workplace.folder}/clinic/b.csv`, HEADER + BEN)
  await schedule.keep('2027-03-03T07:10Z', '2027-03-03T08:05Z')
  expect(
    titlesOf(hook)
      .filter((title) => title.startsWith('waybill.digest'))
      .slice(1),
  ).toEqual(['waybill.digest Waybill: nothing failed, nothing needs you'])
})
