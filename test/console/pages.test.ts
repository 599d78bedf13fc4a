import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { ask, deliver, enter, NIGHTLY, openInstallation, serve, type Visitor } from './console-under-test.ts'
import { DAYS, DOUBTFUL_DAY, nameOf, openWeek, UNREAD_DAY } from './week.ts'

const jsonOf = async ({ get }: Visitor, path: string): Promise<unknown> =>
  JSON.parse((await get(`${path}${path.includes('?') ? '&' : '?'}json`)).text)

const Doubts = z.object({
  runs: z.array(
    z.object({
      run: z.string(),
      records: z.array(z.looseObject({ transactionId: z.string(), rule: z.string() })),
    }),
  ),
})

test('records in doubt show the request that sent them, and one of them is accepted by itself', async () => {
  const week = await openWeek()
  const visitor = await enter(await serve(week.workplace))
  const { text } = await visitor.get('/in-doubt')
  expect(text).toContain('Records of 1 run are in doubt')
  // Nobody answered: there is no status to name.
  expect(text).not.toMatch(/HTTP (null|undefined)/)
  for (const action of ['reconcile', 'accept', 'resend'])
    expect(text).toContain(`/do/${action}?run=${week.doubtful}"`)
  const page = (await visitor.get(`/runs/${week.doubtful}`)).text
  for (const words of ['Rerun', 'Acknowledge', 'Reconcile', 'Accept', 'Resend'])
    expect(page).toContain(`>${words}</a>`)
  const { runs } = Doubts.parse(await jsonOf(visitor, '/in-doubt'))
  expect(runs.map(({ run }) => run)).toEqual([week.doubtful])
  // Three measurements of forty people, in one batch that was never answered.
  expect(runs[0]?.records).toHaveLength(120)
  const database = new DatabaseSync(join(week.workplace.home, 'ledger.sqlite'), { readOnly: true })
  const batches = database
    .prepare('select batch_id from batch join export on export.id = export_row where run_id = ?')
    .all(week.doubtful)
    .map(({ batch_id }) => batch_id)
  database.close()
  for (const record of runs[0]?.records ?? []) {
    expect(record).toMatchObject({ export: nameOf(DOUBTFUL_DAY), look: 'unreadable' })
    expect(batches).toContain(
      z.object({ sent: z.object({ batchId: z.string() }) }).parse(record).sent.batchId,
    )
  }

  const transaction = runs[0]?.records[0]?.transactionId ?? ''
  const proposed = await visitor.get(`/do/resend?run=${week.doubtful}&transaction=${transaction}`)
  expect(proposed.text).toContain(
    `<pre>waybill resolve ${week.doubtful} --resend --transaction ${transaction}</pre>`,
  )
  expect(proposed.text).toContain('Risk: ')
  await visitor.post('/do/accept', { csrf: visitor.csrf, run: week.doubtful, transaction })
  const after = Doubts.parse(await jsonOf(visitor, '/in-doubt')).runs[0]?.records ?? []
  expect(after).toHaveLength(119)
  expect(after.map(({ transactionId }) => transactionId)).not.toContain(transaction)

  await visitor.post('/do/reconcile', { csrf: visitor.csrf, run: week.doubtful })
  await vi.waitFor(
    async () => expect((await visitor.get('/in-doubt')).text).toContain('No record is in doubt'),
    60_000,
  )
})

test('exports show rows, empty values and medians by night', async () => {
  const week = await openWeek()
  const visitor = await enter(await serve(week.workplace))
  const shown = z
    .object({
      exports: z.array(
        z.looseObject({
          export: z.string(),
          empty: z.record(z.string(), z.number()).optional(),
          medians: z.record(z.string(), z.number()).optional(),
        }),
      ),
    })
    .parse(await jsonOf(visitor, '/exports?job=clinic'))
  // Each run reads the exports of earlier nights again: they are listed once.
  expect(shown.exports.map((one) => one.export)).toEqual([DOUBTFUL_DAY, ...DAYS.toReversed()].map(nameOf))
  for (const one of shown.exports) {
    expect(one).toMatchObject({ rows: { read: 40, skipped: 0, rejected: 0 }, state: 'finished' })
    // Four of forty remarks are empty.
    expect(one.empty).toMatchObject({ remark: 0.1, pulse: 0 })
  }
  // The pulse is the day and 50 to 58, most often the lower ones: its median rises by one each day.
  const medians = shown.exports.map(({ medians: all }) => all?.['heart-rate'] ?? 0)
  expect(medians.map((median, at) => median - (medians.at(-1) ?? 0) - (at === 0 ? 3 : 2 - (at - 1)))).toEqual(
    [0, 0, 0, 0],
  )
  const { text } = await visitor.get('/exports')
  expect(text).toContain('Exports of clinic')
  expect(text).toContain('10 %')
})

