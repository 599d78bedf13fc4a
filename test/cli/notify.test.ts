/** Who is told of runs: by the command line, with real receivers. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import PostalMime from 'postal-mime'
import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { type HookServer, SECRET, startHookServer } from '../notify/hook-server.ts'
import { startMailServer } from '../notify/mail-server.ts'
import { ANN, BEN, between, type Clinic, GOOD, HEADER, JOB, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const openTold = (notify: string, environment: Record<string, string> = {}): Promise<Clinic> =>
  openClinic({ job: `${JOB}${notify}\n`, environment: { WAYBILL_WEBHOOK_SECRET: SECRET, ...environment } })

const toHook = ({ url }: HookServer, on = 'failure'): string =>
  `notify: { webhook: "${url}/hook", on: ${on} }`

async function ledgerOf({ workplace }: Clinic) {
  const ledger = await openLedger(join(workplace.home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  return ledger
}

test('a run that left something behind is told to all three: by webhook, mail and command', async () => {
  const hook = await startHookServer()
  const { port, mails } = await startMailServer()
  const clinic = await openTold(
    `notify:
  - { webhook: "${hook.url}/hook" }
  - { email: [oncall@hospital.example, data@hospital.example], on: always }
  - { command: "cat > told.json; echo $WAYBILL_NOTICE_TITLE > title" }`,
    {
      WAYBILL_SMTP_URL: `smtp://127.0.0.1:${port}`,
      WAYBILL_SMTP_FROM: 'Waybill <waybill@hospital.example>',
    },
  )
  await clinic.deliver('day.csv', between('cid,2026-03-02,630,,,,\n'))
  const ran = await clinic.run()
  const { run } = summaryOf(ran)
  expect(ran.code).toBe(1)

  const [told] = hook.received()
  expect(hook.seen).toHaveLength(1)
  const title = 'Waybill: clinic finished with 1 rejected record'
  expect(told).toMatchObject({
    type: 'waybill.run-ended',
    data: {
      job: 'clinic',
      gateway: clinic.store.url,
      failure: true,
      title,
      details: {
        run,
        exit: 1,
        state: 'finished',
        rows: { read: 3 },
        records: { biometric: { accepted: 6 } },
      },
    },
  })
  expect(told?.data.text.join('\n')).toContain(run)
  expect(mails.map(({ to }) => to).sort()).toEqual([['data@hospital.example'], ['oncall@hospital.example']])
  for (const { source } of mails) expect(await PostalMime.parse(source)).toMatchObject({ subject: title })
  const jobs = join(clinic.workplace.folder, 'jobs')
  expect(JSON.parse(await readFile(join(jobs, 'told.json'), 'utf8'))).toMatchObject({ data: { title } })
  expect((await readFile(join(jobs, 'title'), 'utf8')).trim()).toBe(title)

  // All is well by now: each target that heard of the failure hears so, and the one with `on: always` of the run, too.
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  expect((await clinic.run()).code).toBe(0)
  expect(hook.received().map(({ type }) => type)).toEqual(['waybill.run-ended', 'waybill.job-recovered'])
  expect(mails).toHaveLength(6)
})

test('a receiver that fails changes nothing about the run; the doctor knows, and the next run delivers', async () => {
  const hook = await startHookServer(404)
  const clinic = await openTold(toHook(hook, 'always'))
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const first = await clinic.run()
  expect([first.code, summaryOf(first).balanced]).toEqual([0, true])
  const host = new URL(hook.url).host
  expect(first.err).toContain(
    `the notification run-ended to webhook ${host} was not delivered: the webhook answered 404; tried again from `,
  )
  const looked = await clinic.workplace.waybill('doctor')
  expect(looked.code).toBe(0)
  expect(looked.out).toContain('1 notice of clinic not delivered')
  const { out: needs } = await clinic.workplace.waybill('needs')
  expect(needs).toContain(`webhook ${host} takes no notices: the webhook answered 404. After the repair`)
  expect(needs).toContain('    waybill notify clinic\n')
  const shown = async () => (await clinic.workplace.waybill('show', summaryOf(first).run)).out
  expect(await shown()).toContain(`\nUnsent   webhook ${host} (the webhook answered 404; retried later)\n`)
  const json = await clinic.workplace.waybill('show', summaryOf(first).run, '--json')
  expect(JSON.parse(json.out)).toMatchObject({
    untold: [{ target: `webhook ${host}`, state: 'pending', error: 'the webhook answered 404' }],
  })

  hook.answer(200)
  // As if the minute until it is tried again had passed.
  const { notifications } = await ledgerOf(clinic)
  const waiting = await notifications.claim(Date.now() + 3_600_000, Date.now())
  if (waiting === undefined) expect.fail('nothing waits')
  await notifications.move(waiting, 'fail', {
    at: Date.now(),
    nextAt: Date.now(),
    error: 'the webhook answered 404',
  })
  const second = await clinic.run()
  expect([second.code, second.err]).toEqual([0, expect.not.stringContaining('notification')])
  expect(await shown()).not.toContain('Unsent')
  const subjects = hook.received().map(({ data }) => data.subject.split(' ')[0])
  expect(subjects.sort()).toEqual([summaryOf(first).run, summaryOf(first).run, summaryOf(second).run].sort())
  expect((await clinic.workplace.waybill('doctor')).out).not.toContain('notification')
  expect(await clinic.stored()).toEqual(GOOD)
})

test('what keeps a job from being run is told: nothing to read, a job file that is wrong, a home that cannot be used', async () => {
  const hook = await startHookServer()
  const clinic = await openTold(toHook(hook))
  expect((await clinic.run()).code).toBe(2)
  await clinic.workplace.job('clinic', `${JOB}${toHook(hook)}\nsubmit: { concurrency: none }\n`)
  expect((await clinic.run()).code).toBe(2)
  await clinic.workplace.job('clinic', `${JOB}${toHook(hook)}\n`)
  await writeFile(join(clinic.workplace.folder, 'no-folder'), '')
  clinic.workplace.environment['WAYBILL_HOME'] = 'no-folder'
  expect((await clinic.run()).code).toBe(2)
  expect(hook.titles()).toEqual([
    'waybill.run-refused Waybill: clinic was not run (exports-none)',
    'waybill.run-refused Waybill: clinic was not run (job-invalid)',
    'waybill.run-refused Waybill: clinic was not run (ledger-unusable)',
  ])
  expect(hook.received()[1]?.data.text.join('\n')).toMatch(/clinic\.yaml:\d+:\d+ submit\.concurrency: /)
})

test('a dry run tells nothing', async () => {
  const hook = await startHookServer()
  const clinic = await openTold(toHook(hook, 'always'))
  await clinic.deliver('day.csv', between('cid,20260302,630,,,,\n'))
  expect((await clinic.run('--dry-run')).code).toBe(1)
  expect(hook.seen).toEqual([])
})

test('a job that is held is told once of each holding, with who holds it and since when', async () => {
  const hook = await startHookServer()
  const clinic = await openTold(toHook(hook))
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const ledger = await ledgerOf(clinic)
  const jobId = await ledger.jobs.id('clinic', clinic.store.url)
  const request = {
    jobId,
    runId: 'by-hand',
    owner: 'elsewhere:7',
    now: Date.now(),
    ttlMs: 3_600_000,
    givesWay: false,
  }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) expect.fail('it is held')
  const start = { id: 'by-hand', jobId, startedAt: request.now, rejectsPath: 'r', receiptsPath: 'r.gz' }
  await ledger.runs.start(answer.lease, start)
  for (let times = 0; times < 2; times++) expect((await clinic.run()).code).toBe(5)
  const [told] = hook.received()
  expect(hook.titles()).toEqual([
    'waybill.job-held Waybill: clinic was not run: another process is running it',
  ])
  expect(told?.data.details).toMatchObject({
    owner: 'elsewhere:7',
    run: 'by-hand',
    since: new Date(request.now).toISOString(),
  })
})

test('a run whose process is gone is told by the next one, which goes on with it', async () => {
  const hook = await startHookServer()
  const clinic = await openTold(toHook(hook, 'always'))
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const opened = await ledgerOf(clinic)
  const jobId = await opened.jobs.id('clinic', clinic.store.url)
  const startedAt = Date.now() - 120_000
  const request = {
    jobId,
    runId: 'killed',
    owner: 'elsewhere:7',
    now: startedAt,
    ttlMs: 60_000,
    givesWay: false,
  }
  const answer = await opened.leases.acquire(request, () => false)
  if (!answer.ok) expect.fail('it is held')
  await opened.runs.start(answer.lease, {
    id: 'killed',
    jobId,
    startedAt,
    rejectsPath: 'r',
    receiptsPath: 'r.gz',
  })
  const { code } = await clinic.run()
  expect(code).toBe(0)
  const [, stopped, ...ends] = hook.received()
  expect(stopped).toMatchObject({
    type: 'waybill.run-stopped',
    data: {
      title: 'Waybill: clinic was stopped: its process has ended',
      details: { run: 'killed', owner: 'elsewhere:7' },
    },
  })
  expect(ends.map(({ type }) => type).sort()).toEqual([
    'waybill.job-recovered',
    'waybill.run-ended',
    'waybill.run-ended',
  ])
})

test('waybill notify tries every target, and says which has not taken it', async () => {
  const [good, bad] = [await startHookServer(), await startHookServer(500)]
  const clinic = await openTold(
    `notify:
  - { webhook: "${good.url}/hook" }
  - { webhook: "${bad.url}/hook" }
  - { command: "exit 4" }`,
  )
  const { waybill } = clinic.workplace
  const hostOf = ({ url }: HookServer): string => new URL(url).host
  expect(await waybill('notify', 'clinic')).toEqual({
    code: 1,
    out: [
      `delivered  webhook ${hostOf(good)}`,
      `failed     webhook ${hostOf(bad)}: the webhook answered 500`,
      'failed     command exit: the command failed (exit 4)',
      '',
    ].join('\n'),
    err: '',
  })
  expect(good.titles()).toEqual(['waybill.test Waybill: test notification of clinic'])
  await clinic.workplace.job('clinic', `${JOB}${toHook(good)}\n`)
  const { code, out } = await waybill('notify', 'clinic', '--json')
  expect([code, JSON.parse(out)]).toEqual([
    0,
    { job: 'clinic', targets: [{ target: `webhook ${hostOf(good)}` }], waiting: { delivered: 0, left: 0 } },
  ])
  await clinic.workplace.job('clinic', JOB)
  expect(await waybill('notify', 'clinic')).toMatchObject({
    code: 2,
    err: expect.stringContaining('has no target'),
  })
})

test('a target that cannot be told without a setting is refused before anything is read or sent', async () => {
  const { store, workplace } = await openClinic({
    job: `${JOB}notify:\n  - { webhook: "https://hooks.example/secret" }\n  - { email: oncall@hospital.example }\n`,
  })
  for (const args of [['run', 'clinic'], ['run', 'clinic', '--dry-run'], ['notify', 'clinic'], ['doctor']]) {
    const { code, out, err } = await workplace.waybill(...args)
    expect(code).toBe(2)
    const said = `${out}${err}`
    expect(said).toContain('the job clinic cannot notify its targets')
    expect(said).toContain('WAYBILL_WEBHOOK_SECRET: is needed to notify the webhook hooks.example')
    expect(said).toContain('WAYBILL_SMTP_URL: is needed to notify by mail to oncall@hospital.example')
    expect(said).not.toContain('hooks.example/secret')
  }
  expect(await store.allRecords()).toEqual([])
})

test.each([
  ['WAYBILL_WEBHOOK_SECRET', 'whsec_c2hvcnQ=', 'must be whsec_ and 24 to 64 bytes in base64'],
  ['WAYBILL_WEBHOOK_SECRET', 'no base64 at all, though it is long enough', 'must be whsec_'],
  ['WAYBILL_SMTP_URL', 'https://mail.hospital.example', 'write it like smtps://'],
  ['WAYBILL_SMTP_URL', 'smtps://:hush@mail.hospital.example', 'WAYBILL_SMTP_FROM'],
  ['WAYBILL_SMTP_FROM', 'Waybill', 'has no mail address'],
])('%s=%s is refused, and not shown', async (name, value, told) => {
  const { workplace } = await openClinic({ environment: { [name]: value } })
  const { code, err } = await workplace.waybill('runs')
  expect(code).toBe(2)
  expect(err).toContain(told)
  expect(err).toContain(name)
  if (name !== 'WAYBILL_SMTP_FROM') expect(err).not.toContain(value.replace(/^whsec_/, ''))
})

test('the command of a notification may call Waybill: what it finds in its environment is no wrong setting', async () => {
  const hook = await startHookServer()
  const clinic = await openTold(toHook(hook), { WAYBILL_NOTICE_KIND: 'run-ended' })
  expect((await clinic.workplace.waybill('notify', 'clinic')).code).toBe(0)
})

test('the mail of a run that has ended brings its report, unless it was pruned meanwhile; the outbox keeps none', async () => {
  let busy = true
  const { port, mails } = await startMailServer({
    onRcptTo: (_to, _session, done) =>
      done(busy ? Object.assign(new Error('later'), { responseCode: 451 }) : null),
  })
  const clinic = await openTold('notify: { email: oncall@hospital.example, on: always }', {
    WAYBILL_SMTP_URL: `smtp://127.0.0.1:${port}`,
    WAYBILL_SMTP_FROM: 'waybill@hospital.example',
  })
  const runs: string[] = []
  for (const name of ['a.csv', 'b.csv']) {
    await clinic.deliver(name, `${HEADER}${name === 'a.csv' ? ANN : BEN}`)
    runs.push(summaryOf(await clinic.run()).run)
  }
  const [first = '', second = ''] = runs
  const file = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'))
  const kept = file.prepare('select notice from notification').all()
  expect(kept).toHaveLength(2)
  expect(JSON.stringify(kept)).not.toContain('<!doctype')
  file.prepare('update run set pruned_at = 1 where id = ?').run(first)
  file.exec('update notification set next_at = 0')
  file.close()
  busy = false
  await clinic.deliver('c.csv', `${HEADER}${ANN}`)
  const third = summaryOf(await clinic.run()).run
  const brought = await Promise.all(
    mails.map(async ({ source }) => {
      const { text, attachments } = await PostalMime.parse(source)
      const run = runs.find((one) => text?.includes(one)) ?? third
      return [
        run,
        attachments.map(({ filename, content }) => [
          filename,
          new TextDecoder().decode(content as ArrayBuffer),
        ]),
      ]
    }),
  )
  const report = (run: string) => [
    [`${run}.html`, expect.stringMatching(new RegExp(`^<!doctype html>[^]*${run}`, 'i'))],
  ]
  expect(Object.fromEntries(brought)).toEqual({
    [first]: [],
    [second]: report(second),
    [third]: report(third),
  })
})
