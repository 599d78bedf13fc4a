import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { prune } from '../../src/operate/prune.ts'
import { summarise } from '../../src/story/facts.ts'
import { ANN, between, HEADER, openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'

/** Rows of the ledger by table. */
function rowsOf(home: string): Record<string, number> {
  const database = new DatabaseSync(join(home, 'ledger.sqlite'), { readOnly: true })
  const tables = ['run', 'export', 'chunk', 'batch', 'exception', 'mapping', 'delivered', 'profile'] as const
  const counts = tables.map((table) => {
    const row = database.prepare(`select count(*) as count from "${table}"`).get()
    return [table, Number(row?.['count'])] as const
  })
  database.close()
  return Object.fromEntries(counts)
}

test('stopped at any step: what is left can be used, the balance holds, and the next pruning ends it', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', between('cid,2026-03-02,630,,,,\n'))
  const first = summaryOf(await clinic.run())
  await clinic.deliver('day-2.csv', `${HEADER}${ANN.replace('ann', 'dan')}`)
  const second = summaryOf(await clinic.run())
  const { home } = clinic.workplace
  const before = rowsOf(home)
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const told = [await summarise(ledger, home, first.run), await summarise(ledger, home, second.run)]
  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  let steps = 0
  for (let at = 1; ; at++) {
    steps = 0
    const stopped = await prune(deps, {
      before: Date.now() + 1,
      dryRun: false,
      onStep: async () => {
        if (++steps === at) throw new Error('killed')
      },
    }).catch((error: Error) => error.message)
    for (const before of told) {
      const summary = await summarise(ledger, home, before.run)
      expect(summary.rows).toEqual(before.rows)
      expect(summary.records).toEqual(before.records)
      expect(summary.balanced).toBe(true)
      // Nothing leads to a file that is gone.
      for (const path of [summary.files.receipts, ...summary.exports.map(({ rejects }) => rejects)])
        if (path !== undefined) expect(existsSync(path)).toBe(true)
    }
    if (stopped !== 'killed') break
    expect(at).toBeLessThan(50)
  }
  const { run, export: exports, delivered, profile } = before
  const left = { run, export: exports, delivered, profile, chunk: 0, batch: 0, exception: 0, mapping: 0 }
  expect(rowsOf(home)).toEqual(left)
  expect(existsSync(join(home, 'receipts', `${first.run}.ndjson.gz`))).toBe(false)
  expect(existsSync(join(home, 'rejects', first.run))).toBe(false)
  expect(before['batch']).toBeGreaterThan(0)
  expect(before['exception']).toBeGreaterThan(0)
})

test('bytes of all files of a run are counted, tried or done; a run that was pruned is not pruned again', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', between('cid,2026-03-02,630,,,,\n'))
  const { run, exports, files } = summaryOf(await clinic.run())
  const { home } = clinic.workplace
  const paths = [exports[0]?.rejects, files.receipts].map((path) => path ?? expect.fail('a file is missing'))
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  for (const dryRun of [true, false])
    expect(await prune(deps, { before: Date.now() + 1, dryRun })).toMatchObject({
      ...{ runs: [run], resumed: [], files: { files: 2, bytes } },
    })
  expect(await prune(deps, { before: Date.now() + 1, dryRun: false })).toMatchObject({
    ...{ runs: [], resumed: [], files: { files: 0, bytes: 0 } },
  })
})

test('interrupted, it ends what it has begun with, and begins with no other run', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const first = summaryOf(await clinic.run())
  const second = summaryOf(await clinic.run())
  const { home } = clinic.workplace
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const interrupting = new AbortController()
  const deps = { ledger, home, now: Date.now, interrupt: interrupting.signal }
  const pruned = await prune(deps, {
    before: Date.now() + 1,
    dryRun: false,
    onStep: async () => interrupting.abort(),
  })
  expect(pruned.runs).toEqual([second.run])
  expect((await summarise(ledger, home, first.run)).pruned).toBeUndefined()
})

test('what a run takes up while older ones are pruned keeps its detail', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', between('cid,2026-03-02,630,,,,\n'))
  const first = summaryOf(await clinic.run())
  await clinic.deliver('day-2.csv', `${HEADER}${ANN.replace('ann', 'dan')}`)
  const second = summaryOf(await clinic.run())
  const { home, waybill } = clinic.workplace
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  let rerun: string | undefined
  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  const pruned = await prune(deps, {
    before: Date.now() + 1,
    dryRun: false,
    onStep: async () => {
      rerun ??= summaryOf(await waybill('rerun', first.run, '--json')).run
    },
  })
  expect(pruned.runs).toEqual([second.run])
  expect(pruned.kept).toEqual([{ run: first.run, job: first.job, because: 'referred-to', by: rerun }])
  expect((await summarise(ledger, home, first.run)).pruned).toBeUndefined()
})

