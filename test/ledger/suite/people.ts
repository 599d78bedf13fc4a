import { beforeEach, describe, expect, it } from 'vitest'
import type { KnownCareTeam, KnownRequest, Ledger } from '../../../src/ledger/ledger.ts'
import { content, ledgerScene, NOW, type OpenLedger, person, rowKey } from './scene.ts'

export function peopleSuite(open: OpenLedger): void {
  describe('people', () => {
    const scene = ledgerScene(open)
    const { openChunk, saveOfJob } = scene
    let ledger: Ledger
    beforeEach(() => {
      ledger = scene.ledger
    })

    it('knows which account ids several people of one gateway have', async () => {
      const { run } = await openChunk()
      const ids = ['id-1', 'id-2', 'id-3']
      await run.saveAccounts('gateway', [person(1, 'id-1'), person(2, 'id-1'), person(3, 'id-2')], NOW)
      await run.saveAccounts('another', [person(4, 'id-2'), person(5, 'id-3'), person(6, 'id-3')], NOW)
      expect(await ledger.people.sharedIds('gateway', ids)).toEqual(new Set(['id-1']))
      expect(await ledger.people.sharedIds('another', ids)).toEqual(new Set(['id-3']))
      expect(await ledger.people.sharedIds('gateway', ['id-2'])).toEqual(new Set())
    })

    it('knows whom a run has registered', async () => {
      const { run } = await openChunk()
      const accounts = [true, false].map((isNew, at) => ({ ...person(at, null), isNew }))
      await run.saveAccounts('gateway', accounts, NOW)
      const keys = [rowKey(0), rowKey(1), rowKey(2)]
      expect(await ledger.people.registeredBy('gateway', keys, run.lease.runId)).toEqual(new Set([rowKey(0)]))
      expect(await ledger.people.registeredBy('gateway', keys, 'another')).toEqual(new Set())
      expect(await ledger.people.registeredBy('another', keys, run.lease.runId)).toEqual(new Set())
    })

    it('forgets a person at one gateway, by hash and by account id', async () => {
      const { run } = await openChunk()
      const entry = (account: string): KnownCareTeam => ({
        ...{ account, npi: rowKey(9), observedAt: 5, storedAt: NOW, mark: 'set', accountId: null },
        ...{ heardAt: 7, place: 0, content: null, deletions: [], markBy: null, deletionsBy: null },
      })
      const people = [rowKey(1), rowKey(2), rowKey(3)]
      for (const gateway of ['gateway', 'another']) {
        await run.saveAccounts(
          gateway,
          people.map((reference, at) => ({ reference, accountId: `id-${at}`, sentBefore: null })),
          NOW,
        )
        await run.saveCareTeams(gateway, people.map(entry))
      }
      const jobs = new Map<string, number[]>()
      for (const [gateway, name] of [
        ['gateway', 'one'],
        ['gateway', 'other'],
        ['another', 'one'],
      ] as const) {
        const id = await ledger.jobs.id(name, gateway)
        jobs.set(gateway, [...(jobs.get(gateway) ?? []), id])
        await saveOfJob(id, `run of ${name} ${gateway}`, people)
      }
      await ledger.people.forget('gateway', [rowKey(1)], 'id-1')
      /** By what the ledger has of people: of whom. */
      const left = async (gateway: string) => {
        const kept: ReadonlyMap<string, unknown>[] = [
          await ledger.people.accounts(gateway, people),
          await ledger.careTeams.ofAccounts(gateway, people),
        ]
        for (const id of jobs.get(gateway) ?? [])
          kept.push(await ledger.people.collected(id, people), await ledger.careTeams.listed(id, people))
        return new Set(kept.map((one) => [...one.keys()].sort().join()))
      }
      expect(await left('gateway')).toEqual(new Set([rowKey(3)]))
      expect(await left('another')).toEqual(new Set([people.join()]))
      await ledger.people.forget('gateway', [rowKey(3)], null)
      expect(await left('gateway')).toEqual(new Set(['']))
      // Each time, what was delivered to them counts as not delivered.
      await ledger.people.forget('gateway', [rowKey(3), rowKey(3)], null)
      expect(await ledger.people.forgotten('gateway', () => people)).toEqual(
        new Map([...[rowKey(1), rowKey(2)].map((one) => [one, 1] as const), [rowKey(3), 2]]),
      )
      expect(await ledger.people.forgotten('another', () => people)).toEqual(new Map())
      expect(await left('another')).toEqual(new Set([people.join()]))
    })

    it('knows requests for medical records as they were sent last, and the latest row that said so', async () => {
      const { run } = await openChunk()
      const request: KnownRequest = {
        ...{ reference: rowKey(1), content: content(1), heardAt: 7 },
        ...{ state: 'awaiting', run: 'run-1' },
      }
      await run.saveMedicalRequests('gateway', [request, { ...request, reference: rowKey(2) }])
      await run.saveMedicalRequests('gateway', [
        { ...request, content: content(2), state: 'complete', heardAt: 5, run: null },
      ])
      const asked = [rowKey(1), rowKey(2), rowKey(3)]
      expect(await ledger.people.medicalRequests('gateway', asked)).toEqual(
        new Map([
          [rowKey(1), { ...request, content: content(2), state: 'complete', run: null }],
          [rowKey(2), { ...request, reference: rowKey(2) }],
        ]),
      )
      expect(await ledger.people.medicalRequests('another', asked)).toEqual(new Map())
    })
  })
}
