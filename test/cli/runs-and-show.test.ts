import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { processTable } from '../../src/system/process-identity.ts'
import { ANN, BEN, CLINIC, HEADER, JOB, openClinic } from './clinic.ts'
import { createWorkplace, summaryOf, type Workplace } from './command-line.ts'
import { writeMapping } from './left-behind.ts'

const RUN = '20260302T071500Z-4f2a9c'

/** A process of this machine that is gone: the kernel gives no number beyond 2^22. */
const GONE = `${hostname()}:5000000#${processTable(process.pid).place}.1`

/** A ledger in which a run of that process was begun and not ended. */
async function begunBy(owner: string, heard: number, outage?: object): Promise<Workplace> {
  const workplace = await createWorkplace()
  await mkdir(workplace.home)
  const ledger = await openLedger(join(workplace.home, 'ledger.sqlite'))
  const jobId = await ledger.jobs.id('nightly', 'built-in')
  const request = { jobId, runId: RUN, owner, now: heard, ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) throw new Error('the job is held')
  const run = await ledger.runs.start(answer.lease, {
    ...{ id: RUN, jobId, startedAt: heard, rejectsPath: 'rejects', receiptsPath: 'receipts' },
  })
  if (outage !== undefined) await run.noteOutage(JSON.stringify(outage))
  await ledger.close()
  return workplace
}

describe('a run that its ledger calls running', () => {
  test('is under way while its process lives', async () => {
    const owner = `${hostname()}:${process.ppid}`
    const { waybill } = await begunBy(owner, Date.now())
    const { out } = await waybill('show')
    expect(out).toMatch(
      new RegExp(`^Run ${RUN} of nightly: under way since \\S+Z, by process ${owner}, `, 'm'),
    )
    expect(out).not.toContain('waybill run ')
    expect((await waybill('runs')).out).toContain('under way')
    expect(JSON.parse((await waybill('show', '--json')).out).activity).toMatchObject({
      kind: 'under-way',
      owner,
    })
    expect((await waybill('runs', '--failed')).out).toBe('No run failed or left anything behind.\n')
  })

  const AWAY = { since: 0, givesUpAt: 1_800_000, class: 'ambiguous', status: 503, what: 'x was answered 503' }
  const WAITS =
    'waits for the gateway since 1970-01-01T00:00:00Z, gives up at 1970-01-01T00:30:00Z: unavailable (ambiguous: x was answered 503); 7 records are pending'

  test('waits where nothing gets through, as long as its process lives', async () => {
    const owner = `${hostname()}:${process.ppid}`
    const { waybill, job } = await begunBy(owner, Date.now(), { ...AWAY, pending: 7 })
    await job('nightly', 'exports: { from: ., match: "*.csv", mapping: acme-onsite }\n')
    const { out } = await waybill('runs')
    expect(out).toMatch(/ nightly +waiting +0 /)
    expect(out).toContain(`\nRun ${RUN} ${WAITS}\n`)
    expect(JSON.parse((await waybill('runs', '--json')).out).runs[0].activity.waits).toEqual({
      ...{ since: '1970-01-01T00:00:00.000Z', givesUpAt: '1970-01-01T00:30:00.000Z' },
      ...{ class: 'ambiguous', status: 503, what: 'x was answered 503', pending: 7 },
    })
    expect((await waybill('schedule', '--explain', 'nightly')).out).toMatch(
      new RegExp(
        `^now run ${RUN} is under way since \\S+Z, by process ${owner}; it waits for the gateway `,
        'm',
      ),
    )
  })

  test.each([
    ['its process is gone', GONE, 0],
    ['it was not heard of for a minute', 'elsewhere:1', 61_000],
  ])('does not wait any more when %s', async (_name, owner, ago) => {
    const { waybill } = await begunBy(owner, Date.now() - ago, { ...AWAY, pending: 7 })
    expect((await waybill('runs')).out).toMatch(/ nightly +stopped +0 /)
    expect(`${(await waybill('runs')).out}${(await waybill('show')).out}`).not.toMatch(/wait/i)
  })

  test('is stopped when its process is gone: by whom it was held, heard of last when, and what to type', async () => {
    const { waybill } = await begunBy(GONE, Date.parse('2026-03-02T07:15:00Z'))
    const { out } = await waybill('show')
    expect(out).toContain(
      `stopped; its process ${hostname()}:5000000 has ended, last heartbeat at about 2026-03-02T07:15:00Z`,
    )
    expect(out).toContain('\n    waybill run nightly\n')
    expect((await waybill('runs', '--failed')).out).toMatch(new RegExp(`${RUN} +\\d+ d +nightly +stopped `))
  })

  test('of another machine is stopped when it was not heard of for a minute', async () => {
    const workplace = await begunBy('elsewhere:1', Date.now() - 61_000)
    expect((await workplace.waybill('show')).out).toContain('stopped; its process elsewhere:1 has ended')
    await expectSoFar(workplace)
  })
})

