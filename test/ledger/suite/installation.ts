import { beforeEach, describe, expect, it } from 'vitest'
import type { KnownCareTeam, Ledger } from '../../../src/ledger/ledger.ts'
import { ledgerScene, NOW, type OpenLedger, person, rowKey } from './scene.ts'

const differs = { code: 'key-differs' }

export function installationSuite(open: OpenLedger): void {
  describe('installation', () => {
    const scene = ledgerScene(open)
    const { startRun, lease, begun } = scene
    let ledger: Ledger
    beforeEach(() => {
      ledger = scene.ledger
    })

    it('has no key, then the first one that is used, and no other without a word of a person', async () => {
      const { installation } = ledger
      expect(await installation.key()).toBeUndefined()
      await installation.useKey('one', undefined)
      await installation.useKey('one', undefined)
      expect(await installation.key()).toEqual({ fingerprint: 'one', hadOther: false })
      await expect(installation.useKey('two', undefined)).rejects.toMatchObject(differs)
      expect(await installation.key()).toEqual({ fingerprint: 'one', hadOther: false })
      expect(await installation.suspicion(NOW)).toEqual({ copy: 0, until: undefined })
    })

    it('forgets the people of another key, counts as a copy from then on, and says so once', async () => {
      const { installation, people, careTeams } = ledger
      await installation.useKey('one', undefined)
      const run = await startRun()
      const entry: KnownCareTeam = {
        ...{ account: rowKey(1), npi: rowKey(9), observedAt: 5, storedAt: NOW, mark: 'set', accountId: null },
        ...{ heardAt: 7, place: 0, content: null, deletions: [], markBy: null, deletionsBy: null },
      }
      await run.saveAccounts('gateway', [person(1)], NOW)
      await run.saveCareTeams('gateway', [entry])
      await expect(installation.useKey('two', NOW)).rejects.toMatchObject({ code: 'run-unfinished' })
      await run.endRun({ state: 'interrupted', endedAt: NOW, reason: 'interrupted' })
      await expect(installation.useKey('two', NOW)).rejects.toMatchObject({ code: 'run-unfinished' })
      expect((await people.accounts('gateway', [rowKey(1)])).size).toBe(1)
      await run.endRun({ state: 'failed', endedAt: NOW, reason: 'given-up' })
      await installation.useKey('two', NOW)
      expect(await installation.key()).toEqual({ fingerprint: 'two', hadOther: true })
      expect((await people.accounts('gateway', [rowKey(1)])).size).toBe(0)
      expect((await careTeams.ofAccounts('gateway', [rowKey(1)])).size).toBe(0)
      const { copy, until } = await installation.suspicion(NOW + 5)
      expect(until).toBe(NOW + 5)
      expect(copy).toBeGreaterThan(0)
      // Said again: the people registered since stay, and it is no further copy.
      const later = await ledger.runs.start(await lease({ runId: 'run-2' }, () => true), begun('run-2'))
      await later.saveAccounts('gateway', [person(2)], NOW)
      await later.endRun({ state: 'finished', endedAt: NOW, reason: null })
      await installation.useKey('two', NOW + 9)
      expect((await people.accounts('gateway', [rowKey(2)])).size).toBe(1)
      expect(await installation.suspicion(NOW + 9)).toEqual({ copy, until })
    })

    it('of the same key, a person may say that another was used before', async () => {
      const { installation, people } = ledger
      await installation.useKey('one', undefined)
      const run = await startRun()
      await run.saveAccounts('gateway', [person(1)], NOW)
      await installation.useKey('one', NOW)
      expect(await installation.key()).toEqual({ fingerprint: 'one', hadOther: true })
      expect((await people.accounts('gateway', [rowKey(1)])).size).toBe(1)
      expect((await installation.suspicion(NOW)).copy).toBeGreaterThan(0)
    })

    it('has met the gateways that it was told of', async () => {
      const { installation } = ledger
      await installation.meet('one', NOW)
      await installation.meet('one', NOW + 1)
      expect(await installation.hasMet('one')).toBe(true)
      expect(await installation.hasMet('other')).toBe(false)
    })

    it('a copy counts from its first use, and a copy of a copy by itself', async () => {
      const { installation } = ledger
      await installation.noteBehind(NOW)
      const { copy, until } = await installation.suspicion(NOW + 1)
      expect(until).toBe(NOW + 1)
      expect(await installation.suspicion(NOW + 2)).toEqual({ copy, until })
      await installation.noteBehind(NOW + 3)
      const next = await installation.suspicion(NOW + 4)
      expect(next.until).toBe(NOW + 4)
      expect(next.copy).toBeGreaterThan(copy)
    })
  })
}
