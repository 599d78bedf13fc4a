import { beforeEach, describe, expect, it } from 'vitest'
import { type Ledger, noTallies, type RunLedger } from '../../../src/ledger/ledger.ts'
import { alive, chunk, ledgerScene, lost, NOW, type OpenLedger, person, rowKey, TTL } from './scene.ts'

export function leasesSuite(open: OpenLedger): void {
  describe('leases and claims', () => {
    const scene = ledgerScene(open)
    const { ask, lease, begun, startRun, runOf, addExport, openChunk } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
    })

    describe('leases', () => {
      it('holds until it runs out, and says who has it', async () => {
        await lease()
        const answer = await ask({ runId: 'run-2', owner: 'there:2', now: NOW + TTL - 1 })
        expect(answer).toMatchObject({
          ok: false,
          holder: { run_id: 'run-1', owner: 'here:1', acquired_at: NOW, expires_at: NOW + TTL },
        })
        expect((await ask({ owner: 'there:2', now: NOW + TTL })).ok).toBe(true)
      })

      it('does not hold against the living for a dead owner', async () => {
        await lease()
        const asked: string[] = []
        const answer = await ask({ owner: 'there:2' }, (owner) => asked.push(owner) > 0)
        expect(answer.ok).toBe(true)
        expect(asked).toEqual(['here:1'])
      })

      it('is free once released, and its token grows with every change of hands', async () => {
        const tokens: number[] = []
        for (let at = 0; at < 3; at++) {
          const one = await lease({ owner: `here:${at}` })
          tokens.push(one.token)
          await ledger.leases.release(one)
        }
        expect(tokens).toEqual([1, 2, 3])
      })

      it('is not released by who lost it', async () => {
        const lost = await lease()
        await lease({ owner: 'there:2' }, () => true)
        await ledger.leases.release(lost)
        expect((await ask({ owner: 'third:3' })).ok).toBe(false)
      })

      it('is of a part, too: the job is then free for the run that waits for its parts alone', async () => {
        const part = (number: number) => ({ exportRow: 1, number, of: 2 })
        const job = await lease()
        const first = await lease({ part: part(0), owner: 'there:2' })
        const second = await lease({ part: part(1), owner: 'third:3' })
        expect(new Set([job.token, first.token, second.token]).size).toBe(3)
        expect((await ask({ part: part(0), owner: 'fourth:4' })).ok).toBe(false)
        await ledger.leases.release(job)
        expect(await ask({ owner: 'fourth:4' })).toMatchObject({ ok: false, holder: { owner: 'there:2' } })
        expect((await ask({ owner: 'fourth:4', besideParts: true })).ok).toBe(true)
        expect(await ledger.leases.last(jobId, part(1))).toMatchObject({ owner: 'third:3' })
        await ledger.leases.release(first)
        expect(await ledger.leases.hasParts(jobId, NOW, alive)).toBe(true)
        await ledger.leases.release(second)
        expect(await ledger.leases.hasParts(jobId, NOW, alive)).toBe(false)
      })

      it('of a part is lost to who takes it over, and with the end of the run', async () => {
        const run = await startRun()
        const { id: exportRow } = await addExport(run)
        await run.openParts(exportRow, 2)
        const workOn = async (number: number) => {
          const part = { exportRow, number, of: 2 }
          return ledger.runs.ofPart(await lease({ part, owner: 'there:2' }, () => true), noTallies())
        }
        const [before, first, second] = [await workOn(0), await workOn(0), await workOn(1)]
        await expect(before.assertHeld()).rejects.toMatchObject(lost)
        first.tallies.requests.sent = 3
        await first.assertHeld()
        second.tallies.requests.sent = 4
        await second.endPart('stopped', '{}')
        const states = async () => (await ledger.parts.ofExport(exportRow)).map(({ state }) => state)
        expect(await states()).toEqual(['open', 'stopped'])
        await run.openParts(exportRow, 2)
        expect(await states()).toEqual(['open', 'open'])
        run.tallies.requests.sent = 1
        await run.endRun({ state: 'failed', endedAt: NOW + 1, reason: 'threshold-passed' })
        await expect(first.assertHeld()).rejects.toMatchObject(lost)
        await expect(second.assertHeld()).rejects.toMatchObject(lost)
        expect(await states()).toEqual([])
        expect(JSON.parse((await runOf()).tallies)).toMatchObject({ requests: { sent: 8 } })
      })

      it('lasts longer when renewed', async () => {
        const run = await startRun()
        await run.renew(NOW + TTL / 2, TTL)
        expect((await ask({ now: NOW + TTL })).ok).toBe(false)
        expect((await ask({ now: NOW + TTL * 1.5 })).ok).toBe(true)
      })

      it('is that of the run that is on, of several one after the other', async () => {
        await startRun('run-1')
        const [held] = [await ledger.leases.holder(jobId, NOW, alive)]
        expect(held).toMatchObject({ run_id: 'run-1', gives_way: 0 })
        const lease = { jobId, runId: 'run-2', token: held?.token ?? 0 }
        await ledger.runs.start(lease, begun('run-2'))
        expect(await ledger.leases.holder(jobId, NOW, alive)).toMatchObject({
          run_id: 'run-2',
          token: held?.token,
        })
        const first = await runOf()
        await ledger.runs.resume({ ...lease, runId: 'run-1' }, first, NOW)
        expect(await ledger.leases.holder(jobId, NOW, alive)).toMatchObject({
          run_id: 'run-1',
          token: held?.token,
        })
      })

      it('says why its run waits, until that is over, or another run or process has it', async () => {
        const waits = async () => (await ledger.leases.last(jobId))?.outage
        const run = await startRun()
        expect(await waits()).toBeNull()
        await run.noteOutage('{"since":1}')
        expect(await waits()).toBe('{"since":1}')
        await run.noteOutage(null)
        expect(await waits()).toBeNull()
        await run.noteOutage('{"since":2}')
        const next = { ...run.lease, runId: 'run-2' }
        const second = await ledger.runs.start(next, begun('run-2'))
        expect(await waits()).toBeNull()
        await second.noteOutage('{"since":3}')
        await lease({ runId: 'run-3', owner: 'there:2' }, () => true)
        expect(await waits()).toBeNull()
        await expect(second.noteOutage('{"since":4}')).rejects.toMatchObject(lost)
        expect(await waits()).toBeNull()
      })

      it('lets nobody write with an old token', async () => {
        const { run, exportRow, intent, settled, chunkSettled, key } = await openChunk()
        const batch = await run.beginBatch(intent)
        await lease({ owner: 'there:2' }, () => true)
        for (const write of [
          () => run.renew(NOW, TTL),
          () => run.assertHeld(),
          () => addExport(run, 2),
          () => ledger.runs.start({ ...run.lease, runId: 'run-2' }, begun('run-2')),
          () => run.endExport(exportRow, 'finished'),
          () => run.openChunk(exportRow, chunk(2)),
          () => run.beginBatch(intent),
          () => run.settleBatch(settled(batch)),
          () => run.splitBatch(batch, 'refused', 400, NOW),
          () => run.settleChunk(chunkSettled()),
          () => run.saveAccounts('gateway', [person(1)], NOW),
          () => run.endRun({ state: 'finished', endedAt: NOW, reason: null }),
        ])
          await expect(write(), String(write)).rejects.toMatchObject(lost)

        expect(await ledger.runs.find('run-2')).toBeUndefined()
        expect(await ledger.exports.ofRun('run-1')).toMatchObject([{ id: exportRow, state: 'open' }])
        expect(await ledger.chunks.ofExport(exportRow)).toMatchObject([{ number: 1, state: 'open' }])
        expect(await ledger.chunks.batches(key)).toMatchObject([{ id: batch, state: 'sending' }])
        expect(await ledger.chunks.exceptions(key)).toEqual([])
        expect(await ledger.slots.delivered(jobId, [rowKey(1)])).toEqual(new Map())
        expect(await ledger.people.accounts('gateway', [rowKey(1)])).toEqual(new Map())
        expect(await ledger.runs.find('run-1')).toMatchObject({ state: 'running' })
      })
    })

    describe('right of way', () => {
      const waiting = (owner: string, now = NOW) => ledger.way.ask({ jobId, owner, now, ttlMs: TTL })
      const waiter = (now = NOW, isDead = alive) => ledger.way.waiter(jobId, now, isDead)
      const give = (fields: { jobId?: number; owner?: string } = {}) =>
        ledger.leases.acquire(
          { jobId, runId: 'run-1', owner: 'here:1', now: NOW, ttlMs: TTL, givesWay: true, ...fields },
          alive,
        )

      it('is told of a holder that gives way', async () => {
        await give()
        expect(await ledger.leases.holder(jobId, NOW, alive)).toMatchObject({ owner: 'here:1', gives_way: 1 })
        expect(await ask({ owner: 'there:2' })).toMatchObject({ ok: false, holder: { gives_way: 1 } })
        expect((await ask({ owner: 'there:2', now: NOW + TTL })).ok).toBe(true)
        expect(await ledger.leases.holder(jobId, NOW + TTL, alive)).toMatchObject({ gives_way: 0 })
      })

      it('is that of who has waited longest and lives', async () => {
        expect(await waiter()).toBeUndefined()
        await waiting('there:2', NOW)
        await waiting('third:3', NOW + 1)
        await waiting('there:2', NOW + 2)
        expect(await waiter(NOW + 2)).toEqual({ owner: 'there:2', since: NOW })
        expect(await waiter(NOW + 2, (owner) => owner === 'there:2')).toMatchObject({ owner: 'third:3' })
        expect(await waiter(NOW + 2, () => true)).toBeUndefined()
        expect(
          await ledger.way.waiter(await ledger.jobs.id('another', 'gateway'), NOW, alive),
        ).toBeUndefined()
      })

      it('is lost by who says nothing for a while, and kept by who asks again', async () => {
        await waiting('there:2')
        await waiting('third:3', NOW + TTL / 2)
        expect(await waiter(NOW + TTL - 1)).toMatchObject({ owner: 'there:2' })
        expect(await waiter(NOW + TTL)).toMatchObject({ owner: 'third:3' })
        expect(await waiter(NOW + TTL * 1.5)).toBeUndefined()
      })

      it('is not taken back by who was killed while it waited, once the job has changed hands', async () => {
        await waiting('there:2', NOW - TTL)
        await waiting('third:3', NOW)
        await lease()
        // A clock that was set back would find it waiting still.
        expect(await waiter(NOW - TTL)).toMatchObject({ owner: 'third:3' })
      })

      it('is asked for no more by who has the job, or withdraws', async () => {
        await waiting('there:2')
        await waiting('third:3', NOW + 1)
        await lease({ owner: 'there:2' })
        expect(await waiter()).toMatchObject({ owner: 'third:3' })
        await ledger.way.withdraw(jobId, 'third:3')
        expect(await waiter()).toBeUndefined()
      })

      it('belongs to other jobs at the gateway, but for those that give way themselves', async () => {
        const busy = (now = NOW, isDead = alive) => ledger.way.busy('gateway', jobId, now, isDead)
        await lease()
        const elsewhere = await ledger.jobs.id('job', 'another')
        const filling = await ledger.jobs.id('filling', 'gateway')
        await ledger.leases.acquire(
          { jobId: elsewhere, runId: 'e', owner: 'a:1', now: NOW, ttlMs: TTL },
          alive,
        )
        await give({ jobId: filling, owner: 'b:2' })
        expect(await busy()).toBeUndefined()
        const other = await ledger.jobs.id('other', 'gateway')
        const taken = { jobId: other, runId: 'run-7', owner: 'c:3', now: NOW, ttlMs: TTL }
        const answer = await ledger.leases.acquire(taken, alive)
        expect(await busy()).toMatchObject({ job: 'other', run_id: 'run-7', owner: 'c:3', acquired_at: NOW })
        expect(await busy(NOW + TTL)).toBeUndefined()
        expect(await busy(NOW, (owner) => owner === 'c:3')).toBeUndefined()
        if (answer.ok) await ledger.leases.release(answer.lease)
        expect(await busy()).toBeUndefined()
      })
    })

    describe('claims of accounts', () => {
      const [ann, ben, cleo] = [rowKey(1), rowKey(2), rowKey(3)]
      let runs = 0
      /** A run of a job of its own, whose lease lasts until `NOW + TTL`. */
      const jobOf = async (name: string, owner: string): Promise<RunLedger> => {
        const id = await ledger.jobs.id(name, 'gateway')
        const request = { jobId: id, runId: `run ${++runs}`, owner, now: NOW, ttlMs: TTL }
        const answer = await ledger.leases.acquire(request, alive)
        if (!answer.ok) throw new Error('the lease is held')
        return ledger.runs.start(answer.lease, { ...begun(request.runId), jobId: id })
      }
      /** The next process of a job, whose former one is gone, and its unfinished run. */
      const resumed = async (name: string, runId: string): Promise<RunLedger> => {
        const id = await ledger.jobs.id(name, 'gateway')
        const request = { jobId: id, runId, owner: `again:${name}`, now: NOW, ttlMs: TTL }
        const answer = await ledger.leases.acquire(request, () => true)
        const run = await ledger.runs.find(runId)
        if (!answer.ok || run === undefined) throw new Error('the lease is held')
        return ledger.runs.resume(answer.lease, run, NOW)
      }
      const claim = async (
        run: RunLedger,
        accounts: readonly string[],
        { gateway = 'gateway', now = NOW, isDead = alive } = {},
      ) => {
        const claimed = await run.claimAccounts({ gateway, accounts, now }, isDead)
        return {
          accounts: accounts.filter((one) => claimed.accounts.has(one)),
          abandoned: accounts.filter((one) => claimed.abandoned.has(one)),
        }
      }
      const nothing: readonly string[] = []
      let one: RunLedger
      let other: RunLedger
      beforeEach(async () => {
        one = await jobOf('one', 'here:1')
        other = await jobOf('other', 'here:2')
        expect(await claim(one, [ann, ben])).toEqual({ accounts: [ann, ben], abandoned: nothing })
      })

      it('last while somebody works on a part of the job, and are ended once', async () => {
        const { jobId: id, runId } = one.lease
        const part = { exportRow: 1, number: 1, of: 2 }
        const request = { jobId: id, runId, owner: 'part:3', now: NOW + TTL / 2, ttlMs: TTL, part }
        const answer = await ledger.leases.acquire(request, alive)
        if (!answer.ok) throw new Error('the part is held')
        const ofPart = ledger.runs.ofPart({ ...answer.lease, part }, noTallies())
        expect(await claim(ofPart, [ann])).toMatchObject({ accounts: [ann] })
        await other.renew(NOW + TTL, TTL)
        expect(await claim(other, [ann], { now: NOW + TTL })).toEqual({ accounts: [], abandoned: nothing })
        expect(await claim(other, [ann], { now: NOW + 2 * TTL })).toEqual({
          accounts: [ann],
          abandoned: [ann],
        })
        await expect(ofPart.assertHeld()).rejects.toMatchObject(lost)
        await expect(one.assertHeld()).rejects.toMatchObject(lost)
      })

      it('are of one job at a time, by gateway, until it lets go', async () => {
        expect(await claim(other, [ben, cleo])).toEqual({ accounts: [cleo], abandoned: nothing })
        expect(await claim(other, [ben], { gateway: 'another' })).toEqual({
          accounts: [ben],
          abandoned: nothing,
        })
        expect(await claim(one, [ann, ben, cleo])).toEqual({ accounts: [ann, ben], abandoned: nothing })
        // Nobody lets go what another has.
        await other.saveCareTeams('gateway', [], [ann, cleo])
        expect(await claim(other, [ann, cleo])).toEqual({ accounts: [cleo], abandoned: nothing })
        await one.saveCareTeams('gateway', [], [ann])
        expect(await claim(other, [ann, ben])).toEqual({ accounts: [ann], abandoned: nothing })
        await one.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(other, [ann, ben])).toEqual({ accounts: [ann, ben], abandoned: nothing })
      })

      it('are given to one alone of many that ask at once', async () => {
        const many = Array.from({ length: 5_000 }, (_, at) => rowKey(at + 10))
        const given = await Promise.all([claim(one, many), claim(other, many)])
        expect(given.flatMap(({ accounts }) => accounts).toSorted()).toEqual(many.toSorted())
      })

      it.each([
        ['process is gone', { isDead: (owner: string) => owner === 'here:1' }],
        ['lease has run out', { now: NOW + TTL }],
      ])('of one whose %s are taken over, and it writes nothing more', async (_, how) => {
        expect(await claim(other, [ben, cleo], how)).toEqual({ accounts: [ben, cleo], abandoned: [ben] })
        // All claims of the dead process have ended: each of its accounts is told, whenever it is asked for.
        expect(await claim(other, [ann], how)).toEqual({ accounts: [ann], abandoned: [ann] })
        await expect(one.assertHeld()).rejects.toMatchObject(lost)
        await expect(one.renew(NOW, TTL)).rejects.toMatchObject(lost)
        await expect(claim(one, [cleo])).rejects.toMatchObject(lost)
        await expect(one.saveCareTeams('gateway', [], [ben])).rejects.toMatchObject(lost)
        expect(await claim(await jobOf('one', 'here:3'), [ben])).toEqual({ accounts: [], abandoned: nothing })
        await other.assertHeld()
      })

      it('nobody is disturbed whose people are not asked for', async () => {
        expect(await claim(other, [cleo], { now: NOW + TTL })).toEqual({
          accounts: [cleo],
          abandoned: nothing,
        })
        await one.assertHeld()
      })

      it('end with the lease; those of an earlier lease of the job are its own', async () => {
        await ledger.leases.release(one.lease)
        const again = await resumed('one', one.lease.runId)
        expect(await claim(again, [ann])).toEqual({ accounts: [ann], abandoned: nothing })
        // The accounts of its former process that it has not claimed yet are free, and it has not settled them.
        expect(await claim(other, [ben])).toEqual({ accounts: [ben], abandoned: [ben] })
        await ledger.leases.release(again.lease)
        expect(await claim(other, [ann])).toEqual({ accounts: [ann], abandoned: [ann] })
      })

      it('stay told of behind a run that was given up, also once somebody has looked for its records', async () => {
        const doubt = { rowKey: rowKey(1), rule: 'a'.repeat(8), content: 'b'.repeat(16), series: null }
        const givenUp = await resumed('one', one.lease.runId)
        const { id: exportRow } = await addExport(givenUp)
        const nothingRuled = { run: null, decisions: [], released: [], delivered: [] }
        const left = { ruling: nothingRuled, sent: [{ ...doubt, exportRow, isTaken: false }] }
        await givenUp.endRun({ state: 'failed', endedAt: NOW, reason: 'given-up', left })
        await ledger.leases.release(givenUp.lease)
        const next = await jobOf('one', 'here:3')
        await next.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(other, [ann])).toMatchObject({ abandoned: [ann] })
        await next.rule({ ...nothingRuled, released: [doubt] }, NOW)
        await next.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(other, [ben])).toMatchObject({ abandoned: [ben] })
      })

      it('stay told of, whoever had the account since, until the run that abandoned them lets go', async () => {
        const isDead = (owner: string) => owner === 'here:1' || owner === 'here:2'
        const third = await jobOf('third', 'here:3')
        expect(await claim(other, [ann], { isDead })).toMatchObject({ abandoned: [ann] })
        await other.saveCareTeams('gateway', [], [ann])
        expect(await claim(other, [ben], { isDead })).toMatchObject({ abandoned: [ben] })
        // Of two that died one after the other, and of the first alone.
        expect(await claim(third, [ann, ben], { isDead })).toEqual({
          accounts: [ann, ben],
          abandoned: [ann, ben],
        })
        await third.saveCareTeams('gateway', [], [ann, ben])

        const first = await resumed('one', one.lease.runId)
        expect(await claim(first, [ann, ben])).toMatchObject({ accounts: [ann, ben], abandoned: [ben] })
        await first.saveCareTeams('gateway', [], [ann, ben])
        expect(await claim(third, [ann, ben])).toMatchObject({ abandoned: [ben] })
        await third.saveCareTeams('gateway', [], [ann, ben])
        const second = await resumed('other', other.lease.runId)
        await second.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(third, [ann, ben])).toMatchObject({ accounts: [ann, ben], abandoned: nothing })
      })

      it('of a run that may go on outlive another run of the job', async () => {
        await one.endRun({ state: 'interrupted', endedAt: NOW, reason: 'interrupted' })
        await ledger.leases.release(one.lease)
        const next = await jobOf('one', 'here:3')
        expect(await claim(next, [ann])).toEqual({ accounts: [ann], abandoned: [ann] })
        await next.saveCareTeams('gateway', [], [ann])
        await next.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(other, [ann])).toEqual({ accounts: [ann], abandoned: [ann] })
        await other.saveCareTeams('gateway', [], [ann])
        await ledger.leases.release(next.lease)
        const again = await resumed('one', one.lease.runId)
        await again.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(other, [ann])).toEqual({ accounts: [ann], abandoned: nothing })
      })

      it('tell since when they are abandoned', async () => {
        const since = async (run: RunLedger, now: number) => {
          const claimed = await run.claimAccounts({ gateway: 'gateway', accounts: [ann], now }, alive)
          return claimed.abandoned.get(ann)
        }
        expect(await since(other, NOW + TTL)).toBe(0)
        await other.saveCareTeams('gateway', [], [ann])
        expect(await since(other, NOW + TTL + 1_500)).toBe(1_500)
        // A clock that was set back.
        expect(await since(other, NOW)).toBe(-TTL)
      })
    })

    it('tells who holds a job', async () => {
      const holder = async (now: number, isDead = alive) =>
        (await ledger.leases.holder(jobId, now, isDead))?.owner
      expect(await holder(NOW)).toBeUndefined()
      const held = await lease()
      expect(await holder(NOW + TTL - 1)).toBe('here:1')
      expect(await holder(NOW + TTL)).toBeUndefined()
      expect(await holder(NOW, () => true)).toBeUndefined()
      await ledger.leases.release(held)
      expect(await holder(NOW)).toBeUndefined()
    })

    it('asks whoever runs it to stop, as long as somebody does; not what comes after', async () => {
      const run = await startRun()
      const stopBy = () => ledger.leases.stopBy(run.lease)
      const stop = (id: string) => ledger.leases.stop(id, { by: 'ann', note: null, at: NOW }, alive)
      const isStopping = (id: string, at = NOW + TTL - 1) => ledger.leases.isStopping(id, at, alive)
      expect([await stop('run-9'), await isStopping('run-9')]).toEqual([false, false])
      expect([await stopBy(), await isStopping('run-1')]).toEqual([undefined, false])
      expect([await stop('run-1'), await stopBy(), await isStopping('run-1')]).toEqual([true, 'ann', true])
      expect(await stop('run-1')).toBe(true)
      const notes = (await ledger.audit.read({})).filter(({ action }) => action === 'stop')
      expect(notes).toMatchObject([{ run: 'run-1', by: 'ann' }])
      await ledger.runs.start({ ...run.lease, runId: 'run-2' }, begun('run-2'))
      expect(await stopBy()).toBeUndefined()
      // Another run has the job.
      expect([await stop('run-1'), await isStopping('run-1')]).toEqual([false, false])
    })

    it('is stopping no more once it was ended and resumed', async () => {
      const run = await startRun()
      await ledger.leases.stop('run-1', { by: 'ann', note: null, at: NOW }, alive)
      await run.endRun({ state: 'interrupted', endedAt: NOW, reason: 'asked-to-stop' })
      await ledger.leases.release(run.lease)
      const known = (await ledger.runs.find('run-1')) ?? expect.fail('no run')
      await ledger.runs.resume(await lease(), known, NOW)
      expect(await ledger.leases.isStopping('run-1', NOW, alive)).toBe(false)
      expect(await ledger.runs.find('run-1')).toMatchObject({ state: 'running' })
    })

    it.each([
      ['at once', 'run-1', 0, 'dies', 'ann'],
      ['within a lease', 'run-1', 2 * TTL - 1, 'dies', 'ann'],
      ['later', 'run-1', 2 * TTL, 'dies', undefined],
      ['with another run', 'run-0', 0, 'dies', undefined],
      ['behind an end', 'run-1', 0, 'ends', undefined],
    ])('tells whoever goes on for a process that was to stop: %s', async (_, runId, later, how, heard) => {
      const { lease: first } = await startRun('run-0')
      const run = await ledger.runs.start({ ...first, runId: 'run-1' }, begun('run-1'))
      await ledger.leases.stop('run-1', { by: 'ann', note: null, at: NOW }, alive)
      if (how === 'ends') await ledger.leases.release(run.lease)
      const taken = await lease({ runId: 'run-2', owner: 'there:2', now: NOW + later }, () => true)
      const isStopping = await ledger.leases.isStopping('run-1', NOW + later, alive)
      // Before it names a run.
      expect(isStopping).toBe(how === 'dies' && later < 2 * TTL)
      const known = (await ledger.runs.find(runId)) ?? expect.fail('no run')
      await ledger.runs.resume({ ...taken, runId }, known, NOW + later)
      expect(await ledger.leases.stopBy(taken)).toBe(heard)
    })

    it.each([
      ['whose lease has run out', NOW + TTL, alive],
      ['whose process is dead', NOW, () => true],
    ])('ends a run that is to stop, %s: whoever had it writes no more', async (_which, at, isDead) => {
      const run = await startRun()
      const person = { by: 'ann', note: 'enough', at }
      expect(await ledger.leases.stop('run-1', person, isDead)).toBe(true)
      expect(await ledger.leases.isStopping('run-1', at, isDead)).toBe(false)
      expect(await ledger.runs.find('run-1')).toMatchObject({
        ...{ state: 'interrupted', reason: 'asked-to-stop', detail: 'ann has stopped it', ended_at: at },
      })
      await expect(run.assertHeld()).rejects.toMatchObject({ code: 'lease-lost' })
      expect(await ledger.audit.read({})).toMatchObject([{ action: 'stop', run: 'run-1', note: 'enough' }])
      expect(await ledger.leases.stop('run-1', person, isDead)).toBe(false)
      // The next run of the job goes on with it.
      expect((await ledger.runs.unfinished(jobId, 'ordinary'))?.id).toBe('run-1')
      expect((await lease({ runId: 'run-2' })).token).toBeGreaterThan(run.lease.token)
    })

    it('tells who held a job last, also when it has run out or was let go', async () => {
      expect(await ledger.leases.last(jobId)).toBeUndefined()
      const held = await lease()
      expect(await ledger.leases.last(jobId)).toMatchObject({ owner: 'here:1', expires_at: NOW + TTL })
      await ledger.leases.release(held)
      expect(await ledger.leases.last(jobId)).toMatchObject({ owner: 'here:1', expires_at: 0 })
    })
  })
}
