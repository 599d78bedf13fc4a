import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { fault } from '../export-fault.ts'
import { chunk, ledgerScene, NOW, type OpenLedger } from './scene.ts'

export function exportsSuite(open: OpenLedger): void {
  describe('exports', () => {
    const scene = ledgerScene(open)
    const { lease, begun, startRun, addExport, openChunk } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
    })

    it('knows what exports of a job and mapping looked like, once they are finished, latest first', async () => {
      const run = await startRun()
      const key = { job: 'job', mapping: 'm' }
      const start = (sha256: string, fields: object = {}) => {
        return { ...key, sha256, accepted: false, content: `{"of":"${sha256}"}`, ...fields }
      }
      const ids: number[] = []
      for (const ordinal of [1, 2, 3, 4, 5]) ids.push((await addExport(run, ordinal)).id)
      const [a = 0, b = 0, c = 0, d = 0, again = 0] = ids
      await run.saveProfile(a, start('a'))
      await run.saveProfile(b, start('b', { accepted: true }))
      await run.saveProfile(c, start('c', { mapping: 'n' }))
      await run.saveProfile(d, start('d'))
      expect(await ledger.profiles.latest(key, 20)).toEqual([])
      for (const id of [a, b, c]) await run.endExport(id, 'finished')
      await run.endExport(d, 'failed', fault('export-changed'))
      const [ofA, ofB] = [start('a'), start('b')].map(({ content }) => ({ accepted: false, content }))
      expect(await ledger.profiles.latest(key, 20)).toEqual([{ ...ofB, accepted: true }, ofA])
      expect(await ledger.profiles.latest(key, 1)).toEqual([{ ...ofB, accepted: true }])
      expect(await Promise.all(['a', 'c', 'd'].map((sha256) => ledger.profiles.has(key, sha256)))).toEqual([
        true,
        false,
        false,
      ])
      // What failed and is delivered again takes the place of what was kept of it.
      await run.saveProfile(again, start('d', { accepted: true }))
      await run.endExport(again, 'finished')
      expect(await ledger.profiles.has(key, 'd')).toBe(true)
      expect([...(await ledger.profiles.ofRun('run-1'))]).toEqual(
        expect.arrayContaining(
          [a, b, c, d].slice(0, 3).map((id, at) => [id, start('abc'[at] ?? '').content]),
        ),
      )
      expect((await ledger.profiles.ofRun('run-2')).size).toBe(0)
      await run.noteDrift(a, '[1]')
      expect((await ledger.exports.ofRun('run-1')).map(({ drift }) => drift)).toEqual([
        '[1]',
        null,
        null,
        null,
        null,
      ])
    })

    it('keeps exports in their order, by content too, with their mapping', async () => {
      const run = await startRun()
      const second = await addExport(run, 2)
      const first = await addExport(run, 1)
      await run.endExport(second.id, 'failed', fault('export-empty'))
      expect((await ledger.exports.ofRun('run-1')).map((one) => [one.id, one.state, one.reason])).toEqual([
        [first.id, 'open', null],
        [second.id, 'failed', 'export-empty'],
      ])
      expect((await ledger.exports.withContent('0123456789abcdef')).map((one) => one.id)).toEqual([
        first.id,
        second.id,
      ])
      expect(await ledger.exports.withContent('ffffffffffffffff')).toEqual([])
      expect(await ledger.exports.mapping('d')).toBe('{"a":1}')
      expect(await ledger.exports.mapping('e')).toBeUndefined()
    })

    it('knows whether an export of that name and content was read to its end before', async () => {
      const { run, exportRow } = await openChunk()
      const [record] = await ledger.exports.ofRun('run-1')
      if (record === undefined) throw new Error('one was begun')
      const again = { ...record, id: record.id + 1 }
      expect(await ledger.exports.lastReading(jobId, again)).toBeUndefined()
      await run.endExport(exportRow, 'finished')
      expect(await ledger.exports.lastReading(jobId, again)).toBe(record.id)
      expect(await ledger.exports.lastReading(jobId, record)).toBeUndefined()
      expect(await ledger.exports.lastReading(jobId, { ...again, name: 'another.csv' })).toBeUndefined()
      expect(await ledger.exports.lastReading(jobId, { ...again, sha256: 'another' })).toBeUndefined()
      expect(
        await ledger.exports.lastReading(await ledger.jobs.id('another', 'gateway'), again),
      ).toBeUndefined()
    })

    it('gives an export the place of its word: another one where its name has shown other bytes since', async () => {
      type Read = {
        readonly sha: string
        readonly path?: string
        readonly end?: 'finished' | 'failed' | 'open'
        readonly chunk?: true
        readonly more?: Parameters<typeof begun>[1]
        readonly reading?: 'whole' | 'selected'
        /** The reading, by its number, of which it keeps the place; none: its own. */
        readonly as?: number
      }
      const backfill = { backfill: { from: '2026-01-01', to: '2026-01-31' } }
      const history: readonly Read[] = [
        { sha: 'a' },
        { sha: 'a', as: 1 },
        { sha: 'b' },
        { sha: 'a' },
        { sha: 'a', as: 4 },
        // What was not read, or nothing of which can have been sent, stands between none.
        { sha: 'b', end: 'failed' },
        { sha: 'a', as: 4 },
        { sha: 'c', end: 'open', chunk: true },
        { sha: 'a' },
        // Not read to its end.
        { sha: 'd', end: 'failed' },
        { sha: 'd' },
        { sha: 'a' },
        // A backfill is neither earlier nor later, and comes between none.
        { sha: 'b', more: backfill, as: 3 },
        { sha: 'a', as: 12 },
        // Rows that are taken up speak as the last reading of the whole did.
        { sha: 'b', reading: 'selected', as: 3 },
        { sha: 'd', reading: 'selected', as: 11 },
        { sha: 'a', as: 12 },
        // Two files of one name, each read again.
        { sha: 'b', path: '/other/a.csv' },
        { sha: 'a', as: 12 },
        { sha: 'b', path: '/other/a.csv', as: 18 },
        { sha: 'a', path: '/other/a.csv' },
      ]
      const ids: number[] = []
      for (const [
        at,
        { sha, path = '/in/a.csv', end = 'finished', chunk: sent, ...one },
      ] of history.entries()) {
        const id = `run-${at}`
        const run = await ledger.runs.start(await lease({ runId: id }), begun(id, one.more ?? {}))
        const mapping = { name: 'm', digest: 'd', content: '{}' }
        const record = await run.addExport({
          ...{ ordinal: 1, exportId: sha, name: 'a.csv', path, sha256: sha, bytes: 1, mapping },
          ...(one.reading === undefined ? {} : { reading: one.reading }),
        })
        ids.push(record.id)
        const wanted = ids[(one.as ?? at + 1) - 1]
        expect([at + 1, await ledger.exports.arrivalOf(jobId, record)]).toEqual([at + 1, wanted])
        if (sent === true) await run.openChunk(record.id, chunk(1))
        if (end !== 'open') await run.endExport(record.id, end)
        await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
        await ledger.leases.release(run.lease)
        expect([at + 1, await ledger.exports.arrivalOf(jobId, record)]).toEqual([at + 1, wanted])
      }
    })
  })
}
