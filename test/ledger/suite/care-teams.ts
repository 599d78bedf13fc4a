import { beforeEach, describe, expect, it } from 'vitest'
import {
  type KnownCareTeam,
  type Ledger,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../../../src/ledger/ledger.ts'
import { chunk, content, ledgerScene, NOW, type OpenLedger, rowKey } from './scene.ts'

export function careTeamsSuite(open: OpenLedger): void {
  describe('care teams', () => {
    const scene = ledgerScene(open)
    const { openChunk } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
    })

    it('knows whom exports list, and whom the newest one that has a person lists no more', async () => {
      const { run, exportRow, chunkSettled } = await openChunk()
      const [ann, bob] = [rowKey(1), rowKey(2)]
      const [first, second] = [rowKey(11), rowKey(12)]
      let number = 1
      const list = async (arrival: number, ...listed: readonly (readonly [string, string, number])[]) => {
        if (number > 1) await run.openChunk(exportRow, chunk(number))
        const rows = listed.map(([account, npi, at]) => ({ account, npi, at }))
        await run.settleChunk(
          chunkSettled({ chunk: number++, arrival, listed: rows, delivered: [], held: [] }),
        )
      }
      const listing = (arrival: number, ...npis: string[]) => ({ arrival, npis: new Set(npis) })
      await list(4, [ann, THE_PERSON, 0], [ann, first, 70], [ann, second, 60], [bob, THE_PERSON, 0])
      expect(await ledger.careTeams.missing(jobId, 4, 9)).toEqual([])
      await list(6, [ann, THE_PERSON, 0], [ann, first, 50])
      expect(await ledger.careTeams.listed(jobId, [ann, bob, rowKey(3)])).toEqual(
        new Map([
          [ann, listing(6, first, second)],
          [bob, listing(4)],
        ]),
      )
      const missing = [{ account: ann, npi: second, at: 60 }]
      expect(await ledger.careTeams.missing(jobId, 6, 9)).toEqual(missing)
      expect(await ledger.careTeams.missing(jobId, 6, 0)).toEqual([])
      expect(await ledger.careTeams.missing(jobId + 1, 6, 9)).toEqual([])
      await run.noteMissing('gateway', missing, [])
      expect(await ledger.careTeams.missing(jobId, 6, 9)).toEqual([])
      // An older export, read again, says nothing of a person whom a later one has.
      await list(4, [ann, THE_PERSON, 0], [ann, second, 60], [bob, second, 60])
      expect(await ledger.careTeams.listed(jobId, [ann, bob])).toEqual(
        new Map([
          [ann, listing(6, first)],
          [bob, listing(4, second)],
        ]),
      )
      await list(8, [ann, THE_PERSON, 0], [ann, UNUSABLE, 0], [bob, THE_PERSON, 0])
      expect(await ledger.careTeams.missing(jobId, 8, 9)).toEqual([{ account: bob, npi: second, at: 60 }])
      await list(8, [UNKNOWN_PERSON, UNUSABLE, 0])
      expect(await ledger.careTeams.missing(jobId, 8, 9)).toBe('unreadable')
      await list(9, [ann, THE_PERSON, 0])
      expect(await ledger.careTeams.missing(jobId, 9, 9)).toEqual([{ account: ann, npi: first, at: 70 }])
      await ledger.people.forget('gateway', [ann], null)
      expect(await ledger.careTeams.listed(jobId, [ann])).toEqual(new Map())
    })

    it('knows of care teams the newest date of each NPI, one mark an account, and who owes a mark or a deletion', async () => {
      const { run } = await openChunk()
      const account = rowKey(1)
      const [first, second] = [rowKey(11), rowKey(12)]
      const known = (npi: string, observedAt: number, mark: KnownCareTeam['mark'], of = account) => {
        const content = mark === 'to-set' ? 'c0ffee00c0ffee00' : null
        const row = {
          account: of,
          npi,
          observedAt,
          storedAt: NOW,
          mark,
          accountId: `id of ${of}`,
          heardAt: 7,
          place: observedAt,
          content,
        }
        const isOwed = mark === 'to-set' || mark === 'to-unset'
        return { ...row, deletions: [], markBy: isOwed ? jobId : null, deletionsBy: null }
      }
      await run.saveCareTeams('gateway', [known(first, 5, 'set'), known(first, 5, 'set', rowKey(2))])
      await run.saveCareTeams('gateway', [known(second, 7, 'set')])
      expect(await ledger.careTeams.owed('gateway', jobId, '', 9)).toEqual([])
      // An id that is not known this time is the one that was known before.
      await run.saveCareTeams('gateway', [{ ...known(first, 3, 'to-set'), accountId: null }])
      expect(await ledger.careTeams.ofAccounts('gateway', [account, rowKey(2), rowKey(3)])).toEqual(
        new Map([
          [account, [known(first, 5, 'to-set'), known(second, 7, 'set')]],
          [rowKey(2), [known(first, 5, 'set', rowKey(2))]],
        ]),
      )
      await run.saveCareTeams('gateway', [known(second, 5, 'to-unset', rowKey(3))])
      expect(await ledger.careTeams.owed('gateway', jobId, '', 9)).toEqual([account, rowKey(3)])
      expect(await ledger.careTeams.owed('gateway', jobId, account, 9)).toEqual([rowKey(3)])
      expect(await ledger.careTeams.owed('another', jobId, '', 9)).toEqual([])
      expect(await ledger.careTeams.owed('gateway', jobId + 1, '', 9)).toEqual([])
      const owed = { by: [['id-2', 'ours']], until: 7, isSeen: true, inDoubt: ['c0ffee00c0ffee00'] }
      const replaced = { ...known(first, 5, 'set', rowKey(2)), deletions: [owed], deletionsBy: jobId }
      await run.saveCareTeams('gateway', [replaced])
      expect((await ledger.careTeams.ofAccounts('gateway', [rowKey(2)])).get(rowKey(2))).toEqual([replaced])
      expect(await ledger.careTeams.owed('gateway', jobId, account, 9)).toEqual([rowKey(2), rowKey(3)])
      await run.saveCareTeams('gateway', [{ ...replaced, deletions: [] }])
      expect(await ledger.careTeams.owed('gateway', jobId, account, 9)).toEqual([rowKey(3)])
      expect(await ledger.careTeams.ofAccounts('another', [account])).toEqual(new Map())
    })

    it('keeps of a care-team entry the latest row that was heard, and forgets one that is gone, no other', async () => {
      const { run } = await openChunk()
      const known = (npi: string, heardAt: number, more: Partial<KnownCareTeam> = {}): KnownCareTeam => ({
        ...{
          account: rowKey(1),
          npi,
          observedAt: 5,
          storedAt: NOW,
          mark: 'none',
          accountId: null,
          heardAt,
          place: 0,
        },
        ...{ content: null, deletions: [], markBy: null, deletionsBy: null },
        ...more,
      })
      await run.saveCareTeams('gateway', [known(rowKey(11), 7), known(rowKey(12), 7)])
      await run.saveCareTeams('another', [known(rowKey(11), 7)])
      await run.saveCareTeams('gateway', [known(rowKey(11), 6), known(rowKey(12), 8)])
      const heard = async (gateway: string, account = rowKey(1)) =>
        (await ledger.careTeams.ofAccounts(gateway, [account]))
          .get(account)
          ?.map(({ npi, heardAt }) => [npi, heardAt])
      expect(await heard('gateway')).toEqual([
        [rowKey(11), 7],
        [rowKey(12), 8],
      ])
      await run.saveCareTeams('gateway', [known(rowKey(11), 9, { isGone: true }), known(rowKey(13), 9)])
      expect(await heard('gateway')).toEqual([
        [rowKey(12), 8],
        [rowKey(13), 9],
      ])
      expect(await heard('another')).toEqual([[rowKey(11), 7]])
    })

    it('keeps as many care-team entries and requests as come at once', async () => {
      const { run } = await openChunk()
      const people = Array.from({ length: 1_100 }, (_, at) => rowKey(at + 1))
      await run.saveCareTeams(
        'gateway',
        people.map((account) => ({
          ...{ account, npi: rowKey(9), observedAt: 5, storedAt: NOW, mark: 'none', accountId: null },
          ...{ heardAt: 7, place: 0, content: null, deletions: [], markBy: null, deletionsBy: null },
        })),
      )
      await run.saveMedicalRequests(
        'gateway',
        people.map((reference) => ({
          ...{ reference, content: content(1), heardAt: 7, state: 'awaiting', run: 'run-1' },
        })),
      )
      expect([...(await ledger.careTeams.ofAccounts('gateway', people)).keys()].toSorted()).toEqual(
        people.toSorted(),
      )
      expect([...(await ledger.people.medicalRequests('gateway', people)).keys()].toSorted()).toEqual(
        people.toSorted(),
      )
    })
  })
}