test('the plan of a backfill is a calendar, and a backfill shows its progress', async () => {
  const week = await openWeek()
  const visitor = await enter(await serve(week.workplace))
  const path = `/backfill?job=clinic&from=${DAYS[0]}&to=${UNREAD_DAY}`
  const { text } = await visitor.get(path)
  expect(text).toContain('2026-03-02: delivered before')
  expect(text).toContain('2026-03-07: to be read')
  expect(text).toContain('2026-03-06: no export')
  expect(text).toContain(`/do/backfill?job=clinic&amp;from=${DAYS[0]}&amp;to=${UNREAD_DAY}`)
  const { out } = await week.workplace.waybill(
    ...['backfill', 'clinic', '--from', DAYS[0], '--to', UNREAD_DAY, '--dry-run', '--json', '--quiet'],
  )
  const timeless = z.looseObject({ estimate: z.unknown() })
  const { estimate: _, ...planned } = timeless.parse(JSON.parse(out))
  expect(timeless.parse(await jsonOf(visitor, path))).toMatchObject(planned)

  const begun = await visitor.post('/do/backfill', {
    csrf: visitor.csrf,
    job: 'clinic',
    from: DAYS[0],
    to: UNREAD_DAY,
  })
  expect(begun.status).toBe(303)
  await vi.waitFor(async () => {
    const { backfills } = z
      .object({ backfills: z.array(z.looseObject({ state: z.string(), rows: z.number() })) })
      .parse(await jsonOf(visitor, '/backfill'))
    expect(backfills).toMatchObject([
      { state: 'finished', rows: 200, backfill: { from: DAYS[0], to: UNREAD_DAY } },
    ])
  }, 60_000)
  const { text: done } = await visitor.get('/backfill')
  expect(done).toContain('2026-03-07: read to the end')
  expect(done).toContain('5 of 5 begun exports read to the end, 200 rows settled')
  // A day that is none is said on the page.
  expect((await visitor.get('/backfill?job=clinic&from=2026-02-30&to=2026-03-01')).text).toContain(
    'no day of the calendar',
  )
})

test('a mapping shows its changes since the run, and their effect; rows need a role', async () => {
  const week = await openWeek()
  const plain = await enter(await serve(week.workplace))
  const { text } = await plain.get('/mappings/clinic')
  expect(text).toContain('<span class="removed">-   hba1c: &quot;a1c&quot;</span>')
  expect(text).not.toContain('/rows?')
  const { compared, sample } = z
    .object({ compared: z.unknown(), sample: z.object({ exportRow: z.number() }) })
    .parse(await jsonOf(plain, '/mappings/clinic'))
  // Forty records of the removed rule are missing; another spelling changes nothing.
  expect(compared).toEqual({
    rows: { read: 40, different: 40 },
    outcomes: [],
    rules: { hba1c: { added: 0, removed: 40, changed: 0, reason: 0 } },
  })
  const rows = `/mappings/clinic/rows?export=${sample.exportRow}`
  const refused = await plain.get(rows)
  expect(refused.status).toBe(403)
  expect(refused.text).not.toContain('p1')

  const seeing = await enter(await serve(week.workplace, ['--health-data']))
  expect((await seeing.get('/mappings/clinic')).text).toContain(rows)
  const seen = await seeing.get(rows)
  expect(seen.text).toContain('<h2>Row 1 ')
  expect(seen.text).toContain('partnerAccountId p0')
  const { audit } = JSON.parse((await week.workplace.waybill('audit', '--json')).out)
  expect(audit).toMatchObject([{ action: 'see-values', run: week.doubtful, subject: nameOf(DOUBTFUL_DAY) }])
  // Each row as `mapping preview` prints it.
  const previewed = await week.workplace.waybill(
    ...['mapping', 'preview', 'clinic', `inbox/${nameOf(DOUBTFUL_DAY)}`, '--limit', '20', '--json'],
  )
  expect(await jsonOf(seeing, rows)).toEqual({
    rows: previewed.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  })
  expect((await plain.get('/mappings/none')).status).toBe(404)
  expect((await plain.get('/mappings/..%2Fjobs%2Fclinic')).status).toBe(404)
  expect((await ask(`${(await serve(week.workplace)).base}${rows}`)).status).toBe(401)
})

