import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LedgerFacts } from '../../src/ledger/sqlite/inspect.ts'
import { checkLedger, type LedgerSurroundings } from '../../src/operate/check-ledger.ts'
import { checkLogFile } from '../../src/operate/check-machine.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const FACTS: LedgerFacts = {
  ...{ bytes: 1, damage: [], newer: [], shape: 'LATEST', older: false, leases: [], unfinished: [] },
  ...{ givenUp: [], inDoubt: [], undelivered: [], latestRunAt: undefined, copiedAt: undefined },
  ...{ fingerprint: undefined, gateways: [], isOfUse: false },
}

const AROUND: LedgerSurroundings = {
  isDead: () => false,
  gatewayOf: () => 'https://here.example',
  settingOf: (gateway) => `AT=${gateway}`,
  isTold: () => true,
}

const toldOf = (facts: Partial<LedgerFacts>, around: Partial<LedgerSurroundings> = {}) =>
  checkLedger({ ...FACTS, ...facts }, { ...AROUND, ...around }).slice(1)

const LOST = { job: 'nightly', target: 'webhook old.example', key: 'a'.repeat(16), count: 2, error: null }

test.each([
  ['given-up', true, 'warning'],
  ['given-up', undefined, 'warning'],
  ['pending', false, 'warning'],
  ['given-up', false, 'ok'],
] as const)(
  'notifications that are %s, to a target that the job names (%s), are %s',
  (state, named, level) => {
    const [told] = toldOf({ undelivered: [{ ...LOST, state }] }, { isTold: () => named })
    expect(told?.level).toBe(level)
  },
)

const OPEN = { run: 'RUN', job: 'nightly', state: 'interrupted', backfill: null, backfill_folder: null }

test('an unfinished run is finished at the gateway that it went to, or given up', () => {
  expect(toldOf({ unfinished: [{ ...OPEN, gateway: 'https://here.example' }] })).toMatchObject([
    { remedy: 'waybill run nightly' },
  ])
  const [elsewhere] = toldOf({ unfinished: [{ ...OPEN, gateway: 'https://there.example' }] })
  expect(elsewhere?.found).toContain(
    'it was sent to https://there.example, but the settings name https://here.example',
  )
  expect(elsewhere?.remedy).toMatch(
    /^AT=https:\/\/there\.example waybill run nightly .*resolve RUN --give-up/,
  )
})

test('a run that a living process is at work on is told; one that was killed is unfinished, whoever else is at work', () => {
  const held = (run: string, owner: string) => ({ job: 'nightly', run, owner, since: 0, until: 1 })
  const facts = {
    leases: [held('ALIVE', 'here:1'), held('KILLED', 'here:2')],
    unfinished: ['ALIVE', 'KILLED'].map((run) => ({
      ...{ ...OPEN, run, state: 'running', gateway: 'https://here.example' },
    })),
  }
  const found = toldOf(facts, { isDead: (owner) => owner === 'here:2' }).map((one) => one.found)
  expect(found).toEqual([
    'nightly is running in process here:1 (run ALIVE, since 1970-01-01T00:00:00.000Z)',
    'run KILLED of nightly is unfinished (stopped)',
  ])
})

test.each([
  [1, '1 record of run RUN of nightly is in doubt'],
  [1_200, '1,200 records of run RUN of nightly are in doubt'],
])('records in doubt: %i', (records, found) => {
  expect(toldOf({ inDoubt: [{ run: 'RUN', job: 'nightly', records }] })).toMatchObject([
    { found, level: 'warning', remedy: 'waybill reconcile RUN' },
  ])
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
