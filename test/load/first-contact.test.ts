/** The first look at a gateway, before anything is sent to it: at whom, at what, and what follows. */
import { expect, test } from 'vitest'
import { createFirstContact } from '../../src/load/first-contact.ts'
import type { Entry } from '../../src/model/entry.ts'
import type { ShownRecord } from '../../src/model/outcome.ts'
import { passingLedger } from '../ledger/begun-run.ts'
import { biometric, careTeam, entriesOf, entryOf, people } from './made-up-entries.ts'

/** @param shown by person, each time that their profile is read for a kind */
async function contact(
  shown: (entry: Entry) => readonly Partial<ShownRecord>[] | undefined,
  meanwhile: (meet: () => Promise<void>) => Promise<void> = async () => {},
) {
  const { installation } = await passingLedger()
  const read: string[] = []
  const others: [number, number][] = []
  const look = createFirstContact({
    ...{ installation, gatewayName: 'gateway', now: () => 5 },
    async shown(entries) {
      const [first] = entries
      if (first === undefined) expect.fail('a profile is read for nothing')
      expect(new Set(entries.map(({ kind }) => kind)).size).toBe(1)
      read.push(`${first.account.reference} ${first.kind} ${entries.length}`)
      await meanwhile(() => installation.meet('gateway', 0))
      return shown(first) as readonly ShownRecord[] | undefined
    },
    onOthers: (...counts) => void others.push(counts),
  })
  return { look, read, others, hasMet: () => installation.hasMet('gateway') }
}

const nothing = () => []
const refused = { code: 'ledger-missing' }

test.each([
  [1, [0]],
  [4, [0, 1, 2, 3]],
  [5, [0, 1, 2, 3, 4]],
  [6, [0, 1, 3, 4, 5]],
  [101, [0, 25, 50, 75, 100]],
])('of %i people the profiles of %j are read: the first, the last, and some between', async (count, at) => {
  const all = people(count)
  const { look, read, hasMet } = await contact(nothing)
  await look(all)
  expect(read).toEqual(at.map((one) => `${all[one]?.account.reference} biometric 1`))
  expect(await hasMet()).toBe(true)
})

test('each kind of a person is read once, and nobody again for later chunks', async () => {
  const ann = { row: 1, person: 'ann' }
  const pulse = biometric({ ...ann, rule: 'pulse', code: '8867-4' })
  const entries = entriesOf([biometric(ann), careTeam(ann), pulse], ann)
  const { look, read } = await contact(nothing)
  await look([])
  expect(read).toEqual([])
  await Promise.all([look(entries), look(people(1))])
  await look(people(3))
  expect(read.toSorted()).toEqual(['ann biometric 2', 'ann careTeam 1'])
})

test('a record of the export that the gateway shows refuses the run, and each later chunk', async () => {
  const [ann, ben] = people(2)
  if (ann === undefined || ben === undefined) throw new Error('two were made')
  const { look, others, hasMet } = await contact((entry) =>
    entry === ben ? [{}, { persistentId: ben.transactionId }] : [],
  )
  await expect(look([ann, ben])).rejects.toMatchObject(refused)
  await expect(look([ann])).rejects.toMatchObject(refused)
  expect([others, await hasMet()]).toEqual([[], false])
})

test.each<[string, (own: Entry, other: Entry) => readonly Partial<ShownRecord>[] | undefined, number]>([
  ['nothing', () => [], 0],
  ['what cannot be read', () => undefined, 0],
  ['records without an id', () => [{}], 0],
  ['records of other systems', () => [{ persistentId: 'a-1' }], 0],
  ['records of another key', (_, other) => [{ persistentId: other.transactionId }], 2],
])('%s is no sign that the export was delivered', async (_what, shown, count) => {
  const made = { row: 7, person: 'eve', value: '99' }
  const other = entryOf(biometric, made)
  const { look, others, hasMet } = await contact((entry) => shown(entry, other))
  await look(people(2))
  expect(others).toEqual(count === 0 ? [] : [[count, 2]])
  expect(await hasMet()).toBe(true)
})

test('what another job of the home has sent meanwhile is no sign, and whom it has met is not looked at', async () => {
  const [ann] = people(1)
  if (ann === undefined) throw new Error('one was made')
  const shown = () => [{ persistentId: ann.transactionId }]
  const first = await contact(shown, (meet) => meet())
  await first.look([ann])
  const later = await contact(shown, async () => {})
  await expect(later.look([ann])).rejects.toMatchObject(refused)
  const { installation } = await passingLedger()
  await installation.meet('gateway', 0)
  const look = createFirstContact({
    ...{
      installation,
      gatewayName: 'gateway',
      now: () => 5,
      onOthers: () => expect.fail('somebody is told'),
    },
    shown: () => expect.fail('a profile is read'),
  })
  await look([ann])
})
