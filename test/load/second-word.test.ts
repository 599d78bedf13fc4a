/** What is said or answered a second time: another name, a request once more, another address. */
import { expect, test } from 'vitest'
import { decideMark } from '../../src/load/care-team-decide.ts'
import type { CareTeam, WantedCareTeam } from '../../src/load/care-team-slot.ts'
import { messageOf } from '../../src/load/gateway-words.ts'
import { loadMedicalRecords } from '../../src/load/medical-records.ts'
import type { Entry } from '../../src/model/entry.ts'
import { type AnswerEnvelope, type Fault, PASS } from '../faults/fault-proxy.ts'
import { serve } from '../gateway/loopback.ts'
import { placed, startLoading } from './loading.ts'
import { had, JOB, knows, made, NPI, teamOf, wants } from './made-up-care-teams.ts'
import { biometric, careTeam, entriesOf, entryOf, medicalRequest } from './made-up-entries.ts'

const REQUESTER = '/medical-records/requester'

function asks(authorization?: string): Entry {
  const body = JSON.stringify({
    referenceNumber: 'r1',
    patient: { firstName: 'Ann', lastName: 'Person', dob: '1980-02-03' },
    provider: { phone: '555' },
    request: {
      ...{ type: '', requestType: '1', requestSubType: '101' },
      datesOfService: { type: 'startEnd', start: '2020-01-01', end: '2025-12-31' },
    },
    webhook: { url: '' },
  })
  return entryOf((made) => medicalRequest({ reference: 'r1', body, isWithdrawn: false, authorization }, made))
}

test('of several new names in a chunk the first row that has one is told', async () => {
  const loading = await startLoading()
  const rowsOf = async (chunk: number, ...names: readonly string[]) => {
    const entries = names.map((fullName, at) => {
      const row = chunk * 10 + at
      return entryOf(biometric, { row, key: `${row}`, fullName })
    })
    const { names: found } = await loading.load(entries, false, chunk)
    return [...(found?.values() ?? [])].map(({ changedAt }) => changedAt?.row)
  }
  await rowsOf(1, 'Ann|Lee')
  expect(await rowsOf(2, 'Ann|Lee', 'Ann|Moor', 'Ann|Moor', 'Ann|North')).toEqual([21])
  // As before in the end, and another in between.
  expect(await rowsOf(3, 'Ann|Moor', 'Ann|Lee')).toEqual([30])
})

test('a request that a later row repeats is unchanged, also where its chunk is loaded once more', async () => {
  const { medicalRecords } = (await startLoading()).context
  const ask = async (arrival: number) =>
    (await loadMedicalRecords(medicalRecords, placed([asks()]), arrival)).map(({ outcome }) => outcome)
  expect(await ask(1)).toEqual(['accepted'])
  // As after a kill: the run has sent it.
  expect(await ask(1)).toEqual(['accepted'])
  expect(await ask(2)).toEqual(['unchanged'])
  expect(await ask(2)).toEqual(['unchanged'])
  expect(await ask(1)).toEqual(['unchanged'])
})

test('an authorization goes to the address that is asked for anew, once the first is refused', async () => {
  const store = await serve(({ url }) => ({ status: url === '/1' ? 403 : 200 }))
  let patches = 0
  const withAddress = (envelope: AnswerEnvelope): AnswerEnvelope => {
    const authorizationUploadUrl = `${store.url}/${++patches}`
    return { ...envelope, data: envelope.data.map((one) => ({ ...one, authorizationUploadUrl })) }
  }
  const faultOf = ({ method, path }: { method: string; path: string }): Fault =>
    method === 'PATCH' && path === REQUESTER ? { do: 'pass-then-edit', edit: withAddress } : PASS
  const { medicalRecords } = (await startLoading({ faultOf })).context
  const pdf = Buffer.from('%PDF-1.7 scanned\n%%EOF\n')
  const authorizations = { look: async () => 'ready', read: async () => pdf }
  const context = { ...medicalRecords, authorizations, uploadHosts: [new URL(store.url).host] }
  const outcomes = await loadMedicalRecords(context, placed([asks('a.pdf')]), 1)
  expect(outcomes).toMatchObject([{ outcome: 'accepted' }])
  expect(store.seen.map(({ url }) => url)).toEqual(['/1', '/2'])
})

test('what the gateway lists as errors in an answer of success is told in full', async () => {
  const listed = (envelope: AnswerEnvelope): AnswerEnvelope => ({
    ...envelope,
    errors: [{ message: 'one is wrong' }, 'two is wrong'],
  })
  const faultOf = ({ method, path }: { method: string; path: string }): Fault =>
    method === 'PATCH' && path === REQUESTER ? { do: 'pass-then-edit', edit: listed } : PASS
  const { medicalRecords } = (await startLoading({ faultOf })).context
  const outcomes = await loadMedicalRecords(medicalRecords, placed([asks()]), 1)
  expect(outcomes).toMatchObject([
    {
      outcome: 'rejected',
      reason: { code: 'listed-as-error', message: expect.stringContaining('one is wrong; two is wrong') },
    },
  ])
})

const no = wants(made({ primary: false }), 'stored')
const yes = wants(made({ primary: true }), 'doubtful')

test.each<[string, string | undefined, CareTeam, WantedCareTeam]>([
  ['mark', undefined, teamOf([had()], [wants(made({ primary: true }), 'stored')]), yes],
  ['wait', 'to-set', teamOf([], [yes]), yes],
  ['unmark', undefined, teamOf([had({ isMarked: true })], [no]), no],
  ['wait', 'to-unset', teamOf([], [no], [knows(NPI, 'set')], { listed: 'unreadable' }), no],
])('%s %s: whoever is told of it is told of the entry that asks for it', (step, owed, team, { entry }) => {
  const decided = { owed: undefined, entry: undefined, ...decideMark(team, { jobId: JOB }) }
  expect([decided.step, decided.owed]).toEqual([step, owed])
  expect(decided.entry?.row).toMatchObject({ row: entry.row.row, account: entry.row.account })
})

test.each([
  ['x {value}', '… missing'],
  ['x `value` x', '… missing'],
  ['x value', '… missing'],
  ['value', '… missing'],
  ['value@', '… missing'],
  ['zvalue', 'value missing'],
  ['avalue', 'value missing'],
  ['valuez', 'value missing'],
  ['valuea value', '… missing'],
])('of a row that holds %j the gateway’s "Value missing" is told as %j', (cell, told) => {
  const [entry] = entriesOf([careTeam()], { cells: [cell] })
  if (entry === undefined) throw new Error('one was made')
  expect(messageOf({ ours: '', theirs: 'Value missing' }, entry).scrubbed).toBe(told)
})
