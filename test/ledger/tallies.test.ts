/** Counts of a whole run: from nothing on, added and taken away part by part, and read as they were written. */
import { expect, test } from 'vitest'
import { noTallies, readTallies } from '../../src/ledger/ledger.ts'
import { addTallies, originOf } from '../../src/ledger/run-ledger.ts'
import { beginRun, passingLedger } from './begun-run.ts'

const NONE = {
  accounts: { registered: 0, known: 0, refused: 0 },
  requests: { sent: 0, retried: 0, readBack: 0 },
  primaryCare: { marked: 0, unmarked: 0, owed: 0 },
  careTeams: { replaced: 0, removed: 0, owed: 0, unjudged: 0 },
}

test('a run begins with none', async () => {
  const ledger = await passingLedger()
  await beginRun(ledger, 'run-1')
  expect(readTallies((await ledger.runs.find('run-1'))?.tallies ?? '')).toEqual(NONE)
})

test('what is added is added to its own count, and may be taken away again', () => {
  const total = noTallies()
  addTallies(total, { requests: { sent: 5, readBack: 3 }, careTeams: { owed: 2 } })
  addTallies(total, { requests: { sent: 1 }, primaryCare: { marked: 4 } })
  const added = {
    ...NONE,
    requests: { sent: 6, retried: 0, readBack: 3 },
    primaryCare: { marked: 4, unmarked: 0, owed: 0 },
    careTeams: { replaced: 0, removed: 0, owed: 2, unjudged: 0 },
  }
  expect(total).toEqual(added)
  expect(readTallies(JSON.stringify(total))).toEqual(added)
  addTallies(total, { requests: { sent: 6, readBack: 3 }, careTeams: { owed: 2 } }, -1)
  expect(total).toEqual({ ...NONE, primaryCare: { marked: 4, unmarked: 0, owed: 0 } })
})

test('a run that retries another one names the run and the records it takes', async () => {
  const ledger = await passingLedger()
  const origin = { run: 'run-1', selection: 'rejected' } as const
  await ledger.leases.release((await beginRun(ledger, 'run-1')).lease)
  await beginRun(ledger, 'run-2', { origin, job: 'weekly' })
  const [first, second] = [await ledger.runs.find('run-1'), await ledger.runs.find('run-2')]
  expect(first && originOf(first)).toBeUndefined()
  expect(second && originOf(second)).toEqual(origin)
})
