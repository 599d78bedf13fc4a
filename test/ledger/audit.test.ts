/** Actions of people, as they are kept and read: by job, from an instant on, in their order, with the decisions on runs among them. */
import { expect, test } from 'vitest'
import { type AuditRecord, asideContent } from '../../src/ledger/audit.ts'
import { beginExport, beginRun, passingLedger } from './begun-run.ts'
import { fault } from './export-fault.ts'

const action = (at: number, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ at, by: 'ann', action: 'stop', job: 'nightly', run: 'run-1', subject: 'subject', note: 'note' },
  ...more,
})

test('each action is read as it was noted, oldest first, of one job or of all, from an instant on', async () => {
  const { audit } = await passingLedger()
  const later = action(20, { by: 'ben', action: 'pause', run: null, subject: null, note: null })
  const earlier = action(10)
  const weekly = action(20, { job: 'weekly', action: 'unpause', run: 'run-2' })
  const ofNoJob = action(30, { job: null, action: 'accounts-confirm', run: null })
  for (const one of [later, earlier, weekly, ofNoJob]) await audit.note(one)
  expect(await audit.read({})).toEqual([earlier, later, weekly, ofNoJob])
  expect(await audit.read({ since: 20 })).toEqual([later, weekly, ofNoJob])
  expect(await audit.read({ since: 21 })).toEqual([ofNoJob])
  expect(await audit.read({ job: 'nightly' })).toEqual([earlier, later])
  expect(await audit.read({ job: 'nightly', since: 11 })).toEqual([later])
  expect(await audit.read({ job: 'unknown' })).toEqual([])
})

test('an export is put aside in one job: its path, content and reading; what ends is said once', async () => {
  const ledger = await passingLedger()
  const read = async (job: string, path: string, sha256: string, state: 'failed' | 'finished') => {
    const run = await beginRun(ledger, `${job} ${path}`, { job })
    const id = await beginExport(run, {
      ...{ path, name: path.slice(1), sha256, exportId: `${job} ${path}` },
      ...(sha256 === '' ? { delivered: { address: path, name: 'x', bytes: 12, modifiedAt: 34 } } : {}),
    })
    if (state === 'failed') await run.endExport(id, state, fault('export-unreadable'))
    else await run.endExport(id, state)
    await run.endRun({ state: 'failed', endedAt: 0, reason: 'export-unreadable' })
    await ledger.leases.release(run.lease)
    return id
  }
  const { putAside, audit } = ledger
  const [nightly, weekly] = [
    await ledger.jobs.id('nightly', 'gateway'),
    await ledger.jobs.id('weekly', 'gateway'),
  ]
  const first = await read('nightly', '/a.csv', 'aa', 'failed')
  const second = await read('weekly', '/a.csv', '', 'failed')
  await read('monthly', '/a.csv', 'cc', 'finished')
  await read('nightly', '/b.csv', 'bb', 'failed')
  const acting = { by: 'ann', note: 'broken', at: 7 }
  expect(await putAside.jobsOf('a.csv')).toEqual(['nightly', 'weekly'])
  expect(await putAside.begin('a.csv', 'monthly', acting)).toBe(false)
  expect(await putAside.begin('c.csv', 'nightly', acting)).toBe(false)
  expect(await putAside.end('a.csv', 'nightly', acting)).toBe(false)
  expect(await audit.read({})).toEqual([])

  expect(await putAside.begin('a.csv', 'weekly', { ...acting, at: 8 })).toBe(true)
  expect(await putAside.begin('a.csv', 'nightly', acting)).toBe(true)
  expect(await putAside.list()).toEqual([
    { job: 'nightly', export: 'a.csv', exportRow: first, ...acting },
    { job: 'weekly', export: 'a.csv', exportRow: second, ...acting, at: 8 },
  ])
  expect(await putAside.contents(nightly)).toEqual(new Map([['/a.csv', 'aa']]))
  expect(await putAside.contents(weekly)).toEqual(new Map([['/a.csv', '34 12']]))
  expect(await putAside.begin('b.csv', 'nightly', { ...acting, at: 9 })).toBe(true)
  expect(await putAside.end('a.csv', 'nightly', { ...acting, at: 10 })).toBe(true)
  expect(await putAside.contents(nightly)).toEqual(new Map([['/b.csv', 'bb']]))
  expect(await putAside.contents(weekly)).toEqual(new Map([['/a.csv', '34 12']]))
  const noted = { by: 'ann', note: 'broken', run: null, subject: 'a.csv' }
  expect(await audit.read({})).toEqual([
    { ...noted, at: 7, job: 'nightly', action: 'put-aside' },
    { ...noted, at: 8, job: 'weekly', action: 'put-aside' },
    { ...noted, at: 9, job: 'nightly', action: 'put-aside', subject: 'b.csv' },
    { ...noted, at: 10, job: 'nightly', action: 'undo-put-aside' },
  ])
})

test.each([
  [{ sha256: 'aa' }, 'aa'],
  [{ sha256: 'aa', delivered: { modifiedAt: 34, bytes: 12 } }, 'aa'],
  [{ sha256: '', delivered: { modifiedAt: 34, bytes: 12 } }, '34 12'],
  [{ sha256: '', delivered: undefined }, ''],
])('the content of an export with %j is %j', (of, content) => {
  expect(asideContent(of)).toBe(content)
})
