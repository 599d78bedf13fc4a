import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { actionOf } from '../../src/console/typed-commands.ts'
import { LOOK_EVERY_MS } from '../../src/run/lease.ts'
import { ANN, BEN, GOOD, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { ended } from '../cli/command-line.ts'
import { openFaultyClinic, runInDoubt } from '../cli/left-behind.ts'
import { delivery } from '../cli/nights.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { enter, serve, type Visitor } from './console-under-test.ts'

const stateOf = async ({ get }: Visitor, run: string) => JSON.parse((await get(`/runs/${run}?json`)).text)

/** A run with six records in doubt, which the gateway has. */
async function inDoubt() {
  const clinic = await openFaultyClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const { run } = await runInDoubt(clinic, 'pass-then-reset')
  return { clinic, run, visitor: await enter(await serve(clinic.workplace)) }
}

test('records in doubt are accepted, looked up, or sent again', async () => {
  const first = await inDoubt()
  await first.visitor.post('/do/accept', { csrf: first.visitor.csrf, run: first.run, note: 'they are there' })
  expect(await stateOf(first.visitor, first.run)).toMatchObject({
    records: { biometric: { accepted: 6, inDoubt: 0 } },
    decided: [{ decision: 'accept', note: 'they are there' }],
  })

  const second = await inDoubt()
  await second.visitor.post('/do/reconcile', { csrf: second.visitor.csrf, run: second.run })
  await vi.waitFor(
    async () =>
      expect(await stateOf(second.visitor, second.run)).toMatchObject({
        records: { biometric: { accepted: 6, inDoubt: 0 } },
      }),
    20_000,
  )

  const third = await inDoubt()
  const resent = await third.visitor.post('/do/resend', { csrf: third.visitor.csrf, run: third.run })
  expect(resent.status).toBe(303)
  await vi.waitFor(
    async () => expect((await third.visitor.get('/')).text).toContain('Nothing needs you'),
    20_000,
  )
  // A last look has found them: nothing is there twice.
  expect(await third.clinic.stored()).toEqual(GOOD)
}, 120_000)

test('each action that a page suggests shows the command beside it', async () => {
  const { run, visitor } = await inDoubt()
  const commands = new Set<string>()
  for (const path of ['/', `/runs/${run}`]) {
    const { text } = await visitor.get(path)
    for (const [, block = ''] of text.matchAll(/<pre>(waybill [^<]*)<\/pre>/g))
      for (const command of block.split('\n')) commands.add(command)
  }
  const done = [...commands].flatMap((command) => {
    const link = actionOf(command)
    return link === undefined ? [] : [{ command, to: link.to }]
  })
  expect(done.length).toBeGreaterThan(2)
  for (const { command, to } of done) expect((await visitor.get(to)).text).toContain(`<pre>${command}</pre>`)
}, 60_000)

test('a run of another process is stopped, and given up', async () => {
  let batches = 0
  const hold = Promise.withResolvers<void>()
  const clinic = await openClinic({
    job: `${JOB}submit: { concurrency: 1, readLag: 100ms }\n`,
    async faultOf({ method }) {
      if (method === 'POST' && ++batches >= 3) await hold.promise
      return PASS
    },
  })
  await clinic.deliver('day.csv', delivery('p', 2_000))
  const running = ended(clinic.workplace.start('run', 'clinic', '--json', '--quiet'))
  await vi.waitFor(() => expect(batches).toBeGreaterThanOrEqual(3), 60_000)
  const visitor = await enter(await serve(clinic.workplace))
  const { text } = await visitor.get('/')
  const [, run = ''] = /id="under-way"[\s\S]*?href="\/runs\/([^"]+)"/.exec(text) ?? []
  expect((await visitor.get(`/runs/${run}`)).text).toContain(`/do/stop?run=${run}`)
  const { csrf } = visitor
  const stopping = visitor.post('/do/stop', { csrf, run })
  await vi.waitFor(
    async () => expect((await visitor.get('/')).text).toContain(`<code>waybill stop ${run}</code>`),
    20_000,
  )
  const database = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'), { readOnly: true })
  await vi.waitFor(
    () =>
      expect(database.prepare('select stop_by is not null as is_asked from lease').all()).toEqual([
        { is_asked: 1 },
      ]),
    20_000,
  )
  database.close()
  // The run looks once a second.
  const asked = Date.now()
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(asked + 2 * LOOK_EVERY_MS), 20_000)
  hold.resolve()
  expect((await stopping).headers.location).toBe(`/runs/${run}`)
  expect((await running).code).toBe(130)
  expect(await stateOf(visitor, run)).toMatchObject({ state: 'interrupted', reason: 'asked-to-stop' })

  expect((await visitor.get(`/runs/${run}`)).text).toContain(`/do/give-up?run=${run}`)
  await visitor.post('/do/give-up', { csrf, run })
  expect(await stateOf(visitor, run)).toMatchObject({ state: 'failed', reason: 'given-up' })
}, 120_000)