test('what exports looked like is kept of the latest 20, and all are recognised', async () => {
  const clinic = await openClinic()
  const { home } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const key = { job: 'clinic', mapping: 'clinic' }
  const jobId = await ledger.jobs.id('clinic', clinic.store.url)
  const request = { jobId, runId: 'many', owner: 'here:1', now: Date.now(), ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => true)
  if (!answer.ok) throw new Error('the lease is held')
  const start = {
    id: 'many',
    jobId,
    startedAt: Date.now(),
    rejectsPath: 'rejects/many',
    receiptsPath: 'receipts/many',
  }
  const run = await ledger.runs.start(answer.lease, start)
  const mapping = { name: 'clinic', digest: 'd', content: '{}' }
  for (let ordinal = 1; ordinal <= 24; ordinal++) {
    const sha256 = `sha-${ordinal}`
    const file = {
      name: `${ordinal}.csv`,
      path: `/in/${ordinal}.csv`,
      sha256,
      bytes: 1,
      exportId: `${ordinal}`,
    }
    const { id } = await run.addExport({ ordinal, ...file, mapping })
    await run.saveProfile(id, { ...key, sha256, accepted: false, content: `{"n":${ordinal}}` })
    await run.endExport(id, 'finished')
  }
  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  const pruned = await prune(deps, { before: 0, dryRun: false })
  expect(pruned.detail).toMatchObject({ profiles: 5, mappings: 0 })
  const kept = await ledger.profiles.latest(key, 30)
  expect(kept.map(({ content }) => content)).toEqual(
    Array.from({ length: 20 }, (_, at) => `{"n":${24 - at}}`),
  )
  expect(await ledger.profiles.has(key, 'sha-1')).toBe(true)
})

test('fires and notifications that are over go once they are old enough; what is open and what is younger stays', async () => {
  const clinic = await openClinic()
  const { home } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('clinic', clinic.store.url)
  const timetable = { cron: '0 * * * *', zone: 'Etc/UTC', seenUntil: 500 }
  await ledger.fires.comeDue(jobId, undefined, timetable, [100, 200, 300, 400])
  const [first, second, , last] = await ledger.fires.open(jobId)
  if (first === undefined || second === undefined || last === undefined) expect.fail('a fire is missing')
  await ledger.fires.move(first, 'skip')
  const begun = await ledger.fires.move(second, 'begin', { owner: 'here:1', begun_at: 200 })
  if (begun !== undefined) await ledger.fires.move(begun, 'end', { exit: 0 })
  await ledger.fires.move(last, 'skip')
  const told = (subject: string) => ({
    ...{ messageId: subject, kind: 'run-ended', subject, target: 't', address: 'a', notice: '{}' },
  })
  for (const [at, event] of [
    [100, 'deliver'],
    [200, 'give-up'],
    [400, 'deliver'],
  ] as const) {
    await ledger.notifications.add(jobId, [told(`at ${at}`)], at)
    const claimed = await ledger.notifications.claim(at, 900)
    if (claimed !== undefined) await ledger.notifications.move(claimed, event, { at })
  }
  await ledger.notifications.add(jobId, [told('pending')], 100)

  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  const dry = await prune(deps, { before: 350, dryRun: true })
  expect(dry.detail).toMatchObject({ fires: 2, notifications: 2 })
  expect((await ledger.fires.latest(jobId, 9)).map(({ due }) => due)).toEqual([400, 300, 200, 100])
  const pruned = await prune(deps, { before: 350, dryRun: false })
  expect(pruned.detail).toEqual(dry.detail)
  expect((await ledger.fires.latest(jobId, 9)).map(({ due, state }) => `${due} ${state}`)).toEqual([
    '400 skipped',
    '300 due',
  ])
  const database = new DatabaseSync(join(home, 'ledger.sqlite'), { readOnly: true })
  const left = database.prepare('select subject from notification order by subject').all()
  database.close()
  expect(left.map(({ subject }) => subject)).toEqual(['at 400', 'pending'])
  expect((await prune(deps, { before: 350, dryRun: false })).detail).toMatchObject({
    fires: 0,
    notifications: 0,
  })
})
