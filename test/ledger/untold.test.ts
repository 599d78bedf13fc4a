import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'

test('who was not told of a run is known by what became of the newest notification of it', async () => {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const { notifications } = ledger
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  let ids = 0
  /** @param ends what becomes of it; undefined: it waits */
  const tell = async (subject: string, address: string, ends?: 'deliver' | 'give-up', kind = 'run-ended') => {
    const row = { messageId: `m${++ids}`, kind, subject, target: address, address, notice: '{}' } as const
    await notifications.add(jobId, [row], ids)
    if (ends === undefined) return
    for (;;) {
      const claimed = (await notifications.claim(ids, ids + 1)) ?? expect.fail('not there')
      if (claimed.subject !== subject || claimed.address !== address) continue
      await notifications.move(claimed, ends, {
        at: ids,
        ...(ends === 'deliver' ? {} : { error: 'it answered 410' }),
      })
      return
    }
  }
  await tell('run-1 interrupted 2026', 'mail to a', 'give-up', 'run-stopped')
  await tell('run-1 finished', 'mail to a', 'deliver')
  await tell('run-1 finished', 'mail to b', 'give-up')
  await tell('run-1 interrupted 2026', 'webhook c', 'deliver', 'run-stopped')
  await tell('run-1 finished', 'webhook c')
  await tell('run-10 finished', 'mail to d', 'give-up')
  await tell('run-1 here:1', 'mail to e', 'give-up', 'job-held')
  expect(await notifications.untold(jobId, 'run-1')).toEqual([
    { target: 'mail to b', state: 'given-up', error: 'it answered 410' },
    { target: 'webhook c', state: 'pending' },
  ])
  expect(await notifications.untold(jobId, 'run-2')).toEqual([])
})

test('a target knows how a job ends by the newest notification of an end, where that was not given up', async () => {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const { notifications } = ledger
  const [nightly, weekly] = [
    await ledger.jobs.id('nightly', 'gateway'),
    await ledger.jobs.id('weekly', 'gateway'),
  ]
  let ids = 0
  const tell = async (jobId: number, target: string, kind: string, ends?: 'deliver' | 'give-up') => {
    const row = { kind, subject: `s${++ids}`, target, address: target, notice: '{}' }
    await notifications.add(jobId, [{ messageId: `m${ids}`, ...row }], ids)
    if (ends === undefined) return
    const claimed = (await notifications.claim(ids, 999)) ?? expect.fail('none is due')
    await notifications.move(claimed, ends, { at: ids, ...(ends === 'deliver' ? {} : { error: 'e' }) })
  }
  const isNotified = () => notifications.isNotified(nightly, 'a')
  expect(await isNotified()).toBe(false)
  await tell(nightly, 'b', 'run-ended', 'deliver')
  await tell(weekly, 'a', 'run-ended', 'deliver')
  await tell(nightly, 'a', 'job-held', 'deliver')
  expect(await isNotified()).toBe(false)
  await tell(nightly, 'a', 'run-ended', 'deliver')
  expect(await isNotified()).toBe(true)
  await tell(nightly, 'a', 'run-ended', 'give-up')
  expect(await isNotified()).toBe(false)
  await tell(nightly, 'a', 'run-ended')
  expect(await isNotified()).toBe(true)
})

test('open notifications are counted by job: those that wait, and those that were given up', async () => {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const { notifications } = ledger
  const add = async (job: string, end?: 'deliver' | 'give-up' | 'fail') => {
    const jobId = await ledger.jobs.id(job, 'gateway')
    const id = `${job} ${end}`
    const row = { messageId: id, kind: 'run-ended', subject: id, target: 't', address: 't', notice: '{}' }
    await notifications.add(jobId, [row], 1)
    if (end === undefined) return
    const claimed = (await notifications.claim(1, 9)) ?? expect.fail('none is due')
    await notifications.move(claimed, end, { at: 1, ...(end === 'deliver' ? {} : { error: 'e', nextAt: 9 }) })
  }
  for (const end of ['deliver', 'give-up', 'fail'] as const) await add('nightly', end)
  await add('weekly', 'give-up')
  await add('nightly')
  const counts = ['nightly', 'weekly', 'monthly'].map((job) => notifications.countOpen(job))
  expect(await Promise.all(counts)).toEqual([3, 1, 0])
})
