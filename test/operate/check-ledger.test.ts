import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LedgerFacts } from '../../src/ledger/sqlite/inspect.ts'
import { checkLedger } from '../../src/operate/check-ledger.ts'
import { checkLogFile } from '../../src/operate/check-machine.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type LedgerSurroundings = Parameters<typeof checkLedger>[1]

const FACTS: LedgerFacts = {
  ...{ bytes: 1, damage: [], newer: [], shape: 'LATEST', older: false, leases: [] },
  ...{ givenUp: [], latestRunAt: undefined, copiedAt: undefined },
  ...{ fingerprint: undefined, gateways: [], isOfUse: false },
}

const AROUND: LedgerSurroundings = {
  isDead: () => false,
  gatewayOf: () => 'https://here.example',
}

const toldOf = (facts: Partial<LedgerFacts>, around: Partial<LedgerSurroundings> = {}) =>
  checkLedger({ ...FACTS, ...facts }, { ...AROUND, ...around }).slice(1)

test('a run that a living process is at work on is told, and no other', () => {
  const held = (run: string, owner: string) => ({ job: 'nightly', run, owner, since: 0, until: 1 })
  const facts = { leases: [held('ALIVE', 'here:1'), held('KILLED', 'here:2')] }
  const found = toldOf(facts, { isDead: (owner) => owner === 'here:2' }).map((one) => one.found)
  expect(found).toEqual(['nightly is running in process here:1 (run ALIVE, since 1970-01-01T00:00:00.000Z)'])
})

test('a log file that can be written, or made, is no finding; a folder, and what lies below a file, is a problem', async () => {
  const folder = await temporaryFolder()
  const log = join(folder, 'waybill.log')
  await writeFile(log, '')
  await mkdir(join(folder, 'logs'))
  for (const well of [undefined, log, join(folder, 'new', 'deep', 'waybill.log')])
    expect(await checkLogFile(well)).toEqual([])
  for (const wrong of [join(folder, 'logs'), join(log, 'waybill.log')])
    expect(await checkLogFile(wrong)).toMatchObject([{ level: 'problem', subject: 'WAYBILL_LOG_FILE' }])
})
