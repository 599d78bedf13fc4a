import { mkdir, symlink, writeFile } from 'node:fs/promises'
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
  await symlink(log, join(folder, 'link.log'))
  expect(await checkLogFile(join(folder, 'link.log'))).toMatchObject([
    { level: 'problem', found: `${join(folder, 'link.log')} cannot be written: it is a link` },
  ])
})

test.each([
  [1, '1 of its records is unanswered; the job reads profiles before it sends it.'],
  [2, '2 of its records are unanswered; the job reads profiles before it sends them.'],
])('a run that was given up with %i records', (records, words) => {
  const run = { run: 'RUN', job: 'nightly', records }
  const foundOf = (gateway: string) => toldOf({ givenUp: [{ ...run, gateway }] }).map(({ found }) => found)
  const end = `: ${words} To look now: waybill reconcile RUN`
  expect(foundOf('https://here.example')).toEqual([`run RUN of nightly was given up${end}`])
  const elsewhere = '; it was sent to https://there.example, but the settings name https://here.example'
  expect(foundOf('https://there.example')).toEqual([`run RUN of nightly was given up${elsewhere}${end}`])
})
