/** Everything twice: each answer and each write is of the one that is named, and its neighbour is as it was. */
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type Exception,
  type ExportStart,
  type KnownCareTeam,
  type Ledger,
  noDetail,
  noTallies,
  THE_PERSON,
  UNUSABLE,
} from '../../../src/ledger/ledger.ts'
import { packHolds } from '../../../src/ledger/packed-records.ts'
import { chunk, content, exception, ledgerScene, NOW, type OpenLedger, person, rowKey } from './scene.ts'

export function neighboursSuite(open: OpenLedger): void {
  describe('neighbours', () => {
    const scene = ledgerScene(open)
    const { begun } = scene
    let ledger: Ledger
    beforeEach(() => {
      ledger = scene.ledger
    })

    /** A run of a job, begun whoever holds the job. */
    const runOf = async (id: string, job = 'job', more: Parameters<typeof begun>[1] = {}) => {
      const jobId = await ledger.jobs.id(job, 'gateway')
      const request = { jobId, runId: id, owner: 'here:1', now: NOW, ttlMs: 60_000 }
      const answer = await ledger.leases.acquire(request, () => true)
      if (!answer.ok) throw new Error('the lease is held')
      return { jobId, run: await ledger.runs.start(answer.lease, { ...begun(id), jobId, ...more }) }
    }
    type Run = Awaited<ReturnType<typeof runOf>>['run']
    const exportOf = async (run: Run, more: Partial<ExportStart> = {}) => {
      const start = { ordinal: 1, exportId: 'e', name: 'a.csv', path: '/in/a.csv', sha256: 'one', bytes: 1 }
      return run.addExport({ ...start, mapping: { name: 'm', digest: 'd', content: '{}' }, ...more })
    }
    const settle = (run: Run, exportRow: number, number: number, more = {}) =>
      run.settleChunk({
        ...{ exportRow, chunk: number, counts: '{}', receiptsLength: 0, rejectsLength: 0, delivered: [] },
        ...{ held: [], arrival: 1, exceptions: [], tallies: noTallies(), at: NOW, ...more },
      })
    const withExceptions = async (run: Run, exportRow: number, exceptions: readonly Exception[]) => {
      await run.openChunk(exportRow, chunk(1))
      await settle(run, exportRow, 1, { exceptions })
      return ledger.chunks.exceptions({ exportRow, chunk: 1 })
    }
    const finish = async (run: Run, exportRow?: number) => {
      if (exportRow !== undefined) await run.endExport(exportRow, 'finished')
      await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
    }

    it('the last end of an export is of a format with lines, of its job and its mapping', async () => {
      const other = { name: 'n', digest: 'd2', content: '{}' }
      const steps: [string, Partial<ExportStart>][] = [
        ['job', { sha256: 'one', isEnded: true }],
        ['job', { sha256: 'two' }],
        ['job', { sha256: 'three', isEnded: false, mapping: other }],
        ['another', { sha256: 'four', isEnded: false }],
      ]
      for (const [at, [job, more]] of steps.entries()) {
        const { run } = await runOf(`run-${at}`, job)
        await finish(run, (await exportOf(run, more)).id)
      }
      const { lastEnd } = ledger.exports
      expect(await lastEnd({ job: 'job', mapping: 'm' }, 'none')).toBe('ended')
      expect(await lastEnd({ job: 'job', mapping: 'n' }, 'none')).toBe('open')
      expect(await lastEnd({ job: 'another', mapping: 'm' }, 'none')).toBe('open')
      expect(await lastEnd({ job: 'another', mapping: 'n' }, 'none')).toBeUndefined()
      expect(await lastEnd({ job: 'job', mapping: 'm' }, 'one')).toBe('read')
      // Its end says nothing, and it was read.
      expect(await lastEnd({ job: 'job', mapping: 'm' }, 'two')).toBe('ended')
    })

    it('of profiles those count whose detail is left, whichever are the latest', async () => {
      const { run } = await runOf('run-1')
      const key = { job: 'job', mapping: 'm' }
      for (const [at, sha256] of ['a', 'b', 'c'].entries()) {
        const { id } = await exportOf(run, { ordinal: at + 1, sha256 })
        await run.saveProfile(id, {
          ...key,
          sha256,
          accepted: at === 0,
          content: sha256 === 'c' ? '' : sha256,
        })
        await run.endExport(id, 'finished')
      }
      expect(await ledger.profiles.latest(key, 1)).toEqual([{ accepted: false, content: 'b' }])
      expect(await ledger.profiles.latest(key, 9)).toEqual([
        { accepted: false, content: 'b' },
        { accepted: true, content: 'a' },
      ])
      expect([...(await ledger.profiles.ofRun('run-1')).values()]).toEqual(['a', 'b'])
      expect(await ledger.profiles.has(key, 'c')).toBe(true)
    })

    it('a reading before is another one than the reading itself', async () => {
      const { run, jobId } = await runOf('run-1')
      const one = await exportOf(run)
      await run.endExport(one.id, 'finished')
      expect(await ledger.exports.lastReading(jobId, one)).toBeUndefined()
      const two = await exportOf(run, { ordinal: 2 })
      expect(await ledger.exports.lastReading(jobId, two)).toBe(one.id)
      await run.endExport(two.id, 'finished')
      expect(await ledger.exports.lastReading(jobId, one)).toBe(two.id)
    })

    it('rows that are taken up again have the arrival of the reading before them, not of one after', async () => {
      const { run, jobId } = await runOf('run-1')
      const read = async (ordinal: number, more: Partial<ExportStart>) => {
        const one = await exportOf(run, { ordinal, ...more })
        await run.endExport(one.id, 'finished')
        return one
      }
      const whole = await read(1, {})
      const selected = await read(2, { reading: 'selected' })
      await read(3, { sha256: 'two' })
      const again = await read(4, {})
      expect(await ledger.exports.arrivalOf(jobId, selected)).toBe(whole.id)
      expect(await ledger.exports.arrivalOf(jobId, again)).toBe(again.id)
    })

    it('a backfilled export is placed among whole nightly exports of its job alone', async () => {
      const backfill = { from: '2026-01-01', to: '2026-01-31' }
      const read = async (id: string, job: string, more: Partial<ExportStart>, filling = false) => {
        const { run } = await runOf(id, job, filling ? { backfill } : {})
        const one = await exportOf(run, { day: 10, ...more })
        await finish(run, one.id)
        return one
      }
      const nightly = await read('night', 'job', {})
      await read('elsewhere', 'another', { name: 'b.csv', sha256: 'two' })
      await read('part', 'job', { name: 'c.csv', sha256: 'three', reading: 'rejects' })
      await read('fill-1', 'job', { name: 'd.csv', sha256: 'four', day: 9 }, true)
      const filled = await read('fill-2', 'job', { name: 'e.csv', sha256: 'five', day: 10 }, true)
      const early = await read('fill-3', 'job', { name: 'f.csv', sha256: 'six', day: 9 }, true)
      const orders = await ledger.exports.orders(scene.jobId)
      expect(orders.get(filled.id)).toEqual({ anchor: nightly.id, day: 10 })
      expect(orders.get(early.id)).toEqual({ anchor: 0, day: 9 })
      expect(orders.has(nightly.id)).toBe(false)
    })

    it('an export is put aside by its path: by whoever did it last, in the version that was listed last', async () => {
      const failed = { reason: 'export-unreadable', detail: 'no', remedy: null }
      let starts = 0
      for (const [id, job, modifiedAt] of [
        ['run-1', 'job', 8],
        ['run-2', 'another', 9],
        ['run-3', 'job', 6],
        // The same file, listed by another job last.
        ['run-4', 'another', 7],
      ] as const) {
        const { run } = await runOf(id, job, { startedAt: NOW + starts++ })
        for (const [at, path] of ['/in/a.csv', '/more/a.csv'].entries()) {
          const delivered = { address: path, name: 'a.csv', bytes: 3 + at, modifiedAt: modifiedAt + at }
          const one = await exportOf(run, { ordinal: at + 1, path, sha256: '', delivered, failed })
          if (path === '/more/a.csv') await run.endExport(one.id, 'finished')
        }
        await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
      }
      const { putAside } = ledger
      expect(await putAside.jobsOf('a.csv')).toEqual(['another', 'job'])
      expect(await putAside.begin('a.csv', 'job', { by: 'ann', note: 'why', at: NOW })).toBe(true)
      expect(await putAside.begin('b.csv', 'job', { by: 'ann', note: null, at: NOW })).toBe(false)
      expect(await putAside.contents(scene.jobId)).toEqual(new Map([['/in/a.csv', '6 3']]))
      expect(await putAside.contents(await ledger.jobs.id('another', 'gateway'))).toEqual(new Map())
      await putAside.begin('a.csv', 'job', { by: 'ben', note: null, at: NOW + 1 })
      expect(await putAside.list()).toMatchObject([{ job: 'job', by: 'ben', note: null, at: NOW + 1 }])
      expect(await putAside.end('a.csv', 'another', { by: 'ann', note: null, at: NOW })).toBe(false)
      expect(await putAside.end('a.csv', 'job', { by: 'ann', note: null, at: NOW })).toBe(true)
      expect(await putAside.list()).toEqual([])
    })

    it('of records that a run had sent when it was given up, those that the gateway has are not asked for', async () => {
      const { run, jobId } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      const sent = [1, 2].map((at) => ({
        ...{ rowKey: rowKey(at), rule: '00000001', content: content(at), series: null, exportRow },
        isTaken: at === 1,
      }))
      await run.openChunk(exportRow, chunk(1))
      const held = [{ rowKey: rowKey(3), rule: '00000001', content: content(3), series: null }]
      await settle(run, exportRow, 1, { held })
      const end = { state: 'failed', endedAt: NOW + 5, reason: 'given-up' } as const
      await run.endRun({ ...end, left: { ruling: { run: null, decisions: [], released: [] }, sent } })
      const found = await ledger.left.heldWith(jobId, [content(1), content(2), content(3)])
      expect(found.map((one) => [one.rowKey, one.sentUntil])).toEqual([
        [rowKey(1), 0],
        [rowKey(2), NOW + 5],
        [rowKey(3), null],
      ])
      expect(await ledger.left.unasked('run-1')).toBe(1)
      expect(await ledger.left.heldRecords(jobId)).toBe(1)
      expect(await ledger.left.heldRecords(await ledger.jobs.id('another', 'gateway'))).toBe(0)
      expect((await ledger.pruning.candidates()).map(({ openDoubts }) => openDoubts)).toEqual([1])
    })

    it('what is held under a former row key goes once the record is held under another, and nothing else', async () => {
      const { run, jobId } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      const held = (key: number, at: number) => ({
        ...{ rowKey: rowKey(key), rule: '00000001', content: content(at), series: null },
      })
      const other = await runOf('run-2', 'another')
      const { id: theirs } = await exportOf(other.run)
      for (const [by, row] of [
        [run, exportRow],
        [other.run, theirs],
      ] as const) {
        await by.openChunk(row, chunk(1))
        await settle(by, row, 1, { held: [held(1, 1), held(2, 2)] })
      }
      await run.openChunk(exportRow, chunk(2))
      await settle(run, exportRow, 2, { held: [held(3, 1)] })
      const keys = async (id: number) =>
        (await ledger.left.heldWith(id, [content(1), content(2)])).map((one) => one.rowKey)
      expect(await keys(jobId)).toEqual([rowKey(2), rowKey(3)].sort())
      expect(await keys(other.jobId)).toEqual([rowKey(1), rowKey(2)].sort())
    })

    it('doubts of a rule that has another name are doubts of that name, of its row and job alone', async () => {
      const { run, jobId } = await runOf('run-1')
      const other = await runOf('run-2', 'another')
      const held = (key: number, at: number, rule: string) => ({
        ...{ rowKey: rowKey(key), rule, content: content(at), series: null },
      })
      const doubts = [held(1, 1, '00000001'), held(1, 2, '00000002'), held(2, 3, '00000001')]
      const places: [typeof run, number][] = []
      for (const by of [run, other.run]) {
        const { id } = await exportOf(by)
        await by.openChunk(id, chunk(1))
        await settle(by, id, 1, { held: doubts })
        places.push([by, id])
      }
      const [[, exportRow] = [run, 0]] = places
      await run.openChunk(exportRow, chunk(2))
      await settle(run, exportRow, 2, {
        renamed: [{ rowKey: rowKey(1), from: '00000001', to: '00000009' }],
      })
      const rules = async (id: number) =>
        Object.fromEntries(
          (await ledger.left.heldWith(id, [1, 2, 3].map(content))).map((one) => [one.content, one.rule]),
        )
      const before = { [content(1)]: '00000001', [content(2)]: '00000002', [content(3)]: '00000001' }
      expect(await rules(jobId)).toEqual({ ...before, [content(1)]: '00000009' })
      expect(await rules(other.jobId)).toEqual(before)
    })

    it('decisions are told by their event and their run: what is to be sent again, and what was delivered', async () => {
      const { run } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      const doubts = [1, 2, 3].map((row) =>
        exception({ row, content: content(row), outcome: 'in-doubt', batchId: 'b' }),
      )
      const rejects = [4, 5].map((row) => exception({ row, content: content(row) }))
      const [one, two, three, four, five] = (
        await withExceptions(run, exportRow, [...doubts, ...rejects])
      ).map(({ id }) => id)
      await finish(run, exportRow)
      const { run: later } = await runOf('run-2')
      const { run: last } = await runOf('run-3')
      const rule = (by: Run, id: string, exceptionId = 0, event: 'resend' | 'find' | 'deliver' | 'refuse') =>
        by.rule({ run: id, decisions: [{ exception: exceptionId, event }], released: [] }, NOW)
      await rule(last, 'run-2', one, 'resend')
      await rule(last, 'run-2', two, 'find')
      await rule(last, 'run-3', three, 'refuse')
      await rule(last, 'run-2', four, 'deliver')
      await rule(last, 'run-3', five, 'deliver')
      expect(later.lease.runId).toBe('run-2')
      expect(await ledger.left.decidedContents(exportRow, 'run-2')).toEqual(new Set([content(1)]))
      expect(await ledger.left.decidedContents(exportRow, 'run-3')).toEqual(new Set())
      expect(await ledger.left.settledBy('run-1')).toEqual([
        { run: 'run-2', count: 1 },
        { run: 'run-3', count: 1 },
      ])
      expect(await ledger.left.settledBy('run-2')).toEqual([])
    })

    it('two decisions of people on a run are two, each with its reason', async () => {
      const { run } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      const doubts = [1, 2].map((row) => exception({ row, content: content(row), outcome: 'in-doubt' }))
      const ids = (await withExceptions(run, exportRow, doubts)).map(({ id }) => id)
      for (const [at, by] of ['ann', 'ben'].entries()) {
        const resolution = { run: 'run-1', decision: 'accept', by, note: `of ${by}`, at: NOW + at } as const
        const decisions = [{ exception: ids[at] ?? 0, event: 'accept' as const }]
        await run.rule({ run: null, decisions, released: [], resolution }, NOW + at)
      }
      expect(await ledger.left.decisions(ids)).toEqual(
        ['ann', 'ben'].map((by, at) => ({
          ...{ exception: ids[at], event: 'accept', run: null, by, note: `of ${by}`, at: NOW + at },
        })),
      )
      expect(await ledger.left.resolutions('run-1')).toHaveLength(2)
    })

    it('a reject is known from the latest whole reading on, and from parts read since', async () => {
      const readings: [string, Partial<ExportStart>, Parameters<typeof begun>[1], Exception[]][] = [
        ['run-1', {}, { startedAt: 1 }, [exception({ row: 1 }), exception({ row: 2 })]],
        ['run-2', {}, { startedAt: 2 }, [exception({ row: 2 })]],
        ['run-3', {}, { startedAt: 3, part: 'limit' }, [exception({ row: 3, byteOffset: 9 })]],
        ['run-4', { reading: 'rejects' }, { startedAt: 4 }, [exception({ row: 4, byteOffset: 5 })]],
      ]
      for (const [id, more, start, left] of readings) {
        const { run } = await runOf(id, 'job', start)
        const { id: exportRow } = await exportOf(run, more)
        await withExceptions(run, exportRow, left)
        await finish(run, exportRow)
      }
      const known = async (id: string, more: Partial<ExportStart>, left: readonly Exception[]) => {
        const { run } = await runOf(id)
        const { id: exportRow } = await exportOf(run, more)
        const kept = await withExceptions(run, exportRow, left)
        await run.endRun({ state: 'failed', endedAt: NOW, reason: 'threshold-passed' })
        return kept.map(({ known_since: since }) => since)
      }
      const at = (row: number, byteOffset = 200) => exception({ row, byteOffset })
      // Row 1 was right by the second reading; in a rejects file the offset is another.
      expect(await known('run-5', {}, [at(1), at(2), at(3, 9), at(4, 77)])).toEqual([null, 1, 3, 4])
      expect(await known('run-6', { reading: 'rejects' }, [at(2, 78), at(3, 78)])).toEqual([1, 3])
      expect(await known('run-7', {}, [at(2, 78), at(3, 78)])).toEqual([null, null])
    })

    it('a doubt is known whatever its code is, a reject by its code', async () => {
      const first = await runOf('run-1', 'job', { startedAt: 1 })
      const { id: before } = await exportOf(first.run)
      const left = (code: string) => [
        exception({ row: 1, outcome: 'in-doubt', code }),
        exception({ row: 2, code }),
      ]
      await withExceptions(first.run, before, left('one'))
      await finish(first.run, before)
      const { run } = await runOf('run-2')
      const { id: exportRow } = await exportOf(run)
      const kept = await withExceptions(run, exportRow, left('two'))
      expect(kept.map(({ known_since: since }) => since)).toEqual([1, null])
    })

    it('withdrawn results are shown by rule and export, as long as nothing has settled them', async () => {
      const { run } = await runOf('run-1')
      const withdrawn = (row: number, sentAs: string) =>
        exception({ row, rule: 'weight', content: null, code: 'withdrawn', sentAs })
      const ids: number[] = []
      for (const [at, name] of ['a.csv', 'b.csv'].entries()) {
        const { id } = await exportOf(run, { ordinal: at + 1, name, exportId: name })
        const left = [withdrawn(1, `${name} 1`), withdrawn(2, `${name} 2`)]
        ids.push(...(await withExceptions(run, id, left)).map((one) => one.id))
        await run.endExport(id, 'finished')
      }
      const shown = async () =>
        (await ledger.reasons.ofRun('run-1')).map(({ exportName, sentAs }) => [exportName, sentAs])
      expect(await shown()).toEqual([
        ['a.csv', ['a.csv 1', 'a.csv 2']],
        ['b.csv', ['b.csv 1', 'b.csv 2']],
      ])
      await run.rule(
        { run: 'run-1', decisions: [{ exception: ids[0] ?? 0, event: 'deliver' }], released: [] },
        NOW,
      )
      expect(await shown()).toEqual([
        ['a.csv', ['a.csv 2']],
        ['b.csv', ['b.csv 1', 'b.csv 2']],
      ])
    })

    it('of notices those on the end of a run say who was told of it, by the latest', async () => {
      const { notifications } = ledger
      const add = (kind: string, target: string, messageId: string, notice = '{}') =>
        notifications.add(
          scene.jobId,
          [{ messageId, kind, subject: `run-1 ${messageId}`, target, address: target, notice }],
          NOW,
        )
      const move = async (event: 'deliver' | 'give-up' | 'fail') => {
        const claimed = (await notifications.claim(NOW, NOW + 1)) ?? expect.fail('none is due')
        await notifications.move(claimed, event, { at: NOW + 2, nextAt: NOW + 3, error: 'no' })
        return claimed
      }
      await add('run-drifted', 'a', '1')
      await move('give-up')
      expect(await notifications.untold(scene.jobId, 'run-1')).toEqual([])
      expect(await notifications.isNotified(scene.jobId, 'a')).toBe(false)
      await add('run-ended', 'a', '2')
      expect(await notifications.isNotified(scene.jobId, 'a')).toBe(true)
      await move('give-up')
      expect(await notifications.isNotified(scene.jobId, 'a')).toBe(false)
      expect(await notifications.untold(scene.jobId, 'run-1')).toEqual([
        { target: 'a', state: 'given-up', error: 'no' },
      ])
      expect(await notifications.untold(scene.jobId, 'run-12')).toEqual([])
      await add('run-ended', 'b', '3')
      expect((await move('fail')).delivered_at).toBeNull()
      expect(await notifications.claim(NOW + 2, NOW + 9)).toBeUndefined()
      expect((await notifications.claim(NOW + 3, NOW + 9))?.delivered_at).toBeNull()
    })

    it('a file that was moved is one of its bytes: another version at the path stays where it is', async () => {
      const { run } = await runOf('run-1')
      await exportOf(run)
      await exportOf(run, { ordinal: 2, sha256: 'two' })
      await exportOf(run, { ordinal: 3, path: '/in/b.csv' })
      await run.noteArchived({ path: '/in/a.csv', sha256: 'one' }, '/archive/a.csv')
      expect((await ledger.exports.ofRun('run-1')).map(({ archived }) => archived)).toEqual([
        ...['/archive/a.csv', null, null],
      ])
    })

    it('what a chunk counts is not counted where it could not be settled', async () => {
      const { run } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      await run.openChunk(exportRow, chunk(1))
      const tallies = { accounts: { registered: 2, known: 3, refused: 1 } }
      await settle(run, exportRow, 1, { tallies })
      await expect(settle(run, exportRow, 1, { tallies })).rejects.toMatchObject({ code: 'state-illegal' })
      expect(run.tallies.accounts).toEqual(tallies.accounts)
    })

    it('the claims of a run that may go on are kept', async () => {
      const { run } = await runOf('run-1')
      const { run: other } = await runOf('run-2', 'another')
      const claim = async (by: Run) => {
        const request = { gateway: 'gateway', accounts: [rowKey(1)], now: NOW }
        return (await by.claimAccounts(request, () => false)).accounts.size
      }
      expect(await claim(run)).toBe(1)
      await run.endRun({ state: 'interrupted', endedAt: NOW, reason: 'interrupted' })
      expect(await claim(other)).toBe(0)
      await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
      expect(await claim(other)).toBe(1)
    })

    it('a settled chunk stays as it is, an open one takes its new number of rows', async () => {
      const { run } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      for (const number of [1, 2]) await run.openChunk(exportRow, chunk(number, { rows: 3 }))
      await settle(run, exportRow, 1)
      for (const number of [1, 2]) await run.openChunk(exportRow, chunk(number, { rows: 5 }))
      const chunks = await ledger.chunks.ofExport(exportRow)
      expect(chunks.map(({ state, rows }) => `${state} ${rows}`)).toEqual(['settled 3', 'open 5'])
    })

    it('who a person is, is kept as first heard, until a person confirms it anew', async () => {
      const { run } = await runOf('run-1')
      const two = [person(1), { ...person(2), born: 7, named: 9 }]
      for (const gateway of ['gateway', 'another']) await run.saveAccounts(gateway, two, NOW)
      const births = new Map([1, 2].map((at) => [rowKey(at), 5]))
      await run.saveBirths('gateway', births, new Set([rowKey(2)]))
      const known = async (gateway: string) =>
        [...(await ledger.people.accounts(gateway, [rowKey(1), rowKey(2)])).values()]
          .map(({ reference, born, named }) => [reference, born, named])
          .sort()
      const shared = (gateway: string) => ledger.people.sharedReferences(gateway, [rowKey(1), rowKey(2)])
      expect(await known('gateway')).toEqual([
        [rowKey(1), 5, null],
        [rowKey(2), 7, 9],
      ])
      expect(await known('another')).toEqual([
        [rowKey(1), null, null],
        [rowKey(2), 7, 9],
      ])
      expect(await shared('gateway')).toEqual(new Set([rowKey(2)]))
      expect(await shared('another')).toEqual(new Set())
      const acting = { by: 'ann', note: null, at: NOW }
      const confirmed = new Map([
        [rowKey(1), 6],
        [rowKey(2), null],
      ])
      expect(await ledger.people.confirm('another', confirmed, acting)).toBe(0)
      expect(await ledger.people.confirm('gateway', confirmed, acting)).toBe(1)
      expect(await known('gateway')).toEqual([
        [rowKey(1), 6, null],
        [rowKey(2), null, null],
      ])
      expect(await shared('gateway')).toEqual(new Set())
    })

    const team = (account: string, npi: number, more: Partial<KnownCareTeam> = {}): KnownCareTeam => ({
      ...{ account, npi: rowKey(npi), observedAt: 5, storedAt: NOW, mark: 'none', accountId: 'id' },
      ...{ heardAt: 7, place: 0, content: null, deletions: [], markBy: null, deletionsBy: null, ...more },
    })

    it('an entry of a care team keeps the latest that was heard of it, and the id of its account', async () => {
      const { run } = await runOf('run-1')
      await run.saveCareTeams('gateway', [team(rowKey(1), 8), team(rowKey(1), 9)])
      await run.saveCareTeams('gateway', [
        team(rowKey(1), 9, { accountId: null, observedAt: 4, heardAt: 6, place: 0, storedAt: NOW + 1 }),
      ])
      const rows = (await ledger.careTeams.ofAccounts('gateway', [rowKey(1)])).get(rowKey(1)) ?? []
      expect(rows).toEqual([
        ...[team(rowKey(1), 8), team(rowKey(1), 9, { storedAt: NOW + 1 })].sort((a, b) =>
          a.npi < b.npi ? -1 : 1,
        ),
      ])
      await run.saveCareTeams('gateway', [team(rowKey(1), 9, { isGone: true })])
      const left = (await ledger.careTeams.ofAccounts('gateway', [rowKey(1)])).get(rowKey(1)) ?? []
      expect(left.map(({ npi }) => npi)).toEqual([rowKey(8)])
    })

    it('what is owed is owed by a job, at a gateway', async () => {
      const { run, jobId } = await runOf('run-1')
      const other = await ledger.jobs.id('another', 'gateway')
      const deletions = [{ by: [['x']], until: 1, isSeen: false, inDoubt: [] }]
      await run.saveCareTeams('gateway', [
        team(rowKey(1), 9, { mark: 'to-set', markBy: jobId }),
        team(rowKey(2), 9, { deletions, deletionsBy: jobId }),
        team(rowKey(3), 9, { mark: 'to-unset', markBy: other }),
        team(rowKey(4), 9, { mark: 'set', markBy: jobId }),
      ])
      await run.saveCareTeams('elsewhere', [team(rowKey(5), 9, { mark: 'to-set', markBy: jobId })])
      const owed = (id: number, gateway = 'gateway') => ledger.careTeams.owed(gateway, id, '', 9)
      expect(await owed(jobId)).toEqual([rowKey(1), rowKey(2)].sort())
      expect(await owed(other)).toEqual([rowKey(3)])
      expect(await owed(jobId, 'elsewhere')).toEqual([rowKey(5)])
    })

    it('a provider is missing of people whom the export lists, of readable rows of that export', async () => {
      const { run, jobId } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      const [ann, ben, cleo] = [rowKey(1), rowKey(2), rowKey(3)]
      const list = async (number: number, arrival: number, rows: readonly (readonly [string, string])[]) => {
        await run.openChunk(exportRow, chunk(number))
        const listed = rows.map(([account, npi]) => ({ account, npi, at: NOW + arrival }))
        await settle(run, exportRow, number, { listed, arrival })
      }
      const first = [ann, ben, cleo].flatMap((one) => [
        ...([[one, THE_PERSON] as const, [one, rowKey(8)] as const, [one, rowKey(9)] as const] as const),
      ])
      await list(1, 1, [...first, [ann, UNUSABLE]])
      // Of Ann an unreadable row is of an earlier export; of Ben it is of this one; Cleo is not in it.
      await list(2, 2, [
        [ann, THE_PERSON],
        [ann, rowKey(9)],
        [ben, THE_PERSON],
        [ben, UNUSABLE],
      ])
      expect(await ledger.careTeams.missing(jobId, 2, 9)).toEqual([
        { account: ann, npi: rowKey(8), at: NOW + 1 },
      ])
      expect(await ledger.careTeams.missing(jobId, 1, 9)).toEqual([])
    })

    it('a pruned run keeps nothing of what it held back, and counts as open doubt what is held of it', async () => {
      const ids = new Map<string, number>()
      for (const [at, id] of ['run-1', 'run-2'].entries()) {
        const { run } = await runOf(id)
        const one = await exportOf(run)
        ids.set(id, one.id)
        await run.noteHeldBack(one.id, '{"reasons":[],"sample":0}')
        await run.openChunk(one.id, chunk(1))
        const held = [{ rowKey: rowKey(at), rule: '00000001', content: content(at), series: null }]
        await settle(run, one.id, 1, { held: id === 'run-1' ? held : [] })
        await finish(run, one.id)
        await ledger.leases.release(run.lease)
      }
      const found = await ledger.pruning.candidates()
      expect(found.map(({ id, openDoubts }) => [id, openDoubts])).toEqual([
        ['run-2', 0],
        ['run-1', 1],
      ])
      const [one, two] = [ids.get('run-1') ?? 0, ids.get('run-2') ?? 0]
      expect(await ledger.pruning.mark('run-1', new Map([[one, '{"a":1}']]), NOW)).toBeUndefined()
      expect(await ledger.exports.find(one)).toMatchObject({ held_back: null, totals: '{"a":1}' })
      expect(await ledger.exports.find(two)).toMatchObject({ held_back: expect.any(String), totals: null })
      expect((await ledger.runs.find('run-2'))?.pruned_at).toBeNull()
    })

    it('the audit is kept as long as it is asked for, however old the rest may be', async () => {
      for (const at of [1, 2, 3])
        await ledger.audit.note({
          ...{ by: 'ann', note: null, at, action: 'pause', job: 'job', run: null, subject: null },
        })
      const kept = { profiles: 9, deliveries: 9, auditSince: 2 }
      const gone = { ...noDetail(), audit: 1, bytes: expect.any(Number) }
      expect(await ledger.pruning.removeLeftovers(kept, 99)).toEqual(gone)
      expect(await ledger.pruning.removeLeftovers({ ...kept, auditSince: 99 }, 3)).toEqual(gone)
      expect(await ledger.pruning.removeLeftovers({ ...kept, auditSince: 99 }, 3)).toEqual(noDetail())
    })

    it('an acknowledgement is undone by its run, by its job, by its reason, and by all of them', async () => {
      for (const [id, job] of [
        ['run-1', 'job'],
        ['run-2', 'job'],
        ['run-3', 'another'],
      ] as const)
        await (await runOf(id, job)).run.endRun({ state: 'finished', endedAt: NOW, reason: null })
      const { acknowledgements } = ledger
      const all = ['run-1', 'run-2', 'run-3']
      // Each within one millisecond.
      const at = NOW
      for (const code of ['one', 'two', null])
        await acknowledgements.add(all, { code, by: 'ann', note: `${code}`, at })
      const left = async (id: string) => (await acknowledgements.of(id)).map(({ note }) => note)
      const undo = (which: Parameters<typeof acknowledgements.undo>[0]) =>
        acknowledgements.undo(which, { by: 'ben', note: null, at })
      expect(await left('run-1')).toEqual(['one', 'two', 'null'])
      expect(await undo({ run: 'run-1', code: 'one' })).toEqual(['run-1'])
      expect((await undo({ job: 'job', code: 'two' })).toSorted()).toEqual(['run-1', 'run-2'])
      expect(await Promise.all(all.map(left))).toEqual([['null'], ['one', 'null'], ['one', 'two', 'null']])
      expect(await undo({ job: 'another' })).toEqual(['run-3'])
      expect(await undo({ code: 'two' })).toEqual([])
      expect(await undo({ run: 'run-1' })).toEqual(['run-1'])
      expect(await Promise.all(all.map(left))).toEqual([[], ['one', 'null'], []])
    })

    it('a pause is of its job, until its end, and a later end takes the place of an earlier', async () => {
      const { pauses } = ledger
      const other = await ledger.jobs.id('another', 'gateway')
      const pause = { by: 'ann', note: 'why', at: NOW, until: null }
      expect(await pauses.begin(scene.jobId, { ...pause, until: NOW + 5 })).toBe(true)
      expect(await pauses.begin(other, pause)).toBe(true)
      expect(await pauses.begin(other, { ...pause, by: 'ben', at: NOW + 1 })).toBe(false)
      expect(await pauses.of(other, NOW + 9)).toEqual(pause)
      expect(await pauses.of(scene.jobId, NOW + 4)).toEqual({ ...pause, until: NOW + 5 })
      expect(await pauses.of(scene.jobId, NOW + 5)).toBeUndefined()
      // It goes on since its begin, whoever gives it another end.
      const longer = { by: 'ben', note: null, at: NOW + 2, until: NOW + 9 }
      expect(await pauses.begin(scene.jobId, longer)).toBe(true)
      expect(await pauses.of(scene.jobId, NOW + 8)).toEqual({ ...longer, at: NOW })
      const acting = { by: 'cleo', note: null, at: NOW + 8 }
      expect(await pauses.end(scene.jobId, acting)).toBe(true)
      expect(await pauses.end(scene.jobId, acting)).toBe(false)
      expect(await pauses.of(scene.jobId, NOW + 8)).toBeUndefined()
      expect(await pauses.of(other, NOW + 8)).toEqual(pause)
    })

    it('a batch that is refused as a whole has no records left, and its neighbour has', async () => {
      const { run } = await runOf('run-1')
      const { id: exportRow } = await exportOf(run)
      await run.openChunk(exportRow, chunk(1))
      const holds = packHolds([{ row: 1, rule: 'weight', content: content(1) }])
      const begin = (batchId: string) =>
        run.beginBatch({ exportRow, chunk: 1, batchId, kind: 'biometric', records: 1, holds, at: NOW })
      const first = await begin('one')
      await begin('two')
      await run.splitBatch(first, 'refused', 400, NOW + 1)
      const batches = await ledger.chunks.batches({ exportRow, chunk: 1 })
      expect(batches.map((one) => [one.batch_id, one.state, one.status, one.settled_at])).toEqual([
        ['one', 'split', 400, NOW + 1],
        ['two', 'sending', null, null],
      ])
      expect(batches.map((one) => one.holds.length)).toEqual([packHolds([]).length, holds.length])
    })
  })
}