test('the JSON of each page is that of its command', async () => {
  const { workplace, doubtful } = await openWeek({ WAYBILL_LOG_FILE: 'log' })
  const visitor = await enter(await serve(workplace, ['--health-data']))
  const said = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await workplace.waybill(...args, '--json')).out)
  const code = 'in-doubt'
  const pages = {
    '/in-doubt': ['in-doubt'],
    '/exports?job=clinic': ['exports', 'clinic'],
    '/mappings': ['mapping', 'list'],
    '/mappings/clinic': ['mapping', 'show', 'clinic'],
    [`/runs/${doubtful}/log`]: ['logs', doubtful],
    [`/runs/${doubtful}/reasons/${code}`]: ['show', doubtful, '--reason', code],
    [`/runs/${doubtful}/reasons/${code}/values`]: ['show', doubtful, '--reason', code, '--values'],
  }
  for (const [path, command] of Object.entries(pages)) {
    const shown = await jsonOf(visitor, path)
    expect({ path, shown }).toEqual({ path, shown: await said(...command) })
    expect(JSON.stringify(shown).length).toBeGreaterThan(40)
  }
  expect((await visitor.get('/mappings')).text).toMatch(
    /<a href="\/mappings\/clinic">clinic<\/a>.*clinic.*✓ valid/s,
  )
  expect((await workplace.waybill('mapping', 'show', 'clinic')).out).toContain('hba1c: 0 added, 40 removed')
  await workplace.waybill('backfill', 'clinic', '--from', DAYS[0], '--to', UNREAD_DAY, '--quiet')
  const begun = await said('backfills')
  expect(await jsonOf(visitor, '/backfill')).toEqual(begun)
  expect(begun).toMatchObject({ backfills: [{ rows: 200 }] })
  const Checks = z.object({
    exit: z.number(),
    findings: z.array(z.object({ check: z.string(), level: z.string() })),
  })
  expect(Checks.parse(await jsonOf(visitor, '/system'))).toEqual(Checks.parse(await said('doctor')))
  const { out } = await workplace.waybill('show', doubtful, '--reason', code)
  expect(out).toContain('heart-rate')
  expect((await workplace.waybill('in-doubt')).out).toContain(`waybill reconcile ${doubtful}`)
  expect((await workplace.waybill('show', doubtful, '--values')).code).toBe(2)
})

test('the schedule is a calendar, and a try to come is counted down', async () => {
  const { workplace, run } = await openInstallation()
  const noon = Date.parse('2027-03-10T12:00:00Z')
  const fires = [
    ['2027-03-07T07:15:00Z', 'ended', 0, null],
    ['2027-03-08T07:15:00Z', 'ended', 1, null],
    ['2027-03-09T07:15:00Z', 'skipped', null, null],
    ['2027-03-10T07:15:00Z', 'retrying', 3, noon + 150_000],
  ] as const
  const database = new DatabaseSync(join(workplace.home, 'ledger.sqlite'))
  for (const [due, state, exit, retryAt] of fires)
    database
      .prepare(
        'insert into fire (job_id, due, state, exit, retry_at, error) select id, ?, ?, ?, ?, ? from job where name = ?',
      )
      .run(Date.parse(due), state, exit, retryAt, exit === 3 ? 'gateway-unreachable' : null, 'nightly')
  database.close()
  const visitor = await enter(await serve(workplace, [], { now: () => noon }))
  const { text } = await visitor.get('/schedule')
  for (const words of [
    '2027-03-07: ran, all accounted for',
    '2027-03-08: left something behind',
    '2027-03-09: missed',
    '2027-03-10: not ended',
    '2027-03-11: to come',
    '2027-03-24: to come',
    '2027-02-11: no fire',
  ])
    expect(text).toContain(`<span class="hidden">${words}</span>`)
  expect(text).not.toContain('2027-03-25')
  const morning = await visitor.get('/')
  expect(morning.text).toContain('<h2>Waiting for the gateway</h2>')
  expect(morning.text).toMatch(
    /gateway-unreachable\. The schedule tries again at <time [^>]*>Wed 2027-03-10 12:02:30 UTC<\/time> <span class="soft" data-until="2027-03-10T12:02:30.000Z">\(in 2 min 30 s\)/,
  )
  expect(run).not.toBe('')
})

test('System shows locks, notices that were not delivered, and the audit', async () => {
  const refused = createServer((_, response) => response.writeHead(500).end())
  refused.listen(0, '127.0.0.1')
  await once(refused, 'listening')
  onTestFinished(() => void refused.close())
  const { port } = z.object({ port: z.number() }).parse(refused.address())
  const { workplace, run } = await openInstallation()
  const hook = `notify: { webhook: "http://127.0.0.1:${port}/hook", on: always }`
  await workplace.job('nightly', `${NIGHTLY}${hook}\n`)
  await workplace.waybill('acknowledge', run, '--by', 'olga', '--note', 'the <b>vendor</b> knows')
  await deliver(workplace, 'acme_20260205.csv', 'Q')
  await workplace.waybill('run', 'nightly', '--quiet')
  const database = new DatabaseSync(join(workplace.home, 'ledger.sqlite'))
  database.exec("update notification set state = 'given-up'")
  database.close()
  const server = `host: 127.0.0.1, port: ${port}, user: u, folder: in, hostKey: "SHA256:${'A'.repeat(43)}"`
  await workplace.job(
    'collecting',
    `people: known\ncollect: { what: [biometrics] }\nto: { sftp: { ${server} }, format: csv }\n`,
  )
  const { text } = await (await enter(await serve(workplace))).get('/system')
  expect(text).toContain('not checked (--sources checks it)')
  expect(text).toContain('No run holds a job.')
  expect(text).toMatch(/check<[\s\S]*level<[\s\S]*found<[\s\S]*what to do</)
  expect(text).toMatch(/nightly<\/th>[\s\S]*× given up[\s\S]*\/do\/notify\?job=nightly/)
  expect(text).toMatch(/olga[\s\S]*acknowledge[\s\S]*the &lt;b&gt;vendor&lt;\/b&gt; knows/)
})
