/** A ledger that is a copy does not know what was sent until it was first used: no run proves that nothing is missing. */
import { expect, test } from 'vitest'
import { passingLedger } from './begun-run.ts'

test('a ledger that is none is not suspected', async () => {
  const ledger = await passingLedger()
  expect(await ledger.installation.suspicion(1_000)).toEqual({ copy: 0, until: undefined })
})

test('a copy is suspected up to when it was first used, however often it is used later', async () => {
  const ledger = await passingLedger()
  await ledger.installation.noteBehind(1_000)
  expect(await ledger.installation.suspicion(5_000)).toEqual({ copy: 1, until: 5_000 })
  expect(await ledger.installation.suspicion(9_000)).toEqual({ copy: 1, until: 5_000 })
})

test('of two losses the later one counts', async () => {
  const ledger = await passingLedger()
  await ledger.installation.noteBehind(1_000)
  await ledger.installation.suspicion(2_000)
  await ledger.installation.noteBehind(3_000)
  expect(await ledger.installation.suspicion(4_000)).toEqual({ copy: 2, until: 4_000 })
})