describe('waybill runs', () => {
  test('an export that could not be read is not put right by a run of another file', async () => {
    const { workplace, run, deliver } = await openClinic()
    await deliver('a.csv', `${HEADER}${ANN}`.replace('pulse', 'puls'))
    await deliver('b.csv', `${HEADER}${BEN}`)
    const bad = summaryOf(await run())
    expect(bad.exports.map(({ error }) => error)).toEqual(['columns-missing', undefined])
    const other = await deliver('c.csv', `${HEADER}${ANN}`)
    const failed = async () =>
      JSON.parse((await workplace.waybill('runs', '--failed', '--json')).out).runs.map(
        (one: { run: string }) => one.run,
      )
    expect((await run('--file', other)).code).toBe(0)
    expect((await run('--limit', '1')).code).toBe(1)
    expect(await failed()).toContain(bad.run)
    await deliver('a.csv', `${HEADER}${ANN}`)
    expect((await run()).code).toBe(0)
    expect(await failed()).toEqual([])
  })

  test('lists those of a job, and those that need somebody; JSON has the same', async () => {
    const { workplace, run, deliver } = await openClinic()
    await deliver('bad.csv', `${HEADER}${ANN}dan,2026-03-02,400,,,,\neve,2026-03-02,500,,73.5,lumps,\n`)
    const bad = summaryOf(await run())
    const good = await deliver('good.csv', `${HEADER}${BEN}`)
    await run('--file', good)
    const listed = async (...args: string[]) =>
      JSON.parse((await workplace.waybill('runs', '--json', ...args)).out).runs
    expect(await listed()).toHaveLength(2)
    expect(await listed('--job', 'clinic')).toHaveLength(2)
    await workplace.job('other', JOB)
    expect(await listed('--job', 'other')).toEqual([])
    expect(await listed('--failed')).toMatchObject([
      { run: bad.run, mostFrequent: { code: 'value-out-of-range', count: 2 } },
    ])
    const { out } = await workplace.waybill('runs', '--failed')
    expect(out).toContain('value-out-of-range 2')
    expect(out).toContain(bad.run)
    expect((await workplace.waybill('runs', '--job', 'other')).out).toContain('no runs of other yet')
  })
})

test('why most was left behind is told, and beside it what could not be used at all', async () => {
  const { workplace, run, deliver } = await openClinic()
  await deliver('bad.csv', `${HEADER}${ANN}dan,2026-03-02,400,,,,\neve,2026-03-02,500,,73.5,,\n`)
  await deliver('broken.csv', 'nothing,known\n1,2\n')
  await run()
  const { out } = await workplace.waybill('runs')
  expect(out).toContain('value-out-of-range 2; 1 export failed (columns-missing)')
})

/** In every face. */
async function expectSoFar({ folder, waybill }: Workplace): Promise<void> {
  const said = (await waybill('show')).out
  expect(said.match(/^Balanced.*/gm)).toEqual([expect.stringMatching(/^Balanced so far: /)])
  expect((await waybill('runs')).out).toMatch(/ so far( |$)/m)
  for (const told of [await waybill('show', '--json'), await waybill('runs', '--json')])
    expect(told.out).toContain('"balanced":true,"soFar":true')
  const { run } = JSON.parse((await waybill('show', '--json')).out)
  expect((await waybill('report', run, '--out', join(folder, 'page.html'))).code).toBe(0)
  expect(await readFile(join(folder, 'page.html'), 'utf8')).toContain('<h2>Balance so far</h2>')
}

test('a run that its threshold has ended: what show tells to type clears it', async () => {
  const clinic = await openClinic({ job: `${JOB}stopWhen: { rejectedRows: 20%, after: 2 }\n` })
  const dirty = ['cid', 'dan', 'eve'].map((id) => `${id},02.03.2026,61,5.1,70.5,kg,fine\n`).join('')
  await clinic.deliver('day.csv', `${HEADER}${ANN}${dirty}${BEN}`)
  const { waybill } = clinic.workplace
  expect((await clinic.run()).code).toBe(4)
  expect((await waybill('runs', '--failed')).out).toContain('failed (threshold-passed)')
  const { out } = await waybill('show')
  await expectSoFar(clinic.workplace)
  await writeMapping(clinic, CLINIC.replace('format: yyyy-MM-dd', 'format: [yyyy-MM-dd, dd.MM.yyyy]'))
  // No name in these needs quotes.
  const commands = out.split('\n').flatMap((line) => /^ {4}waybill (.*)/.exec(line)?.[1] ?? [])
  expect(commands.splice(-1)).toEqual([expect.stringMatching(/^acknowledge /)])
  expect(commands).toEqual([
    'mapping check clinic --export inbox/day.csv',
    'run clinic --dry-run',
    'run clinic',
  ])
  for (const command of commands) {
    expect((await waybill(...command.split(' '))).code, command).toBe(0)
  }
  expect((await waybill('runs', '--failed')).out).toBe('No run failed or left anything behind.\n')
  expect(await clinic.stored()).toHaveLength(15)
})

test.each([
  ['runs'],
  ['show'],
  ['trace', '3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa'],
  ['reconcile', RUN],
  ['rerun', RUN],
  ['resolve', RUN, '--accept'],
  ['resolve', RUN, '--resend'],
])('waybill %s in a folder without a ledger says so, and makes none', async (...args) => {
  const { waybill, home } = await createWorkplace()
  const { code, err } = await waybill(...args)
  expect(code).toBe(2)
  expect(err).toContain(`error ledger-not-found: there is no ledger in the home ${home}`)
  expect(existsSync(home)).toBe(false)
})
