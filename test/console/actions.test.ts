import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { ACTION_COMMANDS, type ActionName, actionOf, commandOf } from '../../src/console/typed-commands.ts'
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
    60_000,
  )

  const third = await inDoubt()
  const resent = await third.visitor.post('/do/resend', { csrf: third.visitor.csrf, run: third.run })
  expect(resent.status).toBe(303)
  await vi.waitFor(
    async () => expect((await third.visitor.get('/')).text).toContain('Nothing needs you'),
    60_000,
  )
  // A last look has found them: nothing is there twice.
  expect(await third.clinic.stored()).toEqual(GOOD)
})

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
})

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
    60_000,
  )
  const database = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'), { readOnly: true })
  await vi.waitFor(
    () =>
      expect(database.prepare('select stop_by is not null as is_asked from run').all()).toEqual([
        { is_asked: 1 },
      ]),
    60_000,
  )
  database.close()
  // The run looks once a second.
  const asked = Date.now()
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(asked + 2 * LOOK_EVERY_MS), 60_000)
  hold.resolve()
  expect((await stopping).headers.location).toBe(`/runs/${run}`)
  expect((await running).code).toBe(130)
  expect(await stateOf(visitor, run)).toMatchObject({ state: 'interrupted', reason: 'asked-to-stop' })

  expect((await visitor.get(`/runs/${run}`)).text).toContain(`/do/give-up?run=${run}`)
  await visitor.post('/do/give-up', { csrf, run })
  expect(await stateOf(visitor, run)).toMatchObject({ state: 'failed', reason: 'given-up' })
})

test('commands and actions are the same, both ways, or there is no action', () => {
  const commands = [
    'waybill acknowledge --job nightly --reason value-not-a-number',
    'waybill acknowledge RUN-1 --undo',
    "waybill put-aside 'a day.csv' --job nightly --reason 'the vendor sends a new one'",
    'waybill put-aside day.csv --undo',
    'waybill pause nightly --until 06:00',
    'waybill run nightly --dry-run',
    'waybill run nightly --accept-drift',
    'waybill resume nightly --backfill',
    'waybill rerun --reason unit-unknown --since 7d',
    'waybill reconcile RUN-1 --verify --sample 5%',
    'waybill resolve RUN-1 --accept --transaction T-1',
    'waybill backfill nightly --from 2026-03-01 --to 2026-03-31 --rate 0.5',
    'waybill notify nightly',
    'waybill expect nightly',
    'waybill stop RUN-1',
  ]
  for (const command of commands) {
    const to = new URL(actionOf(command)?.to ?? '', 'http://console')
    const action = to.pathname.replace('/do/', '') as ActionName
    expect(Object.keys(ACTION_COMMANDS)).toContain(action)
    expect(commandOf(action, Object.fromEntries(to.searchParams))).toBe(command)
  }
  // Files of the machine, and words that are understood in part, have no action.
  for (const command of [
    'waybill run nightly --file day.csv',
    'waybill rerun RUN-1 --reason unit-unknown',
    'waybill run nightly; waybill prune',
    'waybill accounts erase --file x.csv',
    'waybill backup FILE',
  ])
    expect(actionOf(command)).toBeUndefined()
})

test('several runs are chosen, shown and acknowledged at once; the page names what is missing', async () => {
  const { clinic, run, visitor } = await inDoubt()
  const { csrf, get, post } = visitor
  const open = await get('/do/rerun')
  expect(open.text).toContain('<details class="options" open>')
  expect(open.text).not.toContain('class="does"')
  expect((await post('/do/rerun', { csrf })).status).toBe(400)
  expect((await post('/do/rerun', { csrf, job: 'clinic', since: 'yesterday' })).status).toBe(400)
  expect((await get('/do/reconcile?job=clinic&reason=none')).text).toContain('All runs of clinic so far')

  const shown = await get('/do/reconcile?job=clinic&since=1d')
  expect(shown.text).toContain('<pre>waybill reconcile --job clinic --since 1d</pre>')
  expect(shown.text).toContain('1 run of clinic: profiles are read')
  const dry = await clinic.workplace.waybill(
    ...['reconcile', '--job', 'clinic', '--since', '1d', '--dry-run', '--json'],
  )
  expect(JSON.parse(dry.out).runs).toMatchObject([{ run }])
  await post('/do/reconcile', { csrf, job: 'clinic', since: '1d', verify: 'yes' })
  await vi.waitFor(
    async () =>
      expect((await get('/')).text).toContain('6 records found, 0 missing, 0 still in doubt; compared:'),
    60_000,
  )

  // A withdrawn acknowledgement needs somebody again.
  await clinic.deliver('bad.csv', `${HEADER}${ANN.replace(/,\d+,/, ',high,')}`)
  const { run: bad } = JSON.parse((await clinic.run()).out)
  expect(await post('/do/acknowledge', { csrf, run: bad })).toMatchObject({ status: 303 })
  expect((await get('/')).text).toContain('Nothing needs you')
  expect((await get(`/runs/${bad}`)).text).toContain(`/do/undo-acknowledge?run=${bad}`)
  await post('/do/undo-acknowledge', { csrf, run: bad })
  expect((await get('/')).text).toContain('1 of 1 job needs you')
})

test('a pause gets its end, a dry run sends nothing, and an export is put aside and read again', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const visitor = await enter(await serve(clinic.workplace))
  const { csrf, get, post } = visitor
  expect((await get('/do/pause?job=clinic&until=2h')).text).toContain(
    '<pre>waybill pause clinic --until 2h</pre>',
  )
  await post('/do/pause', { csrf, job: 'clinic', until: '2h', note: 'the vendor moves' })
  const { jobs } = JSON.parse(
    (await clinic.workplace.waybill('schedule', '--explain', 'clinic', '--json')).out,
  )
  expect(jobs[0].paused).toMatchObject({ note: 'the vendor moves', until: expect.any(String) })
  expect((await post('/do/pause', { csrf, job: 'clinic', until: 'later' })).status).toBe(400)

  await post('/do/count', { csrf, job: 'clinic' })
  await vi.waitFor(
    async () => expect((await get('/')).text).toContain('Dry run of clinic: 1 export, 2 rows, 2 mapped'),
    60_000,
  )
  expect(await clinic.stored()).toEqual([])
  expect((await post('/do/resume', { csrf, job: 'clinic' })).status).toBe(409)

  await clinic.deliver('empty.csv', 'no,column\n1,2\n')
  await clinic.run()
  await post('/do/put-aside', { csrf, job: 'clinic', export: 'empty.csv' })
  const aside = await get('/')
  expect(aside.text).toContain('<h2>Put aside ')
  expect(aside.text).toContain('/do/put-back?export=empty.csv&amp;job=clinic')
  await post('/do/put-back', { csrf, job: 'clinic', export: 'empty.csv' })
  expect((await get('/')).text).not.toContain('<h2>Put aside ')
  const { audit } = JSON.parse((await clinic.workplace.waybill('audit', '--json')).out)
  expect(audit.map(({ action }: { action: string }) => action)).toEqual([
    'pause',
    'put-aside',
    'undo-put-aside',
  ])
  const notified = await post('/do/notify', { csrf, job: 'clinic' })
  expect(notified.status).toBe(400)
  expect(notified.text).toContain('has no target for notifications')
})
